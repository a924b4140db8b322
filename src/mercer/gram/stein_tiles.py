"""Tiles of Stein kernels: three matrix products shared by all kernels of one score, and an elementwise loop.

k_p = s(x)'s(y) f + 2 f' ((s(y) - s(x))'u - d) - 4 r2 f'' with u = x - y depends on three numbers for each
pair: the squared distance, the product of the scores, and the step (s(y) - s(x))'u - d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import Array, to_numpy
from mercer.gram.fast_exp import exponential, worth_it
from mercer.gram.threads import spans
from mercer.kernels.base import Kernel
from mercer.kernels.radial import RBF, InverseMultiquadric
from mercer.kernels.stein import Scored, halves, stein_values
from mercer.native import native_loop

Parts = tuple[np.ndarray, np.ndarray, np.ndarray]  # r2, s(x)'s(y), (s(y) - s(x))'u - d
Distances = Callable[[slice, slice], Array]
Join = Callable[
    [Any, Any, Any, np.ndarray], None
]  # (r2, products, steps, out): writes k_p into out

_MAX_ENTRIES_IN_CACHE = 2**15  # of a strip: its arrays of 256 KiB stay in the level-2 cache
_MIN_STRIP_COLUMNS = 64  # narrower matrix products are slow


class SteinParts:
    """(rows, columns) -> squared distances, products of scores and steps, from rows [x, s(x)] in float64.

    Squared distances come from `distances`; steps are one product of augmented, centred points,
    [x, s, -x's, 1] . [t, y, 1, -y't - d], which avoids cancellation.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, distances: Distances) -> None:
        self.distances = distances
        (a, s), (b, t) = halves(x), halves(y)
        middle = np.mean(a, axis=0)
        a, b = a - middle, b - middle
        unit = np.ones((1, 1), dtype=np.float64)
        row_terms = -np.sum(a * s, axis=1)[:, None]
        column_terms = -np.sum(b * t, axis=1)[:, None] - a.shape[1]
        self._scores = np.ascontiguousarray(s), np.ascontiguousarray(t.T)
        self._left = np.concatenate(
            [a, s, row_terms, np.broadcast_to(unit, row_terms.shape)], axis=1
        )
        right = np.concatenate(
            [t, b, np.broadcast_to(unit, column_terms.shape), column_terms], axis=1
        )
        self._right = np.ascontiguousarray(right.T)

    def __call__(self, rows: slice, columns: slice) -> Parts:
        r2 = to_numpy(self.distances(rows, columns))
        products = self._scores[0][rows] @ self._scores[1][:, columns]
        return r2, products, self._left[rows] @ self._right[:, columns]


@dataclass(frozen=True)
class SteinTile:
    """Tiles of one Stein kernel."""

    parts: SteinParts
    join: Join

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        height, start = rows.stop - rows.start, columns.start
        out = np.empty((height, columns.stop - start), dtype=np.float64)
        for strip in spans(
            columns.stop, max(_MAX_ENTRIES_IN_CACHE // max(height, 1), _MIN_STRIP_COLUMNS), start
        ):
            self.join(*self.parts(rows, strip), out[:, strip.start - start : strip.stop - start])
        return out


def join(kernel: Kernel, values: int) -> Join:
    """The function of the three arrays that writes the Stein kernel of `kernel`, for `values` entries in all."""
    if isinstance(kernel, RBF):
        return _GaussianStein(kernel.rate, exponential(values))
    if isinstance(kernel, InverseMultiquadric):
        return _MultiquadricStein(kernel.offset**2, kernel.exponent, worth_it(values))
    return _RadialStein(kernel)


@dataclass(frozen=True)
class _RadialStein:
    """Any smooth radial kernel, by f, f' and f''."""

    kernel: Kernel

    def __call__(self, r2: Any, products: Any, steps: Any, out: Any) -> None:
        out[:] = stein_values(Scored(self.kernel).form, r2, products, steps)


@dataclass(frozen=True)
class _GaussianStein:
    """f' = -g f and f'' = g^2 f with f = exp(-g r2)."""

    rate: float
    exp: Callable[[np.ndarray], np.ndarray]

    def __call__(self, r2: Any, products: Any, steps: Any, out: Any) -> None:
        g = self.rate
        np.multiply(steps, -2 * g, out=out)
        out += products
        out -= 4 * g**2 * r2
        out *= self.exp(-g * r2)


@dataclass(frozen=True)
class _MultiquadricStein:
    """f' = -b q f and f'' = b (b + 1) q^2 f with q = 1 / (c^2 + r2) and f = q^b."""

    square: float
    exponent: float
    compiled: bool

    def __call__(self, r2: Any, products: Any, steps: Any, out: Any) -> None:
        b = self.exponent
        if self.compiled and b == 0.5:
            contiguous = out if out.flags.c_contiguous else np.empty_like(r2)
            loop = native_loop(_multiquadric, "double* double* double* double* double long")
            loop(r2, products, steps, contiguous, self.square, r2.size)
            if contiguous is not out:
                out[:] = contiguous
            return
        q = 1 / (self.square + r2)
        np.multiply(r2, -4 * b * (b + 1), out=out)
        out *= q
        out -= 2 * b * steps
        out *= q
        out += products
        out *= np.sqrt(q, out=q) if b == 0.5 else q**b


def _multiquadric(numba: Any) -> Callable[..., int]:
    """A loop for b = 1/2 without temporaries."""
    carray = numba.carray

    def loop(r2, products, steps, out, square, entries):  # pragma: no cover
        distances, p, s = carray(r2, entries), carray(products, entries), carray(steps, entries)
        values = carray(out, entries)
        for i in range(entries):
            q = 1.0 / (square + distances[i])
            values[i] = np.sqrt(q) * (p[i] - q * (s[i] + 3.0 * distances[i] * q))
        return 0

    return loop
