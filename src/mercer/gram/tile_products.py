"""Products and quadratic forms of a lazy matrix, one stripe of tiles at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer.backend import Array, astype, double, is_numpy, namespace, to_numpy, zeros
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.device_work import DeviceWork, to_device
from mercer.gram.gaussian_stripes import GaussianLoops, plain, takes
from mercer.gram.resampling_weights import CodedColumns, DenseColumns, WeightColumns
from mercer.gram.threads import (
    for_each,
    rows_of_stripe,
    side,
    spans,
    stripes,
    while_wanted,
    width,
)

Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator]  # work and tasks -> the answers

# BLAS multiplies a tile with four columns in the time of two; with a few more it is much slower.
_COLUMNS_PER_PRODUCT = 4
_MAX_AVERAGED = 64  # rows of a block whose two halves are averaged: 32 KiB, a level-1 cache


class Blocks(Protocol):
    """A matrix known by its dense blocks."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def like(self) -> Array: ...

    @property
    def symmetric(self) -> bool: ...

    @property
    def _movable_pairs(self) -> int: ...

    def _on_device(self, device: str, /) -> Blocks: ...

    @property
    def _loops(self) -> GaussianLoops | None: ...

    def block(self, rows: slice, columns: slice, /) -> Array: ...


@dataclass(frozen=True)
class RowProducts(DeviceWork):
    """rows -> K[rows, :] @ v in float64."""

    matrix: Blocks
    v: Array

    @property
    def movable_pairs(self) -> int:
        """All pairs of points of the matrix."""
        return self.matrix._movable_pairs

    def on_device(self, device: str) -> RowProducts:
        """The same products of a matrix of points on a device."""
        return RowProducts(self.matrix._on_device(device), to_device(self.v, device))

    def __call__(self, rows: slice) -> Array:
        total = _Accumulator((rows.stop - rows.start, self.v.shape[1]), self.v)
        loops, m = self.matrix._loops, self.matrix.shape[1]
        if loops is not None:
            whole, into = slice(0, m), to_numpy(total.value)
            loops.add_products(rows, whole, to_numpy(self.v), into, self.matrix.symmetric)
            return total.value
        for columns in while_wanted(spans(m, width(self.v))):
            total.add(self.matrix.block(rows, columns), self.v[columns, :])
        return total.value


@dataclass(frozen=True)
class SymmetricRowProducts(DeviceWork):
    """i -> contributions of the tiles (i, i), (i, i+1), ... to K v: at rows i, and at the rows below.

    The matrix is symmetric, so each tile beside the diagonal also serves as its transpose.
    """

    matrix: Blocks
    v: Array
    stripes: list[slice]

    @property
    def movable_pairs(self) -> int:
        """All pairs of points of the matrix."""
        return self.matrix._movable_pairs

    def on_device(self, device: str) -> SymmetricRowProducts:
        """The same products of a matrix of points on a device."""
        v = to_device(self.v, device)
        return SymmetricRowProducts(self.matrix._on_device(device), v, self.stripes)

    def __call__(self, i: int) -> tuple[Array, Array]:
        n, xp = self.matrix.shape[0], namespace(self.v)
        rows, loops = self.stripes[i], self.matrix._loops
        at_rows = zeros((rows.stop - rows.start, self.v.shape[1]), self.v, double(self.v))
        below = zeros((n - rows.stop, self.v.shape[1]), self.v, double(self.v))
        if loops is not None:
            v, into = to_numpy(self.v), to_numpy(at_rows)
            loops.add_products(rows, rows, v, into, symmetric=True)
            loops.add_products_of_both(rows, slice(rows.stop, n), v, into, to_numpy(below))
            return at_rows, below
        at_rows += _narrow_product(self.matrix.block(rows, rows), self.v[rows, :])
        for columns in while_wanted(spans(n, width(self.v), first=rows.stop)):
            tile = self.matrix.block(rows, columns)
            at_rows += _narrow_product(tile, self.v[columns, :])
            down = slice(columns.start - rows.stop, columns.stop - rows.stop)
            below[down, :] = _narrow_product(xp.permute_dims(tile, (1, 0)), self.v[rows, :])
            del tile  # before the next one is computed, so that the allocator reuses its pages
        return at_rows, below


