"""Spectra of stationary kernels: densities of frequencies, and draws from them.

One convention: k(x - y) = int exp(i w'(x - y)) p(w) dw. The spectral density p is even and
non-negative and integrates to k(0), so p / k(0) is a probability density (Bochner), and
k(x - y) = k(0) E cos(w'(x - y)) for frequencies w drawn from it.
"""

from __future__ import annotations

from math import comb, factorial, log, pi, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, needs_grad, to_numpy
from mercer.kernels.algebra import Constant
from mercer.kernels.base import Kernel
from mercer.kernels.radial import (
    RBF,
    Cauchy,
    Exponential,
    InverseMultiquadric,
    Laplace,
    Matern,
    RationalQuadratic,
)
from mercer.kernels.rules import Rule
from mercer.kernels.shift_invariant import BSpline, Cosine, Dirichlet, Fejer, Poisson, Sinc
from mercer.kernels.sobolev import BandLimited
from mercer.kernels.spectrum_algebra import (
    Rng,
    density,
    density_rule,
    draw,
    frequencies_rule,
    masses,
    top,
)


def spectral_density(kernel: Kernel, omega: Any) -> Array:
    """p(w) in k(x - y) = int exp(i w'(x - y)) p(w) dw: non-negative, with integral k(0).

    Infinite at w = 0 where the kernel falls off so slowly that it has no integral (a rational
    quadratic kernel with alpha <= d/2). `NoRule` for kernels without a spectrum, for those whose
    spectrum has masses at single frequencies (periodic ones, constants), and for products.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel.
    omega : array (n, d), or (n,) on the line
        Frequencies, in radians per unit of the data.

    Returns
    -------
    array (n,)

    Examples
    --------
    >>> from mercer.kernels.radial import RBF
    >>> spectral_density(RBF(2.0), [0.0, 0.5])  # the normal density with deviation 1/2
    array([0.79788456, 0.48394145])
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    points = validate.points(omega, "omega")
    if needs_grad(points):
        raise TypeError("spectral_density has no gradient in torch: detach omega")
    values = density(kernel, to_numpy(points).astype(np.float64))
    return array_like(values, points)


def sample_frequencies(kernel: Kernel, n: int, dim: int, *, rng: int | Rng | None = None) -> Any:
    """Draw frequencies w with k(x - y) = k(0) E cos(w'(x - y)).

    Sums of kernels are mixtures, products sums of independent frequencies, exp(k) a sum of a
    Poisson number of them. `NoRule` for kernels without a known spectrum.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel.
    n : int
        The number of frequencies.
    dim : int
        The number of columns of the data.
    rng : int, Generator or None

    Returns
    -------
    array (n, dim)
        In NumPy and float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.radial import RBF
    >>> w = sample_frequencies(RBF(2.0), 10_000, 1, rng=0)
    >>> float(np.cos(1.5 * w).mean()), float(RBF(2.0)([1.5], [0.0])[0, 0])  # k(1.5), twice
    (0.75..., 0.754...)
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    validate.whole("n", n)
    validate.whole("dim", dim)
    return draw(kernel, n, dim, validate.generator(rng))


def spectral_masses(kernel: Kernel, order: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies w_j and their masses m_j in k(x - y) = sum_j m_j exp(i w_j (x - y)), of a periodic kernel on the line.

    The spectrum of a periodic kernel has masses at multiples of one frequency and no density; where they are
    positive is its support, which decides what the kernel can tell apart. `NoRule` for kernels with a density.

    Parameters
    ----------
    kernel : Kernel
        `Cosine`, `Dirichlet`, `Fejer`, `Poisson` or `Constant`.
    order : int
        The largest multiple that is listed, for `Poisson`, whose masses q^|j| never end.

    Returns
    -------
    frequencies, masses : arrays (m,)

    Examples
    --------
    >>> from mercer.kernels import Fejer
    >>> spectral_masses(Fejer(1))
    (array([-1.,  0.,  1.]), array([0.5, 1. , 0.5]))
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as Poisson(0.5)")
    validate.whole("order", order, 0)
    frequencies, weights = masses_rule.apply(kernel, order)
    return np.asarray(frequencies, dtype=np.float64), np.asarray(weights, dtype=np.float64)


def _norms(omega: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(omega**2, axis=1))


# ---- radial kernels, and the city block ---------------------------------------------------


@density_rule(RBF)
def _(kernel: RBF, omega: np.ndarray) -> np.ndarray:
    s, d = kernel.bandwidth, omega.shape[1]
    return (s / sqrt(2 * pi)) ** d * np.exp(-((s * _norms(omega)) ** 2) / 2)


@frequencies_rule(RBF)
def _(kernel: RBF, n: int, dim: int, rng: Rng) -> np.ndarray:
    return rng.standard_normal((n, dim)) / kernel.bandwidth


@density_rule(Matern)
def _(kernel: Matern, omega: np.ndarray) -> np.ndarray:
    """Student's t with 2 nu degrees of freedom and scale 1/s (Rasmussen & Williams 2006, eq. 4.15)."""
    nu, s, half = kernel.nu, kernel.bandwidth, omega.shape[1] / 2
    scale = _log_gamma_ratio(nu, half) + half * log(s**2 / (2 * pi * nu))
    return np.exp(scale - (nu + half) * np.log1p((s * _norms(omega)) ** 2 / (2 * nu)))


@frequencies_rule(Matern)
def _(kernel: Matern, n: int, dim: int, rng: Rng) -> np.ndarray:
    mixing = rng.standard_gamma(kernel.nu, (n, 1)) / kernel.nu
    mixing = np.maximum(mixing, np.finfo(np.float64).tiny)  # a gamma of tiny shape rounds to 0
    return rng.standard_normal((n, dim)) / (kernel.bandwidth * np.sqrt(mixing))


@density_rule(Exponential)
def _(kernel: Exponential, omega: np.ndarray) -> np.ndarray:
    return density(Matern(0.5, kernel.bandwidth), omega)


@frequencies_rule(Exponential)
def _(kernel: Exponential, n: int, dim: int, rng: Rng) -> np.ndarray:
    return draw(Matern(0.5, kernel.bandwidth), n, dim, rng)


@density_rule(Laplace)
def _(kernel: Laplace, omega: np.ndarray) -> np.ndarray:
    s = kernel.bandwidth
    return np.prod(s / pi / (1 + (s * omega) ** 2), axis=1)


@frequencies_rule(Laplace)
def _(kernel: Laplace, n: int, dim: int, rng: Rng) -> np.ndarray:
    return rng.standard_cauchy((n, dim)) / kernel.bandwidth


@density_rule(RationalQuadratic)
def _(kernel: RationalQuadratic, omega: np.ndarray) -> np.ndarray:
    return _rational_density(*_rational(kernel), omega)


@frequencies_rule(RationalQuadratic)
def _(kernel: RationalQuadratic, n: int, dim: int, rng: Rng) -> np.ndarray:
    return _rational_draw(*_rational(kernel), n, dim, rng)


@density_rule(Cauchy)
def _(kernel: Cauchy, omega: np.ndarray) -> np.ndarray:
    return _rational_density(1.0, kernel.bandwidth, omega)


@frequencies_rule(Cauchy)
def _(kernel: Cauchy, n: int, dim: int, rng: Rng) -> np.ndarray:
    return _rational_draw(1.0, kernel.bandwidth, n, dim, rng)


@density_rule(InverseMultiquadric)
def _(kernel: InverseMultiquadric, omega: np.ndarray) -> np.ndarray:
    return top(kernel, omega.shape[1]) * _rational_density(kernel.exponent, kernel.offset, omega)


@frequencies_rule(InverseMultiquadric)
def _(kernel: InverseMultiquadric, n: int, dim: int, rng: Rng) -> np.ndarray:
    return _rational_draw(kernel.exponent, kernel.offset, n, dim, rng)


def _rational(kernel: RationalQuadratic) -> tuple[float, float]:
    """The a and c in (1 + r^2 / c^2)^-a."""
    return kernel.alpha, kernel.bandwidth * sqrt(2 * kernel.alpha)


def _rational_draw(a: float, c: float, n: int, dim: int, rng: Rng) -> np.ndarray:
    """(1 + r^2 / c^2)^-a = E exp(-t r^2 / c^2) for t of the gamma distribution of shape a."""
    return rng.standard_normal((n, dim)) * np.sqrt(2 * rng.standard_gamma(a, (n, 1))) / c


def _rational_density(a: float, c: float, omega: np.ndarray) -> np.ndarray:
    """Integrated over t: (c^2 / 4 pi)^(d/2) 2 (u/2)^v K_v(u) / Gamma(a), v = a - d/2, u = c |w|.

    2 (u/2)^v K_v(u) / Gamma(v) is the profile of a Matern kernel: the two families are each
    other's spectra.
    """
    from scipy.special import gammaln, k0

    half = omega.shape[1] / 2
    order, u = a - half, c * _norms(omega)
    with np.errstate(divide="ignore"):  # infinite at 0 where a <= d/2
        if order == 0:
            bessel = np.log(2 * k0(u)) - gammaln(a)
        else:
            v = abs(order)
            matern = np.log(Matern(v, sqrt(2 * v)).profile(u**2))
            ratio = -_log_gamma_ratio(v, half) if order > 0 else gammaln(v) - gammaln(a)
            bessel = matern + ratio - (0 if order > 0 else 2 * v * np.log(u / 2))
    return np.exp(bessel + half * log(c**2 / (4 * pi)))


def _log_gamma_ratio(x: float, half: float) -> float:
    """log of Gamma(x + half) / Gamma(x), also where both are huge."""
    from scipy.special import gammaln

    if x < 1e6:
        return float(gammaln(x + half) - gammaln(x))
    return half * log(x) + half * (half - 1) / (2 * x)  # DLMF 5.11.13


# ---- kernels on the line, multiplied over the columns -------------------------------------


@density_rule(BSpline)
def _(kernel: BSpline, omega: np.ndarray) -> np.ndarray:
    """(sin(u) / u)^(n + 1) with u = s w / 2, over B_n(0)."""
    n, s = kernel.order, kernel.bandwidth
    half = (n + 1) // 2
    peak = sum((-1) ** k * comb(n + 1, k) * (half - k) ** n for k in range(half)) / factorial(n)
    factors = s / (2 * pi * peak) * np.sinc(s * omega / (2 * pi)) ** (n + 1)
    return np.prod(factors, axis=1)


@frequencies_rule(BSpline)
def _(kernel: BSpline, n: int, dim: int, rng: Rng) -> np.ndarray:
    """Rejection sampling from Cauchy frequencies: (sin(u) / u)^2 <= 2 / (1 + u^2)."""
    frequencies = np.empty(0, dtype=np.float64)
    while frequencies.size < n * dim:
        u = rng.standard_cauchy(4 * n * dim)
        chance = np.sinc(u / pi) ** (kernel.order + 1) * (1 + u**2) / 2
        frequencies = np.concatenate([frequencies, u[rng.random(u.size) < chance]])
    return 2 * frequencies[: n * dim].reshape(n, dim) / kernel.bandwidth


@density_rule(Sinc)
def _(kernel: Sinc, omega: np.ndarray) -> np.ndarray:
    inside = np.all(np.abs(omega) <= kernel.cutoff, axis=1)
    return inside / (2 * kernel.cutoff) ** omega.shape[1]


@frequencies_rule(Sinc)
@frequencies_rule(BandLimited)
def _(kernel: Sinc | BandLimited, n: int, dim: int, rng: Rng) -> np.ndarray:
    return rng.uniform(-kernel.cutoff, kernel.cutoff, (n, dim))


@density_rule(BandLimited)
def _(kernel: BandLimited, omega: np.ndarray) -> np.ndarray:
    return top(kernel, omega.shape[1]) * density(Sinc(kernel.cutoff), omega)


for _periodic in (Cosine, Poisson, Dirichlet, Fejer):
    density_rule(_periodic)(masses)


masses_rule = Rule(
    "spectral masses", "only periodic kernels have them; others have a spectral_density"
)
masses_rule(Cosine)(lambda kernel, order: ([-kernel.frequency, kernel.frequency], [0.5, 0.5]))
masses_rule(Constant)(lambda kernel, order: ([0.0], [kernel.value]))


@masses_rule(Poisson)
@masses_rule(Dirichlet)
@masses_rule(Fejer)
def _(kernel: Poisson | Dirichlet | Fejer, order: int) -> tuple[np.ndarray, np.ndarray]:
    """q^|j|, 1, and the mass at 0 less |j| / (n + 1) of it: (2 n + 1,)."""
    largest = order if isinstance(kernel, Poisson) else kernel.order
    multiples = np.arange(-largest, largest + 1)
    if isinstance(kernel, Poisson):
        return multiples, kernel.decay ** np.abs(multiples)
    if isinstance(kernel, Dirichlet):
        return multiples, np.ones(len(multiples))
    shares = 1 - np.abs(multiples) / (kernel.order + 1)
    return multiples, top(kernel, 1) * shares / shares.sum()


@frequencies_rule(Cosine)
def _(kernel: Cosine, n: int, dim: int, rng: Rng) -> np.ndarray:
    return kernel.frequency * rng.choice([-1.0, 1.0], (n, dim))


@frequencies_rule(Poisson)
def _(kernel: Poisson, n: int, dim: int, rng: Rng) -> np.ndarray:
    """P(k) proportional to q^|k|: the difference of two geometric numbers."""
    first, second = rng.geometric(1 - kernel.decay, (2, n, dim))
    return (first - second).astype(np.float64)


@frequencies_rule(Dirichlet)
def _(kernel: Dirichlet, n: int, dim: int, rng: Rng) -> np.ndarray:
    return rng.integers(-kernel.order, kernel.order + 1, (n, dim)).astype(np.float64)


@frequencies_rule(Fejer)
def _(kernel: Fejer, n: int, dim: int, rng: Rng) -> np.ndarray:
    """P(k) proportional to n + 1 - |k|: the difference of two uniform numbers."""
    first, second = rng.integers(0, kernel.order + 1, (2, n, dim))
    return (first - second).astype(np.float64)
