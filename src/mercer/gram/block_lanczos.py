"""Block Lanczos without restarts for the largest eigenvalues of a symmetric operator on NumPy vectors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np

from mercer import linalg

_GROWTH_BETWEEN_CHECKS = (
    1.3  # of the basis: its Ritz values cost as much as a product with the matrix
)
_MIN_DIAGONAL_RATIO = (
    1e-5  # of a Cholesky factor; below, the block is too close to linearly dependent
)
_MAX_ROWS_UNTHREADED = 32  # of a Cholesky factor, for which BLAS starts no threads
_TINY = float(np.finfo(np.float64).tiny)


def block_lanczos(
    times: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    k: int,
    tolerance: float,
    max_columns: int,
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest eigenvalues in decreasing order, and eigenvectors (n, k); None without convergence.

    Full orthogonalisation (Golub and Van Loan 2013, section 10.3.6), until the residuals are below
    `tolerance` times the largest eigenvalue or the basis has `max_columns`. A block of `start` (n, b) with
    b >= k contains every vector of a multiple eigenvalue that is wanted. A block that becomes linearly
    dependent, as for matrices of low rank, ends the iteration without a result.
    """
    n, width = start.shape
    basis = np.empty((max_columns, n), dtype=np.float64)  # rows are basis vectors
    inner = np.zeros((max_columns, max_columns), dtype=np.float64)  # K in that basis
    block, size, next_check = _orthonormal(start.T, basis[:0]), width, 0.0
    while block is not None:
        fresh, _ = block
        basis[size - width : size] = fresh
        images = np.ascontiguousarray(times(fresh.T).T)
        across = basis[:size] @ images.T  # (size, width)
        inner[:size, size - width : size] = across
        inner[size - width : size, :size] = across.T
        block = _orthonormal(images - across.T @ basis[:size], basis[:size])
        if block is not None and size >= next_check:
            values, rotation = _leading(inner[:size, :size], k)
            residuals = (
                rotation[size - width :].T @ block[1]
            )  # of the Ritz vectors, in the next block
            worst = float(np.sqrt(np.max(np.sum(residuals**2, axis=1))))
            if worst <= tolerance * max(abs(float(values[0])), _TINY):
                return values, basis[:size].T @ rotation
            next_check = _GROWTH_BETWEEN_CHECKS * size
        size += width
        if size > max_columns:
            break
    return None


def _orthonormal(rows: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Orthonormal rows F, orthogonal to `basis`, and L with rows = LF; None for dependent rows.

    Twice by Cholesky factors, which is accurate to rounding where the first factor is well conditioned.
    """
    rows, total = _normalised(rows)
    if total is not None:
        rows, again = _normalised(rows - (rows @ basis.T) @ basis)
        if again is not None:
            return rows, total @ again
    return None


def orthonormal_rows(rows: np.ndarray, basis: np.ndarray) -> np.ndarray | None:
    """Orthonormal rows with the span of `rows`, which are orthogonal to `basis` up to rounding; None if dependent."""
    pair = _orthonormal(rows, basis)
    return None if pair is None else pair[0]


def _normalised(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """L^-1 rows and the Cholesky factor L of rows rows'; the rows and None where they are dependent."""
    potrf, trtri, _ = _lapack()
    inner = rows @ rows.T
    with linalg.threads_for(inner) if len(inner) > _MAX_ROWS_UNTHREADED else nullcontext():
        lower, failed = potrf(inner, lower=True)
    diagonal = lower.diagonal()
    if failed or not diagonal.min() > _MIN_DIAGONAL_RATIO * diagonal.max():
        return rows, None
    return trtri(lower, lower=True)[0] @ rows, lower


def _leading(inner: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues in decreasing order, and eigenvectors (size, k): less work than all of them."""
    size, syevr = len(inner), _lapack()[2]
    with linalg.threads_for(inner):
        values, rotation, count, _, failed = syevr(inner, range="I", il=size - k + 1, iu=size)
        if failed or count < k:  # as where nearly all eigenvalues are equal
            values, rotation = linalg.eigh(inner)
            values, rotation = values[-k:], rotation[:, -k:]
    return values[:k][::-1], rotation[:, ::-1]


@cache
def _lapack() -> tuple[Any, Any, Any]:
    """Cholesky factors, inverses of triangles and eigenpairs, without the checks of `numpy.linalg`."""
    from scipy.linalg.lapack import get_lapack_funcs

    potrf, trtri, syevr = get_lapack_funcs(("potrf", "trtri", "syevr"), dtype=np.float64)
    return potrf, trtri, syevr
