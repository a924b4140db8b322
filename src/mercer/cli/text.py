"""Tables in text: comma, tab or semicolon between the values; many rows at a time.

Every column is taken for numbers until its first words say otherwise; columns whose words come
late are read a second time, as labels. So a column has one kind, wherever its first word is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, Any

import numpy as np

from mercer.cli.byte_source import Source, gib
from mercer.cli.exits import Refused, one_line
from mercer.cli.table import File, Labels, Numbers, Wanted, affordable, named, quoted, short
from mercer.config import settings
from mercer.errors import MemoryBudgetError

MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "#N/A", "<NA>", "null", "NULL"})
_LONGEST = 32 << 20  # bytes of a line
_CELLS = 1 << 18  # held as text at a time,
_BYTES = 4 << 20  # unless they come from more bytes than this
_NAME = 100  # bytes that the name of a column takes, roughly
_MOSTLY = 0.9  # a column with so many numbers is one of numbers, and its words are mistakes
_WHOLE = 2**53  # float64 holds every integer up to here

Progress = Callable[[float], object]
Row = tuple[int, list[str]]  # the line it starts in, and its cells


def read_text(source: Source, wanted: Wanted, progress: Progress) -> File:
    """A table in text as columns."""
    header, name = _header(source, wanted), source.name
    columns = [
        _Column(header.names[i], i, header.names[i] in wanted.categories, header.comma)
        for i in wanted.positions(header.names, name)
    ]
    _feed(source, header, columns, progress, some=True)
    for column in columns:  # what is words in its first rows need not be read twice
        column.begin(text=column.text or not column.mostly_numbers)
    _feed(source, header, columns, progress)
    late = [column for column in columns if column.has_words(source, header)]
    for column in late:
        column.begin(text=True)
    if late:
        _feed(source, header, late, progress)
    notes = ()
    if not header.named:
        some = ", ".join(header.names[:3]) + (", ..." if len(header.names) > 3 else "")
        notes = (f"{name}: numbers only in the first line, so no header; its columns are {some}",)
    return File(name, {c.name: c.column() for c in columns}, notes=notes)


@dataclass(frozen=True)
class _Header:
    names: list[str]
    separator: str
    named: bool  # or the first line is data already

    @property
    def comma(self) -> bool:
        """Whether numbers have decimal commas, as where semicolons separate."""
        return self.separator == ";"

    @property
    def rows_at_a_time(self) -> int:
        """As many as make up some megabytes."""
        return max(1, _CELLS // len(self.names))


def _header(source: Source, wanted: Wanted) -> _Header:
    lines, name = _lines(source), source.name
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise Refused(f"{name}: the file is empty")
    bare = re.sub(r'"[^"]*"', "", first)
    separator = "\t" if "\t" in bare else max(",;", key=bare.count)
    if bare.count(separator) * _NAME > settings().memory:
        raise MemoryBudgetError(
            f"{name}: a first line of {bare.count(separator) + 1:,} columns, whose names alone are "
            f"over the memory limit of {gib(settings().memory)}; is it lying on its side?"
        )
    cells = [cell.strip() for cell in next(_cells(chain([first], lines), separator, name))[1]]
    if all(_is_number(cell, separator == ";") for cell in cells):
        return _Header([f"x{i}" for i in range(1, len(cells) + 1)], separator, False)
    return _Header(named(cells, wanted, name), separator, True)


def _feed(
    source: Source,
    header: _Header,
    columns: list[_Column],
    progress: Progress,
    *,
    some: bool = False,
) -> None:
    """Hand every row to the columns, or the first rows."""
    done, name = 0, source.name
    for rows in islice(_batches(source, header), 1 if some else None):
        for column in columns:
            column.feed([row[column.position] for row in rows], done, source, header)
        done += len(rows)
        share = min(source.file.tell() / max(source.size, 1), 1.0)
        progress(share)
        affordable(done, len(columns), name, share, sum(c.weight for c in columns))
    if done == 0:
        raise Refused(f"{name}: a header and no rows")


# ---- rows: many at a time, or one by one with their places --------------------------------------


def _batches(source: Source, header: _Header) -> Iterator[list[list[str]]]:
    """Rows, many at a time, by the csv module's own loop; in trouble `_rows` says where it is."""
    width, skip = len(header.names), header.named
    if width == 1:  # where blank lines count
        slow = (cells for _, cells in _rows(source, header))
        while rows := _some(slow, header, source.file.tell):
            yield rows
        return
    source.file.seek(0)
    bounded = _Bounded(source.file)
    text = io.TextIOWrapper(io.BufferedReader(bounded, 1 << 16), "utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=header.separator, skipinitialspace=True, strict=True)
    try:
        while rows := _some(reader, header, lambda: bounded.consumed):
            if set(map(len, rows)) != {width}:
                rows = [row for row in rows if row not in ([], [""])]
                if not set(map(len, rows)) <= {width}:
                    raise _Trouble
            if skip and rows:
                skip, rows = False, rows[1:]
            if rows:
                yield rows
    except (csv.Error, UnicodeDecodeError, _Trouble):
        for _ in _rows(source, header):
            pass
        raise Refused(f"{source.name}: this cannot be read as a table") from None


def _some(
    rows: Iterator[list[str]], header: _Header, consumed: Callable[[], int]
) -> list[list[str]]:
    """The next rows, fewer of them where they are long: `consumed` is the number of bytes so far."""
    taken: list[list[str]] = []
    most, start = header.rows_at_a_time, consumed()
    step = max(
        1, 256 // len(header.names)
    )  # a cell has 128 Ki characters at most, so 32 Mi at once
    while len(taken) < most and consumed() - start < _BYTES:
        more = list(islice(rows, min(step, most - len(taken))))
        taken += more
        if not more:
            break
    return taken


class _Trouble(Exception):
    """Something that must be looked at row by row."""


class _Bounded(io.RawIOBase):
    """Bytes of text: a line without an end, or a zero byte, is trouble."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._since, self.consumed = file, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        self.consumed += len(block)
        end = block.rfind(b"\n")
        self._since = self._since + len(block) if end < 0 else len(block) - end
        if self._since > _LONGEST or b"\0" in block:
            raise _Trouble
        return len(block)


def _rows(source: Source, header: _Header) -> Iterator[Row]:
    """Line number and cells of each row; blank lines are none."""
    width, skip, number = len(header.names), header.named, 0
    blank = range(0)
    for line, cells in _cells(_lines(source), header.separator, source.name):
        if cells in ([], [""]):
            blank = range(blank.start or line, line + 1)
            continue
        if skip:
            skip = False
            continue
        if width == 1:  # between the rows of a single column a blank line is a missing value
            yield from ((at, [""]) for at in blank if number)
        blank = range(0)
        number += 1
        if len(cells) != width:
            first = "the header" if header.named else "the first line"
            raise Refused(
                f"{source.name}, row {number} (line {line}): {len(cells):,} values, "
                f"{first} has {width:,}"
            )
        yield line, cells


def _cells(lines: Iterator[str], separator: str, name: str) -> Iterator[Row]:
    """Line number and cells, by the csv module; its complaints in words."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            hint = "; is a quote not closed?" if re.search("field|end", str(problem)) else ""
            raise Refused(f"{name}, line {start}: {one_line(str(problem))}{hint}") from None
        yield start, cells


def _lines(source: Source) -> Iterator[str]:
    """Lines of text from the beginning, refused where they are no text."""
    file, name, number = source.file, source.name, 0
    file.seek(0)
    while line := file.readline(_LONGEST):
        number += 1
        if number == 1:
            _sniff(line, name)
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) >= _LONGEST:
            raise Refused(f"{name}, line {number}: longer than {_LONGEST >> 20} MiB; not a table")
        if b"\0" in line:
            raise Refused(f"{name}, line {number}: a zero byte; this is not a text file")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as problem:
            byte, place = line[problem.start], problem.start + 1
            raise Refused(
                f"{name}, line {number}: byte 0x{byte:02x} at place {place} is not UTF-8; "
                "save the file as UTF-8 (from Latin-1: iconv -f latin1 -t utf-8)"
            ) from None


