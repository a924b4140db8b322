"""A few leading eigenvectors or singular vectors of dense matrices, without the others.

Block Lanczos first. Where the leading eigenvalues are too close to each other for it, as those of kernel CCA
with a small ridge are, it goes on with (m I - G)^-1, m slightly above the largest eigenvalue, which spreads
them: the Cholesky factor exists only if m is above all of them. What is not found so is left to LAPACK.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import linalg
from mercer.gram.eigen import Space, largest
from mercer.gram.positive_definite import add_to_diagonal, factored

_SMALL = 300  # rows up to which LAPACK is as fast
_MORE = 8  # columns of a block beside those that are wanted
_BASIS = 160  # columns of a basis at most
_ENOUGH = 1e-10  # residuals at which to stop, relative to the largest eigenvalue
_ABOVE = 4.0  # residuals between the largest eigenvalue known and the shift; grows tenfold
_SHIFTS = 6  # tried

Operator = Callable[[Any], Any]  # v -> A v


def leading_eigenpairs(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, falling, and eigenvectors (n, k), of a positive semi-definite matrix."""
    if len(matrix) <= _SMALL:
        return largest(matrix, k)
    found = _leading(lambda v: matrix @ v, lambda: matrix, len(matrix), k)
    return largest(matrix, k) if found is None else found


def leading_singular(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k largest singular values, falling, with left (n, k) and right vectors (m, k) around them."""
    if matrix.shape[0] < matrix.shape[1]:
        right, values, left = leading_singular(matrix.T, k)
        return left, values, right
    found = None
    if matrix.shape[1] > _SMALL:
        found = _leading(
            lambda v: matrix.T @ (matrix @ v), lambda: matrix.T @ matrix, matrix.shape[1], k
        )
    if found is None or not found[0][-1] > _ENOUGH**0.5 * found[0][0]:
        left, values, right = linalg.svd(matrix)
        return left[:, :k], values[:k], right[:k].T
    right = found[1]
    left = matrix @ right
    values = np.linalg.norm(left, axis=0)
    return left / values, values, right


def _leading(
    times: Operator, matrix: Callable[[], np.ndarray], n: int, k: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Eigenpairs of a positive semi-definite operator; None where both roads do not reach them."""
    start = np.random.default_rng(0).standard_normal((n, k + _MORE))
    values, vectors, rest = _block_lanczos(times, start, k)
    if rest <= _ENOUGH * values[0]:
        return values[:k], vectors[:, :k]
    held, shift = matrix(), _ABOVE * rest
    for _ in range(_SHIFTS):
        shifted = -held
        add_to_diagonal(shifted, values[0] + shift)
        solve = factored(shifted)
        if solve is not None:
            inverse, found, rest = _block_lanczos(solve, vectors, k)
            done = rest <= _ENOUGH * inverse[0]
            return (values[0] + shift - 1 / inverse[:k], found[:, :k]) if done else None
        shift *= 10
    return None


def _block_lanczos(
    times: Operator, start: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Ritz values and vectors, as many as columns of the start, and the largest residual of the first k."""
    space, width = Space(times, start), start.shape[1]
    while True:
        values, vectors, images = space.ritz(width)
        rest = (images - values * vectors)[:, :k]
        error = float(np.linalg.norm(rest, axis=0).max())
        if error <= _ENOUGH * values[0] or space.size + width > _BASIS:
            return values, vectors, error
        space.grow(images - values * vectors)
