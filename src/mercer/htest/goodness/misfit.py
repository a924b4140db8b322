"""How far observations are from a model: the squared Stein discrepancy with an interval, and without a unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.gram import Gram, top_eigenpairs
from mercer.htest.format_number import discrepancy_word
from mercer.htest.intervals import EffectSize, Estimate, Interval, variance_slope
from mercer.rkhs.sample_rows import taken

_ROWS = 1000  # which stand for all in second-order variances


@dataclass(frozen=True)
class Misfit(EffectSize):
    """How far observations are from a model.

    Attributes
    ----------
    ksd2 : float
        The unbiased estimate of the squared Stein discrepancy |E f(X)|^2, f(x) = k_p(x, .); negative
        values mean that no misfit is seen.
    interval : Interval
        A confidence interval of it, never negative.
    relative : float
        sqrt(|E f(X)|^2 / E |f(X)|^2), from 0 (the model is right) to 1: the part of the Stein
        features that does not cancel. It has no unit, and about 1 / relative^2 observations tell
        the misfit from chance.
    relative_interval : Interval
        Its confidence interval, by the delta method.
    confidence : float

    Notes
    -----
    Intervals are for independent observations and a model that does not come from them.
    """

    ksd2: float
    interval: Interval
    relative: float
    relative_interval: Interval
    confidence: float

    @property
    def estimate(self) -> float:
        """The unbiased estimate of the squared Stein discrepancy."""
        return self.ksd2

    @property
    def unitless(self) -> float:
        """The relative discrepancy."""
        return self.relative

    @property
    def unitless_interval(self) -> Interval:
        """Confidence interval of the relative discrepancy."""
        return self.relative_interval

    @property
    def word(self) -> str:
        """A word for `relative`."""
        return discrepancy_word(self.relative)

    def to_dict(self) -> dict[str, Any]:
        """Numbers only, ready for JSON."""
        return {
            "ksd2": self.ksd2,
            "ksd2_interval": list(self.interval),
            "relative": self.relative,
            "relative_interval": list(self.relative_interval),
            "confidence": self.confidence,
        }


class Discrepancy:
    """What a pass over the Gram matrix H of a Stein kernel tells about a sample."""

    def __init__(self, gram: Gram) -> None:
        self._gram, self.n = gram, gram.shape[0]

    @cached_property
    def contributions(self) -> np.ndarray:
        """mean_j H_ij over j != i, whose mean is the unbiased estimate: (n,)."""
        rows = to_numpy(self._gram.row_sums()).astype(np.float64)
        return (rows - self._own) / (self.n - 1)

    def misfit(self, confidence: float) -> Misfit:
        """Estimates with intervals.

        The estimate's first-order variance is 4 Var(w) / n, w_i the contributions; its second-order
        one, which is all of it under the model, 2 |C|^2 / n^2, C the covariance of the features.
        """
        validate.between("confidence", confidence, 0.0, 1.0)
        value, unit = float(self.contributions.mean()), float(self._own.mean())
        raw = self._estimate(value, self.contributions, 1.0)
        if unit == 0:  # a model without a slope at these points, by a constant kernel
            return Misfit(value, raw.interval(confidence), 0.0, Interval(0.0, 0.0), confidence)
        ratio = value / unit
        tilt = (self.contributions - ratio / 2 * self._own) / unit
        scaled = self._estimate(ratio, tilt, unit)
        low, high = (min(sqrt(v), 1.0) for v in scaled.interval(confidence))
        middle = min(sqrt(max(ratio, 0.0)), 1.0)
        return Misfit(value, raw.interval(confidence), middle, Interval(low, high), confidence)

    # ---- private ------------------------------------------------------------------------

    @cached_property
    def _own(self) -> np.ndarray:
        return to_numpy(self._gram.diagonal()).astype(np.float64)

    @cached_property
    def _second(self) -> tuple[float, float]:
        """|C|^2 of the covariance operator C of the Stein features, and its largest eigenvalue."""
        n = min(self.n, _ROWS)
        rows = np.linspace(0, self.n - 1, n).astype(np.int64)
        some = Gram(self._gram.kernel, taken(self._gram.x, rows)).centered()
        own = to_numpy(some.diagonal()).astype(np.float64)
        squares = max(float(some.inner(some)) - float(own @ own), 0.0) / (n * (n - 1))
        return squares, max(float(top_eigenpairs(some, 1)[0][0]), 0.0) / n

    def _estimate(self, value: float, tilt: np.ndarray, unit: float) -> Estimate:
        """As for two samples (`htest.samples.effect`): the slope is believed where it is not noise."""
        squares, top = self._second
        floor, noise = 2 * squares / (unit * self.n) ** 2, squares / (unit**2 * self.n)
        if max(value, 0.0) + sqrt(floor) == 0:
            return Estimate(value, 0.0, 0.0)
        slope = variance_slope(value, float(np.var(tilt)), noise, sqrt(floor), top, unit)
        return Estimate(value, 4 * slope / self.n, floor)
