"""Closed forms of integral probability metrics for Gaussians; `NoRule` for other distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np

from mercer import linalg
from mercer.errors import NoRule
from mercer.info.metric_value import MetricValue, points_of_width
from mercer.rkhs.densities import Density
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.uniform import Dirac, Uniform

_DISTRIBUTIONS = (Density, Uniform, Dirac)


def closed_form(metric: str, x: Any, y: Any, p: float = 1.0) -> MetricValue | None:
    """The metric of two distributions by its rule, or None for samples."""
    if not are_gaussian(metric, x, y, p):
        return None
    for rule in _RULES.get(metric, ()):
        value = rule(x, y, p)
        if value is not None:
            return value
    raise _no_rule(metric, x, y, p)


def are_gaussian(metric: str, x: Any, y: Any, p: float) -> bool:
    """Whether x and y are Gaussians rather than samples; `NoRule` for other distributions."""
    if not isinstance(x, _DISTRIBUTIONS) and not isinstance(y, _DISTRIBUTIONS):
        return False
    if not isinstance(x, Gaussian) or not isinstance(y, Gaussian):
        raise _no_rule(metric, x, y, p)
    if x.dimension != y.dimension:
        raise ValueError(
            f"x and y must have the same dimension, got {x.dimension} and {y.dimension}"
        )
    return True


def projected(x: Gaussian, direction: np.ndarray) -> Gaussian:
    """The distribution of t'X on the line."""
    return Gaussian(float(direction @ x.mean), float(direction @ covariance(x) @ direction))


def _no_rule(metric: str, x: Any, y: Any, p: float) -> NoRule:
    power = f" with p = {p:g}" * ("wasserstein" in metric)
    return NoRule(
        f"no closed form of {metric} for {x!r} and {y!r}{power}: draw samples, such as "
        "x.sample(10_000, rng=0)"
    )


# ---- rules ------------------------------------------------------------------------------------


def _bures(x: Gaussian, y: Gaussian, p: float) -> MetricValue | None:
    """W_2^2 = |m - n|^2 + tr(A + B - 2 (A^1/2 B A^1/2)^1/2) (Dowson and Landau 1982)."""
    if p != 2:
        return None
    a, b = covariance(x), covariance(y)
    root = _root(a)
    cross = _root(root @ b @ root)
    shift = x.mean - y.mean
    squared = float(shift @ shift + np.trace(a) + np.trace(b) - 2 * np.trace(cross))
    inverse = linalg.inv(root)
    gain = inverse @ cross @ inverse  # the optimal map is n + gain (z - m)
    return MetricValue(sqrt(max(squared, 0.0)), partial(_Quadratic, x.mean, y.mean, gain, squared))


def _folded(x: Gaussian, y: Gaussian, p: float) -> MetricValue | None:
    """W_1 on the line: E|m - n + (s - t) Z| of a normal Z, the mean of a folded normal."""
    if p != 1 or x.dimension > 1:
        return None
    (m, s), (n, t) = _line(x), _line(y)
    shift, scale = m - n, abs(s - t)
    value = abs(shift)
    if scale > 0:
        ratio = shift / scale
        value = scale * sqrt(2 / pi) * exp(-(ratio**2) / 2) + shift * erf(ratio / sqrt(2))
    return MetricValue(value, partial(_Kinked, m, s, n, t))


def _total_variation(x: Gaussian, y: Gaussian, p: float) -> MetricValue | None:
    """Sum of the differences of probability between the points where the densities cross."""
    if x.dimension > 1:
        return None
    cuts = _crossings(x, y)
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    value = float(np.sum(np.abs(np.diff(_cdf(x, edges) - _cdf(y, edges)))))
    return MetricValue(value, partial(DensitySign, x, y))


def _kolmogorov(x: Gaussian, y: Gaussian, p: float) -> MetricValue | None:
    """The largest difference of the cumulative distributions is where the densities cross."""
    if x.dimension > 1:
        return None
    cuts = _crossings(x, y)
    gaps = _cdf(x, cuts) - _cdf(y, cuts)
    best = int(np.argmax(np.abs(gaps))) if len(cuts) else 0
    corner = cuts[best : best + 1] if len(cuts) else x.mean
    gap = float(gaps[best]) if len(cuts) else 0.0
    return MetricValue(abs(gap), partial(OrthantIndicator, corner, float(np.sign(gap))))


