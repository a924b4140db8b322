"""Size of the misfit of a model: a classifier against its draws, and Stein discrepancies, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isnan, nan, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, to_numpy, zeros
from mercer.gram import Gram, top_eigenpairs
from mercer.gram.threads import in_order
from mercer.htest.format_number import area_word, discrepancy_word
from mercer.htest.goodness.stein_sample import SteinSample
from mercer.htest.intervals import EffectSize, Estimate, Interval, variance_slope
from mercer.htest.separation_auc import area_sentence
from mercer.kernels.base import Kernel, Points
from mercer.kernels.metric import squared_distances, squared_norms
from mercer.kernels.stein import Stein
from mercer.rkhs.sample_rows import taken

_NO_INTERVALS = dict.fromkeys(("interval", "relative_interval"), Interval(nan, nan))
_MAX_ROWS_FOR_VARIANCE = 1000  # subsample for second-order variances, which need eigenvalues


@dataclass(frozen=True)
class Misfit(EffectSize):
    """Size of the misfit between observations and a model.

    Attributes
    ----------
    ksd2 : float
        Unbiased estimate of the squared Stein discrepancy |E f(X)|^2, f(x) = k_p(x, .); negative
        values mean that there is no sign of a misfit.
    interval : Interval
        Confidence interval of the squared discrepancy, never negative.
    relative : float
        Relative discrepancy sqrt(|E f(X)|^2 / E |f(X)|^2), from 0 (the model is right) to 1. It has no
        unit, and about 1 / relative^2 observations are needed to detect the misfit.
    relative_interval : Interval
        Confidence interval of the relative discrepancy, by the delta method.
    confidence : float
    auc : float or None
        How often a classifier ranks an observation above a draw from the model, at rows that it was not
        fitted to: 0.5 is a guess, and 1 is never wrong. It does not depend on the kernel. None for models
        that cannot be drawn from, and for single columns.
    auc_interval : Interval or None
        Its confidence interval, not below 0.5.

    Notes
    -----
    The intervals are valid for independent observations that the model was not fitted to. The relative
    discrepancy depends on the kernel: it is the size of the misfit only where there is no `auc`.
    """

    ksd2: float
    interval: Interval
    relative: float
    relative_interval: Interval
    confidence: float
    auc: float | None = None
    auc_interval: Interval | None = None

    @property
    def estimate(self) -> float:
        """The unbiased estimate of the squared Stein discrepancy."""
        return self.ksd2

    @property
    def unitless(self) -> float:
        """The area under the ROC curve, or the relative discrepancy for models without draws."""
        return self.relative if self.auc is None else self.auc

    @property
    def unitless_interval(self) -> Interval:
        """Confidence interval of `unitless`."""
        return self.relative_interval if self.auc_interval is None else self.auc_interval

    @property
    def word(self) -> str:
        """`unitless` in words: very small, small, moderate or large."""
        return discrepancy_word(self.relative) if self.auc is None else area_word(self.auc)

    def sentence(self) -> str:
        """How often a classifier tells observations from draws, or the relative discrepancy."""
        if self.auc is not None and self.auc_interval is not None:
            words = area_sentence(self.auc, self.auc_interval, self.confidence)
            return words.replace(
                "tells them apart", "tells the observations from draws of the model"
            )
        low, high = self.relative_interval
        return (
            f"relative Stein discrepancy {self.relative:.2g} ({100 * self.confidence:g}% interval {low:.2g} "
            f"to {high:.2g}), {self.word}; it depends on the kernel, because the model has no draws to "
            "compare with"
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers as a dictionary that can be written as JSON."""
        interval = self.auc_interval
        return {
            "auc": None if self.auc is None or isnan(self.auc) else self.auc,
            "auc_interval": None if interval is None else list(interval),
            "word": self.word,
            "ksd2": self.ksd2,
            "ksd2_interval": _known(self.interval),
            "relative": self.relative,
            "relative_interval": _known(self.relative_interval),
            "confidence": self.confidence,
        }


def _known(interval: Interval) -> list[float] | None:
    """The limits of an interval; None where there is none."""
    return None if isnan(interval.low) else list(interval)


