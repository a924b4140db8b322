"""Columns of a file: numbers with NaN for missing values, or labels with the code -1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.cli.byte_source import gib
from mercer.cli.exits import Refused, one_line
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.frames import PANDAS_INDEX

INDEX = "Unnamed: 0"  # as pandas calls a first column without a name
MAX_COLUMNS = 100_000  # a file with more is almost always a transposed table
# What to do with dates; the other commands have no --time.
TIMES = "name the column with --time if it orders the rows (two-sample, independence, drift and information)"
_BYTES_PER_VALUE = 8  # float64
_MAX_EXACT_INTEGER = 2**53  # float64 represents every integer up to here


@dataclass(frozen=True)
class NumericColumn:
    """Column of numbers; NaN where a value is missing."""

    values: np.ndarray  # (n,) of float32 or float64

    def missing(self) -> np.ndarray:
        """Which rows have no value: (n,) of bool."""
        return np.isnan(self.values)

    def take(self, rows: np.ndarray) -> NumericColumn:
        """The column restricted to these rows."""
        return NumericColumn(self.values[rows])


@dataclass(frozen=True)
class LabelColumn:
    """Column of categories; code -1 where a value is missing."""

    codes: np.ndarray  # (n,) of int64, positions in `levels`
    levels: tuple[str, ...]

    def missing(self) -> np.ndarray:
        """Which rows have no value: (n,) of bool."""
        return self.codes < 0

    def take(self, rows: np.ndarray) -> LabelColumn:
        """The column restricted to these rows."""
        return LabelColumn(self.codes[rows], self.levels)


@dataclass(frozen=True)
class File:
    """Columns of a file by name; `array` if they came without names and share one unit."""

    name: str
    columns: dict[str, NumericColumn | LabelColumn]
    array: bool = False
    notes: tuple[str, ...] = ()
    sorted_by: str | None = None  # the column of times by which rows are sorted
    grouped: bool = False  # whether it is a level of a column of a file, and has its name
    paired_by: str | None = (
        None  # the key by which row i is the partner of row i of the other sample
    )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())).missing())


@dataclass(frozen=True)
class Selection:
    """Columns to read (none named: all), and columns whose numbers are categories."""

    columns: tuple[str, ...] = ()
    categories: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    text: Any = None  # `TextFormat`; None: the default one
    time: str | None = None  # column that orders the rows, and is not compared

    def positions(self, names: Sequence[str], file: str) -> list[int]:
        """Positions of the selected columns among `names`, in the order of the file."""
        timed = () if self.time is None else (self.time,)
        named = (*self.columns, *sorted(self.categories), *sorted(self.exclude), *timed)
        absent = [c for c in dict.fromkeys(named) if c not in names]
        if absent:
            raise Refused(f"{file}: no column {quoted(absent)}; it has {quoted(names)}")
        chosen = [i for i, n in enumerate(names) if not self.columns or n in self.columns]
        positions = [i for i in chosen if names[i] not in self.exclude]
        if not [i for i in positions if names[i] != self.time]:
            raise Refused(f"{file}: --exclude and --time leave no column")
        if self.time is not None and names.index(self.time) not in positions:
            positions = sorted([*positions, names.index(self.time)])
        if len(positions) > MAX_COLUMNS:
            raise Refused(
                f"{file}: {len(positions):,} columns, more than the limit of {MAX_COLUMNS:,}; rows are "
                "observations: is the table transposed? select columns with --columns"
            )
        return positions


def checked_header(names: Sequence[str], selection: Selection, file: str) -> list[str]:
    """Column names; an unnamed or a duplicate column is refused if it is selected."""
    names = [one_line(name) for name in names]
    if len(names) > 1 and names[0] == "":
        names[0] = INDEX  # the row index of pandas and R
    if len(names) == len(set(names)) and "" not in names:
        return list(names)
    first_place: dict[str, int] = {}
    for i, name in enumerate(names, 1):
        if name == "" and not selection.columns:
            raise Refused(
                f"{file}: column {i} has no name (a row index?): write the file without it, "
                "or select others with --columns"
            )
        first = first_place.setdefault(name, i)
        if first < i and (not selection.columns or name in selection.columns):
            raise Refused(
                f"{file}: duplicate column name {quoted([name])} (columns {first} and {i}): rename one"
            )
    return list(names)


def refuse_data_as_names(columns: dict[str, NumericColumn | LabelColumn], file: str) -> None:
    """Refuse a first line that holds values like those below it: the file has no names of columns.

    Numbers head all columns of numbers, and at least one label heads a column in which it occurs.
    """
    labels = {name: c.levels for name, c in columns.items() if isinstance(c, LabelColumn)}
    repeated = [name for name, levels in labels.items() if name in levels]
    numeric = [name for name in columns if name not in labels]
    if repeated and numeric and all(_reads_as_number(name) for name in numeric):
        raise Refused(
            f"{file}: the first line looks like a row and not like names of columns: {quoted(numeric, 2)} and "
            f"{quoted(repeated, 1)}, which occurs in its column: add a line with names"
        )


def _reads_as_number(word: str) -> bool:
    return re.fullmatch(r"[+-]?[\d.,]*\d[\d.,]*", word.strip()) is not None


def without_index(file: File, selection: Selection) -> File:
    """The file without row indices: a first column that only counts, and those that pandas stores without a name."""
    asked = (*selection.columns, *selection.categories, selection.time)
    stored = [n for n in file.columns if PANDAS_INDEX.fullmatch(n) and n not in asked]
    if stored and len(stored) < len(file.columns):
        others = {name: c for name, c in file.columns.items() if name not in stored}
        note = f"{file.name}: the row index of pandas, {quoted(stored)}, was left out"
        file = replace(file, columns=others, notes=(*file.notes, note))
    column = file.columns.get(INDEX)
    if column is None or INDEX in asked:
        return file
    rows = np.arange(file.rows)
    counts = isinstance(column, NumericColumn) and any(
        np.array_equal(column.values, rows + first) for first in (0, 1)
    )
    if not counts:
        raise Refused(
            f"{file.name}: column 1 has no name and is not the number of the row: name it, or leave it out "
            f"with --exclude {INDEX!r}"
        )
    others = {name: c for name, c in file.columns.items() if name != INDEX}
    if not others:
        return file
    note = f"{file.name}: the first column, which only counts the rows, was left out"
    return replace(file, columns=others, notes=(*file.notes, note))


def affordable(
    rows: int, columns: int, file: str, share: float = 1.0, beside: int = 0, remedy: str = ""
) -> None:
    """Refuse a table over the memory limit; `share` of it was read so far, `beside` is text in bytes."""
    limit, needed = settings().memory, rows * columns * _BYTES_PER_VALUE + beside
    if needed > limit:
        total = f"at least {gib(needed)}" if share >= 1 else f"about {gib(needed / share)}"
        raise MemoryBudgetError(
            f"{file} needs {total} of memory for {columns:,} columns, the limit is {gib(limit)}: "
            f"{limit // (columns * _BYTES_PER_VALUE):,} rows fit; use fewer rows, select --columns, "
            f"or raise --memory{remedy}"
        )


def label_column(values: Sequence[str | None]) -> LabelColumn:
    """Column of labels, coded in the order in which they first occur; None is missing."""
    levels: dict[str, int] = {}
    codes = [-1 if v is None else levels.setdefault(v, len(levels)) for v in values]
    return LabelColumn(np.array(codes, dtype=np.int64), tuple(levels))


def refuse_rounding(values: np.ndarray, column: str, file: str, before: int = 0) -> None:
    """Refuse integers that float64 would round; `before` counts the rows of earlier batches."""
    limit = _MAX_EXACT_INTEGER
    if not values.size or -limit <= values.min() <= values.max() <= limit:
        return
    row = int(np.argmax(np.abs(values.astype(np.float64))))
    raise Refused(
        f"{file}, column {quoted([column])}, row {before + row + 1:,}: {values[row]} is beyond 2^53 "
        "and float64 would round it; if it is an identifier, use --categories, else subtract a constant"
    )


def unfit_type(column: str, file: str, kind: str) -> Refused:
    """Error for a column whose values are neither numbers nor text."""
    return Refused(
        f"{file}, column {quoted([column])}: values of type {short(kind, 80)}; convert them to "
        "numbers or text, or select other columns with --columns"
    )


def unfit_dates(column: str, file: str, kind: str) -> Refused:
    """Error for a column of dates that is to be compared."""
    return Refused(
        f"{file}, column {quoted([column])}: dates ({short(kind, 80)}): {TIMES}, "
        "leave it out with --exclude, or convert the dates to numbers (days)"
    )


def quoted(names: Sequence[str], most: int = 8) -> str:
    """Names in quotes for a message: the first `most`, shortened."""
    shown = [in_quotes(name) for name in names[:most]]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown) + more


def in_quotes(name: str) -> str:
    """A name in quotes, shortened; a space at either end remains, which makes it another name."""
    spaces = (" " * text[:1].isspace() for text in (name, name[::-1]))
    return repr(short(name).join(spaces))


def short(text: str, most: int = 40) -> str:
    """`text` on one line of at most `most` characters."""
    text = one_line(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def rows_in_words(number: int) -> str:
    """1 row, 2 rows."""
    return f"{number:,} {'row' if number == 1 else 'rows'}"


def was_or_were(number: int) -> str:
    """The verb of a number."""
    return "was" if number == 1 else "were"
