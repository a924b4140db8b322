"""Effect size of two samples: how well they can be told apart, and MMD^2, with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, count, to_numpy
from mercer.gram import Gram
from mercer.htest.format_number import area_word
from mercer.htest.intervals import EffectSize, Estimate, Interval, variance_slope
from mercer.htest.samples.pooled_sample import Pooled
from mercer.htest.separation_auc import Separation, area_sentence
from mercer.kernels.base import Kernel
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import taken

_ROWS_FOR_VARIANCE = 1000  # of each sample, a subsample for second-order variances
_MAX_POWER_ITERATIONS = 100  # a step that gains less than 0.1% ends the iteration before


@dataclass(frozen=True)
class Effect(EffectSize):
    """Effect size of two samples: how well they can be told apart, and their kernel distance, with intervals.

    Attributes
    ----------
    auc : float
        How often a classifier ranks a row of the first sample above one of the second: the area under
        its ROC curve, at rows that it was not fitted to. 0.5 is a guess, and 1 is never wrong. It does
        not depend on the kernel and the test (except for points that are not rows of an array, which
        are classified by their kernel), nor on the units of the columns. NaN for fewer than four rows.
    auc_interval : Interval
        Its confidence interval, not below 0.5.
    mmd2 : float
        The unbiased estimate of MMD^2; negative values mean that no difference is seen.
    interval : Interval
        A confidence interval of MMD^2, never negative: all D >= 0 from which the estimate is at most
        z standard errors away, z being a normal quantile and the standard error that of the
        U-statistic if MMD^2 is D. Its variance is the sum of 4 [Var h(x) / n + Var h(y) / m], with
        the witness h, which dominates where the samples differ, and a second-order term, which
        dominates where they do not. The coverage was measured (see the notes).
    standardized : float
        sqrt(MMD^2 / w), w the mean of the RKHS variances E k(x, x) - E k(x, x') of the samples:
        how far apart the samples are, in units of their own spread. With the linear kernel and
        one column this is Cohen's d. It has no unit and does not change when the kernel is
        multiplied by a number.
    standardized_interval : Interval
        Its confidence interval, by the delta method.
    confidence : float
    kernel : Kernel

    Notes
    -----
    An area below 0.556 is called very small, below 0.638 small, below 0.714 moderate and beyond large: these
    are the areas of normal samples whose means differ by 0.2, 0.5 and 0.8 standard deviations.

    `share` is d^2 / (d^2 + 4), d the standardized distance: the part of the variation of a
    balanced pooled sample (in the RKHS) that is between the samples, the R^2 of an analysis of
    variance. These depend on the kernel: a distance over many columns of which one differs is smaller than
    that of this column alone, since the spread is that of all.

    Measured coverage of the 95% intervals (no difference, shifts of 0.3, 0.8 and 1.5, scales of
    1.5 and 3; sizes 30/30, 60/40, 100/100 and 400/400; 400 runs each, whose own error is 1%): in
    one dimension 92% to 98%, in ten 93% to 99%, in fifty 94% to 99%; 95%, 96% and 96% on average.
    Intervals that miss MMD^2 are more often too high than too low, except for large samples that
    differ much (`benchmarks/results/two_sample_calibration.md`).
    """

    mmd2: float
    interval: Interval
    standardized: float
    standardized_interval: Interval
    confidence: float
    kernel: Kernel
    separation: Callable[[], Separation] = field(
        repr=False, compare=False
    )  # computed when asked for

    @property
    def auc(self) -> float:
        """How often a classifier tells the samples apart."""
        return self.separation().auc

    @property
    def auc_interval(self) -> Interval:
        """Confidence interval of `auc`."""
        return self.separation().interval(self.confidence)

    @property
    def estimate(self) -> float:
        """The unbiased estimate of MMD^2."""
        return self.mmd2

    @property
    def unitless(self) -> float:
        """The area under the ROC curve."""
        return self.auc

    @property
    def unitless_interval(self) -> Interval:
        """Confidence interval of the area."""
        return self.auc_interval

    @property
    def word(self) -> str:
        """The area in words: very small, small, moderate or large."""
        return area_word(self.auc)

    def sentence(self) -> str:
        """How often a classifier tells the samples apart, with the interval and a word."""
        return area_sentence(self.auc, self.auc_interval, self.confidence)

    @property
    def share(self) -> float:
        """Part of the variation that is between the samples, for samples of equal size."""
        return _share(self.standardized)

    @property
    def share_interval(self) -> Interval:
        """The confidence interval of `share`."""
        return Interval(*(_share(d) for d in self.standardized_interval))

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON; what is not finite becomes None."""
        return {
            "auc": _finite(self.auc),
            "auc_interval": list(self.auc_interval),
            "word": self.word,
            "mmd2": self.mmd2,
            "mmd2_interval": list(self.interval),
            "standardized": _finite(self.standardized),
            "standardized_interval": [_finite(v) for v in self.standardized_interval],
            "share": self.share,
            "share_interval": list(self.share_interval),
            "confidence": self.confidence,
        }


@dataclass(frozen=True)
class Spread:
    """Variance of MMD_u^2 as a function of the sample sizes, by the covariance operators Cx and Cy.

    With n and m points and squared distance D it is
    4 [sx / n + sy / m] D + 2 |Cx|^2 / (n (n - 1)) + 2 |Cy|^2 / (m (m - 1)) + 4 <Cx, Cy> / (n m),
    where sx D = Var h(x) and sy D = Var h(y).
    """

    norm_x: float  # |Cx|^2
    norm_y: float
    inner: float  # <Cx, Cy>
    slope_x: float  # sx
    slope_y: float
    trace_x: float  # E k(x, x) - E k(x, x')
    trace_y: float

    def slope(self, inverse_n: float, inverse_m: float) -> float:
        """First-order part of the variance divided by D; for weighted samples 1/n is sum_i w_i^2."""
        return 4 * (self.slope_x * inverse_n + self.slope_y * inverse_m)

    def floor(self, inverse_n: float, inverse_m: float) -> float:
        """Second-order part: the variance for equal distributions."""
        squares = self.norm_x * inverse_n**2 / (1 - inverse_n)
        squares += self.norm_y * inverse_m**2 / (1 - inverse_m)
        return 2 * squares + 4 * self.inner * inverse_n * inverse_m


@dataclass(frozen=True)
class Measured:
    """Witness values, distances and their variances, from one pass over the Gram matrix."""

    witness: np.ndarray  # (n + m,), at each observation, itself left out
    mmd2: Estimate
    ratio: Estimate  # of mmd2 / within
    within: float  # mean RKHS variance of the samples
    biased: float  # MMD^2 with pairs i = j: the squared norm of the witness
    spread: Spread

    def effect(
        self, confidence: float, kernel: Kernel, separation: Callable[[], Separation]
    ) -> Effect:
        """Estimates with confidence intervals."""
        validate.between("confidence", confidence, 0.0, 1.0)
        value, interval = self.mmd2.value, self.mmd2.interval(confidence)
        if self.within == 0:  # all points of each sample are equal
            far = inf if value > 0 else 0.0
            return Effect(value, interval, far, Interval(far, far), confidence, kernel, separation)
        low, high = self.ratio.interval(confidence)
        middle = sqrt(max(self.ratio.value, 0.0))
        relative = Interval(sqrt(low), sqrt(high))
        return Effect(value, interval, middle, relative, confidence, kernel, separation)


def measured(pooled: Pooled) -> Measured:
    """Means of the kernel within and between two samples, and the variances of their sums."""
    n = pooled.n
    weights = np.abs(pooled.contrast)
    gram = pooled.gram
    sides = np.zeros((len(weights), 2), dtype=np.float64)
    sides[:n, 0], sides[n:, 1] = weights[:n], weights[n:]
    means = to_numpy(gram @ array_like(sides, gram.like)).astype(np.float64)  # (n + m, 2)
    diagonal = to_numpy(gram.diagonal()).astype(np.float64)
    x = _SampleMeans(weights[:n], means[:n, 0], means[:n, 1], diagonal[:n])
    y = _SampleMeans(weights[n:], means[n:, 1], means[n:, 0], diagonal[n:])
    mmd2 = x.inside + y.inside - 2 * x.mean(x.across)
    within = (x.trace + y.trace) / 2
    within = within if within > 1e-12 * float(np.max(np.abs(diagonal), initial=0.0)) else 0.0
    ratio = mmd2 / within if within else 0.0
    second = _second_order(pooled, x, y)
    slopes = second.slopes(mmd2, [s.variance(s.own_witness) for s in (x, y)])
    spread = Spread(*second.products, slopes[0], slopes[1], x.trace, y.trace)
    unit = within or 1.0
    ratio_variances = [
        s.variance(s.own_witness - ratio * (s.own / 2 - s.near) / 2) / unit**2 for s in (x, y)
    ]
    ratio_slopes = second.slopes(ratio, ratio_variances, unit)
    floor = spread.floor(x.inverse_size, y.inverse_size)
    return Measured(
        witness=np.concatenate([x.own_witness, -y.own_witness]),
        mmd2=Estimate(mmd2, spread.slope(x.inverse_size, y.inverse_size), floor),
        ratio=Estimate(
            ratio,
            4 * (ratio_slopes[0] * x.inverse_size + ratio_slopes[1] * y.inverse_size),
            floor / unit**2,
        ),
        within=within,
        biased=x.mean(means[:n, 0]) + y.mean(means[n:, 1]) - 2 * x.mean(x.across),
        spread=spread,
    )


def witness_of(pooled: Pooled) -> Function:
    """mean k(x_i, .) - mean k(y_j, .) at the points the user knows, with their column names."""
    return Function(pooled.kernel, pooled.unmoved, pooled.contrast, pooled.columns)


def second_order_norms(kernel: Kernel, points: Any) -> tuple[float, float]:
    """|C|^2 and the largest eigenvalue of the covariance operator C of a sample; large ones are subsampled."""
    n = count(points)
    rows, p = _subsample(np.arange(n), np.full(n, 1 / n), np.random.default_rng(0))
    return _within(kernel, taken(points, rows), p)


# ---- private ------------------------------------------------------------------------------


class _SampleMeans:
    """One sample: its weights, and the mean embeddings of both samples at its points."""

    def __init__(
        self, weights: np.ndarray, inside: np.ndarray, across: np.ndarray, own: np.ndarray
    ) -> None:
        self.weights, self.across, self.own = weights, across, own
        self.inverse_size = float(weights @ weights)  # 1/n for equal weights
        self.near = (inside - weights * own) / (1 - weights)  # without the point itself
        self.inside = float(weights @ (inside - weights * own)) / (1 - self.inverse_size)
        self.trace = max(self.mean(own) - self.inside, 0.0)
        self.own_witness = self.near - across  # mean embedding of this sample less the other's

    def mean(self, values: np.ndarray) -> float:
        return float(self.weights @ values)

    def variance(self, values: np.ndarray) -> float:
        """Variance of the values that enters that of their weighted mean."""
        spread = self.weights**2 @ (values - self.mean(values)) ** 2
        return float(spread) / (1 - self.inverse_size) / self.inverse_size


@dataclass(frozen=True)
class _SecondOrder:
    """|Cx|^2, |Cy|^2 and <Cx, Cy>, the largest eigenvalues of Cx and Cy, and 1/n and 1/m."""

    products: tuple[float, float, float]
    tops: tuple[float, float]
    inverse_sizes: tuple[float, float]

    def slopes(self, value: float, variances: list[float], unit: float = 1.0) -> list[float]:
        """Estimates of Var h(x) / D and Var h(y) / D, for the estimate `value` of D.

        The `variances` are those of estimated witness values; the noise of the estimation adds a
        known amount, which is subtracted. Where variance and value are mostly noise, their ratio
        is replaced by the largest eigenvalue, an upper bound for every witness.
        """
        (norm_x, norm_y, inner), (x, y) = self.products, self.inverse_sizes
        # Only the size of the noise matters here, so n^2 stands for n (n - 1) of `Spread.floor`.
        noises = x * norm_x + y * inner, y * norm_y + x * inner
        floor = 2 * norm_x * x**2 + 2 * norm_y * y**2 + 4 * inner * x * y
        deviation = sqrt(max(floor, 0.0)) / unit
        if deviation == 0:
            return [0.0, 0.0]
        return [
            variance_slope(value, variance, noise / unit**2, deviation, top, unit)
            for variance, noise, top in zip(variances, noises, self.tops, strict=True)
        ]


def _second_order(pooled: Pooled, x: _SampleMeans, y: _SampleMeans) -> _SecondOrder:
    """Second-order variances, of subsamples where the samples are large."""
    n = pooled.n
    rng = np.random.default_rng(0)
    a, p = _subsample(np.arange(n), x.weights, rng)
    b, q = _subsample(np.arange(n, n + pooled.m), y.weights, rng)
    points_a, points_b = taken(pooled.points, a), taken(pooled.points, b)
    norm_x, top_x = _within(pooled.kernel, points_a, p)
    norm_y, top_y = _within(pooled.kernel, points_b, q)
    inner = _between(pooled.kernel, points_a, points_b, p, q)
    return _SecondOrder((norm_x, norm_y, inner), (top_x, top_y), (x.inverse_size, y.inverse_size))


def _subsample(
    rows: np.ndarray, weights: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    if len(rows) <= _ROWS_FOR_VARIANCE:
        return rows, weights
    subsample = rng.choice(rows, _ROWS_FOR_VARIANCE, replace=False, p=weights / weights.sum())
    return np.sort(subsample), np.full(_ROWS_FOR_VARIANCE, 1 / _ROWS_FOR_VARIANCE, np.float64)


def _within(kernel: Kernel, a: Any, p: np.ndarray) -> tuple[float, float]:
    """|C|^2 from pairs i != j, and the largest eigenvalue of C, of a weighted sample."""
    k = _centred(kernel, a, None, p, p)
    roots = np.sqrt(p)
    top = _largest(roots[:, None] * k * roots)
    k *= k
    np.fill_diagonal(k, 0.0)
    return float(p @ k @ p) / (1 - float(p @ p)), top


def _between(kernel: Kernel, a: Any, b: Any, p: np.ndarray, q: np.ndarray) -> float:
    """<Ca, Cb> of two weighted samples."""
    k = _centred(kernel, a, b, p, q)
    return float(p @ (k * k) @ q) / ((1 - float(p @ p)) * (1 - float(q @ q)))


def _centred(kernel: Kernel, a: Any, b: Any, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    k = to_numpy(Gram(kernel, a, b).dense()).astype(np.float64)
    rows, columns = k @ q, p @ k
    k += float(p @ rows) - rows[:, None] - columns[None, :]
    return k


def _largest(matrix: np.ndarray) -> float:
    """Largest eigenvalue of a positive semi-definite matrix.

    By power iteration, until it grows by less than 0.1% in a step.
    """
    v = matrix[:, int(np.argmax(np.diagonal(matrix)))]
    size = 0.0
    for _ in range(_MAX_POWER_ITERATIONS):
        length = float(np.linalg.norm(v))
        if length == 0:
            return 0.0
        v = matrix @ (v / length)
        size, before = float(np.linalg.norm(v)), size
        if size <= 1.001 * before:
            break
    return size


def _share(distance: float) -> float:
    return 1.0 if distance == inf else distance**2 / (distance**2 + 4)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
