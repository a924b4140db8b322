"""Normal equations of a tall matrix, known by its tiles: Z'WZ and Z'Wy in one pass, in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    eps,
    is_numpy,
    itemsize,
    namespace,
    on_gpu,
    scalar,
    zeros,
)
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix
from mercer.gram.combine import Transposed
from mercer.gram.positive import add_to_diagonal, solve_positive
from mercer.gram.run import in_order, spans

Change = Callable[[Array, slice], tuple[Array, Array]]

_TASK = 4096  # rows of a task: their sum is one matrix that is added up in order
_STEP = 480  # rows of a tile
_TRIES = 12  # factors of ten, by which the smallest addition to the diagonal is raised at most


@dataclass
class NormalSums:
    """Z'WZ (m, m) and Z'Wy (m, q), summed over the rows that were added so far, in float64.

    What float32 tiles add up to is summed in float64: otherwise their rounding errors make the
    matrix indefinite.
    """

    matrix: Array
    right: Array
    precision: float  # the eps of the tiles
    rows: int = 0

    @classmethod
    def empty(cls, columns: int, outputs: int, like: Array) -> NormalSums:
        """No rows yet, whose tiles will be like this array."""
        work = double(like)
        matrix, right = (zeros((columns, width), like, work) for width in (columns, outputs))
        return cls(matrix, right, eps(like))

    def add(self, design: LazyMatrix, y: Array, weights: np.ndarray | None = None) -> None:
        """Add the rows of Z, with targets (n, q) and weights (n,)."""
        root = None if weights is None else array_like(np.sqrt(weights), design.like)
        work = _Products(design, astype(y, design.like.dtype), root)
        tasks = spans(design.shape[0], _task_rows(design))
        for matrix, right in in_order(work, tasks, parallel=is_numpy(design.like)):
            self.matrix += matrix
            self.right += right
        self.rows += design.shape[0]

    def solve(self, penalty: Array, ridge: float) -> Array:
        """a of (Z'WZ + ridge P) a = Z'Wy: (m, q).

        Rounding of the tiles moves the matrix by about eps tr / sqrt(m) (measured, for both
        precisions): twice that is added to its diagonal, and more where that does not make it
        positive definite.
        """
        xp = namespace(self.matrix)
        whole = _symmetric(self.matrix) + ridge * penalty
        size = scalar(xp.sum(xp.linalg.diagonal(whole))) / int(whole.shape[0]) ** 0.5
        least = 2 * self.precision * size
        for power in range(_TRIES):
            held = xp.asarray(whole, copy=True)
            add_to_diagonal(held, least * 10.0**power)
            solution = solve_positive(held, self.right)
            if solution is not None:
                return solution
        raise ValueError(
            "the normal equations are not positive definite: use a larger ridge, or a kernel that "
            "is positive definite"
        )


def normal_product(design: LazyMatrix, v: Array, weights: Array | None = None) -> Array:
    """Z'W(Zv) for v (m, q), every tile made once: (m, q) in float64."""
    return swept(design, v, _Weighted(weights))[0]


def swept(design: LazyMatrix, v: Array, change: Change) -> tuple[Array, Array]:
    """Z'r for r = change(Zv), every tile made once, and the sum of what comes with it, in float64.

    `change` takes some rows of Zv (b, k) and which rows they are, and gives (b, q) and numbers (e,).
    """
    if isinstance(design, Gram) and on_gpu(
        design.like
    ):  # fused: a tile made twice is not held once
        r, extra = change(design @ v, slice(0, design.shape[0]))
        return turned_product(design, r), extra
    total, extras = None, None
    work, tasks = _Sweep(design, v, change), spans(design.shape[0], _task_rows(design))
    for part, extra in in_order(work, tasks, parallel=is_numpy(design.like)):
        total = part if total is None else total + part
        extras = extra if extras is None else extras + extra
    return total, extras


def turned_product(design: LazyMatrix, u: Array) -> Array:
    """Z'u for u (n, q): (m, q) in float64."""
    if isinstance(design, Gram):
        return Gram(design.kernel, design.y, design.x)._times(astype(u, design.like.dtype))
    return Transposed(design)._times(astype(u, design.like.dtype))


@dataclass(frozen=True)
class _Products:
    """rows -> Z'Z and Z'y of these rows; of NumPy's Z'Z the lower half is written only."""

    design: LazyMatrix
    y: Array
    root: Array | None

    def __call__(self, rows: slice) -> tuple[Array, Array]:
        m = self.design.shape[1]
        right = zeros((m, self.y.shape[1]), self.y, double(self.y))
        total = _outer(m, self.design.like)
        for some in spans(rows.stop, _step(self.design), first=rows.start):
            tile, y = self.design.block(some, slice(0, m)), self.y[some, :]
            if self.root is not None:
                tile *= self.root[some][:, None]
                y = y * self.root[some][:, None]
            turned = namespace(tile).permute_dims(tile, (1, 0))
            total = _added(total, tile, turned)
            right += turned @ y
        return total, right


@dataclass(frozen=True)
class _Sweep:
    """rows -> Z'r of these rows and the sum of what comes with it, in float64."""

    design: LazyMatrix
    v: Array
    change: Change

    def __call__(self, rows: slice) -> tuple[Array, Array]:
        m, total, extras = self.design.shape[1], None, None
        for some in spans(rows.stop, _step(self.design), first=rows.start):
            tile = self.design.block(some, slice(0, m))
            r, extra = self.change(tile @ self.v, some)
            part = namespace(tile).permute_dims(tile, (1, 0)) @ astype(r, tile.dtype)
            part = astype(part, double(part))
            total = part if total is None else total + part
            extras = extra if extras is None else extras + extra
        return total, extras


@dataclass(frozen=True)
class _Weighted:
    """Zv -> W Zv, and nothing with it."""

    weights: Array | None

    def __call__(self, f: Array, rows: slice) -> tuple[Array, Array]:
        r = f if self.weights is None else f * self.weights[rows][:, None]
        return r, zeros((0,), f, double(f))


def _outer(m: int, like: Array) -> Any:
    if is_numpy(like):
        return np.zeros((m, m), dtype=like.dtype, order="F")
    return zeros((m, m), like, double(like))


def _added(total: Array, tile: Array, turned: Array) -> Array:
    """total + Z'Z, in place: for NumPy the lower half of it, which is half of the work."""
    if not is_numpy(tile):
        total += turned @ tile
        return total
    from scipy.linalg.blas import get_blas_funcs

    (syrk,) = get_blas_funcs(("syrk",), (turned,))
    return syrk(1.0, turned, beta=1.0, c=total, lower=1, overwrite_c=1)


def _symmetric(matrix: Array) -> Array:
    """The whole matrix of its lower half."""
    xp = namespace(matrix)
    lower = xp.tril(matrix, k=-1)
    whole = lower + xp.permute_dims(lower, (1, 0))
    add_to_diagonal(whole, xp.linalg.diagonal(matrix))
    return whole


def _step(design: LazyMatrix) -> int:
    if not on_gpu(design.like):
        return _STEP
    return max(settings().memory // 8 // (itemsize(design.like) * design.shape[1]), 1)


def _task_rows(design: LazyMatrix) -> int:
    """Rows of a task: many enough that adding up its matrix does not count."""
    return design.shape[0] if on_gpu(design.like) else max(_TASK, _STEP)
