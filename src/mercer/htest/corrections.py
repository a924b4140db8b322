"""Corrections of p-values for multiple testing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.nulls import share


class Correction(ABC):
    """Multiple-testing correction of the p-values of k tests."""

    @abstractmethod
    def of_resampled(
        self, observed: np.ndarray, draws: np.ndarray, tolerance: Any = 0.0
    ) -> np.ndarray:
        """Corrected p-values (k,) of statistics (k,) and their resampled nulls (k, B).

        `tolerance`, a number or (k,), is the largest difference by rounding between equal statistics.
        """

    def smallest(self, tests: int, resamples: int) -> float:
        """Smallest corrected p-value that one of `tests` tests can have, alone, with so many resamples."""
        return min(tests / (resamples + 1), 1.0)


class StepCorrection(Correction):
    """A correction that needs the p-values only."""

    @abstractmethod
    def adjusted(self, pvalues: Any) -> np.ndarray:
        """Corrected p-values (k,), in the order of `pvalues`."""

    def of_resampled(
        self, observed: np.ndarray, draws: np.ndarray, tolerance: Any = 0.0
    ) -> np.ndarray:
        return self.adjusted(resampled_pvalues(observed, draws, tolerance))


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
    (step-down max T, Westfall and Young 1993, algorithm 4.1), all of them standardized by the
    mean and standard deviation of their nulls. 999 resamples serve any number of tests, where
    `Holm` with k tests cannot get below k / (B + 1).
    """

    def of_resampled(
        self, observed: np.ndarray, draws: np.ndarray, tolerance: Any = 0.0
    ) -> np.ndarray:
        rounding = np.broadcast_to(np.asarray(tolerance, dtype=np.float64), observed.shape)
        middle = draws.mean(axis=1)
        spread = np.array([row.std() for row in draws])  # row by row: no copy of all draws
        spread = np.where(spread > rounding, spread, 1.0)
        score = (observed - middle) / spread
        order = np.argsort(-score, kind="stable")
        largest = np.full(draws.shape[1], -np.inf)  # of the tests that are not yet found
        p = np.empty(len(order), dtype=np.float64)
        for place, row in zip(range(len(order) - 1, -1, -1), order[::-1], strict=True):
            np.maximum(largest, (draws[row] - middle[row]) / spread[row], out=largest)
            p[place] = share(largest, float(score[row]), float(rounding[row] / spread[row]))
        return _back(np.maximum.accumulate(p), order)

    def smallest(self, tests: int, resamples: int) -> float:
        """1 / (B + 1), whatever the number of tests."""
        return 1 / (resamples + 1)


def resampled_pvalues(observed: np.ndarray, draws: np.ndarray, tolerance: Any = 0.0) -> np.ndarray:
    """(1 + #{draws >= observed}) / (1 + B) of every row: (k,)."""
    rounding = np.broadcast_to(np.asarray(tolerance, dtype=np.float64), observed.shape)
    rows = zip(draws, observed, rounding, strict=True)
    return np.array([share(row, float(value), float(unit)) for row, value, unit in rows])


def resolution_caution(
    correction: Correction,
    tests: int,
    resamples: int,
    level: float,
    noun: str,
    *,
    option: bool = False,
    fixed: bool = False,
) -> tuple[str, ...]:
    """A caution, where so few resamples keep every corrected p-value above the level.

    With `option` it names the option of the command instead of arguments; where the correction is `fixed`, no other one.

    Examples
    --------
    >>> resolution_caution(WestfallYoung(), 66, 99, 0.05, "pairs")
    ()
    >>> print(*resolution_caution(Holm(), 66, 99, 0.05, "pairs"))
    Caution: with 99 resamples no corrected p-value of 66 pairs can be below 0.66: nothing can be found at
    level 0.05, however clear it is. Use 1,319 resamples or more, or correction=WestfallYoung().
    """
    validate.between("level", level, 0.0, 1.0)
    smallest = correction.smallest(tests, resamples)
    if resamples == 0 or smallest <= level:
        return ()
    joint = isinstance(correction, WestfallYoung)
    enough = ceil((1 if joint else tests) / level) - 1
    instead = "" if joint or fixed else ", or correction=WestfallYoung()"
    remedy = f"{enough:,} resamples or more{instead}"
    if option:
        remedy = f"--resamples {enough} or more"
    return (
        f"Caution: with {resamples:,} resamples no corrected p-value of {tests:,} {noun} can be below "
        f"{smallest:.2g}: nothing can be found at level {level:g}, however clear it is. Use {remedy}.",
    )


def _sorted(pvalues: Any) -> tuple[np.ndarray, np.ndarray]:
    p = np.asarray(validate.vector(pvalues, "pvalues"), dtype=np.float64)
    validate.within(p, 0.0, 1.0, "pvalues", "p-values are probabilities")
    order = np.argsort(p, kind="stable")
    return p[order], order


def _back(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    out = np.empty_like(values)
    out[order] = values
    return out
