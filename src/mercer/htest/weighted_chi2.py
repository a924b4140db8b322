"""Weighted sums of chi-squares: their distribution, and the null that uses it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np

from mercer.htest.evidence import HasSpectrum, provides
from mercer.htest.nulls import Judgement, Null

_MAX_WEIGHTS = 10_000  # more are replaced by their sum
_STEP, _NODES = 0.05, 700  # of the trapezoidal rule along the contour: ten digits
_NODES_PER_CHUNK = 100  # the integrand of most sums has decayed after them
_MAX_STEPS, _STEP_TOLERANCE = (
    60,
    1e-13,
)  # of the search for the saddle point, which usually takes ten
_NEGLIGIBLE = 1e-20  # share of the largest node below which the nodes farther out add nothing


@dataclass(frozen=True)
class WeightedChi2(Null):
    """Weighted sum of chi-squares, sum_i l_i z_i^2 with weights l_i from the test, by numerical inversion.

    What `Spectrum` draws, for tests whose weights are few: no draws, and p-values of any size.
    """

    def judge(self, evidence: HasSpectrum, rng: Any = None) -> Judgement:
        """Survival function of the weighted sum of chi-squares at the observed statistic."""
        if not provides(evidence, HasSpectrum):
            raise self._lacking("limit as a sum of chi-squares")
        observed, weights, remainder = evidence.spectrum(_MAX_WEIGHTS)
        law = WeightedChi2Law(np.asarray(weights, dtype=np.float64), float(remainder))
        shown = law if law.std() > 0 else None  # all mass in one point has no density
        return Judgement.by_tail(law.sf(observed), observed, shown)


@dataclass(frozen=True, eq=False)
class WeightedChi2Law:
    """The distribution of rest + sum_i l_i z_i^2, with the methods that SciPy's have.

    Examples
    --------
    >>> law = WeightedChi2Law(np.array([2.0, 2.0]))  # an exponential distribution of mean 4
    >>> law.mean(), law.std(), law.sf(4.0), law.pdf(4.0)
    (4.0, 4.0, 0.3678..., 0.0919...)
    """

    weights: np.ndarray = field(repr=False)
    rest: float = 0.0
    name: ClassVar[str] = "weighted chi-square"

    def support(self) -> tuple[float, float]:
        """Where it has mass."""
        return self.rest, inf

    def mean(self) -> float:
        return self.rest + float(np.sum(self.weights))

    def std(self) -> float:
        return sqrt(2 * float(np.sum(self.weights**2)))

    def sf(self, x: Any) -> Any:
        """P(X > x)."""
        return self._each(x, weighted_chi2_sf)

    def pdf(self, x: Any) -> Any:
        """The density."""
        return self._each(x, weighted_chi2_pdf)

    def _each(self, x: Any, function: Any) -> Any:
        values = np.asarray(x, dtype=np.float64) - self.rest
        results = [function(float(v), self.weights) for v in values.ravel()]
        return np.reshape(results, values.shape) if values.ndim else results[0]


def weighted_chi2_sf(value: float, weights: np.ndarray) -> float:
    """P(sum_i l_i z_i^2 > value) for non-negative weights l, to about ten digits of itself.

    The moment generating function is inverted along a parabola through the saddle point, where
    nothing cancels, so that small probabilities are as exact as large ones (Rice 1980):
    P = 1/(2 pi i) int exp(K(s) - s value) / s ds with K(s) = -1/2 sum_i log(1 - 2 l_i s).

    Examples
    --------
    >>> weighted_chi2_sf(3.841458820694124, np.array([1.0]))
    0.05
    """
    weights = np.asarray(weights, dtype=np.float64)
    top = float(np.max(weights, initial=0.0))
    if value <= 0 or top == 0:
        return 1.0 if value <= 0 else 0.0
    weights, value = weights[weights > 0] / top, value / top
    if value > 2000 + 10 * weights.sum():  # below the smallest number
        return 0.0
    if value < weights.sum():  # for a saddle point left of the pole, the integral is -P(X <= value)
        return float(np.clip(1 + _inverted(value, weights, _saddle(value, weights, -1)), 0.0, 1.0))
    return float(np.clip(_inverted(value, weights, _saddle(value, weights, 1)), 0.0, 1.0))


def weighted_chi2_pdf(value: float, weights: np.ndarray) -> float:
    """The density of sum_i l_i z_i^2 at a value: the same integral without the 1/s.

    Examples
    --------
    >>> weighted_chi2_pdf(1.0, np.array([1.0]))
    0.2419...
    """
    weights = np.asarray(weights, dtype=np.float64)
    top = float(np.max(weights, initial=0.0))
    if value <= 0 or top == 0:
        return 0.0
    weights, value = weights[weights > 0] / top, value / top
    if value > 2000 + 10 * weights.sum():
        return 0.0
    return max(_inverted(value, weights, _saddle(value, weights, 0), pole=False), 0.0) / top


def _inverted(value: float, weights: np.ndarray, c: float, *, pole: bool = True) -> float:
    """1/(2 pi i) int exp(K(s) - s value) / s ds, or without the 1/s, along a parabola through the saddle point c."""
    gaps = 1 - 2 * c * weights
    bend, twist = float(np.sum(2 * weights**2 / gaps**2)), float(np.sum(8 * weights**3 / gaps**3))
    if pole:
        bend, twist = bend + 1 / c**2, twist - 2 / c**3
    width = bend**-0.5
    parabola = float(np.clip(twist / (6 * bend), 0.05 / width, 0.5 / width))
    total = top = 0.0
    for start in range(0, _NODES, _NODES_PER_CHUNK):
        t = _STEP * np.arange(start, start + _NODES_PER_CHUNK)
        u, du = width * np.sinh(t), width * np.cosh(t)
        with np.errstate(over="ignore", invalid="ignore"):
            s = c + parabola * u**2 + 1j * u
            log = -0.5 * np.sum(np.log(1 - 2 * s[:, None] * weights), axis=1) - s * value
            log = log - np.log(s) if pole else log  # without a pole, s may be 0
            nodes = np.exp(log) * (1 - 2j * parabola * u) * du
        if start == 0:
            nodes[0] /= 2
        total += float(np.nansum(nodes.real))
        sizes = np.abs(nodes)
        top = max(top, float(np.nanmax(sizes, initial=0.0)))
        if not sizes[-1] > _NEGLIGIBLE * top:  # also where it is not a number: beyond all numbers
            break
    return total * _STEP / np.pi


def _saddle(value: float, weights: np.ndarray, side: int) -> float:
    """Where K(s) - s value - log|s| is smallest right (1) or left (-1) of 0; 0: without the log.

    The derivative grows from the lower bracket to the upper one: Newton's steps, and bisection where
    they leave the bracket.
    """
    lower = -(len(weights) + 2) / (2 * value)
    low, high = {1: (0.0, 0.5), -1: (lower, 0.0), 0: (lower, 0.5)}[side]
    s = (low + high) / 2
    for _ in range(_MAX_STEPS):
        ratios = weights / (1 - 2 * s * weights)
        slope = float(ratios.sum()) - value - (1 / s if side else 0.0)
        low, high = (s, high) if slope < 0 else (low, s)
        step = slope / (2 * float(ratios @ ratios) + (1 / s / s if side else 0.0))
        newton = s - step
        inside = low < newton < high or newton == s  # never at an end, which may be a pole
        s = newton if inside else (low + high) / 2
        if inside and abs(step) < _STEP_TOLERANCE * abs(s):
            break
    return s
