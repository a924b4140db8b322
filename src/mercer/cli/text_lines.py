"""Lines of a text file, and their cells: UTF-8, of bounded length, without zero bytes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import IO, Any

from mercer.cli.byte_source import ByteSource
from mercer.cli.exits import Refused, one_line

Row = tuple[int, list[str]]  # number of its first line, and its cells

_MAX_LINE_BYTES = 32 << 20  # a longer line is binary data, or a file without line ends


class BadRow(Exception):
    """A row that the fast path cannot read; the slow path finds and reports it."""


class BoundedLines(io.RawIOBase):
    """Bytes of a text file; a line longer than the limit or a zero byte raises `BadRow`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._line_bytes, self.consumed = file, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        self.consumed += len(block)
        end = block.rfind(b"\n")
        self._line_bytes = self._line_bytes + len(block) if end < 0 else len(block) - end
        if self._line_bytes > _MAX_LINE_BYTES or b"\0" in block:
            raise BadRow
        return len(block)


def lines_of(source: ByteSource) -> Iterator[str]:
    """Lines of the file from its beginning; bytes that are not UTF-8 text are refused."""
    file, name, number = source.file, source.name, 0
    file.seek(0)
    while line := file.readline(_MAX_LINE_BYTES):
        number += 1
        if number == 1:
            _sniff(line, name)
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) >= _MAX_LINE_BYTES:
            limit = _MAX_LINE_BYTES >> 20
            raise Refused(f"{name}, line {number}: longer than {limit} MiB; this is not a table")
        if b"\0" in line:
            raise Refused(f"{name}, line {number}: a zero byte; this is not a text file")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as problem:
            byte, position = line[problem.start], problem.start + 1
            raise Refused(
                f"{name}, line {number}: byte 0x{byte:02x} at position {position} is not UTF-8; "
                "name its encoding, such as --encoding latin-1, or save it as UTF-8"
            ) from None


def _sniff(line: bytes, name: str) -> None:
    """Refuse UTF-16 and binary files by their first line."""
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refused(f"{name}: this is UTF-16: use --encoding utf-16, or save it as UTF-8")
    if any(byte < 32 and byte not in b"\t\r\n\x0b\x0c\x1b" for byte in line[:4096]):
        raise Refused(f"{name}: this is a binary file of a format that mercer does not read")


def cells_of(lines: Iterator[str], separator: str, name: str) -> Iterator[Row]:
    """Line number and cells of each row, split by the csv module, whose errors become `Refused`."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            hint = "; is a quotation mark missing?" if re.search("field|end", str(problem)) else ""
            if "new-line character" in str(problem):  # old Macintosh, or an export with a mistake
                raise Refused(
                    f"{name}, line {start}: a carriage return within the line: lines must end with a line feed; "
                    "convert the file (tr '\\r' '\\n')"
                ) from None
            raise Refused(f"{name}, line {start}: {one_line(str(problem))}{hint}") from None
        yield start, cells
