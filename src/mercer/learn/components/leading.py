"""Leading eigenvectors and singular vectors of dense matrices.

Block Lanczos comes first. Where the leading eigenvalues are too close to each other, as in kernel CCA with a
small ridge, it is applied to (m I - G)^-1 with m slightly above the largest eigenvalue, which separates them;
the Cholesky factor exists only if m is above all eigenvalues. LAPACK solves the remaining cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import linalg
from mercer.gram.eigen import Space, largest
from mercer.gram.positive_definite import add_to_diagonal, factored

_MAX_LAPACK_ROWS = 300  # matrices up to this size: LAPACK is as fast
_EXTRA_COLUMNS = 8  # of a block beside the wanted ones (oversampling)
_MAX_BASIS_COLUMNS = 160  # of the Lanczos basis: bounds its memory and the cost of orthogonalising
_RESIDUAL_TOLERANCE = 1e-10  # at which to stop, relative to the largest eigenvalue
_SHIFT_IN_RESIDUALS = (
    4.0  # distance of the shift above the largest known eigenvalue, in residuals; grows tenfold
)
_MAX_SHIFTS = 6  # tried before LAPACK takes over

Operator = Callable[[Any], Any]  # v -> A v


def leading_eigenpairs(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, in decreasing order, and eigenvectors (n, k) of a positive semi-definite matrix."""
    if len(matrix) <= _MAX_LAPACK_ROWS:
        return largest(matrix, k)
    pairs = _leading(lambda v: matrix @ v, lambda: matrix, len(matrix), k)
    return largest(matrix, k) if pairs is None else pairs


def leading_singular(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left vectors (n, k), the k largest singular values in decreasing order, and right vectors (m, k)."""
    if matrix.shape[0] < matrix.shape[1]:
        right, values, left = leading_singular(matrix.T, k)
        return left, values, right
    pairs = None
    if matrix.shape[1] > _MAX_LAPACK_ROWS:
        pairs = _leading(
            lambda v: matrix.T @ (matrix @ v), lambda: matrix.T @ matrix, matrix.shape[1], k
        )
    if pairs is None or not pairs[0][-1] > _RESIDUAL_TOLERANCE**0.5 * pairs[0][0]:
        left, values, right = linalg.svd(matrix)
        return left[:, :k], values[:k], right[:k].T
    right = pairs[1]
    left = matrix @ right
    values = np.linalg.norm(left, axis=0)
    return left / values, values, right


def _leading(
    times: Operator, matrix: Callable[[], np.ndarray], n: int, k: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Eigenpairs of a positive semi-definite operator; None where neither method converges."""
    start = np.random.default_rng(0).standard_normal((n, k + _EXTRA_COLUMNS))
    values, vectors, residual = _block_lanczos(times, start, k)
    if residual <= _RESIDUAL_TOLERANCE * values[0]:
        return values[:k], vectors[:, :k]
    dense, shift = matrix(), _SHIFT_IN_RESIDUALS * residual
    for _ in range(_MAX_SHIFTS):
        shifted = -dense
        add_to_diagonal(shifted, values[0] + shift)
        solve = factored(shifted)
        if solve is not None:
            inverse, leading, residual = _block_lanczos(solve, vectors, k)
            converged = residual <= _RESIDUAL_TOLERANCE * inverse[0]
            return (values[0] + shift - 1 / inverse[:k], leading[:, :k]) if converged else None
        shift *= 10
    return None


def _block_lanczos(
    times: Operator, start: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Ritz values and vectors, as many as columns of the start, and the largest residual of the first k."""
    space, width = Space(times, start), start.shape[1]
    while True:
        values, vectors, images = space.ritz(width)
        residual = (images - values * vectors)[:, :k]
        error = float(np.linalg.norm(residual, axis=0).max())
        if error <= _RESIDUAL_TOLERANCE * values[0] or space.size + width > _MAX_BASIS_COLUMNS:
            return values, vectors, error
        space.grow(images - values * vectors)
