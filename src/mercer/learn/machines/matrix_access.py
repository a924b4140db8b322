"""Rows of a kernel matrix, as solvers want them: small blocks, and products with few columns.

Nothing here holds the n x n matrix but `Held`, which is for few points or for a matrix that
was made before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mercer.backend import count, is_numpy, take_rows, to_numpy
from mercer.config import settings
from mercer.gram import Gram
from mercer.gram.threads import in_order, spans
from mercer.gram.tiles import tile_maker
from mercer.kernels.base import DotProduct, Kernel, Points
from mercer.kernels.dot import Linear
from mercer.kernels.smooth import radial_form
from mercer.kernels.take import taken
from mercer.learn.machines.precomputed import Looked
from mercer.learn.machines.smo import padded, wider

WHOLE = 2048  # points up to which the matrix is held and solved as one block
_VALUES = 2**18  # kernel values made at a time, which stay in cache
_WIDE = 100  # columns of the points up to which kernel values cost less than memory to keep them
_TASKS = 4  # pieces of work for each thread


class Rows(ABC):
    """A symmetric matrix K (n, n), of which a few rows are wanted at a time."""

    diagonal: np.ndarray  # float64 (n,)

    def __len__(self) -> int:
        return len(self.diagonal)

    @abstractmethod
    def block(self, index: np.ndarray, /) -> np.ndarray:
        """K[index, index], with columns of zeros up to `padded` many."""

    @abstractmethod
    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        """K[:, index] @ weights in float64: (n,)."""

    def onto(self, columns: np.ndarray) -> Rows | None:
        """The same, whose products have these entries only; None where nothing would be saved."""
        return None


class Held(Rows):
    """A matrix in memory: (n, n), or (n, padded(n)) with zeros at the end."""

    def __init__(self, matrix: np.ndarray) -> None:
        n = len(matrix)
        self.matrix = matrix if matrix.shape[1] == padded(n) else wider(matrix)
        self.diagonal = np.diagonal(self.matrix).astype(np.float64)

    def block(self, index: np.ndarray, /) -> np.ndarray:
        if len(index) == len(self):
            return self.matrix
        return wider(self.matrix[np.ix_(index, index)])

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        product = weights.astype(self.matrix.dtype) @ self.matrix[index, : len(self)]
        return product.astype(np.float64)


class Factored(Rows):
    """K = ZZ' with few columns: products go through Z'w, the weights of the primal problem."""

    def __init__(self, z: np.ndarray, onto: np.ndarray | None = None) -> None:
        self._z, self._onto = z, z if onto is None else onto
        self.diagonal = np.einsum("ij,ij->i", z, z, dtype=np.float64)

    def block(self, index: np.ndarray, /) -> np.ndarray:
        z = self._z[index]
        return wider(z @ z.T)

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        primal = weights @ self._z[index].astype(np.float64)
        return (self._onto @ primal.astype(self._z.dtype)).astype(np.float64)

    def onto(self, columns: np.ndarray) -> Rows:
        return Factored(self._z, self._z[columns])


class Streamed(Rows):
    """Kernel values made when they are wanted, tile by tile on all cores, and not kept."""

    def __init__(self, kernel: Kernel, x: np.ndarray, onto: np.ndarray | None = None) -> None:
        self._kernel, self._x = kernel, x
        self._columns = count(x) if onto is None else count(onto)
        self._tile: Any = tile_maker(kernel, x, x if onto is None else onto)
        self._square: Any = self._tile if onto is None else tile_maker(kernel, x, x)
        self.diagonal = np.asarray(kernel.diag(x), dtype=np.float64)

    def block(self, index: np.ndarray, /) -> np.ndarray:
        out = wider(self._square(index, index))
        np.fill_diagonal(out, self.diagonal[index])
        return out

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        tasks = spans(self._columns, -(-self._columns // (_TASKS * settings().workers)))
        work = _Product(self._tile, index, weights)
        return np.concatenate(list(in_order(work, tasks, parallel=True, shown=False)))

    def onto(self, columns: np.ndarray) -> Rows:
        return Streamed(self._kernel, self._x, self._x[columns])


class _Product:
    """columns -> K[columns, index] @ weights, a tile at a time."""

    def __init__(self, tile: Any, index: np.ndarray, weights: np.ndarray) -> None:
        self._tile, self._index, self._weights = tile, index, weights

    def __call__(self, columns: slice) -> np.ndarray:
        total = np.zeros(columns.stop - columns.start, dtype=np.float64)
        for rows in spans(len(self._index), 1024):
            index, weights = self._index[rows], self._weights[rows]
            step = max(_VALUES // len(index), 32)
            for part in spans(columns.stop, step, first=columns.start):
                tile = self._tile(index, part)
                there = slice(part.start - columns.start, part.stop - columns.start)
                total[there] += weights.astype(tile.dtype) @ tile
        return total


class Cached(Rows):
    """Rows of kernels that cost much, made once and kept as long as the budget has room for them."""

    def __init__(self, kernel: Kernel, x: Points, capacity: int) -> None:
        self._kernel, self._x = kernel, x
        n = count(x)
        self.diagonal = to_numpy(kernel.diag(x)).astype(np.float64)
        like = to_numpy(kernel.diag(take_rows(x, slice(0, 1))))
        self._store = np.empty((min(capacity, n), n), dtype=like.dtype)
        self._slot = np.full(n, -1)  # where the row of a point is, if it is kept
        self._owner = np.full(len(self._store), -1)  # whose row a slot has
        self._used = np.zeros(len(self._store), dtype=np.int64)
        self._clock = 0

    def block(self, index: np.ndarray, /) -> np.ndarray:
        values = [self._rows(index[part])[:, index] for part in self._parts(index)]
        return wider(np.concatenate(values))

    def times(self, index: np.ndarray, weights: np.ndarray, /) -> np.ndarray:
        total = np.zeros(len(self), dtype=np.float64)
        for part in self._parts(index):
            total += weights[part].astype(self._store.dtype) @ self._rows(index[part])
        return total

    def _parts(self, index: np.ndarray) -> list[slice]:
        return spans(len(index), len(self._store))

    def _rows(self, index: np.ndarray) -> np.ndarray:
        """K[index, :]; what was used longest ago makes room."""
        self._clock += 1
        have = self._slot[index]
        self._used[have[have >= 0]] = self._clock
        missing = index[have < 0]
        if len(missing):
            slots = np.argsort(self._used, kind="stable")[: len(missing)]
            gone = self._owner[slots]
            self._slot[gone[gone >= 0]] = -1
            self._slot[missing], self._owner[slots] = slots, missing
            self._used[slots] = self._clock
            work = _Stripe(self._kernel, taken(self._x, missing), self._x)
            tasks = spans(len(self), max(_VALUES // len(missing), 64))
            numpy = is_numpy(self._x)
            for part, values in zip(
                tasks, in_order(work, tasks, parallel=numpy, shown=False), strict=True
            ):
                self._store[slots, part] = values
        return self._store[self._slot[index]]


class _Stripe:
    """columns -> k(rows, x[columns])."""

    def __init__(self, kernel: Kernel, rows: Points, x: Points) -> None:
        self._kernel, self._rows, self._x = kernel, rows, x

    def __call__(self, columns: slice) -> np.ndarray:
        return to_numpy(self._kernel.pairwise(self._rows, take_rows(self._x, columns)))


def rows_of(kernel: Kernel, x: Points) -> Rows:
    """The cheapest way to the rows of the matrix of a kernel on checked points."""
    n = count(x)
    if isinstance(kernel, Linear) and is_numpy(x) and x.shape[1] < n:
        return Factored(kernel.embed(x))
    room = settings().memory // 8
    cheap = _cheap(kernel, x)
    if isinstance(kernel, Looked):  # made before
        return Held(kernel.pairwise(x, x))
    if n <= WHOLE and 8 * n * n <= room:
        return Held(to_numpy(Gram(kernel, x).dense()))
    return Streamed(kernel, x) if cheap else Cached(kernel, x, max(room // (8 * n), 1))


def _cheap(kernel: Kernel, x: Points) -> bool:
    """Whether values are made by matrix products, faster than memory gives them back."""
    if not is_numpy(x) or x.dtype.kind != "f" or x.ndim != 2 or x.shape[1] > _WIDE:
        return False
    return isinstance(kernel, DotProduct) or radial_form(kernel) is not None
