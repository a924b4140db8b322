"""Corrections of p-values for multiple testing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.nulls import share


class Correction(ABC):
    """Multiple-testing correction of the p-values of k tests."""

    @abstractmethod
    def of_resampled(self, observed: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Corrected p-values (k,) of statistics (k,) and their resampled nulls (k, B)."""


class StepCorrection(Correction):
    """A correction that needs the p-values only."""

    @abstractmethod
    def adjusted(self, pvalues: Any) -> np.ndarray:
        """Corrected p-values (k,), in the order of `pvalues`."""

    def of_resampled(self, observed: np.ndarray, draws: np.ndarray) -> np.ndarray:
        return self.adjusted(resampled_pvalues(observed, draws))


@dataclass(frozen=True)
class Holm(StepCorrection):
    """Holm correction: controls the family-wise error rate under any dependence.

    The i-th smallest of k p-values is multiplied by k - i + 1 (Holm 1979).

    Examples
    --------
    >>> Holm().adjusted([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """

    def adjusted(self, pvalues: Any) -> np.ndarray:
        p, order = _sorted(pvalues)
        scaled = np.maximum.accumulate(p * np.arange(len(p), 0, -1))
        return _back(np.minimum(scaled, 1.0), order)


@dataclass(frozen=True)
class BenjaminiHochberg(StepCorrection):
    """Benjamini-Hochberg correction: controls the false-discovery rate.

    The i-th smallest of k p-values is multiplied by k / i (Benjamini and Hochberg 1995). For
    independent or positively dependent tests.

    Examples
    --------
    >>> BenjaminiHochberg().adjusted([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """

    def adjusted(self, pvalues: Any) -> np.ndarray:
        p, order = _sorted(pvalues)
        scaled = p * len(p) / np.arange(1, len(p) + 1)
        return _back(np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0), order)


@dataclass(frozen=True)
class WestfallYoung(Correction):
    """Westfall-Young correction: controls the family-wise error rate, using the dependence of the tests.

    Compares each statistic with the largest of those that are not yet found, resample by resample
    (step-down max T, Westfall and Young 1993, algorithm 4.1), all of them standardised by the
    mean and standard deviation of their nulls. 999 resamples serve any number of tests, where
    `Holm` with k tests cannot get below k / (B + 1).
    """

    def of_resampled(self, observed: np.ndarray, draws: np.ndarray) -> np.ndarray:
        middle, spread = draws.mean(axis=1), draws.std(axis=1)
        spread = np.where(spread > 0, spread, 1.0)
        score = (observed - middle) / spread
        null = (draws - middle[:, None]) / spread[:, None]
        order = np.argsort(-score, kind="stable")
        largest = np.maximum.accumulate(null[order[::-1]], axis=0)[::-1]  # of those not yet found
        p = resampled_pvalues(score[order], largest)
        return _back(np.maximum.accumulate(p), order)


def resampled_pvalues(observed: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """(1 + #{draws >= observed}) / (1 + B) of every row: (k,)."""
    return np.array([share(row, value) for value, row in zip(observed, draws, strict=True)])


def _sorted(pvalues: Any) -> tuple[np.ndarray, np.ndarray]:
    p = np.asarray(validate.vector(pvalues, "pvalues"), dtype=np.float64)
    validate.within(p, 0.0, 1.0, "pvalues", "p-values are probabilities")
    order = np.argsort(p, kind="stable")
    return p[order], order


def _back(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    out = np.empty_like(values)
    out[order] = values
    return out
