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
    ones,
    scalar,
    transposed,
    zeros,
)
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix
from mercer.gram.lazy import Transposed
from mercer.gram.positive_definite import add_to_diagonal, factored
from mercer.gram.threads import in_order, spans

Change = Callable[[Array, slice], tuple[Array, Array]]

_ROWS_PER_TASK = 4320  # nine tiles, whose rows enter one product; products are added in order
_ROWS_PER_TILE = 480  # few enough to stay in cache, many enough for matrix products
_NOISE_FACTOR = (
    0.15  # of the rounding error of the tiles that is added to the diagonal: see `factored`
)
_MIN_SUM_NOISE = 1e-5  # in eps of float64 times the trace: rounding of the sums themselves
_MAX_DOUBLINGS = 40  # of what is added to the diagonal


@dataclass
class NormalSums:
    """Z'WZ (m, m) and Z'Wy (m, q), summed over the rows that were added so far, in float64.

    Products are of Z less a row `middle`, about the mean of its rows, and of y less a `shift`, about
    its mean; both are added again at the end. So the sums are smaller, and with them the rounding of
    float32 tiles. They are summed in float64; otherwise rounding makes the matrix indefinite.

    With an intercept the normal equations are those of Z and y less their weighted means: the same
    sums, corrected by a matrix of rank one.
    """

    matrix: Array  # (Z - 1 middle')'W(Z - 1 middle')
    right: Array  # (Z - 1 middle')'W(y - 1 shift', 1)
    totals: Array  # sums of W(y - 1 shift', 1)
    middle: Array
    shift: Array
    precision: float  # the eps of the tiles

    @classmethod
    def empty(cls, middle: Array, shift: Array, like: Array) -> NormalSums:
        """No rows yet, whose tiles will be like this array."""
        m, outputs, work = int(middle.shape[0]), int(shift.shape[0]), double(like)
        shapes = (m, m), (m, outputs + 1), (outputs + 1,)
        sums = (zeros(shape, like, work) for shape in shapes)
        middle, shift = (astype(row, like.dtype) for row in (middle, shift))
        return cls(*sums, middle=middle, shift=shift, precision=eps(like))

    def add(self, design: LazyMatrix, y: Array, weights: np.ndarray | None = None) -> None:
        """Add the rows of Z, with targets (n, q) and weights (n,)."""
        xp, like = namespace(design.like), design.like
        shifted = astype(y, like.dtype) - self.shift[None, :]
        columns = xp.concat([shifted, ones((int(y.shape[0]), 1), like)], axis=1)
        root = None if weights is None else array_like(np.sqrt(weights), like)
        if root is not None:
            columns = columns * root[:, None]
        work = _Products(design, columns, root, self.middle)
        tasks = spans(design.shape[0], _task_rows(design))
        for matrix, right in in_order(work, tasks, parallel=is_numpy(like)):
            self.matrix += matrix
            self.right += right
        scaled = columns if root is None else columns * root[:, None]
        self.totals += xp.sum(astype(scaled, double(like)), axis=0)

    def factored(
        self, penalty: Array, ridge: float, *, intercept: bool
    ) -> Callable[[Array], Array]:
        """v -> (Z'WZ + ridge P + e I)^-1 v, with the least e that rounding needs.

        With an intercept, Z is centred.

        Rounding of the tiles moves the matrix by some eps tr / 5 sqrt(m) (measured, for both
        precisions): about that is added to its diagonal, and more where that does not make it positive
        definite. Of rows that are all alike the products are about 0 without the middle: what the
        sums in float64 lose is the least.
        """
        xp = namespace(self.matrix)
        matrix = self._centred() if intercept else self._uncentred()
        matrix += ridge * penalty
        tiles_trace, trace = (scalar(xp.sum(xp.linalg.diagonal(a))) for a in (self.matrix, matrix))
        noise = max(self.precision * tiles_trace, _MIN_SUM_NOISE * eps(matrix) * trace)
        shift = _NOISE_FACTOR * noise / int(penalty.shape[0]) ** 0.5
        for power in range(_MAX_DOUBLINGS):
            regularized = xp.asarray(matrix, copy=True)
            add_to_diagonal(regularized, shift * 2.0**power)
            solve = factored(regularized)
            if solve is not None:
                return solve
        raise ValueError(
            "the normal equations are not positive definite: use a larger ridge, or a kernel that "
            "is positive definite"
        )

    def right_side(self, *, intercept: bool) -> Array:
        """Z'Wy; with an intercept, of centred Z and y: (m, q)."""
        if intercept:
            return self.right[:, :-1] - self.right[:, -1:] * (self.totals[:-1] / self.totals[-1])
        middle, shift = (astype(row, self.matrix.dtype) for row in (self.middle, self.shift))
        ends = self.right + middle[:, None] * self.totals[None, :]  # Z'W(y - 1 shift', 1)
        return ends[:, :-1] + ends[:, -1:] * shift[None, :]

    def means(self) -> Means:
        """The weighted means of the rows of Z and of y."""
        middle, shift = (astype(row, self.matrix.dtype) for row in (self.middle, self.shift))
        total = self.totals[-1]
        return Means(middle + self.right[:, -1] / total, shift + self.totals[:-1] / total)

    def _centred(self) -> Array:
        """Z'WZ of Z less the weighted mean of its rows."""
        sums = self.right[:, -1]
        return self.matrix - sums[:, None] * (sums / self.totals[-1])[None, :]

    def _uncentred(self) -> Array:
        """Z'WZ, the middle added again."""
        middle = astype(self.middle, self.matrix.dtype)
        total, sums = self.totals[-1], self.right[:, -1]
        matrix = middle[:, None] * (sums + total * middle)[None, :]
        matrix += sums[:, None] * middle[None, :]
        matrix += self.matrix
        return matrix


