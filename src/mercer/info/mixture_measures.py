"""Divergences of Jensen and Bregman type, and others that compare two densities symmetrically."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from mercer import validate
from mercer.info.information_measures import (
    Integrals,
    Measure,
    Renyi,
    Shannon,
    Tsallis,
    check_order,
    positive_integral,
)


@dataclass(frozen=True)
class JensenShannon(Measure):
    """Jensen-Shannon divergence w KL(p, m) + (1 - w) KL(q, m), m = w p + (1 - w) q."""

    weight: float = 0.5

    def __post_init__(self) -> None:
        validate.between("weight", self.weight, 0, 1)

    def divergence(self, integrals: Integrals) -> float:
        w = self.weight
        from_p = integrals.swapped().mean_ratio(lambda ratio: -np.log(w + (1 - w) * ratio))
        from_q = integrals.mean_ratio(lambda ratio: -np.log(w * ratio + (1 - w)))
        return w * from_p + (1 - w) * from_q


@dataclass(frozen=True)
class JensenRenyi(Measure):
    """Jensen-Renyi divergence: the Jensen difference of Renyi's entropy."""

    alpha: float
    weight: float = 0.5

    def __post_init__(self) -> None:
        check_order("alpha", self.alpha)
        validate.between("weight", self.weight, 0, 1)

    def divergence(self, integrals: Integrals) -> float:
        return _jensen_difference(Renyi(self.alpha), self.weight, integrals)


@dataclass(frozen=True)
class JensenTsallis(Measure):
    """Jensen-Tsallis divergence: the Jensen difference of Tsallis' entropy, with equal weights."""

    alpha: float

    def __post_init__(self) -> None:
        check_order("alpha", self.alpha)

    def divergence(self, integrals: Integrals) -> float:
        return _jensen_difference(Tsallis(self.alpha), 0.5, integrals)


@dataclass(frozen=True)
class Jeffreys(Measure):
    """Jeffreys' divergence KL(p, q) + KL(q, p)."""

    def divergence(self, integrals: Integrals) -> float:
        return sum(Shannon().divergence(each) for each in (integrals, integrals.swapped()))


@dataclass(frozen=True)
class K(Measure):
    """K-divergence KL(p, (p + q) / 2), at most log 2 (Lin 1991)."""

    def divergence(self, integrals: Integrals) -> float:
        return integrals.swapped().mean_ratio(lambda ratio: -np.log((1 + ratio) / 2))


@dataclass(frozen=True)
class L(Measure):
    """L-divergence K(p, q) + K(q, p), twice Jensen-Shannon's (Lin 1991)."""

    def divergence(self, integrals: Integrals) -> float:
        return 2 * JensenShannon().divergence(integrals)


@dataclass(frozen=True)
class CauchySchwarz(Measure):
    """Cauchy-Schwarz divergence log(int p^2 int q^2 / (int p q)^2)."""

    def divergence(self, integrals: Integrals) -> float:
        p, q = integrals.power(2), integrals.swapped().power(2)
        return log(positive_integral(p) * positive_integral(q)) - 2 * log(
            positive_integral(integrals.power(1, 1))
        )


@dataclass(frozen=True)
class Bregman(Measure):
    """Bregman divergence of the generator p^a / (a - 1), int q^a + (p^a - a p q^(a-1)) / (a - 1)."""

    alpha: float

    def __post_init__(self) -> None:
        check_order("alpha", self.alpha)

    def divergence(self, integrals: Integrals) -> float:
        a = self.alpha
        mixed = integrals.power(a) - a * integrals.power(1, a - 1)
        return integrals.swapped().power(a) + mixed / (a - 1)


@dataclass(frozen=True)
class SymmetricBregman(Measure):
    """Symmetric Bregman divergence int (p - q)(p^(a-1) - q^(a-1)) / (a - 1)."""

    alpha: float

    def __post_init__(self) -> None:
        check_order("alpha", self.alpha)

    def divergence(self, integrals: Integrals) -> float:
        swapped = integrals.swapped()
        bregman = Bregman(self.alpha)
        return (bregman.divergence(integrals) + bregman.divergence(swapped)) / self.alpha


def _jensen_difference(entropy: Measure, weight: float, integrals: Integrals) -> float:
    """H(w P + (1 - w) Q) - w H(P) - (1 - w) H(Q) of an entropy H."""
    mixture, p, q = integrals.mixed(weight)
    averaged = weight * entropy.entropy(p) + (1 - weight) * entropy.entropy(q)
    return entropy.entropy(mixture) - averaged
