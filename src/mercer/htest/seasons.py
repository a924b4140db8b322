"""Seasons of a series: a line in its kernel periodogram, and the kernel matrix without its harmonics.

The kernel periodogram I(f) = sum_ij K~_ij cos(2 pi f (i - j)) / n is the sum of the periodograms of all features of the
series. Two series with the same season have a common cause, the calendar: tests of independence take it out of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.backend import Array, array_like, astype, to_numpy, transposed
from mercer.gram import LazyMatrix, LowRank
from mercer.gram.lazy import Changed
from mercer.htest.serial_dependence import lag_means
from mercer.linalg import svd

_MIN_PERIODS = 3  # in the series; slower oscillations are not told from other slow changes
_AWAY = 2 * np.arange(
    2, 9
)  # half steps to the ordinates that tell how large the periodogram is without the line
# Bound on how often noise has a line, attained by a linear kernel of numbers; with Gaussian kernels, whose ordinates vary
# less, it is 1%. A line that is none costs 8 of n degrees of freedom, one that is overlooked the level.
_FALSE_ALARMS = 0.2
_STEPS_PER_ORDINATE = 8  # the frequency of a line is located on a finer grid
_HARMONICS = 4  # of a season that are taken out, the fundamental frequency included
_MIN_ROWS = 30  # a shorter series shows no season


@dataclass(frozen=True, eq=False, repr=False)
class Residual(Changed):
    """(I - SS') K (I - SS') with orthonormal columns S: features less their projections on S."""

    matrix: LazyMatrix
    basis: Array  # S: (n, s)
    crossed: Array  # A = KS - S (S'KS) / 2: (n, s), so that the block is K - SA' - AS'

    @classmethod
    def of(cls, matrix: LazyMatrix, basis: np.ndarray) -> Residual:
        """Take the columns of `basis` out of a symmetric matrix; one pass over its tiles."""
        product = to_numpy(matrix @ array_like(basis, matrix.like)).astype(np.float64)
        crossed = product - basis @ (basis.T @ product) / 2
        return cls(matrix, array_like(basis, matrix.like), array_like(crossed, matrix.like))

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The block of the residuals."""
        tile = self.matrix.block(rows, columns)
        tile -= astype(self.basis[rows] @ transposed(self.crossed[columns]), tile.dtype)
        tile -= astype(self.crossed[rows] @ transposed(self.basis[columns]), tile.dtype)
        return tile


def deseasonalised(matrix: LazyMatrix) -> tuple[LazyMatrix, float | None]:
    """The centred kernel matrix of a series less its season, and the period; None where there is no season."""
    frequency = season(matrix)
    if frequency is None:
        return matrix, None
    basis = harmonics(matrix.shape[0], frequency)
    if isinstance(matrix, LowRank):
        columns = to_numpy(matrix.features).astype(np.float64)
        columns = columns - basis @ (basis.T @ columns)
        return LowRank(array_like(columns, matrix.like)), 1 / frequency
    return Residual.of(matrix, basis), 1 / frequency


def season(matrix: LazyMatrix) -> float | None:
    """The frequency of a line in the kernel periodogram, in cycles per step; None where there is none.

    Ordinates without a line are at most as variable as exponential numbers, so that one of them over the mean of k others
    exceeds r with probability (1 + r / k)^-k; the least of these probabilities, at n frequencies, is compared with 0.2 / n.
    """
    n = matrix.shape[0]
    if n < _MIN_ROWS:
        return None
    ordinates = periodogram(matrix, 2)  # at n frequencies: a line between two ordinates is not lost
    first = 2 * _MIN_PERIODS
    tails = np.array([_log_tail(ordinates, k) for k in range(first, len(ordinates))])
    peak = first + int(np.argmin(tails))
    if not tails[peak - first] < np.log(_FALSE_ALARMS / n):
        return None
    fine = periodogram(matrix, 2 * _STEPS_PER_ORDINATE)
    low, high = (peak - 1) * _STEPS_PER_ORDINATE, (peak + 1) * _STEPS_PER_ORDINATE
    return (low + int(np.argmax(fine[low : high + 1]))) / (2 * _STEPS_PER_ORDINATE * n)


def periodogram(matrix: LazyMatrix, padding: int) -> np.ndarray:
    """I(k / (padding n)) for k = 0, ..., padding n / 2."""
    n = matrix.shape[0]
    if isinstance(matrix, LowRank):
        columns = to_numpy(matrix.features).astype(np.float64)
        return np.sum(np.abs(np.fft.rfft(columns, padding * n, axis=0)) ** 2, axis=1) / n
    sums = lag_means(matrix) * np.arange(n, 0, -1) / n
    sums[0] /= 2
    return 2 * np.fft.rfft(sums, padding * n).real


def harmonics(n: int, frequency: float) -> np.ndarray:
    """Cosines and sines of a frequency and its multiples, orthonormal and orthogonal to the constant."""
    multiples = frequency * np.arange(1, _HARMONICS + 1)
    angles = 2 * np.pi * np.outer(np.arange(n), multiples[multiples <= 0.5])
    waves = np.hstack([np.cos(angles), np.sin(angles)])
    left, sizes, _ = svd(waves - waves.mean(axis=0))
    return left[:, sizes > 1e-6 * sizes[0]]


def _log_tail(ordinates: np.ndarray, k: int) -> float:
    """Logarithm of the probability of an ordinate this large, given its neighbours two to eight whole steps away."""
    positions = np.concatenate([k - _AWAY, k + _AWAY])
    around = ordinates[positions[(positions > 0) & (positions < len(ordinates))]]
    total = float(around.sum())
    if not total > 0:
        return 0.0
    return -len(around) * float(np.log1p(max(float(ordinates[k]), 0.0) / total))
