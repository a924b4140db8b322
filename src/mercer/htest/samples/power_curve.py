"""Power by the size of the samples, and the size that a test needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.intervals import Interval
from mercer.htest.reportable import Reportable
from mercer.htest.result_rows import ResultRows, Summarized
from mercer.plot import plot_power


class PowerPoint(NamedTuple):
    """Power at one pair of sizes, and what the pilot leaves open."""

    n: int
    m: int
    power: float
    low: float
    high: float


@dataclass(frozen=True)
class PowerCurve(ResultRows, Reportable):
    """Power curve: power of a test by the size of the samples.

    Attributes
    ----------
    sizes : tuple of (n, m)
    power : array (k,)
        The chance of a rejection at `level`.
    low, high : array (k,)
        What the pilot leaves open: the power if the squared distance were at the ends of its 95%
        confidence interval, and two standard errors of the runs.
    error : array (k,)
        The standard error of `power` from the number of runs; 0 where it comes from a formula.
    level : float
    test : HypothesisTest
    """

    _report: ClassVar[str] = "power_report"

    sizes: tuple[tuple[int, int], ...]
    power: np.ndarray = field(compare=False)
    low: np.ndarray = field(repr=False, compare=False)
    high: np.ndarray = field(repr=False, compare=False)
    error: np.ndarray = field(repr=False, compare=False)
    level: float
    test: HypothesisTest = field(repr=False)

    def __iter__(self) -> Iterator[PowerPoint]:
        columns = (self.power.tolist(), self.low.tolist(), self.high.tolist())
        for (n, m), power, low, high in zip(self.sizes, *columns, strict=True):
            yield PowerPoint(n, m, power, low, high)

    def __len__(self) -> int:
        return len(self.sizes)

    def summary(self) -> str:
        """The power at every size, in plain words."""
        lines = [
            f"Power of {type(self.test).__name__} at level {self.level:g}, with 95% intervals:"
        ]
        lines += [
            f"{p.n:,} and {p.m:,} observations: {p.power:.0%} ({p.low:.0%} to {p.high:.0%})"
            for p in self
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def plot(self, ax: Any = None) -> Any:
        """Plot of the curve with a 95% band for the size of the pilot; returns the Axes."""
        return plot_power(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "sizes": [list(s) for s in self.sizes],
            "power": self.power.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "error": self.error.tolist(),
            "level": self.level,
            "test": repr(self.test),
        }


@dataclass(frozen=True)
class SampleSize(Summarized, Reportable):
    """Sample size that a test needs; `int(size)` is that of the first sample.

    `interval` is what the pilot leaves open: the sizes needed if the squared distance were at
    the ends of its 95% confidence interval (infinite where that reaches zero).
    """

    _report: ClassVar[str] = "power_report"

    n: int
    m: int
    power: float
    interval: Interval
    curve: PowerCurve = field(repr=False)

    def __int__(self) -> int:
        return self.n

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The sizes, and what the pilot leaves open, in plain words."""
        low, high = self.interval.low, self.interval.high
        most = "any number" if high == inf else f"{high:,.0f}"
        return (
            f"{self.n:,} and {self.m:,} observations give {type(self.curve.test).__name__} a power of {self.power:.0%} at level "
            f"{self.curve.level:g}; the pilot leaves open {low:,.0f} to {most} of the first."
        )

    def plot(self, ax: Any = None) -> Any:
        """Plot of the power curve with the required size; returns the Axes."""
        return plot_power(self.curve, ax=ax, target=self.power, needed=self.n)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        high = None if self.interval.high == inf else self.interval.high
        return {
            "n": self.n,
            "m": self.m,
            "power": self.power,
            "interval": [self.interval.low, high],
            "curve": self.curve.to_dict(),
        }
