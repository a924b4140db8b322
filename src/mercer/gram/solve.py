"""Linear systems of lazy matrices, dense when the budget allows, iterative when not."""

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

_ROUNDS = 1000  # iterations of conjugate gradients at most
_RANK = 500  # of the preconditioner
# The least ridge for float32 kernel values, over 2^-24 sqrt(n) max k(x, x). Their rounding moves
# predictions by 1 to 10 times 2^-24 sqrt(n) max k(x, x) / ridge, in deviations of y (measured with six
# kernels on 60 to 1,500 points): from here on by 1e-3 at most.
_LEAST = 1e4


def ridge_solve(matrix: LazyMatrix, y: Any, ridge: float) -> Array:
    """The solution a of (K + ridge I) a = y, for (n,) or several columns (n, k).

    `ridge` belongs to the summed loss, sum_i (y_i - f(x_i))^2 + ridge |f|^2; for the averaged loss
    hand in n times as much. By Cholesky in place when the matrix fits into the memory budget (in
    float32 and refined in float64 where the ridge allows it, to residuals of 1e-12),
    otherwise by conjugate gradients, preconditioned with a partial Cholesky factor
    whose pivots are drawn in proportion to what is left of the diagonal (Chen et al. 2023).
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
    """Whether the rounding of float32 values of K, with this diagonal, shows in K (K + ridge I)^-1 y."""
    own = np.abs(to_numpy(diagonal).astype(np.float64))
    return ridge < _LEAST * 2.0**-24 * sqrt(len(own)) * float(np.max(own))


def _fits(matrix: LazyMatrix) -> bool:
    return matrix.shape[0] ** 2 * itemsize(matrix.like) <= settings().memory


def _by_cholesky(matrix: LazyMatrix, y: Array, ridge: float) -> Array:
    if worth_refining(matrix, ridge):
        solution = refined_solve(matrix, y, ridge)
        if solution is not None:
            return solution
    held = matrix.dense()
    xp = namespace(held)
    if held is getattr(matrix, "array", None):
        held = xp.asarray(held, copy=True)
    add_to_diagonal(held, ridge)
    solution = solve_positive(held, y)
    if solution is None:
        raise ValueError(
            f"the matrix plus ridge {ridge:g} is not positive definite: "
            "use a larger ridge, or a kernel that is positive definite"
        )
    return solution


def _by_gradients(matrix: LazyMatrix, y: Array, ridge: float) -> Array:
    """Conjugate gradients on all columns at once."""
    xp = namespace(y)
    work = double(y)
    y = astype(y, work)
    tolerance = 1e-5 if is_single(matrix.like) else 1e-9
    apply = _preconditioner(matrix, ridge)
    a, r = zeros(y.shape, y), xp.asarray(y, copy=True)
    z = apply(r)
    p, rz = z, xp.sum(r * z, axis=0)
    goal = tolerance * xp.sqrt(xp.sum(y * y, axis=0))
    for _ in range(_ROUNDS):
        kp = matrix._times(astype(p, matrix.like.dtype)) + ridge * p
        curvature = xp.sum(p * kp, axis=0)
        step = xp.where(curvature > 0, rz / xp.where(curvature > 0, curvature, 1.0), 0.0)
        a, r = a + step * p, r - step * kp
        if bool(xp.all(xp.sqrt(xp.sum(r * r, axis=0)) <= goal)):
            return astype(a, matrix.like.dtype)
        z = apply(r)
        before, rz = rz, xp.sum(r * z, axis=0)
        p = z + xp.where(before > 0, rz / xp.where(before > 0, before, 1.0), 0.0) * p
    left = float(xp.max(xp.sqrt(xp.sum(r * r, axis=0)) / (goal / tolerance)))
    warnings.warn(
        f"ridge_solve stopped after {_ROUNDS} iterations at a relative residual of {left:.1e} "
        f"(wanted {tolerance:.0e}): use a larger ridge, or more memory for a direct solution",
        NotConverged,
        stacklevel=3,
    )
    return astype(a, matrix.like.dtype)


def _preconditioner(matrix: LazyMatrix, ridge: float) -> Any:
    """v -> (F F' + ridge I)^-1 v with F F' ~ K of low rank."""
    factor = _pivoted_cholesky(matrix)
    xp = namespace(factor)
    turned = xp.permute_dims(factor, (1, 0))
    small = turned @ factor
    add_to_diagonal(small, ridge)
    inverse = linalg.inv(small)
    return lambda v: (v - factor @ (inverse @ (turned @ v))) / ridge


def _pivoted_cholesky(matrix: LazyMatrix) -> Array:
    """F (n, r) with F F' ~ K, pivots drawn at random with a fixed seed."""
    n = matrix.shape[0]
    rank = max(min(_RANK, n, settings().memory // 4 // (8 * n)), 1)
    rng = np.random.default_rng(0)
    left = astype(matrix.diagonal(), double(matrix.like))
    factor = zeros((n, rank), left)
    total = float(namespace(left).sum(left))
    for j in range(rank):
        weights = np.maximum(to_numpy(left), 0)
        if not weights.sum() > 1e-12 * total:
            return factor[:, :j] if j else factor[:, :1]
        pivot = int(rng.choice(n, p=weights / weights.sum()))
        column = astype(matrix.block(slice(0, n), slice(pivot, pivot + 1)), left.dtype)[:, 0]
        column = column - factor[:, :j] @ factor[pivot, :j]
        factor[:, j] = column / sqrt(max(float(column[pivot]), np.finfo(np.float64).tiny))
        left = left - factor[:, j] ** 2
    return factor
