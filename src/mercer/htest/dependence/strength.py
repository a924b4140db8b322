"""Strength of the dependence of two variables: variation explained, HSIC and kernel correlation, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.gram import LazyMatrix, top_eigenpairs
from mercer.htest.explained_variation import (
    Explained,
    PredictionError,
    VariationExplained,
    all_explained,
    prediction_errors,
)
from mercer.htest.intervals import Estimate, Interval, variance_slope
from mercer.rkhs.measures import without_diagonals
from mercer.rkhs.paired_samples import Variable


@dataclass(frozen=True)
class Strength(VariationExplained):
    """How strongly two variables depend on each other.

    Attributes
    ----------
    explained : tuple of Explained
        Shares of the variation of y that x explains, and of x that y explains, at rows left out of the fit: of
        their levels, and of their spreads (dependence of the variance). They do not depend on the kernels
        (except for points that are not rows of an array) and have simultaneous intervals. The first is the largest
        share of a level, or the largest share of all where no level is explained.
    hsic : float
        The unbiased estimate of HSIC; negative values mean that no dependence is visible.
    interval : Interval
        A confidence interval of HSIC, which is never negative.
    correlation : float
        sqrt(HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y))), between 0 (independent, for characteristic
        kernels) and 1: the distance correlation for `Energy` kernels, |Pearson's r| for `Linear`
        ones and one column each. It has no unit.
    correlation_interval : Interval
        Its confidence interval, by the delta method.
    confidence : float

    Notes
    -----
    With smooth kernels `correlation` is small for dependence of high frequency, even where y is a
    function of x: it measures the share of common variation in feature space.
    """

    explained: tuple[Explained, ...]
    hsic: float
    interval: Interval
    correlation: float
    correlation_interval: Interval
    confidence: float

    @property
    def estimate(self) -> float:
        """The unbiased estimate of HSIC."""
        return self.hsic

    @property
    def bounded(self) -> bool:
        """Whether the interval of the correlation excludes anything: of few observations it may be all of 0 to 1."""
        return self.correlation_interval != (0.0, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "explained": [share.to_dict() for share in self.explained],
            "word": self.word,
            "hsic": self.hsic,
            "hsic_interval": list(self.interval),
            "correlation": self.correlation,
            "correlation_interval": list(self.correlation_interval),
            "confidence": self.confidence,
        }


class Dependence:
    """HSIC of two variables and the contributions of observations, by passes over both centred Gram matrices."""

    def __init__(self, x: Variable, y: Variable, *, series: bool = False) -> None:
        self._variables, self._series = (x, y), series
        self._left, self._right = x.gram.centered(), y.gram.centered()
        self.n = count(x.points)

    def strength(self, confidence: float) -> Strength:
        """HSIC and the kernel correlation, with confidence intervals.

        The first-order variance of the estimate is 4 Var(w) / n, w_i the mean over j of
        k~(x_i, x_j) l~(y_i, y_j). The second-order variance, which remains under independence, is
        2 HSIC(x, x) HSIC(y, y) / n^2.
        """
        validate.between("confidence", confidence, 0.0, 1.0)
        unit = sqrt(max(self._xx[0], 0.0) * max(self._yy[0], 0.0))
        value, explained = self._xy[0], all_explained(self._errors, confidence)
        if unit == 0:  # a variable that is constant for its kernel
            zero = Interval(0.0, 0.0)
            return Strength(explained, value, zero, 0.0, zero, confidence)
        raw = self._estimate(value, self.contributions, 1.0, unit)
        ratio = value / unit
        influence = self.contributions / unit - ratio / 2 * (
            self._xx[1] / self._xx[0] + self._yy[1] / self._yy[0]
        )
        scaled = self._estimate(ratio, influence, unit, unit)
        low, high = (min(sqrt(v), 1.0) for v in scaled.interval(confidence))
        correlation = min(sqrt(max(ratio, 0.0)), 1.0)
        limits = raw.interval(confidence), Interval(low, high)
        return Strength(explained, value, limits[0], correlation, limits[1], confidence)

    @property
    def contributions(self) -> np.ndarray:
        """Contribution of each observation to HSIC, mean over j != i of k~(x_i, x_j) l~(y_i, y_j): (n,)."""
        return self._xy[1]

    # ---- private ------------------------------------------------------------------------

    def _estimate(self, value: float, influence: np.ndarray, unit: float, scale: float) -> Estimate:
        """The estimate with its variance, which grows linearly with the value, as in `htest.samples.effect`.

        The slope is estimated from the influence function less its noise, and shrunk towards the
        worst case where the value is within noise.
        """
        floor = 2 * (scale / unit) ** 2 / self.n**2
        noise = (scale / unit) ** 2 / self.n
        variance = float(np.var(influence))
        slope = variance_slope(value, variance, noise, sqrt(floor), self._top, unit)
        return Estimate(value, 4 * slope / self.n, floor)

    @cached_property
    def _errors(self) -> tuple[PredictionError, ...]:
        return prediction_errors(*self._variables, series=self._series)

    @cached_property
    def _xy(self) -> tuple[float, np.ndarray]:
        return self._sums(self._left, self._right)

    @cached_property
    def _xx(self) -> tuple[float, np.ndarray]:
        return self._sums(self._left, self._left)

    @cached_property
    def _yy(self) -> tuple[float, np.ndarray]:
        return self._sums(self._right, self._right)

    @cached_property
    def _top(self) -> float:
        """The largest variance of a witness of norm one: (1/n^2) l_1 m_1."""
        tops = [float(top_eigenpairs(g, 1)[0][0]) for g in (self._left, self._right)]
        return max(tops[0] * tops[1], 0.0) / self.n**2

    def _sums(self, a: LazyMatrix, b: LazyMatrix) -> tuple[float, np.ndarray]:
        """The unbiased HSIC, and the row means of the Hadamard product without its diagonal."""
        rows = to_numpy((a * b).row_sums()).astype(np.float64)
        diagonal_a, diagonal_b = a.diagonal(), b.diagonal()
        diagonal = to_numpy(diagonal_a).astype(np.float64) * to_numpy(diagonal_b).astype(np.float64)
        value = without_diagonals(float(rows.sum()), diagonal_a, diagonal_b)
        return value, (rows - diagonal) / (self.n - 1)
