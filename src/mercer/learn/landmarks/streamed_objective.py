"""Penalised losses of functions on landmarks: products with a matrix that is streamed, or stored.

Newton's method needs their values, gradients, and products with their second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    is_numpy,
    namespace,
    scalar,
    transposed,
)
from mercer.gram.threads import in_order
from mercer.learn.conjugate_gradients import Look, by_conjugate_gradients
from mercer.learn.landmarks.normal_equations import transposed_times_changed
from mercer.learn.landmarks.ridge_solvers import PartedRows, Rows
from mercer.learn.regression.class_losses import ClassLoss
from mercer.linalg import threads_for_product

Turn = Callable[[Array, Array], tuple[Array, Array]]  # directions of c and b -> Z'r and sums of r


@dataclass(eq=False)
class StreamedObjective:
    """The loss of F = ZMt + 1b' plus ridge |f|^2, as a function of (t, b): passes over Z.

    Rows of the argument are those of t (m, C), and b last, in units that make its curvature like
    that of the others.
    """

    rows: Callable[[], Rows]  # batches of Z, labels and weights
    parted: PartedRows | None  # the same in parts, if there are several
    loss: ClassLoss
    ridge: float
    outer: Array  # M
    lower: Array | None  # L of the penalty |f|^2 = |L'Mt|^2; None where it is |t|^2
    width: int  # C
    unit: float
    mapped: bool = False  # whether the batches are those of ZM
    passes: int = 0

    def look(self, point: Array) -> Look:
        """Value and gradient by one pass; a direction by one more for every step of conjugate gradients."""
        c, b = self._inward(point)
        total, extras, turn = self._at(c, b)
        smooth = self._smooth(point)
        value = scalar(extras[0]) + self.ridge * scalar(namespace(point).sum(point * smooth))
        gradient = self._outward(total, extras[1:]) + 2 * self.ridge * smooth
        return Look(value, gradient, self._direction(c, b, gradient, turn))

    def solution(self, point: Array) -> tuple[Array, Array]:
        """The coefficients Mt (m, C), and the intercepts (C,)."""
        return self.outer @ point[:-1, :], self.unit * point[-1, :]

    def _direction(
        self, c: Array, b: Array, gradient: Array, turn: Turn
    ) -> Callable[[float], Array]:
        """Newton's direction at c and b, for a relative residual of its system."""

        def curvature(v: Array) -> Array:
            products, sums = turn(*self._inward(v))
            return self._outward(products, sums[1:]) + 2 * self.ridge * self._smooth(v)

        return by_conjugate_gradients(gradient, curvature)

    def _inward(self, point: Array) -> tuple[Array, Array]:
        """Coefficients of the columns of the batches, and intercepts."""
        c, b = point[:-1, :], self.unit * point[-1, :]
        return (c if self.mapped else self.outer @ c), b

    def _smooth(self, point: Array) -> Array:
        """Half the gradient of |f|^2."""
        xp, t = namespace(point), point[:-1, :]
        if self.lower is not None:
            image = transposed(self.lower) @ (self.outer @ t)
            t = transposed(self.outer) @ (self.lower @ image)
        return xp.concat([t, xp.zeros_like(point[-1:, :])])

    def _outward(self, by_coefficients: Array, sums: Array) -> Array:
        """A gradient with respect to c and b as one with respect to the point."""
        xp = namespace(by_coefficients)
        by_point = by_coefficients if self.mapped else transposed(self.outer) @ by_coefficients
        return xp.concat([by_point, self.unit * sums[None, :]])

    def _at(self, c: Array, b: Array) -> tuple[Array, Array, Turn]:
        """Z'r for the slopes r at ZMt + 1b', their sums, and how both change with c and b."""
        return *self._pass(c, b, None, None), partial(self._pass, c, b)

    def _pass(self, c: Array, b: Array, dc: Array | None, db: Array | None) -> tuple[Array, Array]:
        columns = c if dc is None else namespace(c).concat([c, dc], axis=1)
        held = 8 * int(c.shape[0]) * int(c.shape[1])
        total, extras = self._summed(_SlopeSums(self.loss, columns, b, db), held)
        return total, extras

    def _summed(self, work: Callable[[Rows], list[Array]], held: int) -> list[Array]:
        """The sums over all rows, of `held` bytes, in one pass: part by part where there are parts."""
        self.passes += 1
        if self.parted is None:
            return work(self.rows())
        each = _OfPart(self.parted.read, work)
        sums = in_order(each, self.parted.parts, parallel=is_numpy(self.outer), held=held)
        return reduce(_added, sums)


@dataclass(eq=False)
class StoredObjective(StreamedObjective):
    """The same where Z is one batch in memory: all curvatures at a point share its values."""

    def __post_init__(self) -> None:
        ((design, self._hot, weights),) = self.rows()
        self.z = design.dense()
        self._weights = None if weights is None else array_like(weights, self.z)[:, None]

    def _at(self, c: Array, b: Array) -> tuple[Array, Array, Turn]:
        xp = namespace(c)
        values = self._times(self.z, c) + b[None, :]
        lost, change = self.loss.lost(values, self._hot), self.loss.curvature(values, self._hot)
        lost = lost if self._weights is None else lost * self._weights[:, 0]
        product, sums = self._back(self.loss.slope(values, self._hot), xp.sum(lost))
        self.passes += 1

        def turn(dc: Array, db: Array) -> tuple[Array, Array]:
            self.passes += 1
            return self._back(change(self._times(self.z, dc) + db[None, :]), 0 * sums[0])

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
class _SlopeSums:
    """Batches -> Z'r for the slopes r at Zc + 1b', or their changes where there is a `db`; and sums of both."""

    loss: ClassLoss
    columns: Array  # c, and the direction dc beside it
    b: Array
    db: Array | None

    def __call__(self, rows: Rows) -> list[Array]:
        sums: list[Array] = []
        for design, hot, weights in rows:
            v = astype(self.columns, design.like.dtype)
            w = None if weights is None else array_like(weights, design.like, double(design.like))
            change = _Residual(self.loss, hot, w, self.b, self.db)
            here = list(transposed_times_changed(design, v, change))
            sums = _added(sums, here) if sums else here
        return sums


@dataclass(frozen=True, eq=False)
class _OfPart:
    """The sums over one part of the data."""

    read: Callable[[Any], Rows]
    work: Callable[[Rows], list[Array]]

    def __call__(self, part: Any) -> list[Array]:
        return self.work(self.read(part))


def _added(first: list[Array], second: list[Array]) -> list[Array]:
    return [a + b for a, b in zip(first, second, strict=True)]


@dataclass(frozen=True, eq=False)
class _Residual:
    """Values -> slopes of the loss; or, with directions, how these change; and sums of both."""

    loss: ClassLoss
    hot: Array
    weights: Array | None
    b: Array
    db: Array | None

    def __call__(self, f: Array, rows: slice) -> tuple[Array, Array]:
        f, hot = astype(f, double(f)), astype(self.hot[rows, :], double(f))
        xp, width = namespace(f), int(hot.shape[1])
        values = f[:, :width] + self.b[None, :]
        if self.db is None:
            r, lost = self.loss.slope(values, hot), self.loss.lost(values, hot)
        else:
            change = self.loss.curvature(values, hot)
            r, lost = change(f[:, width:] + self.db[None, :]), 0 * values[:, 0]
        if self.weights is not None:
            r, lost = r * self.weights[rows][:, None], lost * self.weights[rows]
        return r, xp.concat([xp.sum(lost)[None], xp.sum(r, axis=0)])