class Discrepancy:
    """Estimates of the discrepancy from the Gram matrix H of a Stein kernel."""

    def __init__(self, gram: Gram) -> None:
        self._gram, self.n = gram, gram.shape[0]

    @cached_property
    def contributions(self) -> np.ndarray:
        """mean_j H_ij over j != i; their mean is the unbiased estimate: (n,)."""
        rows = to_numpy(self._gram.row_sums()).astype(np.float64)
        return (rows - self._diagonal) / (self.n - 1)

    def misfit(self, confidence: float) -> Misfit:
        """Estimates with confidence intervals.

        The first-order variance of the estimate is 4 Var(w) / n with contributions w_i. The
        second-order variance, which is all of it under the model, is 2 |C|^2 / n^2 with the
        covariance C of the features.
        """
        validate.between("confidence", confidence, 0.0, 1.0)
        value, unit = float(self.contributions.mean()), float(self._diagonal.mean())
        raw = self._estimate(value, self.contributions, 1.0)
        if unit == 0:  # the score is zero at all points, and the kernel is constant
            return Misfit(value, raw.interval(confidence), 0.0, Interval(0.0, 0.0), confidence)
        ratio = value / unit
        tilt = (self.contributions - ratio / 2 * self._diagonal) / unit
        scaled = self._estimate(ratio, tilt, unit)
        low, high = (min(sqrt(v), 1.0) for v in scaled.interval(confidence))
        relative = min(sqrt(max(ratio, 0.0)), 1.0)
        return Misfit(value, raw.interval(confidence), relative, Interval(low, high), confidence)

    # ---- private ------------------------------------------------------------------------

    @cached_property
    def _diagonal(self) -> np.ndarray:
        return to_numpy(self._gram.diagonal()).astype(np.float64)

    @cached_property
    def _second(self) -> tuple[float, float]:
        """|C|^2 of the covariance operator C of the Stein features, and its largest eigenvalue."""
        n = min(self.n, _MAX_ROWS_FOR_VARIANCE)
        rows = np.linspace(0, self.n - 1, n).astype(np.int64)
        centered = Gram(self._gram.kernel, taken(self._gram.x, rows)).centered()
        diagonal = to_numpy(centered.diagonal()).astype(np.float64)
        off_diagonal = max(float(centered.inner(centered)) - float(diagonal @ diagonal), 0.0)
        return off_diagonal / (n * (n - 1)), max(float(top_eigenpairs(centered, 1)[0][0]), 0.0) / n

    def _estimate(self, value: float, tilt: np.ndarray, unit: float) -> Estimate:
        """An estimate with its variance, whose slope is shrunk where it is mostly noise."""
        squares, top = self._second
        floor, noise = 2 * squares / (unit * self.n) ** 2, squares / (unit**2 * self.n)
        if max(value, 0.0) + sqrt(floor) == 0:
            return Estimate(value, 0.0, 0.0)
        slope = variance_slope(value, float(np.var(tilt)), noise, sqrt(floor), top, unit)
        return Estimate(value, 4 * slope / self.n, floor)


# ---- misfit of single columns -------------------------------------------------------------


@dataclass(frozen=True)
class MisfitColumn:
    """Misfit of one column given the others.

    The score of a column is that of its conditional distribution given the other columns. So `misfit`
    is zero if the model of this conditional distribution is right, whatever it says about the others.
    """

    name: str
    misfit: Misfit

    def to_dict(self) -> dict[str, Any]:
        """Name and numbers as a dictionary that can be written as JSON."""
        return {"name": self.name, **self.misfit.to_dict()}


def misfit_columns(
    sample: SteinSample, confidence: float, series: bool = False
) -> tuple[MisfitColumn, ...]:
    """Misfit of every column, largest first, with simultaneous confidence intervals; of series without, which are NaN."""
    validate.between("confidence", confidence, 0.0, 1.0)
    each = 1 - (1 - confidence) / sample.width  # Bonferroni
    work = partial(_misfit_of_column, sample, each)
    columns = in_order(work, range(sample.width), parallel=False, what="misfit of columns")
    if series:
        columns = [replace(c, misfit=replace(c.misfit, **_NO_INTERVALS)) for c in columns]
    return tuple(sorted(columns, key=lambda column: -column.misfit.relative))


def _misfit_of_column(sample: SteinSample, confidence: float, column: int) -> MisfitColumn:
    misfit = Discrepancy(_column_gram(sample, column)).misfit(confidence)
    return MisfitColumn(sample.names[column], misfit)


def _column_gram(sample: SteinSample, column: int) -> Gram:
    """Gram matrix of the term of a column."""
    return Gram(SteinColumn(sample.kernel, column), sample.points)


@dataclass(frozen=True)
class SteinColumn(Kernel):
    """Term of a Stein kernel that belongs to column l; the terms of all columns sum to the kernel.

    k_p = sum_l [s_l(x) s_l(y) f + 2 f' ((s_l(y) - s_l(x)) u_l - 1) - 4 u_l^2 f''], u = x - y. Each term
    is an inner product of features s_l(x) k(x, .) + d/dx_l k(x, .), and therefore a kernel.
    """

    stein: Stein
    column: int

    def accept(self, x: Any, name: str = "x") -> Points:
        return self.stein.accept(x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        (a, s), (b, t) = self._column_and_score(x), self._column_and_score(y)
        profile, slope, curvature = self.stein.scored.form
        r2 = squared_distances(x, y, profile)
        u = a[:, None] - b[None, :]
        value = s[:, None] * t[None, :] * profile(r2)
        value = value + 2 * slope(r2) * ((t[None, :] - s[:, None]) * u - 1)
        return value - 4 * u * u * curvature(r2)

    def paired(self, x: Points, y: Points, /) -> Array:
        (a, s), (b, t) = self._column_and_score(x), self._column_and_score(y)
        profile, slope, curvature = self.stein.scored.form
        r2, u = squared_norms(x - y), a - b
        value = s * t * profile(r2) + 2 * slope(r2) * ((t - s) * u - 1)
        return value - 4 * u * u * curvature(r2)

    def diag(self, x: Points, /) -> Array:
        """s_l^2 f(0) - 2 f'(0)."""
        _, s = self._column_and_score(x)
        profile, slope, _ = self.stein.scored.form
        r2 = zeros((x.shape[0],), x)
        return s * s * profile(r2) - 2 * slope(r2)

    def _column_and_score(self, x: Points) -> tuple[Array, Array]:
        """The column and its score: (n,) each."""
        points_and_scores = self.stein.move(x)
        d = points_and_scores.shape[1] // 2
        return points_and_scores[:, self.column], points_and_scores[:, d + self.column]
