"""sum_ij A_ij B_p(i)p(j) for any permutations p, in stripes that fit into the memory budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.backend import to_numpy
from mercer.config import settings
from mercer.gram import LazyMatrix
from mercer.gram.threads import in_order, spans

_ROWS = 64  # gathered at a time, so that they stay in cache


def permuted_sums(left: LazyMatrix, right: LazyMatrix, orders: np.ndarray) -> np.ndarray:
    """Of symmetric matrices, for the rows of `orders`: (b,).

    Stripes of both matrices are held, all rows if these fit, else as many as fit: a stripe of the
    second one is made again for every stripe of the first. O(n^2) for a permutation.
    """
    n = left.shape[0]
    height = max(min(settings().memory // (4 * 8 * n), n), 1)
    total = np.zeros(len(orders), dtype=np.float64)
    for rows in spans(n, height):
        first = _stripe(left, rows)
        for others in spans(n, height):
            work = _Gather(first, _stripe(right, others), rows.start, others.start)
            total += np.array(list(in_order(work, list(orders), parallel=n > 500)))
    return total


def _stripe(matrix: LazyMatrix, rows: slice) -> np.ndarray:
    """Some rows, float64."""
    n = matrix.shape[1]
    out = np.empty((rows.stop - rows.start, n), dtype=np.float64)
    for columns in spans(n):
        for part in spans(rows.stop, first=rows.start):
            at = slice(part.start - rows.start, part.stop - rows.start)
            out[at, columns] = to_numpy(matrix.block(part, columns))
    return out


@dataclass(frozen=True)
class _Gather:
    """p -> the terms of the pairs (i, j), i < j twice, with i in one stripe and p(i) in the other."""

    left: np.ndarray
    right: np.ndarray
    start: int
    other: int

    def __call__(self, order: np.ndarray) -> float:
        places = order[self.start : self.start + len(self.left)].astype(np.int64) - self.other
        rows = np.flatnonzero((places >= 0) & (places < len(self.right)))
        total = 0.0
        for some in spans(len(rows), _ROWS):
            own = rows[some]
            first = int(own[0]) + self.start  # of the columns that count
            left = self.left[own, first:]
            right = self.right[places[own]].take(order[first:], axis=1)
            above = np.arange(left.shape[1]) - (own[:, None] + self.start - first)
            head = int(own[-1]) + self.start - first + 1  # beyond, all columns count twice
            weights = np.where(above[:, :head] > 0, 2.0, np.where(above[:, :head] == 0, 1.0, 0.0))
            total += float(np.sum(weights * left[:, :head] * right[:, :head]))
            total += 2 * float(np.einsum("ij,ij->", left[:, head:], right[:, head:]))
        return total
