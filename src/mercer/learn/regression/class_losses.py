"""Losses of classes as functions of values, with derivatives: likelihoods, and the squared hinge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mercer.backend import Array, namespace
from mercer.learn.regression.losses import SquaredHinge, sigmoid


class ClassLoss(ABC):
    """Convex loss of values f (n, C) for one-hot labels `hot` (n, C); two classes have one column, of the second."""

    bound: float  # no eigenvalue of the second derivative is larger

    @abstractmethod
    def lost(self, f: Array, hot: Array, /) -> Array:
        """The loss of every point: (n,)."""

    @abstractmethod
    def slope(self, f: Array, hot: Array, /) -> Array:
        """Derivative with respect to f: (n, C)."""

    @abstractmethod
    def curvature(self, f: Array, hot: Array, /) -> Callable[[Array], Array]:
        """The second derivative at f, as a map of directions u (n, C) of the values."""


class Link(ClassLoss):
    """Negative log-likelihood of the labels, given the probabilities of the classes as a function of f."""

    @abstractmethod
    def mean(self, f: Array, /) -> Array:
        """Probabilities p (n, C); the slope is p - hot."""

    @abstractmethod
    def change(self, p: Array, u: Array, /) -> Array:
        """Derivative of the probabilities p in the direction u of the values: (n, C)."""

    def slope(self, f: Array, hot: Array, /) -> Array:
        return self.mean(f) - hot

    def curvature(self, f: Array, hot: Array, /) -> Callable[[Array], Array]:
        return partial(self.change, self.mean(f))


@dataclass(frozen=True)
class Bernoulli(Link):
    """Two classes, one column: P(second) = 1 / (1 + exp(-f))."""

    bound = 0.25

    def lost(self, f: Array, hot: Array, /) -> Array:
        xp = namespace(f)
        return xp.sum(xp.logaddexp(xp.zeros_like(f), f) - hot * f, axis=1)

    def mean(self, f: Array, /) -> Array:
        return sigmoid(f)

    def change(self, p: Array, u: Array, /) -> Array:
        return p * (1 - p) * u


@dataclass(frozen=True)
class Categorical(Link):
    """A column for each class: P(c) is proportional to exp(f_c). The bound is Boehning's (1992)."""

    bound = 0.5

    def lost(self, f: Array, hot: Array, /) -> Array:
        return log_sum_exp(f) - namespace(f).sum(hot * f, axis=1)

    def mean(self, f: Array, /) -> Array:
        return namespace(f).exp(f - log_sum_exp(f)[:, None])

    def change(self, p: Array, u: Array, /) -> Array:
        return p * (u - namespace(p).sum(p * u, axis=1)[:, None])


@dataclass(frozen=True)
class SquaredMargins(ClassLoss):
    """sum_c max(0, 1 - y_c f_c)^2 with y_c = 1 for points of class c and -1 for others: one class against the rest."""

    bound = 2.0

    def lost(self, f: Array, hot: Array, /) -> Array:
        return namespace(f).sum(SquaredHinge().value(2 * hot - 1, f), axis=1)

    def slope(self, f: Array, hot: Array, /) -> Array:
        return SquaredHinge().slope(2 * hot - 1, f)

    def curvature(self, f: Array, hot: Array, /) -> Callable[[Array], Array]:
        second = SquaredHinge().curvature(2 * hot - 1, f)
        return lambda u: second * u


def log_sum_exp(values: Array) -> Array:
    """log sum_c exp(v_c) of every row, without overflow: (n,)."""
    xp = namespace(values)
    most = xp.max(values, axis=1)
    return most + xp.log(xp.sum(xp.exp(values - most[:, None]), axis=1))