def _sniff(line: bytes, name: str) -> None:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refused(f"{name}: this is UTF-16; save the file as UTF-8 (iconv -f utf-16 -t utf-8)")
    if any(byte < 32 and byte not in b"\t\r\n\x0b\x0c\x1b" for byte in line[:4096]):
        raise Refused(f"{name}: this is a binary file of no kind that mercer reads")


# ---- one column -------------------------------------------------------------------------------


@dataclass
class _Column:
    """A column on its way: numbers, or labels once it has turned out to hold words."""

    name: str
    position: int
    text: bool
    comma: bool
    parts: list[np.ndarray] = field(default_factory=list)
    levels: dict[str, int] = field(default_factory=dict)
    weight: int = 0  # bytes of the levels, roughly
    numbers: int = 0
    words: int = 0
    first_word: tuple[int, str] = (0, "")  # its row, from 0 on

    def begin(self, *, text: bool) -> None:
        """Forget what was read, and start over."""
        self.text, self.parts, self.numbers, self.words = text, [], 0, 0

    def feed(self, cells: list[str], done: int, source: Source, header: _Header) -> None:
        """Some more cells, of the rows from `done` on."""
        if self.text:
            self.parts.append(self._codes(cells))
        elif self.mostly_numbers:  # what is mostly words will be read again
            self.parts.append(self._values(cells, done, source, header))

    @property
    def mostly_numbers(self) -> bool:
        """Whether what was read are numbers, but for a few words at most."""
        return self.numbers >= _MOSTLY * (self.numbers + self.words)

    def has_words(self, source: Source, header: _Header) -> bool:
        """Whether the column must be read as labels; a few words among numbers are mistakes."""
        if not self.words:
            return False
        if self.mostly_numbers:
            row, word = self.first_word
            raise Refused(
                f"{_place(source, header, self.name, row)}: {short(word)!r} is no number, as "
                f"{self.numbers:,} values of this column are; mend it, or read all of them as "
                "labels with --categories"
            )
        return True

    def column(self) -> Numbers | Labels:
        """What was read."""
        joined = np.concatenate(self.parts)
        return Labels(joined, tuple(self.levels)) if self.text else Numbers(joined)

    def _codes(self, cells: list[str]) -> np.ndarray:
        levels, before = self.levels, len(self.levels)
        codes = [-1 if c in MISSING else levels.setdefault(c, len(levels)) for c in cells]
        self.weight += sum(100 + len(level) for level in islice(levels, before, None))
        return np.array(codes, dtype=np.int64)

    def _values(self, cells: list[str], done: int, source: Source, header: _Header) -> np.ndarray:
        if self.comma:
            cells = [c.replace(",", ".") for c in cells]
        values = _floats(cells)
        if values is None:
            values = np.full(len(cells), np.nan)
            for i, cell in enumerate(cells):
                if _is_number(cell):
                    values[i] = float(cell)
                elif cell.strip() not in MISSING:
                    self.first_word = self.first_word if self.words else (done + i, cell)
                    self.words += 1
        self.numbers += int(np.count_nonzero(~np.isnan(values)))
        for i in np.flatnonzero(np.abs(values) > _WHOLE):
            if cells[i].strip().lstrip("+-").isdigit():
                raise Refused(
                    f"{_place(source, header, self.name, done + int(i))}: {short(cells[i])} is "
                    "beyond 2^53, float64 would round it; if it is a name, use --categories, else "
                    "subtract or divide by a constant"
                )
        return values


def _place(source: Source, header: _Header, column: str, row: int) -> str:
    """File, column, row and line, in words."""
    line = next(islice(_rows(source, header), row, None))[0]
    return f"{source.name}, column {quoted([column])}, row {row + 1:,} (line {line:,})"


def _floats(cells: list[str]) -> np.ndarray | None:
    """The cells as numbers, or None if one of them is none."""
    if "_" in "".join(cells):  # Python reads 1_000 as a number, a table does not mean it
        return None
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None


def _is_number(cell: str, comma: bool = False) -> bool:
    if "_" in cell:
        return False
    try:
        float(cell.replace(",", ".") if comma else cell)
    except ValueError:
        return False
    return True
