"""Layout of an Arrow file or stream: rows, batches and decompressed sizes from its metadata alone.

An Arrow stream is a sequence of messages, each a flatbuffer with metadata and a body of buffers;
an Arrow file is a stream between two magic strings, with a footer. Compressed buffers begin with
their decompressed length. So all sizes are known before anything is decompressed.
https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import IO, Any

FILE_MAGIC, STREAM_MAGIC = b"ARROW1", b"\xff\xff\xff\xff"
_DICTIONARY, _RECORDS = 2, 3  # types of messages, by the Arrow format


class DamagedLayout(Exception):
    """Metadata that contradict themselves or the size of the file."""


@dataclass(frozen=True)
class ArrowLayout:
    """Rows, batches and sizes of an Arrow file or stream."""

    rows: int
    batches: int
    largest: int  # bytes of the largest batch, decompressed
    dictionaries: int  # bytes of all dictionaries, decompressed
    ended: bool  # whether there is an end marker
    trailing: int  # bytes after that marker


def layout(
    file: IO[bytes], fields: Collection[int] | None = None, schema: Any = None
) -> ArrowLayout:
    """Layout from the metadata of all messages; with a schema, only these fields are counted."""
    size = file.seek(0, os.SEEK_END)
    spans = None if schema is None else [buffers_of(kind) for kind in schema.types]
    rows = batches = largest = dictionaries = 0
    end, ended = 0, False
    try:
        for kind, table, body, end in _messages(file, size):  # noqa: B007
            if kind == _RECORDS:
                rows, batches = rows + _length(table), batches + 1
                largest = max(largest, _unpacked(file, table, body, spans, fields))
            elif kind == _DICTIONARY and (records := table.table(1)) is not None:
                dictionaries += _unpacked(file, records, body, None, None)
            ended = kind == 0
    except (struct.error, IndexError, OverflowError, RecursionError) as problem:
        raise DamagedLayout(f"bad metadata: {problem}") from None
    return ArrowLayout(rows, batches, largest, dictionaries, ended, size - end)


def buffers_of(kind: Any) -> tuple[int, int]:
    """Number of buffers of a column of this Arrow type, and of its children that are text views."""
    import pyarrow as pa

    is_ = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return buffers_of(kind.storage_type)
    if is_.is_dictionary(kind):
        return 2, 0
    if is_.is_string_view(kind) or is_.is_binary_view(kind):
        return 2, 1
    if is_.is_null(kind) or is_.is_run_end_encoded(kind):
        buffers = 0
    elif is_.is_struct(kind) or is_.is_fixed_size_list(kind) or is_.is_union(kind):
        buffers = 2 if is_.is_union(kind) and kind.mode == "dense" else 1
    else:
        buffers = 3 if any(is_three(kind) for is_three in _three_buffers(is_)) else 2
    children = [buffers_of(kind.field(i).type) for i in range(kind.num_fields)]
    return buffers + sum(n for n, _ in children), sum(v for _, v in children)


def _three_buffers(types: Any) -> tuple[Any, ...]:
    """Predicates of the types that have three buffers: validity, offsets and content."""
    return (
        types.is_string, types.is_binary, types.is_large_string, types.is_large_binary,
        types.is_list_view, types.is_large_list_view,
    )  # fmt: skip


# ---- messages -----------------------------------------------------------------------------------


def _messages(file: IO[bytes], size: int) -> Iterator[tuple[int, _FlatTable, int, int]]:
    """Type, header, and the offsets of the body and of its end; type 0 is the end marker."""
    file.seek(0)
    place = 8 if file.read(len(FILE_MAGIC)) == FILE_MAGIC else 0
    while place + 4 <= size:
        file.seek(place)
        (length,) = struct.unpack("<i", file.read(4))
        place += 4
        if length == -1:  # since Arrow 0.15 a continuation marker precedes the length
            (length,) = struct.unpack("<i", file.read(4))
            place += 4
        if length == 0:
            yield 0, _FlatTable(b"", 0), place, place
            return
        if length < 0 or place + length > size:
            raise DamagedLayout("it ends within a message")
        message = _FlatTable.root(file.read(length))
        place += length
        body = message.number(3, "<q")
        if body < 0 or place + body > size:
            raise DamagedLayout("it ends within a batch of rows")
        header = message.table(2)
        if header is None:
            raise DamagedLayout("a message without content")
        yield message.number(1, "<B"), header, place, place + body
        place += body


def _length(records: _FlatTable) -> int:
    rows = records.number(0, "<q")
    if rows < 0:
        raise DamagedLayout(f"a batch of {rows} rows")
    return rows


def _unpacked(
    file: IO[bytes],
    records: _FlatTable,
    body: int,
    spans: list[tuple[int, int]] | None,
    fields: Collection[int] | None,
) -> int:
    """Decompressed bytes of the buffers of a batch."""
    buffers = records.structs(2, "<qq")
    counted = range(len(buffers))
    if spans is not None and fields is not None:
        views = [count for (count,) in records.structs(4, "<q")]
        counted = _places(len(buffers), views, spans, fields)
    if records.table(3) is None:
        return sum(max(0, buffers[i][1]) for i in counted)
    total = 0
    for i in counted:
        offset, length = buffers[i]
        if length > 0:
            file.seek(body + max(0, offset))
            (unpacked,) = struct.unpack("<q", file.read(8))
            if unpacked < -1:
                raise DamagedLayout(f"a buffer of {unpacked} bytes")
            total += length if unpacked == -1 else unpacked
    return total


def _places(
    number: int, views: list[int], spans: list[tuple[int, int]], fields: Collection[int]
) -> list[int] | range:
    """Indices of the buffers of these fields; all buffers if the counts do not add up."""
    places: list[int] = []
    at = 0
    for i, (buffers, lists) in enumerate(spans):
        count = buffers + sum(views[:lists])
        views = views[lists:]
        if not 0 <= count <= number - at:
            return range(number)
        if i in fields:
            places += range(at, at + count)
        at += count
    return places if at == number else range(number)


@dataclass(frozen=True)
class _FlatTable:
    """Table of a flatbuffer, with fields by number; https://flatbuffers.dev/internals."""

    data: bytes
    place: int

    @classmethod
    def root(cls, data: bytes) -> _FlatTable:
        return cls(data, _number(data, 0, "<I"))

    def number(self, field: int, form: str) -> int:
        """Number in a field; 0 if the field is absent."""
        place = self._field(field)
        return 0 if place is None else _number(self.data, place, form)

    def table(self, field: int) -> _FlatTable | None:
        """Table in a field; None if the field is absent."""
        place = self._field(field)
        return None if place is None else _FlatTable(self.data, place + self._offset(place))

    def structs(self, field: int, form: str) -> list[tuple[int, ...]]:
        """Vector of structs in a field; empty if the field is absent."""
        place = self._field(field)
        if place is None:
            return []
        start = place + self._offset(place)
        stop = start + 4 + _number(self.data, start, "<I") * struct.calcsize(form)
        if stop > len(self.data):
            raise DamagedLayout("a list longer than its message")
        return list(struct.iter_unpack(form, self.data[start + 4 : stop]))

    def _offset(self, place: int) -> int:
        return _number(self.data, place, "<I")

    def _field(self, field: int) -> int | None:
        vtable = self.place - _number(self.data, self.place, "<i")
        at = 4 + 2 * field
        if at + 2 > _number(self.data, vtable, "<H"):
            return None
        offset = _number(self.data, vtable + at, "<H")
        return self.place + offset if offset else None


def _number(data: bytes, place: int, form: str) -> int:
    if place < 0:  # struct counts negative offsets from the end
        raise DamagedLayout("an offset before the message")
    return struct.unpack_from(form, data, place)[0]
