"""Confidence intervals of squared distances, whose variance grows with what they truly are."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple


class Interval(NamedTuple):
    """From `low` to `high`."""

    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """A squared distance, and its variance as a function of what it truly is.

    The variance of the estimate of a squared distance D is about s D + v: the witness, and with
    it the first-order term 4 [Var h(x) / n + Var h(y) / m] = s D, shrinks with the distance, and
    the second-order term v is left. A variance taken at the estimate itself would be too small
    whenever the estimate is, and intervals too short where it matters.
    """

    value: float
    slope: float  # s
    floor: float  # v

    def variance(self, truth: float) -> float:
        """Of the estimate, were `truth` the squared distance."""
        return self.slope * truth + self.floor

    def interval(self, confidence: float) -> Interval:
        """All D >= 0 with (estimate - D)^2 <= z^2 Var(D): a score interval, as Wilson's."""
        from scipy.stats import norm

        z2 = float(norm.ppf((1 + confidence) / 2)) ** 2
        middle = self.value + z2 * self.slope / 2
        reach = sqrt(max(middle**2 - self.value**2 + z2 * self.floor, 0.0))
        return Interval(max(middle - reach, 0.0), max(middle + reach, 0.0))