@dataclass(frozen=True)
class RowForms(DeviceWork):
    """rows -> their contribution to w'Kw; a symmetric matrix needs tiles on and above the diagonal."""

    matrix: Blocks
    w: WeightColumns

    @property
    def movable_pairs(self) -> int:
        """All pairs of points of the matrix, where the weights can be moved as well."""
        known = isinstance(self.w, CodedColumns | DenseColumns)
        return self.matrix._movable_pairs if known else 0

    def on_device(self, device: str) -> RowForms:
        """The same forms of a matrix of points on a device."""
        matrix = self.matrix._on_device(device)
        if isinstance(self.w, CodedColumns):
            return RowForms(matrix, replace(self.w, like=matrix.like))
        assert isinstance(self.w, DenseColumns)
        return RowForms(matrix, DenseColumns(to_device(self.w.array, device)))

    def __call__(self, rows: slice) -> Array:
        n = self.matrix.shape[0]
        row_weights = self.w.rows(rows)
        total = _Accumulator(row_weights.shape, row_weights)
        beside = [slice(rows.stop, n)]
        if not self.matrix.symmetric:
            beside = [slice(0, rows.start), *beside]
        for columns in beside:
            self._add(total, rows, columns)
        if self.matrix.symmetric:
            total.value *= 2.0
        total.add(self.matrix.block(rows, rows), row_weights)
        return column_sums(row_weights, total.value)

    def _add(self, total: _Accumulator, rows: slice, columns: slice) -> None:
        """Add K[rows, columns] @ w[columns]."""
        loops = self.matrix._loops
        if loops is not None and isinstance(self.w, CodedColumns) and takes(self.w.codes):
            loops.add_coded_products(rows, columns, self.w, to_numpy(total.value))
        elif loops is not None and isinstance(self.w, DenseColumns):
            into = to_numpy(total.value)
            loops.add_products(rows, columns, to_numpy(self.w.array), into, symmetric=False)
        else:
            step = width(total.value)
            for span in while_wanted(spans(columns.stop, step, first=columns.start)):
                total.add(self.matrix.block(rows, span), self.w.rows(span))


@dataclass(frozen=True)
class RowBlocks:
    """rows -> K[rows, :]."""

    matrix: Blocks

    def __call__(self, rows: slice) -> Array:
        tiles = spans(self.matrix.shape[1], side(self.matrix.like))
        blocks = [self.matrix.block(rows, columns) for columns in while_wanted(tiles)]
        return namespace(self.matrix.like).concat(blocks, axis=1)


@dataclass(frozen=True)
class WrittenRows:
    """rows -> None: writes K[rows, :] into the rows of an array, in compiled loops."""

    loops: GaussianLoops
    out: np.ndarray
    symmetric: bool

    def __call__(self, rows: slice) -> None:
        self.loops.write(rows, self.out[rows], self.symmetric)


@dataclass(frozen=True)
class WrittenProducts:
    """rows -> None: adds K[rows, :] @ v to the rows of an array of zeros, in compiled loops."""

    loops: GaussianLoops
    v: np.ndarray
    out: np.ndarray  # float64 (n, k)
    symmetric: bool

    def __call__(self, rows: slice) -> None:
        columns = slice(0, len(self.v))
        self.loops.add_products(rows, columns, self.v, self.out[rows], self.symmetric)


