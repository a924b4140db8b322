"""Share of the variation of one variable that another predicts: a size of dependence without a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer import linalg, validate
from mercer.backend import count, to_numpy
from mercer.gram import cholesky
from mercer.htest.format_number import share_word
from mercer.htest.intervals import EffectSize, Interval
from mercer.htest.normal_scores import NormalScores
from mercer.htest.out_of_fold import Predictors, out_of_fold, rows_of, subsample, width_of
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
    beyond : str or None
        Name of the variables that are given. The share is then that of what they leave of the variation: m_i are
        predictions from them, and p_i predictions from them and the other variable. The spread is that of the
        residuals of m_i.
    """

    of: str
    by: str
    what: str
    share: float
    interval: Interval
    beyond: str | None = None

    def __str__(self) -> str:
        if self.beyond is None:
            whole = f"the spread of {self.of}" if self.what == "spread" else self.of
        else:
            variation = "spread" if self.what == "spread" else "variation"
            whole = f"the {variation} of {self.of} left unexplained by {self.beyond}"
        return f"{self.by} explains {max(self.share, 0.0):.0%} of {whole}"

    def to_dict(self) -> dict[str, Any]:
        """Names and numbers, ready for JSON."""
        return {
            "of": self.of,
            "by": self.by,
            "what": self.what,
            "share": None if np.isnan(self.share) else self.share,
            "interval": list(self.interval),
            "given": self.beyond,
        }


class VariationExplained(EffectSize):
    """Effect size whose primary number is a share of variation explained."""

    explained: tuple[Explained, ...]  # the first is the primary one

    @property
    def unitless(self) -> float:
        """The first share of variation in `explained`, not below 0."""
        share = self.explained[0].share
        return max(share, 0.0) if share == share else share

    @property
    def unitless_interval(self) -> Interval:
        """Confidence interval of that share."""
        return self.explained[0].interval

    @property
    def word(self) -> str:
        """That share in words: very weak, weak, moderate or strong."""
        return share_word(self.unitless)

    def named(self, names: Mapping[str, str]) -> Self:
        """The same shares with other names of the variables."""
        shares = tuple(
            replace(
                e,
                of=names.get(e.of, e.of),
                by=names.get(e.by, e.by),
                beyond=None if e.beyond is None else names.get(e.beyond, e.beyond),
            )
            for e in self.explained
        )
        return replace(self, explained=shares)  # type: ignore[type-var]

    def sentence(self) -> str:
        """What explains how much of what, with the interval and a word."""
        first = self.explained[0]
        if first.share != first.share:
            return "there are too few rows to measure how much of one variable the other explains"
        low, high = first.interval
        return f"{first} ({100 * self.confidence:g}% interval {low:.0%} to {high:.0%}), {self.word}"


@dataclass(frozen=True)
class PredictionError:
    """Errors of predictions at n rows, with and without the other variable."""

    of: str
    by: str
    what: str
    errors: np.ndarray  # (n,)
    variation: np.ndarray  # (n,)
    beyond: str | None = None  # name of the variables that are given

    def explained(self, confidence: float) -> Explained:
        """The share with its interval, by the delta method."""
        from scipy.stats import norm

        total = float(np.mean(self.variation)) if len(self.variation) else 0.0
        if total <= 0:
            unknown = len(self.variation) == 0
            share = float("nan") if unknown else 0.0
            limits = Interval(0.0, 1.0 if unknown else 0.0)
            return Explained(self.of, self.by, self.what, share, limits, self.beyond)
        share = 1 - float(np.mean(self.errors)) / total
        influence = (self.errors - (1 - share) * self.variation) / total
        reach = float(norm.ppf((1 + confidence) / 2) * np.std(influence) / np.sqrt(len(influence)))
        limits = Interval(max(share - reach, 0.0), min(max(share, 0.0) + reach, 1.0))
        return Explained(self.of, self.by, self.what, share, limits, self.beyond)


def prediction_errors(
    x: Variable, y: Variable, given: Variable | None = None, *, series: bool = False
) -> tuple[PredictionError, ...]:
    """Errors of predictions of y from x and of x from y, of their level and of their spread.

    With a variable that is given, it is a predictor too, and the errors are compared with those without the other one.
    The rows of a `series` are in the order of time.
    """
    three = (x, y) if given is None else (x, y, given)
    n = count(x.points)
    widths = [width_of(v.points) or 0 for v in three]
    rows = subsample(n, max(widths[:2]) + sum(widths[2:]))
    thinned = [rows_of(v.uncentred, rows, n) for v in three]
    predictors = [
        Predictors.of(p, v.columns, v.kernel) for p, v in zip(thinned, three, strict=True)
    ]
    base = predictors[2] if given is not None else None
    beyond = None if given is None else given.name
    errors = []
    for of, by in ((1, 0), (0, 1)):
        more = predictors[by] if base is None else base.beside(predictors[by])
        for what, targets in _targets(three[of], thinned[of], base if n >= MIN_ROWS else None):
            with_other, without = (
                _errors(p, targets, series) if n >= MIN_ROWS else np.zeros(0) for p in (more, base)
            )
            names = three[of].name, three[by].name
            errors.append(PredictionError(*names, what, with_other, without, beyond))
    return tuple(errors)


def all_explained(errors: tuple[PredictionError, ...], confidence: float) -> tuple[Explained, ...]:
    """Shares with simultaneous intervals, the largest first; where a level is explained, levels come first."""
    validate.between("confidence", confidence, 0.0, 1.0)
    each = 1 - (1 - confidence) / len(errors)  # Bonferroni
    shares = [error.explained(each) for error in errors]
    levels_first = any(e.what == "level" and e.interval.low > 0 for e in shares)
    return tuple(sorted(shares, key=lambda e: (levels_first and e.what != "level", -e.share)))


def _errors(predictors: Predictors | None, targets: np.ndarray, series: bool) -> np.ndarray:
    """Squared errors of predictions, or of means without predictors, summed over the targets: (n,)."""
    return np.sum((targets - out_of_fold(predictors, targets, series)) ** 2, axis=2).mean(axis=0)


def _targets(
    variable: Variable, points: Any, given: Predictors | None
) -> list[tuple[str, np.ndarray]]:
    """What is predicted of a variable: its level, and the spread of its columns of numbers around their prediction."""
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
    spread = _standard(_residuals(numbers, given) ** 2)
    kinds = [("level", _leading(np.hstack(level)))]
    return [*kinds, ("spread", _leading(spread))] if spread.any() else kinds


def _residuals(numbers: np.ndarray, given: Predictors | None) -> np.ndarray:
    """Columns less their predictions from the variable that is given; the columns themselves without one."""
    if given is None:
        return numbers
    targets = _leading(_standard(numbers))
    return targets - out_of_fold(given, targets).mean(axis=0)


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
