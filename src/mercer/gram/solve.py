"""Linear systems of lazy matrices: dense if they fit into the memory budget, else iterative."""

from __future__ import annotations

import warnings
from math import sqrt
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import (
    Array,
    astype,
    double,
    is_single,
    itemsize,
    namespace,
    to_numpy,
    zeros,
)
from mercer.config import settings
from mercer.errors import NotConverged
from mercer.gram.lazy import LazyMatrix
from mercer.gram.mixed_precision import refined_solve, worth_refining
from mercer.gram.positive_definite import add_to_diagonal, solve_positive

_MAX_ITERATIONS = 1000  # of conjugate gradients
_PRECONDITIONER_RANK = 500  # beyond it, its construction costs more than the iterations it saves
# The smallest ridge for float32 kernel values, over 2^-24 sqrt(n) max k(x, x). Their rounding changes
# predictions by 1 to 10 times 2^-24 sqrt(n) max k(x, x) / ridge, in standard deviations of y (measured
# with six kernels on 60 to 1,500 points): with this ridge by 1e-3 at most.
_MIN_RELATIVE_RIDGE = 1e4


def ridge_solve(matrix: LazyMatrix, y: Any, ridge: float) -> Array:
    """The solution a of (K + ridge I) a = y, for (n,) or several columns (n, k).

    `ridge` belongs to the summed loss, sum_i (y_i - f(x_i))^2 + ridge |f|^2; for the averaged loss
    pass n times as much. By Cholesky in place when the matrix fits into the memory budget (in
    float32 and refined in float64 where the ridge allows it, to residuals of 1e-12),
    otherwise by conjugate gradients, preconditioned with a partial Cholesky factor
    whose pivots are drawn in proportion to the remaining diagonal (Chen et al. 2023).
    """
    validate.instance("matrix", matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
    matrix._need_square("ridge_solve")
    validate.non_negative("ridge", ridge)
    y = validate.vectors(y, matrix.shape[0], matrix.like, "y")
    wide = astype(y if y.ndim == 2 else y[:, None], matrix.like.dtype)
    if _fits(matrix):
        solution = _by_cholesky(matrix, wide, ridge)
    else:
        validate.positive("ridge", ridge)
        solution = _by_gradients(matrix, wide, ridge)
    return solution if y.ndim == 2 else solution[:, 0]


def needs_double(diagonal: Array, ridge: float) -> bool:
    """Whether rounding K, with this diagonal, to float32 visibly changes K (K + ridge I)^-1 y."""
    magnitudes = np.abs(to_numpy(diagonal).astype(np.float64))
    return ridge < _MIN_RELATIVE_RIDGE * 2.0**-24 * sqrt(len(magnitudes)) * float(
        np.max(magnitudes)
    )


def _fits(matrix: LazyMatrix) -> bool:
    return matrix.shape[0] ** 2 * itemsize(matrix.like) <= settings().memory


def _by_cholesky(matrix: LazyMatrix, y: Array, ridge: float) -> Array:
    if worth_refining(matrix, ridge):
        solution = refined_solve(matrix, y, ridge)
        if solution is not None:
            return solution
    dense = matrix.dense()
    xp = namespace(dense)
    if dense is getattr(matrix, "array", None):
        dense = xp.asarray(dense, copy=True)
    add_to_diagonal(dense, ridge)
    solution = solve_positive(dense, y)
    if solution is None:
        raise ValueError(
            f"the matrix plus ridge {ridge:g} is not positive definite: "
            "use a larger ridge, or a kernel that is positive definite"
        )
    return solution


def _by_gradients(matrix: LazyMatrix, y: Array, ridge: float) -> Array:
    """Preconditioned conjugate gradients on all columns at once."""
    xp = namespace(y)
    work = double(y)
    y = astype(y, work)
    tolerance = 1e-5 if is_single(matrix.like) else 1e-9
    apply = _preconditioner(matrix, ridge)
    a, r = zeros(y.shape, y), xp.asarray(y, copy=True)
    z = apply(r)
    p, rz = z, xp.sum(r * z, axis=0)
    goal = tolerance * xp.sqrt(xp.sum(y * y, axis=0))
    for _ in range(_MAX_ITERATIONS):
        kp = matrix._times(astype(p, matrix.like.dtype)) + ridge * p
        curvature = xp.sum(p * kp, axis=0)
        step = xp.where(curvature > 0, rz / xp.where(curvature > 0, curvature, 1.0), 0.0)
        a, r = a + step * p, r - step * kp
        if bool(xp.all(xp.sqrt(xp.sum(r * r, axis=0)) <= goal)):
            return astype(a, matrix.like.dtype)
        z = apply(r)
        before, rz = rz, xp.sum(r * z, axis=0)
        p = z + xp.where(before > 0, rz / xp.where(before > 0, before, 1.0), 0.0) * p
    residual = float(xp.max(xp.sqrt(xp.sum(r * r, axis=0)) / (goal / tolerance)))
    warnings.warn(
        f"ridge_solve stopped after {_MAX_ITERATIONS} iterations at a relative residual of {residual:.1e} "
        f"(tolerance {tolerance:.0e}): use a larger ridge, or more memory for a direct solution",
        NotConverged,
        stacklevel=3,
    )
    return astype(a, matrix.like.dtype)


def _preconditioner(matrix: LazyMatrix, ridge: float) -> Any:
    """v -> (F F' + ridge I)^-1 v with F F' ~ K of low rank."""
    factor = _pivoted_cholesky(matrix)
    xp = namespace(factor)
    factor_transposed = xp.permute_dims(factor, (1, 0))
    small = factor_transposed @ factor
    add_to_diagonal(small, ridge)
    inverse = linalg.inv(small)
    return lambda v: (v - factor @ (inverse @ (factor_transposed @ v))) / ridge


def _pivoted_cholesky(matrix: LazyMatrix) -> Array:
    """F (n, r) with F F' ~ K, pivots drawn at random with a fixed seed."""
    n = matrix.shape[0]
    rank = max(min(_PRECONDITIONER_RANK, n, settings().memory // 4 // (8 * n)), 1)
    rng = np.random.default_rng(0)
    remaining = astype(matrix.diagonal(), double(matrix.like))
    factor = zeros((n, rank), remaining)
    total = float(namespace(remaining).sum(remaining))
    for j in range(rank):
        weights = np.maximum(to_numpy(remaining), 0)
        if not weights.sum() > 1e-12 * total:
            return factor[:, :j] if j else factor[:, :1]
        pivot = int(rng.choice(n, p=weights / weights.sum()))
        column = astype(matrix.block(slice(0, n), slice(pivot, pivot + 1)), remaining.dtype)[:, 0]
        column = column - factor[:, :j] @ factor[pivot, :j]
        factor[:, j] = column / sqrt(max(float(column[pivot]), np.finfo(np.float64).tiny))
        remaining = remaining - factor[:, j] ** 2
    return factor
