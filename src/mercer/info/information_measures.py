"""Measures of information: what an entropy, a divergence or a mutual information is of, in nats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Protocol

import numpy as np

from mercer import validate
from mercer.errors import NoRule


class Integrals(Protocol):
    """Integrals of one density p, or of two densities p and q, from which every measure is computed."""

    def power(self, a: float, b: float = 0.0) -> float:
        """Integral of p^a q^b."""
        ...

    def log_p(self) -> float:
        """Mean of log p under p."""
        ...

    def log_q(self) -> float:
        """Mean of log q under p."""
        ...

    def mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        """Mean of f(p) under p."""
        ...

    def weighted_mean(
        self, f: Callable[[np.ndarray], np.ndarray], weight: Callable[[np.ndarray], np.ndarray]
    ) -> float:
        """Mean of weight(X) f(p(X)) under p."""
        ...

    def mean_ratio(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        """Mean of f(p / q) under q."""
        ...

    def require_support(self) -> None:
        """Raise a ValueError where it is known that p has values that q has not."""
        ...

    def swapped(self) -> Integrals:
        """The same with p and q exchanged."""
        ...

    def mixed(self, weight: float) -> tuple[Integrals, Integrals, Integrals]:
        """Integrals of the mixture weight p + (1 - weight) q, of p and of q, one density each."""
        ...


class Measure:
    """A functional of one density (entropy), of two (divergence), or of both kinds."""

    def entropy(self, integrals: Integrals) -> float:
        """Entropy of the density p."""
        raise NoRule(
            f"{self!r} is a divergence, not an entropy: use Shannon(), Renyi(alpha) or Tsallis(alpha)"
        )

    def divergence(self, integrals: Integrals) -> float:
        """Divergence of the density p from the density q."""
        raise NoRule(f"{self!r} is an entropy, not a divergence: use KL() or Renyi(alpha)")


class PowerMeasure(Measure, ABC):
    """A function of one integral: that of p^alpha for entropies, of p^alpha q^(1 - alpha) for divergences."""

    alpha: float

    def __post_init__(self) -> None:
        check_order("alpha", self.alpha)

    @abstractmethod
    def _of_power(self, integral: float) -> float:
        """Divergence as a function of the integral of p^alpha q^(1 - alpha); entropies have the other sign."""

    def entropy(self, integrals: Integrals) -> float:
        return -self._of_power(integrals.power(self.alpha))

    def divergence(self, integrals: Integrals) -> float:
        return self._of_power(integrals.power(self.alpha, 1 - self.alpha))


@dataclass(frozen=True)
class Shannon(Measure):
    """Shannon entropy -E log p(X); as a divergence that of Kullback and Leibler."""

    def entropy(self, integrals: Integrals) -> float:
        return -integrals.log_p()

    def divergence(self, integrals: Integrals) -> float:
        return integrals.log_p() - integrals.log_q()


@dataclass(frozen=True)
class KL(Measure):
    """Kullback-Leibler divergence E_p log(p / q)."""

    def divergence(self, integrals: Integrals) -> float:
        return integrals.log_p() - integrals.log_q()


@dataclass(frozen=True)
class Renyi(PowerMeasure):
    """Renyi entropy log(int p^a) / (1 - a) and divergence log(int p^a q^(1-a)) / (a - 1) of order a."""

    alpha: float

    def _of_power(self, integral: float) -> float:
        return log(positive_integral(integral)) / (self.alpha - 1)


@dataclass(frozen=True)
class Tsallis(PowerMeasure):
    """Tsallis entropy (1 - int p^a) / (a - 1) and divergence (int p^a q^(1-a) - 1) / (a - 1) of order a."""

    alpha: float

    def _of_power(self, integral: float) -> float:
        return (integral - 1) / (self.alpha - 1)


@dataclass(frozen=True)
class SharmaMittal(PowerMeasure):
    """Sharma-Mittal entropy and divergence, ((int p^a q^(1-a))^((1-b)/(1-a)) - 1) / (b - 1).

    b -> 1 is Renyi's, b = a Tsallis'.
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order("beta", self.beta)

    def _of_power(self, integral: float) -> float:
        exponent = (1 - self.beta) / (1 - self.alpha)
        return (positive_integral(integral) ** exponent - 1) / (self.beta - 1)


