"""Equivalence test of two samples: a rejection shows that they are the same up to a margin."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, inf, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.intervals import Estimate
from mercer.htest.nulls import Normal
from mercer.htest.samples.effect import Measured, measured
from mercer.htest.samples.pooled_sample import Pooled, pool
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.kernels import facts
from mercer.kernels.base import Kernel
from mercer.kernels.radial import RBF

_LEVEL_OF_NOTE = 0.05  # at which the note about sizes that are too small is given
# MMD^2 of two samples that are far apart, by the RBF at the median of their pooled distances: points
# of one sample are then equal to it, k = 1, and those of different samples have k = exp(-1/2).

_FAR_AT_MEDIAN = 2 * (1 - exp(-0.5))


@dataclass(frozen=True)
class Equivalence(HypothesisTest):
    """Equivalence test of two samples; the null hypothesis is that MMD >= margin.

    A test that finds no difference does not show that there is none; this one does, when it
    rejects: the p-value is the chance of an estimate as small as this one, were the MMD as large
    as the margin. The statistic is (margin^2 - MMD_u^2) / sd, with the standard deviation that
    MMD_u^2 has where MMD = margin, and its null distribution the normal one.

    Parameters
    ----------
    margin : float
        The smallest difference that matters: an MMD, or a standardized distance. It is to be
        chosen before the data are seen. A margin that samples with the spread of these cannot
        reach, even if they have nothing in common, is refused: every pair of samples would pass.
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
    could show if they were equal, and a note of the result gives it where the margin is smaller.

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

    def statistic(self, x: Any, y: Any) -> float:
        """(margin^2 - estimate) / standard deviation at the margin."""
        return self._evidence(x, y).studentized()

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic, and the p-value for sameness; nothing is drawn, `rng` is not used."""
        evidence = self._evidence(x, y)
        judgement = Normal().judge(evidence, rng)
        notes = self._power_notes(evidence.estimate)
        return two_sample_result(self, evidence.pooled, evidence.studentized(), judgement, notes)

    def least(self, x: Any, y: Any, *, level: float = 0.05) -> float:
        """The smallest margin at which samples like these, were they equal, would be found so."""
        validate.between("level", level, 0.0, 1.0)
        return _least_margin(self._evidence(x, y).estimate, level)

    def verdict(self, rejected: bool) -> str:
        """Verdict in words: a rejection shows equivalence."""
        measure = "a standardized distance" if self.standardized else "an MMD"
        if rejected:
            return f"the samples are the same up to {measure} of {self.margin:g}"
        return f"it is not shown that the samples are the same up to {measure} of {self.margin:g}"

    def _power_notes(self, estimate: Estimate) -> tuple[str, ...]:
        """A note where samples of these sizes cannot show the margin, even if they are equal."""
        least = _least_margin(estimate, _LEVEL_OF_NOTE)
        if self.margin >= least:
            return ()
        return (
            f"Samples of these sizes cannot show a margin of {self.margin:g} at level "
            f"{_LEVEL_OF_NOTE:g}, even if they are equal: the smallest that they can show is about "
            f"{least:.3g}. Take more observations or a larger margin.",
        )

    def _evidence(self, x: Any, y: Any) -> EquivalenceEvidence:
        pooled = pool(self.kernel, x, y)
        measures = measured(pooled)
        if self.standardized and measures.within == 0:
            raise ValueError(
                "x and y are constant, each by itself: there is no spread to standardize by, "
                "leave out standardized=True"
            )
        estimate = measures.ratio if self.standardized else measures.mmd2
        most = farthest(pooled, measures)
        if self.kernel is None and isinstance(pooled.kernel, RBF):
            most = min(most, _FAR_AT_MEDIAN)
        self._refuse_vacuous(most, measures.within if self.standardized else 1.0)
        return EquivalenceEvidence(pooled, estimate, float(self.margin))

    def _refuse_vacuous(self, most: float, unit: float) -> None:
        """Raise where no two samples with the spread of these could be as far apart as the margin."""
        if self.margin**2 * unit < most:
            return
        measure = "standardized distance" if self.standardized else "MMD"
        raise ValueError(
            f"margin must be below {sqrt(most / unit):.3g}, got {self.margin:g}: with this kernel, "
            "samples with the spread of x and y that have nothing in common have a "
            f"{measure} of {sqrt(most / unit):.3g}, so any two samples would pass as the same"
        )


def _least_margin(estimate: Estimate, level: float) -> float:
    """The margin at which an estimate of zero is just significant.

    margin^4 = z^2 (slope margin^2 + floor), with the quantile z of the level.
    """
    from scipy.stats import norm

    z2 = float(norm.isf(level)) ** 2
    half = z2 * estimate.slope / 2
    return sqrt(half + sqrt(half**2 + z2 * estimate.floor))


def farthest(pooled: Pooled, found: Measured) -> float:
    """The largest MMD^2 of two samples that each have the spread of these; inf if not known.

    MMD^2 = E k(x, x') + E k(y, y') - 2 E k(x, y), where the last term is at least 0 for the
    stationary kernels that decay; it is never more than 2 sup k.
    """
    known = facts(pooled.kernel)
    if not (known.bounded and known.stationary and known.integrally_strict):
        return inf
    diagonal = to_numpy(pooled.gram.diagonal()).astype(np.float64)
    inside = float(diagonal[: pooled.n].mean()) - found.spread.trace_x
    return inside + float(diagonal[pooled.n :].mean()) - found.spread.trace_y


@dataclass(frozen=True)
class EquivalenceEvidence:
    """What `Normal` asks for."""

    pooled: Pooled
    estimate: Estimate
    margin: float

    def studentized(self) -> float:
        spread = sqrt(self.estimate.variance(self.margin**2))
        gap = self.margin**2 - self.estimate.value
        return gap / spread if spread > 0 else float(np.sign(gap)) * 1e300

    def error_degrees(self) -> None:
        """None: the variance is that of the limit, which is normal."""