@dataclass(frozen=True)
class FilledRows:
    """i -> writes tiles (i, j) into a NumPy array; a symmetric matrix needs those on and above the diagonal.

    Tasks write into separate places of the array.
    """

    matrix: Blocks
    out: np.ndarray

    def __call__(self, i: int) -> None:
        step, mirrored = side(self.matrix.like), self.matrix.symmetric
        rows = spans(self.matrix.shape[0], step)[i]
        first = rows.start if mirrored else 0
        for columns in while_wanted(spans(self.matrix.shape[1], step, first=first)):
            tile = np.asarray(self.matrix.block(rows, columns))
            if mirrored and columns == rows:
                symmetrize(tile)
            self.out[rows, columns] = tile
            if mirrored and columns != rows:
                self.out[columns, rows] = tile.T


def symmetrize(square: np.ndarray) -> None:
    """Make a matrix that is symmetric up to rounding exactly so, in place."""
    n = len(square)
    if n <= _MAX_AVERAGED:
        square[...] = (square + square.T) / 2
        return
    upper, lower = slice(0, n // 2), slice(n // 2, n)
    square[lower, upper] = square[upper, lower].T
    symmetrize(square[upper, upper])
    symmetrize(square[lower, lower])


def filled(matrix: Blocks, writer: GaussianLoops | None, out: np.ndarray, run: Run) -> np.ndarray:
    """The array with the matrix, written in compiled loops where it has a writer, else by the tasks of `run`."""
    if writer is None:
        tiles = range(len(spans(matrix.shape[0], side(matrix.like))))
        deque(run(FilledRows(matrix, out), tiles), maxlen=0)
    else:
        for_each(WrittenRows(writer, out, matrix.symmetric), stripes(*matrix.shape))
    return out


def write_products(matrix: Blocks, loops: GaussianLoops, v: np.ndarray, out: np.ndarray) -> None:
    """Add K @ v to an array (n, k) of zeros, in compiled loops."""
    n, m = matrix.shape
    for_each(WrittenProducts(loops, v, out, matrix.symmetric), stripes(n, m, v.shape[1]))


def refuse_beyond_budget(n: int, m: int, itemsize: int) -> None:
    """Refuse a dense n x m matrix that does not fit into the memory budget."""
    need, budget = n * m * itemsize, settings().memory
    if need > budget:
        raise MemoryBudgetError(
            f"the dense {n} x {m} matrix takes {need / 2**20:,.0f} MiB and the budget is "
            f"{budget / 2**20:,.0f} MiB: use @, quad or sum, which never hold it, or raise "
            "mercer.config(memory=...)"
        )


def stripe_rows(matrix: Blocks, vectors: int) -> int:
    """Rows of a stripe of tiles in products with so many vectors."""
    return side(matrix.like) if matrix._loops is None else rows_of_stripe(matrix.shape[0], vectors)


def laid_out(matrix: Blocks, v: Array) -> Array:
    """v in the layout that the loops of a matrix need, if it has any."""
    return v if matrix._loops is None else plain(to_numpy(v))


def column_sums(a: Array, b: Array) -> Array:
    """sum_i a_ik b_ik in float64: (k,)."""
    if is_numpy(a, b):
        return np.einsum("ik,ik->k", a, b, dtype=np.float64)
    return namespace(a).sum(astype(a, double(a)) * b, axis=0)


class _Accumulator:
    """A float64 sum of matrix products that reuses one buffer."""

    def __init__(self, shape: tuple[int, ...], like: Array) -> None:
        self.value = zeros(tuple(shape), like, dtype=double(like))
        self._buffer = np.empty(shape, like.dtype) if is_numpy(like) else None

    def add(self, a: Array, b: Array) -> None:
        if self._buffer is None:
            self.value += a @ b
        else:
            self.value += np.matmul(a, b, out=self._buffer)


def _narrow_product(a: Array, b: Array) -> Array:
    """a @ b for a b of few columns, `_COLUMNS_PER_PRODUCT` at a time."""
    if not is_numpy(a, b) or b.shape[1] <= _COLUMNS_PER_PRODUCT:
        return a @ b
    step = _COLUMNS_PER_PRODUCT
    products = [a @ np.ascontiguousarray(b[:, j : j + step]) for j in range(0, b.shape[1], step)]
    return np.concatenate(products, axis=1)
