"""Penalised log-likelihoods of functions on landmarks: products with a matrix that is streamed, or stored.

Newton's method needs their values, gradients, and products with their second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mercer.backend import Array, array_like, astype, double, namespace, scalar, transposed
from mercer.learn.conjugate_gradients import Look
from mercer.learn.landmarks.normal_equations import transposed_times_changed
from mercer.learn.regression.links import Link
from mercer.linalg import threads_for_product

Turn = Callable[[Array, Array], tuple[Array, Array]]  # directions of c and b -> Z'r and sums of r


@dataclass(eq=False)
class StreamedLikelihood:
    """Minus the log-likelihood of F = ZMt + 1b' plus ridge |f|^2, as a function of (t, b): passes over Z.

    Rows of the argument are those of t (m, C), and b last, in units that make its curvature like
    that of the others.
    """

    rows: Any  # -> batches of Z, labels and weights
    link: Link
    ridge: float
    lower: Array  # L of the penalty LL'
    outer: Array  # M
    width: int
    unit: float
    passes: int = 0

    def look(self, point: Array) -> Look:
        """Value and gradient by one pass; curvature by one more for every v."""
        c, b = self._coefficients(point)
        total, extras, turn = self._at(c, b)
        xp = namespace(point)
        smooth = self._smooth(c)
        value = scalar(extras[0]) + self.ridge * scalar(xp.sum(c * smooth))
        gradient = self._outward(total + 2 * self.ridge * smooth, extras[1:])

        def curvature(v: Array) -> Array:
            dc, db = self._coefficients(v)
            products, sums = turn(dc, db)
            return self._outward(products + 2 * self.ridge * self._smooth(dc), sums[1:])

        return Look(value, gradient, curvature)

    def _coefficients(self, point: Array) -> tuple[Array, Array]:
        return self.outer @ point[:-1, :], self.unit * point[-1, :]

    def _smooth(self, c: Array) -> Array:
        """P c."""
        return self.lower @ (namespace(c).permute_dims(self.lower, (1, 0)) @ c)

    def _outward(self, by_coefficients: Array, sums: Array) -> Array:
        """A gradient with respect to c and b as one with respect to the point."""
        xp = namespace(by_coefficients)
        by_point = xp.permute_dims(self.outer, (1, 0)) @ by_coefficients
        return xp.concat([by_point, self.unit * sums[None, :]])

    def _at(self, c: Array, b: Array) -> tuple[Array, Array, Turn]:
        """Z'r for the slopes r at ZMt + 1b', their sums, and how both change with c and b."""
        return *self._pass(c, b, None, None), partial(self._pass, c, b)

    def _pass(self, c: Array, b: Array, dc: Array | None, db: Array | None) -> tuple[Array, Array]:
        self.passes += 1
        xp = namespace(c)
        total, extras = None, None
        for design, hot, weights in self.rows():
            v = astype(c if dc is None else xp.concat([c, dc], axis=1), design.like.dtype)
            w = None if weights is None else array_like(weights, design.like, double(design.like))
            change = _Residual(self.link, hot, w, b, db)
            product, extra = transposed_times_changed(design, v, change)
            total = product if total is None else total + product
            extras = extra if extras is None else extras + extra
        assert total is not None  # the source has batches: it was read before
        assert extras is not None
        return total, extras


@dataclass(eq=False)
class StoredLikelihood(StreamedLikelihood):
    """The same where Z is one batch in memory: all curvatures at a point share its probabilities."""

    z: Array = field(kw_only=True)

    def __post_init__(self) -> None:
        ((_, self._hot, weights),) = self.rows()
        self._weights = None if weights is None else array_like(weights, self.z)[:, None]

    def _at(self, c: Array, b: Array) -> tuple[Array, Array, Turn]:
        xp = namespace(c)
        values = self._times(self.z, c) + b[None, :]
        p, lost = self.link.mean(values), self.link.lost(values, self._hot)
        lost = lost if self._weights is None else lost * self._weights[:, 0]
        product, sums = self._back(p - self._hot, xp.sum(lost))
        self.passes += 1

        def turn(dc: Array, db: Array) -> tuple[Array, Array]:
            self.passes += 1
            change = self.link.change(p, self._times(self.z, dc) + db[None, :])
            return self._back(change, 0 * sums[0])

        return product, sums, turn

    def _back(self, r: Array, first: Array) -> tuple[Array, Array]:
        """Z'Wr, and a number followed by the sums of Wr."""
        xp = namespace(r)
        r = r if self._weights is None else r * self._weights
        return self._times(transposed(self.z), r), xp.concat([first[None], xp.sum(r, axis=0)])

    @staticmethod
    def _times(matrix: Array, v: Array) -> Array:
        with threads_for_product(int(matrix.shape[0]) * int(matrix.shape[1]) * int(v.shape[1])):
            return matrix @ v


@dataclass(frozen=True, eq=False)
class _Residual:
    """Values -> slopes of the loss; or, with directions, how these change; and sums of both."""

    link: Link
    hot: Array
    weights: Array | None
    b: Array
    db: Array | None

    def __call__(self, f: Array, rows: slice) -> tuple[Array, Array]:
        f, hot = astype(f, double(f)), astype(self.hot[rows, :], double(f))
        xp, width = namespace(f), int(hot.shape[1])
        values = f[:, :width] + self.b[None, :]
        p = self.link.mean(values)
        if self.db is None:
            r, lost = p - hot, self.link.lost(values, hot)
        else:
            r, lost = self.link.change(p, f[:, width:] + self.db[None, :]), 0 * p[:, 0]
        if self.weights is not None:
            r, lost = r * self.weights[rows][:, None], lost * self.weights[rows]
        return r, xp.concat([xp.sum(lost)[None], xp.sum(r, axis=0)])
