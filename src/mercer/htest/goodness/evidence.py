"""The kernel Stein discrepancy of a sample, and what nulls ask about it."""

from __future__ import annotations

from functools import cached_property
from math import log2

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import Gram, SignWeights
from mercer.htest.nulls import WildBootstrap
from mercer.htest.series import block_length, lag_means

_TIE = 64 * float(np.finfo(np.float64).eps)


class SteinEvidence:
    """mean_ij H_ij, with the Gram matrix H of a Stein kernel, or the mean over i != j."""

    def __init__(self, gram: Gram, unbiased: bool = False) -> None:
        self.gram, self.unbiased = gram, unbiased
        self.n = gram.shape[0]

    @cached_property
    def trace(self) -> float:
        """sum_i H_ii."""
        return self.gram.trace()

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return float(self._values(np.array([self.gram.sum() / self.n**2]))[0])

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The statistic, and w'Hw / n^2 for random signs w of blocks.

        Under the null hypothesis H is degenerate, E k_p(X, y) = 0 for every y, and signs give
        the distribution of the statistic (Chwialkowski, Strathmann & Gretton 2016, section 4;
        Leucht & Neumann 2013). Without the terms i = j, which signs do not change, for the
        unbiased one.
        """
        signs = SignWeights(
            self.n, null.resamples, scale=1 / self.n, block=null.block or 1, rng=seed
        )
        forms = to_numpy(self.gram.quad(signs)).astype(np.float64)
        return self.observed, self._values(forms)

    @property
    def block(self) -> int:
        """How many observations should share a sign, by the autocorrelations of the Stein features."""
        return block_length(lag_means(self.gram), self.n)

    @property
    def tie(self) -> float:
        """How far equal statistics may be apart by rounding: |H_ij| <= sqrt(H_ii H_jj)."""
        return _TIE * log2(self.n) * self.trace / self.n

    def _values(self, forms: np.ndarray) -> np.ndarray:
        """The statistics from w'Hw / n^2."""
        if not self.unbiased:
            return np.maximum(forms, 0.0)
        return (self.n**2 * forms - self.trace) / (self.n * (self.n - 1))
