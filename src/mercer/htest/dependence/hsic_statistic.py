"""The Hilbert-Schmidt independence criterion of two variables, and all that nulls ask about it.

With K~ = HKH and L~ = HLH the centred Gram matrices, a permutation p of the second variable gives
sum_ij K~_ij L~_p(i)p(j) / n^2: centring and permuting commute, so that only the pairing changes.
"""

from __future__ import annotations

from functools import cached_property
from math import sqrt

import numpy as np

from mercer.backend import count
from mercer.htest.dependence.null_spectrum import rounding_of_mean, stretched
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.sums.centered_gram import Side, sides
from mercer.htest.dependence.sums.cyclic_permutations import Turns
from mercer.htest.dependence.sums.permuted_low_rank import permutations
from mercer.htest.dependence.sums.permuted_trace import Product, product
from mercer.htest.nulls import Permutation, WildBootstrap
from mercer.htest.serial_dependence import block_length, lag_means, signed_forms
from mercer.rkhs.measures import unbiased_hsic


class HSICEvidence:
    """HSIC of two variables by their own kernels, for their own pairing and for others.

    tr(K~L~) / n^2 or, unbiased, the U-statistic of Song et al. (2012, eq. 5). Everything is in
    float64 and exact to rounding, whichever road `product` takes.
    """

    def __init__(self, first: Side, second: Side, unbiased: bool = False) -> None:
        self.first, self.second, self.unbiased = first, second, unbiased
        self.n = count(first.variable.points)

    @classmethod
    def of(cls, x: Variable, y: Variable, unbiased: bool = False) -> HSICEvidence:
        """Of two variables, each by the quickest road."""
        return cls(*sides(x.widened(), y.widened()), unbiased)

    @cached_property
    def product(self) -> Product:
        """tr(K~ P L~ P') for any permutations P, by the quickest road."""
        return product(self.first, self.second)

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        own = np.array([self.first.own @ self.second.own]) if self.unbiased else None
        return float(self._values(np.array([self.product.observed]), own)[0])

    # ---- what the nulls ask for ---------------------------------------------------------

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of the permutations in some columns; column 0 is the observed one."""
        if null.blocks is None:
            return self._turned(null, seed)[columns]
        parts = []
        for orders in permutations(self.n, null, columns, seed):
            own = self.second.own[orders] @ self.first.own if self.unbiased else None
            parts.append(self._values(self.product.permuted(orders), own))
        return np.concatenate(parts)

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return rounding(self.first, self.second)

    def moments(self) -> tuple[float, float, float]:
        """tr(K~L~) / n^2, and its mean and variance over all permutations.

        Exact: of centred matrices nothing counts but the trace T, the sum of the squared entries
        T_2 and that of the squared diagonal entries S_2 (Kazi-Aoual et al. 1995).
        """
        n, mean, spread, tips = self.n, 1.0, 1.0, 1.0
        for side in (self.first, self.second):
            trace, squares, own = float(side.own.sum()), side.squares, float(side.own @ side.own)
            mean *= trace
            spread *= (n - 1) * squares - trace**2
            tips *= n * (n + 1) * own - (n - 1) * (trace**2 + 2 * squares)
        variance = 2 * spread / ((n - 1) ** 2 * (n + 1) * (n - 2))
        variance += tips / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
        return self._form, mean / ((n - 1) * n**2), max(variance, 0.0) / n**4

    def skewness(self) -> float:
        """Of the limit of tr(K~L~) under independence: sqrt(8) sum w^3 / (sum w^2)^(3/2), w = l_i m_j."""
        cubes = self.first.cubes * self.second.cubes
        return sqrt(8) * cubes / (self.first.squares * self.second.squares) ** 1.5

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """tr(K~L~) / n^2, and the weights of its limit under independence, the largest one by one.

        sum_ij l_i m_j z_ij^2 / n^3 with l and m the eigenvalues of K~ and L~ (Gretton et al. 2008,
        theorem 2), stretched to the mean and the variance over all permutations.
        """
        ends = (side.eigenvalues(rank) for side in (self.first, self.second))
        weights = np.sort(np.outer(*ends).ravel())[::-1][:rank]
        observed, mean, variance = self.moments()
        return observed, *stretched(weights, mean, variance)

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """tr(K~L~) / n^2 and w'(K~ o L~)w / n^2 for random signs w, for time series."""
        matrix = self.first.matrix() * self.second.matrix()
        return signed_forms(matrix, self._lags, self._form, null, seed)

    def block_length(self) -> int:
        """How many observations should share a sign, by what both variables remember."""
        return block_length(self._lags, self.n)

    # ---- private ------------------------------------------------------------------------

    _drawn: tuple[Permutation, int, np.ndarray] | None = None

    def _turned(self, null: Permutation, seed: int) -> np.ndarray:
        """The statistics of all permutations of a null without blocks: they come together."""
        if self._drawn is None or self._drawn[:2] != (null, seed):
            turns = Turns(self.n, null, seed)
            own = None
            if self.unbiased:
                own = turns.crossed(self.first.own[None, :], self.second.own[None, :])[0, 0]
            self._drawn = (null, seed, self._values(self.product.drawn(turns), own))
        return self._drawn[2]

    @cached_property
    def _lags(self) -> np.ndarray:
        """The lag means of K~ o L~ under independence."""
        return lag_means(self.first.matrix()) * lag_means(self.second.matrix())

    @cached_property
    def _form(self) -> float:
        """tr(K~L~) / n^2."""
        return max(self.product.observed, 0.0) / self.n**2

    def _values(self, products: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """The statistics from tr(K~ P L~ P') and, if unbiased, sum_i K~_ii L~_p(i)p(i)."""
        if own is None:
            return np.maximum(products, 0.0) / self.n**2
        total = float(self.first.own.sum() * self.second.own.sum())
        return unbiased_hsic(products, own, total, self.n)


def rounding(first: Side, second: Side) -> float:
    """How far equal values of HSIC may be apart by rounding."""
    n = count(first.variable.points)
    return rounding_of_mean(
        n, first.size * second.size / n**2
    )  # |K~| |L~| exceeds sums of products
