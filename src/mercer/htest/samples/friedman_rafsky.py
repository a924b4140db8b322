"""Friedman and Rafsky's two-sample test: how many edges of a minimum spanning tree join the samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.htest.samples.vector_pool import LabelledEvidence, VectorPool, vector_pool
from mercer.info.minimum_spanning_tree import spanning_trees

_SEED = 0  # of the order of observations in `statistic`, which has no rng


@dataclass(frozen=True)
class SpanningTreeTest(HypothesisTest):
    """Two-sample test by the edges of a minimum spanning tree that join both samples.

    If the samples differ, near neighbours tend to belong to the same one, and fewer edges than expected join
    both: the statistic is the expected number less the observed one, the runs test of Wald and
    Wolfowitz on the line (Friedman and Rafsky 1979). Consistent against all alternatives; sensitive to
    differences on small scales, less so to small shifts in few dimensions. With several orthogonal trees, each
    without the edges of those before, the power is larger. Rounded data have many trees of the same length, one of
    which is drawn by `rng`: the level is kept, but the statistic depends on the draw. O(n^2) in time, O(n) in memory.
    Columns of data frames are divided by their standard deviations.

    Parameters
    ----------
    trees : int
        Number of orthogonal trees.
    null : Permutation or Normal
        The tree does not depend on the labels, so permutations are exact and cheap. Mean and variance over all
        permutations are known, hence `Normal`, from about 50 observations on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(80, 3)), rng.normal(0.0, 1.6, size=(60, 3))
    >>> SpanningTreeTest().test(x, y, rng=0).rejects()
    True
    """

    trees: int = field(default=3, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        validate.whole("trees", self.trees)
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:
        """The expected less the observed number of edges that join the samples."""
        both = vector_pool(x, y, "SpanningTreeTest", units=True)
        return self._evidence(both, validate.generator(_SEED)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its p-value."""
        rng, both = validate.generator(rng), vector_pool(x, y, "SpanningTreeTest", units=True)
        evidence = self._evidence(both, rng)
        judgement = self.null.judge(evidence, rng)
        return two_sample_result(self, both.pooled, evidence.observed, judgement, both.notes)

    def _evidence(self, both: VectorPool, rng: np.random.Generator) -> EdgeEvidence:
        """Trees of observations in random order: it decides between edges of the same length."""
        order = rng.permutation(len(both.points))
        edges = spanning_trees(both.points[order], min(int(self.trees), len(order) // 2))
        return EdgeEvidence(order[edges], both.pooled.n, both.pooled.m)


class EdgeEvidence(LabelledEvidence):
    """The expected less the observed number of edges of a graph that join two samples."""

    def __init__(self, edges: np.ndarray, n: int, m: int) -> None:
        super().__init__(n, m)
        self.edges, total = edges, n + m
        self.joined = (
            2 * n * m / (total * (total - 1))
        )  # probability that an edge joins the samples

    def values(self, first: np.ndarray) -> np.ndarray:
        """The statistics of labellings: (B,)."""
        ends = first[self.edges[:, 0]] != first[self.edges[:, 1]]
        return len(self.edges) * self.joined - np.count_nonzero(ends, axis=0)

    def studentized(self) -> float:
        """The statistic over its standard deviation over all permutations."""
        return self.observed / self.deviation

    def error_degrees(self) -> None:
        """None: the deviation is known."""
        return

    @property
    def deviation(self) -> float:
        """Standard deviation of the number over all permutations (Friedman and Rafsky 1979, eq. 13).

        Two edges with a common end both join the samples with half the probability of one, and two others
        with the probability `apart`.
        """
        n, m, number = self.n, self.m, len(self.edges)
        total = n + m
        pairs = total * (total - 1) * (total - 2) * (total - 3)
        apart = 4 * n * m * (n - 1) * (m - 1) / pairs if pairs > 0 else 0.0
        degrees = np.bincount(self.edges.ravel(), minlength=total)
        meeting = float(np.sum(degrees * (degrees - 1)))  # ordered pairs of edges with a common end
        disjoint = number * (number - 1) - meeting
        square = number * self.joined + meeting * self.joined / 2 + disjoint * apart
        return float(np.sqrt(max(square - (number * self.joined) ** 2, 1e-300)))
