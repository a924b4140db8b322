"""Rows of a kernel matrix as the solvers of support vector machines need them: blocks and products.

Only `DenseKernelRows` holds the n x n matrix; it is for few points and for matrices that were computed before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.backend import (
    array_like,
    astype,
    count,
    double,
    is_numpy,
    on_accelerator,
    take_rows,
    to_numpy,
    zeros,
)
from mercer.config import settings
from mercer.gram import Gram
from mercer.gram.fast_exp import compiled_exp
from mercer.gram.gaussian_stripes import GaussianLoops
from mercer.gram.gaussian_tiles import AugmentedProduct, GaussianTiles
from mercer.gram.threads import for_each, in_order, rows_of_stripe, spans, stripes
from mercer.gram.tile_products import WrittenProducts, WrittenRows
from mercer.gram.tiles import tile_maker
from mercer.kernels.base import DotProduct, Kernel, Points
from mercer.kernels.dot import Linear
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.smooth import radial_form
from mercer.kernels.take import taken
from mercer.learn.machines.row_store import RowSource, RowStore, padded, padded_block
from mercer.learn.machines.smo_compiled import is_quickly_compiled
from mercer.linalg import one_blas_thread

MAX_DENSE_POINTS = 2048  # 32 MiB in float64; up to here a problem is solved as one block
_MAX_POINTS_OF_A_PLAIN_CALL = 100  # up to here preparing tiles costs more than they save
_MAX_POINTS_AT_ONCE = 512  # up to here all rows are computed together, beyond as they are needed
_VALUES_PER_TILE = 2**18  # 2 MiB in float64, which stay in cache
_MAX_CHEAP_COLUMNS = 100  # beyond, computing a kernel value costs more than reading it from memory
_ROWS_PER_STRIP = 256  # of a symmetric matrix, of which the columns up to the diagonal are computed
_VALUES_PER_DEVICE_TILE = 2**25  # 256 MiB in float64; a few arrays of that size are in use at once


class KernelRows(ABC):
    """Symmetric matrix K (n, n), of which a few rows are needed at a time."""

    diagonal: np.ndarray  # float64 (n,)

    def __len__(self) -> int:
        return len(self.diagonal)

    @abstractmethod
    def block(self, index: np.ndarray, /) -> np.ndarray:
        """K[index, index], with columns of zeros up to `padded` many."""

    @abstractmethod
    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        """K[:, index] @ weights in float64: (n,)."""

    def store(self) -> RowStore:
        """Rows in memory, for the solution as one block."""
        return RowStore.full(self.block(np.arange(len(self))))

    def onto(self, columns: np.ndarray) -> KernelRows | None:
        """The matrix whose products have these entries only; None where that would save nothing."""
        return None


class DenseKernelRows(KernelRows):
    """Matrix in memory: (n, n), or (n, padded(n)) with zeros at the end."""

    def __init__(self, matrix: np.ndarray) -> None:
        n = len(matrix)
        self.matrix = matrix if matrix.shape[1] == padded(n) else padded_block(matrix)
        self.diagonal = np.diagonal(self.matrix).astype(np.float64)

    def block(self, index: np.ndarray, /) -> np.ndarray:
        return padded_block(self.matrix[np.ix_(index, index)])

    def store(self) -> RowStore:
        return RowStore.full(self.matrix)

    def part(self, index: np.ndarray) -> SubmatrixRows:
        """The submatrix at some positions."""
        return SubmatrixRows(self, index)

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        product = weights.astype(self.matrix.dtype) @ self.matrix[index, : len(self)]
        return product.astype(np.float64)


class SubmatrixRows(KernelRows):
    """Part of a matrix in memory, of which rows are copied as they are needed."""

    def __init__(self, whole: DenseKernelRows, places: np.ndarray) -> None:
        self._whole, self._places = whole, places
        self.diagonal = whole.diagonal[places]

    def block(self, index: np.ndarray, /) -> np.ndarray:
        return self._whole.block(self._places[index])

    def store(self) -> RowStore:
        return RowStore.of_submatrix(self._whole.matrix, self._places)

    def part(self, index: np.ndarray) -> SubmatrixRows:
        """The submatrix at some positions of this one."""
        return SubmatrixRows(self._whole, self._places[index])

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        return self._whole.times(self._places[index], weights)[self._places]


class LowRankRows(KernelRows):
    """K = ZZ' with few columns: products go through Z'w, the weights of the primal problem."""

    def __init__(self, z: np.ndarray, onto: np.ndarray | None = None) -> None:
        self._z, self._onto = z, z if onto is None else onto
        self.diagonal = np.einsum("ij,ij->i", z, z, dtype=np.float64)

    def block(self, index: np.ndarray, /) -> np.ndarray:
        z = self._z[index]
        return padded_block(z @ z.T)

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        primal = weights @ self._z[index].astype(np.float64)
        return (self._onto @ primal.astype(self._z.dtype)).astype(np.float64)

    def onto(self, columns: np.ndarray) -> KernelRows:
        return LowRankRows(self._z, self._z[columns])


class TiledRows(KernelRows):
    """Kernel values computed on demand, tile by tile on all cores, and not stored."""

    def __init__(self, kernel: Kernel, x: np.ndarray, onto: np.ndarray | None = None) -> None:
        self._kernel, self._x = kernel, x
        self._columns = count(x) if onto is None else count(onto)
        self._tile: Any = _tiles(kernel, x, x if onto is None else onto)
        self._square: Any = self._tile if onto is None else _tiles(kernel, x, x)
        self.diagonal = np.asarray(kernel.diag(x), dtype=np.float64)

    def block(self, index: np.ndarray, /) -> np.ndarray:
        loops = _loops(self._square)
        if loops is None:
            with one_blas_thread():
                block = padded_block(self._square(index, index))
        else:
            block = _gaussian_block(loops.at(index))
        np.fill_diagonal(block, self.diagonal[index])
        return block

    def store(self) -> RowStore:
        n = len(self)
        if n <= _MAX_POINTS_AT_ONCE:
            block = padded_block(self._square(slice(0, n), slice(0, n)))
            np.fill_diagonal(block, self.diagonal)
            return RowStore.full(block)
        return RowStore(n, self._whole_rows, self._x.dtype, self._gaussian())

    def _gaussian(self) -> RowSource | None:
        """Factors of the exponent of a Gaussian kernel; None for others, and where rows are float64 of float32."""
        exponents = getattr(self._square, "exponents", None)
        if (
            not isinstance(exponents, AugmentedProduct)
            or exponents.row_factor.dtype != self._x.dtype
        ):
            return None
        return RowSource.gaussian(exponents.row_factor, exponents.column_factor)

    def dense(self) -> DenseKernelRows:
        """The whole matrix, strip by strip, each up to the diagonal."""
        n = len(self)
        matrix = np.zeros((n, padded(n)), dtype=self._x.dtype)
        for rows in spans(n, _ROWS_PER_STRIP):
            strip = self._square(rows, slice(0, rows.stop))
            matrix[rows, : rows.stop] = strip
            matrix[: rows.start, rows] = strip[:, : rows.start].T
        np.fill_diagonal(matrix, self.diagonal)
        return DenseKernelRows(matrix)

    def _whole_rows(self, index: np.ndarray) -> np.ndarray:
        rows = self._square(index, slice(0, len(self)))
        rows[np.arange(len(index)), index] = self.diagonal[index]
        return rows

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        loops = _loops(self._tile)
        if loops is None:
            work = _TiledProduct(self._tile, index, weights)
            tasks = spans(self._columns, rows_of_stripe(self._columns))
            return np.concatenate(list(in_order(work, tasks, parallel=True, shown=False)))
        column, product = weights.astype(self._x.dtype)[:, None], np.zeros((self._columns, 1))
        across = loops.transposed.at_columns(index)
        for_each(
            WrittenProducts(across, column, product, False), stripes(self._columns, len(index))
        )
        return product[:, 0]

    def onto(self, columns: np.ndarray) -> KernelRows:
        return TiledRows(self._kernel, self._x, self._x[columns])


def _tiles(kernel: Kernel, x: np.ndarray, y: np.ndarray) -> Any:
    """Tiles of a cheap kernel, with the exponential in machine code where the solver has its loop there."""
    tile = tile_maker(kernel, x, y)
    if isinstance(tile, GaussianTiles) and is_quickly_compiled():
        return replace(tile, exp=compiled_exp)
    return tile


class _TiledProduct:
    """columns -> K[columns, index] @ weights, a tile at a time."""

    def __init__(self, tile: Any, index: np.ndarray, weights: np.ndarray) -> None:
        self._tile, self._index, self._weights = tile, index, weights

    def __call__(self, columns: slice) -> np.ndarray:
        total = np.zeros(columns.stop - columns.start, dtype=np.float64)
        for rows in spans(len(self._index), 1024):
            index, weights = self._index[rows], self._weights[rows]
            width = max(_VALUES_PER_TILE // len(index), 32)
            for span in spans(columns.stop, width, first=columns.start):
                tile = self._tile(index, span)
                target = slice(span.start - columns.start, span.stop - columns.start)
                total[target] += weights.astype(tile.dtype) @ tile
        return total


def _loops(tile: Any) -> GaussianLoops | None:
    """Compiled loops over tiles of a Gaussian kernel; None where there are none."""
    return tile.loops if isinstance(tile, GaussianTiles) else None


def _gaussian_block(loops: GaussianLoops) -> np.ndarray:
    """The matrix of Gaussian loops with columns of zeros up to `padded` many, its rows written on all threads."""
    n, m = len(loops.left), loops.right.shape[1]
    block = np.empty((n, padded(m)), loops.left.dtype)
    block[:, m:] = 0
    for_each(WrittenRows(loops, block, False), stripes(n, m))
    return block


class DeviceRows(KernelRows):
    """Kernel values of tensors on a GPU, computed there on demand; only blocks and sums come to the host."""

    def __init__(self, kernel: Kernel, x: Any, onto: Any = None) -> None:
        self._kernel, self._x, self._onto = kernel, x, x if onto is None else onto
        self.diagonal = to_numpy(kernel.diag(x)).astype(np.float64)

    def block(self, index: np.ndarray, /) -> np.ndarray:
        points = taken(self._x, index)
        block = padded_block(to_numpy(self._kernel.pairwise(points, points)))
        np.fill_diagonal(block, self.diagonal[index])
        return block

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        points, n = taken(self._x, index), count(self._onto)
        total = zeros((n,), self._onto, double(self._onto))
        for rows in spans(len(index), MAX_DENSE_POINTS):
            w = array_like(weights[rows], points)
            for span in spans(n, max(_VALUES_PER_DEVICE_TILE // len(w), 1)):
                tile = self._kernel.pairwise(self._onto[span, ...], points[rows, ...])
                total[span] += astype(tile @ array_like(w, tile), total.dtype)
        return to_numpy(total)

    def onto(self, columns: np.ndarray) -> KernelRows:
        return DeviceRows(self._kernel, self._x, taken(self._x, columns))


class CachedRows(KernelRows):
    """Rows of an expensive kernel, in a least-recently-used cache of fixed capacity."""

    def __init__(self, kernel: Kernel, x: Points, capacity: int) -> None:
        self._kernel, self._x = kernel, x
        n = count(x)
        self.diagonal = to_numpy(kernel.diag(x)).astype(np.float64)
        like = to_numpy(kernel.diag(take_rows(x, slice(0, 1))))
        self._store = np.empty((min(capacity, n), n), dtype=like.dtype)
        self._slot = np.full(n, -1)  # where the row of a point is stored, -1 where it is not
        self._owner = np.full(len(self._store), -1)  # whose row a slot stores
        self._used = np.zeros(len(self._store), dtype=np.int64)
        self._clock = 0

    def block(self, index: np.ndarray, /) -> np.ndarray:
        values = [self._rows(index[span])[:, index] for span in self._spans(index)]
        return padded_block(np.concatenate(values))

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        total = np.zeros(len(self), dtype=np.float64)
        for span in self._spans(index):
            total += weights[span].astype(self._store.dtype) @ self._rows(index[span])
        return total

    def _spans(self, index: np.ndarray) -> list[slice]:
        return spans(len(index), len(self._store))

    def _rows(self, index: np.ndarray) -> np.ndarray:
        """K[index, :]; rows that are not cached replace those used longest ago."""
        self._clock += 1
        slots = self._slot[index]
        self._used[slots[slots >= 0]] = self._clock
        missing = index[slots < 0]
        if len(missing):
            self._compute(missing)
        return self._store[self._slot[index]]

    def _compute(self, missing: np.ndarray) -> None:
        """Compute rows and store them in the slots used longest ago."""
        slots = np.argsort(self._used, kind="stable")[: len(missing)]
        evicted = self._owner[slots]
        self._slot[evicted[evicted >= 0]] = -1
        self._slot[missing], self._owner[slots] = slots, missing
        self._used[slots] = self._clock
        work = _KernelColumns(self._kernel, taken(self._x, missing), self._x)
        tasks = spans(len(self), max(_VALUES_PER_TILE // len(missing), 64))
        blocks = in_order(work, tasks, parallel=is_numpy(self._x), shown=False)
        for span, block in zip(tasks, blocks, strict=True):
            self._store[slots, span] = block


class _KernelColumns:
    """columns -> k(rows, x[columns]). A class, which executors of other processes can pickle."""

    def __init__(self, kernel: Kernel, rows: Points, x: Points) -> None:
        self._kernel, self._rows, self._x = kernel, rows, x

    def __call__(self, columns: slice) -> np.ndarray:
        return to_numpy(self._kernel.pairwise(self._rows, take_rows(self._x, columns)))


def kernel_rows(kernel: Kernel, x: Points) -> KernelRows:
    """The cheapest access to the matrix of a kernel on checked points."""
    n = count(x)
    if isinstance(kernel, Linear) and is_numpy(x) and x.shape[1] < n:
        return LowRankRows(kernel.embed(x))
    rows = _cheap_rows(kernel, x)
    if rows is not None:
        return rows
    budget = settings().memory // 8
    if n <= MAX_DENSE_POINTS and 8 * n * n <= budget:
        return DenseKernelRows(to_numpy(Gram(kernel, x).dense()))
    if on_accelerator(x):
        return DeviceRows(kernel, x)
    return CachedRows(kernel, x, max(budget // (8 * n), 1))


def dense_rows(kernel: Kernel, x: Points) -> DenseKernelRows:
    """The matrix of a kernel on checked points, in memory."""
    rows = _cheap_rows(kernel, x)
    if rows is None:
        return DenseKernelRows(to_numpy(Gram(kernel, x).dense()))
    return rows.dense() if isinstance(rows, TiledRows) else rows


def _cheap_rows(kernel: Kernel, x: Points) -> DenseKernelRows | TiledRows | None:
    """A matrix that was computed before, or of few points, or tiles of a cheap kernel; else None."""
    if isinstance(kernel, Precomputed):
        return DenseKernelRows(to_numpy(kernel.pairwise(x, x)))
    if count(x) <= _MAX_POINTS_OF_A_PLAIN_CALL and is_numpy(x):
        return _plain_matrix(kernel, x)
    return TiledRows(kernel, to_numpy(x)) if _is_cheap(kernel, x) else None


def _plain_matrix(kernel: Kernel, x: np.ndarray) -> DenseKernelRows:
    """The dense matrix of few points, by the formula of the kernel."""
    n = len(x)
    matrix = np.zeros((n, padded(n)), dtype=x.dtype if x.dtype.kind == "f" else np.float64)
    matrix[:, :n] = kernel.pairwise(x, x)
    np.fill_diagonal(matrix, kernel.diag(x))
    return DenseKernelRows(matrix)


def _is_cheap(kernel: Kernel, x: Points) -> bool:
    """Whether matrix products give the values, faster than memory would give them back."""
    if not is_numpy(x) or x.dtype.kind != "f" or x.ndim != 2 or x.shape[1] > _MAX_CHEAP_COLUMNS:
        return False
    return isinstance(kernel, DotProduct) or radial_form(kernel) is not None
