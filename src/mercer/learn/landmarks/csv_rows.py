"""CSV files as parts of rows that are read where they are needed: places in the files, found in one pass."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from mercer.row_streams import RowPart, RowStream, chunk_rows

_HEAD_BYTES = 2**20  # by which the columns have numbers, truth values or text
_SCANNED_BYTES = 2**22  # at a time, in the search for the ends of rows
_MIN_BLOCK = 2**10  # bytes; pyarrow converts all of a part at once
_QUOTE, _LINE_FEED, _RETURN = 34, 10, 13
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")
_MAX_EXACT_INTEGER = (
    2**53
)  # float64 represents every integer up to here, to which the next one is rounded


@dataclass(frozen=True)
class CsvTable:
    """A CSV file: its columns, and where its rows begin."""

    path: str
    separator: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]  # "double", "integer", "bool", or another type of Arrow
    start: int

    @classmethod
    def opened(cls, path: str, separator: str) -> Self:
        """By the first line and the values of the first megabyte."""
        name = Path(path).name
        with open(path, "rb") as file:
            first, rest = file.readline(), file.read(_HEAD_BYTES)
        if first.startswith(_COMPRESSED):
            raise ValueError(f"{name} is compressed: decompress it, or convert it to Parquet")
        names = _names(first, separator, name)
        head = rest if len(rest) < _HEAD_BYTES else _whole_rows(rest)
        rows = _parsed(head, separator, name, names)
        if rows.num_rows == 0:
            raise ValueError(f"{name} must have rows below the names of its columns, got none")
        return cls(path, separator, names, tuple(map(_kind, rows.schema.types)), len(first))

    def like(self, first: CsvTable) -> CsvTable:
        """The table with the types of another one, which must have the same columns."""
        if self.names != first.names:
            raise ValueError(
                f"{Path(self.path).name} has the columns {', '.join(self.names)}, and {Path(first.path).name} has "
                f"{', '.join(first.names)}: files of one sample must have the same columns in the same order"
            )
        return replace(self, kinds=first.kinds)


@dataclass(frozen=True)
class CsvRows(RowPart):
    """Consecutive rows of a CSV file; `before` rows precede them."""

    table: CsvTable
    columns: tuple[str, ...]
    start: int  # of the bytes
    stop: int
    before: int
    rows: int

    def chunks(self, rows: int) -> Iterator[Any]:
        """Record batches of Arrow with the columns, checked."""
        table, name = self.table, Path(self.table.path).name
        with open(table.path, "rb") as file:
            file.seek(self.start)
            data = file.read(self.stop - self.start)
        where = f"{name}, rows {self.before + 1:,} to {self.before + self.rows:,}"
        types = dict(zip(table.names, table.kinds, strict=True))
        kinds = {column: types[column] for column in self.columns}
        values = _parsed(data, table.separator, where, table.names, kinds)
        if values.num_rows != self.rows:
            raise ValueError(
                f"{where}: got {values.num_rows:,} rows: mend a carriage return or a quotation mark within a value, or read "
                "the file again if it has changed"
            )
        _refuse_inexact(values, kinds, where)
        yield from values.combine_chunks().to_batches(max_chunksize=rows)


def csv_stream(
    tables: Sequence[CsvTable], columns: tuple[str, ...], rows: int | None = None
) -> RowStream:
    """The columns of the tables in parts of so many rows at least, but for the last of each file."""
    size = chunk_rows(8 * len(columns)) if rows is None else rows
    parts = []
    for table in tables:
        before = 0
        for start, stop, count in _runs(table, size):
            parts.append(CsvRows(table, columns, start, stop, before, count))
            before += count
    return RowStream(tuple(parts), tuple(part.rows for part in parts), len(columns))


def _runs(table: CsvTable, rows: int) -> Iterator[tuple[int, int, int]]:
    """First and last byte of consecutive rows, and their number."""
    start, stop, count = table.start, table.start, 0
    for ends, filled in _line_ends(table):
        while len(ends):
            here = (
                int(np.searchsorted(np.cumsum(filled), rows - count)) + 1
            )  # lines until the run is full
            stop, count = int(ends[min(here, len(ends)) - 1]), count + int(np.sum(filled[:here]))
            ends, filled = ends[here:], filled[here:]
            if count >= rows:
                yield start, stop, count
                start, count = stop, 0
    if count:
        yield start, stop, count


def _line_ends(table: CsvTable) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Where lines end, block by block, and whether each has a row: not those inside of quotation marks, nor empty ones."""
    position, last, quoted, before = table.start, table.start, False, 0
    with open(table.path, "rb") as file:
        file.seek(table.start)
        while block := file.read(_SCANNED_BYTES):
            data = np.frombuffer(block, dtype=np.uint8)
            at, quoted = _feeds(data, quoted)
            lengths = np.diff(at + position + 1, prepend=last)
            previous = np.where(at > 0, data[at - 1], before)
            filled = (lengths > 2) | ((lengths == 2) & (previous != _RETURN))
            if len(at):
                last = position + int(at[-1]) + 1
                yield at + position + 1, filled
            before, position = int(data[-1]), position + len(block)
    if quoted:
        raise ValueError(
            f"{Path(table.path).name}: a quotation mark after byte {last:,} is never closed: mend that line"
        )
    if position > last:  # the last line has no end
        yield np.array([position]), np.array([True])


