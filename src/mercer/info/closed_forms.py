"""Closed forms of entropies and divergences: integrals of the densities of known distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, pi
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.errors import NoRule
from mercer.info.estimator import EstimatedIntegrals
from mercer.info.information_measures import Integrals
from mercer.info.regions import RegionIntegrals
from mercer.kernels.rules import Rule
from mercer.rkhs.densities import Density
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.mixture import Mixture
from mercer.rkhs.uniform import Dirac, Uniform

_INSTEAD = "take samples instead, such as entropy(p.sample(10_000, rng=0))"
integrals_rule = Rule("closed form of integrals of the density", _INSTEAD)
pair_rule = Rule("closed form of integrals of the densities", _INSTEAD, 2)


def is_distribution(x: object) -> bool:
    """Whether x is a distribution rather than a sample: of mercer, or a frozen one of SciPy."""
    return isinstance(x, Density | Uniform | Dirac) or _is_scipy(x)


def closed_integrals(x: Any, y: Any = None) -> Integrals:
    """Integrals of the density of a distribution, or of two; `NoRule` where there is no closed form."""
    p = _known(x)
    if y is None:
        return integrals_rule.apply(p)
    q = _known(y)
    for name, value in (("x", p), ("y", q)):
        if not isinstance(value, Density | Uniform | Dirac | ExponentialFamily):
            raise NoRule(
                f"{name} must be a distribution, because the other one is, got {validate.shown(value)}: "
                "use two samples or two distributions"
            )
    sizes = [getattr(each, "dimension", 1) for each in (p, q)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"x and y must have the same dimension, got {sizes[0]} and {sizes[1]}")
    return pair_rule.apply(p, q)


class ClosedIntegrals(EstimatedIntegrals):
    """Integrals of known densities, of which some have a closed form."""

    def _unknown(self, what: str) -> NoRule:
        return NoRule(f"no closed form of {what} for {self.estimator!r}: {_INSTEAD}")


# ---- exponential families -------------------------------------------------------------------------


@dataclass(frozen=True)
class ExponentialFamily:
    """Density exp(<theta, T(x)> - F(theta)): natural parameter theta and log-normaliser F of a family."""

    family: str
    theta: tuple[float, ...]
    log_normaliser: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]  # of F: the mean of T(x)

    def __repr__(self) -> str:
        return f"a {self.family} distribution"


class ExponentialIntegrals(ClosedIntegrals):
    """Integrals of densities of one exponential family: int p^a q^b = exp(F(a s + b t) - a F(s) - b F(t))."""

    def __init__(self, p: ExponentialFamily, q: ExponentialFamily | None) -> None:
        super().__init__(p)
        self.p, self.q = p, q
        self.s = np.array(p.theta)
        self.t = self.s if q is None else np.array(q.theta)

    def power(self, a: float, b: float = 0.0) -> float:
        normaliser = self.p.log_normaliser
        log_integral = normaliser(a * self.s + b * self.t)
        return exp(log_integral - a * normaliser(self.s) - b * normaliser(self.t))

    def log_p(self) -> float:
        return self._expected_log(self.s)

    def log_q(self) -> float:
        return self._expected_log(self.t)

    def swapped(self) -> ExponentialIntegrals:
        return ExponentialIntegrals(self.q or self.p, self.p)

    def _expected_log(self, theta: np.ndarray) -> float:
        """Mean under p of the log-density with the parameter theta."""
        return float(theta @ self.p.gradient(self.s)) - self.p.log_normaliser(theta)


def _gamma_family(shape: float, rate: float) -> ExponentialFamily:
    """Gamma distributions: T(x) = (log x, x), theta = (shape - 1, -rate)."""
    from scipy.special import digamma, gammaln

    def normaliser(theta: np.ndarray) -> float:
        shape, rate = theta[0] + 1, -theta[1]
        return float(gammaln(shape) - shape * log(rate)) if shape > 0 and rate > 0 else inf

    def gradient(theta: np.ndarray) -> np.ndarray:
        shape, rate = theta[0] + 1, -theta[1]
        return np.array([digamma(shape) - log(rate), shape / rate])

    return ExponentialFamily("gamma", (shape - 1, -rate), normaliser, gradient)


def _beta_family(a: float, b: float) -> ExponentialFamily:
    """Beta distributions: T(x) = (log x, log(1 - x)), theta = (a - 1, b - 1)."""
    from scipy.special import betaln, digamma

    def normaliser(theta: np.ndarray) -> float:
        return float(betaln(*(theta + 1))) if np.all(theta > -1) else inf

    def gradient(theta: np.ndarray) -> np.ndarray:
        return digamma(theta + 1) - digamma(np.sum(theta + 1))

    return ExponentialFamily("beta", (a - 1, b - 1), normaliser, gradient)


@integrals_rule(ExponentialFamily)
def _(p: ExponentialFamily) -> Integrals:
    return ExponentialIntegrals(p, None)


@pair_rule(ExponentialFamily, ExponentialFamily)
def _(p: ExponentialFamily, q: ExponentialFamily) -> Integrals:
    if p.family != q.family:
        raise NoRule(f"no closed form for a {p.family} and a {q.family} distribution: {_INSTEAD}")
    return ExponentialIntegrals(p, q)


def _is_scipy(x: object) -> bool:
    frozen = hasattr(x, "dist") and hasattr(x, "support")
    return frozen and type(x).__module__.startswith("scipy.stats")


def _known(x: Any) -> Any:
    """A frozen distribution of SciPy as one of mercer or of an exponential family; others as they are."""
    if not _is_scipy(x):
        return x
    name, mean, variance, (low, high) = x.dist.name, float(x.mean()), float(x.var()), x.support()
    if name == "norm":
        return Gaussian(mean, variance)
    if name == "uniform":
        return Uniform(float(low), float(high))
    if name in ("expon", "gamma") and low == 0:
        return _gamma_family(mean**2 / variance, mean / variance)
    if name == "beta" and (low, high) == (0, 1):
        total = mean * (1 - mean) / variance - 1
        return _beta_family(mean * total, (1 - mean) * total)
    raise NoRule(f"no closed form of integrals of scipy.stats.{name} with this support: {_INSTEAD}")


# ---- Gaussians and their mixtures -----------------------------------------------------------------


class GaussianIntegrals(ClosedIntegrals):
    """Integrals of powers of Gaussian densities."""

    def __init__(self, p: Gaussian, q: Gaussian | None) -> None:
        super().__init__(p)
        self.p, self.q = p, p if q is None else q

    def power(self, a: float, b: float = 0.0) -> float:
        """Gaussian with the precision a A + b B, where A and B are those of p and q; else infinite."""
        first, second = _precision(self.p), _precision(self.q)
        precision = a * first + b * second
        values = linalg.eigvalsh(precision)
        if values[0] <= 0:
            return inf
        shift = b * second @ (self.q.mean - self.p.mean)
        square = b * (self.q.mean - self.p.mean) @ second @ (self.q.mean - self.p.mean)
        square -= shift @ linalg.solve(precision, shift)
        d = self.p.dimension
        log_integral = (1 - a - b) * d / 2 * log(2 * pi) - np.sum(np.log(values)) / 2 - square / 2
        return exp(log_integral - (a * _log_det(self.p) + b * _log_det(self.q)) / 2)

    def log_p(self) -> float:
        return expected_log_gaussian(self.p, self.p.mean, _covariance(self.p))

    def log_q(self) -> float:
        return expected_log_gaussian(self.q, self.p.mean, _covariance(self.p))

    def swapped(self) -> GaussianIntegrals:
        return GaussianIntegrals(self.q, self.p)

    def mixed(self, weight: float) -> tuple[Integrals, Integrals, Integrals]:
        mixture = Mixture([self.p, self.q], [weight, 1 - weight])
        each = [MixtureIntegrals(m, None) for m in (mixture, self.p, self.q)]
        return each[0], each[1], each[2]


class MixtureIntegrals(ClosedIntegrals):
    """Quadratic integrals of Gaussian mixtures, sums of Gaussian densities of differences of means."""

    def __init__(self, p: Gaussian | Mixture, q: Gaussian | Mixture | None) -> None:
        super().__init__(p)
        self.p, self.q = p, p if q is None else q

    def power(self, a: float, b: float = 0.0) -> float:
        if (a, b) == (2, 0):
            return _overlap(self.p, self.p)
        if (a, b) == (1, 1):
            return _overlap(self.p, self.q)
        if (a, b) == (0, 2):
            return _overlap(self.q, self.q)
        raise NoRule(f"no closed form of int p^{a:g} q^{b:g} of Gaussian mixtures: {_INSTEAD}")

    def log_q(self) -> float:
        if not isinstance(self.q, Gaussian):
            return super().log_q()
        mean, covariance = _moments(self.p)
        return expected_log_gaussian(self.q, mean, covariance)

    def swapped(self) -> MixtureIntegrals:
        return MixtureIntegrals(self.q, self.p)

    def mixed(self, weight: float) -> tuple[Integrals, Integrals, Integrals]:
        mixture = Mixture([self.p, self.q], [weight, 1 - weight])
        each = [MixtureIntegrals(m, None) for m in (mixture, self.p, self.q)]
        return each[0], each[1], each[2]


@integrals_rule(Gaussian)
def _(p: Gaussian) -> Integrals:
    return GaussianIntegrals(p, None)


@pair_rule(Gaussian, Gaussian)
def _(p: Gaussian, q: Gaussian) -> Integrals:
    return GaussianIntegrals(p, q)


@integrals_rule(Mixture)
def _(p: Mixture) -> Integrals:
    _parts(p)
    return MixtureIntegrals(p, None)


@pair_rule(Mixture, Mixture)
@pair_rule(Mixture, Gaussian)
@pair_rule(Gaussian, Mixture)
def _(p: Any, q: Any) -> Integrals:
    for mixture in (p, q):
        _parts(mixture)  # refuses other components
    return MixtureIntegrals(p, q)


def expected_log_gaussian(q: Gaussian, mean: np.ndarray, covariance: np.ndarray) -> float:
    """Mean of log q under a distribution with this mean and covariance matrix."""
    precision, shift = _precision(q), mean - q.mean
    square = np.sum(precision * covariance) + shift @ precision @ shift
    return float(-(q.dimension * log(2 * pi) + _log_det(q) + square) / 2)


def _overlap(p: Gaussian | Mixture, q: Gaussian | Mixture) -> float:
    """Integral of p q: sum over components of w_i v_j N(m_i; m_j, C_i + C_j)."""
    return sum(
        w * v * exp(Gaussian(a.mean, _covariance(a) + _covariance(b)).log_density(b.mean[None])[0])
        for a, w in _parts(p)
        for b, v in _parts(q)
    )


def _parts(p: Any) -> list[tuple[Gaussian, float]]:
    """Gaussian components with their weights, of nested mixtures too."""
    if isinstance(p, Gaussian):
        return [(p, 1.0)]
    if not isinstance(p, Mixture):
        raise NoRule(f"no closed form of a mixture with {p!r}: {_INSTEAD}")
    weighted = zip(p.parts, p.weights.tolist(), strict=True)
    return [(g, w * v) for part, w in weighted for g, v in _parts(part)]


def _moments(p: Gaussian | Mixture) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance matrix."""
    components = _parts(p)
    mean = sum((w * g.mean for g, w in components), np.zeros(p.dimension))
    square = sum(
        w * (_covariance(g) + np.outer(g.mean - mean, g.mean - mean)) for g, w in components
    )
    return mean, np.asarray(square)


