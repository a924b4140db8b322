"""Limit of a degenerate V-statistic mean_ij H_ij: sum_i l_i z_i^2 / n^2 with l the eigenvalues of H."""

from __future__ import annotations

from math import sqrt

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import LazyMatrix, top_eigenpairs
from mercer.gram.threads import spans

_EIGENVALUES_FOR_SKEWNESS = 50  # the rest add little to a sum of cubes


def limit_weights(matrix: LazyMatrix, rank: int) -> tuple[np.ndarray, float]:
    """The largest weights l_i / n^2, at most `rank`, and the sum of the others."""
    n = matrix.shape[0]
    values = _largest_eigenvalues(matrix, rank)
    return values / n**2, max(matrix.trace() - float(values.sum()), 0.0) / n**2


def rescaled_weights(weights: np.ndarray, mean: float, variance: float) -> tuple[np.ndarray, float]:
    """The weights rescaled to this variance of the limit, and the remainder of the mean.

    With few observations in many dimensions, sample eigenvalues spread wider than those of the
    distribution, and the limit varies more than the statistic does.
    """
    deviation = sqrt(2 * float(weights @ weights))
    weights = weights * (sqrt(max(variance, 0.0)) / deviation if deviation > 0 else 0.0)
    return weights, mean - float(weights.sum())


def limit_skewness(matrix: LazyMatrix) -> float:
    """sqrt(8) sum_i l_i^3 / (sum_i l_i^2)^(3/2)."""
    squares = matrix.inner(matrix)
    top = _largest_eigenvalues(matrix, _EIGENVALUES_FOR_SKEWNESS)
    return sqrt(8) * cube_sum(top, matrix.trace(), squares) / squares**1.5


def cube_sum(top: np.ndarray, trace: float, squares: float) -> float:
    """Sum of the cubed eigenvalues, from the largest ones, the sum and the sum of squares of all.

    The others are treated as if they were equal.
    """
    tail, tail_squares = trace - float(top.sum()), max(squares - float(top @ top), 0.0)
    return float(np.sum(top**3)) + (tail_squares**2 / tail if tail > 0 else 0.0)


def trace_of_cube(matrix: LazyMatrix) -> float:
    """tr H^3 of a symmetric matrix by products of its stripes, n^3 operations."""
    everything, total = slice(0, matrix.shape[0]), 0.0
    for rows in spans(matrix.shape[0]):
        stripe = to_numpy(matrix.block(rows, everything)).astype(np.float64, copy=False)
        for columns in spans(matrix.shape[0], first=rows.start):
            other = to_numpy(matrix.block(columns, everything)).astype(np.float64, copy=False)
            term = float(np.vdot(stripe @ other.T, stripe[:, columns]))
            total += term if rows == columns else 2 * term
    return total


def _largest_eigenvalues(matrix: LazyMatrix, rank: int) -> np.ndarray:
    values = top_eigenpairs(matrix, min(rank, matrix.shape[0]))[0]
    return np.maximum(to_numpy(values).astype(np.float64), 0.0)
