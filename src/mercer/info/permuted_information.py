"""Mutual information of two columns under many permutations, from neighbours, in a compiled loop.

The estimator of Kraskov et al. (2004), as `KSG`, of two columns in which no two observations coincide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.gram.threads import for_each, spans
from mercer.info import neighbour_loops
from mercer.info.ksg import local_information
from mercer.info.neighbour_loops import smallest_kept
from mercer.native import helper, is_quick, native_loop

_SIGNATURE = "double* double* double* long* double* double* double* long long long long"
_SOURCES = (neighbour_loops.__file__,)  # of functions that the loop calls
_TASK = 2**22  # distances of a task: some milliseconds
_WIDER = (
    1.3  # where neighbours are looked for, in distances of the k-th one of the observation before
)


def permuted_information(x: np.ndarray, y: np.ndarray, orders: np.ndarray, k: int) -> np.ndarray:
    """Estimates in nats of the information of x (n,) and of y (n,) in each of the orders (b, n): (b,)."""
    if len(x) <= k:
        raise ValueError(f"{k} neighbours need more than {k} observations, got {len(x)}")
    if not is_quick(_loop_of_orders, _SIGNATURE, _SOURCES):
        return np.array([_value(x, y[order], k) for order in orders])
    from scipy.special import digamma

    n = len(x)
    digammas = digamma(np.maximum(np.arange(n + 1), 1)).astype(np.float64)
    by_x = np.argsort(x, kind="stable")
    orders = np.ascontiguousarray(orders[:, by_x], dtype=np.int64)
    x, y = x[by_x].astype(np.float64), y.astype(np.float64)
    ordered = np.sort(y)
    out = np.empty(len(orders), dtype=np.float64)
    loop = native_loop(_loop_of_orders, _SIGNATURE, _SOURCES)

    def work(rows: slice) -> None:
        scratch = np.empty(2 * n + k, dtype=np.float64)
        loop(x, y, ordered, orders, digammas, scratch, out, rows.start, rows.stop, n, k)

    for_each(work, spans(len(orders), max(_TASK // n**2, 1)))
    return out


def _value(x: np.ndarray, y: np.ndarray, k: int) -> float:
    return float(np.mean(local_information([x[:, None], y[:, None]], k, False)))


def _loop_of_orders(numba: Any) -> Callable[..., int]:
    def loop(x_in, y_in, sorted_in, orders_in, psi_in, scratch, out_in, first, last, n, k):
        x, y = numba.carray(x_in, (n,)), numba.carray(y_in, (n,))
        ordered, orders = numba.carray(sorted_in, (n,)), numba.carray(orders_in, (last, n))
        psi, out = numba.carray(psi_in, (n + 1,)), numba.carray(out_in, (last,))
        room = numba.carray(scratch, (2 * n + k,))
        moved, near, best = room[:n], room[n : 2 * n], room[2 * n :]
        for b in range(first, last):
            for i in range(n):
                moved[i] = y[orders[b, i]]
            total, radius = 0.0, np.inf
            for i in range(n):
                here, there, found, reach = x[i], moved[i], 0, _WIDER * radius
                while found < k:  # neighbours within reach; the last radius is a good guess
                    found = 0
                    for j in range(below(x, here, reach, n), above(x, here, reach, n)):
                        far = max(abs(x[j] - here), abs(moved[j] - there))
                        if far < reach and j != i:
                            near[found] = far
                            found += 1
                    reach = 2 * reach if found > 0 else np.inf
                best[:] = np.inf
                keep(best, near, found, k)
                radius = best[k - 1]
                in_x = above(x, here, radius, n) - below(x, here, radius, n)
                in_y = above(ordered, there, radius, n) - below(ordered, there, radius, n)
                total += psi[in_x] + psi[in_y]  # with itself, as in psi(n_x + 1)
            out[b] = psi[k] + psi[n] - total / n
        return 0

    below, above, keep = _first_within(numba), _end_within(numba), smallest_kept(numba)
    return loop


def _first_within(numba: Any) -> Any:
    """The first place in an increasing array whose value is less than `reach` below a number."""

    @helper(numba)
    def first(values, number, reach, n):
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            if number - values[middle] < reach:
                high = middle
            else:
                low = middle + 1
        return low

    return first


def _end_within(numba: Any) -> Any:
    """The place behind the last value that is less than `reach` above a number."""

    @helper(numba)
    def end(values, number, reach, n):
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            if values[middle] - number < reach:
                low = middle + 1
            else:
                high = middle
        return low

    return end
