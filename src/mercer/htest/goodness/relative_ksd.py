"""Comparison of two models by the difference of their Stein discrepancies."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any, cast

import numpy as np

from mercer import validate
from mercer.backend import Array, to_numpy
from mercer.gram import LazyMatrix
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import MIN_OBSERVATIONS, SteinSample, sample_of
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.intervals import Interval
from mercer.htest.named_law import NamedLaw
from mercer.htest.result import Result
from mercer.kernels.base import Kernel
from mercer.kernels.stein import Stein
from mercer.rkhs.charts import same_chart

SCHEMA = "mercer/relative-fit/1"


@dataclass(frozen=True)
class RelativeResult(Result):
    """Result of `RelativeKSD`.

    Attributes
    ----------
    statistic : float
        Squared discrepancy of the first model minus that of the second.
    discrepancies : tuple of two floats
        Unbiased estimates of the squared discrepancies of both models, which may be negative.
    error : float
        Standard error of the statistic.
    """

    discrepancies: tuple[float, float] = field(kw_only=True)
    error: float = field(kw_only=True)
    size: int = field(kw_only=True)

    def better(self, level: float | None = None) -> Any:
        """The model that fits better; None if the test does not reject."""
        if not self.rejects(level):
            return None
        first, second = self._models
        return second if self.statistic > 0 else first

    def interval(self, confidence: float = 0.95) -> Interval:
        """Confidence interval of the difference of the squared discrepancies."""
        from scipy.stats import norm

        validate.between("confidence", confidence, 0.0, 1.0)
        margin = float(norm.ppf((1 + confidence) / 2)) * self.error
        return Interval(self.statistic - margin, self.statistic + margin)

    def summary(self, level: float | None = None) -> str:
        """Question, verdict and both discrepancies in plain words."""
        level = self._level_or(level)
        first, second = (_named(m) for m in self._models)
        how = f"{type(self.test).__name__}, {self.null_in_words()}; level {level:g}"
        if not self.rejects(level):
            verdict = "neither model fits significantly better"
        else:
            position, name = ("second", second) if self.statistic > 0 else ("first", first)
            verdict = f"the {position} model, {name}, fits better"
        low, high = self.interval()
        return "\n".join(
            [
                f"Asked: which model fits the {self.size:,} observations better, {first} or {second}?",
                f"Verdict: {verdict}, p = {self.pvalue:.3g} ({how}). This does not prove that it fits.",
                f"Size: squared Stein discrepancies {self.discrepancies[0]:.3g} and "
                f"{self.discrepancies[1]:.3g}, difference {self.statistic:.3g} (95% interval "
                f"{low:.2g} to {high:.2g}).",
                *self.notes,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as a dictionary that can be written as JSON."""
        return {
            "schema": SCHEMA,
            **super().to_dict(),
            "size": self.size,
            "models": [_named(m) for m in self._models],
            "discrepancies": list(self.discrepancies),
            "error": self.error,
        }

    @property
    def _models(self) -> tuple[Any, Any]:
        test = cast(RelativeKSD, self.test)
        return test.first, test.second


