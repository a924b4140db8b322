"""The loop of sequential minimal optimization, compiled by numba (the extra `compiled`).

`smo.py` has the same loop in NumPy and explains the algorithm. The functions below are compiled by
`compiled_steps` when it is first called; arrays of length n are padded to a multiple of `LANES`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

LANES = 32  # independent running maxima, so that the compiler fills the vector units with them
MIN_CURVATURE = 1e-12  # along a pair, relative to the diagonal: keeps steps finite for equal points


@cache
def compiled_steps() -> Callable[..., int]:
    """Compile the loop: (K, diagonal, width, lower, upper, b, up, down, tolerance, most) -> steps taken."""
    import numba

    compiled = numba.njit(
        nogil=True, fastmath={"nnan", "nsz", "contract", "reassoc"}, error_model="numpy"
    )
    return compiled(_loop(compiled(_largest), compiled(_partner), compiled(_update_slopes)))


def _largest(up, lanes):  # pragma: no cover
    """Position of the largest entry of `up`, given the maximum of every lane."""
    lane = np.argmax(lanes)
    best = lane
    for t in range(lane, up.size, LANES):
        if up[t] > up[best]:
            best = t
    return best


def _partner(row, K_ii, diagonal, down, high, flat, lanes, least):  # pragma: no cover
    """Position j of the largest gain, (high - down_j)^2 / curvature; -1 where no j gains.

    Writes the minima of `down` by lane into `least`.
    """
    lanes[:] = 0.0
    least[:] = np.inf
    for group in range(down.size // LANES):
        for k in range(LANES):
            t = group * LANES + k
            value = down[t]
            least[k] = min(least[k], value)
            gap = max(high - value, 0.0)
            curve = max(K_ii + diagonal[t] - 2 * row[t], flat)
            lanes[k] = max(lanes[k], gap * gap / curve)
    lane, best, most = np.argmax(lanes), -1, 0.0
    for t in range(lane, down.size, LANES):
        gap = max(high - down[t], 0.0)
        gain = gap * gap / max(K_ii + diagonal[t] - 2 * row[t], flat)
        if gain > most:
            most, best = gain, t
    return best


def _update_slopes(row_i, row_j, step, up, down, lanes):  # pragma: no cover
    """Update all slopes after a step along a pair; writes the maxima of `up` by lane into `lanes`."""
    lanes[:] = -np.inf
    for group in range(up.size // LANES):
        for k in range(LANES):
            t = group * LANES + k
            change = step * (row_i[t] - row_j[t])
            down[t] -= change
            value = up[t] - change
            up[t] = value
            lanes[k] = max(lanes[k], value)


def _loop(
    largest: Callable[..., Any], partner: Callable[..., Any], update_slopes: Callable[..., Any]
) -> Callable[..., int]:
    """Build the loop from its compiled helpers, which numba takes from the closure."""

    def steps(K, diagonal, width, lower, upper, b, up, down, tolerance, most):  # pragma: no cover
        lanes, gains, least = np.empty(LANES), np.empty(LANES), np.empty(LANES)
        flat = MIN_CURVATURE * max(diagonal.max(), 1e-300)
        update_slopes(K[0], K[0], 0.0, up, down, lanes)
        for count in range(most):
            i = largest(up, lanes)
            high = up[i]
            j = partner(K[i], diagonal[i], diagonal, down, high, flat, gains, least)
            if high - least.min() <= tolerance or j < 0 or j == i:
                return count
            low = down[j]
            curve = max(diagonal[i] + diagonal[j] - 2 * K[i, j], flat)
            top = upper[i] if width == 0.0 or b[i] >= 0.0 else min(upper[i], 0.0)
            bottom = lower[j] if width == 0.0 or b[j] <= 0.0 else max(lower[j], 0.0)
            room_i, room_j = top - b[i], b[j] - bottom
            step = min((high - low) / curve, min(room_i, room_j))
            # slopes without the kink of |b|
            slope_i = high + (width if b[i] >= 0.0 else -width) - step * (diagonal[i] - K[i, j])
            slope_j = low + (width if b[j] > 0.0 else -width) - step * (K[i, j] - diagonal[j])
            b[i] = top if step == room_i else b[i] + step
            b[j] = bottom if step == room_j else b[j] - step
            up[i] = up[j] = -np.inf
            update_slopes(K[i], K[j], step, up, down, lanes)
            for t, slope in ((i, slope_i), (j, slope_j)):
                if b[t] < upper[t]:
                    up[t] = slope - (width if b[t] >= 0.0 else -width)
                    lanes[t % LANES] = max(lanes[t % LANES], up[t])
                else:
                    up[t] = -np.inf
                down[t] = slope - (width if b[t] > 0.0 else -width) if b[t] > lower[t] else np.inf
        return most

    return steps
