"""Optimal transport on the line: the i-th smallest mass of one sample goes to the i-th smallest of the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.gram.threads import for_each
from mercer.info.metric_value import WeightedPoints, points_of_width

_BLOCK = (
    2**17
)  # points whose steps are computed together: a few arrays of them fit the level-2 cache


class SortedSample(NamedTuple):
    """The numbers of a sample in increasing order, with cumulated weights; None: equal weights."""

    values: np.ndarray
    cumulated: np.ndarray | None

    @classmethod
    def of(cls, sample: WeightedPoints) -> SortedSample:
        """Sort the first column."""
        values = sample.points[:, 0]
        if sample.weights is None:
            return cls(np.sort(values), None)
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.cumsum(sample.weights[order]))

    def levels(self, start: int, stop: int) -> np.ndarray:
        """Probabilities up to and with the points from `start` to `stop`."""
        if self.cumulated is None:
            return np.arange(start + 1, stop + 1, dtype=np.float64) / len(self.values)
        return self.cumulated[start:stop]

    def before(self, level: float) -> int:
        """The number of points whose cumulated probability is below `level`, the last one excepted."""
        n = len(self.values)
        if self.cumulated is not None:
            return int(np.searchsorted(self.cumulated[:-1], level))
        guess = min(max(int(level * n), 0), n - 1)  # rounding may be off by one on either side
        while guess > 0 and guess / n >= level:
            guess -= 1
        while guess < n - 1 and (guess + 1) / n < level:
            guess += 1
        return guess


def sorted_pair(x: WeightedPoints, y: WeightedPoints) -> tuple[SortedSample, SortedSample]:
    """Both samples in increasing order, one thread for each."""
    result: list[Any] = [x, y]

    def sort(k: int) -> None:
        result[k] = SortedSample.of(result[k])

    for_each(sort, (0, 1))
    return result[0], result[1]


class Steps(NamedTuple):
    """A stretch of the monotone coupling: mass moves from the i-th to the j-th smallest point."""

    i: np.ndarray
    j: np.ndarray
    mass: np.ndarray


def power_cost(x: SortedSample, y: SortedSample, p: float) -> float:
    """W_p^p = int_0^1 |F^-1(u) - G^-1(u)|^p du of two sorted samples."""
    if x.cumulated is None and y.cumulated is None and len(x.values) == len(y.values):
        total = sum(
            _power_sum(x.values[i : i + _BLOCK] - y.values[i : i + _BLOCK], p)
            for i in range(0, len(x.values), _BLOCK)
        )
        return total / len(x.values)
    return sum(
        float(steps.mass @ _power(x.values[steps.i] - y.values[steps.j], p))
        for steps in couplings(x, y)
    )


def couplings(x: SortedSample, y: SortedSample) -> Iterator[Steps]:
    """The monotone coupling, a staircase from (0, 0) to (n - 1, m - 1), block by block of x."""
    n, j_start, level = len(x.values), 0, 0.0
    for i_start in range(0, n, _BLOCK):
        i_stop = min(i_start + _BLOCK, n)
        end = 1.0 if i_stop == n else float(x.levels(i_stop - 1, i_stop)[0])
        j_stop = len(y.values) - 1 if i_stop == n else y.before(end)
        inner = x.levels(i_start, i_stop - 1)
        cuts = np.concatenate([inner, y.levels(j_start, j_stop)])
        order = np.argsort(cuts, kind="stable")
        i = i_start + np.concatenate([[0], np.cumsum(order < len(inner))])
        j = j_start + (i_start + np.arange(len(i)) - i)
        mass = np.diff(np.concatenate([[level], cuts[order], [end]]))
        yield Steps(i, j, np.maximum(mass, 0.0))
        j_start, level = j_stop, end


@dataclass(frozen=True, eq=False)
class LinePotential:
    """Dual potential f(t) = min_j (|t - y_j|^p - g_j) of transport on the line.

    mean f(x) + mean g(y) = W_p^p, where g is the `conjugate`. For p = 1 the function f is 1-Lipschitz, g = -f, and
    mean f(x) - mean f(y) = W_1.
    """

    breaks: np.ndarray  # where the minimum moves on to the next target
    targets: np.ndarray
    values: np.ndarray  # g at the targets
    power: float
    conjugate: LinePotential | None = None

    def __call__(self, z: Any) -> np.ndarray:
        """The values at numbers: (n,)."""
        return self.at(points_of_width(z, 1)[:, 0])

    def at(self, t: np.ndarray) -> np.ndarray:
        """The values at checked numbers."""
        j = np.searchsorted(self.breaks, t, side="right")
        return _power(t - self.targets[j], self.power) - self.values[j]


def line_potential(x: SortedSample, y: SortedSample, p: float) -> LinePotential:
    """The potential of x with its conjugate, which follow from the costs along the staircase.

    Every step changes one of i and j, so the cost |x_i - y_j|^p = f_i + g_j changes by the step of that potential.
    Both cells at a step in j have the same x_i, where the minimum therefore moves from y_j to y_(j+1).
    """
    parts = list(couplings(x, y))
    i, j = (np.concatenate([getattr(steps, name) for steps in parts]) for name in "ij")
    cost = _power(x.values[i] - y.values[j], p)
    change, in_x = np.diff(cost), np.diff(i) > 0
    f = np.concatenate([[0.0], np.cumsum(change[in_x])])
    g = np.concatenate([[cost[0]], cost[0] + np.cumsum(change[~in_x])])
    back = LinePotential(y.values[j[1:][in_x]], x.values, f, p)
    return LinePotential(x.values[i[1:][~in_x]], y.values, g, p, back)


def _power(difference: np.ndarray, p: float) -> np.ndarray:
    if p == 2:
        return difference * difference
    return np.abs(difference) if p == 1 else np.abs(difference) ** p


def _power_sum(difference: np.ndarray, p: float) -> float:
    if p == 2:
        return float(difference @ difference)
    return float(np.sum(_power(difference, p)))
