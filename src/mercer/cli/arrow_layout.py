"""The layout of an Arrow file or stream: rows, batches and unpacked sizes, from its metadata alone.

An Arrow stream is a sequence of messages, each a flatbuffer with metadata and a body of buffers;
an Arrow file is a stream between two marks, with a footer. Compressed buffers begin with their
unpacked length. So all sizes are known before anything is unpacked.
https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import IO, Any

FILE_MAGIC, STREAM_MAGIC = b"ARROW1", b"\xff\xff\xff\xff"
_DICTIONARY, _RECORDS = 2, 3  # kinds of messages


class DamagedLayout(Exception):
    """The metadata contradict themselves or the size of the file."""


@dataclass(frozen=True)
class Layout:
    """What the messages of an Arrow file or stream say."""

    rows: int
    batches: int
    largest: int  # bytes of the largest batch, unpacked
    dictionaries: int  # bytes of all dictionaries, unpacked
    ended: bool  # whether there is a mark of the end
    rest: int  # bytes after that mark


def layout(file: IO[bytes], fields: Collection[int] | None = None, schema: Any = None) -> Layout:
    """Walk over all messages; with a schema only the buffers of these fields are counted."""
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
    return Layout(rows, batches, largest, dictionaries, ended, size - end)


def buffers_of(kind: Any) -> tuple[int, int]:
    """Buffers of a column of this Arrow type, and how many of its parts are lists of text views."""
    import pyarrow as pa

    is_ = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return buffers_of(kind.storage_type)
    if is_.is_dictionary(kind):
        return 2, 0
    if is_.is_string_view(kind) or is_.is_binary_view(kind):
        return 2, 1
    if is_.is_null(kind) or is_.is_run_end_encoded(kind):
        own = 0
    elif is_.is_struct(kind) or is_.is_fixed_size_list(kind) or is_.is_union(kind):
        own = 2 if is_.is_union(kind) and kind.mode == "dense" else 1
    else:
        own = 3 if any(is_three(kind) for is_three in _three_buffers(is_)) else 2
    parts = [buffers_of(kind.field(i).type) for i in range(kind.num_fields)]
    return own + sum(n for n, _ in parts), sum(v for _, v in parts)


def _three_buffers(types: Any) -> tuple[Any, ...]:
    """Predicates of the types that have three buffers: which values are there, places, contents."""
    return (
        types.is_string, types.is_binary, types.is_large_string, types.is_large_binary,
        types.is_list_view, types.is_large_list_view,
    )  # fmt: skip


# ---- messages -----------------------------------------------------------------------------------


def _messages(file: IO[bytes], size: int) -> Iterator[tuple[int, _Table, int, int]]:
    """Kind, header, and the places of the body and of its end; kind 0 is the mark of the end."""
    file.seek(0)
    place = 8 if file.read(len(FILE_MAGIC)) == FILE_MAGIC else 0
    while place + 4 <= size:
        file.seek(place)
        (length,) = struct.unpack("<i", file.read(4))
        place += 4
        if length == -1:  # before version 0.15 of Arrow there was the length alone
            (length,) = struct.unpack("<i", file.read(4))
            place += 4
        if length == 0:
            yield 0, _Table(b"", 0), place, place
            return
        if length < 0 or place + length > size:
            raise DamagedLayout("it ends within a message")
        message = _Table.root(file.read(length))
        place += length
        body = message.number(3, "<q")
        if body < 0 or place + body > size:
            raise DamagedLayout("it ends within a batch of rows")
        header = message.table(2)
        if header is None:
            raise DamagedLayout("a message without content")
        yield message.number(1, "<B"), header, place, place + body
        place += body


def _length(records: _Table) -> int:
    rows = records.number(0, "<q")
    if rows < 0:
        raise DamagedLayout(f"a batch of {rows} rows")
    return rows


def _unpacked(
    file: IO[bytes],
    records: _Table,
    body: int,
    spans: list[tuple[int, int]] | None,
    fields: Collection[int] | None,
) -> int:
    """Bytes of the buffers of a batch once they are unpacked."""
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
    """Which buffers belong to these fields; all of them where the counts do not add up."""
    places: list[int] = []
    at = 0
    for i, (own, lists) in enumerate(spans):
        count = own + sum(views[:lists])
        views = views[lists:]
        if not 0 <= count <= number - at:
            return range(number)
        if i in fields:
            places += range(at, at + count)
        at += count
    return places if at == number else range(number)


@dataclass(frozen=True)
class _Table:
    """A table of a flatbuffer: fields by number; https://flatbuffers.dev/internals."""

    data: bytes
    place: int

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, _number(data, 0, "<I"))

    def number(self, field: int, form: str) -> int:
        """A number, 0 where it is left out."""
        place = self._field(field)
        return 0 if place is None else _number(self.data, place, form)

    def table(self, field: int) -> _Table | None:
        """A table, None where it is left out."""
        place = self._field(field)
        return None if place is None else _Table(self.data, place + self._offset(place))

    def structs(self, field: int, form: str) -> list[tuple[int, ...]]:
        """A vector of structs."""
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
    if place < 0:  # struct would count from the end
        raise DamagedLayout("an offset before the message")
    return struct.unpack_from(form, data, place)[0]
