"""Linear systems solved in float32 and refined to float64: half the time and memory of float64."""

from __future__ import annotations

import numpy as np

from mercer.backend import Array, is_numpy, is_single, to_numpy
from mercer.gram.combine import Rounded
from mercer.gram.lazy import LazyMatrix
from mercer.gram.positive_definite import add_to_diagonal, factored

_MIN_ROWS = 2000  # below, a factor in float64 takes as long
_MIN_RIDGE_OVER_ROUNDING = 4.0  # below, refinement may not converge
_MAX_REFINEMENTS = 20  # two to four are usual
_TARGET, _ACCEPTED = 1e-14, 1e-12  # relative residuals: stop at the first, accept up to the second


def worth_refining(matrix: LazyMatrix, ridge: float) -> bool:
    """Whether rounding K to float32, an error of eps tr(K) at most, is well below the ridge."""
    n = matrix.shape[0]
    if n < _MIN_ROWS or not is_numpy(matrix.like) or is_single(matrix.like):
        return False
    largest = float(np.max(np.abs(to_numpy(matrix.diagonal()))))
    return ridge > _MIN_RIDGE_OVER_ROUNDING * 2.0**-24 * n * largest


def refined_solve(matrix: LazyMatrix, y: Array, ridge: float) -> Array | None:
    """The solution a of (K + ridge I) a = y (n, k), by a Cholesky factor in float32 and refinement.

    Each refinement solves for the residual of the last solution, which is computed in float64 from new
    tiles (Higham 2002, section 12); two to four reach the accuracy of float64. None where they do not.
    """
    single = Rounded(matrix).dense()
    add_to_diagonal(single, np.float32(ridge))
    solve = factored(single)
    if solve is None:
        return None
    y = to_numpy(y)
    a, residual = np.zeros_like(y), y
    norms = np.linalg.norm(y, axis=0)
    last = now = 1.0
    for _ in range(_MAX_REFINEMENTS):
        scale = np.maximum(np.abs(residual).max(axis=0), np.finfo(np.float64).tiny)
        a = a + scale * to_numpy(solve((residual / scale).astype(np.float32))).astype(np.float64)
        residual = y - matrix._times(a) - ridge * a
        relative = np.linalg.norm(residual, axis=0) / np.where(norms > 0, norms, 1.0)
        now = float(relative.max())
        if now <= _TARGET or now > last / 2:
            break  # rounding prevents further progress
        last = now
    return a if now <= _ACCEPTED else None
