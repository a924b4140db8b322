"""The steps of sequential minimal optimization, compiled by numba (the extra `compiled`).

`steps.py` has the same loop in NumPy, and says what it does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

LANES = 32  # maxima are kept in so many lanes, which vector units fill; arrays have multiples of it
FLAT = 1e-12  # least curvature along a pair, relative to the diagonal


def is_loaded() -> bool:
    """Whether the loop was compiled before, in this process: then it pays whatever the size."""
    return compiled_steps.cache_info().currsize > 0


@cache
def compiled_steps() -> Callable[..., int]:
    """The loop: (K, diagonal, width, lower, upper, b, up, down, tolerance, most) -> steps done."""
    import numba

    options = {
        "nogil": True,
        "fastmath": {"nnan", "nsz", "contract", "reassoc"},
        "error_model": "numpy",
    }

    @numba.njit(**options)
    def largest(up, lanes):  # pragma: no cover
        """The position of the largest entry, when `lanes` has the maxima of every lane."""
        lane = np.argmax(lanes)
        best = lane
        for t in range(lane, up.size, LANES):
            if up[t] > up[best]:
                best = t
        return best

    @numba.njit(**options)
    def partner(row, own, diagonal, down, high, flat, lanes, least):  # pragma: no cover
        """The j of the largest gain, (high - down_j)^2 / curvature; -1 where none can gain.

        `least` are the minima of `down`.
        """
        lanes[:] = 0.0
        least[:] = np.inf
        for group in range(down.size // LANES):
            for k in range(LANES):
                t = group * LANES + k
                value = down[t]
                least[k] = min(least[k], value)
                gap = max(high - value, 0.0)
                curve = max(own + diagonal[t] - 2 * row[t], flat)
                lanes[k] = max(lanes[k], gap * gap / curve)
        lane, best, most = np.argmax(lanes), -1, 0.0
        for t in range(lane, down.size, LANES):
            gap = max(high - down[t], 0.0)
            gain = gap * gap / max(own + diagonal[t] - 2 * row[t], flat)
            if gain > most:
                most, best = gain, t
        return best

    @numba.njit(**options)
    def moved(row_i, row_j, step, up, down, lanes):  # pragma: no cover
        """Follow a step: all slopes change; `lanes` are the maxima of `up`."""
        lanes[:] = -np.inf
        for group in range(up.size // LANES):
            for k in range(LANES):
                t = group * LANES + k
                change = step * (row_i[t] - row_j[t])
                down[t] -= change
                value = up[t] - change
                up[t] = value
                lanes[k] = max(lanes[k], value)

    @numba.njit(**options)
    def steps(K, diagonal, width, lower, upper, b, up, down, tolerance, most):  # pragma: no cover
        lanes, gains, least = np.empty(LANES), np.empty(LANES), np.empty(LANES)
        flat = FLAT * max(diagonal.max(), 1e-300)
        moved(K[0], K[0], 0.0, up, down, lanes)
        for done in range(most):
            i = largest(up, lanes)
            high = up[i]
            j = partner(K[i], diagonal[i], diagonal, down, high, flat, gains, least)
            if high - least.min() <= tolerance or j < 0 or j == i:
                return done
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
            moved(K[i], K[j], step, up, down, lanes)
            for t, slope in ((i, slope_i), (j, slope_j)):
                if b[t] < upper[t]:
                    up[t] = slope - (width if b[t] >= 0.0 else -width)
                    lanes[t % LANES] = max(lanes[t % LANES], up[t])
                else:
                    up[t] = -np.inf
                down[t] = slope - (width if b[t] > 0.0 else -width) if b[t] > lower[t] else np.inf
        return most

    return steps
