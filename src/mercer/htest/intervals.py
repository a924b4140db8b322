"""Effect sizes, and confidence intervals of squared distances, whose variance grows with the distance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape
from math import sqrt
from typing import Any, NamedTuple

# Standard deviations of an estimate up to which its variance per distance is taken from the prior:
# below one, the ratio of the two is noise.
_PRIOR_DEVIATIONS = 1.0


class Interval(NamedTuple):
    """An interval from `low` to `high`."""

    low: float
    high: float


class EffectSize(ABC):
    """Size of an effect without a unit, and a kernel distance with confidence intervals.

    The common base of `Effect` (two samples), `Strength` (two variables) and `Misfit` (a model). `unitless`
    does not depend on the kernel of the test: it comes from predictions of rows that were left out.
    """

    interval: Interval  # of `estimate`
    confidence: float  # of all intervals

    @property
    @abstractmethod
    def estimate(self) -> float:
        """Unbiased estimate of a squared distance; negative values mean that no effect is seen."""

    @property
    @abstractmethod
    def unitless(self) -> float:
        """How well rows are predicted: an area under the ROC curve, or a share of variation."""

    @property
    @abstractmethod
    def unitless_interval(self) -> Interval:
        """Confidence interval of `unitless`."""

    @property
    @abstractmethod
    def word(self) -> str:
        """Word for `unitless`, by the limits that the page on effect sizes gives."""

    @abstractmethod
    def sentence(self) -> str:
        """`unitless` with its interval and its word, in plain words."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence())}.</p>"


@dataclass(frozen=True)
class Estimate:
    """An estimated squared distance, and its variance as a function of the true one.

    The variance of the estimate of a squared distance D is about s D + v: the witness, and with
    it the first-order term 4 [Var h(x) / n + Var h(y) / m] = s D, shrinks with the distance, and
    the second-order term v is left. A variance taken at the estimate itself would be too small
    whenever the estimate is, and intervals too short where it matters.
    """

    value: float
    slope: float  # s
    floor: float  # v

    def variance(self, truth: float) -> float:
        """Variance of the estimate where `truth` is the squared distance."""
        return self.slope * truth + self.floor

    def interval(self, confidence: float) -> Interval:
        """All D >= 0 with (estimate - D)^2 <= z^2 Var(D): a score interval, as Wilson's.

        The estimate counts as at least minus one standard deviation at D = 0.
        """
        from scipy.special import ndtri

        z2 = float(ndtri((1 + confidence) / 2)) ** 2
        # An estimate far below zero is chance, and may not exclude all D: "from 0 to 0" would be certainty.
        value = max(self.value, -sqrt(self.floor))
        middle = value + z2 * self.slope / 2
        reach = sqrt(max(middle**2 - value**2 + z2 * self.floor, 0.0))
        return Interval(max(middle - reach, 0.0), max(middle + reach, 0.0))


def variance_slope(
    value: float, variance: float, noise: float, deviation: float, largest: float, unit: float = 1.0
) -> float:
    """First-order variance of an estimate `value` per unit of its true value.

    The `variance` of the witness over the estimate, less the part of it that is `noise`. Where both are
    noise, below about one standard `deviation` of the estimate, the `largest` variance that a witness of
    norm one can have, in this `unit`, takes over.
    """
    prior = _PRIOR_DEVIATIONS * deviation
    return (max(variance - noise, 0.0) + prior * largest / unit) / (max(value, 0.0) + prior)
