"""Statistics that are means: independent terms, their standard error and the skewness of few of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import sqrt
from typing import Protocol

import numpy as np

from mercer.htest.evidence import Studentized

OBSERVATIONS_FOR_NORMAL = 500  # in each sample: the normal null holds; below, results have a note


class MeanEvidence(Studentized, Protocol):
    """A mean and its standard error."""

    @property
    def mean(self) -> float:
        """The statistic."""
        ...


class IndependentTerms:
    """Independent terms whose mean is the statistic."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    def studentized(self) -> float:
        """The mean in units of its standard error."""
        error = float(np.std(self.values, ddof=1)) / sqrt(len(self.values))
        return self.mean / error if error > 0 else 0.0

    def error_degrees(self) -> int:
        """Degrees of freedom of the standard error."""
        return len(self.values) - 1


class SkewedTerms(IndependentTerms, ABC):
    """Terms with a long right tail: where they are few, their skewness counts."""

    @abstractmethod
    def skewness(self) -> float:
        """Skewness of a term under the null hypothesis."""

    def studentized(self) -> float:
        """The mean in units of its standard error, without the skewness of that ratio."""
        return unskewed(super().studentized(), self.skewness(), len(self.values))


def skewness_about_zero(draws: np.ndarray) -> float:
    """The skewness of draws of something whose mean is known to be zero."""
    variance = float(np.mean(draws**2))
    return float(np.mean(draws**3)) / variance**1.5 if variance > 0 else 0.0


def unskewed(t: float, skewness: float, number: int) -> float:
    """A mean over its standard error, brought nearer to Student's t where terms are skewed.

    Where the mean of few terms with a long right tail is large, so is its standard error, and t
    exceeds the quantiles too rarely. t + a t^2 / 3 + a^2 t^3 / 27 + a / 6 with
    a = skewness / sqrt(number) grows with t and is symmetric to second order (Hall 1992, On the
    removal of skewness by transformation). Squared distances have no long left tail.
    """
    a = max(skewness, 0.0) / sqrt(number)
    return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
