"""The unbiased HSIC of two variables by every kernel of one and every kernel of the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isqrt

import numpy as np

from mercer.backend import count
from mercer.htest.dependence.hsic_statistic import HSICEvidence, rounding
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.sums.centered_gram import Spanned, side
from mercer.htest.dependence.sums.cyclic_permutations import Turns
from mercer.htest.dependence.sums.permuted_trace import banded, product
from mercer.htest.nulls import Permutation
from mercer.rkhs.measures import unbiased_hsic


class Grid:
    """HSIC of all pairs of kernels, for the pairing of the observations as it is and for others.

    `firsts` are one variable by several kernels, `seconds` the other. Diagonals of each Gram matrix
    are made and transformed once for all pairs.
    """

    def __init__(self, firsts: Sequence[Variable], seconds: Sequence[Variable]) -> None:
        self.n = count(firsts[0].points)
        few = isqrt(self.n * (len(firsts) + len(seconds)) // (len(firsts) * len(seconds)))
        self.firsts, self.seconds = (
            [side(variable.widened(), max(few, 2)) for variable in many]
            for many in (firsts, seconds)
        )

    @cached_property
    def ties(self) -> np.ndarray:
        """How far equal statistics may be apart by rounding: (k, l)."""
        return np.array([[rounding(a, b) for b in self.seconds] for a in self.firsts])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics of the permutations in some columns: (k, l, b); column 0 is the observed one."""
        if null.blocks is not None:
            return self._one_by_one(null, columns, seed)
        turns = Turns(self.n, null, seed)
        own = [np.stack([s.own for s in many]) for many in (self.firsts, self.seconds)]
        total = np.outer(own[0].sum(axis=1), own[1].sum(axis=1))[:, :, None]
        values = unbiased_hsic(self._products(turns), turns.crossed(*own), total, self.n)
        return values[:, :, columns]

    def _products(self, turns: Turns) -> np.ndarray:
        """tr(K~ P L~ P'): (k, l, b)."""
        if not all(isinstance(s, Spanned) for s in (*self.firsts, *self.seconds)):
            return banded(self.firsts, self.seconds, turns)
        return np.array([[product(a, b).drawn(turns) for b in self.seconds] for a in self.firsts])

    def _one_by_one(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        pairs = [[HSICEvidence(a, b, unbiased=True) for b in self.seconds] for a in self.firsts]
        return np.array([[e.permuted(null, columns, seed) for e in row] for row in pairs])
