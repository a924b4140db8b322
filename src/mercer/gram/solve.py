"""Linear systems and eigenvalues of lazy matrices, dense when the budget allows, iterative when not."""

from __future__ import annotations

import warnings
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    device,
    double,
    is_numpy,
    is_single,
    itemsize,
    namespace,
    set_diagonal,
    to_numpy,
    zeros,
)
from mercer.config import settings
from mercer.errors import NotConverged
from mercer.gram.lazy import LazyMatrix

_ROUNDS = 1000  # iterations of conjugate gradients at most
_RANK = 500  # of the preconditioner
_SMALL = 1000  # rows up to which the dense eigenvalue solver is quickest


def ridge_solve(matrix: LazyMatrix, y: Any, ridge: float) -> Array:
    """The solution a of (K + ridge I) a = y, for (n,) or several columns (n, k).

    `ridge` belongs to the summed loss, sum_i (y_i - f(x_i))^2 + ridge |f|^2; for the averaged loss
    hand in n times as much. By Cholesky in place when the matrix fits into the memory budget,
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


def top_eigenpairs(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues, falling, and their eigenvectors (n, k), each of length 1.

    By block Lanczos with full orthogonalisation, several columns a pass over the tiles, until
    the residuals are below 1e-9 (float32: 1e-5) of the largest eigenvalue; small matrices are
    solved densely. The sign is the one that makes the largest entry positive.
    """
    validate.instance("matrix", matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
    matrix._need_square("top_eigenpairs")
    if not matrix.symmetric:
        raise ValueError("top_eigenpairs needs a symmetric matrix")
    validate.whole("k", k)
    n = matrix.shape[0]
    if k > n:
        raise ValueError(f"k must be at most the number of points, {n}, got {k}")
    if n <= _SMALL or (3 * k > n and _fits(matrix)):
        values, vectors = _dense_eigenpairs(matrix, k)
    else:
        values, vectors = _block_lanczos(matrix, k)
    return values, vectors * _signs(vectors)


def _fits(matrix: LazyMatrix) -> bool:
    return matrix.shape[0] ** 2 * itemsize(matrix.like) <= settings().memory


def _by_cholesky(matrix: LazyMatrix, y: Array, ridge: float) -> Array:
    held = matrix.dense()
    xp = namespace(held)
    if held is getattr(matrix, "array", None):
        held = xp.asarray(held, copy=True)
    set_diagonal(held, 0, 0, xp.linalg.diagonal(held) + ridge)
    if not is_numpy(held):
        try:
            return xp.linalg.solve(held, y)
        except (RuntimeError, np.linalg.LinAlgError) as error:  # the first is torch's
            if "singular" not in str(error).lower():
                raise
            raise ValueError(
                f"the matrix plus ridge {ridge:g} is singular: use a larger ridge"
            ) from None
    from scipy.linalg.lapack import get_lapack_funcs

    (posv,) = get_lapack_funcs(("posv",), (held, y))
    _, solution, info = posv(held.T, y, lower=True, overwrite_a=True)  # .T: Fortran order, no copy
    if info > 0:
        raise ValueError(
            f"the matrix plus ridge {ridge:g} is not positive definite (pivot {info}): "
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
    set_diagonal(small, 0, 0, xp.linalg.diagonal(small) + ridge)
    inverse = xp.linalg.inv(small)
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


def _dense_eigenpairs(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    held = matrix.dense()
    n = held.shape[0]
    if is_numpy(held):
        from scipy.linalg import eigh

        values, vectors = eigh(held, subset_by_index=(n - k, n - 1))
        return values[::-1], vectors[:, ::-1]
    xp = namespace(held)
    values, vectors = xp.linalg.eigh(held)
    return xp.flip(values[n - k :]), xp.flip(vectors[:, n - k :], axis=1)


def _block_lanczos(matrix: LazyMatrix, k: int) -> tuple[Array, Array]:
    from mercer.gram.combine import Dense

    single = is_single(matrix.like)
    if _fits(matrix):
        matrix = Dense(matrix.dense())
    xp, n = namespace(matrix.like), matrix.shape[0]
    width = min(k + 10, n)
    start = np.random.default_rng(0).standard_normal((n, width))
    tolerance = 1e-5 if single else 1e-9
    basis = _orthonormal(array_like(start, matrix.like, double(matrix.like)), None)
    images = _image(matrix, basis)
    for _ in range(_ROUNDS):
        values, vectors, moved = _ritz(basis, images, width)
        off = float(xp.max(xp.sqrt(xp.sum((moved - values * vectors)[:, :k] ** 2, axis=0))))
        if off <= tolerance * max(abs(float(values[0])), np.finfo(np.float64).tiny):
            return astype(values[:k], matrix.like.dtype), astype(vectors[:, :k], matrix.like.dtype)
        if basis.shape[1] + width > min(8 * width, n):
            basis, images = vectors, moved  # restart with the best subspace so far
        fresh = _orthonormal(images[:, -width:] if basis.shape[1] > width else moved, basis)
        basis = xp.concat([basis, fresh], axis=1)
        images = xp.concat([images, _image(matrix, fresh)], axis=1)
    values, vectors, _ = _ritz(basis, images, width)
    message = f"top_eigenpairs stopped after {_ROUNDS} passes, short of {tolerance:.0e}"
    warnings.warn(message, NotConverged, stacklevel=3)
    return astype(values[:k], matrix.like.dtype), astype(vectors[:, :k], matrix.like.dtype)


def _ritz(basis: Array, images: Array, width: int) -> tuple[Array, Array, Array]:
    """The best eigenvalues and vectors inside the basis, and the images of the vectors."""
    xp = namespace(basis)
    projected = _transpose(basis) @ images
    values, turn = xp.linalg.eigh((projected + _transpose(projected)) / 2)
    turn = xp.flip(turn, axis=1)[:, :width]
    return xp.flip(values)[:width], basis @ turn, images @ turn


def _image(matrix: LazyMatrix, v: Array) -> Array:
    return matrix._times(astype(v, matrix.like.dtype))


def _orthonormal(v: Array, basis: Array | None) -> Array:
    """An orthonormal basis of v, orthogonal to `basis`; twice, for rounding."""
    for _ in range(2):
        if basis is not None:
            v = v - basis @ (_transpose(basis) @ v)
        v = namespace(v).linalg.qr(v).Q
    return v


def _transpose(a: Array) -> Array:
    return namespace(a).permute_dims(a, (1, 0))


def _signs(vectors: Array) -> Array:
    xp = namespace(vectors)
    largest = xp.argmax(xp.abs(vectors), axis=0)
    picked = [vectors[int(largest[j]), j] for j in range(vectors.shape[1])]
    ones = xp.ones((), dtype=vectors.dtype, device=device(vectors))
    return xp.stack([xp.where(p < 0, -ones, ones) for p in picked])
