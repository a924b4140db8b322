"""Distance covariance of numbers, sum_ij |x_i - x_j| |y_i - y_j|, in O(n log n).

With x in increasing order, every pair i < j adds 2 (x_j - x_i) |y_j - y_i|, that is, (x_j - x_i)
(y_j - y_i) times 2 where y_i <= y_j and times -2 where not. The sum over all pairs is known from sums;
that over the pairs in order needs, for every j, four sums over those i < j that have y_i <= y_j
(Huo and Szekely 2016): a binary indexed tree where numba is installed, else a sort by the bits of
the ranks of y, level by level, of all numbers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.gram.threads import in_order, spans

_COMPILED, _SORTED = 4e-9, 9e-8  # seconds for a number, a level and a permutation
_LOADING = 2.0  # seconds until numba is there
_ENTRIES, _ARRAYS = 200_000, 16  # numbers that are sorted at a time, and arrays of so many


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
    forms = _forms(len(x), len(orders))
    size = max(_ENTRIES // len(x), 1)

    def sums(some: slice) -> np.ndarray:
        ranks = rank[orders[some][:, by_x]]  # of y, in the order of x
        pairs = len(x) * (y[ranks] @ x) - x.sum() * y.sum()
        return 4 * forms(x, y, ranks) - 2 * pairs

    many = len(orders) * len(x) > _ENTRIES
    held = _ARRAYS * 8 * max(_ENTRIES, len(x))
    parts = in_order(sums, spans(len(orders), size), parallel=many, shown=False, held=held)
    return np.concatenate(list(parts))


def distance_rows(x: np.ndarray) -> np.ndarray:
    """sum_j |x_i - x_j|: (n,)."""
    order = np.argsort(x, kind="stable")
    ordered, n = x[order], len(x)
    below = np.cumsum(ordered)  # x_i itself adds nothing
    rows = np.empty(n, dtype=np.float64)
    rows[order] = (2 * np.arange(1, n + 1) - n) * ordered - 2 * below + below[-1]
    return rows


def seconds_for(n: int, permutations: int) -> float:
    """About how long `distance_sums` takes."""
    return min(_costs(n, permutations).values())


def _forms(n: int, permutations: int) -> Callable[..., np.ndarray]:
    costs = _costs(n, permutations)
    return compiled_forms if min(costs, key=lambda k: costs[k]) == "compiled" else sorted_forms


def _costs(n: int, permutations: int) -> dict[str, float]:
    work = permutations * n * np.log2(n)
    costs = {"sorted": _SORTED * work}
    if find_spec("numba") is not None:
        costs["compiled"] = _LOADING + _COMPILED * work
    return costs


# ---- sum of (x_j - x_i) (y_j - y_i) over i < j with y_i <= y_j, both increasing, y by its ranks ------


def compiled_forms(x: np.ndarray, y: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """One number after the other, by a binary indexed tree over the ranks: (b,)."""
    out = np.empty(len(ranks), dtype=np.float64)
    _tree()(x, y, np.ascontiguousarray(ranks), out)
    return out


def sorted_forms(x: np.ndarray, y: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """All numbers at once, by the highest bit in which two ranks differ: (b,).

    At each level ranks that agree in all higher bits stand together, in the order of x. Those with
    the bit meet those before them without it; then the latter move to the front.
    """
    (number, n), levels = ranks.shape, max(int(len(x) - 1).bit_length(), 1)
    full = 1 << levels
    rank = np.empty((number, full), dtype=np.int64)
    rank[:, :n], rank[:, n:] = ranks, np.arange(n, full)
    place = np.broadcast_to(np.arange(full), rank.shape)
    x, y = (np.concatenate([v, np.zeros(full - n)]) for v in (x, y))
    total = np.zeros(number, dtype=np.float64)
    for bit in reversed(range(levels)):
        half = 1 << bit
        group = rank.reshape(number, -1, 2 * half)
        above = (group & half).astype(bool)
        shape = (*group.shape[:2], half)
        low, high = (group[m].reshape(shape) for m in (~above, above))
        places = place.reshape(group.shape)
        low_x, high_x = (x[places[m].reshape(shape)] for m in (~above, above))
        before = np.nonzero(above)[2].reshape(shape) - np.arange(half)  # how many have no bit
        low_y, high_y = y[low], np.where(high < n, y[high], 0.0)
        terms = np.where(high < n, before * high_x * high_y, 0.0)
        for values, times in ((low_x, -high_y), (low_y, -high_x), (low_x * low_y, high < n)):
            sums = np.cumsum(np.concatenate([np.zeros((*shape[:2], 1)), values], axis=2), axis=2)
            terms += np.take_along_axis(sums, before, axis=2) * times
        total += terms.sum(axis=(1, 2))
        place = np.concatenate(
            [places[~above].reshape(shape), places[above].reshape(shape)], axis=2
        )
        rank = np.concatenate([low, high], axis=2)
    return total


@cache
def _tree() -> Any:
    """The loop, which releases the GIL."""
    import numba

    @numba.njit("void(float64[::1], float64[::1], int64[:, ::1], float64[::1])", nogil=True)
    def forms(x, y, ranks, out):  # pragma: no cover
        n = x.size
        for b in range(ranks.shape[0]):
            tree = np.zeros((n + 1, 4))  # how many, and the sums of x, y, xy
            total = 0.0
            for j in range(n):
                u, v, place = x[j], y[ranks[b, j]], ranks[b, j] + 1
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
            out[b] = total

    return forms
