"""First line of a text table: names of columns, and the separator."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from itertools import chain, islice

from mercer.cli.byte_source import ByteSource, gib
from mercer.cli.exits import Refused
from mercer.cli.number_style import TextFormat, is_number
from mercer.cli.table import Selection, checked_header
from mercer.cli.text_lines import cells_of, lines_of
from mercer.config import settings
from mercer.errors import MemoryBudgetError

_BATCH_CELLS = 1 << 18  # cells in memory as text: about 20 MB as Python strings
_LINES_FOR_SPACES = 20  # after the first, by which spaces are known to separate values
_BYTES_PER_NAME = 100  # memory of one column name, roughly


@dataclass(frozen=True)
class Header:
    """Column names and separator of a text table."""

    names: list[str]
    separator: str
    named: bool  # False: the first line is data, and the names are x1, x2, ...
    form: TextFormat

    @property
    def comma(self) -> bool:
        """Whether numbers have decimal commas: they do where semicolons separate values, unless told."""
        return self.separator == ";" if self.form.decimal is None else self.form.decimal == ","

    @property
    def batch_rows(self) -> int:
        """Number of rows in a batch."""
        return max(1, _BATCH_CELLS // len(self.names))

    def notes(self, file: str) -> tuple[str, ...]:
        """Remark on a first line of numbers, taken for a row, or for names where it is 0, 1, 2, ..."""
        names = ", ".join(self.names[:3]) + (", ..." if len(self.names) > 3 else "")
        if not self.named:
            return (
                f"{file}: no header (the first line holds only numbers); columns named {names}",
            )
        if not _counted(self.names):
            return ()
        return (
            f"{file}: the first line, {names}, was taken for names of columns, as pandas writes them: if it is a row, add "
            "a line with names",
        )

    def hint(self, cells: list[str]) -> str:
        """What may be wrong with a row of too few or too many values, for the end of a message."""
        if self.names[0].startswith("#"):
            return ": if the first line is a comment, remove it"
        if len(self.names) == 1:
            return f": if {self.separator!r} belongs to the values of a single column, name another separator, such as --sep ';'"
        if self.named and len(cells) == len(self.names) + 1 and cells[-1].strip():
            return ": if the rows begin with their names or numbers, give that column a name in the header"
        return ""


def header_of(source: ByteSource, selection: Selection) -> Header:
    """Names of the columns, or x1, x2, ..., and the separator, by the first lines."""
    lines, name = lines_of(source), source.name
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise Refused(f"{name}: the file is empty")
    bare, form = re.sub(r'"[^"]*"', "", first), selection.text
    others = list(islice(lines, _LINES_FOR_SPACES))
    separator = form.separator or _separator(first, bare, others, name)
    if bare.count(separator) * _BYTES_PER_NAME > settings().memory:
        raise MemoryBudgetError(
            f"{name}: the first line has {bare.count(separator) + 1:,} columns, whose names alone "
            f"exceed the memory limit of {gib(settings().memory)}; is the table transposed?"
        )
    whole = chain([first], others, lines)
    cells = [cell.strip() for cell in next(cells_of(whole, separator, name))[1]]
    if _lacks_name(cells, others, separator):
        cells = ["", *cells]
    if all(is_number(cell, separator == ";") for cell in cells) and not _counted(cells):
        return Header([f"x{i}" for i in range(1, len(cells) + 1)], separator, False, form)
    return Header(checked_header(cells, selection, name), separator, True, form)


def _counted(cells: list[str]) -> bool:
    """Whether the first line is 0, 1, 2, ...: the names that pandas gives to columns without names."""
    return len(cells) > 1 and cells == [str(i) for i in range(len(cells))]


def _lacks_name(cells: list[str], others: list[str], separator: str) -> bool:
    """Whether rows have a value more than the first line has names: the row names of R, words or numbers 1, 2, ..."""
    reader = csv.reader(others, delimiter=separator, skipinitialspace=True)
    try:
        rows = [row for row in reader if row]
    except csv.Error:
        return False
    if not rows or any(len(row) != len(cells) + 1 or not row[-1].strip() for row in rows):
        return False
    names = [row[0].strip() for row in rows]
    counted = any(names == [str(i + first) for i in range(len(names))] for first in (0, 1))
    return counted or not any(map(is_number, names))


def _separator(first: str, bare: str, others: list[str], name: str) -> str:
    """Separator of the first line, `bare` without what is quoted: spaces if other lines have as many, with numbers.

    They may have one more, a name of the row. Refused where some lines have more words than others.
    """
    if "\t" in bare:
        return "\t"
    separator = max(",;|", key=bare.count)
    width = len(_words(first))
    rows = [_words(line) for line in others if line.strip()]
    if separator in bare or width < 2 or not all(any(map(is_number, row)) for row in rows):
        return separator
    widths = sorted({len(row) for row in rows})
    if widths in ([width], [width + 1]):
        return " "
    if min(widths, default=0) > 1:
        raise Refused(
            f"{name}: the first line has {width} words and others have {widths[0]} to {widths[-1]}, with numbers among them: "
            "put words that belong together in quotes, or name the separator with --sep (--sep , for a single column)"
        )
    return separator


def _words(line: str) -> list[str]:
    """Words between spaces, without their quotation marks; what is quoted is one."""
    return [word.strip('"') for word in re.findall(r'"[^"]*"|[^\s"]+', line)]
