"""Large files that are read part by part: Parquet files by their row groups, NPY files by the places of their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.arrow_columns import ArrowColumn
from mercer.cli.byte_source import label, opened
from mercer.cli.columnar import damage_refused, parquet_types
from mercer.cli.exits import Refused
from mercer.cli.npy import MAGIC as NPY_MAGIC
from mercer.cli.npy import NpyHeader, npy_header, npy_names
from mercer.cli.parquet_layout import MAGIC as PARQUET_MAGIC
from mercer.cli.table import Selection, quoted, refuse_rounding
from mercer.frames import Columns, Table
from mercer.row_streams import RowPart, chunk_rows, runs_of_groups

_BUFFER_BYTES = 1 << 16  # of a column: pyarrow would otherwise read its whole row group
_CHUNKS_PER_PART = 8  # of NPY files, which have no parts of their own


class FilePart(ABC):
    """Some consecutive rows of a file, as they are written there: NaN where a value is missing."""

    @abstractmethod
    def values(self, rows: int) -> Iterator[tuple[int, np.ndarray]]:
        """How many rows of the file precede a chunk, and its values (b, d), at most so many rows at a time."""


@dataclass(frozen=True)
class LargeFile:
    """What is known of a file before its rows are read: how many they are, and what its columns hold."""

    path: str
    rows: int
    names: tuple[str, ...]  # of the selected columns
    without_numbers: tuple[str, ...]  # those of them that hold something else
    header: NpyHeader | None = None  # of an NPY file

    @property
    def array(self) -> bool:
        """Whether its columns came without names and share one unit."""
        return self.header is not None and self.header.dtype.names is None

    def parts(self, names: Sequence[str]) -> Iterator[tuple[FilePart, int]]:
        """Parts of these columns, and their numbers of rows."""
        return self._row_groups(names) if self.header is None else self._places(names, self.header)

    def _row_groups(self, names: Sequence[str]) -> Iterator[tuple[FilePart, int]]:
        from pyarrow.dataset import ParquetFileFormat
        from pyarrow.fs import LocalFileSystem

        fragment, before = ParquetFileFormat().make_fragment(self.path, LocalFileSystem()), 0
        for groups, size in runs_of_groups(fragment, chunk_rows(8 * len(names))):
            yield _RowGroups(self.path, groups, tuple(names), before), size
            before += size

    def _places(self, names: Sequence[str], header: NpyHeader) -> Iterator[tuple[FilePart, int]]:
        size = chunk_rows(8 * len(names)) * _CHUNKS_PER_PART
        places = {name: place for place, name in enumerate(npy_names(header))}
        columns = tuple((name, places[name]) for name in names)
        for first in range(0, self.rows, size):
            stop = min(first + size, self.rows)
            yield _NpyRows(self.path, header, columns, first, stop), stop - first


def large_file(path: str, selection: Selection) -> LargeFile | None:
    """The file, if its rows can be read at any place; None for other formats, archives and pipes."""
    if not Path(path).is_file():  # a pipe can be read once
        return None
    with opened(path) as source:
        head = source.file.read(max(len(PARQUET_MAGIC), len(NPY_MAGIC)))
        if source.compressed:
            return None
        if head.startswith(PARQUET_MAGIC):
            rows, types = parquet_types(source, selection)
            others = tuple(name for name, kind in types.items() if not _holds_numbers(kind))
            return LargeFile(path, rows, tuple(types), others)
        if not head.startswith(NPY_MAGIC):
            return None
        header = npy_header(source)
        every = npy_names(header)
        names = tuple(every[i] for i in selection.positions(every, source.name))
        kinds = {name: header.dtype[name] if header.dtype.names else header.dtype for name in names}
        others = tuple(name for name, kind in kinds.items() if kind.kind not in "fiub")
        return LargeFile(path, header.rows, names, others, header)


def _holds_numbers(kind: Any) -> bool:
    """Whether a type of Arrow is one of numbers."""
    import pyarrow as pa

    known = (
        pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal,
    )  # fmt: skip
    return any(is_kind(kind) for is_kind in known)


@dataclass(frozen=True, eq=False)
class _RowGroups(FilePart):
    """Row groups of a Parquet file; `before` rows precede them in it."""

    path: str
    groups: tuple[int, ...]
    names: tuple[str, ...]
    before: int

    def values(self, rows: int) -> Iterator[tuple[int, np.ndarray]]:
        import pyarrow.parquet as pq

        name, position = label(self.path), self.before
        with damage_refused("a Parquet", name):
            file = pq.ParquetFile(
                self.path, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
            )
            for batch in file.iter_batches(
                rows, row_groups=list(self.groups), columns=list(self.names), use_threads=False
            ):
                batch.validate(full=True)
                yield position, self._values(batch, name, position)
                position += batch.num_rows

    def _values(self, batch: Any, name: str, position: int) -> np.ndarray:
        arrays = []
        for column in self.names:
            reader = ArrowColumn(column, name, category=False, rows=position)
            reader.add(batch.column(batch.schema.get_field_index(column)))
            arrays.append(reader.parts[0])
        return _side_by_side(arrays)


@dataclass(frozen=True, eq=False)
class _NpyRows(FilePart):
    """Rows of an NPY file: `columns` are names with their places. They are read, not mapped, and so count as memory once."""

    path: str
    header: NpyHeader
    columns: tuple[tuple[str, int], ...]
    first: int
    stop: int

    def values(self, rows: int) -> Iterator[tuple[int, np.ndarray]]:
        by_column = self.header.fortran and len(self.header.shape) > 1
        row_bytes = self.header.nbytes // self.header.rows
        size = rows if by_column else min(rows, chunk_rows(row_bytes))  # whole rows are read
        name = label(self.path)
        with open(self.path, "rb") as file:
            for first in range(self.first, self.stop, size):
                number = min(size, self.stop - first)
                arrays = (
                    self._by_column(file, first, number)
                    if by_column
                    else self._by_row(file, first, number)
                )
                yield first, _side_by_side([
                    _as_floats(values, column, name, first)
                    for (column, _), values in zip(self.columns, arrays, strict=True)
                ])  # fmt: skip

    def _by_row(self, file: Any, first: int, number: int) -> list[np.ndarray]:
        width = self.header.width if self.header.dtype.names is None else 1
        values = self._read(file, first * width, number * width)
        if self.header.dtype.names is not None:
            return [values[column] for column, _ in self.columns]
        table = values.reshape(number, width)
        return [table[:, place] for _, place in self.columns]

    def _by_column(self, file: Any, first: int, number: int) -> list[np.ndarray]:
        n = self.header.rows
        return [self._read(file, place * n + first, number) for _, place in self.columns]

    def _read(self, file: Any, first: int, number: int) -> np.ndarray:
        """So many items from a place in the array."""
        file.seek(self.header.start + first * self.header.dtype.itemsize)
        values = np.fromfile(file, self.header.dtype, number)
        if len(values) != number:
            raise Refused(f"{label(self.path)}: damaged NPY file (it ends within its values)")
        return values


def _as_floats(values: np.ndarray, column: str, file: str, before: int) -> np.ndarray:
    """Values as float32 where they are at most that, else as float64; integers that it would round are refused."""
    if values.dtype.kind in "iu":
        refuse_rounding(values, column, file, before)
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    return values.astype(np.float32 if single else np.float64)


def _side_by_side(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Columns as (b, d), in float32 if all of them are."""
    single = all(values.dtype == np.float32 for values in columns)
    return np.stack(columns, axis=1, dtype=np.float32 if single else np.float64)


