"""Share of the variation of one variable that another predicts: a size of dependence without a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import count, to_numpy
from mercer.gram import cholesky
from mercer.htest.intervals import Interval
from mercer.htest.normal_scores import NormalScores
from mercer.htest.out_of_fold import Predictors, rows_of, splits, subsample, width_of
from mercer.rkhs.paired_samples import Variable

MIN_ROWS = 8  # with fewer, nothing is learnt from four fifths of them
_MOST_TARGETS = 8  # columns to predict; of more, their leading principal components
_KERNEL_TARGETS = 8  # features to predict of points that are not rows of an array
_ROUNDING = 1e-9  # of the variance, below which a target is constant


@dataclass(frozen=True)
class Explained:
    """Share of the variation of one variable that is predicted from another, at rows left out of the fit.

    1 - sum_i |t_i - p_i|^2 / sum_i |t_i - m_i|^2 with predictions p_i and means m_i of the rows outside the
    fold of row i. The targets t are the normal scores of the columns of numbers, so that outliers and
    units do not matter, and indicators of categories; for the `"spread"` their squares, so that dependence
    of the variance counts.

    Attributes
    ----------
    of, by : str
        Names of the variable that is predicted, and of that it is predicted from.
    what : str
        "level" or "spread".
    share : float
        At most 1; zero or below means that nothing is predicted. NaN for fewer than eight rows.
    interval : Interval
        Its confidence interval, within 0 and 1.
    """

    of: str
    by: str
    what: str
    share: float
    interval: Interval

    def __str__(self) -> str:
        spread = "the spread of " if self.what == "spread" else ""
        return f"{self.by} explains {max(self.share, 0.0):.0%} of {spread}{self.of}"

    def to_dict(self) -> dict[str, Any]:
        """Names and numbers, ready for JSON."""
        return {
            "of": self.of,
            "by": self.by,
            "what": self.what,
            "share": None if np.isnan(self.share) else self.share,
            "interval": list(self.interval),
        }


@dataclass(frozen=True)
class PredictionError:
    """Errors of predictions at n rows, with and without the other variable."""

    of: str
    by: str
    what: str
    errors: np.ndarray  # (n,)
    variation: np.ndarray  # (n,)

    def explained(self, confidence: float) -> Explained:
        """The share with its interval, by the delta method."""
        from scipy.stats import norm

        total = float(np.mean(self.variation)) if len(self.variation) else 0.0
        if total <= 0:
            unknown = len(self.variation) == 0
            share = float("nan") if unknown else 0.0
            limits = Interval(0.0, 1.0 if unknown else 0.0)
            return Explained(self.of, self.by, self.what, share, limits)
        share = 1 - float(np.mean(self.errors)) / total
        influence = (self.errors - (1 - share) * self.variation) / total
        reach = float(norm.ppf((1 + confidence) / 2) * np.std(influence) / np.sqrt(len(influence)))
        limits = Interval(max(share - reach, 0.0), min(max(share, 0.0) + reach, 1.0))
        return Explained(self.of, self.by, self.what, share, limits)


def prediction_errors(x: Variable, y: Variable) -> tuple[PredictionError, ...]:
    """Errors of predictions of y from x and of x from y, of their level and of their spread."""
    n = count(x.points)
    rows = subsample(n, max(width_of(v.points) or 0 for v in (x, y)))
    thinned = [rows_of(v.uncentred, rows, n) for v in (x, y)]
    predictors = [
        Predictors.of(p, v.columns, v.kernel) for p, v in zip(thinned, (x, y), strict=True)
    ]
    errors = []
    for of, by in ((1, 0), (0, 1)):
        variable, other = (x, y)[of], (x, y)[by]
        for what, targets in _targets(variable, thinned[of]):
            pair = _errors(predictors[by], targets) if n >= MIN_ROWS else (np.zeros(0), np.zeros(0))
            errors.append(PredictionError(variable.name, other.name, what, *pair))
    return tuple(errors)


def all_explained(errors: tuple[PredictionError, ...], confidence: float) -> tuple[Explained, ...]:
    """Shares with simultaneous intervals, the largest first; where a level is explained, levels come first."""
    validate.between("confidence", confidence, 0.0, 1.0)
    each = 1 - (1 - confidence) / len(errors)  # Bonferroni
    shares = [error.explained(each) for error in errors]
    levels_first = any(e.what == "level" and e.interval.low > 0 for e in shares)
    return tuple(sorted(shares, key=lambda e: (levels_first and e.what != "level", -e.share)))


def _errors(predictors: Predictors, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared errors of predictions and of means, summed over the targets: (n,) each."""
    n = len(targets)
    errors, variation, repeats = np.zeros(n), np.zeros(n), 0
    for folds in splits((n,)):
        repeats += 1
        for fold in range(int(folds.max()) + 1):
            test, train = folds == fold, np.flatnonzero(folds != fold)
            for target in targets.T:
                predicted = predictors.predicted(target, train)
                errors[test] += (target[test] - predicted[test]) ** 2
                variation[test] += (target[test] - target[train].mean()) ** 2
    return errors / repeats, variation / repeats


def _targets(variable: Variable, points: Any) -> list[tuple[str, np.ndarray]]:
    """What is predicted of a variable: its level, and the spread of its columns of numbers."""
    if width_of(points) is None:
        factor = cholesky(variable.gram, tolerance=1e-6, most=_KERNEL_TARGETS)
        return [("level", _standard(to_numpy(factor.columns).astype(np.float64)))]
    values = np.asarray(to_numpy(points), dtype=np.float64)
    labels = np.zeros(values.shape[1], bool)
    if variable.columns is not None:
        labels = np.array(variable.columns.categorical)
    scores = NormalScores.of(values[:, ~labels])(values[:, ~labels]) if not labels.all() else None
    level = [_indicators(values[:, j]) for j in np.flatnonzero(labels)]
    if scores is None:
        return [("level", _leading(np.hstack(level)))]
    numbers = np.asarray(scores)
    level.insert(0, _standard(numbers))
    spread = _standard(numbers**2)
    kinds = [("level", _leading(np.hstack(level)))]
    return [*kinds, ("spread", _leading(spread))] if spread.any() else kinds


def _standard(columns: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; those without variation are zero."""
    centred = columns - columns.mean(axis=0)
    scale = centred.std(axis=0)
    return np.where(scale > _ROUNDING, centred / np.where(scale > _ROUNDING, scale, 1.0), 0.0)


def _indicators(codes: np.ndarray) -> np.ndarray:
    """Centred indicators of the categories of a column, of total variance one."""
    levels = np.unique(codes)
    centred = (codes[:, None] == levels) - np.mean(codes[:, None] == levels, axis=0)
    total = float(np.sum(centred**2)) / len(codes)
    return centred / np.sqrt(total) if total > _ROUNDING else centred


def _leading(targets: np.ndarray) -> np.ndarray:
    """The targets, or the leading principal components of many."""
    if targets.shape[1] <= _MOST_TARGETS:
        return targets
    u, s, _ = linalg.svd(targets - targets.mean(axis=0))
    return u[:, :_MOST_TARGETS] * s[:_MOST_TARGETS]