_Rule = Callable[[Gaussian, Gaussian, float], MetricValue | None]
_RULES: dict[str, tuple[_Rule, ...]] = {
    "wasserstein": (_bures, _folded),
    "total_variation": (_total_variation,),
    "kolmogorov": (_kolmogorov,),
}


# ---- witnesses --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OrthantIndicator:
    """sign * 1(z <= corner), in every coordinate: the witness of the Kolmogorov distance."""

    corner: np.ndarray  # (d,)
    sign: float

    def __call__(self, z: Any) -> np.ndarray:
        """The values at points: (n,)."""
        z = points_of_width(z, len(self.corner))
        return self.sign * np.all(z <= self.corner, axis=1)


@dataclass(frozen=True, eq=False)
class DensitySign:
    """The sign of p(z) - q(z): the witness of the total variation of two densities."""

    first: Gaussian
    second: Gaussian

    def __call__(self, z: Any) -> np.ndarray:
        """The values at points: (n,)."""
        z = points_of_width(z, self.first.dimension)
        return np.sign(self.first.log_density(z) - self.second.log_density(z))


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """|z|^2 - (z - m)'A(z - m) - 2 n'z + c, whose mean under N(m, .) is half of W_2^2."""

    mean: np.ndarray
    target: np.ndarray
    gain: np.ndarray
    squared: float

    def __call__(self, z: Any) -> np.ndarray:
        """The values at points: (n,)."""
        u = points_of_width(z, len(self.mean)) - self.mean
        bent = np.einsum("ni,ij,nj->n", u, np.eye(len(self.mean)) - self.gain, u)
        return bent + 2 * u @ (self.mean - self.target)


@dataclass(frozen=True)
class _Kinked:
    """A 1-Lipschitz function on the line that rises where mass moves down, and falls where it moves up."""

    mean: float
    deviation: float
    target_mean: float
    target_deviation: float

    def __call__(self, z: Any) -> np.ndarray:
        """The values at numbers: (n,)."""
        t = points_of_width(z, 1)[:, 0]
        shrink = 1 - self.target_deviation / self.deviation  # t - T(t) has this slope
        if shrink == 0:
            return np.sign(self.mean - self.target_mean) * t
        fixed = (
            self.mean - (self.mean - self.target_mean) / shrink
        )  # the point that stays where it is
        return np.sign(shrink) * np.abs(t - fixed)


# ---- private ----------------------------------------------------------------------------------


def covariance(x: Gaussian) -> np.ndarray:
    """The covariance matrix, also where variances are stored: (d, d)."""
    return np.diag(x.cov) if x.cov.ndim == 1 else x.cov


def _root(matrix: np.ndarray) -> np.ndarray:
    """The symmetric square root of a positive semi-definite matrix."""
    values, vectors = linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _line(x: Gaussian) -> tuple[float, float]:
    """Mean and standard deviation of a Gaussian on the line."""
    return float(x.mean[0]), sqrt(float(x.cov.ravel()[0]))


def _cdf(x: Gaussian, t: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    mean, deviation = _line(x)
    return ndtr((t - mean) / deviation)


def _crossings(x: Gaussian, y: Gaussian) -> np.ndarray:
    """Where the densities of two Gaussians on the line are equal: at most two numbers, in order."""
    (m, s), (n, t) = _line(x), _line(y)
    if s == t:
        return np.array([(m + n) / 2] if m != n else [])
    # (u - m)^2 / s^2 - (u - n)^2 / t^2 = 2 log(t / s), in v = u - m for accuracy
    gap = n - m
    a, b = 1 / s**2 - 1 / t**2, gap / t**2
    c = -(gap**2) / t**2 - 2 * np.log(t / s)
    root = sqrt(max(b * b - a * c, 0.0))
    q = -(b + np.copysign(root, b))
    pair = [q / a, c / q] if q != 0 else [0.0, 0.0]
    return m + np.sort(pair)
