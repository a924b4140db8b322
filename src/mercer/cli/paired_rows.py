"""Rows of two samples that are pairs: matched by a key, as `--paired` says, or found and not declared."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.cli.exits import Refused, WrongUse
from mercer.cli.match import FileSample, Missing, incomplete, refuse_infinite
from mercer.cli.pair_changes import label_changes
from mercer.cli.table import (
    File,
    LabelColumn,
    NumericColumn,
    Selection,
    in_quotes,
    quoted,
    rows_in_words,
    was_or_were,
)

ROWS = "rows"  # with --paired: row i of one sample belongs to row i of the other
_VALUES = "values"  # the name of both columns of one file, as those of two samples must be the same
_MIN_ROWS = 10  # whole numbers of fewer rows are often the same by chance
_UNITS_SHOWN = 5  # in a message
_WHOLE = re.compile(r"[+-]?\d+\.0*")  # as a column with missing values is written by pandas


@dataclass(frozen=True)
class Pairing:
    """Column that names the unit of a row, by which the rows of two samples are pairs; `rows`: their order does."""

    key: str

    @property
    def by_order(self) -> bool:
        """Whether row i of one sample belongs to row i of the other."""
        return self.key == ROWS

    def selected(self, selection: Selection) -> Selection:
        """The selection with the key, whose values are labels."""
        if self.by_order:
            return selection
        uses = {"columns": selection.columns, "exclude": selection.exclude}
        for option, names in uses.items():
            if self.key in names:
                raise WrongUse(f"{quoted([self.key])} cannot be in both --paired and --{option}")
        columns = (*selection.columns, self.key) if selection.columns else ()
        return replace(selection, columns=columns, categories=selection.categories | {self.key})

    def pairs(
        self, first: File, second: File, missing: Missing | None, notes: list[str]
    ) -> tuple[File, File]:
        """The rows that have a partner, in the order of the first file, without the key; what was left out is noted."""
        for file in (first, second):
            refuse_infinite(file)  # as long as row numbers are those of the file
        columns = first.paired_by == ROWS  # of one file
        if not columns:
            first, second = (
                self._in_order(first, second)
                if self.by_order
                else self._matched(first, second, notes)
            )
        if missing is Missing.DROP:
            first, second = self._complete(first, second, notes)
        by = "their order" if self.by_order else quoted([self.key])
        how = "each the values of one row" if columns else f"by {by}"
        notes.append(f"{first.rows:,} pairs{' of rows' * (not columns)}, {how}")
        return first, second

    def _in_order(self, first: File, second: File) -> tuple[File, File]:
        """Both files, which must have as many rows."""
        if ROWS in first.columns:
            raise Refused(
                f"{first.name} has a column {ROWS!r}, and --paired {ROWS} says that rows are pairs by their order: "
                "rename the column if it names the units, or leave it out with --exclude"
            )
        if first.rows != second.rows:
            raise Refused(
                f"{first.name} has {rows_in_words(first.rows)} and {second.name} {second.rows:,}: pairs by their order need equally "
                "many; if a column names the units, give it as --paired COLUMN"
            )
        return replace(first, paired_by=ROWS), replace(second, paired_by=ROWS)

    def _matched(self, first: File, second: File, notes: list[str]) -> tuple[File, File]:
        """The rows of the units that are in both files."""
        here, there = self._units(first, notes), self._units(second, notes)
        both = [unit for unit in here if unit in there]
        if not both:
            raise Refused(
                f"column {quoted([self.key])}: no unit is in both samples; {first.name} has {_listed(list(here))}, "
                f"and {second.name} {_listed(list(there))}"
            )
        for file, units, others in ((first, here, there), (second, there, here)):
            alone = [unit for unit in units if unit not in others]
            if alone:
                notes.append(
                    f"{file.name}: {rows_in_words(len(alone))} without a partner {was_or_were(len(alone))} left out, {quoted([self.key])} "
                    f"{_listed(alone)}"
                )
        return self._taken(first, here, both), self._taken(second, there, both)

    def _units(self, file: File, notes: list[str]) -> dict[str, int]:
        """The row of each unit; rows without one are left out, and a unit in two rows is refused."""
        column = file.columns[self.key]
        if not isinstance(column, LabelColumn):
            raise Refused(
                f"{file.name}, column {quoted([self.key])}: no row has a value that names its unit"
            )
        names = [_unit(level) for level in column.levels]
        rows: dict[str, int] = {}
        repeated: dict[str, int] = {}
        for row, code in enumerate(column.codes.tolist()):
            if code < 0:
                continue
            if rows.setdefault(names[code], row) != row:
                repeated[names[code]] = repeated.get(names[code], 1) + 1
        if repeated:
            unit, times = next(iter(repeated.items()))
            others = f" (one of {len(repeated):,} such units)" if len(repeated) > 1 else ""
            raise Refused(
                f"{file.name}, column {quoted([self.key])}: {in_quotes(unit)} is in {times:,} rows{others}: pairs need "
                "one row of each unit in each sample; choose one, or take the mean of the unit"
            )
        if without := int(column.missing().sum()):
            notes.append(
                f"{file.name}: {rows_in_words(without)} without a value of {quoted([self.key])} {was_or_were(without)} left out"
            )
        return rows

    def _taken(self, file: File, rows: dict[str, int], units: Sequence[str]) -> File:
        """The rows of these units, without the key."""
        places = np.array([rows[unit] for unit in units], dtype=np.int64)
        columns = {name: c.take(places) for name, c in file.columns.items() if name != self.key}
        if not columns:
            raise Refused(
                f"{file.name}: --paired {shlex.quote(self.key)} leaves no column to compare"
            )
        return replace(file, columns=columns, paired_by=self.key)

    def _complete(self, first: File, second: File, notes: list[str]) -> tuple[File, File]:
        """The pairs of which neither row has a missing value."""
        lacking = incomplete(first) | incomplete(second)
        if lacking.all():
            raise Refused(
                f"every pair of {first.name} and {second.name} has a missing value: select --columns, or use "
                "--missing impute"
            )
        if number := int(lacking.sum()):
            plural = "pair" if number == 1 else "pairs"
            notes.append(
                f"{number:,} {plural} with missing values in one or both rows {was_or_were(number)} left out"
            )
        complete, other = (
            replace(file, columns={name: c.take(~lacking) for name, c in file.columns.items()})
            for file in (first, second)
        )
        return complete, other


@dataclass(frozen=True)
class TwoColumns:
    """Two columns of one file, before and after: the values of a row are a pair."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) != 2:
            raise WrongUse(
                "two-sample needs two files, or one with the column that tells its samples apart, as in --by group; if "
                "two columns of one file are to be compared as pairs, name both, as in --paired before,after"
            )

    def samples(self, file: File) -> tuple[File, File]:
        """Both columns, each as a file with its name and a column of values."""
        refuse_infinite(file)  # as long as columns have their names
        first, second = (
            replace(
                file,
                name=name,
                columns={_VALUES: file.columns[name]},
                notes=file.notes if name == self.names[0] else (),
                grouped=True,
                paired_by=ROWS,
            )
            for name in self.names
        )
        return first, second


