"""Footer of a Parquet file: rows, encodings and decompressed sizes of every column chunk.

The metadata objects of pyarrow crash the process if damaged statistics make C++ throw, so the footer
is read here. It is a struct in Thrift's compact protocol, with fields identified by number:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from mercer.cli.arrow_layout import DamagedLayout

MAGIC = b"PAR1"
DELTA_LENGTH, DELTA_PREFIX = (
    6,
    7,
)  # encodings of text: lengths first; suffixes after a shared prefix
_MAX_DEPTH = 32  # nested structs and lists; those of Parquet have fewer than ten levels


@dataclass(frozen=True)
class ColumnChunk:
    """Values of one column in one row group."""

    rows: int
    unpacked: int  # bytes, decompressed
    encodings: frozenset[int]


@dataclass(frozen=True)
class ParquetFooter:
    """Number of rows, and the chunks of columns without nested lists."""

    rows: int
    columns: dict[str, list[ColumnChunk]]

    def chunks(self, column: str) -> list[ColumnChunk]:
        """Chunks of a column; their rows must add up to those of the file."""
        chunks = self.columns.get(column, [])
        if (rows := sum(chunk.rows for chunk in chunks)) != self.rows:
            raise DamagedLayout(f"{rows:,} rows in a column, {self.rows:,} in the file")
        return chunks


def read_footer(file: IO[bytes]) -> ParquetFooter:
    """Footer at the end of the file."""
    size = file.seek(0, os.SEEK_END)
    if size < 12:
        raise DamagedLayout("it is too short")
    file.seek(size - 8)
    length, magic = struct.unpack("<I4s", file.read(8))
    if magic != MAGIC or length + 12 > size:
        raise DamagedLayout("its footer is not where it should be")
    file.seek(size - 8 - length)
    try:
        fields = _ThriftReader(file.read(length)).structure(0)
        return _footer(fields)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, struct.error) as problem:
        raise DamagedLayout(f"bad metadata: {problem}") from None


def _footer(fields: dict[int, Any]) -> ParquetFooter:
    columns: dict[str, list[ColumnChunk]] = {}
    for group in fields.get(4, []):  # row groups
        for chunk in group[1]:
            metadata = chunk[3]  # of the column
            path = [name.decode() for name in metadata[3]]
            if len(path) == 1:
                columns.setdefault(path[0], []).append(_chunk(metadata, group[3]))
    return ParquetFooter(fields[3], columns)


def _chunk(metadata: dict[int, Any], rows: int) -> ColumnChunk:
    values, unpacked, packed = metadata[5], metadata[6], metadata[7]
    if values != rows:  # a column without lists has one value, perhaps missing, in each row
        raise DamagedLayout(f"{values:,} values in {rows:,} rows")
    if min(rows, unpacked, packed) < 0:
        raise DamagedLayout("a negative size")
    return ColumnChunk(rows, unpacked, frozenset(metadata[2]))


class _ThriftReader:
    """Reader of values in Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def structure(self, depth: int) -> dict[int, Any]:
        """Struct as a dictionary of values by field number."""
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 15
            number = number + delta if delta else self._zigzag()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError("structs nested too deeply")
        simple: dict[int, Callable[[], Any]] = {
            1: self._byte, 2: self._byte, 3: self._byte, 4: self._zigzag, 5: self._zigzag,
            6: self._zigzag, 7: lambda: self._bytes(8), 8: lambda: self._bytes(self._varint()),
        }  # fmt: skip
        if kind in simple:
            return simple[kind]()
        if kind in (9, 10):  # a list or a set
            header = self._byte()
            count = header >> 4 if header >> 4 < 15 else self._varint()
            return [self._value(header & 15, depth + 1) for _ in range(self._plausible(count))]
        if kind == 11:  # a map
            count = self._plausible(self._varint())
            kinds = self._byte() if count else 0
            return [
                (self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1))
                for _ in range(count)
            ]
        if kind == 12:
            return self.structure(depth)
        raise ValueError(f"a value of unknown kind {kind}")

    def _plausible(self, count: int) -> int:
        if count > len(self._data) - self._place:
            raise ValueError("a list longer than the footer")
        return count

    def _byte(self) -> int:
        self._place += 1
        return self._data[self._place - 1]

    def _bytes(self, length: int) -> bytes:
        self._place += self._plausible(length)
        return self._data[self._place - length : self._place]

    def _varint(self) -> int:
        value = shift = 0
        while shift < 70:  # ten bytes hold 64 bits
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("a number of more than ten bytes")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
