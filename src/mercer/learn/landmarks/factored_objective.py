"""Newton's systems of separable losses on landmarks: summed in one pass over the data, and factorised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mercer.backend import Array, array_like, astype, double, eps, namespace, scalar
from mercer.config import settings
from mercer.learn.landmarks.normal_equations import factored_with_noise, weighted_products
from mercer.learn.landmarks.ridge_solvers import Rows
from mercer.learn.landmarks.streamed_objective import StreamedObjective, Turn
from mercer.learn.regression.class_losses import ClassLoss

_COPIES = 4  # of the matrix of a class: sums, those of a task, the matrix that is factorised and its factor


@dataclass(eq=False)
class FactoredObjective(StreamedObjective):
    """The loss of F = ZMt + 1b' plus ridge |t|^2, where every class has a loss of its own.

    The second derivatives are those of classes alone, (r + 1, r + 1) each. They are summed for as many classes in a
    pass as the memory budget allows, and only over points at which the loss is curved. The rows of ZM rather than
    those of Z are multiplied, so that rounding stays far below the ridge where landmarks are nearly dependent.
    """

    def _direction(
        self, c: Array, b: Array, gradient: Array, turn: Turn
    ) -> Callable[[float], Array]:
        return lambda _: self._solution(c, b, gradient)

    def _solution(self, c: Array, b: Array, gradient: Array) -> Array:
        xp, width = namespace(c), int(c.shape[1])
        outer = None if self.mapped else self.outer
        bytes_each = 8 * int(gradient.shape[0]) ** 2
        group = max(settings().memory // (_COPIES * bytes_each), 1)
        columns = []
        for first in range(0, width, group):
            here = slice(first, min(first + group, width))
            work = _CurvatureSums(self.loss, outer, c[:, here], b[here], here)
            for j, sums in enumerate(self._summed(work, bytes_each * (here.stop - first))):
                columns.append(self._column(sums, gradient[:, first + j]))
        return xp.stack(columns, axis=1)

    def _column(self, sums: Array, gradient: Array) -> Array:
        """-H^-1 g for one class, from the sums over (ZM 1)."""
        xp, r = namespace(sums), int(sums.shape[0]) - 1
        sums[:, r] *= self.unit
        sums[r, :] *= self.unit
        for i in range(r):
            sums[i, i] += 2 * self.ridge
        sums[r, r] += 0.0 if self.unit else 1.0
        noise = eps(sums) * scalar(xp.sum(xp.linalg.diagonal(sums)))
        return factored_with_noise(sums, noise)(-gradient)


@dataclass(frozen=True, eq=False)
class _CurvatureSums:
    """Batches -> (ZM 1)'D_j(ZM 1) for the second derivatives D of the loss at Zc + 1b', for some of the classes."""

    loss: ClassLoss
    outer: Array | None  # M
    c: Array
    b: Array
    classes: slice

    def __call__(self, rows: Rows) -> list[Array]:
        sums: list[Array] = []
        for design, hot, weights in rows:
            w = None if weights is None else array_like(weights, design.like, double(design.like))
            weigh = _SecondDerivative(self.loss, hot[:, self.classes], w, self.b)
            v = astype(self.c, design.like.dtype)
            products = weighted_products(design, self.outer, v, weigh)
            sums = [a + p for a, p in zip(sums, products, strict=True)] if sums else products
        return sums


@dataclass(frozen=True, eq=False)
class _SecondDerivative:
    """Values -> the second derivative of the loss there, times the weights."""

    loss: ClassLoss
    hot: Array
    weights: Array | None
    b: Array

    def __call__(self, f: Array, rows: slice) -> Array:
        values = astype(f, double(f)) + self.b[None, :]
        curvature = self.loss.curvature(values, astype(self.hot[rows, :], values.dtype))
        second = curvature(namespace(f).ones_like(values))
        return second if self.weights is None else second * self.weights[rows][:, None]
