"""The loop of sequential minimal optimization in machine code (the extra `compiled`).

`smo.py` has the same loop in NumPy and explains the algorithm. Rows of the matrix are looked up in a
store. A row that is not there is computed by the loop if the kernel is Gaussian; for other kernels the loop
returns and says which row it needs. Arrays of length n are padded to a multiple of `LANES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import native_exp
from mercer.native import helper, is_quick, native_loop

LANES = 32  # independent running maxima, so that the compiler fills the vector units with them
MIN_CURVATURE = 1e-12  # along a pair, relative to the diagonal: keeps steps finite for equal points
STATE_ROWS = ("diagonal", "lower", "upper", "b", "up", "down")  # of the array `state`, (6, padded)
UNROLLED = 4  # columns of a Gaussian exponent added at a time: fewer passes over the row
_STRIP = 512  # entries of a row computed together: 4 KiB, which stay in the level-1 cache
ALL_ROWS_STORED = -1  # what the loop writes into `missing` where it did not stop for a row


def compiled_steps(dtype: Any = np.float64) -> Callable[..., int]:
    """The loop, for a store of rows in float64 or float32.

    (rows, slots, stored, state, scratch, left, right, rank, places, stride, n, width, tolerance, max_steps,
    missing) -> steps taken. `slots` has the position of every row in the store, -1 where it is not there;
    `stored[0]` is the number of rows there, `scratch` has 3 LANES numbers. A Gaussian kernel is
    exp(left @ right) with `left` (n, rank) and `right` (rank, padded), the rank being a multiple of
    `UNROLLED`. A submatrix has its larger matrix in `left`, with `stride` columns, and its positions there in
    `places` (n,). For other rows, rank and stride are 0.
    """
    build = _single if np.dtype(dtype) == np.float32 else _double
    return native_loop(build, _signature(dtype), (native_exp.__file__,))


def is_quickly_compiled(dtype: Any = np.float64) -> bool:
    """Whether `compiled_steps` loads stored code, or compiles for the first time in this installation."""
    build = _single if np.dtype(dtype) == np.float32 else _double
    return is_quick(build, _signature(dtype), (native_exp.__file__,))


def _signature(dtype: Any) -> str:
    kind = "float" if np.dtype(dtype) == np.float32 else "double"
    store, sources = f"{kind}* long* long*", f"{kind}* {kind}* long long* long"
    return f"{store} double* double* {sources} long double double long long*"


def _single(numba: Any) -> Callable[..., int]:
    return _loop(numba, native_exp.inlined_exp(4))


def _double(numba: Any) -> Callable[..., int]:
    return _loop(numba, native_exp.inlined_exp(8))


def _loop(numba: Any, exp: Any) -> Callable[..., int]:
    """The loop, built from its helpers, which numba takes from closures."""
    called, inlined = helper(numba), numba.njit(inline="always")
    # Inlined, because numba counts references to the views of rows that a called function makes.
    stored_row = inlined(_stored_row(called(_gaussian_row(exp))))
    take_step = inlined(_take_step(called(_update_slopes)))
    return _steps(numba.carray, called(_largest), called(_partner), stored_row, take_step)


def _largest(up, lanes):  # pragma: no cover
    """Position of the largest entry of `up`, given the maximum of every lane."""
    lane = 0
    for k in range(1, LANES):
        if lanes[k] > lanes[lane]:
            lane = k
    best = lane
    for t in range(lane, up.size, LANES):
        if up[t] > up[best]:
            best = t
    return best


def _partner(row, K_ii, diagonal, down, high, flat, lanes, least):  # pragma: no cover
    """Position j of the largest gain, (high - down_j)^2 / curvature; -1 where no j gains.

    Writes the smallest `down` into least[0].
    """
    for k in range(LANES):
        lanes[k] = 0.0
        least[k] = np.inf
    for group in range(down.size // LANES):
        for k in range(LANES):
            t = group * LANES + k
            value = down[t]
            least[k] = min(least[k], value)
            gap = max(high - value, 0.0)
            curve = max(K_ii + diagonal[t] - 2 * row[t], flat)
            lanes[k] = max(lanes[k], gap * gap / curve)
    lane = 0
    for k in range(1, LANES):
        least[0] = min(least[0], least[k])
        if lanes[k] > lanes[lane]:
            lane = k
    best, most = -1, 0.0
    for t in range(lane, down.size, LANES):
        gap = max(high - down[t], 0.0)
        gain = gap * gap / max(K_ii + diagonal[t] - 2 * row[t], flat)
        if gain > most:
            most, best = gain, t
    return best


def _update_slopes(row_i, row_j, step, up, down, lanes):  # pragma: no cover
    """Update all slopes after a step along a pair; writes the maxima of `up` by lane into `lanes`."""
    for k in range(LANES):
        lanes[k] = -np.inf
    for group in range(up.size // LANES):
        for k in range(LANES):
            t = group * LANES + k
            change = step * (row_i[t] - row_j[t])
            down[t] -= change
            value = up[t] - change
            up[t] = value
            lanes[k] = max(lanes[k], value)


def _gaussian_row(exp: Any) -> Callable[..., None]:
    def gaussian_row(row, factor, right):  # pragma: no cover
        """row = exp(factor @ right)."""
        for start in range(0, row.size, _STRIP):
            values = row[start : start + _STRIP]
            for t in range(values.size):
                values[t] = 0
            for k in range(0, factor.size, UNROLLED):
                a, b, c, d = factor[k], factor[k + 1], factor[k + 2], factor[k + 3]
                p, q = right[k, start : start + _STRIP], right[k + 1, start : start + _STRIP]
                r, s = right[k + 2, start : start + _STRIP], right[k + 3, start : start + _STRIP]
                for t in range(values.size):
                    values[t] += a * p[t] + b * q[t] + c * r[t] + d * s[t]
            for t in range(values.size):
                values[t] = exp(values[t])

    return gaussian_row


def _stored_row(gaussian_row: Callable[..., None]) -> Callable[..., bool]:
    def stored_row(t, K, slot, stored, left, right, whole, place, diagonal):  # pragma: no cover
        """Whether row t is in the store, after computing or copying it where that is possible."""
        if slot[t] >= 0:
            return True
        row = K[stored[0]]
        if left.shape[1] > 0:
            gaussian_row(row, left[t], right)
            row[t] = diagonal[t]
        elif whole.shape[1] > 0:
            source = whole[place[t]]
            for k in range(place.size):
                row[k] = source[place[k]]
            for k in range(place.size, row.size):
                row[k] = 0
        else:
            return False
        slot[t] = stored[0]
        stored[0] += 1
        return True

    return stored_row


def _take_step(update_slopes: Callable[..., None]) -> Callable[..., None]:
    def take_step(i, j, row_i, row_j, numbers, width, flat, lanes):  # pragma: no cover
        """Raise b_i and lower b_j as far as that pays and bounds allow."""
        diagonal, lower, upper = numbers[0], numbers[1], numbers[2]
        b, up, down = numbers[3], numbers[4], numbers[5]
        K_ij, high, low = row_i[j], up[i], down[j]
        curve = max(diagonal[i] + diagonal[j] - 2 * K_ij, flat)
        top = upper[i] if width == 0.0 or b[i] >= 0.0 else min(upper[i], 0.0)
        bottom = lower[j] if width == 0.0 or b[j] <= 0.0 else max(lower[j], 0.0)
        room_i, room_j = top - b[i], b[j] - bottom
        step = min((high - low) / curve, min(room_i, room_j))
        # slopes without the kink of |b|
        slope_i = high + (width if b[i] >= 0.0 else -width) - step * (diagonal[i] - K_ij)
        slope_j = low + (width if b[j] > 0.0 else -width) - step * (K_ij - diagonal[j])
        b[i] = top if step == room_i else b[i] + step
        b[j] = bottom if step == room_j else b[j] - step
        up[i] = up[j] = -np.inf
        update_slopes(row_i, row_j, step, up, down, lanes)
        for t, slope in ((i, slope_i), (j, slope_j)):
            if b[t] < upper[t]:
                up[t] = slope - (width if b[t] >= 0.0 else -width)
                lanes[t % LANES] = max(lanes[t % LANES], up[t])
            else:
                up[t] = -np.inf
            down[t] = slope - (width if b[t] > 0.0 else -width) if b[t] > lower[t] else np.inf

    return take_step


def _steps(carray: Any, largest: Any, partner: Any, stored_row: Any, take_step: Any) -> Any:
    # fmt: off
    def steps(rows, slots, stored, state, scratch, left, right, rank, places, stride, n,
              width, tolerance, max_steps, missing):  # pragma: no cover
        # fmt: on
        size = (n + LANES - 1) // LANES * LANES
        K, slot, number = carray(rows, (1, size)), carray(slots, size), carray(stored, 1)
        factors, columns = carray(left, (1, rank)), carray(right, (rank, size))
        whole, place = carray(left, (1, stride)), carray(places, n)
        numbers, need = carray(state, (6, size)), carray(missing, 1)
        spare = carray(scratch, (3, LANES))
        lanes, gains, least = spare[0], spare[1], spare[2]
        diagonal, up, down, flat = numbers[0], numbers[4], numbers[5], 1e-300
        for k in range(LANES):
            lanes[k] = -np.inf
        for t in range(size):
            flat = max(flat, MIN_CURVATURE * diagonal[t])
            lanes[t % LANES] = max(lanes[t % LANES], up[t])
        need[0] = ALL_ROWS_STORED
        for count in range(max_steps):
            i = largest(up, lanes)
            if not stored_row(i, K, slot, number, factors, columns, whole, place, diagonal):
                need[0] = i
                return count
            row, high = K[slot[i]], up[i]
            j = partner(row, diagonal[i], diagonal, down, high, flat, gains, least)
            if high - least[0] <= tolerance or j < 0 or j == i:
                return count
            if not stored_row(j, K, slot, number, factors, columns, whole, place, diagonal):
                need[0] = j
                return count
            take_step(i, j, row, K[slot[j]], numbers, width, flat, lanes)
        return max_steps

    return steps
