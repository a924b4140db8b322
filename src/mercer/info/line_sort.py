"""Rows of numbers in increasing order, by a compiled radix sort in two passes.

The place of a number between the least and the greatest one, in 22 bits, is a key that keeps the order. Two passes of
eleven bits sort by the keys, and an insertion sort puts the few numbers of equal keys in order. Where many keys are
equal, as in heavy tails, the row is sorted by NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.native import is_quick, native_loop

_BITS = 11
_DIGITS = 2**_BITS
_MASK = _DIGITS - 1
_KEYS = float(_DIGITS**2 - 1)  # the largest key
# Numbers of a row for which the two passes are faster: with fewer the 4,096 counters weigh, with more keys repeat.
_FEWEST, _MOST = 4000, 2**20
_SHIFTS = 8  # of the insertion sort, times the numbers, before NumPy is asked
_SORT = "double* double* long* long double double"


def sort_rows(values: np.ndarray) -> None:
    """Sort every row of a C-contiguous array (k, n) of finite float64 in place."""
    n = values.shape[1]
    if not _FEWEST <= n <= _MOST or not is_quick(_radix_loop, _SORT):
        values.sort(axis=1)
        return
    loop = native_loop(_radix_loop, _SORT)
    scratch, counts = np.empty(n, dtype=np.float64), np.empty(2 * _DIGITS, dtype=np.int64)
    for row in values:
        least, scale = float(row.min()), _scale(row)
        if not np.isfinite(scale) or loop(row, scratch, counts, n, least, scale):
            row.sort()


def _scale(row: np.ndarray) -> float:
    """Keys by unit of the numbers; not finite where these are equal, or too near or far for float64."""
    with np.errstate(over="ignore", divide="ignore"):
        width = row.max() - row.min()
        scale = _KEYS / width
    return float(scale) if np.isfinite(width) else np.inf


def _radix_loop(numba: Any) -> Callable[..., int]:
    def loop(values, scratch, counts, n, least, scale):
        x, y = numba.carray(values, (n,)), numba.carray(scratch, (n,))
        low = numba.carray(counts, (2, _DIGITS))
        low[:] = 0
        for i in range(n):
            key = int((x[i] - least) * scale)
            low[0, key & _MASK] += 1
            low[1, key >> _BITS] += 1
        for row in range(2):  # the first place of each digit
            total = 0
            for digit in range(_DIGITS):
                count = low[row, digit]
                low[row, digit] = total
                total += count
        for i in range(n):
            digit = int((x[i] - least) * scale) & _MASK
            y[low[0, digit]] = x[i]
            low[0, digit] += 1
        for i in range(n):
            digit = int((y[i] - least) * scale) >> _BITS
            x[low[1, digit]] = y[i]
            low[1, digit] += 1
        shifts = 0
        for i in range(1, n):
            value, slot = x[i], i
            while slot > 0 and x[slot - 1] > value:
                x[slot] = x[slot - 1]
                slot -= 1
            x[slot] = value
            shifts += i - slot
            if shifts > _SHIFTS * n:
                return 1
        return 0

    return loop
