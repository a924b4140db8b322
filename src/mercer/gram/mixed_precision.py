"""Systems solved in float32 and refined in float64: half the time and memory of a factor in float64."""

from __future__ import annotations

import numpy as np

from mercer.backend import Array, is_numpy, is_single, to_numpy
from mercer.gram.combine import Rounded
from mercer.gram.lazy import LazyMatrix
from mercer.gram.positive_definite import add_to_diagonal, factored

_LARGE = 2000  # rows from which it pays
_SAFE = 4.0  # the ridge over the rounding error of the matrix, at least
_ROUNDS = 20
_ENOUGH, _GOOD = 1e-14, 1e-12  # relative residuals: stop there, and accept where rounding stops it


def worth_refining(matrix: LazyMatrix, ridge: float) -> bool:
    """Whether float32 holds K + ridge I well enough: its rounding, eps tr(K) at most, is well below ridge."""
    n = matrix.shape[0]
    if n < _LARGE or not is_numpy(matrix.like) or is_single(matrix.like):
        return False
    largest = float(np.max(np.abs(to_numpy(matrix.diagonal()))))
    return ridge > _SAFE * 2.0**-24 * n * largest


def refined_solve(matrix: LazyMatrix, y: Array, ridge: float) -> Array | None:
    """a of (K + ridge I) a = y (n, k), by a Cholesky factor in float32; None where that does not do.

    Every round solves for the residual of the last, which is taken in float64 from tiles that are made
    anew (Higham 2002, section 12): two to four of them reach what float64 reaches.
    """
    held = Rounded(matrix).dense()
    add_to_diagonal(held, np.float32(ridge))
    solve = factored(held)
    if solve is None:
        return None
    a, residual = np.zeros_like(y), y
    size = np.linalg.norm(y, axis=0)
    last = now = 1.0
    for _ in range(_ROUNDS):
        scale = np.maximum(np.abs(residual).max(axis=0), np.finfo(np.float64).tiny)
        a = a + scale * solve((residual / scale).astype(np.float32)).astype(np.float64)
        residual = y - matrix._times(a) - ridge * a
        left = np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1.0)
        now = float(left.max())
        if now <= _ENOUGH or now > last / 2:
            break  # as good as it gets
        last = now
    return a if now <= _GOOD else None
