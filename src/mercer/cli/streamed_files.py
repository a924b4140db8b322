"""Parquet files that are too large for the memory limit: samples of numbers that tests read part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.arrow_columns import ArrowColumn
from mercer.cli.byte_source import gib, label, matching, opened
from mercer.cli.columnar import damage_refused, parquet_types
from mercer.cli.exits import Refused
from mercer.cli.match import FileSample
from mercer.cli.parquet_layout import MAGIC
from mercer.cli.table import INDEX, NumericColumn, Selection, quoted
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.frames import PANDAS_INDEX, Columns, Table
from mercer.gram.stream_sums import ANALYSED_ROWS, analysed_rows, picked
from mercer.htest.samples.attribution import Features, feature_differences
from mercer.report.affordable import FLOATS_PER_RANKED_VALUE
from mercer.row_streams import RowPart, RowStream, chunk_rows, runs_of_groups, streamed

_HEAD_ROWS = 1000  # consecutive ones, in which dependence on the row before is looked for
_BUFFER_BYTES = 1 << 16  # of a column: pyarrow would otherwise read its whole row group
_COLUMN_ROWS, _COLUMN_VALUES = 50_000, 1_000_000  # of a sample, to compare columns one by one
_MIN_COLUMN_ROWS = 100
_COPIES = 2  # of a sample in memory, at least: columns, and points


@dataclass(frozen=True, eq=False)
class FileRows(RowPart):
    """Row groups of a Parquet file; `before` rows precede them in it."""

    path: str
    groups: tuple[int, ...]
    names: tuple[str, ...]
    before: int

    def chunks(self, rows: int) -> Iterator[Table]:
        """The rows in their order, checked as those of a file that is read at once."""
        import pyarrow.parquet as pq

        name, position = label(self.path), self.before
        columns = Columns(self.names, (False,) * len(self.names))
        with damage_refused("a Parquet", name):
            file = pq.ParquetFile(
                self.path, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
            )
            for batch in file.iter_batches(
                rows, row_groups=list(self.groups), columns=list(self.names), use_threads=False
            ):
                batch.validate(full=True)
                yield Table(self._values(batch, name, position), columns)
                position += batch.num_rows

    def _values(self, batch: Any, name: str, position: int) -> np.ndarray:
        """Values (b, d) of a batch; missing and infinite ones are refused."""
        arrays = []
        for column in self.names:
            reader = ArrowColumn(column, name, category=False, rows=position)
            reader.add(batch.column(batch.schema.get_field_index(column)))
            arrays.append(reader.parts[0])
        single = all(a.dtype == np.float32 for a in arrays)
        values = np.stack(arrays, axis=1, dtype=np.float32 if single else np.float64)
        if not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0].tolist()
            kind = "a missing" if np.isnan(values[i, j]) else "an infinite"
            raise Refused(
                f"{name}, column {quoted([self.names[j]])}, row {position + i + 1:,}: {kind} value: leave out such "
                f"rows; for --missing the samples must fit into memory, in {gib(settings().memory)} they do not"
            )
        return values


@dataclass(frozen=True)
class StreamedSample(FileSample):
    """Sample that is read part by part; its `points` are the first rows, its columns have names and no values."""

    stream: RowStream = field(default=RowStream((), (), 0), repr=False)

    @property
    def original_rows(self) -> bool:
        """Whether row i of a result is row i of the file: it keeps a random subsample."""
        return False

    @property
    def rows(self) -> int:
        """Number of points."""
        return len(self.stream)

    def drawn(self, most: int = ANALYSED_ROWS) -> Table:
        """Some random rows."""
        return picked(self.stream, analysed_rows(self.stream, most), self.name)


def streamed_features(first: StreamedSample, second: StreamedSample, rng: int) -> Features | None:
    """Differences of the columns in random rows, more than a result keeps; None for one, or beyond memory."""
    width = first.stream.width
    affordable = settings().memory // (2 * 8 * FLOATS_PER_RANKED_VALUE * width)
    most = min(_COLUMN_ROWS, max(_COLUMN_VALUES // width, ANALYSED_ROWS), affordable)
    if width < 2 or most < _MIN_COLUMN_ROWS:
        return None
    return feature_differences(first.drawn(most), second.drawn(most), rng=rng)


def streamed_files(
    paths: Sequence[str], selection: Selection, *, streams: bool, notes: list[str]
) -> tuple[StreamedSample, ...] | None:
    """Parquet files as streams where they exceed their share of the memory limit; None if they do not.

    Files that cannot be read part by part, because of labels, times or missing values to fill in, or
    because the test does not (`streams`), are refused if they cannot fit into memory either.
    """
    shapes = [_shape(path, selection) for path in paths]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    words = selection.text is not None and selection.text.given_words
    whole = bool(selection.time or selection.categories or words)  # files are read as a whole
    if streams and _comparable(known) and not whole:
        if streamed(*(RowStream((), s.rows, len(s.types[0])) for s in known)) is None:
            return None
        return tuple(_with_head(_sample(shape, selection, notes)) for shape in known)
    _refuse_beyond_memory(known)
    return None


@dataclass(frozen=True)
class _Shape:
    """Files of a sample, their numbers of rows, and the types of their columns."""

    name: str
    files: tuple[str, ...]
    rows: tuple[int, ...]
    types: tuple[dict[str, Any], ...]


def _shape(path: str, selection: Selection) -> _Shape | None:
    """From the footers of Parquet files; None where one is in another format or does not exist."""
    files = matching(path) if has_magic(path) and not Path(path).exists() else [path]
    if not files or not all(map(_is_parquet, files)):
        return None
    footers = []
    for file in files:
        with opened(file) as source:
            footers.append(parquet_types(source, selection))
    rows, types = zip(*footers, strict=True)
    return _Shape(label(path), tuple(files), rows, types)


def _is_parquet(file: str) -> bool:
    if not Path(file).is_file():  # a pipe can be read once
        return False
    with open(file, "rb") as beginning:
        return beginning.read(len(MAGIC)) == MAGIC


def _comparable(shapes: Sequence[_Shape]) -> bool:
    """Whether all files have the same columns, all of numbers and none that counts the rows."""
    types = [t for shape in shapes for t in shape.types]
    names = set(types[0])
    return (
        not _without_numbers(shapes) and INDEX not in names and all(set(t) == names for t in types)
    )


def _without_numbers(shapes: Sequence[_Shape]) -> list[str]:
    """Names of the columns that hold something else than numbers."""
    import pyarrow as pa

    known = (
        pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal,
    )  # fmt: skip
    columns = [column for shape in shapes for types in shape.types for column in types.items()]
    others = (name for name, kind in columns if not any(is_kind(kind) for is_kind in known))
    return list(dict.fromkeys(others))


def _sample(shape: _Shape, selection: Selection, notes: list[str]) -> StreamedSample:
    from pyarrow.dataset import ParquetFileFormat
    from pyarrow.fs import LocalFileSystem

    every = tuple(shape.types[0])
    index = [n for n in every if PANDAS_INDEX.fullmatch(n) and n not in selection.columns]
    names = tuple(n for n in every if n not in index) or every
    if len(names) < len(every):
        notes.append(f"{shape.name}: the row index of pandas, {quoted(index)}, was left out")
    parts, lengths = [], []
    for file in shape.files:
        fragment, before = ParquetFileFormat().make_fragment(file, LocalFileSystem()), 0
        for groups, size in runs_of_groups(fragment, chunk_rows(8 * len(names))):
            parts.append(FileRows(file, groups, names, before))
            lengths.append(size)
            before += size
    stream = RowStream(tuple(parts), tuple(lengths), len(names))
    columns: dict[str, Any] = {name: NumericColumn(np.empty(0)) for name in names}
    empty = Table(np.empty((0, len(names))), Columns(names, (False,) * len(names)))
    return StreamedSample(shape.name, empty, columns, stream=stream)


def _with_head(sample: StreamedSample) -> StreamedSample:
    """The sample with its first rows as points."""
    head = np.arange(min(_HEAD_ROWS, sample.rows))
    return replace(sample, points=picked(sample.stream, head, sample.name))


def _refuse_beyond_memory(shapes: Sequence[_Shape]) -> None:
    limit = settings().memory
    needed = sum(8 * _COPIES * sum(shape.rows) * len(shape.types[0]) for shape in shapes)
    if needed > limit:
        names = " and ".join(shape.name for shape in shapes)
        need = "need" if shapes[1:] else "needs"
        others = _without_numbers(shapes)
        labels = f"; {quoted(others)} hold{'' if others[1:] else 's'} no numbers" if others else ""
        raise MemoryBudgetError(
            f"{names} {need} at least {gib(needed)} of memory for this comparison, the limit is {gib(limit)}: select "
            "--columns, raise --memory, or compare two files of numbers by a test that reads them part by part (the "
            "default test, or --test me, scf, ume, linear, block, mmd, mmdagg, energy, mmdfuse or maxmmd; without --missing, "
            f"--categories, --by, --paired, --time, --series{labels})"
        )
