"""Compiled loops over alignments of one series with a block of many, along antidiagonals.

Eight series, padded to one length, are computed side by side. Their points are stored channel by channel as
(d, length, 8), those of the single series reversed in time, each repeated eight times: (d, T, 8). On the
antidiagonal i + j = s, cells are then contiguous in both. A cell depends on cells before it only, so that
padding needs no care. Buffers hold three antidiagonals, cell j at place j + 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.kernels.series.lane_blocks import LANES
from mercer.native_exp import scaled_numbers

EMPTY = -1e9  # exponent of a cell that no alignment reaches: 2^-1e9 stands for 0
Loop = Callable[..., int]

# reversed series, length, channels, blocks, lengths of lanes, start and rows of blocks, first block, blocks,
# parameters, work, results
ARGUMENTS = "double* long long double* long* long* long* long long double* double* double*"


def work_size(longest: int) -> int:
    """Numbers of the buffer `work` for blocks of at most this length."""
    return 8 * LANES * (longest + 2)


def alignment_sums(numba: Any) -> Loop:
    """sum over alignments of the products of local values, as mantissas and exponents: results (2, blocks, 8).

    Local values are w k / (a - b w k), k = exp(-rate r^2), where w = 1 - |i - j| / width inside of the band
    |i - j| < width. parameters = rate, a, b, width; width 0: no band, w = 1.
    """
    exp_parts, power_of_two, normalized = scaled_numbers()

    @numba.njit(inline="always")
    def fold(values, new, old, older, at, cells, parameters):  # pragma: no cover
        rate, a, b = parameters[0], parameters[1], parameters[2]
        r2, weights = values[6], values[7]
        m0, e0 = values[new][at + 8 :], values[3 + new][at + 8 :]
        left, below, corner = values[old][at:], values[old][at + 8 :], values[older][at:]
        e_left, e_below = values[3 + old][at:], values[3 + old][at + 8 :]
        e_corner = values[3 + older][at:]
        for p in range(cells):
            k, power = exp_parts(-rate * r2[p])
            k *= weights[p]
            local = k / (a - b * k * power_of_two(max(power, -1022.0)))
            e = max(e_below[p], max(e_left[p], e_corner[p]))
            total = below[p] * power_of_two(max(e_below[p] - e, -1022.0))
            total += left[p] * power_of_two(max(e_left[p] - e, -1022.0))
            total += corner[p] * power_of_two(max(e_corner[p] - e, -1022.0))
            m0[p], shift = normalized(total * local)
            e0[p] = e + power + shift

    return _loop(numba, fold, EMPTY)


def warping_costs(numba: Any) -> Loop:
    """Least sum of squared distances along an alignment inside of the band |i - j| < width: results (2, blocks, 8).

    The costs are in the second half of the results. parameters = ignored, ignored, ignored, width.
    """

    @numba.njit(inline="always")
    def fold(values, new, old, older, at, cells, parameters):  # pragma: no cover
        r2, costs = values[6], values[3 + new][at + 8 :]
        left, below, corner = (
            values[3 + old][at:],
            values[3 + old][at + 8 :],
            values[3 + older][at:],
        )
        for p in range(cells):
            costs[p] = r2[p] + min(below[p], min(left[p], corner[p]))

    return _loop(numba, fold, np.inf)


def _loop(numba: Any, fold: Any, empty: float) -> Loop:
    """Antidiagonals of all blocks: `fold` computes the cells of one from those of the two before.

    The buffer has rows for three antidiagonals of mantissas, three of exponents or costs, squared distances and
    weights.
    """
    carray, antidiagonal = numba.carray, antidiagonal_function(numba)

    def loop(
        x, t, d, blocks, lengths, starts, rows, first, many, parameters, work, results
    ):  # pragma: no cover
        one, options = carray(x, d * t * 8), carray(parameters, 4)
        ends, start, size = carray(lengths, many * 8), carray(starts, many), carray(rows, many)
        out = carray(results, (2, many * 8))
        for block in range(first, many):
            length, lane = size[block], block * 8
            values = carray(work, (8, (length + 2) * 8))
            values[:3] = 1.0
            values[3:6] = empty
            values[7] = 1.0
            values[4, :8] = 0.0  # the cell (-1, -1), on the antidiagonal -2
            out[0, lane : lane + 8] = 1.0
            out[1, lane : lane + 8] = empty
            y = carray(blocks, start[block] + d * length * 8)[start[block] :]
            for s in range(t + length - 1):
                new, old, older = s % 3, (s + 2) % 3, (s + 1) % 3
                low, cells = antidiagonal(one, y, d, t, length, s, options[3], values)
                if cells == 0:
                    values[3 + new] = empty
                    continue
                at, last = low * 8, (s - t + 2) * 8
                fold(values, new, old, older, at, cells, options)
                values[3 + new, at : at + 8] = empty
                values[3 + new, at + 8 + cells : at + 16 + cells] = empty
                if at < last and last < at + 8 + cells:
                    for p in range(8):
                        if ends[lane + p] == s - t + 2:
                            out[0, lane + p] = values[new, last + p]
                            out[1, lane + p] = values[3 + new, last + p]
        return 0

    return loop


def antidiagonal_function(numba: Any) -> Any:
    """Function for compiled loops: first j and numbers of the antidiagonal s, its distances and weights."""

    @numba.njit(inline="always")
    def antidiagonal(x, y, d, t, length, s, width, values):  # pragma: no cover
        low, high = max(0, s - t + 1), min(length - 1, s)
        if width > 0:
            low = max(low, (s - int(width) + 2) // 2)  # |s - 2j| <= width - 1
            high = min(high, (s + int(width) - 1) // 2)
        if low > high:
            return 0, 0
        cells, r2, weights = (high - low + 1) * 8, values[6], values[7]
        mine, theirs = (t - 1 - s + low) * 8, low * 8  # of the first channel
        step, other = t * 8, length * 8  # from one channel to the next
        if d >= 3:  # three at a time: distances are stored once
            x0, x1, x2 = x[mine:], x[mine + step :], x[mine + 2 * step :]
            y0, y1, y2 = y[theirs:], y[theirs + other :], y[theirs + 2 * other :]
            for p in range(cells):
                r2[p] = (x0[p] - y0[p]) ** 2 + (x1[p] - y1[p]) ** 2 + (x2[p] - y2[p]) ** 2
        else:
            x0, y0 = x[mine:], y[theirs:]
            for p in range(cells):
                r2[p] = (x0[p] - y0[p]) ** 2
        for c in range(3 if d >= 3 else 1, d):
            x0, y0 = x[mine + c * step :], y[theirs + c * other :]
            for p in range(cells):
                r2[p] += (x0[p] - y0[p]) ** 2
        if width > 0:
            for p in range(cells):
                weights[p] = 1.0 - abs(s - 2 * low - 2 * (p >> 3)) / width
        return low, cells

    return antidiagonal
