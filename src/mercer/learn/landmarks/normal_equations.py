"""Normal equations of a tall matrix, known by its tiles: Z'WZ and Z'Wy in one pass, in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
from mercer.gram.threads import TILE, in_order, spans

Change = Callable[[Array, slice], tuple[Array, Array]]

# Rows in one matrix product: enough that adding up the (m, m) products of tasks takes little time.
_MAX_ROWS_PER_TASK = 9 * TILE
# Measured perturbation by the rounding of tiles, in eps tr / sqrt(m): see `factored`.
_NOISE_FACTOR = 0.15
# Least noise, in eps of float64 times the trace: where all rows are equal, something has to be added too.
_MIN_SUM_NOISE = 1e-5
_MAX_DOUBLINGS = 40  # of the amount added to the diagonal, before giving up


@dataclass
class NormalSums:
    """Z'WZ (m, m) and Z'Wy (m, q), summed over the rows that were added so far, in float64.

    A row `center`, near the mean of the rows, is subtracted from Z and a `shift`, near the mean, from y
    before the products; both are added again at the end. This makes the sums, and with them the rounding
    errors of float32 tiles, smaller. Sums are in float64; otherwise rounding makes the matrix indefinite.

    With an intercept the normal equations are those of Z and y less their weighted means: the same
    sums, corrected by a matrix of rank one.
    """

    matrix: Array  # (Z - 1 center')'W(Z - 1 center')
    right: Array  # (Z - 1 center')'W(y - 1 shift', 1)
    totals: Array  # sums of W(y - 1 shift', 1)
    center: Array
    shift: Array
    precision: float  # the eps of the tiles

    @classmethod
    def empty(cls, center: Array, shift: Array, like: Array) -> NormalSums:
        """Sums over no rows; `like` has the dtype and device of the tiles to come."""
        m, outputs, work = int(center.shape[0]), int(shift.shape[0]), double(like)
        shapes = (m, m), (m, outputs + 1), (outputs + 1,)
        sums = (zeros(shape, like, work) for shape in shapes)
        center, shift = (astype(row, like.dtype) for row in (center, shift))
        return cls(*sums, center=center, shift=shift, precision=eps(like))

    def without_rows(self) -> NormalSums:
        """Sums over no rows, with the same center and shift."""
        zeros_like = namespace(self.matrix).zeros_like
        return replace(
            self,
            matrix=zeros_like(self.matrix),
            right=zeros_like(self.right),
            totals=zeros_like(self.totals),
        )

    def merge(self, other: NormalSums) -> None:
        """Add the rows of sums with the same center and shift."""
        self.matrix += other.matrix
        self.right += other.right
        self.totals += other.totals

    def add(self, design: LazyMatrix, y: Array, weights: np.ndarray | None = None) -> None:
        """Add the rows of Z, with targets (n, q) and weights (n,)."""
        xp, like = namespace(design.like), design.like
        shifted = astype(y, like.dtype) - self.shift[None, :]
        columns = xp.concat([shifted, ones((int(y.shape[0]), 1), like)], axis=1)
        root = None if weights is None else array_like(np.sqrt(weights), like)
        if root is not None:
            columns = columns * root[:, None]
        work = _Products(design, columns, root, self.center)
        tasks = spans(design.shape[0], _task_rows(design))
        for matrix, right in in_order(work, tasks, parallel=is_numpy(like)):
            self.matrix += matrix
            self.right += right
        scaled = columns if root is None else columns * root[:, None]
        self.totals += xp.sum(astype(scaled, double(like)), axis=0)

    def factored(
        self, penalty: Array, ridge: float, *, intercept: bool
    ) -> Callable[[Array], Array]:
        """v -> (Z'WZ + ridge P + e I)^-1 v, with the smallest e that rounding requires.

        With an intercept, Z is centred.

        Rounding of the tiles perturbs the matrix by about 0.15 eps tr / sqrt(m) (measured, for both
        precisions), with the trace tr of the sums: e is that, doubled until the matrix is positive
        definite. Where all rows are nearly equal the sums are nearly 0, so e has a lower bound too,
        relative to the trace of the matrix itself.
        """
        matrix = self._centred() if intercept else self._uncentred()
        matrix += ridge * penalty
        noise = self.precision * _trace(self.matrix)
        return factored_with_noise(
            matrix, max(noise, _MIN_SUM_NOISE * eps(matrix) * _trace(matrix))
        )

    def right_side(self, *, intercept: bool) -> Array:
        """Z'Wy; with an intercept, of centred Z and y: (m, q)."""
        if intercept:
            return self.right[:, :-1] - self.right[:, -1:] * (self.totals[:-1] / self.totals[-1])
        center, shift = (astype(row, self.matrix.dtype) for row in (self.center, self.shift))
        ends = self.right + center[:, None] * self.totals[None, :]  # Z'W(y - 1 shift', 1)
        return ends[:, :-1] + ends[:, -1:] * shift[None, :]

    def means(self) -> Means:
        """The weighted means of the rows of Z and of y."""
        center, shift = (astype(row, self.matrix.dtype) for row in (self.center, self.shift))
        total = self.totals[-1]
        return Means(center + self.right[:, -1] / total, shift + self.totals[:-1] / total)

    def _centred(self) -> Array:
        """Z'WZ of Z less the weighted mean of its rows."""
        sums = self.right[:, -1]
        return self.matrix - sums[:, None] * (sums / self.totals[-1])[None, :]

    def _uncentred(self) -> Array:
        """Z'WZ, with the center added again."""
        center = astype(self.center, self.matrix.dtype)
        total, sums = self.totals[-1], self.right[:, -1]
        matrix = center[:, None] * (sums + total * center)[None, :]
        matrix += sums[:, None] * center[None, :]
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


def factored_with_noise(matrix: Array, noise: float) -> Callable[[Array], Array]:
    """v -> (A + e I)^-1 v for normal equations A, with the smallest e that rounding by about `noise` requires."""
    xp = namespace(matrix)
    shift = _NOISE_FACTOR * noise / int(matrix.shape[0]) ** 0.5
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


def _trace(matrix: Array) -> float:
    xp = namespace(matrix)
    return scalar(xp.sum(xp.linalg.diagonal(matrix)))


def transposed_times_changed(design: LazyMatrix, v: Array, change: Change) -> tuple[Array, Array]:
    """Z'r for r = change(Zv) in one pass over the tiles, and the sum of extra numbers, in float64.

    `change` maps rows of Zv (b, k) and their slice to rows of r (b, q) and the extra numbers (e,).
    """
    # On a GPU the fused kernels compute every tile twice and never store it.
    if isinstance(design, Gram) and on_gpu(design.like):
        r, extra = change(design @ v, slice(0, design.shape[0]))
        return transposed_product(design, r), extra
    total: Any = None
    extras: Any = None
    work, tasks = _Sweep(design, v, change), spans(design.shape[0], _task_rows(design))
    for product, extra in in_order(work, tasks, parallel=is_numpy(design.like)):
        total = product if total is None else total + product
        extras = extra if extras is None else extras + extra
    return total, extras


def weighted_products(
    design: LazyMatrix, outer: Array | None, v: Array, weigh: Callable[[Array, slice], Array]
) -> list[Array]:
    """(ZM 1)'D_j(ZM 1) for every column j of D = weigh(Zv), in one pass over the tiles, in float64.

    M is `outer` (m, r), or 1 if there is none. `weigh` maps rows of Zv (b, k) and their slice to weights (b, k), which
    are not negative; rows of weight 0 cost no products.
    """
    work = _WeightedProducts(design, outer, v, weigh)
    tasks = spans(design.shape[0], _task_rows(design))
    width = design.shape[1] if outer is None else int(outer.shape[1])
    held = 8 * int(v.shape[1]) * (width + 1) ** 2
    total: list[Array] = []
    for products in in_order(work, tasks, parallel=is_numpy(design.like), held=held):
        if not total:
            total = products
            continue
        for sums, here in zip(total, products, strict=True):
            sums += here
    return total


def transposed_product(design: LazyMatrix, u: Array) -> Array:
    """Z'u for u (n, q): (m, q) in float64."""
    if isinstance(design, Gram):
        return Gram(design.kernel, design.y, design.x)._times(astype(u, design.like.dtype))
    return Transposed(design)._times(astype(u, design.like.dtype))


@dataclass(frozen=True)
class _Products:
    """rows -> Z'Z and Z'y of these rows, with the center subtracted from Z."""

    design: LazyMatrix
    y: Array
    root: Array | None
    center: Array

    def __call__(self, rows: slice) -> tuple[Array, Array]:
        m, first = self.design.shape[1], rows.start
        z = zeros((rows.stop - first, m), self.y)
        right = zeros((m, self.y.shape[1]), self.y, double(self.y))
        for span in spans(rows.stop, _tile_rows(self.design), first=first):
            tile = self.design.block(span, slice(0, m))
            tile -= self.center[None, :]
            if self.root is not None:
                tile *= self.root[span][:, None]
            right += transposed(tile) @ self.y[span, :]
            z[span.start - first : span.stop - first, :] = tile
        return transposed(z) @ z, right  # NumPy computes one triangle of z'z and copies it


@dataclass(frozen=True)
class _WeightedProducts:
    """rows -> (ZM 1)'D_j(ZM 1) of these rows for every j."""

    design: LazyMatrix
    outer: Array | None
    v: Array
    weigh: Callable[[Array, slice], Array]

    def __call__(self, rows: slice) -> list[Array]:
        m, first, like = self.design.shape[1], rows.start, self.design.like
        z = zeros((rows.stop - first, m), like)
        for span in spans(rows.stop, _tile_rows(self.design), first=first):
            z[span.start - first : span.stop - first, :] = self.design.block(span, slice(0, m))
        weights = self.weigh(z @ self.v, rows)
        xp = namespace(weights)
        z, weights = _rows_where(z, weights, xp.any(weights > 0, axis=1))
        z = z if self.outer is None else z @ self.outer
        z = xp.concat([z, ones((int(z.shape[0]), 1), z)], axis=1)
        return [self._product(z, weights[:, j]) for j in range(int(weights.shape[1]))]

    @staticmethod
    def _product(z: Array, weights: Array) -> Array:
        part, weights = _rows_where(z, weights, weights > 0)
        part = part * astype(weights**0.5, z.dtype)[:, None]
        product = transposed(part) @ part  # NumPy computes one triangle and copies it
        return astype(product, double(product))


def _rows_where(z: Array, weights: Array, wanted: Array) -> tuple[Array, Array]:
    xp = namespace(z)
    (at,) = xp.nonzero(wanted)
    if int(at.shape[0]) == int(z.shape[0]):
        return z, weights
    return xp.take(z, at, axis=0), xp.take(weights, at, axis=0)


@dataclass(frozen=True)
class _Sweep:
    """rows -> Z'r of these rows and the sum of the extra numbers, in float64."""

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
    return _task_rows(design) if on_gpu(design.like) else TILE


def _task_rows(design: LazyMatrix) -> int:
    """Rows of a task: enough that adding its (m, m) product costs little, within the memory budget.

    On the host the number of tasks is a multiple of eight, unless that would make them shorter than
    a tile: of equal size, they let workers finish together. It does not depend on the number of
    workers, so neither do the sums.
    """
    row, memory = itemsize(design.like) * design.shape[1], settings().memory
    if on_gpu(design.like):
        return max(memory // 8 // row, 1)
    n = design.shape[0]
    limit = min(_MAX_ROWS_PER_TASK, max(memory // 64 // row, TILE))
    return max(-(-n // (8 * -(-n // (8 * limit)))), TILE)
