"""How often a classifier tells a row of one sample from a row of another: a size of differences without a kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import validate
from mercer.frames import Columns
from mercer.htest.format_number import area_word
from mercer.htest.intervals import Interval
from mercer.htest.out_of_fold import Predictors, rows_of, splits, subsample, width_of
from mercer.kernels.base import Kernel, Points

_MIN_ROWS = 4  # of each sample: two folds of two rows


@dataclass(frozen=True)
class Separation:
    """Area under the ROC curve of a classifier at rows that it was not fitted to.

    `auc` estimates P(s(X) > s(Y)) + P(s(X) = s(Y)) / 2 for the score s of a classifier of such samples: how
    often it ranks a row of the first sample above one of the second. 0.5 is a guess, 1 is never wrong. It is
    the mean over folds of the share of ordered pairs, the classifier having been fitted without the fold; it
    is NaN where a sample has fewer than four rows.
    """

    auc: float
    sizes: tuple[
        float, float
    ]  # numbers of rows that it was estimated from, effective ones for weights

    def interval(self, confidence: float) -> Interval:
        """All A >= 1/2 from which the estimate, at least 1/2, is at most z standard errors away.

        The variance of the share of ordered pairs of n and m rows, if the area is A, is taken as
        A (1 - A) [1 + c (1 - A) / (2 - A) + c A / (1 + A)] / (n m), c = (n + m) / 2 - 1 (Hanley and McNeil
        1982; Newcombe 2006, method 5), so that a perfect separation has an interval, too. That is for a given
        classifier. Classifiers of samples that do not differ follow chance, in all folds the same, which
        doubles the variance: what one fold finds in the others, the others find in it. With a difference of
        t standard errors the factor is taken as 1 + 1 / (1 + t^2).
        """
        validate.between("confidence", confidence, 0.0, 1.0)
        if np.isnan(self.auc):
            return Interval(0.5, 1.0)
        from scipy.stats import norm

        z = float(norm.ppf((1 + confidence) / 2))
        return Interval(self._limit(z, 0.5), self._limit(-z, 1.0))

    def _limit(self, z: float, end: float) -> float:
        """The area between the estimate and `end` that is z standard errors below the estimate, by bisection."""
        estimate = max(self.auc, 0.5)
        inside, outside = estimate, end
        for _ in range(60):
            middle = (inside + outside) / 2
            excess = (estimate - middle) * np.sign(z) > abs(z) * self._deviation(middle)
            inside, outside = (inside, middle) if excess else (middle, outside)
        return inside

    def _deviation(self, area: float) -> float:
        """Standard error of the estimate, if the area of the best classifier is `area`."""
        squared_errors = (area - 0.5) ** 2 / self._variance(0.5)
        return float(np.sqrt(self._variance(area) * (1 + 1 / (1 + squared_errors))))

    def _variance(self, area: float) -> float:
        """Variance of the share of ordered pairs for a given classifier."""
        n, m = self.sizes
        more = (n + m) / 2 - 1
        spread = 1 + more * (1 - area) / (2 - area) + more * area / (1 + area)
        return area * (1 - area) * spread / (n * m)


def area_sentence(auc: float, interval: Interval, confidence: float) -> str:
    """How often a classifier tells two samples apart, with the interval and a word."""
    if np.isnan(auc):
        return "there are too few rows to measure how well a classifier tells them apart"
    return (
        f"a classifier tells them apart {max(auc, 0.5):.0%} of the time ({100 * confidence:g}% interval "
        f"{interval.low:.0%} to {interval.high:.0%}; 50% is guessing), {area_word(auc)}"
    )


def separation(
    points: Points,
    sizes: tuple[int, int],
    columns: Columns | None,
    kernel: Kernel,
    weights: np.ndarray | None = None,
    *,
    series: bool = False,
) -> Separation:
    """The separation of two samples, the rows of the first before those of the second.

    Weighted rows count with their weights, in the fit as copies in proportion to them. The rows of a `series` are in
    the order of time.
    """
    n, m = sizes
    if min(sizes) < _MIN_ROWS:
        return Separation(float("nan"), (float(n), float(m)))
    width = width_of(points)
    first, second = subsample(n, width), subsample(m, width)
    rows = np.concatenate([first, n + second])
    n, m = len(first), len(second)
    mass = np.ones(n + m) if weights is None else np.maximum(weights[rows], 0.0)
    predictors = Predictors.of(rows_of(points, rows, sum(sizes)), columns, kernel)
    label = np.repeat([1.0, -1.0], [n, m])
    areas = [_mean_area(predictors, label, mass, folds) for folds in splits((n, m), series)]
    effective = tuple(float(w.sum() ** 2 / (w @ w)) for w in (mass[:n], mass[n:]))
    return Separation(float(np.mean(areas)), (effective[0], effective[1]))


def _mean_area(
    predictors: Predictors, label: np.ndarray, mass: np.ndarray, folds: np.ndarray
) -> float:
    """The mean of the areas of all folds, by the mass of their pairs."""
    total = ordered = 0.0
    for fold in range(int(folds.max()) + 1):
        test = folds == fold
        score = predictors.predicted(label, _copies(mass, ~test, label))
        first, second = test & (label > 0), test & (label < 0)
        pairs = float(mass[first].sum() * mass[second].sum())
        ordered += _ordered(score[first], score[second], mass[first], mass[second])
        total += pairs
    return ordered / total if total > 0 else 0.5


def _ordered(x: np.ndarray, y: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """sum_ij p_i q_j [x_i > y_j], ties counted half."""
    order = np.argsort(y, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(q[order])])
    left, right = (below[np.searchsorted(y[order], x, side)] for side in ("left", "right"))
    return float(p @ (left + right)) / 2


def _copies(mass: np.ndarray, train: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Indices of the rows to fit to, each as often as its weight says, as many as there are rows of weight."""
    if np.all(mass == 1.0):
        return np.flatnonzero(train)
    copies = []
    for side in (1.0, -1.0):
        rows = np.flatnonzero(train & (label == side))
        w = mass[rows] / max(float(mass[rows].sum()), 1e-300)
        number = max(round(1 / max(float(w @ w), 1e-300)), 2)
        steps = (np.arange(number) + 0.5) / number
        copies.append(rows[np.minimum(np.searchsorted(np.cumsum(w), steps), len(rows) - 1)])
    return np.concatenate(copies)