@dataclass(frozen=True)
class RelativeKSD(HypothesisTest):
    """Test of which of two models fits better, by the difference of their squared Stein discrepancies.

    Neither model has to be right: with many observations every model is rejected, and the question is
    which one is closer. The null hypothesis is that both discrepancies are equal; the p-value is
    two-sided, and `result.better()` returns the better model. (For the one-sided question whether the
    second model is better, halve the p-value of a positive statistic.) The statistic is a U-statistic
    with kernel h = k_p - k_q and therefore asymptotically normal (Jitkrittum et al. 2018; Kanagawa
    et al. 2023, theorem 2).

    Its variance is 4 z_1 / n + 2 z_2 / n^2 with z_1 = Var E[h(X, X') | X] and the remaining variance
    z_2. If both models fit, z_1 vanishes and the limit is not normal, but with z_2 the variance is
    right and the level holds approximately. Two equal models have p = 1.

    Parameters
    ----------
    first, second : distribution or function
        Anything that has a score: see `KSD`.
    kernel : Kernel or None
        A smooth radial kernel, the same for both models. None: InverseMultiquadric with the median
        distance as bandwidth.

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
                Stein(self.kernel, model.score)  # raises if the kernel is not smooth enough

    def statistic(self, x: Any) -> float:
        """Unbiased estimate of the squared discrepancy of the first model minus that of the second."""
        return _DiscrepancyDifference(*self._samples(x)).value

    def test(self, x: Any, *, rng: Any = None) -> RelativeResult:
        """The statistic and its two-sided p-value; `rng` is not used."""
        difference = _DiscrepancyDifference(*self._samples(x))
        error = difference.error
        z = abs(difference.value) / error if error > 0 else 0.0
        law = NamedLaw("halfnorm")
        tail = max(float(law.sf(z)), float(np.finfo(np.float64).tiny))
        return RelativeResult(
            difference.value,
            tail,
            self,
            np.empty(0, dtype=np.float64),
            observed=z,
            law=law,
            discrepancies=difference.discrepancies,
            error=error,
            size=difference.n,
        )

    def _samples(self, x: Any) -> tuple[SteinSample, SteinSample]:
        samples = [
            sample_of(model_of(m), self.kernel, x, MIN_OBSERVATIONS)
            for m in (self.first, self.second)
        ]
        if not same_chart(*(sample.chart for sample in samples)):
            raise ValueError(
                "first and second must have the same support to be compared with one kernel: use "
                "AgainstDraws for each of them"
            )
        return samples[0], samples[1]


class _DiscrepancyDifference:
    """U-statistic with kernel h = k_p - k_q, and its variance."""

    def __init__(self, first: SteinSample, second: SteinSample) -> None:
        grams = first.gram, second.gram
        self.n = n = len(first)
        diagonals = [to_numpy(gram.diagonal()).astype(np.float64) for gram in grams]
        sums = [to_numpy(gram.row_sums()).astype(np.float64) for gram in grams]
        rows = [
            (s - d) / (n - 1) for s, d in zip(sums, diagonals, strict=True)
        ]  # means over j != i
        self.discrepancies = float(rows[0].mean()), float(rows[1].mean())
        self._rows = rows[0] - rows[1]
        self.value = float(self._rows.mean())
        # Values are scaled by a power of two, so that their squares stay finite.
        self._unit = 2.0 ** np.frexp(max(np.max(np.abs(d)) for d in diagonals))[1]
        difference = _ScaledDifference(*grams, float(self._unit))
        diagonal = (diagonals[0] - diagonals[1]) / self._unit
        squares = (difference * difference).sum() - float(np.sum(diagonal**2))
        self._mean_square = max(squares, 0.0) / (n * (n - 1))

    @property
    def error(self) -> float:
        """Standard error of the statistic by the jackknife, corrected for its bias.

        With the second-order term v = 2 z_2 / n(n - 1), the jackknife has mean 4 z_1 / n + 2 v, and the
        variance is 4 z_1 / n + v (Efron & Stein 1981).
        """
        n, value = self.n, self.value / self._unit
        centered = self._rows / self._unit - value
        spread = float(centered @ centered) / (n - 1)
        pairs = max(self._mean_square - value**2 - 2 * spread, 0.0)  # z_2
        floor = 2 * pairs / (n * (n - 1))
        jackknifed = 4 * spread * (n - 1) ** 2 / (n * (n - 2) ** 2)
        return float(self._unit) * sqrt(max(jackknifed - 2 * floor, 0.0) + floor)


@dataclass(frozen=True, repr=False)
class _ScaledDifference(LazyMatrix):
    """(A - B) / unit for symmetric matrices A and B."""

    first: LazyMatrix
    second: LazyMatrix
    unit: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.first.shape

    @property
    def like(self) -> Array:
        return self.first.like / self.unit

    @property
    def symmetric(self) -> bool:
        return True

    def block(self, rows: slice, columns: slice, /) -> Array:
        return (self.first.block(rows, columns) - self.second.block(rows, columns)) / self.unit

    def diagonal(self) -> Array:
        return (self.first.diagonal() - self.second.diagonal()) / self.unit


def _named(model: Any) -> str:
    """The repr of a model if it is short, else its name."""
    text = repr(model)
    informative = len(text) <= 80 and " at 0x" not in text
    return text if informative else getattr(model, "__name__", type(model).__name__)
