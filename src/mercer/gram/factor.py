"""Factors of positive semi-definite matrices: K = AA' to rounding where K has low rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import linalg, validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    eps,
    namespace,
    scalar,
    to_numpy,
    transposed,
    zeros,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.lazy import LazyMatrix

_NOISE = 32  # rounding errors of an entry, below which what is left of the trace is noise
_FIRST = 64  # columns for which there is room at first; doubled when they are full
_BLOCK = 64  # pivots at a time at most
_WIDE = (
    256  # columns from which blocks pay: there, to read the factor for each pivot takes the time
)


@dataclass(frozen=True, eq=False)
class Factor:
    """K ~ AA': `columns` is A, (n, r); `pivots` are the points that span it.

    `residual` is the trace of K - AA', which is positive semi-definite: it bounds every entry of
    the difference, and its norm.
    """

    columns: Array
    pivots: tuple[int, ...]
    residual: float


def cholesky(matrix: LazyMatrix, *, tolerance: float = 1e-12, most: int | None = None) -> Factor:
    """The pivoted Cholesky factor of a positive semi-definite matrix, from a few of its columns.

    Takes the column of the largest remaining diagonal entry until the remaining trace is below
    `tolerance` times the trace, or there are `most` columns: r columns of the matrix are made
    and O(n r^2) operations done (Fine and Scheinberg 2001). Smooth kernels on few
    dimensions have few columns that count: about 20 for a Gaussian kernel on the line at the median
    distance, whatever n is.

    From a few hundred columns on, pivots are found in blocks: as long as the largest remaining diagonal
    entry among some candidates exceeds all others, it is the next pivot, and the columns of a block are
    made by matrix products.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Gram, cholesky
    >>> from mercer.kernels import RBF
    >>> x = np.random.default_rng(0).normal(size=(500, 1))
    >>> factor = cholesky(Gram(RBF(1.0), x))
    >>> factor.columns.shape[1] < 30
    True
    >>> a = factor.columns
    >>> bool(np.max(np.abs(a @ a.T - RBF(1.0)(x))) < 1e-11)
    True
    """
    matrix._need_square("cholesky")
    validate.between("tolerance", tolerance, 0.0, 1.0)
    n = matrix.shape[0]
    if most is not None:
        validate.whole("most", most)
    state = _Pivoted(matrix, n if most is None else min(most, n))
    xp = namespace(state.left)
    enough = max(tolerance, _NOISE * eps(matrix.like)) * scalar(xp.sum(state.left))
    width = 1
    while len(state.pivots) < state.most and scalar(xp.sum(state.left)) > enough:
        found = state.extend(min(width, state.most - len(state.pivots)), enough)
        width = min(2 * found, _BLOCK) if len(state.pivots) >= _WIDE else 1
    rows = state.rows[: len(state.pivots), :]
    return Factor(xp.permute_dims(rows, (1, 0)), tuple(state.pivots), scalar(xp.sum(state.left)))


class _Pivoted:
    """A factor that grows: A', whose rows are contiguous, the pivots, and the remaining diagonal."""

    def __init__(self, matrix: LazyMatrix, most: int) -> None:
        self.matrix, self.most = matrix, most
        self.left = astype(matrix.diagonal(), double(matrix.like))
        self.rows = zeros((min(_FIRST, most), matrix.shape[0]), self.left)
        self.pivots: list[int] = []
        self._columns: dict[int, Array] = {}  # of candidates that were not taken yet

    def extend(self, width: int, enough: float) -> int:
        """Add at most `width` pivots, none once the remaining trace is below `enough`; returns how many."""
        xp, r = namespace(self.left), len(self.pivots)
        candidates, outside = self._candidates(width)
        columns = xp.stack([self._column(p) for p in candidates])  # (width, n)
        index = array_like(np.asarray(candidates), self.left, xp.int64)
        above = xp.take(self.rows[:r, :], index, axis=1)  # (r, width)
        square = to_numpy(xp.take(columns, index, axis=1) - transposed(above) @ above)
        order, triangle = _greedy(square, to_numpy(xp.take(self.left, index)), outside)
        chosen = array_like(np.asarray(order), self.left, xp.int64)
        rest = xp.take(columns, chosen, axis=0)
        if r:
            rest = rest - transposed(xp.take(above, chosen, axis=1)) @ self.rows[:r, :]
        fresh = (
            array_like(linalg.inv(triangle), self.left) @ rest
            if len(order) > 1
            else (rest / float(triangle[0, 0]))
        )
        found = self._add(fresh, [candidates[j] for j in order], enough)
        taken = {candidates[j] for j in order[:found]}
        self._columns = {p: columns[k, :] for k, p in enumerate(candidates) if p not in taken}
        return found

    def _candidates(self, width: int) -> tuple[list[int], float]:
        """The points of the largest remaining diagonal entries, and the largest entry of all others."""
        xp, n = namespace(self.left), self.left.shape[0]
        if width == 1:
            return [int(xp.argmax(self.left))], 0.0
        order = xp.argsort(-self.left, stable=True)
        outside = scalar(self.left[order[width]]) if width < n else 0.0
        return [int(p) for p in to_numpy(order[:width])], outside

    def _column(self, p: int) -> Array:
        """Column p of the matrix."""
        if p in self._columns:
            return self._columns[p]
        block = self.matrix.block(slice(0, self.matrix.shape[0]), slice(p, p + 1))
        return astype(block[:, 0], self.left.dtype)

    def _add(self, fresh: Array, pivots: list[int], enough: float) -> int:
        """Rows of A', as long as they are needed; returns how many were."""
        xp = namespace(self.left)
        for k, p in enumerate(pivots):
            r = len(self.pivots)
            if k and not scalar(xp.sum(self.left)) > enough:
                return k
            if r == self.rows.shape[0]:
                more, n = min(r, self.most - r), self.rows.shape[1]
                _ask_for(r, 8 * n * (2 * r + more))
                self.rows = xp.concat([self.rows, zeros((more, n), self.left)])
            self.rows[r, :] = fresh[k, :]
            self.left = xp.clip(self.left - fresh[k, :] ** 2, 0, None)
            self.left[p] = 0.0
            self.pivots.append(p)
        return len(pivots)


def _ask_for(columns: int, needed: int) -> None:
    """Room for more columns, and for a copy of those that are there."""
    budget = settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"{columns} columns leave more of the matrix than the tolerance allows, and more columns "
            f"need {needed / 2**20:,.0f} MiB where the budget is {budget / 2**20:,.0f} MiB: set "
            "most=..., raise the tolerance, or raise mercer.config(memory=...)"
        )


def _greedy(
    square: np.ndarray, diagonal: np.ndarray, outside: float
) -> tuple[list[int], np.ndarray]:
    """Pivots of a small matrix, until an entry outside might be the larger one; and their triangle."""
    left, order = diagonal.copy(), []
    columns = np.zeros_like(square)  # of the factor
    while len(order) < len(left):
        j, k = int(np.argmax(left)), len(order)
        if k and not left[j] > outside:
            break
        root = left[j] ** 0.5
        columns[:, k] = (square[:, j] - columns[:, :k] @ columns[j, :k]) / root
        columns[j, k] = root
        left = left - columns[:, k] ** 2
        order.append(j)
        left[order] = -np.inf
    return order, np.tril(columns[order, : len(order)])
