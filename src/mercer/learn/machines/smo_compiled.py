"""The loop of sequential minimal optimization in machine code (the extra `compiled`).

`smo.py` has the same loop in NumPy and explains the algorithm. Rows of the matrix are looked up in a
store. A row that is not there is computed by the loop if the kernel is Gaussian; for other kernels the loop
returns and says which row it needs. Arrays of length n are padded to a multiple of `LANES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.gram import fast_exp
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
    return native_loop(build, _signature(dtype), (fast_exp.__file__,))


def is_quickly_compiled(dtype: Any = np.float64) -> bool:
    """Whether `compiled_steps` loads stored code, or compiles for the first time in this installation."""
    build = _single if np.dtype(dtype) == np.float32 else _double
    return is_quick(build, _signature(dtype), (fast_exp.__file__,))


def _signature(dtype: Any) -> str:
    kind = "float" if np.dtype(dtype) == np.float32 else "double"
    store, sources = f"{kind}* long* long*", f"{kind}* {kind}* long long* long"
    return f"{store} double* double* {sources} long double double long long*"


def _single(numba: Any) -> Callable[..., int]:
    return _loop(numba, fast_exp.inlined_exp(4))


def _double(numba: Any) -> Callable[..., int]:
    return _loop(numba, fast_exp.inlined_exp(8))


def _loop(numba: Any, exp: Any) -> Callable[..., int]:
    called, inlined = helper(numba), numba.njit(inline="always")
    carray, flat_share = numba.carray, MIN_CURVATURE
    lane_count, all_stored, step, strip = LANES, ALL_ROWS_STORED, UNROLLED, _STRIP

    @called
    def gaussian_row(row, factor, right, size, rank):  # pragma: no cover
        """row = exp(factor @ right)."""
        for start in range(0, size, strip):
            values = row[start : start + strip]
            for t in range(values.size):
                values[t] = 0
            for k in range(0, rank, step):
                a, b, c, d = factor[k], factor[k + 1], factor[k + 2], factor[k + 3]
                p, q = right[k, start : start + strip], right[k + 1, start : start + strip]
                r, s = right[k + 2, start : start + strip], right[k + 3, start : start + strip]
                for t in range(values.size):
                    values[t] += a * p[t] + b * q[t] + c * r[t] + d * s[t]
            for t in range(values.size):
                values[t] = exp(values[t])

    @called
    def largest(up, lanes):  # pragma: no cover
        """Position of the largest entry of `up`, given the maximum of every lane."""
        lane = 0
        for k in range(1, lane_count):
            if lanes[k] > lanes[lane]:
                lane = k
        best = lane
        for t in range(lane, up.size, lane_count):
            if up[t] > up[best]:
                best = t
        return best

    @called
    def partner(row, K_ii, diagonal, down, high, flat, lanes, least):  # pragma: no cover
        """Position j of the largest gain, (high - down_j)^2 / curvature; -1 where no j gains.

        Writes the minima of `down` by lane into `least`.
        """
        for k in range(lane_count):
            lanes[k] = 0.0
            least[k] = np.inf
        for group in range(down.size // lane_count):
            for k in range(lane_count):
                t = group * lane_count + k
                value = down[t]
                least[k] = min(least[k], value)
                gap = max(high - value, 0.0)
                curve = max(K_ii + diagonal[t] - 2 * row[t], flat)
                lanes[k] = max(lanes[k], gap * gap / curve)
        lane = 0
        for k in range(1, lane_count):
            if lanes[k] > lanes[lane]:
                lane = k
        best, most = -1, 0.0
        for t in range(lane, down.size, lane_count):
            gap = max(high - down[t], 0.0)
            gain = gap * gap / max(K_ii + diagonal[t] - 2 * row[t], flat)
            if gain > most:
                most, best = gain, t
        return best

    @called
    def update_slopes(row_i, row_j, step, up, down, lanes):  # pragma: no cover
        """Update all slopes after a step along a pair; writes the maxima of `up` by lane into `lanes`."""
        for k in range(lane_count):
            lanes[k] = -np.inf
        for group in range(up.size // lane_count):
            for k in range(lane_count):
                t = group * lane_count + k
                change = step * (row_i[t] - row_j[t])
                down[t] -= change
                value = up[t] - change
                up[t] = value
                lanes[k] = max(lanes[k], value)

    @inlined  # so that views of rows, whose references numba counts, stay inside one function
    def stored_row(
        t, K, slot, stored, left, right, whole, place, diagonal, rank
    ):  # pragma: no cover
        """Whether row t is in the store, after computing or copying it where that is possible."""
        if slot[t] >= 0:
            return True
        row = K[stored[0]]
        if rank > 0:
            gaussian_row(row, left[t], right, diagonal.size, rank)
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

    def steps(
        rows,
        slots,
        stored,
        state,
        scratch,
        left,
        right,
        rank,
        places,
        stride,
        n,
        width,
        tolerance,
        max_steps,
        missing,
    ):  # pragma: no cover
        size = (n + lane_count - 1) // lane_count * lane_count
        K, slot, number = carray(rows, (1, size)), carray(slots, size), carray(stored, 1)
        factors, columns = carray(left, (1, rank)), carray(right, (rank, size))
        whole, place = carray(left, (1, stride)), carray(places, n)
        numbers, need = carray(state, (6, size)), carray(missing, 1)
        diagonal, lower, upper = numbers[0], numbers[1], numbers[2]
        b, up, down = numbers[3], numbers[4], numbers[5]
        spare = carray(scratch, (3, lane_count))
        lanes, gains, least = spare[0], spare[1], spare[2]
        flat = 1e-300
        for t in range(size):
            flat = max(flat, diagonal[t])
        flat *= flat_share
        for k in range(lane_count):
            lanes[k] = -np.inf
        for t in range(size):
            lanes[t % lane_count] = max(lanes[t % lane_count], up[t])
        need[0] = all_stored
        for count in range(max_steps):
            i = largest(up, lanes)
            high = up[i]
            if not stored_row(i, K, slot, number, factors, columns, whole, place, diagonal, rank):
                need[0] = i
                return count
            row_i = K[slot[i]]
            j = partner(row_i, diagonal[i], diagonal, down, high, flat, gains, least)
            low = np.inf
            for k in range(lane_count):
                low = min(low, least[k])
            if high - low <= tolerance or j < 0 or j == i:
                return count
            if not stored_row(j, K, slot, number, factors, columns, whole, place, diagonal, rank):
                need[0] = j
                return count
            row_j = K[slot[j]]
            K_ij = row_i[j]
            low = down[j]
            curve = max(diagonal[i] + diagonal[j] - 2 * K_ij, flat)
            top = upper[i] if width == 0.0 or b[i] >= 0.0 else min(upper[i], 0.0)
            bottom = lower[j] if width == 0.0 or b[j] <= 0.0 else max(lower[j], 0.0)
            room_i, room_j = top - b[i], b[j] - bottom
            length = min((high - low) / curve, min(room_i, room_j))
            # slopes without the kink of |b|
            slope_i = high + (width if b[i] >= 0.0 else -width) - length * (diagonal[i] - K_ij)
            slope_j = low + (width if b[j] > 0.0 else -width) - length * (K_ij - diagonal[j])
            b[i] = top if length == room_i else b[i] + length
            b[j] = bottom if length == room_j else b[j] - length
            up[i] = up[j] = -np.inf
            update_slopes(row_i, row_j, length, up, down, lanes)
            for t, slope in ((i, slope_i), (j, slope_j)):
                if b[t] < upper[t]:
                    up[t] = slope - (width if b[t] >= 0.0 else -width)
                    lanes[t % lane_count] = max(lanes[t % lane_count], up[t])
                else:
                    up[t] = -np.inf
                down[t] = slope - (width if b[t] > 0.0 else -width) if b[t] > lower[t] else np.inf
        return max_steps

    return steps
