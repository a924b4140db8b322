"""Rows of a kernel matrix in memory, computed when sequential minimal optimization first needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.learn.machines.smo_compiled import LANES, UNROLLED

_FIRST_BATCH = 4  # rows computed at the first miss; each later batch has twice as many, up to
_MAX_BATCH = 32  # so many: larger batches have more rows that no step needs
_NOT_STORED = -1  # slot of a row that was not computed yet


def padded(n: int) -> int:
    """n rounded up to a multiple of the lanes of the compiled loop."""
    return -(-n // LANES) * LANES


def padded_block(block: np.ndarray) -> np.ndarray:
    """A square matrix with columns of zeros up to `padded` many."""
    n = len(block)
    if padded(n) == n and block.flags.c_contiguous:
        return block
    result = np.zeros((n, padded(n)), dtype=block.dtype)
    result[:, :n] = block
    return result


@dataclass(frozen=True)
class RowSource:
    """What the compiled loop computes rows from: factors of a Gaussian kernel, or a larger matrix.

    A Gaussian kernel is exp(left @ right), with `left` (n, rank) and `right` (rank, padded(n)); a submatrix
    is left[places][:, places], with `left` of `stride` columns.
    """

    left: np.ndarray
    right: np.ndarray
    rank: int
    places: np.ndarray
    stride: int

    @classmethod
    def none(cls, dtype: Any) -> RowSource:
        """The source of a store whose rows are computed outside of the loop."""
        nothing = np.zeros((1, 1), dtype=dtype)
        return cls(nothing, nothing, 0, np.zeros(1, dtype=np.int64), 0)

    @classmethod
    def gaussian(cls, left: np.ndarray, right: np.ndarray) -> RowSource:
        """Factors (n, rank) and (rank, n), with zeros up to the multiples that the loop needs."""
        n, rank = left.shape
        more = -rank % UNROLLED
        left = np.concatenate([left, np.zeros((n, more), dtype=left.dtype)], axis=1)
        wide = np.zeros((rank + more, padded(n)), dtype=right.dtype)
        wide[:rank, :n] = right
        return cls(left, wide, rank + more, np.zeros(1, dtype=np.int64), 0)

    @classmethod
    def submatrix(cls, matrix: np.ndarray, places: np.ndarray) -> RowSource:
        """The submatrix at some positions of a matrix in C order."""
        return cls(matrix, matrix[:1], 0, places.astype(np.int64), matrix.shape[1])


class RowStore:
    """Rows of a symmetric matrix (n, n); `compute` gives those at some positions: (k, n).

    Memory for all n rows is reserved, but the system provides it only as rows are written.
    """

    def __init__(
        self,
        n: int,
        compute: Callable[[np.ndarray], np.ndarray],
        dtype: Any,
        source: RowSource | None = None,
    ) -> None:
        self.n, self._compute = n, compute
        self.rows = np.empty((n, padded(n)), dtype=dtype)
        self.slots = np.full(padded(n), _NOT_STORED, dtype=np.int64)
        self.stored, self._batch = np.zeros(1, dtype=np.int64), _FIRST_BATCH
        self.source = RowSource.none(dtype) if source is None else source

    @classmethod
    def full(cls, matrix: np.ndarray) -> RowStore:
        """A store of all rows, given as a padded matrix (n, padded(n))."""
        store = cls(0, lambda index: matrix[index], matrix.dtype)
        store.n, store.rows = len(matrix), matrix
        store.slots = np.arange(padded(store.n))
        store.stored[0] = store.n
        return store

    @classmethod
    def of_submatrix(cls, matrix: np.ndarray, places: np.ndarray) -> RowStore:
        """A store of the submatrix at some positions of a matrix in C order."""

        def compute(index: np.ndarray) -> np.ndarray:
            return matrix[np.ix_(places[index], places)]

        return cls(len(places), compute, matrix.dtype, RowSource.submatrix(matrix, places))

    def at(self, index: np.ndarray) -> np.ndarray:
        """The rows at some positions: (k, n)."""
        if self.stored[0] < self.n:
            missing = index[self.slots[index] == _NOT_STORED]
            if len(missing):
                self._append(np.unique(missing))
        return self.rows[self.slots[index], : self.n]

    def fetch(self, position: int, up: np.ndarray, down: np.ndarray) -> None:
        """Compute the row at a position, together with those that steps will probably need next.

        These are the rows of the coefficients that violate optimality most: the largest `up` and the
        smallest `down`.
        """
        missing = self.slots[: self.n] == _NOT_STORED
        missing[position] = False
        others = np.flatnonzero(missing)
        half = (self._batch - 1) // 2
        self._batch = min(2 * self._batch, _MAX_BATCH)
        chosen = [np.array([position])]
        for badness in (up, -down):
            value = badness[others]
            first = np.argpartition(-value, half)[:half] if half < len(value) else slice(None)
            chosen.append(others[first][value[first] > -np.inf])
        self._append(np.unique(np.concatenate(chosen)))

    def part(self, index: np.ndarray) -> RowStore:
        """Store of the submatrix at some positions, whose rows are taken from those of this store."""
        if self.stored[0] == self.n and np.array_equal(self.slots[:: self.n - 1], [0, self.n - 1]):
            return RowStore.of_submatrix(self.rows, index)
        return RowStore(len(index), lambda rows: self.at(index[rows])[:, index], self.rows.dtype)

    def _append(self, index: np.ndarray) -> None:
        first = int(self.stored[0])
        last = first + len(index)
        self.rows[first:last, : self.n] = self._compute(index)
        self.rows[first:last, self.n :] = 0
        self.slots[index] = np.arange(first, last)
        self.stored[0] = last
