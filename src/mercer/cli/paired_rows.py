"""A caution where two files may hold the same units twice, as measurements before and after do."""

from __future__ import annotations

import numpy as np

from mercer.cli.match import FileSample
from mercer.cli.table import LabelColumn, NumericColumn, in_quotes

_MIN_ROWS = 10  # whole numbers of fewer rows are often the same by chance


def pair_cautions(first: FileSample, second: FileSample) -> tuple[str, ...]:
    """A caution, where a column has in both files the same labels or whole numbers, each once: units measured twice.

    Columns that count the rows from 0 or 1 in both, in order, are row numbers. Files of which all columns are
    keys in this sense, such as a file and itself, hold nothing that could be measured twice.
    """
    if first.array or first.rows < _MIN_ROWS:
        return ()
    columns = [name for name in first.columns if name in second.columns]
    keys = [name for name in columns if _same_keys(first.columns[name], second.columns[name])]
    if not keys or len(keys) == len(columns):
        return ()
    key = in_quotes(keys[0])
    return (
        f"Caution: column {key} has the same {first.rows:,} different values in both samples. If they name units that were "
        f"measured twice, rows are pairs, and this test, which takes them for independent, misses differences within pairs: "
        f"in Python, sort both by {key}, leave it out, and use MMD(null=Permutation(999, paired=True)).",
    )


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
