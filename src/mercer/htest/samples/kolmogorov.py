"""Two-sample test by the Kolmogorov distance of cumulative distributions, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.gram.threads import spans
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.htest.samples.vector_pool import LabelledEvidence, VectorPool, vector_pool
from mercer.info.indicator_metrics import lower_orthants

_COMPARED = 2**22  # entries of the matrix of orthants at a time


@dataclass(frozen=True)
class Kolmogorov(HypothesisTest):
    """Two-sample test by the largest difference of cumulative distributions (Kolmogorov and Smirnov).

    max_i |F(z_i) - G(z_i)| over the observations z_i of both samples, where F(z) is the share of the first
    sample with X <= z in every coordinate. On the line it is the classical statistic; in more dimensions its
    null distribution depends on the law of the data, and permutations give it (Bickel 1969). Increasing transformations
    of the columns change nothing; reflections do. In many dimensions few observations lie in one
    another's orthants, and the test loses power: use `MMDAgg` there.

    Parameters
    ----------
    null : Permutation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(80, 2)), rng.normal(0.7, 1.0, size=(60, 2))
    >>> result = Kolmogorov().test(x, y, rng=0)
    >>> result.rejects(), result.statistic
    (True, 0.35...)
    """

    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:
        """The largest difference at an observation."""
        return self._evidence(vector_pool(x, y, "Kolmogorov", units=False)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its p-value."""
        both = vector_pool(x, y, "Kolmogorov", units=False)
        evidence = self._evidence(both)
        judgement = self.null.judge(evidence, rng)
        return two_sample_result(self, both.pooled, evidence.observed, judgement)

    def _evidence(self, both: VectorPool) -> OrthantEvidence:
        return OrthantEvidence(both.points, both.pooled.n, both.pooled.m)


class OrthantEvidence(LabelledEvidence):
    """The largest difference of the shares of two samples in the orthants below the observations."""

    def __init__(self, points: np.ndarray, n: int, m: int) -> None:
        super().__init__(n, m)
        self.points = points

    def values(self, first: np.ndarray) -> np.ndarray:
        """The largest difference of every labelling: (B,)."""
        best = np.zeros(first.shape[1], dtype=np.float64)
        counts = first.astype(np.float32)  # whole numbers below 2^24 are exact
        corners = np.unique(self.points, axis=0)
        for rows in spans(len(corners), max(_COMPARED // len(self.points), 1)):
            below = lower_orthants(self.points, corners[rows]).astype(np.float32)
            in_first = (below @ counts).astype(np.float64)  # (corners, B)
            both = below.sum(axis=1, dtype=np.float64)[:, None]
            gaps = np.abs(in_first / self.n - (both - in_first) / self.m)
            best = np.maximum(best, gaps.max(axis=0))
        return best
