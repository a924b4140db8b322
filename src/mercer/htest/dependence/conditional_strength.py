"""Strength of the dependence of two variables beyond a third: variation explained, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.htest.explained_variation import (
    Explained,
    PredictionError,
    VariationExplained,
    all_explained,
)
from mercer.htest.intervals import Interval


@dataclass(frozen=True)
class ConditionalStrength(VariationExplained):
    """How strongly two variables depend on each other beyond what a third one says about them.

    Rows are predicted twice by regressions that were fitted without them: from z, and from z and the other variable. The share
    is how much smaller the second squared errors are, 1 - sum_i |y_i - p_i(x, z)|^2 / sum_i |y_i - p_i(z)|^2. For
    normal variables it estimates the squared partial correlation.

    Attributes
    ----------
    explained : tuple of Explained
        Shares of what z leaves of the variation of y that x explains, and the other way round: of their levels, and of the
        spreads of their residuals. They have simultaneous intervals, and do not depend on kernels (except for points
        that are not rows of an array). The first is the largest share of a level, or the largest share of all where no
        level is explained.
    interval : Interval
        Confidence interval of the first share.
    confidence : float
    """

    explained: tuple[Explained, ...]
    interval: Interval
    confidence: float

    @classmethod
    def of(cls, errors: tuple[PredictionError, ...], confidence: float) -> ConditionalStrength:
        """The strength that errors of predictions show, at a confidence."""
        explained = all_explained(errors, confidence)
        return cls(explained, explained[0].interval, confidence)

    @property
    def estimate(self) -> float:
        """The first share as it was estimated; negative values mean that nothing is explained."""
        return self.explained[0].share

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "explained": [share.to_dict() for share in self.explained],
            "word": self.word,
            "confidence": self.confidence,
        }