def weights_at(weight: Callable[[Any], Any], observations: np.ndarray) -> np.ndarray:
    """The weights that a function gives to observations: (n,)."""
    values, n = np.asarray(weight(observations), dtype=np.float64), len(observations)
    if values.shape not in ((), (n,)):
        raise ValueError(
            f"weight must return one number for each of {n} observations, got shape {values.shape}"
        )
    return np.broadcast_to(values, (n,))


@dataclass(frozen=True)
class Phi(Measure):
    """Phi-entropy E w(X) f(p(X)) = int w p f(p), with the weight w = 1 if it is None (van Es 1992).

    f and w take and return arrays: f the density at each observation, w the observations, (n, d), or (n,) on the
    line. f = -log without a weight is Shannon's entropy. Weighted ones are estimated by spacings or neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import Phi, Spacing, entropy
    >>> x = np.random.default_rng(0).uniform(size=4000)
    >>> square = Phi(lambda p: p, weight=lambda x: 3 * x**2)  # int 3 x^2 p^2
    >>> round(entropy(x, square, estimator=Spacing()), 1)
    1.0
    """

    f: Callable[[Any], Any]
    weight: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        check_function("f", self.f)
        if self.weight is not None:
            check_function("weight", self.weight)

    def entropy(self, integrals: Integrals) -> float:
        if self.weight is None:
            return integrals.mean(self.f)
        return integrals.weighted_mean(self.f, self.weight)


@dataclass(frozen=True)
class L2(Measure):
    """L2 distance sqrt(int (p - q)^2) of two densities."""

    def divergence(self, integrals: Integrals) -> float:
        square = integrals.power(2) - 2 * integrals.power(1, 1) + integrals.swapped().power(2)
        return sqrt(max(square, 0.0))


@dataclass(frozen=True)
class Hellinger(Measure):
    """Hellinger distance sqrt(1 - int sqrt(p q)), between 0 and 1."""

    def divergence(self, integrals: Integrals) -> float:
        return sqrt(max(1 - integrals.power(0.5, 0.5), 0.0))


@dataclass(frozen=True)
class Bhattacharyya(Measure):
    """Bhattacharyya distance -log int sqrt(p q)."""

    def divergence(self, integrals: Integrals) -> float:
        return -log(positive_integral(integrals.power(0.5, 0.5)))


@dataclass(frozen=True)
class Chi2(Measure):
    """Pearson's chi-square divergence int (p - q)^2 / q = int p^2 / q - 1."""

    def divergence(self, integrals: Integrals) -> float:
        return integrals.power(2, -1) - 1


@dataclass(frozen=True)
class FDivergence(Measure):
    """f-divergence int q f(p / q), with f convex and f(1) = 0; f takes and returns arrays."""

    f: Callable[[Any], Any]

    def __post_init__(self) -> None:
        check_function("f", self.f)

    def divergence(self, integrals: Integrals) -> float:
        integrals.require_support()
        return integrals.mean_ratio(self.f)


def check_order(name: str, value: object) -> None:
    """Require an order: a positive number other than one."""
    validate.positive(name, value)
    if value == 1:
        raise ValueError(f"{name} must be a positive number other than 1, got 1: use Shannon()")


def check_function(name: str, value: object) -> None:
    """Require a function."""
    if not callable(value):
        raise TypeError(f"{name} must be a function of an array, got {validate.shown(value)}")


def positive_integral(value: float) -> float:
    """The estimate of a positive integral, unless it is zero."""
    if not value > 0:
        raise ValueError(
            "the integral of p^a q^b is estimated as zero, so that its logarithm is needed where there is "
            "none: p and q do not overlap; use JensenShannon() or Hellinger()"
        )
    return value