def _feeds(data: np.ndarray, quoted: bool) -> tuple[np.ndarray, bool]:
    """Places of line feeds outside of quotation marks, and whether the data end inside; `quoted`: they begin there."""
    quotes, feeds = data == _QUOTE, data == _LINE_FEED
    if quoted or quotes.any():
        inside = np.logical_xor.accumulate(quotes) ^ quoted
        feeds, quoted = feeds & ~inside, bool(inside[-1])
    return np.flatnonzero(feeds), quoted


def _whole_rows(data: bytes) -> bytes:
    """The rows that end in the data; all of them where none does."""
    at, _ = _feeds(np.frombuffer(data, dtype=np.uint8), False)
    return data[: at[-1] + 1] if len(at) else data


def _names(line: bytes, separator: str, name: str) -> tuple[str, ...]:
    """Names of the columns, by the first line."""
    try:
        names = next(csv.reader([line.decode("utf-8-sig")], delimiter=separator), [])
    except UnicodeDecodeError:
        raise ValueError(
            f"{name} is not in UTF-8: save it as UTF-8, or convert it to Parquet"
        ) from None
    except csv.Error as problem:
        raise ValueError(f"the first line of {name} cannot be read: {problem}") from None
    names = [each.strip() for each in names]
    if not names or "" in names or len(set(names)) < len(names):
        raise ValueError(
            f"the first line of {name} must have a different name for every column, got "
            f"{', '.join(map(repr, names)) or 'none'}: name them all, and rename duplicates"
        )
    return tuple(names)


def _parsed(
    data: bytes,
    separator: str,
    where: str,
    names: tuple[str, ...],
    kinds: dict[str, str] | None = None,
) -> Any:
    """Rows as a table of Arrow: columns of the given kinds, or all of them as they appear to be."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = None if kinds is None else {name: _arrow_type(kind) for name, kind in kinds.items()}
    try:
        return arrow_csv.read_csv(
            io.BytesIO(data),
            arrow_csv.ReadOptions(
                column_names=names, block_size=max(len(data) + 1, _MIN_BLOCK), use_threads=False
            ),
            arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=None if kinds is None else list(kinds),
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as problem:
        if not data.strip():
            return pa.table({})
        raise ValueError(
            f"{where}: {problem}. A column has the type of its values in the first megabyte: mend the file, leave the "
            "column out, or convert the file to Parquet with a library that can read it"
        ) from None


def _kind(arrow_type: Any) -> str:
    """Numbers are all read as float64: integers may be followed by others, and missing values by any."""
    kind = str(arrow_type)
    return {"int64": "integer", "null": "double"}.get(kind, kind)


def _arrow_type(kind: str) -> Any:
    import pyarrow as pa

    return pa.float64() if kind == "integer" else pa.type_for_alias(kind)


def _refuse_inexact(values: Any, kinds: dict[str, str], where: str) -> None:
    """Refuse integers that float64 has rounded."""
    for column, kind in kinds.items():
        if kind != "integer":
            continue
        if np.any(np.abs(values.column(column).to_numpy()) >= _MAX_EXACT_INTEGER):
            raise ValueError(
                f"{where}: column {column!r} has integers beyond 2**53, which float64 would round: subtract or divide by a "
                "constant first, or leave the column out"
            )
