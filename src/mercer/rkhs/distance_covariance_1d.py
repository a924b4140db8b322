"""Distance covariance of numbers, sum_ij |x_i - x_j| |y_i - y_j|, in O(n log n).

With x in increasing order, every pair i < j adds 2 (x_j - x_i) |y_j - y_i|, that is, (x_j - x_i)
(y_j - y_i) times 2 where y_i <= y_j and times -2 otherwise. The sum over all pairs follows from simple
sums; that over the concordant pairs needs, for every j, four sums over those i < j with y_i <= y_j
(Huo and Szekely 2016). They come from a binary indexed tree where numba is installed, else from a radix
sort of the ranks of y, bit by bit, vectorised over all numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.backend import is_numpy
from mercer.gram.threads import in_order, spans
from mercer.kernels.base import Kernel, Points
from mercer.kernels.radial import Energy
from mercer.native import has_compiler, is_quick, native_loop

_DISTANCE = Energy()

# Seconds for a number, a level of the tree or sort, and a permutation; measured on one core.
_SECONDS_COMPILED, _SECONDS_SORTED = 4e-9, 9e-8
_SECONDS_TO_LOAD, _SECONDS_TO_COMPILE = 0.05, 2.0  # for the loop, stored on disk or not
_TREE_ARGUMENTS = "double* double* long* double* double* long long"
_ENTRIES_PER_TASK = 200_000  # numbers sorted at a time: they stay in cache
_ARRAYS_PER_TASK = 16  # temporaries of that size in `sorted_forms`
_MAX_DENSE = 128  # numbers of which all pairs take less time than sorting
_PAIRS_AT_A_TIME = 16_384  # of `_concordant`: their differences stay in the level-2 cache
_MAX_GRIDDED = 20_000  # numbers for which the grid of `gridded_form` stays below 20 MB


@dataclass(frozen=True)
class CentredDistances:
    """A = -HDH / 2 with D_ij = |x_i - x_j|: the centred energy kernel of numbers, by sorting."""

    numbers: np.ndarray  # float64, of mean 0: (n,)

    @classmethod
    def of(cls, kernel: Kernel, points: Points) -> CentredDistances | None:
        """Those of float64 numbers compared by `Energy()`; None for others."""
        if kernel != _DISTANCE or not is_numpy(points) or points.shape[1:] != (1,):
            return None
        numbers = points[:, 0]
        return cls(numbers - numbers.mean()) if numbers.dtype == np.float64 else None

    @cached_property
    def row_sums(self) -> np.ndarray:
        """Row sums of D: (n,)."""
        return distance_rows(self.numbers)

    def diagonal(self) -> np.ndarray:
        """The diagonal of A: (n,)."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> np.ndarray:
        return centred_diagonal(self.row_sums)

    def form(self, w: np.ndarray) -> float:
        """w'Aw: squared cumulative weights less their mean, integrated over the line."""
        return _form_on_line(self.numbers, w - w.mean())

    def inner(self, other: CentredDistances) -> float:
        """sum_ij A_ij B_ij."""
        if other is self:  # |D|^2 = 2 n sum_i x_i^2
            products = 2 * len(self.numbers) * float(self.numbers @ self.numbers)
        else:
            products = distance_sum(self.numbers, other.numbers)
        crossed = self.row_sums @ other.row_sums
        return float(centred_products(products, crossed, self.row_sums, other.row_sums))


def energy_of_numbers(numbers: np.ndarray, n: int) -> float:
    """Energy distance of the first n numbers and the others, 2 E|X - Y| - E|X - X'| - E|Y - Y'|.

    Examples
    --------
    >>> energy_of_numbers(np.array([0.0, 1.0, 0.0, 3.0]), 2)
    1.0
    """
    contrast = np.empty(len(numbers), dtype=np.float64)
    contrast[:n], contrast[n:] = 1 / n, -1 / (len(numbers) - n)
    return 2 * _form_on_line(numbers, contrast)


def _form_on_line(numbers: np.ndarray, w: np.ndarray) -> float:
    """-w'Dw / 2 for weights that add up to 0: squared cumulative weights, integrated over the line."""
    order = numbers.argsort()
    ordered, cumulative = numbers[order], w[order].cumsum()[:-1]
    return float((ordered[1:] - ordered[:-1]) @ (cumulative * cumulative))


