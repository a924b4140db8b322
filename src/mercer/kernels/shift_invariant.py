"""Shift-invariant kernels on the line and on the circle, multiplied over the columns of R^d."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import comb, pi
from typing import Any

from mercer import validate
from mercer.backend import Array, astype, double, namespace, ones
from mercer.kernels.base import Coordinatewise


class ShiftInvariant(Coordinatewise):
    """k(x, y) = c(x_1 - y_1) c(x_2 - y_2) ...: one even function of each column's difference."""

    @abstractmethod
    def factor(self, delta: Array, /) -> Array:
        """The c in k(x, y) = c(x - y) on the line, elementwise."""

    def value(self, a: Array, b: Array, /) -> Array:
        return self.factor(a - b)


@dataclass(frozen=True)
class BSpline(ShiftInvariant):
    """B_n((x - y) / s) / B_n(0), the centred B-spline of odd degree n = `order`, so k(x, x) = 1.

    B_n is the density of a sum of n + 1 uniforms on (-1/2, 1/2): a hat for n = 1, a cubic spline
    for n = 3, nearly Gaussian of variance (n + 1)/12 for large n; it is 0 where
    |x - y| >= s (n + 1)/2. Its Fourier transform is (sin(w/2) / (w/2))^(n + 1), non-negative for
    odd n only; its zeros are isolated, so the kernel is characteristic all the same.
    """

    order: int = 3
    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        validate.whole("order", self.order)
        validate.positive("bandwidth", self.bandwidth)
        if self.order % 2 == 0:
            raise ValueError(
                f"order must be odd, got {self.order}: the Fourier transform of the B-spline of "
                f"degree {self.order} is an odd power of a sinc and takes negative values"
            )
        if self.order > 15:
            raise ValueError(
                f"order must be at most 15, got {self.order}: from there on use its limit, "
                f"RBF({self.bandwidth!r} * sqrt({self.order + 1} / 12))"
            )

    def factor(self, delta: Array, /) -> Array:
        n, half = self.order, (self.order + 1) // 2
        wide = astype(delta, double(delta))  # the sum below alternates: float32 would lose digits
        inside = half - abs(wide) / self.bandwidth  # distance from the end of the support
        terms = [(-1) ** k * comb(n + 1, k) for k in range(half)]
        peak = sum(c * (half - k) ** n for k, c in enumerate(terms))
        xp = namespace(delta)
        powers = ((c / peak) * xp.clip(inside - k, 0, None) ** n for k, c in enumerate(terms))
        total: Any = sum(powers)
        return astype(total, delta.dtype)


@dataclass(frozen=True)
class Sinc(ShiftInvariant):
    """sin(a (x - y)) / (a (x - y)) with a the cutoff: no frequency beyond a.

    Not characteristic: laws whose characteristic functions agree on [-a, a] look the same.
    `BandLimited` is the same up to a factor, as a reproducing kernel.
    """

    cutoff: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("cutoff", self.cutoff)

    def factor(self, delta: Array, /) -> Array:
        return sinc(self.cutoff * delta)


@dataclass(frozen=True)
class Cosine(ShiftInvariant):
    """cos(w (x - y)) with w the frequency: two features per column. Not characteristic."""

    frequency: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("frequency", self.frequency)

    def factor(self, delta: Array, /) -> Array:
        return namespace(delta).cos(self.frequency * delta)


@dataclass(frozen=True)
class Poisson(ShiftInvariant):
    """(1 - q^2) / (1 - 2 q cos t + q^2) = sum_k q^|k| e^(ikt), t = x - y, q = `decay` in (0, 1).

    For angles: its period is 2 pi (`.scaled(2 * pi / period)` for another). Characteristic on the
    circle, as every frequency has a positive weight; not on the line, which it wraps.
    """

    decay: float = 0.5

    def __post_init__(self) -> None:
        validate.between("decay", self.decay, 0, 1)

    def factor(self, delta: Array, /) -> Array:
        gap, sine = 1 - self.decay, namespace(delta).sin(_wrapped(delta) / 2)
        return (1 - self.decay**2) / (gap**2 + 4 * self.decay * sine**2)


@dataclass(frozen=True)
class Dirichlet(ShiftInvariant):
    """sin((n + 1/2) t) / sin(t/2) = sum_{k=-n..n} e^(ikt), t = x - y, n = `order`.

    For angles: its period is 2 pi. The reproducing kernel of trigonometric polynomials of degree
    n under the inner product (1/2 pi) int f g; k(x, x) = 2n + 1 on each column. Not characteristic.
    """

    order: int = 1

    def __post_init__(self) -> None:
        validate.whole("order", self.order)

    def factor(self, delta: Array, /) -> Array:
        return (2 * self.order + 1) * _sine_ratio(2 * self.order + 1, delta)


@dataclass(frozen=True)
class Fejer(ShiftInvariant):
    """(sin((n+1) t/2) / sin(t/2))^2 / (n+1) = sum_{|k|<=n} (1 - |k|/(n+1)) e^(ikt), n = `order`.

    For angles: its period is 2 pi. The mean of the Dirichlet kernels of degrees 0..n, and so never
    negative; k(x, x) = n + 1 on each column. Not characteristic.
    """

    order: int = 1

    def __post_init__(self) -> None:
        validate.whole("order", self.order)

    def factor(self, delta: Array, /) -> Array:
        return (self.order + 1) * _sine_ratio(self.order + 1, delta) ** 2


def sinc(t: Array) -> Array:
    """sin(t) / t, and 1 at 0."""
    xp = namespace(t)
    safe = xp.where(t == 0, ones((), t), t)
    return xp.where(t == 0, ones((), t), xp.sin(safe) / safe)


def _sine_ratio(n: int, t: Array) -> Array:
    """sin(n t/2) / (n sin(t/2)) of the wrapped angle, 1 at 0; for even n up to sign."""
    half = _wrapped(t) / 2
    return sinc(n * half) / sinc(half)


def _wrapped(t: Array) -> Array:
    """The angle t in [-pi, pi]."""
    return t - 2 * pi * namespace(t).round(t / (2 * pi))
