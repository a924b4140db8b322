"""Changes within pairs: of each column, how much the second row of a pair exceeds the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from mercer.cli.match import FileSample
from mercer.cli.table import LabelColumn, NumericColumn, short
from mercer.htest.format_number import figure

_CONFIDENCE = 0.95
_COLUMNS_SHOWN = 5


@dataclass(frozen=True)
class Change:
    """Differences of a column of numbers within pairs: their mean with its t interval, and their standard deviation."""

    name: str
    mean: float
    sd: float
    low: float
    high: float

    def describe(self) -> str:
        """The mean and its interval in words."""
        interval = f"{100 * _CONFIDENCE:g}% interval {figure(self.low)} to {figure(self.high)}"
        return f"{short(self.name)} {figure(self.mean)} on average ({interval})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        interval = [self.low, self.high]
        return {"name": self.name, "mean": self.mean, "sd": self.sd, "interval": interval}


@dataclass(frozen=True)
class LabelChange:
    """In how many pairs the labels of a column differ."""

    name: str
    changed: int
    pairs: int

    def describe(self) -> str:
        """The number of pairs in words."""
        return f"{short(self.name)} differs in {self.changed:,} of {self.pairs:,} pairs"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {"name": self.name, "changed": self.changed}


def changes_within_pairs(first: FileSample, second: FileSample) -> tuple[Change | LabelChange, ...]:
    """Second minus first of each column, in the order of the columns."""
    return tuple(_change(name, first.columns[name], second.columns[name]) for name in first.columns)


def changes_in_words(changes: Sequence[Change | LabelChange], names: tuple[str, str]) -> str:
    """The changes of the first columns in one sentence."""
    shown = [change.describe() for change in changes[:_COLUMNS_SHOWN]]
    hidden = len(changes) - len(shown)
    more = [f"and {hidden:,} more columns (--json has them)"] if hidden else []
    return f"{names[1]} minus {names[0]}: {'; '.join([*shown, *more])}"


def _change(
    name: str, first: NumericColumn | LabelColumn, second: NumericColumn | LabelColumn
) -> Change | LabelChange:
    if isinstance(first, LabelColumn) and isinstance(second, LabelColumn):
        return LabelChange(name, label_changes(first, second), len(first.codes))
    if isinstance(first, LabelColumn) or isinstance(second, LabelColumn):
        raise TypeError(f"column {name!r} must hold numbers in both samples, or labels in both")
    differences = second.values.astype(np.float64) - first.values.astype(np.float64)  # (n,)
    return _of_differences(name, differences)


def _of_differences(name: str, differences: np.ndarray) -> Change:
    """Mean and spread of differences within pairs."""
    from scipy import stats

    n = len(differences)
    mean, sd = float(differences.mean()), float(differences.std(ddof=1))
    reach = float(stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1)) * sd / sqrt(n)
    return Change(name, mean, sd, mean - reach, mean + reach)


def label_changes(first: LabelColumn, second: LabelColumn) -> int:
    """In how many rows two columns have different labels."""
    codes = {level: code for code, level in enumerate(first.levels)}
    recoded = np.array([codes.get(level, -1) for level in second.levels], dtype=np.int64)
    return int(np.count_nonzero(first.codes != recoded[second.codes]))