def centred_diagonal(rows: np.ndarray) -> np.ndarray:
    """The diagonal of -HDH / 2 from the row sums of D, whose diagonal is 0: (n,)."""
    n = len(rows)
    return rows / n - rows.sum() / (2 * n**2)


def centred_products(products: Any, crossed: Any, x_rows: np.ndarray, y_rows: np.ndarray) -> Any:
    """<HDH, HEH> / 4 from <D, E>, the inner product of the row sums of D and E, and these."""
    n = len(x_rows)
    return (products - 2 * crossed / n + x_rows.sum() * y_rows.sum() / n**2) / 4


def distance_sums(x: np.ndarray, y: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """sum_ij |x_i - x_j| |y_p(i) - y_p(j)| for every permutation p, the rows of `orders`: (b,).

    Examples
    --------
    >>> x, y = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 0.0])
    >>> distance_sums(x, y, np.array([[0, 1, 2], [2, 0, 1]]))
    array([16., 18.])
    """
    by_x, by_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    rank = np.empty(len(y), dtype=np.int64)
    rank[by_y] = np.arange(len(y))
    x, y = x[by_x], y[by_y]
    work = _DistanceSums(x, y, orders, rank, by_x, _forms(len(x), len(orders)))
    batch_size = max(_ENTRIES_PER_TASK // len(x), 1)
    parallel = len(orders) * len(x) > _ENTRIES_PER_TASK
    task_bytes = _ARRAYS_PER_TASK * 8 * max(_ENTRIES_PER_TASK, len(x))
    batches = spans(len(orders), batch_size)
    results = in_order(work, batches, parallel=parallel, shown=False, held=task_bytes)
    return np.concatenate(list(results))


@dataclass(frozen=True, eq=False)
class _DistanceSums:
    """Some permutations -> sum_ij |x_i - x_j| |y_p(i) - y_p(j)|: (b,)."""

    x: np.ndarray  # in increasing order
    y: np.ndarray  # in increasing order
    orders: np.ndarray  # (B, n)
    rank: np.ndarray  # of every y
    by_x: np.ndarray  # positions in the order of x
    forms: Callable[..., np.ndarray]

    def __call__(self, batch: slice) -> np.ndarray:
        x, y = self.x, self.y
        ranks = self.rank[self.orders[batch][:, self.by_x]]  # of y, in the order of x
        pairs = len(x) * (y[ranks] @ x) - x.sum() * y.sum()
        return 4 * self.forms(x, y, ranks) - 2 * pairs


def distance_sum(x: np.ndarray, y: np.ndarray) -> float:
    """sum_ij |x_i - x_j| |y_i - y_j| of one pairing.

    Examples
    --------
    >>> distance_sum(np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 0.0]))
    16.0
    """
    if len(x) <= _MAX_DENSE:
        return float(np.vdot(np.abs(x[:, None] - x), np.abs(y[:, None] - y)))
    order = np.argsort(x)
    x, y = x[order], y[order]
    pairs = len(x) * float(x @ y) - float(x.sum()) * float(y.sum())
    if is_quick(_tree, _TREE_ARGUMENTS):
        by_y = np.argsort(y)
        rank = np.empty((1, len(y)), dtype=np.int64)
        rank[0, by_y] = np.arange(len(y))
        return 4 * float(compiled_forms(x, y[by_y], rank)[0]) - 2 * pairs
    if len(x) > _MAX_GRIDDED:
        return float(distance_sums(x, y, np.arange(len(x))[None, :])[0])
    return 4 * gridded_form(x, y) - 2 * pairs


def distance_rows(x: np.ndarray) -> np.ndarray:
    """sum_j |x_i - x_j|: (n,)."""
    order = np.argsort(x, kind="stable")
    ordered, n = x[order], len(x)
    below = np.cumsum(ordered)  # x_i itself adds nothing
    rows = np.empty(n, dtype=np.float64)
    rows[order] = (2 * np.arange(1, n + 1) - n) * ordered - 2 * below + below[-1]
    return rows


def centred_cube_trace(x: np.ndarray) -> float:
    """tr A^3 of A = -HDH / 2 with D_ij = |x_i - x_j|, in O(n log n).

    With gaps d_g between the sorted numbers and s_g = g/n, A has the non-zero eigenvalues of the matrix
    n sqrt(d_g d_h) s_g (1 - s_h), g <= h: the covariances of a Brownian bridge. The product of three of
    them is n^3 d_g s_g^2 d_h s_h (1 - s_h) d_k (1 - s_k)^2 for g <= h <= k, so that the sum over all
    triples follows from cumulative sums.

    Examples
    --------
    >>> centred_cube_trace(np.array([0.0, 2.0]))  # the eigenvalues are 1 and 0
    1.0
    """
    n, gaps = len(x), np.diff(np.sort(x))
    shares = np.arange(1, n) / n
    first, middle, last = (
        n * gaps * f for f in (shares**2, shares * (1 - shares), (1 - shares) ** 2)
    )
    before, after = np.cumsum(first) - first, np.cumsum(last[::-1])[::-1] - last
    return float(
        6 * np.sum(before * middle * after)
        + 3 * np.sum(first * middle * after)  # g = h < k
        + 3 * np.sum(before * middle * last)  # g < h = k
        + np.sum(middle**3)
    )


def seconds_for(n: int, permutations: int) -> float:
    """Estimated time of `distance_sums`."""
    return min(_costs(n, permutations).values())


def _forms(n: int, permutations: int) -> Callable[..., np.ndarray]:
    costs = _costs(n, permutations)
    return compiled_forms if min(costs, key=lambda k: costs[k]) == "compiled" else sorted_forms


def _costs(n: int, permutations: int) -> dict[str, float]:
    work = permutations * n * np.log2(n)
    costs = {"sorted": _SECONDS_SORTED * work}
    if has_compiler():
        start = _SECONDS_TO_LOAD if is_quick(_tree, _TREE_ARGUMENTS) else _SECONDS_TO_COMPILE
        costs["compiled"] = start + _SECONDS_COMPILED * work
    return costs


# ---- sum of (x_j - x_i) (y_j - y_i) over i < j with y_i <= y_j, both increasing, y by its ranks ------


def compiled_forms(x: np.ndarray, y: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The sums by a binary indexed tree over the ranks: (b,)."""
    number, n = ranks.shape
    out, scratch = np.empty(number, dtype=np.float64), np.empty((n + 1, 4), dtype=np.float64)
    x, y, ranks = (np.ascontiguousarray(array) for array in (x, y, ranks))
    native_loop(_tree, _TREE_ARGUMENTS)(x, y, ranks, scratch, out, number, n)
    return out


def sorted_forms(x: np.ndarray, y: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The sums by a radix sort of the ranks, vectorised over all numbers: (b,).

    Each pair is counted at the highest bit in which its ranks differ. At each level, ranks that
    agree in all higher bits stand together, in the order of x. Those with the bit set are paired with
    those before them without it; then the latter move to the front of their group.
    """
    (number, n), levels = ranks.shape, max(int(len(x) - 1).bit_length(), 1)
    full = 1 << levels
    rank = np.empty((number, full), dtype=np.int64)
    rank[:, :n], rank[:, n:] = ranks, np.arange(n, full)
    position = np.broadcast_to(np.arange(full), rank.shape)
    x, y = (np.concatenate([v, np.zeros(full - n)]) for v in (x, y))
    total = np.zeros(number, dtype=np.float64)
    for bit in reversed(range(levels)):
        half = 1 << bit
        group = rank.reshape(number, -1, 2 * half)
        above = (group & half).astype(bool)
        shape = (*group.shape[:2], half)
        low, high = (group[m].reshape(shape) for m in (~above, above))
        positions = position.reshape(group.shape)
        low_x, high_x = (x[positions[m].reshape(shape)] for m in (~above, above))
        before = np.nonzero(above)[2].reshape(shape) - np.arange(half)  # how many lack the bit
        low_y, high_y = y[low], np.where(high < n, y[high], 0.0)
        terms = np.where(high < n, before * high_x * high_y, 0.0)
        for values, factor in ((low_x, -high_y), (low_y, -high_x), (low_x * low_y, high < n)):
            sums = np.cumsum(np.concatenate([np.zeros((*shape[:2], 1)), values], axis=2), axis=2)
            terms += np.take_along_axis(sums, before, axis=2) * factor
        total += terms.sum(axis=(1, 2))
        position = np.concatenate(
            [positions[~above].reshape(shape), positions[above].reshape(shape)], axis=2
        )
        rank = np.concatenate([low, high], axis=2)
    return total


def gridded_form(x: np.ndarray, y: np.ndarray) -> float:
    """The sum of one pairing with x increasing, by a grid of intervals of ranks in x and in y.

    Pairs within an interval of x, and other pairs within an interval of y, are compared one by one. What
    remains, pairs in different intervals of both, follows from the sums of 1, x, y and xy over the cells
    of the grid.
    """
    n = len(x)
    width = round(2 * n ** (1 / 3))  # balances comparisons, 3 ns each, and cells, 7 ns each
    side, by_y = -(-n // width), np.argsort(y)
    interval = np.arange(n) // width
    in_y = np.empty(n, dtype=np.int64)
    in_y[by_y] = interval
    extra = side * width - n
    # what fills the last interval has the largest x and the smallest y, or conversely: no concordant pair
    total = _concordant(_filled(x, extra, x[-1], width), _filled(y, extra, y[by_y[0]], width))
    total += _concordant(
        _filled(x[by_y], extra, x[0], width),
        _filled(y[by_y], extra, y[by_y[-1]], width),
        _filled(interval[by_y], extra, -1, width),
    )
    cells = interval * side + in_y
    sums = [np.bincount(cells, v, side**2).reshape(side, side) for v in (None, x, y, x * y)]
    before = [np.cumsum(np.cumsum(s[:-1, :-1], axis=0), axis=1).ravel() for s in sums]
    later = [s[1:, 1:].ravel() for s in sums]
    signed = zip(before, reversed(later), (1, -1, -1, 1), strict=True)
    return total + sum(sign * float(a @ b) for a, b, sign in signed)


def _filled(values: np.ndarray, extra: int, filling: Any, width: int) -> np.ndarray:
    """Values in rows of `width`, the last one filled up."""
    return np.concatenate([values, np.full(extra, filling)]).reshape(-1, width)


def _concordant(x: np.ndarray, y: np.ndarray, group: np.ndarray | None = None) -> float:
    """Sum of (x_j - x_i) (y_j - y_i) over pairs of a row with x_i < x_j and y_i < y_j, of two groups."""
    total, rows = 0.0, max(_PAIRS_AT_A_TIME // x.shape[1] ** 2, 1)
    for start in range(0, len(x), rows):
        chunk = slice(start, start + rows)
        x_steps, y_steps = (v[chunk, None, :] - v[chunk, :, None] for v in (x, y))
        for steps in (x_steps, y_steps):
            np.maximum(steps, 0.0, out=steps)
        if group is not None:
            x_steps *= group[chunk, None, :] != group[chunk, :, None]
        total += float(np.vdot(x_steps, y_steps))
    return total


def _tree(numba: Any) -> Callable[..., int]:
    """The loop over the permutations, with the tree in `scratch`: counts, and sums of x, y, xy."""
    carray = numba.carray

    def forms(x, y, ranks, scratch, out, number, n):  # pragma: no cover
        u_all, v_all, places = carray(x, n), carray(y, n), carray(ranks, (number, n))
        tree, sums = carray(scratch, (n + 1, 4)), carray(out, number)
        for b in range(number):
            for k in range(n + 1):
                for c in range(4):
                    tree[k, c] = 0.0
            total = 0.0
            for j in range(n):
                u, v, place = u_all[j], v_all[places[b, j]], places[b, j] + 1
                count, sum_x, sum_y, sum_xy = 0.0, 0.0, 0.0, 0.0
                k = place
                while k > 0:
                    count += tree[k, 0]
                    sum_x += tree[k, 1]
                    sum_y += tree[k, 2]
                    sum_xy += tree[k, 3]
                    k &= k - 1
                total += count * u * v - v * sum_x - u * sum_y + sum_xy
                k = place
                while k <= n:
                    tree[k, 0] += 1.0
                    tree[k, 1] += u
                    tree[k, 2] += v
                    tree[k, 3] += u * v
                    k += k & -k
            sums[b] = total
        return 0

    return forms
