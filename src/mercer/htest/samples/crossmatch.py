"""Rosenbaum's cross-match test: observations are paired by distance, and pairs across the samples counted."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement
from mercer.htest.samples.nonbipartite_matching import matched_pairs
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.htest.samples.vector_pool import VectorPool, vector_pool
from mercer.info.exact_transport import distances

_COPIES = 6  # of the matrix of distances
_SEED = 0  # of the order of observations in `statistic`, which has no rng


@dataclass(frozen=True)
class CrossMatch(HypothesisTest):
    """Two-sample test by the pairs of nearest observations that join both samples (Rosenbaum 2005).

    All observations are divided into pairs with the smallest total distance. If the samples differ, fewer pairs
    than expected have one observation of each. The number of such pairs has a distribution of its own, the
    same for all data: the p-value is exact, and nothing is resampled. With an odd number of observations the one
    whose removal shortens the pairs most is left out. The statistic is the expected less the observed number
    of pairs across, over its standard deviation. Needs the matrix of all distances, but on the line only the order. Rounded
    data have many pairings of the same length, one of which is drawn by `rng`: the level is kept, but statistic and p-value
    depend on the draw. Columns of data frames are divided by their standard deviations.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(60, 3)), rng.normal(1.0, 1.0, size=(40, 3))
    >>> CrossMatch().test(x, y).rejects()
    True
    """

    def statistic(self, x: Any, y: Any) -> float:
        """The expected less the observed number of pairs across, in standard deviations."""
        both = vector_pool(x, y, "CrossMatch", units=True)
        return self._counts(both, validate.generator(_SEED)).standardized

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its exact p-value; `rng` decides between pairs of the same length."""
        both = vector_pool(x, y, "CrossMatch", units=True)
        counts = self._counts(both, validate.generator(rng))
        judgement = Judgement.by_tail(counts.tail(), counts.standardized)
        note = (
            f"{counts.across} of {(counts.n + counts.m) // 2} pairs of nearest observations join both samples; "
            f"{counts.mean:.1f} are expected where the samples do not differ."
        )
        return two_sample_result(
            self, both.pooled, counts.standardized, judgement, (note, *both.notes)
        )

    def _counts(self, both: VectorPool, rng: np.random.Generator) -> CrossCounts:
        """Pairs within and across, of observations in random order: the order must not tell the samples."""
        order = rng.permutation(len(both.points))
        pairs = order[_nearest_pairs(both.points[order])]
        first = pairs < both.pooled.n
        matched = int(np.count_nonzero(first))
        across = int(np.count_nonzero(first[:, 0] != first[:, 1]))
        return CrossCounts(matched, 2 * len(pairs) - matched, across)


def _nearest_pairs(points: np.ndarray) -> np.ndarray:
    """Disjoint pairs with the smallest sum of distances, without one of an odd number of points: (n / 2, 2).

    By the triangle inequality a shortest matching pairs equal points with each other, as far as they go.
    """
    _, groups = np.unique(points, axis=0, return_inverse=True)
    order = np.argsort(groups.ravel(), kind="stable")
    sizes = np.bincount(groups.ravel())
    place = np.arange(len(points)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within the group
    paired = place < np.repeat(sizes - sizes % 2, sizes)
    equal, alone = order[paired].reshape(-1, 2), order[~paired]
    if len(alone) < 2:
        return equal
    if points.shape[1] == 1:
        return np.concatenate([equal, alone[_pairs_on_the_line(points[alone, 0])]])
    _affordable(len(alone))
    costs = distances(points[alone], points[alone])
    if len(alone) % 2:  # a phantom that is near to all: its partner is left out
        costs = np.pad(costs, (0, 1))
    pairs = matched_pairs(costs)
    return np.concatenate([equal, alone[pairs[np.all(pairs < len(alone), axis=1)]]])


def _pairs_on_the_line(values: np.ndarray) -> np.ndarray:
    """The first with the second in order, the third with the fourth, and so on: (n / 2, 2).

    Any other pairing covers some gap twice more. If their number is odd, one in an odd place of the order is left
    out: the gaps before it are covered from the first on, those after it from the second on.
    """
    order = np.argsort(values)
    if len(order) % 2:
        gaps = np.diff(values[order])
        before = np.concatenate([[0.0], np.cumsum(gaps[::2])])
        after = np.concatenate([[0.0], np.cumsum(gaps[::-1][::2])])[::-1]
        order = np.delete(order, 2 * int(np.argmin(before + after)))
    return order.reshape(-1, 2)


def _affordable(n: int) -> None:
    """Raise where the distances of all pairs exceed the memory budget."""
    needed, budget = _COPIES * 8 * n**2, settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"CrossMatch of {n:,} distinct observations needs {needed / 2**20:,.0f} MiB, and the budget is "
            f"{budget / 2**20:,.0f} MiB: use SpanningTreeTest, or raise mercer.config(memory=...)"
        )


@dataclass(frozen=True)
class CrossCounts:
    """The number of pairs across two samples of sizes n and m, all of whose observations are paired."""

    n: int
    m: int
    across: int

    @property
    def mean(self) -> float:
        """Expected number of pairs across, nm / (n + m - 1)."""
        return self.n * self.m / (self.n + self.m - 1)

    @property
    def standardized(self) -> float:
        """The expected less the observed number, over its standard deviation (Rosenbaum 2005, section 2.3)."""
        n, m, total = self.n, self.m, self.n + self.m
        if total < 4:
            return 0.0
        variance = 2 * n * (n - 1) * m * (m - 1) / ((total - 3) * (total - 1) ** 2)
        return (self.mean - self.across) / sqrt(variance) if variance > 0 else 0.0

    def tail(self) -> float:
        """P(as few pairs across, or fewer), over all labellings of the pairs."""
        lowest = self.n % 2
        total = sum(self.probability(a) for a in range(lowest, self.across + 1, 2))
        return min(float(total), 1.0)  # up to rounding

    def probability(self, across: int) -> float:
        """P(A = a) = 2^a (N/2)! / (binom(N, n) ((n - a)/2)! a! ((m - a)/2)!)."""
        n, m, total = self.n, self.m, self.n + self.m
        ways = lgamma(total / 2 + 1) - lgamma((n - across) / 2 + 1) - lgamma(across + 1)
        ways -= lgamma((m - across) / 2 + 1)
        labellings = lgamma(total + 1) - lgamma(n + 1) - lgamma(m + 1)
        return float(np.exp(across * log(2) + ways - labellings))