def _unit(label: str) -> str:
    """A label without spaces around it, and a whole number without its decimal places."""
    label = label.strip()
    return label.partition(".")[0] if _WHOLE.fullmatch(label) else label


def _listed(units: Sequence[str]) -> str:
    """Units in quotes, the first of many."""
    return quoted(units, _UNITS_SHOWN) or "none"


def pair_cautions(first: FileSample, second: FileSample) -> tuple[str, ...]:
    """A caution, where a column has in both files the same labels or whole numbers, each once: units measured twice.

    Columns that count the rows from 0 or 1 in both, in order, are row numbers. Files of which all columns are
    keys in this sense, such as a file and itself, hold nothing that could be measured twice.
    """
    if first.array or first.rows < _MIN_ROWS or first.paired_by not in (None, ROWS):
        return ()
    columns = [name for name in first.columns if name in second.columns]
    keys = [name for name in columns if _same_keys(first.columns[name], second.columns[name])]
    if not keys or len(keys) == len(columns):
        return ()
    if first.paired_by == ROWS:
        return _other_units(first, second, keys)
    return (
        f"Caution: column {in_quotes(keys[0])} has the same {first.rows:,} different values in both samples. If they name units "
        f"that were measured twice, rows are pairs, and this test, which takes them for independent, misses differences within "
        f"pairs: use --paired {shlex.quote(keys[0])}.",
    )


def _other_units(first: FileSample, second: FileSample, keys: Sequence[str]) -> tuple[str, ...]:
    """A caution, where rows are pairs by their order, and a key has other values in one row of a pair than in the other."""
    orders = [(name, _change_of(name, first, second)) for name in keys]
    moved = [(name, number) for name, number in orders if number]
    if not moved:
        return ()
    name, number = moved[0]
    return (
        f"Caution: rows are pairs by their order, and in {number:,} of {first.rows:,} pairs column {in_quotes(name)} is not "
        f"the same in both rows. If it names the units, use --paired {shlex.quote(name)}.",
    )


def _change_of(name: str, first: FileSample, second: FileSample) -> int:
    """In how many pairs a column has two values."""
    a, b = first.columns[name], second.columns[name]
    if isinstance(a, LabelColumn) and isinstance(b, LabelColumn):
        return label_changes(a, b)
    if isinstance(a, LabelColumn) or isinstance(b, LabelColumn):
        return first.rows
    return int(np.count_nonzero(a.values != b.values))


def _same_keys(first: NumericColumn | LabelColumn, second: NumericColumn | LabelColumn) -> bool:
    """Whether both columns have the same values, each once, and do not just count the rows."""
    if isinstance(first, LabelColumn) and isinstance(second, LabelColumn):
        a, b = _used_once(first), _used_once(second)
        return a is not None and a == b
    if isinstance(first, LabelColumn) or isinstance(second, LabelColumn):
        return False
    a, b = first.values, second.values
    if len(a) != len(b) or not (_whole(a) and _whole(b)):
        return False
    ordered = np.sort(a)
    different = bool(np.all(ordered[1:] > ordered[:-1]))
    return different and np.array_equal(ordered, np.sort(b)) and not (_counts(a) and _counts(b))


def _used_once(column: LabelColumn) -> set[str] | None:
    """The labels, if every row has another; else None."""
    rows = len(column.codes)
    if len(column.levels) < rows or len(np.unique(column.codes)) < rows:
        return None
    return {column.levels[code] for code in column.codes.tolist()}


def _whole(values: np.ndarray) -> bool:
    """Whether all values are whole numbers; most columns of numbers show by their first value that they are not."""
    return float(values[0]).is_integer() and bool(np.all(np.floor(values) == values))


def _counts(values: np.ndarray) -> bool:
    """Whether the values are 0, 1, 2, ... or 1, 2, 3, ..."""
    return values[0] in (0, 1) and np.array_equal(values, values[0] + np.arange(len(values)))
