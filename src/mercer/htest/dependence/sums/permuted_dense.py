"""sum_ij A_ij B_p(i)p(j) of dense matrices for any permutations p, in stripes within the memory budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.backend import to_numpy
from mercer.config import settings
from mercer.gram import LazyMatrix
from mercer.gram.threads import in_order, spans

_ROWS_PER_GATHER = 64  # so that gathered rows stay in cache
_MIN_ROWS_FOR_THREADS = 500  # matrices below that take less time than a thread pool


def permuted_sums(left: LazyMatrix, right: LazyMatrix, orders: np.ndarray) -> np.ndarray:
    """sum_ij A_ij B_p(i)p(j) of symmetric matrices, for the permutations p in the rows of `orders`: (b,).

    Stripes of both matrices are in memory, with as many rows as the budget allows: a stripe of B is
    computed again for every stripe of A. O(n^2) for a permutation.
    """
    n = left.shape[0]
    height = max(min(settings().memory // (4 * 8 * n), n), 1)
    total = np.zeros(len(orders), dtype=np.float64)
    parallel = n > _MIN_ROWS_FOR_THREADS
    for rows in spans(n, height):
        first = _stripe(left, rows)
        for others in spans(n, height):
            work = _StripeSum(first, _stripe(right, others), rows.start, others.start)
            total += np.array(list(in_order(work, list(orders), parallel=parallel)))
    return total


def _stripe(matrix: LazyMatrix, rows: slice) -> np.ndarray:
    """The rows of the matrix, float64."""
    n = matrix.shape[1]
    out = np.empty((rows.stop - rows.start, n), dtype=np.float64)
    for columns in spans(n):
        for tile_rows in spans(rows.stop, first=rows.start):
            target = slice(tile_rows.start - rows.start, tile_rows.stop - rows.start)
            out[target, columns] = to_numpy(matrix.block(tile_rows, columns))
    return out


@dataclass(frozen=True)
class _StripeSum:
    """Terms of the pairs (i, j), i < j counted twice, with i in a stripe of A and p(i) in a stripe of B."""

    left: np.ndarray
    right: np.ndarray
    left_start: int
    right_start: int

    def __call__(self, order: np.ndarray) -> float:
        start = self.left_start
        images = order[start : start + len(self.left)].astype(np.int64) - self.right_start
        inside = np.flatnonzero((images >= 0) & (images < len(self.right)))
        total = 0.0
        for span in spans(len(inside), _ROWS_PER_GATHER):
            rows = inside[span]
            first = (
                int(rows[0]) + start
            )  # columns before the diagonal of the first row do not count
            left = self.left[rows, first:]
            right = self.right[images[rows]].take(order[first:], axis=1)
            above = np.arange(left.shape[1]) - (rows[:, None] + start - first)
            head = int(rows[-1]) + start - first + 1  # beyond, all columns count twice
            weights = np.where(above[:, :head] > 0, 2.0, np.where(above[:, :head] == 0, 1.0, 0.0))
            total += float(np.sum(weights * left[:, :head] * right[:, :head]))
            total += 2 * float(np.einsum("ij,ij->", left[:, head:], right[:, head:]))
        return total
