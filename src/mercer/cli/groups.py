"""Samples from one file: the rows of two levels of a column, which `--by` names."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

import numpy as np

from mercer.cli.exits import Refused, WrongUse
from mercer.cli.match import refuse_infinite
from mercer.cli.spelling import spelt_alike
from mercer.cli.table import (
    File,
    LabelColumn,
    Selection,
    in_quotes,
    quoted,
    rows_in_words,
    short,
    was_or_were,
)

_LEVELS_SHOWN = 8  # in a message


@dataclass(frozen=True)
class Grouping:
    """Column that says to which sample a row belongs, and the two levels to compare (none: all it has)."""

    column: str
    levels: tuple[str, ...] = ()
    texts: bool = False  # whether texts are compared, and not columns

    def __post_init__(self) -> None:
        if self.levels and len(self.levels) != 2:
            raise WrongUse(
                f"--levels needs two levels of {quoted([self.column])}, as in --levels a,b, got {len(self.levels)}"
            )

    def selected(self, selection: Selection) -> Selection:
        """The selection with this column, whose values are labels."""
        uses = {
            "columns": selection.columns,
            "exclude": selection.exclude,
            "time": (selection.time,),
        }
        for option, names in uses.items():
            if self.column in names:
                raise WrongUse(f"{quoted([self.column])} cannot be in both --by and --{option}")
        columns = (*selection.columns, self.column) if selection.columns else ()
        return replace(selection, columns=columns, categories=selection.categories | {self.column})

    def samples(self, file: File) -> tuple[File, File]:
        """The rows of both levels, each as a file with the name of its level."""
        refuse_infinite(file)  # as long as row numbers are those of the file
        columns = dict(file.columns)
        column = columns.pop(self.column)
        if not isinstance(column, LabelColumn) or not columns:
            raise Refused(f"{file.name}: --by {self.column} leaves no column to compare")
        sizes = dict(
            zip(column.levels, np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels)), strict=True)
        )  # fmt: skip
        chosen = self._chosen(sizes, file.name)
        rows = [np.flatnonzero(column.codes == column.levels.index(level)) for level in chosen]
        others = {level: rows for level, rows in sizes.items() if level not in chosen}
        notes = (*file.notes, *self._left_out(file, int(column.missing().sum()), others))
        first, second = (
            replace(
                file,
                name=level,
                columns={name: c.take(places) for name, c in columns.items()},
                notes=remarks,
                grouped=True,
            )
            for level, places, remarks in zip(chosen, rows, (notes, ()), strict=True)
        )
        return first, second

    def _chosen(self, sizes: dict[str, int], name: str) -> tuple[str, str]:
        """The two levels, by their names where none were given."""
        present = sorted(level for level, rows in sizes.items() if rows)
        place = f"{name}, column {quoted([self.column])}"
        unknown = [level for level in self.levels if level not in present]
        if unknown:
            raise Refused(f"{place}: no level {quoted(unknown)}; it has {_counted(sizes)}")
        wanted = self.levels or tuple(present)
        if len(wanted) < 2:
            raise Refused(
                f"{place}: --by needs two levels to compare, it has {_counted(sizes) or 'none'}"
            )
        if len(wanted) > 2:
            largest = sorted(wanted, key=lambda level: -sizes[level])[:2]
            pair = shlex.quote(",".join(short(level) for level in sorted(largest)))
            alike = spelt_alike(wanted, "if they are one level, write them alike")
            others = (
                f"whether any differ, mercer independence tells with --y {shlex.quote(self.column)}"
            )
            hints = [hint for hint in (alike, "" if self.texts else others) if hint]
            named = f"name the two to compare, as in --levels {pair}"
            raise Refused(
                f"{place}: {len(wanted):,} levels, {_counted(sizes)}: {'; '.join([named, *hints])}"
            )
        return wanted[0], wanted[1]

    def _left_out(self, file: File, missing: int, others: dict[str, int]) -> list[str]:
        """Remarks on rows of no level, and of levels that are not compared."""
        column, rest = quoted([self.column]), sum(others.values())
        remarks = []
        if missing:
            remarks.append(
                f"{rows_in_words(missing)} without a level of {column} {was_or_were(missing)} left out"
            )
        if rest:
            remarks.append(
                f"{rows_in_words(rest)} of other levels of {column} {was_or_were(rest)} left out: {_counted(others)}"
            )
        return [f"{file.name}: {remark}" for remark in remarks]


def _counted(sizes: dict[str, int]) -> str:
    """Levels with their numbers of rows, the largest first."""
    largest = sorted((level for level in sizes if sizes[level]), key=lambda level: -sizes[level])
    shown = [
        f"{in_quotes(level)} ({rows_in_words(sizes[level])})" for level in largest[:_LEVELS_SHOWN]
    ]
    more = f" and {len(largest) - len(shown):,} more" if len(largest) > len(shown) else ""
    return ", ".join(shown) + more
