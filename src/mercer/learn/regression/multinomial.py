"""Penalised likelihood of classes as a function of the coefficients of features, for Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.backend import Array, namespace, transposed
from mercer.learn.conjugate_gradients import Look, by_conjugate_gradients
from mercer.learn.regression.class_losses import Link


@dataclass(frozen=True, eq=False)
class Multinomial:
    """Negative log-likelihood of F = Zt + 1b' plus ridge sum_j penalty_j t_j^2, as a function of (t, b).

    One column of F for two classes, with the link `Bernoulli`, and else one for each class.

    Rows of the argument are those of t (r, C), and b last, in units that make its curvature like
    that of the others.
    """

    features: Array  # Z, (n, r)
    hot: Array  # which class, (n, C)
    weights: Array
    ridge: float
    penalty: Array  # (r,)
    intercept: bool
    link: Link

    @property
    def unit(self) -> float:
        """Scale of the last row: b over the last coordinate."""
        total = float(namespace(self.weights).sum(self.weights))
        return (2 / total) ** 0.5 if self.intercept else 0.0

    def look(self, point: Array) -> Look:
        """Value, gradient and curvature."""
        xp, link = namespace(point), self.link
        f = self._image(point)
        p, weights = link.mean(f), self.weights[:, None]
        ridge = self.ridge * self._padded(xp)[:, None]
        lost = xp.sum(self.weights * link.lost(f, self.hot))
        value = float(lost) + float(xp.sum(ridge * point**2))
        gradient = self._adjoint(weights * (p - self.hot)) + 2 * ridge * point

        def curvature(v: Array) -> Array:
            return self._adjoint(weights * link.change(p, self._image(v))) + 2 * ridge * v

        return Look(value, gradient, by_conjugate_gradients(gradient, curvature))

    def mean_curvature(self, point: Array) -> float:
        """Mean of w p (1 - p) over points and classes."""
        xp, p = namespace(point), self.link.mean(self._image(point))
        return float(xp.mean(self.weights[:, None] * p * (1 - p)))

    def _image(self, point: Array) -> Array:
        # transposed, because BLAS multiplies a few rows with a matrix twice as fast as a few columns
        product = transposed(transposed(point[:-1, :]) @ transposed(self.features))
        return product + self.unit * point[-1, :][None, :]

    def _adjoint(self, residual: Array) -> Array:
        xp = namespace(residual)
        product = transposed(transposed(residual) @ self.features)
        return xp.concat([product, self.unit * xp.sum(residual, axis=0)[None, :]])

    def _padded(self, xp: Any) -> Array:
        return xp.concat([self.penalty, 0 * self.penalty[:1]])
