"""The unbiased HSIC of two variables by every kernel of one and every kernel of the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isqrt

import numpy as np

from mercer.backend import count
from mercer.htest.dependence.hsic_statistic import HSICEvidence, hsic_tolerance
from mercer.htest.dependence.sums.centered_gram import LowRankGram, centered_gram
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.htest.dependence.sums.permuted_trace import cyclic_traces, permuted_trace
from mercer.htest.nulls import Permutation
from mercer.rkhs.measures import unbiased_hsic
from mercer.rkhs.paired_samples import Variable


class KernelGrid:
    """Unbiased HSIC of all pairs of kernels, observed and permuted.

    `firsts` are one variable with several kernels, `seconds` the other one. The diagonals of each Gram
    matrix are computed and transformed once for all pairs.
    """

    def __init__(self, firsts: Sequence[Variable], seconds: Sequence[Variable]) -> None:
        self.n = count(firsts[0].points)
        max_rank = isqrt(self.n * (len(firsts) + len(seconds)) // (len(firsts) * len(seconds)))
        self.firsts, self.seconds = (
            [centered_gram(variable.widened(), max(max_rank, 2)) for variable in collection]
            for collection in (firsts, seconds)
        )

    @property
    def pairs(self) -> int:
        """Number of pairs of kernels."""
        return len(self.firsts) * len(self.seconds)

    @cached_property
    def tolerances(self) -> np.ndarray:
        """Largest differences by rounding between equal statistics: (k, l)."""
        return np.array([[hsic_tolerance(a, b) for b in self.seconds] for a in self.firsts])

    def permuted(self, null: Permutation, seed: int) -> np.ndarray:
        """The statistics of all permutations: (k, l, B + 1); column 0 is the observed one."""
        if null.blocks is not None:
            return self._one_by_one(null, seed)
        permutations = CyclicPermutations(self.n, null, seed)
        diagonals = [np.stack([g.diagonal for g in grams]) for grams in (self.firsts, self.seconds)]
        total = np.outer(diagonals[0].sum(axis=1), diagonals[1].sum(axis=1))[:, :, None]
        crossed = permutations.cross_correlations(*diagonals)
        return unbiased_hsic(self._traces(permutations), crossed, total, self.n)

    def _traces(self, permutations: CyclicPermutations) -> np.ndarray:
        """tr(K~ P L~ P'): (k, l, b)."""
        if not all(isinstance(gram, LowRankGram) for gram in (*self.firsts, *self.seconds)):
            return cyclic_traces(self.firsts, self.seconds, permutations)
        return np.array(
            [[permuted_trace(a, b).cyclic(permutations) for b in self.seconds] for a in self.firsts]
        )

    def _one_by_one(self, null: Permutation, seed: int) -> np.ndarray:
        pairs = [[HSICEvidence(a, b, unbiased=True) for b in self.seconds] for a in self.firsts]
        return np.array([[e.permuted(null, null.columns, seed) for e in row] for row in pairs])
