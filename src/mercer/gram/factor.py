"""Pivoted Cholesky factors of positive semi-definite matrices: K = AA' where K has low rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import linalg, validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    detached,
    double,
    eps,
    is_numpy,
    is_single,
    itemsize,
    namespace,
    on_gpu,
    scalar,
    to_numpy,
    transposed,
    zeros,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.device_engine import device_engine
from mercer.gram.gram import Gram
from mercer.gram.lazy import LazyMatrix

_ROUNDING_ERRORS = 32  # a remaining trace of that many rounding errors of the trace is noise
_FIRST_CAPACITY = 64  # columns allocated at first; doubled when they are full
_MAX_BLOCK = 64  # pivots at a time: larger blocks reject more candidates
_MIN_COLUMNS_FOR_BLOCKS = 256  # from here on, reading the factor for every pivot dominates the time
# Points up to which LAPACK factorizes the whole matrix, which takes 0.1, 1.3 and 7 ms for 50, 200 and 400
# points, where each pivot by itself takes a quarter of a millisecond.
_MAX_POINTS_DENSE = 400


@dataclass(frozen=True, eq=False)
class Factor:
    """K ~ AA': `columns` is A, (n, r); `pivots` are the indices of the points that span it.

    `residual` is the trace of K - AA', which is positive semi-definite: it bounds every entry of
    the difference, and its norm.
    """

    columns: Array
    pivots: tuple[int, ...]
    residual: float


def cholesky(matrix: LazyMatrix, *, tolerance: float = 1e-12, most: int | None = None) -> Factor:
    """The pivoted Cholesky factor of a positive semi-definite matrix, from a few of its columns.

    Takes the column of the largest remaining diagonal entry until the remaining trace is below
    `tolerance` times the trace, or there are `most` columns: r columns of the matrix are computed
    in O(n r^2) operations (Fine and Scheinberg 2001). Smooth kernels in few dimensions have low
    numerical rank: about 20 for a Gaussian kernel on the line at the median distance, whatever n is.

    From a few hundred columns on, pivots are chosen in blocks: as long as the largest remaining diagonal
    entry among the candidates exceeds all others, it is the next pivot, and the columns of a block are
    computed by matrix products.

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
    most = n if most is None else min(most, n)
    diagonal = astype(matrix.diagonal(), double(matrix.like))
    xp = namespace(diagonal)
    share = max(tolerance, _ROUNDING_ERRORS * eps(matrix.like))
    threshold = share * scalar(xp.sum(diagonal))
    if on_gpu(matrix.like) and _is_affordable(matrix, most):
        factored = device_engine().pivoted_cholesky(matrix.dense(), threshold, most)
        return Factor(xp.permute_dims(factored[0], (1, 0)), *factored[1:])
    if _is_small(matrix):
        return _small_factor(np.asarray(matrix.dense()), to_numpy(diagonal), threshold, most)
    state = _Pivoted(matrix, diagonal, most)
    # a GPU takes as long for a single pivot as for a block of them
    width, first_block = 1, 1 if on_gpu(matrix.like) else _MIN_COLUMNS_FOR_BLOCKS
    while len(state.pivots) < state.most and scalar(xp.sum(state.remaining)) > threshold:
        added = state.extend(min(width, state.most - len(state.pivots)), threshold)
        width = min(2 * added, _MAX_BLOCK) if len(state.pivots) >= first_block else 1
    rows = state.rows[: len(state.pivots), :]
    return Factor(
        xp.permute_dims(rows, (1, 0)), tuple(state.pivots), scalar(xp.sum(state.remaining))
    )


def _is_small(matrix: LazyMatrix) -> bool:
    """Whether a matrix has few points, all of them rows of a float64 array of NumPy."""
    if not isinstance(matrix, Gram) or matrix.shape[0] > _MAX_POINTS_DENSE:
        return False
    return is_numpy(matrix.x) and is_numpy(matrix.like) and not is_single(matrix.like)


def _small_factor(dense: np.ndarray, diagonal: np.ndarray, threshold: float, most: int) -> Factor:
    """The factor of a dense matrix by LAPACK, cut off where the remaining trace is below `threshold`."""
    from scipy.linalg.lapack import get_lapack_funcs

    n, (pstrf,) = len(dense), get_lapack_funcs(("pstrf",), (dense,))
    if not np.sum(diagonal) > threshold:
        return Factor(np.zeros((n, 0)), (), float(np.sum(diagonal)))
    with linalg.threads_for(dense):
        triangle, order, rank, _ = pstrf(dense.T, tol=threshold / n, lower=1)
    rank = min(int(rank), most)
    lower = np.tril(triangle[:, :rank])  # rows in the order of the pivots
    remaining = diagonal[order - 1, None] - np.cumsum(lower**2, axis=1)
    traces = np.sum(np.maximum(np.tril(remaining, -1), 0.0), axis=0)
    number = min(1 + int(np.count_nonzero(traces > threshold)), rank)
    columns = np.empty((n, number), dtype=np.float64)
    columns[order - 1] = lower[:, :number]
    pivots = (order[:number] - 1).tolist()
    return Factor(columns, tuple(pivots), float(traces[number - 1]))