def _covariance(p: Gaussian) -> np.ndarray:
    return np.diag(p.cov) if p.cov.ndim == 1 else p.cov


def _precision(p: Gaussian) -> np.ndarray:
    return np.diag(1 / p.cov) if p.cov.ndim == 1 else linalg.inv(p.cov)


def _log_det(p: Gaussian) -> float:
    return float(np.sum(np.log(p.cov))) if p.cov.ndim == 1 else float(linalg.slogdet(p.cov)[1])


# ---- uniform distributions ------------------------------------------------------------------------


@integrals_rule(Uniform)
def _(p: Uniform) -> Integrals:
    volume = np.prod(p.upper - p.lower)
    return RegionIntegrals(p, np.array([1 / volume]), None, volume)


@pair_rule(Uniform, Uniform)
def _(p: Uniform, q: Uniform) -> Integrals:
    """Three regions: the box of p only, both boxes, the box of q only."""
    sides = np.minimum(p.upper, q.upper) - np.maximum(p.lower, q.lower)
    both = np.prod(np.maximum(sides, 0.0))
    first, second = np.prod(p.upper - p.lower), np.prod(q.upper - q.lower)
    volumes = np.array([first - both, both, second - both])
    left, right = np.array([1, 1, 0]) / first, np.array([0, 1, 1]) / second
    present = volumes > 0
    return RegionIntegrals(p, left[present], right[present], volumes[present])


class UniformGaussianIntegrals(ClosedIntegrals):
    """Cross-entropy and Kullback-Leibler divergence of a uniform distribution from a Gaussian."""

    def __init__(self, p: Uniform, q: Gaussian) -> None:
        super().__init__(p)
        self.p, self.q = p, q

    def log_p(self) -> float:
        return -float(np.sum(np.log(self.p.upper - self.p.lower)))

    def log_q(self) -> float:
        variances = (self.p.upper - self.p.lower) ** 2 / 12
        return expected_log_gaussian(self.q, (self.p.lower + self.p.upper) / 2, np.diag(variances))


@pair_rule(Uniform, Gaussian)
def _(p: Uniform, q: Gaussian) -> Integrals:
    return UniformGaussianIntegrals(p, q)
