"""HSIC of two variables, and its permutations, moments and limit for null distributions.

With K~ = HKH and L~ = HLH the centred Gram matrices, a permutation p of the second variable gives
sum_ij K~_ij L~_p(i)p(j) / n^2: centring and permuting commute, and only the pairing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import isqrt, log2, sqrt

import numpy as np

from mercer.backend import array_like, count, is_array, to_numpy
from mercer.errors import NoRule
from mercer.gram import LazyMatrix
from mercer.htest.dependence.null_spectrum import rescaled_weights
from mercer.htest.dependence.series_forms import Deseasonalised, refuse_walks
from mercer.htest.dependence.sums.centered_gram import CenteredGram, centered_gram, centered_grams
from mercer.htest.dependence.sums.cyclic_permutations import (
    CircularShifts,
    CyclicPermutations,
    permutations,
)
from mercer.htest.dependence.sums.dense_gram import (
    grams_for_eigenvalues,
    grams_for_moments,
)
from mercer.htest.dependence.sums.permuted_trace import PermutedTrace, permuted_trace
from mercer.htest.nulls import Gamma, Null, Permutation, Spectrum, WildBootstrap
from mercer.htest.serial_dependence import lag_means, memory, signed_forms
from mercer.htest.slow_contrasts import SlowForms
from mercer.htest.surrogates import PhaseRandomized, PhaseSurrogates
from mercer.rkhs.measures import unbiased_hsic
from mercer.rkhs.paired_samples import Variable

# Relative rounding of a float64 sum over n^2 pairs is at most a few eps times log2 n (pairwise summation).
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


class HSICEvidence:
    """HSIC of two variables, for the observed and for permuted pairings.

    tr(K~L~) / n^2 or, unbiased, the U-statistic of Song et al. (2012, eq. 5). All methods of computing
    it work in float64 and agree up to rounding.
    """

    def __init__(self, first: CenteredGram, second: CenteredGram, unbiased: bool = False) -> None:
        self.first, self.second, self.unbiased = first, second, unbiased
        self.n = count(first.variable.points)

    @classmethod
    def of(
        cls, x: Variable, y: Variable, unbiased: bool = False, null: Null | None = None
    ) -> HSICEvidence:
        """The evidence of two variables for this null, by the matrices that are fastest for it."""
        grams = centered_grams
        if isinstance(null, Gamma):
            grams = grams_for_moments
        elif isinstance(null, Spectrum):
            grams = grams_for_eigenvalues
        return cls(*grams(x.widened(), y.widened()), unbiased)

    @cached_property
    def trace(self) -> PermutedTrace:
        """tr(K~ P L~ P') for any permutations P, by the fastest method."""
        return permuted_trace(self.first, self.second)

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        a, b = self.first.diagonal, self.second.diagonal
        diagonals = np.array([a @ b]) if self.unbiased else None
        return float(self._values(np.array([self.trace.observed]), diagonals)[0])

    # ---- protocols of nulls -------------------------------------------------------------

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics of the permutations from `columns` on; column 0 is the observed one.

        Within blocks, those in `columns`, one by one; otherwise all from `columns.start` on, because
        circular shifts are computed together.
        """
        a, b = self.first.diagonal, self.second.diagonal
        if null.blocks is None:
            cyclic = CyclicPermutations(self.n, null, seed)
            crossed = None
            if self.unbiased:
                crossed = cyclic.cross_correlations(a[None, :], b[None, :])[0, 0]
            return self._values(self.trace.cyclic(cyclic), crossed)[columns.start :]
        values = []
        for orders in permutations(self.n, null, columns, seed):
            crossed = b[orders] @ a if self.unbiased else None
            values.append(self._values(self.trace.permuted(orders), crossed))
        return np.concatenate(values)

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return hsic_tolerance(self.first, self.second)

    def moments(self) -> tuple[float, float, float]:
        """tr(K~L~) / n^2, and its mean and variance over all permutations.

        Exact: they depend on the centred matrices only by the trace T, the sum of the squared
        entries T_2 and that of the squared diagonal entries S_2 (Kazi-Aoual et al. 1995).
        """
        n, mean, spread, peaks = self.n, 1.0, 1.0, 1.0
        for gram in (self.first, self.second):
            trace, squares = float(gram.diagonal.sum()), gram.squared_norm
            diagonal_squares = float(gram.diagonal @ gram.diagonal)
            mean *= trace
            spread *= (n - 1) * squares - trace**2
            peaks *= n * (n + 1) * diagonal_squares - (n - 1) * (trace**2 + 2 * squares)
        variance = 2 * spread / ((n - 1) ** 2 * (n + 1) * (n - 2))
        variance += peaks / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
        return self._biased, mean / ((n - 1) * n**2), max(variance, 0.0) / n**4

    def skewness(self) -> float:
        """Skewness of the limit under independence: sqrt(8) sum w^3 / (sum w^2)^(3/2), w = l_i m_j."""
        cubes = self.first.cube_trace * self.second.cube_trace
        return sqrt(8) * cubes / (self.first.squared_norm * self.second.squared_norm) ** 1.5

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """tr(K~L~) / n^2, and the weights of its limit under independence, the largest first.

        sum_ij l_i m_j z_ij^2 / n^3 with l and m the eigenvalues of K~ and L~ (Gretton et al. 2008,
        theorem 2), rescaled to the mean and the variance over all permutations.
        """
        eigenvalues = (gram.eigenvalues(rank) for gram in (self.first, self.second))
        weights = np.sort(np.outer(*eigenvalues).ravel())[::-1][:rank]
        observed, mean, variance = self.moments()
        return observed, *rescaled_weights(weights, mean, variance)

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """tr(K~L~) / n^2 and w'(K~ o L~)w / n^2 for random signs w, for time series."""
        matrix = self.first.matrix() * self.second.matrix()
        return signed_forms(matrix, self._lags, self._biased, null, seed)

    def slow_forms(self) -> SlowForms:
        """tr(K~L~) / n^2, and w'(K~ o L~)w / n^2 at the slowest cosines w, seasons taken out of both series."""
        series = Deseasonalised.of(*self._series)
        return series.slow_forms(series.matrices[0] * series.matrices[1])

    def refuse_walks(self) -> None:
        """An error where both series wander, and one like a random walk."""
        refuse_walks(*self._series)

    def shifted(self) -> np.ndarray:
        """The statistics of all circular shifts of one series against the other: (n,)."""
        shifts, crossed = CircularShifts(self.n), None
        if self.unbiased:
            a, b = self.first.diagonal, self.second.diagonal
            crossed = shifts.cross_correlations(a[None, :], b[None, :])[0, 0]
        return self._values(self.trace.cyclic(shifts), crossed)

    def smallest_shift(self) -> int:
        """The longer memory of the two series, at most a quarter of the observations."""
        return max(memory(lag_means(matrix)) for matrix in self._series[0])

    def phase_randomized(self, null: PhaseSurrogates, seed: int) -> tuple[float, np.ndarray]:
        """The statistic, and those of the first variable with surrogates of the second."""
        variable = self.second.variable
        if not is_array(variable.points) or (
            variable.columns and any(variable.columns.categorical)
        ):
            raise NoRule(
                f"PhaseSurrogates() needs a series of numbers in {variable.name}: use ShiftSurrogates()"
            )
        surrogates = PhaseRandomized.of(to_numpy(variable.points).astype(np.float64))
        draws = []
        for number in range(null.resamples):
            points = surrogates.draw(np.random.default_rng((seed, number)))
            moved = replace(variable, points=array_like(points, variable.points))
            draws.append(
                HSICEvidence(
                    self.first, centered_gram(moved, max(isqrt(self.n), 2)), self.unbiased
                ).observed
            )
        return self.observed, np.array(draws, dtype=np.float64)

    # ---- private ------------------------------------------------------------------------

    @property
    def _series(self) -> tuple[tuple[LazyMatrix, LazyMatrix], tuple[str, str]]:
        """The centred matrices, and what messages call the variables."""
        names = self.first.variable.name, self.second.variable.name
        return (self.first.matrix(), self.second.matrix()), names

    @cached_property
    def _lags(self) -> np.ndarray:
        """The lag means of K~ o L~ under independence."""
        return lag_means(self.first.matrix()) * lag_means(self.second.matrix())

    @cached_property
    def _biased(self) -> float:
        """tr(K~L~) / n^2."""
        return max(self.trace.observed, 0.0) / self.n**2

    def _values(self, traces: np.ndarray, diagonals: np.ndarray | None) -> np.ndarray:
        """The statistics from tr(K~ P L~ P') and, if unbiased, sum_i K~_ii L~_p(i)p(i)."""
        a, b = self.first.diagonal, self.second.diagonal
        return hsic_values(traces, diagonals, (a, b))


def hsic_values(
    traces: np.ndarray, crossed: np.ndarray | None, diagonals: Sequence[np.ndarray]
) -> np.ndarray:
    """HSIC from tr(K~ P L~ P') and, if unbiased, sum_i K~_ii L~_p(i)p(i); `diagonals` of K~ and L~, (n,) each."""
    n = len(diagonals[0])
    if crossed is None:
        return np.maximum(traces, 0.0) / n**2
    return unbiased_hsic(traces, crossed, float(diagonals[0].sum() * diagonals[1].sum()), n)


def hsic_tolerance(first: CenteredGram, second: CenteredGram) -> float:
    """Largest difference by rounding between equal values of HSIC."""
    n = count(first.variable.points)
    return mean_tolerance(n, first.norm * second.norm / n**2)  # |K~| |L~| bounds tr(K~ P L~ P')


def mean_tolerance(n: int, magnitude: float) -> float:
    """Largest difference by rounding between equal means over all pairs of n observations."""
    return _ROUNDING * log2(n) * magnitude
