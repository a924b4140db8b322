"""Are two samples the same, up to a margin? A test whose rejection speaks for sameness."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.base import HypothesisTest
from mercer.htest.intervals import Estimate
from mercer.htest.nulls import Normal
from mercer.htest.samples.effect import measured
from mercer.htest.samples.pool import Pooled, pool
from mercer.htest.samples.result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class Equivalence(HypothesisTest):
    """Are two samples the same up to a margin? The null hypothesis is that MMD >= margin.

    A test that finds no difference does not show that there is none; this one does, when it
    rejects: the p-value is the chance of an estimate as small as this one, were the MMD as large
    as the margin. The statistic is (margin^2 - MMD_u^2) / sd, with the standard deviation that
    MMD_u^2 has where MMD = margin, and its null distribution the normal one.

    Parameters
    ----------
    margin : float
        The smallest difference that matters: an MMD, or a standardized distance. It is to be
        chosen before the data are seen.
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.
    standardized : bool
        True: the margin is in units of the spread of the samples, as `Effect.standardized`.

    Notes
    -----
    The slope of the variance is that of the data where these show a difference, and the steepest
    possible where they do not (see `Estimate`). At the margin itself, level 0.05, it rejected in
    0% to 3.5% of 400 runs at sizes 60/40 and in 3% to 5.5% at 400/400 (1, 5 and 50 dimensions, and
    three categories): conservative where the margin is near what the samples can show. A margin
    smaller than that is never found, whatever the truth: `test.least(x, y)` is the margin they
    could show if they were equal.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(800, 2)), rng.normal(size=(700, 2))
    >>> result = Equivalence(0.3, standardized=True).test(x, y)
    >>> result.rejects()  # they are the same, up to 0.3
    True
    """

    margin: float
    kernel: Kernel | None = None
    standardized: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        validate.positive("margin", self.margin)
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")

    def statistic(self, x: Any, y: Any) -> float:  # type: ignore[override]
        """(margin^2 - estimate) / standard deviation at the margin."""
        return self._evidence(x, y).studentized

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:  # type: ignore[override]
        """The statistic, and the p-value for sameness; nothing is drawn, `rng` is not used."""
        evidence = self._evidence(x, y)
        judgement = Normal().judge(evidence, rng)
        return two_sample_result(self, evidence.pooled, evidence.studentized, judgement)

    def least(self, x: Any, y: Any, *, level: float = 0.05) -> float:
        """The smallest margin at which samples like these, were they equal, would be found so."""
        from scipy.stats import norm

        validate.between("level", level, 0.0, 1.0)
        estimate = self._evidence(x, y).estimate
        z2 = float(norm.isf(level)) ** 2
        # margin^4 = z^2 (slope margin^2 + floor), for an estimate of zero
        half = z2 * estimate.slope / 2
        return sqrt(half + sqrt(half**2 + z2 * estimate.floor))

    def verdict(self, rejected: bool) -> str:
        """A rejection speaks for sameness."""
        what = "a standardized distance" if self.standardized else "an MMD"
        if rejected:
            return f"the samples are the same up to {what} of {self.margin:g}"
        return f"it is not shown that the samples are the same up to {what} of {self.margin:g}"

    def _evidence(self, x: Any, y: Any) -> _Evidence:
        pooled = pool(self.kernel, x, y)
        found = measured(pooled)
        if self.standardized and found.within == 0:
            raise ValueError(
                "x and y are constant, each by itself: there is no spread to standardize by, "
                "leave out standardized=True"
            )
        return _Evidence(
            pooled, found.ratio if self.standardized else found.mmd2, float(self.margin)
        )


@dataclass(frozen=True)
class _Evidence:
    """What `Normal` asks for."""

    pooled: Pooled
    estimate: Estimate
    margin: float

    @property
    def studentized(self) -> float:
        spread = sqrt(self.estimate.variance(self.margin**2))
        gap = self.margin**2 - self.estimate.value
        return gap / spread if spread > 0 else float(np.sign(gap)) * 1e300
