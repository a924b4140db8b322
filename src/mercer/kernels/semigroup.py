"""Kernels phi(x + y) on the semigroup [0, inf)^d with addition: Laplace transforms of measures (Berg et al. 1984)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any

from mercer import validate
from mercer.backend import Array, namespace
from mercer.kernels.base import Coordinatewise, Points


class SemigroupKernel(Coordinatewise):
    """phi(x_1 + y_1) ... phi(x_d + y_d) with phi(t) = int exp(-t r) dL(r), completely monotone, for points of [0, inf)^d.

    Every bounded continuous positive definite phi on the semigroup is such a Laplace transform, as those on the group
    R^d are Fourier transforms (Bochner). Where the measure L has all of [0, inf) as its support, the kernel is
    characteristic (Fukumizu, Sriperumbudur, Gretton and Schoelkopf 2009), and integrally strictly positive definite:
    int int phi(x + y) dm(x) dm(y) is the integral of the squared Laplace transform of m. They suit histograms, counts
    and amounts, whose sum has a meaning (Cuturi, Fukumizu and Vert 2005).
    """

    def accept(self, x: Any, name: str = "x") -> Points:
        remedy = "these kernels are for amounts; RBF() takes all numbers"
        return validate.within(validate.points(x, name), 0, inf, name, remedy)

    def value(self, a: Array, b: Array, /) -> Array:
        return self.transform(a + b)

    @abstractmethod
    def transform(self, total: Array, /) -> Array:
        """phi of sums x + y >= 0."""


@dataclass(frozen=True)
class StableSemigroup(SemigroupKernel):
    """exp(-((x + y) / s)^p) with the scale s and the power 0 < p < 1: the transform of a stable distribution.

    On rows of several columns exp(-sum_k ((x_k + y_k) / s)^p); p = 1/2 is the kernel of Fukumizu et al. (2009).

    Examples
    --------
    >>> StableSemigroup()([0.0, 2.0]).round(4)  # exp(-sqrt(2)), exp(-2)
    array([[1.    , 0.2431],
           [0.2431, 0.1353]])
    """

    scale: float = 1.0
    power: float = 0.5

    def __post_init__(self) -> None:
        validate.positive("scale", self.scale)
        validate.between("power", self.power, 0, 1)

    def transform(self, total: Array, /) -> Array:
        return namespace(total).exp(-((total * (1 / self.scale)) ** self.power))


@dataclass(frozen=True)
class GammaSemigroup(SemigroupKernel):
    """(1 + (x + y) / s)^-a with the scale s and the shape a: the transform of a gamma distribution.

    Several columns: the product over them. It decreases slowly, so that large and small amounts both count.

    Examples
    --------
    >>> GammaSemigroup()([0.0, 1.0])
    array([[1.        , 0.5       ],
           [0.5       , 0.3333...]])
    """

    scale: float = 1.0
    shape: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("scale", self.scale)
        validate.positive("shape", self.shape)

    def transform(self, total: Array, /) -> Array:
        return (1 + total * (1 / self.scale)) ** -self.shape
