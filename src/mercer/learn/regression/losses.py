"""Convex losses l(y, f) of predictions f for targets y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf

import numpy as np

from mercer import validate
from mercer.backend import Array, namespace
from mercer.learn.target_scale import robust_spread

_HUBER_WIDTH = (
    1.345  # standard deviations: the Huber mean then has efficiency 95% for normal errors
)


class Loss(ABC):
    """A convex function of f for every y; margin losses have labels -1 and 1."""

    margin = False  # whether it is a function of y f, for labels
    degree: int | None = None
    """d where l is a function of y - f with l(a (y - f)) = a^d l(y - f); None where it is not.

    Parameters in the unit of y, such as the width of `Huber`, are multiplied by a, too. Losses of
    degree 1 are multiplied by the spread of y before they are weighed against ridge |f|^2, which is
    of degree 2: otherwise the same ridge would mean different things to y in metres and in miles.
    """

    @property
    def lipschitz(self) -> float:
        """Smallest C with |l(y, f) - l(y, g)| <= C |f - g| for all y, f and g; infinite for squares."""
        return inf

    @abstractmethod
    def value(self, y: Array, f: Array, /) -> Array:
        """l(y, f), elementwise."""

    def for_target(self, y: np.ndarray, weights: np.ndarray, /) -> Loss:
        """The loss for targets y (n,) with weights (n,), with default parameters filled in."""
        return self


class SmoothLoss(Loss):
    """A loss with a derivative, and a second one almost everywhere: solved by Newton's method."""

    @abstractmethod
    def slope(self, y: Array, f: Array, /) -> Array:
        """The derivative with respect to f."""

    @abstractmethod
    def curvature(self, y: Array, f: Array, /) -> Array:
        """The second derivative with respect to f, never negative."""


class PiecewiseLinearLoss(Loss):
    """l(y, f) = max of b (y - f) over low <= b <= high: solved by an interior point method."""

    @abstractmethod
    def interval(self, y: Array, /) -> tuple[Array, Array]:
        """low and high for every y."""


@dataclass(frozen=True)
class Squared(SmoothLoss):
    """(y - f)^2: the mean."""

    degree = 2

    def value(self, y: Array, f: Array, /) -> Array:
        return (y - f) ** 2

    def slope(self, y: Array, f: Array, /) -> Array:
        return 2 * (f - y)

    def curvature(self, y: Array, f: Array, /) -> Array:
        return namespace(f).full_like(f, 2.0)


@dataclass(frozen=True)
class Huber(SmoothLoss):
    """(y - f)^2 up to |y - f| = width, 2 width |y - f| - width^2 beyond: robust against outliers.

    Twice the loss of Huber (1964), so that a large width is `Squared`.

    Parameters
    ----------
    width : float or None
        In the unit of y. None: a learner takes 1.345 times the median absolute deviation of y from
        its median, scaled to be the standard deviation of normal data; the formulas take 1.345.
    """

    width: float | None = None

    degree = 2

    def __post_init__(self) -> None:
        if self.width is not None:
            validate.positive("width", self.width)

    def value(self, y: Array, f: Array, /) -> Array:
        xp, width = namespace(f), self._width
        off = xp.abs(y - f)
        return xp.where(off <= width, off**2, 2 * width * off - width**2)

    def slope(self, y: Array, f: Array, /) -> Array:
        return 2 * namespace(f).clip(f - y, -self._width, self._width)

    def curvature(self, y: Array, f: Array, /) -> Array:
        xp = namespace(f)
        return xp.where(xp.abs(y - f) <= self._width, xp.full_like(f, 2.0), xp.zeros_like(f))

    def for_target(self, y: np.ndarray, weights: np.ndarray, /) -> Huber:
        if self.width is not None:
            return self
        return Huber(_HUBER_WIDTH * (robust_spread(y, weights) or 1.0))

    @property
    def lipschitz(self) -> float:
        return 2 * self._width

    @property
    def _width(self) -> float:
        return _HUBER_WIDTH if self.width is None else self.width


@dataclass(frozen=True)
class Logistic(SmoothLoss):
    """log(1 + exp(-y f)) for labels -1 and 1: the negative log-likelihood of P(y = 1) = 1 / (1 + e^-f)."""

    margin = True

    @property
    def lipschitz(self) -> float:
        return 1.0

    def value(self, y: Array, f: Array, /) -> Array:
        xp = namespace(f)
        return xp.logaddexp(xp.zeros_like(f), -y * f)

    def slope(self, y: Array, f: Array, /) -> Array:
        return -y * sigmoid(-y * f)

    def curvature(self, y: Array, f: Array, /) -> Array:
        return sigmoid(f) * sigmoid(-f)


@dataclass(frozen=True)
class SquaredHinge(SmoothLoss):
    """max(0, 1 - y f)^2 for labels -1 and 1."""

    margin = True

    def value(self, y: Array, f: Array, /) -> Array:
        return namespace(f).clip(1 - y * f, 0.0, inf) ** 2

    def slope(self, y: Array, f: Array, /) -> Array:
        return -2 * y * namespace(f).clip(1 - y * f, 0.0, inf)

    def curvature(self, y: Array, f: Array, /) -> Array:
        xp = namespace(f)
        return xp.where(y * f < 1, xp.full_like(f, 2.0), xp.zeros_like(f))


@dataclass(frozen=True)
class Hinge(PiecewiseLinearLoss):
    """max(0, 1 - y f) for labels -1 and 1: the support vector machine."""

    margin = True

    @property
    def lipschitz(self) -> float:
        return 1.0

    def value(self, y: Array, f: Array, /) -> Array:
        return namespace(f).clip(1 - y * f, 0.0, inf)

    def interval(self, y: Array, /) -> tuple[Array, Array]:
        xp = namespace(y)
        return xp.where(y < 0, y, 0 * y), xp.where(y > 0, y, 0 * y)


@dataclass(frozen=True)
class Pinball(PiecewiseLinearLoss):
    """max(q (y - f), (q - 1) (y - f)): the q-th quantile (Koenker and Bassett 1978)."""

    quantile: float = 0.5

    degree = 1

    def __post_init__(self) -> None:
        validate.between("quantile", self.quantile, 0.0, 1.0)

    @property
    def lipschitz(self) -> float:
        return max(self.quantile, 1 - self.quantile)

    def value(self, y: Array, f: Array, /) -> Array:
        off = y - f
        return namespace(f).maximum(self.quantile * off, (self.quantile - 1) * off)

    def interval(self, y: Array, /) -> tuple[Array, Array]:
        xp = namespace(y)
        return xp.full_like(y, self.quantile - 1), xp.full_like(y, self.quantile)


def sigmoid(f: Array) -> Array:
    """1 / (1 + exp(-f)), without overflow."""
    xp = namespace(f)
    return xp.exp(-xp.logaddexp(xp.zeros_like(f), -f))
