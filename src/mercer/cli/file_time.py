"""Rows of a file in the order of a column of times, and columns that look like times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mercer.cli.exits import Refused
from mercer.cli.table import File, LabelColumn, NumericColumn, quoted
from mercer.htest.time_order import as_days

_MIN_ROWS = 20  # of fewer numbers, an increasing order may be chance


def in_time_order(file: File, time: str | None) -> File:
    """The file without its column of times, and its rows in their order."""
    if time is None:
        return file
    columns = dict(file.columns)
    column, place = columns.pop(time), f"{file.name}, column {quoted([time])}"
    if column.missing().any():
        raise Refused(
            f"{place}: {int(column.missing().sum()):,} rows have no time: leave them out of the file"
        )
    order = np.argsort(_days(column, place), kind="stable")
    note = f"{file.name}: the order of the rows is that of {quoted([time])}, which is not compared"
    return replace(
        file,
        columns={name: c.take(order) for name, c in columns.items()},
        notes=(*file.notes, note),
        sorted_by=time,
    )


def _days(column: NumericColumn | LabelColumn, place: str) -> np.ndarray:
    """Times as numbers: (n,)."""
    if isinstance(column, NumericColumn):
        return column.values
    try:
        return as_days(column.levels, place)[column.codes]
    except ValueError as problem:
        raise Refused(str(problem)) from None


def time_remarks(files: Sequence[File], option: bool) -> list[str]:
    """Hints at columns of numbers that increase from row to row in every file; `option`: whether the command has --time."""
    if any(file.sorted_by is not None or file.rows < _MIN_ROWS for file in files):
        return []
    if len(files[0].columns) < 2:
        return []
    rising = [
        name
        for name, first in files[0].columns.items()
        if isinstance(first, NumericColumn)
        and all((np.diff(file.columns[name].values) > 0).all() for file in files)  # type: ignore[union-attr]
    ]
    remedy = "leave it out with --exclude {}"
    if option:
        remedy = f"if it is a time, give it as --time {{}}; if it only counts, {remedy}"
    return [
        f"column {quoted([name])} increases from row to row, as times and row numbers do: {remedy.format(name, name)}"
        for name in rising
    ]
