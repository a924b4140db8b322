"""Two-sample test by the Wasserstein distance, on the line or averaged over lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.htest.samples.vector_pool import LabelledEvidence, VectorPool, vector_pool

_SEED = 0  # of the lines in `statistic`, which has no rng


@dataclass(frozen=True)
class Wasserstein(HypothesisTest):
    """Two-sample test by the Wasserstein distance W_1, in several dimensions averaged over random lines.

    On the line W_1 = int |F(t) - G(t)| dt of the two cumulative distributions; in more dimensions the statistic is
    the mean of W_1 over projections (`mercer.info.sliced_wasserstein` with p = 1). Sees shifts and
    scales well, and how far mass has moved, where the Kolmogorov distance sees only how much; E|X| must be finite.
    Labellings are compared on sorted projections: O(n) for each line and permutation. Columns of data frames are
    divided by their standard deviations.

    Parameters
    ----------
    projections : int
        Number of lines, drawn with the rng of `test`, in `statistic` with seed 0. Not used on the line.
    null : Permutation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(80, 3)), rng.normal(0.6, 1.0, size=(60, 3))
    >>> Wasserstein().test(x, y, rng=0).rejects()
    True
    """

    projections: int = field(default=50, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        validate.whole("projections", self.projections)
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:
        """W_1, or its mean over lines that are drawn with seed 0."""
        return self._evidence(self._pool(x, y), validate.generator(_SEED)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its p-value."""
        rng, both = validate.generator(rng), self._pool(x, y)
        evidence = self._evidence(both, rng)
        judgement = self.null.judge(evidence, rng)
        return two_sample_result(self, both.pooled, evidence.observed, judgement, both.notes)

    def _pool(self, x: Any, y: Any) -> VectorPool:
        return vector_pool(x, y, "Wasserstein", units=True)

    def _evidence(self, both: VectorPool, rng: np.random.Generator) -> TransportEvidence:
        d = both.points.shape[1]
        lines = np.ones((1, 1)) if d == 1 else rng.standard_normal((int(self.projections), d))
        lines /= np.linalg.norm(lines, axis=1, keepdims=True)
        return TransportEvidence(both.points @ lines.T, both.pooled.n, both.pooled.m)


class TransportEvidence(LabelledEvidence):
    """Mean of W_1 over the columns of an array (n + m, lines)."""

    def __init__(self, projected: np.ndarray, n: int, m: int) -> None:
        super().__init__(n, m)
        self.order = np.argsort(projected, axis=0, kind="stable")
        self.gaps = np.diff(np.take_along_axis(projected, self.order, axis=0), axis=0)

    def values(self, first: np.ndarray) -> np.ndarray:
        """W_1 = sum_i |F - G| (t_(i+1) - t_i) of every labelling, averaged over lines: (B,)."""
        total = np.zeros(first.shape[1], dtype=np.float64)
        weights = first / self.n - (1 - first) / self.m
        for order, gaps in zip(self.order.T, self.gaps.T, strict=True):
            difference = np.cumsum(weights[order[:-1]], axis=0)
            total += gaps @ np.abs(difference, out=difference)
        return total / self.order.shape[1]
