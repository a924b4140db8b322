"""Rows in the order of time: their differences, and whether the p-value has to allow for their dependence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.cli.common_options import SeriesOptions
from mercer.cli.exits import Refused
from mercer.cli.match import FileSample
from mercer.cli.table import LabelColumn, NumericColumn, quoted
from mercer.frames import Table
from mercer.htest.serial_hsic import serial_cautions
from mercer.htest.time_order import DIFFERENCES_NOTE

_MIN_ROWS = 3  # two differences
_AS_SERIES = (
    "the rows depend on those before them, so that with {why} they are compared as with --series: the p-value allows "
    "for it; --no-series takes them for independent"
)


def differenced(sample: FileSample, chosen: SeriesOptions, notes: list[str]) -> FileSample:
    """With --difference the changes from each row to the next, else the sample itself; noted once."""
    if not chosen.difference:
        return sample
    labels = [name for name, c in sample.columns.items() if isinstance(c, LabelColumn)]
    if labels:
        raise Refused(
            f"{sample.name}: --difference needs columns of numbers, got labels in {quoted(labels)}: leave them out "
            "with --exclude, or select others with --columns"
        )
    if sample.rows < _MIN_ROWS:
        raise Refused(f"{sample.name}: {sample.rows} rows; --difference needs {_MIN_ROWS} or more")
    if DIFFERENCES_NOTE not in notes:
        notes.append(DIFFERENCES_NOTE)
    columns = {
        name: NumericColumn(np.diff(column.values))
        for name, column in sample.columns.items()
        if isinstance(column, NumericColumn)
    }
    points = sample.points
    if isinstance(points, Table):
        points = replace(points, values=np.diff(points.values, axis=0))
    else:
        points = np.diff(points, axis=0)
    return replace(sample, points=points, columns={**columns}, differenced=True)


def as_series(
    choice: Any,
    chosen: SeriesOptions,
    named: Sequence[tuple[str, Any]],
    notes: list[str],
    *,
    least: int = 1,
) -> Any:
    """The choice of a test, with a null distribution for series where the order of time is known and rows depend on it.

    --series and --no-series decide themselves; so does a --test that takes rows for independent, which gets a caution.
    """
    unknown_order = chosen.time is None and not chosen.difference
    if chosen.series is not None or unknown_order or not choice.has_series_form:
        return choice
    if not serial_cautions(named, least=least, ordered=True):
        return choice
    notes.append(_AS_SERIES.format(why="--time" if chosen.time is not None else "--difference"))
    return replace(choice, series=True)