class _Pivoted:
    """A growing factor: A', whose rows are contiguous, the pivots, and the remaining diagonal."""

    def __init__(self, matrix: LazyMatrix, diagonal: Array, most: int) -> None:
        self.matrix, self.remaining, self.most = matrix, diagonal, most
        self.rows = zeros((min(_FIRST_CAPACITY, most), matrix.shape[0]), self.remaining)
        self.pivots: list[int] = []
        self._columns: dict[int, Array] = {}  # of candidates that are no pivots yet

    def extend(self, width: int, threshold: float) -> int:
        """Add up to `width` pivots, as long as the remaining trace exceeds `threshold`; returns how many."""
        xp, r = namespace(self.remaining), len(self.pivots)
        candidates, outside = self._candidates(width)
        columns = self._columns_of(candidates)  # (width, n)
        index = array_like(np.asarray(candidates), self.remaining, xp.int64)
        above = xp.take(self.rows[:r, :], index, axis=1)  # (r, width)
        square = to_numpy(xp.take(columns, index, axis=1) - transposed(above) @ above)
        order, triangle = _greedy(square, to_numpy(xp.take(self.remaining, index)), outside)
        pivot_rows = array_like(np.asarray(order), self.remaining, xp.int64)
        remainder = xp.take(columns, pivot_rows, axis=0)
        if r:
            remainder = (
                remainder - transposed(xp.take(above, pivot_rows, axis=1)) @ self.rows[:r, :]
            )
        fresh = (
            array_like(linalg.inv(triangle), self.remaining) @ remainder
            if len(order) > 1
            else (remainder / float(triangle[0, 0]))
        )
        added = self._add(fresh, [candidates[j] for j in order], threshold)
        added_pivots = {candidates[j] for j in order[:added]}
        self._columns = {
            p: columns[k, :] for k, p in enumerate(candidates) if p not in added_pivots
        }
        return added

    def _candidates(self, width: int) -> tuple[list[int], float]:
        """The indices of the largest remaining diagonal entries, and the largest of the other entries."""
        xp, n = namespace(self.remaining), self.remaining.shape[0]
        if width == 1:
            return [int(xp.argmax(self.remaining))], 0.0
        order = xp.argsort(-self.remaining, stable=True)
        outside = scalar(self.remaining[order[width]]) if width < n else 0.0
        return [int(p) for p in to_numpy(order[:width])], outside

    def _columns_of(self, candidates: list[int]) -> Array:
        """Columns of the matrix: (width, n)."""
        xp, missing = namespace(self.remaining), [p for p in candidates if p not in self._columns]
        if missing:
            block = transposed(self.matrix._columns_at(np.asarray(missing)))
            block = xp.asarray(detached(astype(block, self.remaining.dtype)), copy=True)
            self._columns.update((p, block[k, :]) for k, p in enumerate(missing))
        return xp.stack([self._columns[p] for p in candidates])

    def _add(self, fresh: Array, pivots: list[int], threshold: float) -> int:
        """Append rows of A' as long as the remaining trace exceeds `threshold`; returns how many."""
        xp, r = namespace(self.remaining), len(self.pivots)
        squares, added = fresh**2, len(pivots)  # (k, n)
        if added > 1:
            traces = scalar(xp.sum(self.remaining)) - np.cumsum(to_numpy(xp.sum(squares, axis=1)))
            added = min(added, 1 + int(np.count_nonzero(traces > threshold)))
        self._reserve(r + added)
        self.rows[r : r + added, :] = fresh[:added, :]
        self.remaining = xp.clip(self.remaining - xp.sum(squares[:added, :], axis=0), 0, None)
        self.pivots += pivots[:added]
        for p in pivots[:added]:  # the array standard has no assignment to several indices
            self.remaining[p] = 0.0
        return added

    def _reserve(self, number: int) -> None:
        """Allocate memory for at least `number` rows."""
        xp, (capacity, n) = namespace(self.remaining), self.rows.shape
        if number > capacity:
            more = min(max(capacity, number - capacity), self.most - capacity)
            _check_memory(capacity, 8 * n * (2 * capacity + more))
            self.rows = xp.concat([self.rows, zeros((more, n), self.remaining)])


def _is_affordable(matrix: LazyMatrix, most: int) -> bool:
    """Whether the dense matrix, and a factor that is copied to grow, fit into the memory budget."""
    n = matrix.shape[0]
    return n**2 * itemsize(matrix.like) + 3 * 8 * n * most <= settings().memory


def _check_memory(columns: int, needed: int) -> None:
    """Check that more columns, and a copy of the present ones, fit into the memory budget."""
    budget = settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"the remainder after {columns} columns exceeds the tolerance, and more columns "
            f"need {needed / 2**20:,.0f} MiB where the budget is {budget / 2**20:,.0f} MiB: set "
            "most=..., raise the tolerance, or raise mercer.config(memory=...)"
        )


def _greedy(
    square: np.ndarray, diagonal: np.ndarray, outside: float
) -> tuple[list[int], np.ndarray]:
    """Pivots of a small matrix, until an entry outside of it may be larger, and their Cholesky factor."""
    remaining, order = diagonal.copy(), []
    columns = np.zeros_like(square)  # of the factor
    while len(order) < len(remaining):
        j, k = int(np.argmax(remaining)), len(order)
        if k and not remaining[j] > outside:
            break
        root = remaining[j] ** 0.5
        columns[:, k] = (square[:, j] - columns[:, :k] @ columns[j, :k]) / root
        columns[j, k] = root
        remaining = remaining - columns[:, k] ** 2
        order.append(j)
        remaining[order] = -np.inf
    return order, np.tril(columns[order, : len(order)])
