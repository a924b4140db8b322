"""Reproducing kernels of function spaces on the line or part of it, each with its inner product."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial, inf, pi
from typing import Any

from mercer import validate
from mercer.backend import Array, namespace
from mercer.kernels.base import Coordinatewise, Points
from mercer.kernels.shift_invariant import ShiftInvariant, sinc


@dataclass(frozen=True)
class Sobolev(Coordinatewise):
    """sum_{k<m} x^k y^k / k!^2 + int_0^min (x-u)^(m-1) (y-u)^(m-1) / (m-1)!^2 du, m = `order`.

    On [0, 1], functions with m derivatives, <f, g> = sum_{k<m} f^(k)(0) g^(k)(0) + int f^(m) g^(m).
    Ridge regression gives splines of degree 2m - 1 (m = 1: k = 1 + min(x, y); m = 2: cubic).
    Universal and characteristic on [0, 1]. Several columns: the product over them, on [0, 1]^d.
    """

    order: int = 2

    def __post_init__(self) -> None:
        validate.whole("order", self.order)
        if self.order > 10:
            raise ValueError(
                f"order must be at most 10, got {self.order!r}: "
                "beyond it the integral is smaller than the rounding of the polynomial"
            )

    def accept(self, x: Any, name: str = "x") -> Points:
        remedy = "rescale the columns to [0, 1] first"
        return validate.within(validate.points(x, name), 0, 1, name, remedy)

    def value(self, a: Array, b: Array, /) -> Array:
        m, low, gap = self.order, namespace(a, b).minimum(a, b), abs(a - b)
        jets: Any = sum((a * b) ** k / factorial(k) ** 2 for k in range(1, m))
        # u = low - v: the integrand is v^(m-1) (v + gap)^(m-1), a sum of non-negative terms
        tail: Any = sum(
            comb(m - 1, j) / (m + j) * gap ** (m - 1 - j) * low ** (m + j) for j in range(m)
        )
        return 1 + jets + tail / factorial(m - 1) ** 2


@dataclass(frozen=True)
class Brownian(Coordinatewise):
    """min(x, y) on [0, inf): functions with f(0) = 0 and <f, g> = int f' g'.

    The covariance of Brownian motion; several columns: the product over them (the Brownian sheet).
    Unbounded; k(0, .) = 0. Characteristic on (0, inf)^d.
    """

    def accept(self, x: Any, name: str = "x") -> Points:
        remedy = "subtract the smallest possible value first, or use Energy()"
        return validate.within(validate.points(x, name), 0, inf, name, remedy)

    def value(self, a: Array, b: Array, /) -> Array:
        return namespace(a, b).minimum(a, b)


@dataclass(frozen=True)
class BandLimited(ShiftInvariant):
    """sin(a (x - y)) / (pi (x - y)) with a the cutoff: <f, g> = int f g, frequencies up to a only.

    Functions of the Paley-Wiener space; several columns: the product over them. Not characteristic.
    """

    cutoff: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("cutoff", self.cutoff)

    def factor(self, delta: Array, /) -> Array:
        return self.cutoff / pi * sinc(self.cutoff * delta)


@dataclass(frozen=True)
class HalfLine(Coordinatewise):
    """e^-max(x, y) sinh(min(x, y)) / (x y) on (0, inf): <f, g> = int (f g + f' g') x^2 dx.

    Radial functions of the Sobolev space H^1 of R^3; several columns: the product over them.
    Unbounded near 0.
    """

    def accept(self, x: Any, name: str = "x") -> Points:
        remedy = "drop or shift points that are not positive"
        return validate.within(validate.points(x, name), 0, inf, name, remedy, strict=True)

    def value(self, a: Array, b: Array, /) -> Array:
        xp = namespace(a, b)
        low, high = xp.minimum(a, b), xp.maximum(a, b)
        near = -xp.expm1(-2 * low) / (2 * low)  # sinh without overflow, exact near 0
        return near * xp.exp(low - high) / high
