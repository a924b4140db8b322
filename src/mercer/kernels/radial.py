"""Kernels of distances: functions of r = |x - y|, the Laplace kernel (city-block) and the energy kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, is_numpy, namespace, ones, root, via_numpy, zeros
from mercer.kernels.base import Kernel, Points, Radial, SmoothRadial
from mercer.kernels.metric import l1_distances, squared_distances, squared_norms


@dataclass(frozen=True)
class RBF(SmoothRadial):
    """Gaussian kernel, exp(-r^2 / 2 s^2), s the bandwidth. Universal and characteristic on R^d."""

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)

    @property
    def finite_diagonal(self) -> bool:
        return True

    @classmethod
    def from_gamma(cls, gamma: float) -> RBF:
        """exp(-gamma r^2)."""
        validate.positive("gamma", gamma)
        return cls(bandwidth=sqrt(0.5 / gamma))

    @property
    def rate(self) -> float:
        """The g in exp(-g r^2)."""
        return 1 / (2 * self.bandwidth**2)

    def profile(self, r2: Array, /) -> Array:
        return namespace(r2).exp(-self.rate * r2)

    def slope(self, r2: Array, /) -> Array:
        return -self.rate * self.profile(r2)

    def curvature(self, r2: Array, /) -> Array:
        return self.rate**2 * self.profile(r2)


VECTOR_KERNEL = RBF(1.0)  # any kernel on vectors, where points are read before a kernel is chosen


@dataclass(frozen=True)
class RationalQuadratic(SmoothRadial):
    """(1 + r^2 / (2 a s^2))^-a with s the bandwidth: RBF kernels of all widths, gamma-mixed.

    Characteristic and universal on R^d; alpha to infinity gives RBF(bandwidth).
    """

    alpha: float = 1.0
    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("alpha", self.alpha)
        validate.positive("bandwidth", self.bandwidth)

    def profile(self, r2: Array, /) -> Array:
        return self._power(r2, self.alpha)

    def slope(self, r2: Array, /) -> Array:
        return -self._power(r2, self.alpha + 1) / (2 * self.bandwidth**2)

    def curvature(self, r2: Array, /) -> Array:
        scale = (self.alpha + 1) / (4 * self.alpha * self.bandwidth**4)
        return scale * self._power(r2, self.alpha + 2)

    def _power(self, r2: Array, exponent: float) -> Array:
        """(1 + r2 / (2 a s^2))^-exponent; the logarithm keeps a large alpha exact."""
        xp = namespace(r2)
        return xp.exp(-exponent * xp.log1p(r2 / (2 * self.alpha * self.bandwidth**2)))


@dataclass(frozen=True)
class Cauchy(SmoothRadial):
    """1 / (1 + r^2 / s^2), s the bandwidth: heavy tails. Characteristic and universal on R^d."""

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)

    def profile(self, r2: Array, /) -> Array:
        return 1 / (1 + r2 / self.bandwidth**2)

    def slope(self, r2: Array, /) -> Array:
        return -(self.profile(r2) ** 2) / self.bandwidth**2

    def curvature(self, r2: Array, /) -> Array:
        return 2 * self.profile(r2) ** 3 / self.bandwidth**4


@dataclass(frozen=True)
class InverseMultiquadric(SmoothRadial):
    """(c^2 + r^2)^-b with offset c and exponent b. Characteristic and universal on R^d.

    With 0 < b < 1 its Stein discrepancy controls weak convergence to dissipative targets
    (Gorham & Mackey 2017, thm 8).
    """

    offset: float = 1.0
    exponent: float = 0.5

    def __post_init__(self) -> None:
        validate.positive("offset", self.offset)
        validate.positive("exponent", self.exponent)

    def profile(self, r2: Array, /) -> Array:
        return (self.offset**2 + r2) ** -self.exponent

    def slope(self, r2: Array, /) -> Array:
        return -self.exponent * (self.offset**2 + r2) ** (-self.exponent - 1)

    def curvature(self, r2: Array, /) -> Array:
        scale = self.exponent * (self.exponent + 1)
        return scale * (self.offset**2 + r2) ** (-self.exponent - 2)


@dataclass(frozen=True)
class Exponential(Radial):
    """exp(-r / s), the Matern kernel of smoothness 1/2: rough paths, heavy spectrum."""

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)

    def profile(self, r2: Array, /) -> Array:
        return namespace(r2).exp(-root(r2) / self.bandwidth)


@dataclass(frozen=True)
class Matern(Radial):
    """2^(1-nu) / Gamma(nu) t^nu K_nu(t) with t = sqrt(2 nu) r / s, s the bandwidth.

    Its space is the Sobolev space of order nu + d/2; characteristic and universal on R^d. nu = 1/2
    is `Exponential`, nu to infinity RBF(bandwidth). Half-integers (1/2, 3/2, ..., 21/2) are
    polynomials times exp(-t), on every device and with gradients; other nu need the Bessel
    function of SciPy. Two derivatives in r^2 at 0 exist for nu > 2 only, so it is no
    `SmoothRadial`; `radial_form` has them where they exist.
    """

    nu: float = 1.5
    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("nu", self.nu)
        validate.positive("bandwidth", self.bandwidth)

    def profile(self, r2: Array, /) -> Array:
        return self.lowered(r2, 0)

    def lowered(self, r2: Array, steps: int) -> Array:
        """The same function of t with smoothness nu - steps: derivatives are multiples of these."""
        nu, t = self.nu - steps, root(r2) * (sqrt(2 * self.nu) / self.bandwidth)
        if nu - 0.5 in range(11):
            return _matern_half(int(nu - 0.5), t)
        return via_numpy(lambda v: _matern(nu, v), t, f"Matern(nu={self.nu})")


@dataclass(frozen=True)
class Laplace(Kernel):
    """exp(-|x - y|_1 / s): a product of exponential kernels, one per column.

    Characteristic and universal on R^d. (`Exponential` takes the Euclidean distance.)
    """

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self._decay(l1_distances(x, y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self._decay(namespace(x, y).sum(abs(x - y), axis=1))

    def _decay(self, distance: Array) -> Array:
        return namespace(distance).exp(-distance / self.bandwidth)


@dataclass(frozen=True)
class Energy(Kernel):
    """(|x|^p + |y|^p - |x - y|^p) / 2 with 0 < p <= 2: the kernel behind energy statistics.

    2 MMD^2 is the energy distance and, with the same p on both variables, 4 HSIC the squared
    distance covariance (Sejdinovic et al. 2013, thms 22 and 24). Characteristic for laws with
    E|x|^p finite when p < 2; p = 2 is the linear kernel and sees means only. Unbounded. On the
    line, p = 1 is the covariance of Brownian motion in both directions of time.

    Examples
    --------
    >>> Energy()([0.0, 1.0, -2.0])
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 2.]])
    """

    power: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("power", self.power)
        if self.power > 2:
            raise ValueError(
                f"power must be at most 2, got {self.power!r}: "
                "beyond it -|x - y|^p is not conditionally positive definite"
            )

    @property
    def finite_diagonal(self) -> bool:
        return True

    def pairwise(self, x: Points, y: Points, /) -> Array:
        x_norms = self.raised(squared_norms(x))
        y_norms = x_norms if y is x else self.raised(squared_norms(y))
        distances = self.raised(squared_distances(x, y, self.raised))
        return (x_norms[:, None] + y_norms[None, :] - distances) / 2

    def paired(self, x: Points, y: Points, /) -> Array:
        distances = self.raised(squared_norms(x - y))
        return (self.raised(squared_norms(x)) + self.raised(squared_norms(y)) - distances) / 2

    def diag(self, x: Points, /) -> Array:
        return self.raised(squared_norms(x))

    def raised(self, r2: Array, /) -> Array:
        """r^p from r^2, with derivative 0 at 0."""
        if is_numpy(r2):
            return r2 ** (self.power / 2)
        xp = namespace(r2)
        safe = xp.where(r2 > 0, r2, ones((), r2))
        return xp.where(r2 > 0, safe ** (self.power / 2), zeros((), r2))


def _matern_half(p: int, t: Array) -> Array:
    """Smoothness p + 1/2: exp(-t) p! / (2p)! sum_j (2p-j)! / (j! (p-j)!) (2t)^j, by Horner."""
    xp = namespace(t)
    t = xp.clip(t, None, 1e3)  # there exp(-t) is 0 and t^p not yet infinite
    series = 1.0
    for j in range(p - 1, -1, -1):
        series = 1 + t * (2 * (p - j) / ((2 * p - j) * (j + 1))) * series
    return xp.exp(-t) * series


def _matern(nu: float, t: np.ndarray) -> np.ndarray:
    """2^(1-nu) / Gamma(nu) t^nu K_nu(t) for any smoothness, from its logarithm."""
    from scipy.special import gammaln, kve

    if nu > 50:
        return _matern_large(nu, t)
    safe = np.clip(np.asarray(t, dtype=np.float64), 1e-300, 1e4)  # 1 and 0 beyond
    bessel = kve(nu, safe)  # exp(t) K_nu(t): infinite where t is tiny and nu large
    known = np.isfinite(bessel)
    scale = (1 - nu) * np.log(2) - gammaln(nu)
    log = scale + nu * np.log(safe) + np.log(np.where(known, bessel, 1)) - safe
    near = -(safe**2) / (4 * (nu - 1)) if nu > 1 else 0.0  # K_nu overflows only where t^2 << nu
    return np.where(t > 0, np.exp(np.minimum(np.where(known, log, near), 0)), 1.0)


def _matern_large(nu: float, t: np.ndarray) -> np.ndarray:
    """The same for large nu, by Debye's expansion (DLMF 10.41.4) divided by its value at t = 0."""
    z2 = np.minimum(np.asarray(t, dtype=np.float64) / nu, 1e4) ** 2  # 0 beyond
    w = np.sqrt(1 + z2)
    rise = z2 / (1 + w)  # w - 1
    log = nu * (np.log1p(rise / 2) - rise) - np.log(w) / 2
    return np.exp(log) * _debye(1 / w, nu) / _debye(1.0, nu)


def _debye(p: Any, nu: float) -> Any:
    """sum_k (-1)^k U_k(p) / nu^k, k = 0 .. 4 (DLMF 10.41.10)."""
    q = p * p
    u1 = p * (3 - 5 * q) / 24
    u2 = q * (81 - q * (462 - 385 * q)) / 1152
    u3 = p * q * (30375 - q * (369603 - q * (765765 - 425425 * q))) / 414720
    u4 = (
        q**2
        * (4465125 - q * (94121676 - q * (349922430 - q * (446185740 - 185910725 * q))))
        / 39813120
    )
    return 1 - (u1 - (u2 - (u3 - u4 / nu) / nu) / nu) / nu
