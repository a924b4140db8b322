"""Likelihoods of classes: Bernoulli and categorical, with derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from mercer.backend import Array, namespace
from mercer.learn.regression.losses import sigmoid


class Link(ABC):
    """Negative log-likelihood of one-hot labels `hot` (n, C), as a function of values f (n, C)."""

    bound: float  # no eigenvalue of the second derivative is larger

    @abstractmethod
    def lost(self, f: Array, hot: Array, /) -> Array:
        """Negative log-likelihood of every label: (n,)."""

    @abstractmethod
    def mean(self, f: Array, /) -> Array:
        """Probabilities p (n, C); the gradient is p - hot."""

    @abstractmethod
    def change(self, p: Array, u: Array, /) -> Array:
        """Derivative of the probabilities p in the direction u of the values: (n, C)."""


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


def log_sum_exp(values: Array) -> Array:
    """log sum_c exp(v_c) of every row, without overflow: (n,)."""
    xp = namespace(values)
    most = xp.max(values, axis=1)
    return most + xp.log(xp.sum(xp.exp(values - most[:, None]), axis=1))
