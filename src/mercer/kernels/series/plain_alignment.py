"""Compiled sums over alignments without a band, with one exponent for all cells of an antidiagonal.

Values are plain numbers. From time to time two consecutive antidiagonals are divided by their largest value. Every
alignment passes a cell of one of them, so that underflow in between loses nothing of a sum unless one of these cells
is tiny. Then the result is NaN, and `alignment_loops.alignment_sums`, in which each cell has an exponent of its own, is
to be asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.series.alignment_loops import Loop, antidiagonal_function
from mercer.native_exp import inlined_exp, scaled_numbers

_SMALLEST = 1e-280  # of a cell, where the largest value of the last scaling was 1: far from underflow at 1e-308
_STEPS_BETWEEN_SCALING = 32  # antidiagonals, in which sums grow at most by 3^32 = 2e15


def plain_alignment_sums(numba: Any) -> Loop:
    """The loop: arguments and results are those of `alignment_loops.alignment_sums`, the width being 0.

    The buffer has rows for three antidiagonals, exponents of the lanes, largest and smallest values, and squared
    distances.
    """
    carray, antidiagonal = numba.carray, antidiagonal_function(numba)
    fold, rescale, read = _fold(numba), _rescale(numba), _read(numba)

    def loop(
        x, t, d, blocks, lengths, starts, rows, first, many, parameters, work, results
    ):  # pragma: no cover
        single, options = carray(x, d * t * 8), carray(parameters, 4)
        ends, start, size = carray(lengths, many * 8), carray(starts, many), carray(rows, many)
        out = carray(results, (2, many * 8))
        for block in range(first, many):
            length, lane = size[block], block * 8
            values = carray(work, (8, (length + 2) * 8))
            values[:4] = 0.0
            values[1, :8] = 1.0  # the cell (-1, -1), on the antidiagonal -2
            y = carray(blocks, start[block] + d * length * 8)[start[block] :]
            for s in range(t + length - 1):
                new, old, older = s % 3, (s + 2) % 3, (s + 1) % 3
                low, cells = antidiagonal(single, y, d, t, length, s, 0.0, values)
                at = low * 8
                fold(values, new, old, older, at, cells, options)
                values[new, at : at + 8] = 0.0
                values[new, at + 8 + cells : at + 16 + cells] = 0.0
                if s >= t - 1:
                    read(values, new, s - t + 2, ends[lane:], out[0][lane:], out[1][lane:])
                if s % _STEPS_BETWEEN_SCALING == _STEPS_BETWEEN_SCALING - 1:
                    before = max(0, s - t) * 8, min(length, s) * 8
                    if not rescale(values, new, at, at + cells, old, before[0], before[1]):
                        out[1, lane : lane + 8] = np.nan
                        break
        return 0

    return loop


def _fold(numba: Any) -> Any:
    """Function for compiled loops: the cells of an antidiagonal from those of the two before."""
    exp = inlined_exp(8)

    @numba.njit(inline="always")
    def fold(values, new, old, older, at, cells, parameters):  # pragma: no cover
        rate, a, b = parameters[0], parameters[1], parameters[2]
        r2, out = values[6], values[new][at + 8 :]
        left, below, corner = values[old][at:], values[old][at + 8 :], values[older][at:]
        for p in range(cells):
            k = exp(-rate * r2[p])
            out[p] = (left[p] + below[p] + corner[p]) * (k / (a - b * k))

    return fold


def _read(numba: Any) -> Any:
    """Function for compiled loops: results of the lanes whose series have a length, NaN for tiny ones."""

    @numba.njit(inline="always")
    def read(values, new, length, lengths, mantissas, exponents):  # pragma: no cover
        for p in range(8):
            if lengths[p] == length:
                mantissas[p] = values[new, length * 8 + p]
                lost = mantissas[p] < _SMALLEST
                exponents[p] = np.nan if lost else values[3, p]

    return read


def _rescale(numba: Any) -> Any:
    """Function for compiled loops: divide two antidiagonals by their largest value; False if a cell is tiny."""
    _, power_of_two, normalized = scaled_numbers()

    @numba.njit(inline="always")
    def rescale(values, new, start, stop, old, first, last):  # pragma: no cover
        high, low, exponents = values[4], values[5], values[3]
        high[:8], low[:8] = 0.0, 1.0
        for p in range(start + 8, stop + 8):
            high[p & 7] = max(high[p & 7], values[new, p])
            low[p & 7] = min(low[p & 7], values[new, p])
        for p in range(first + 8, last + 8):
            high[p & 7] = max(high[p & 7], values[old, p])
            low[p & 7] = min(low[p & 7], values[old, p])
        for lane in range(8):
            if low[lane] < _SMALLEST:
                return False
            shift = normalized(high[lane])[1]
            exponents[lane] += shift
            high[lane] = power_of_two(-shift)
        for p in range(start + 8, stop + 8):
            values[new, p] *= high[p & 7]
        for p in range(first + 8, last + 8):
            values[old, p] *= high[p & 7]
        return True

    return rescale
