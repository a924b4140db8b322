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

    stripe_a: np.ndarray
    stripe_b: np.ndarray
    start_a: int
    start_b: int

    def __call__(self, order: np.ndarray) -> float:
        start = self.start_a
        images = order[start : start + len(self.stripe_a)].astype(np.int64) - self.start_b
        inside = np.flatnonzero((images >= 0) & (images < len(self.stripe_b)))
        total = 0.0
        for span in spans(len(inside), _ROWS_PER_GATHER):
            rows = inside[span]
            first = int(rows[0]) + start  # no column before that diagonal entry counts
            a = self.stripe_a[rows, first:]
            b = self.stripe_b[images[rows]].take(order[first:], axis=1)
            above = np.arange(a.shape[1]) - (rows[:, None] + start - first)
            head = int(rows[-1]) + start - first + 1  # beyond, all columns count twice
            weights = np.where(above[:, :head] > 0, 2.0, np.where(above[:, :head] == 0, 1.0, 0.0))
            total += float(np.sum(weights * a[:, :head] * b[:, :head]))
            total += 2 * float(np.einsum("ij,ij->", a[:, head:], b[:, head:]))
        return total
