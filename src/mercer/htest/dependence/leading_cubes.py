"""Sum of the cubed eigenvalues of a large matrix, which its leading eigenvalues determine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import linalg
from mercer.backend import is_numpy, to_numpy
from mercer.config import settings
from mercer.gram import LazyMatrix, top_eigenpairs
from mercer.gram.block_lanczos import orthonormal_rows
from mercer.gram.threads import in_order, side, spans
from mercer.htest.dependence.null_spectrum import cube_sum

_EIGENVALUES = 50  # the rest add little to a sum of cubes
_COLUMNS_PER_STEP = 25  # 200 columns in steps of 25 are as accurate as 300 in steps of 50
_MAX_COLUMNS = 400  # of the subspace; then orthogonalising takes longer than products
# Relative change of the sum in a step, after which the error is smaller: a p-value above 1e-4 then has six digits.
_TOLERANCE = 3e-7
_MIN_ROWS = 1000  # with fewer, LAPACK is as fast
_MATRICES_IN_BUDGET = 4  # float32 arrays of this size for which the memory budget has room


def leading_cubes(matrix: LazyMatrix, trace: float, squares: float) -> float:
    """tr K^3 of a symmetric matrix: from its 50 largest eigenvalues, the others as if they were equal.

    `trace` and `squares` are tr K and tr K^2. For large matrices, block Lanczos on a float32 copy finds
    these eigenvalues as exactly as the sum needs them: those that converge last matter least.
    """
    n = matrix.shape[0]
    fits = _MATRICES_IN_BUDGET * 4 * n**2 <= settings().memory
    if fits and n >= _MIN_ROWS and is_numpy(matrix.like):
        total = _by_lanczos(matrix, trace, squares)
        if total is not None:
            return total
    values = top_eigenpairs(matrix, min(_EIGENVALUES, n))[0]
    return cube_sum(np.maximum(to_numpy(values).astype(np.float64), 0.0), trace, squares)


def _by_lanczos(matrix: LazyMatrix, trace: float, squares: float) -> float | None:
    """The sum by block Lanczos; None where it does not settle."""
    n, width = matrix.shape[0], _COLUMNS_PER_STEP
    copy = _single(matrix)
    basis = np.empty((_MAX_COLUMNS, n), dtype=np.float64)
    inner = np.zeros((_MAX_COLUMNS, _MAX_COLUMNS), dtype=np.float64)  # K in that basis
    start = np.random.default_rng(0).standard_normal((width, n))
    total, fresh = np.inf, orthonormal_rows(start, basis[:0])
    with linalg.blas_threads(settings().workers):
        for size in range(width, _MAX_COLUMNS + 1, width):
            if fresh is None:
                return None
            basis[size - width : size] = fresh
            images = (fresh.astype(np.float32) @ copy).astype(np.float64)
            across = images @ basis[:size].T
            inner[size - width : size, :size] = across
            inner[:size, size - width : size] = across.T
            if size >= _EIGENVALUES:
                top = np.maximum(linalg.eigvalsh(inner[:size, :size])[-_EIGENVALUES:], 0.0)
                before, total = total, cube_sum(top, trace, squares)
                if abs(total - before) <= _TOLERANCE * total:
                    return total
            images -= across @ basis[:size]
            fresh = orthonormal_rows(images, basis[:size])
    return None


def _single(matrix: LazyMatrix) -> np.ndarray:
    """A symmetric matrix in float32: (n, n)."""
    n, height = matrix.shape[0], side(matrix.like)
    copy = np.empty((n, n), dtype=np.float32)
    tiles = [(rows, cols) for rows in spans(n, height) for cols in spans(n, height, rows.start)]
    for (rows, cols), tile in zip(
        tiles, in_order(_Tile(matrix), tiles, parallel=True), strict=True
    ):
        copy[rows, cols] = tile
        if rows != cols:
            copy[cols, rows] = tile.T
    return copy


@dataclass(frozen=True)
class _Tile:
    """A tile of a matrix in float32."""

    matrix: LazyMatrix

    def __call__(self, task: tuple[slice, slice]) -> np.ndarray:
        return to_numpy(self.matrix.block(*task)).astype(np.float32)
