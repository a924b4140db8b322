"""How strong the dependence of two variables is: HSIC with a confidence interval, and without a unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.gram import LazyMatrix, top_eigenpairs
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.intervals import EffectSize, Estimate, Interval, variance_slope
from mercer.rkhs.measures import without_diagonals


@dataclass(frozen=True)
class Strength(EffectSize):
    """How strongly two variables depend on each other.

    Attributes
    ----------
    hsic : float
        The unbiased estimate of HSIC; negative values mean that no dependence is seen.
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
    `correlation` of smooth kernels is small for dependence of high frequency, however strict:
    it says how much of the variation that the kernels see is shared.
    """

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
    def unitless(self) -> float:
        """The kernel correlation."""
        return self.correlation

    @property
    def unitless_interval(self) -> Interval:
        """Confidence interval of the kernel correlation."""
        return self.correlation_interval

    def to_dict(self) -> dict[str, Any]:
        """Numbers only, ready for JSON."""
        return {
            "hsic": self.hsic,
            "hsic_interval": list(self.interval),
            "correlation": self.correlation,
            "correlation_interval": list(self.correlation_interval),
            "confidence": self.confidence,
        }


class Dependence:
    """What passes over both centred Gram matrices tell about two variables."""

    def __init__(self, x: Variable, y: Variable) -> None:
        self._left, self._right = x.gram.centered(), y.gram.centered()
        self.n = count(x.points)

    def strength(self, confidence: float) -> Strength:
        """Estimates with intervals.

        The estimate's first-order variance is 4 Var(w) / n, w_i the mean over j of
        k~(x_i, x_j) l~(y_i, y_j); its second-order one, which is that of independence,
        2 HSIC(x, x) HSIC(y, y) / n^2.
        """
        validate.between("confidence", confidence, 0.0, 1.0)
        unit = sqrt(max(self._xx[0], 0.0) * max(self._yy[0], 0.0))
        value = self._xy[0]
        if unit == 0:  # a variable that its kernel does not see vary
            nothing = Interval(0.0, 0.0)
            return Strength(value, nothing, 0.0, nothing, confidence)
        raw = self._estimate(value, self.contributions, 1.0, unit)
        ratio = value / unit
        tilt = self.contributions / unit - ratio / 2 * (
            self._xx[1] / self._xx[0] + self._yy[1] / self._yy[0]
        )
        scaled = self._estimate(ratio, tilt, unit, unit)
        low, high = (min(sqrt(v), 1.0) for v in scaled.interval(confidence))
        middle = min(sqrt(max(ratio, 0.0)), 1.0)
        return Strength(value, raw.interval(confidence), middle, Interval(low, high), confidence)

    @property
    def contributions(self) -> np.ndarray:
        """Mean over j != i of k~(x_i, x_j) l~(y_i, y_j): what each observation adds to HSIC, (n,)."""
        return self._xy[1]

    # ---- private ------------------------------------------------------------------------

    def _estimate(self, value: float, tilt: np.ndarray, unit: float, size: float) -> Estimate:
        """As for two samples (`htest.samples.effect`): the slope is believed where it is not noise."""
        floor = 2 * (size / unit) ** 2 / self.n**2
        noise = (size / unit) ** 2 / self.n
        variance = float(np.var(tilt))
        slope = variance_slope(value, variance, noise, sqrt(floor), self._top, unit)
        return Estimate(value, 4 * slope / self.n, floor)

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
        """The largest variance that a witness of norm one can have: (1/n^2) l_1 m_1."""
        tops = [float(top_eigenpairs(g, 1)[0][0]) for g in (self._left, self._right)]
        return max(tops[0] * tops[1], 0.0) / self.n**2

    def _sums(self, a: LazyMatrix, b: LazyMatrix) -> tuple[float, np.ndarray]:
        """The unbiased HSIC, and the row means of the Hadamard product without its diagonal."""
        rows = to_numpy((a * b).row_sums()).astype(np.float64)
        own_a, own_b = a.diagonal(), b.diagonal()
        own = to_numpy(own_a).astype(np.float64) * to_numpy(own_b).astype(np.float64)
        value = without_diagonals(float(rows.sum()), own_a, own_b)
        return value, (rows - own) / (self.n - 1)