@dataclass(frozen=True, eq=False)
class CheckedRows(RowPart):
    """The rows of a part as a test takes them: infinite values are refused, missing ones too, or their rows are left out."""

    part: FilePart
    file: str
    names: tuple[str, ...]
    array: bool  # whether rows are an array, and not a `Table`
    drop: bool  # whether rows with missing values are left out
    absent: tuple[float, ...] = ()  # numbers that stand for missing values

    def chunks(self, rows: int) -> Iterator[Table | np.ndarray]:
        """The rows in their order; chunks may be shorter where rows were left out."""
        columns = Columns(self.names, (False,) * len(self.names))
        for position, read in self.part.values(rows):
            values = read
            if self.absent:
                values = np.where(np.isin(read, self.absent), np.nan, read).astype(read.dtype)
            finite = np.isfinite(values)
            if not finite.all():
                self._check(values, position)
                values = values[finite.all(axis=1)]
            if len(values):
                yield values if self.array else Table(values, columns)

    def _check(self, values: np.ndarray, position: int) -> None:
        """Refuse infinite values, and missing ones unless their rows are left out."""
        refused = np.isinf(values) if self.drop else ~np.isfinite(values)
        if not refused.any():
            return
        i, j = np.argwhere(refused)[0].tolist()
        missing = np.isnan(values[i, j])
        remedy = (
            "--missing drop leaves such rows out, and --missing impute fills them in where the files fit into memory"
            if missing
            else "correct such rows or leave them out"
        )
        raise Refused(
            f"{self.file}, column {quoted([self.names[j]])}, row {position + i + 1:,}: "
            f"{'a missing' if missing else 'an infinite'} value: {remedy}"
        )
