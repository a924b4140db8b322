"""The limit of a degenerate V-statistic mean_ij H_ij, sum_i l_i z_i^2 / n^2 with l the eigenvalues of H; its rounding."""

from __future__ import annotations

from math import log2, sqrt

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import LazyMatrix, top_eigenpairs
from mercer.gram.threads import spans

_TOP = 50  # eigenvalues that are found one by one
_TIE = 64 * float(np.finfo(np.float64).eps)


def limit_weights(matrix: LazyMatrix, rank: int) -> tuple[np.ndarray, float]:
    """The largest weights l_i / n^2, `rank` at most, and the sum of the others."""
    n = matrix.shape[0]
    values = _largest(matrix, rank)
    return values / n**2, max(matrix.trace() - float(values.sum()), 0.0) / n**2


def stretched(weights: np.ndarray, mean: float, variance: float) -> tuple[np.ndarray, float]:
    """The weights with this variance, and what is left of the mean.

    The eigenvalues of few observations in many dimensions are spread wider than those of their
    distribution, and make the limit vary more than the statistic does.
    """
    spread = sqrt(2 * float(weights @ weights))
    weights = weights * (sqrt(max(variance, 0.0)) / spread if spread > 0 else 0.0)
    return weights, mean - float(weights.sum())


def limit_skewness(matrix: LazyMatrix) -> float:
    """sqrt(8) sum_i l_i^3 / (sum_i l_i^2)^(3/2)."""
    squares = matrix.inner(matrix)
    return sqrt(8) * cubes(_largest(matrix, _TOP), matrix.trace(), squares) / squares**1.5


def cubes(top: np.ndarray, trace: float, squares: float) -> float:
    """The sum of the cubes of eigenvalues of which the largest, the sum and that of squares are known.

    The others count as if they were equal.
    """
    rest, spread = trace - float(top.sum()), max(squares - float(top @ top), 0.0)
    return float(np.sum(top**3)) + (spread**2 / rest if rest > 0 else 0.0)


def trace_of_cube(matrix: LazyMatrix) -> float:
    """tr H^3 of a symmetric matrix by products of its stripes, n^3 operations."""
    everything, total = slice(0, matrix.shape[0]), 0.0
    for rows in spans(matrix.shape[0]):
        stripe = to_numpy(matrix.block(rows, everything)).astype(np.float64, copy=False)
        for columns in spans(matrix.shape[0], first=rows.start):
            other = to_numpy(matrix.block(columns, everything)).astype(np.float64, copy=False)
            part = float(np.vdot(stripe @ other.T, stripe[:, columns]))
            total += part if rows == columns else 2 * part
    return total


def rounding_of_mean(n: int, size: float) -> float:
    """How far equal means over all pairs of n observations may be apart, by rounding; `size` is theirs."""
    return _TIE * log2(n) * size


def _largest(matrix: LazyMatrix, rank: int) -> np.ndarray:
    values = top_eigenpairs(matrix, min(rank, matrix.shape[0]))[0]
    return np.maximum(to_numpy(values).astype(np.float64), 0.0)
