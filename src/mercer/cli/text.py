"""Reader of text tables with comma, tab, semicolon, | or spaces as separator, in batches of rows.

A column is numeric if at least 90% of its values are numbers; the few words in it are then errors. With
more words it holds labels. Missing values do not count. The share is computed after each batch, and a
column that falls below it after the first batch is read a second time, as labels.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from mercer.cli.byte_source import ByteSource
from mercer.cli.exits import Refused
from mercer.cli.number_style import (
    NumberStyle,
    TextFormat,
    is_number,
    number_style,
    refuse_numbers_as_labels,
)
from mercer.cli.table import (
    File,
    LabelColumn,
    NumericColumn,
    Selection,
    affordable,
    quoted,
    refuse_data_as_names,
    short,
)
from mercer.cli.text_header import Header, header_of
from mercer.cli.text_lines import BadRow, BoundedLines, Row, cells_of, lines_of

# A word with a digit is a number written otherwise, rather than a missing value.
_DIGIT = re.compile(r"\d")
_PROBLEMS_SHOWN = 3  # columns in one refusal
_BATCH_BYTES = 4 << 20  # fewer cells than that if they are long
_NUMERIC_SHARE = 0.9  # with this share of numbers a column is numeric, and its words are errors
_BYTES_PER_LABEL = 100  # memory of one label in a dictionary, beside its characters
_MAX_EXACT_INTEGER = 2**53  # float64 represents every integer up to here

Progress = Callable[[float], object]


def read_text(source: ByteSource, selection: Selection, progress: Progress) -> File:
    """Selected columns of a text table."""
    header, name = header_of(source, selection), source.name
    columns = [
        _TextColumn(
            header.names[i],
            i,
            header.names[i] in selection.categories,
            header.form,
            time=header.names[i] == selection.time,
        )
        for i in selection.positions(header.names, name)
    ]
    _feed(source, header, columns, progress, first_batch_only=True)
    for column in columns:  # labels known by the first batch, so that the column is not read twice
        column.find_style(name, header.comma)
        column.begin(as_labels=column.as_labels or not column.mostly_numbers)
    _feed(source, header, columns, progress)
    late, refused = [], []
    for column in columns:
        try:
            late += [column] if column.needs_labels(source, header) else []
        except Refused as problem:
            refused.append(str(problem))
    for column in late:
        column.begin(as_labels=True)
    if late:
        _feed(source, header, late, progress)
    for column in columns:
        try:
            column.refuse_numbers_as_labels(name)
        except Refused as problem:
            refused.append(str(problem))
    _refuse_together(refused, name)
    read = {c.name: c.column() for c in columns}
    if header.named:
        refuse_data_as_names(read, name)
    return File(name, read, notes=header.notes(name))


def _refuse_together(problems: Sequence[str], file: str) -> None:
    """Refuse a file for all of its columns at once, which all have to be mended; each problem begins with its name."""
    if not problems:
        return
    first, *others = problems
    shown = [other.removeprefix(f"{file}, ") for other in others[: _PROBLEMS_SHOWN - 1]]
    hidden = len(problems) - _PROBLEMS_SHOWN
    more = [f"And {hidden:,} more column{'s' * (hidden > 1)}"] if hidden > 0 else []
    raise Refused(". ".join([first, *(text[:1].upper() + text[1:] for text in shown), *more]))


def _feed(
    source: ByteSource,
    header: Header,
    columns: list[_TextColumn],
    progress: Progress,
    *,
    first_batch_only: bool = False,
) -> None:
    """Append the cells of every row, or of the first batch, to the columns."""
    count, name = 0, source.name
    for rows in islice(_batches(source, header), 1 if first_batch_only else None):
        for column in columns:
            column.feed([row[column.position] for row in rows], count, source, header)
        count += len(rows)
        share = min(source.file.tell() / max(source.size, 1), 1.0)
        progress(share)
        affordable(count, len(columns), name, share, sum(c.label_bytes for c in columns))
    if count == 0:
        raise Refused(f"{name}: a header but no rows")


# ---- rows: in batches, or one by one with their line numbers ------------------------------------


def _batches(source: ByteSource, header: Header) -> Iterator[list[list[str]]]:
    """Batches of rows, split by the csv module; after an error `_rows` finds the line to report."""
    width, skip = len(header.names), header.named
    if width == 1:  # blank lines are missing values
        single = (cells for _, cells in _rows(source, header))
        while rows := _next_batch(single, header, source.file.tell):
            yield rows
        return
    source.file.seek(0)
    bounded = BoundedLines(source.file)
    text = io.TextIOWrapper(io.BufferedReader(bounded, 1 << 16), "utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=header.separator, skipinitialspace=True, strict=True)
    try:
        while rows := _next_batch(reader, header, lambda: bounded.consumed):
            if skip or set(map(len, rows)) != {width}:
                rows = [row for row in rows if row not in ([], [""])]
                skip, rows = skip and not rows, rows[1:] if skip else rows
                if not set(map(len, rows)) <= {width}:
                    raise BadRow
            if rows:
                yield rows
    except (csv.Error, UnicodeDecodeError, BadRow):
        for _ in _rows(source, header):
            pass
        raise Refused(f"{source.name}: the file cannot be read as a table") from None


def _next_batch(
    rows: Iterator[list[str]], header: Header, consumed: Callable[[], int]
) -> list[list[str]]:
    """The next rows, fewer if they are long; `consumed` returns the number of bytes read so far."""
    batch: list[list[str]] = []
    limit, start = header.batch_rows, consumed()
    # The csv module limits a cell to 128 Ki characters, so 256 cells are at most 32 Mi.
    step = max(1, 256 // len(header.names))
    while len(batch) < limit and consumed() - start < _BATCH_BYTES:
        more = list(islice(rows, min(step, limit - len(batch))))
        batch += more
        if not more:
            break
    return batch


def _rows(source: ByteSource, header: Header) -> Iterator[Row]:
    """Line number and cells of each row, without blank lines, which in a single column are missing values."""
    width, skip, number = len(header.names), header.named, 0
    blank = range(0)
    for line, cells in cells_of(lines_of(source), header.separator, source.name):
        if cells in ([], [""]):
            blank = range(blank.start or line, line + 1)
            continue
        if skip:
            skip = False
            continue
        if width == 1:  # in a single column, a blank line between rows is a missing value
            yield from ((at, [""]) for at in blank if number)
        blank = range(0)
        number += 1
        if len(cells) != width:
            first = "the header" if header.named else "the first line"
            raise Refused(
                f"{source.name}, row {number} (line {line}): {len(cells):,} values, but "
                f"{first} has {width:,}{header.hint(cells)}"
            )
        yield line, cells


# ---- one column -------------------------------------------------------------------------------


@dataclass
class _TextColumn:
    """Column while it is read, as numbers or as labels."""

    name: str
    position: int
    as_labels: bool
    form: TextFormat
    style: NumberStyle | None = None  # None: as Python writes numbers
    parts: list[np.ndarray] = field(default_factory=list)
    levels: dict[str, int] = field(default_factory=dict)
    label_bytes: int = 0  # memory of the levels, roughly
    numbers: int = 0
    words: int = 0
    first_word: tuple[int, str] = (0, "")  # its row (from 0), and the word
    sample: list[str] = field(default_factory=list)  # cells of the first batch, if it has words
    chosen: bool = False  # labels by --categories
    time: bool = False  # dates, by --time

    def __post_init__(self) -> None:
        self.chosen = self.as_labels
        if self.form.decimal or self.form.thousands:
            self.style = number_style((), self.form, False, self.name)

    def find_style(self, file: str, comma: bool) -> None:
        """Choose the style of numbers by the first batch, where they are not plain."""
        if self.style is None and not self.chosen and self.words:
            place = f"{file}, column {quoted([self.name])}"
            self.style = number_style(self.sample, self.form, comma, place)
        if self.style is not None and self.sample:
            cells = [self.style.plain(c) for c in self.sample]
            values = self._numbers(cells, self.style)
            self.numbers = int(np.count_nonzero(~np.isnan(values)))
            self.words = len(self._words(cells, values))
        self.sample = []

    def refuse_numbers_as_labels(self, file: str) -> None:
        """Refuse labels that look like numbers or dates, unless they were asked for."""
        if self.as_labels and not self.chosen and not self.time:
            rows = sum(map(len, self.parts))
            refuse_numbers_as_labels(self.levels, rows, f"{file}, column {quoted([self.name])}")

    def begin(self, *, as_labels: bool) -> None:
        """Discard the values, and start over with labels or numbers."""
        self.as_labels, self.parts, self.numbers, self.words = as_labels, [], 0, 0

    def feed(self, cells: list[str], start: int, source: ByteSource, header: Header) -> None:
        """Append the cells of the rows from `start` on."""
        if self.as_labels:
            self.parts.append(self._codes(cells))
        elif self.mostly_numbers:  # a column of words will be read again as labels
            self.parts.append(self._values(cells, start, source, header))

    @property
    def mostly_numbers(self) -> bool:
        """Whether the values so far are numbers, with a few words at most."""
        return self.numbers >= _NUMERIC_SHARE * (self.numbers + self.words)

    def needs_labels(self, source: ByteSource, header: Header) -> bool:
        """Whether the column must be read again as labels; raises `Refused` for a few words among numbers."""
        if not self.words:
            return False
        if self.mostly_numbers:
            row, word = self.first_word
            missing = (
                f"If it stands for a missing value, say so with --na {shlex.quote(word)}; else fix"
            )
            raise Refused(
                f"{_place(source, header, self.name, row)}: {short(word)!r} is not a number, "
                f"but {self.numbers:,} other values in this column are. "
                f"{'Fix' if _DIGIT.search(word) else missing} it, or treat the column as labels with --categories"
            )
        return True

    def column(self) -> NumericColumn | LabelColumn:
        """All batches as one column."""
        joined = np.concatenate(self.parts)
        return LabelColumn(joined, tuple(self.levels)) if self.as_labels else NumericColumn(joined)

    def _codes(self, cells: list[str]) -> np.ndarray:
        levels, before = self.levels, len(self.levels)
        missing = self.form.missing
        codes = [-1 if c.strip() in missing else levels.setdefault(c, len(levels)) for c in cells]
        self.label_bytes += sum(
            _BYTES_PER_LABEL + len(level) for level in islice(levels, before, None)
        )
        return np.array(codes, dtype=np.int64)

    def _values(
        self, cells: list[str], start: int, source: ByteSource, header: Header
    ) -> np.ndarray:
        style = NumberStyle(",") if self.style is None and header.comma else self.style
        raw, cells = cells, cells if style is None else [style.plain(c) for c in cells]
        values = self._numbers(cells, style)
        for i in self._words(cells, values):
            self.first_word = self.first_word if self.words else (start + i, raw[i])
            self.words += 1
        if self.words and start == 0:
            self.sample = raw
        self.numbers += int(np.count_nonzero(~np.isnan(values)))
        for i in np.flatnonzero(np.abs(values) > _MAX_EXACT_INTEGER):
            if cells[i].strip().lstrip("+-").isdigit():
                raise Refused(
                    f"{_place(source, header, self.name, start + int(i))}: {short(cells[i])} is "
                    "beyond 2^53 and float64 would round it; if it is an identifier, use "
                    "--categories, else subtract or divide by a constant"
                )
        return values

    def _numbers(self, cells: list[str], style: NumberStyle | None) -> np.ndarray:
        """Cells as numbers, NaN where one is not a number, or stands for a missing value as -999 may."""
        values = _floats(cells, self.form.missing)
        given = self.form.given_words
        plain = given if style is None else {*map(style.plain, given)}
        if codes := [float(word) for word in plain if is_number(word)]:
            values[np.isin(values, codes)] = np.nan
        return values

    def _words(self, cells: list[str], values: np.ndarray) -> list[int]:
        """Places of the cells that are neither numbers nor missing values."""
        unread = np.flatnonzero(np.isnan(values)).tolist()
        missing = self.form.missing
        return [i for i in unread if cells[i].strip() not in missing and not is_number(cells[i])]


def _place(source: ByteSource, header: Header, column: str, row: int) -> str:
    """File, column, row and line, for a message."""
    line = next(islice(_rows(source, header), row, None))[0]
    return f"{source.name}, column {quoted([column])}, row {row + 1:,} (line {line:,})"


def _floats(cells: list[str], missing: frozenset[str]) -> np.ndarray:
    """Cells as numbers, NaN where one is not a number."""
    if "_" not in "".join(cells):  # Python reads 1_000 as a number; in a table it is text
        try:
            return np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass
    kept = (c if c.strip() not in missing and is_number(c) else "nan" for c in cells)
    return np.fromiter(map(float, kept), np.float64, len(cells))
