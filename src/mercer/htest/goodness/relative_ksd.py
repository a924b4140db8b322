"""Which of two models fits better? By the difference of their Stein discrepancies."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, to_numpy
from mercer.gram import LazyMatrix
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import Sample, sample_of
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.intervals import Interval
from mercer.htest.result import Result
from mercer.kernels.base import Kernel
from mercer.kernels.stein import Stein
from mercer.rkhs.charts import same_chart

SCHEMA = "mercer/relative-fit/1"
_LEAST = 4  # observations


@dataclass(frozen=True)
class RelativeResult(Result):
    """The result of `RelativeKSD`.

    Attributes
    ----------
    statistic : float
        The squared discrepancy of the first model less that of the second.
    discrepancies : tuple of two floats
        Of each model, unbiased: they may be negative.
    error : float
        The standard error of the statistic.
    """

    discrepancies: tuple[float, float] = field(kw_only=True)
    error: float = field(kw_only=True)
    size: int = field(kw_only=True)

    def better(self, level: float = 0.05) -> Any:
        """The model that fits better, as it was handed in; None where that is not decided."""
        if not self.rejects(level):
            return None
        return self.test.second if self.statistic > 0 else self.test.first  # type: ignore[attr-defined]

    def interval(self, confidence: float = 0.95) -> Interval:
        """A confidence interval of the difference of the squared discrepancies."""
        from scipy.stats import norm

        validate.between("confidence", confidence, 0.0, 1.0)
        reach = float(norm.ppf((1 + confidence) / 2)) * self.error
        return Interval(self.statistic - reach, self.statistic + reach)

    def summary(self, level: float = 0.05) -> str:
        """What was asked, the verdict, and both discrepancies."""
        first, second = (_named(m) for m in (self.test.first, self.test.second))  # type: ignore[attr-defined]
        how = f"{type(self.test).__name__}, {self.null_in_words()}; level {level:g}"
        if not self.rejects(level):
            verdict = "it is not decided which one fits better"
        else:
            best = "second" if self.statistic > 0 else "first"
            verdict = f"the {best} one, {second if self.statistic > 0 else first}, fits better"
        low, high = self.interval()
        return "\n".join(
            [
                f"Asked: which model fits the {self.size:,} observations better, {first} or {second}?",
                f"Verdict: {verdict}, p = {self.pvalue:.3g} ({how}). This does not show that it fits.",
                f"Size: squared Stein discrepancies {self.discrepancies[0]:.3g} and "
                f"{self.discrepancies[1]:.3g}, difference {self.statistic:.3g} (95% interval "
                f"{low:.2g} to {high:.2g}).",
                *self.notes,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        models = (_named(m) for m in (self.test.first, self.test.second))  # type: ignore[attr-defined]
        return {
            "schema": SCHEMA,
            **super().to_dict(),
            "size": self.size,
            "models": list(models),
            "discrepancies": list(self.discrepancies),
            "error": self.error,
        }


@dataclass(frozen=True)
class RelativeKSD(HypothesisTest):
    """Which of two models fits better? By the difference of their squared Stein discrepancies.

    Neither has to be right: with many observations every model is wrong, and the question is how
    much. The null hypothesis is that both discrepancies are equal; the p-value is two-sided, and
    `result.better()` tells which model is ahead. (To ask only whether the second one is better,
    halve the p-value of a positive statistic.) The statistic is a U-statistic with the kernel
    h = k_p - k_q, on the same observations, and so asymptotically normal (Jitkrittum et al. 2018;
    Kanagawa et al. 2023, theorem 2).

    Its variance is 4 z_1 / n + 2 z_2 / n^2 with z_1 = Var E[h(X, X') | X] and z_2 the variance of what is
    left. Where both models fit, z_1 vanishes and the limit is not normal; then z_2 keeps the
    variance right and the level about so. Two equal models have p = 1.

    Parameters
    ----------
    first, second : distribution or function
        As in `KSD`: whatever has a score.
    kernel : Kernel or None
        A smooth function of the distance, one for both. None: InverseMultiquadric at the median
        distance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).standard_t(5, size=400)
    >>> near, far = Gaussian(0.0, 5 / 3), Gaussian(1.0, 5 / 3)  # neither is right
    >>> result = RelativeKSD(near, far).test(x)
    >>> result.better() is near, result.pvalue < 1e-3
    (True, True)
    """

    first: Any
    second: Any
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        models = [model_of(model) for model in (self.first, self.second)]
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
            for model in models:
                Stein(self.kernel, model.score)  # refused here where it is not smooth enough

    def statistic(self, x: Any) -> float:
        """The squared discrepancy of the first model less that of the second, unbiased."""
        return _Comparison(*self._samples(x)).value

    def test(self, x: Any, *, rng: Any = None) -> RelativeResult:
        """The statistic and its two-sided p-value; nothing is random."""
        from scipy.stats import halfnorm

        found = _Comparison(*self._samples(x))
        error = found.error
        z = abs(found.value) / error if error > 0 else 0.0
        tail = max(float(halfnorm.sf(z)), float(np.finfo(np.float64).tiny))
        return RelativeResult(
            found.value,
            tail,
            self,
            np.empty(0, dtype=np.float64),
            observed=z,
            law=halfnorm(),
            discrepancies=found.discrepancies,
            error=error,
            size=found.n,
        )

    def _samples(self, x: Any) -> tuple[Sample, Sample]:
        samples = [
            sample_of(model_of(m), self.kernel, x, _LEAST) for m in (self.first, self.second)
        ]
        if not same_chart(*(sample.chart for sample in samples)):
            raise ValueError(
                "first and second must have a density at the same places, borders included, to be "
                "compared by one kernel: use AgainstDraws for each of them"
            )
        return samples[0], samples[1]


class _Comparison:
    """The U-statistic of h = k_p - k_q, and its variance."""

    def __init__(self, first: Sample, second: Sample) -> None:
        left, right = first.gram, second.gram
        self.n = n = len(first)
        own = [to_numpy(gram.diagonal()).astype(np.float64) for gram in (left, right)]
        sums = [to_numpy(gram.row_sums()).astype(np.float64) for gram in (left, right)]
        rows = [(s - o) / (n - 1) for s, o in zip(sums, own, strict=True)]  # mean_j h_ij, j != i
        self.discrepancies = float(rows[0].mean()), float(rows[1].mean())
        self._rows = rows[0] - rows[1]
        self.value = float(self._rows.mean())
        self._unit = 2.0 ** np.frexp(max(np.max(np.abs(o)) for o in own))[1]  # squares stay finite
        difference = _Difference(left, right, float(self._unit))
        squares = (difference * difference).sum() - float(
            np.sum(((own[0] - own[1]) / self._unit) ** 2)
        )
        self._mean_square = max(squares, 0.0) / (n * (n - 1))

    @property
    def error(self) -> float:
        """The standard error of the statistic: jackknifed, without what the jackknife counts twice.

        With v = 2 z_2 / n(n - 1), the second-order part, the jackknife expects 4 z_1 / n + 2 v and the
        variance is 4 z_1 / n + v (Efron & Stein 1981).
        """
        n, value = self.n, self.value / self._unit
        moved = self._rows / self._unit - value
        spread = float(moved @ moved) / (n - 1)
        pairs = max(self._mean_square - value**2 - 2 * spread, 0.0)  # z_2
        floor = 2 * pairs / (n * (n - 1))
        jackknifed = 4 * spread * (n - 1) ** 2 / (n * (n - 2) ** 2)
        return float(self._unit) * sqrt(max(jackknifed - 2 * floor, 0.0) + floor)


@dataclass(frozen=True, repr=False)
class _Difference(LazyMatrix):
    """(A - B) / unit of symmetric matrices."""

    left: LazyMatrix
    right: LazyMatrix
    unit: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.shape

    @property
    def like(self) -> Array:
        return self.left.like / self.unit

    @property
    def symmetric(self) -> bool:
        return True

    def block(self, rows: slice, columns: slice, /) -> Array:
        return (self.left.block(rows, columns) - self.right.block(rows, columns)) / self.unit

    def diagonal(self) -> Array:
        return (self.left.diagonal() - self.right.diagonal()) / self.unit


def _named(model: Any) -> str:
    words = repr(model)
    known = len(words) <= 80 and " at 0x" not in words
    return words if known else getattr(model, "__name__", type(model).__name__)