@dataclass(frozen=True, eq=False)
class Means:
    """Weighted means of the rows of Z (m,) and of y (q,), in float64."""

    rows: Array
    target: Array

    def intercept(self, c: Array) -> Array:
        """b = mean of y - Zc, the best intercept for coefficients (m, q): (q,)."""
        return self.target - self.rows @ c


def swept(design: LazyMatrix, v: Array, change: Change) -> tuple[Array, Array]:
    """Z'r for r = change(Zv), every tile made once, and the sum of what comes with it, in float64.

    `change` takes some rows of Zv (b, k) and which rows they are, and gives (b, q) and numbers (e,).
    """
    if isinstance(design, Gram) and on_gpu(
        design.like
    ):  # fused: a tile made twice is not held once
        r, extra = change(design @ v, slice(0, design.shape[0]))
        return turned_product(design, r), extra
    total: Any = None
    extras: Any = None
    work, tasks = _Sweep(design, v, change), spans(design.shape[0], _task_rows(design))
    for product, extra in in_order(work, tasks, parallel=is_numpy(design.like)):
        total = product if total is None else total + product
        extras = extra if extras is None else extras + extra
    return total, extras


def turned_product(design: LazyMatrix, u: Array) -> Array:
    """Z'u for u (n, q): (m, q) in float64."""
    if isinstance(design, Gram):
        return Gram(design.kernel, design.y, design.x)._times(astype(u, design.like.dtype))
    return Transposed(design)._times(astype(u, design.like.dtype))


@dataclass(frozen=True)
class _Products:
    """rows -> Z'Z and Z'y of these rows, less the middle."""

    design: LazyMatrix
    y: Array
    root: Array | None
    middle: Array

    def __call__(self, rows: slice) -> tuple[Array, Array]:
        m, first = self.design.shape[1], rows.start
        z = zeros((rows.stop - first, m), self.y)
        right = zeros((m, self.y.shape[1]), self.y, double(self.y))
        for span in spans(rows.stop, _tile_rows(self.design), first=first):
            tile = self.design.block(span, slice(0, m))
            tile -= self.middle[None, :]
            if self.root is not None:
                tile *= self.root[span][:, None]
            right += transposed(tile) @ self.y[span, :]
            z[span.start - first : span.stop - first, :] = tile
        return transposed(z) @ z, right  # NumPy makes half of it, and leaves other threads alone


@dataclass(frozen=True)
class _Sweep:
    """rows -> Z'r of these rows and the sum of what comes with it, in float64."""

    design: LazyMatrix
    v: Array
    change: Change

    def __call__(self, rows: slice) -> tuple[Array, Array]:
        m = self.design.shape[1]
        total: Any = None
        extras: Any = None
        for span in spans(rows.stop, _tile_rows(self.design), first=rows.start):
            tile = self.design.block(span, slice(0, m))
            r, extra = self.change(tile @ self.v, span)
            product = transposed(tile) @ astype(r, tile.dtype)
            product = astype(product, double(product))
            total = product if total is None else total + product
            extras = extra if extras is None else extras + extra
        return total, extras


def _tile_rows(design: LazyMatrix) -> int:
    """Rows of a tile: few enough to stay in the cache."""
    return _task_rows(design) if on_gpu(design.like) else _ROWS_PER_TILE


def _task_rows(design: LazyMatrix) -> int:
    """Rows of a task: many enough that adding up its matrix does not count, within the budget.

    There are eight equal ones, or sixteen, and so on: workers end together, and sums are the same
    however many there are.
    """
    row, memory = itemsize(design.like) * design.shape[1], settings().memory
    if on_gpu(design.like):
        return max(memory // 8 // row, 1)
    n = design.shape[0]
    most = min(_ROWS_PER_TASK, max(memory // 64 // row, _ROWS_PER_TILE))
    return max(-(-n // (8 * -(-n // (8 * most)))), _ROWS_PER_TILE)
