"""Weighted sums of chi-squares: their survival function, and the null that uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.htest.nulls import Judgement, Null

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class WeightedChi2(Null):
    """sum_i l_i z_i^2 with z_i standard normal and weights l_i from the test, by its formula.

    What `Spectrum` draws, for tests whose weights are few: no draws, and p-values of any size.
    """

    def judge(self, evidence: Any, rng: Any = None) -> Judgement:
        """The survival function at `evidence.spectrum(rank)`: the observed form and the weights."""
        observed, weights, rest = self._ask(evidence, "spectrum")(10_000)
        tail = weighted_chi2_sf(observed - rest, weights)
        return Judgement(max(tail, _TINY), np.empty(0, dtype=np.float64), observed)


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
    c = _saddle(value, weights)
    gaps = 1 - 2 * c * weights
    bend = float(np.sum(2 * weights**2 / gaps**2)) + 1 / c**2
    twist = float(np.sum(8 * weights**3 / gaps**3)) - 2 / c**3
    width = bend**-0.5
    parabola = float(np.clip(twist / (6 * bend), 0.05 / width, 0.5 / width))
    step = 0.05
    t = step * np.arange(700)
    u, du = width * np.sinh(t), width * np.cosh(t)
    with np.errstate(over="ignore", invalid="ignore"):
        s = c + parabola * u**2 + 1j * u
        log = -0.5 * np.sum(np.log(1 - 2 * s[:, None] * weights), axis=1) - s * value - np.log(s)
        terms = (np.exp(log) * (1 - 2j * parabola * u)).real * du
    terms[0] /= 2
    return float(np.clip(np.nansum(terms) * step / np.pi, 0.0, 1.0))


def _saddle(value: float, weights: np.ndarray) -> float:
    """Where K(s) - s value - log(s) is smallest, 0 < s < 1/2: its derivative grows."""
    low, high = 0.0, 0.5
    for _ in range(60):
        s = (low + high) / 2
        slope = float(np.sum(weights / (1 - 2 * s * weights))) - value - 1 / s
        low, high = (s, high) if slope < 0 else (low, s)
    return (low + high) / 2
