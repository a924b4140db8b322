"""Null distributions of all tests: resampled, fitted by moments, spectral, asymptotic, bounded.

A test hands its evidence to a null, which asks for what it needs (resampled statistics, moments,
eigenvalues, a bound: the protocols of `mercer.htest.evidence`) and returns a p-value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer import validate
from mercer.errors import NoRule
from mercer.gram.resampling_weights import resampling_seed
from mercer.htest.evidence import (
    Bootstrappable,
    Bounded,
    ChiSquareDistributed,
    HasMoments,
    HasSkewness,
    HasSlowForms,
    HasSpectrum,
    Permutable,
    SignFlippable,
    Studentized,
    provides,
)
from mercer.htest.named_law import NamedLaw

# Relative difference by rounding between float64 statistics that are equal.
_RELATIVE_TOLERANCE = 100 * np.finfo(np.float64).eps
_RESAMPLES_BEFORE_STOPPING = 256  # first chunk of a null that may stop early; the next ones double
_SMALLEST_PVALUE = float(np.finfo(np.float64).tiny)  # a p-value is never 0
_NO_DRAWS = np.empty(0, dtype=np.float64)


class Judgement(NamedTuple):
    """A p-value with the draws of the null distribution behind it, on the scale of `observed`.

    Where the null distribution has a name, `law` is that distribution, with the methods of SciPy's. `notes` name what the null chose by itself.
    """

    pvalue: float
    draws: np.ndarray
    observed: float
    law: Any = None
    notes: tuple[str, ...] = ()

    @classmethod
    def resampled(
        cls,
        observed: float,
        draws: np.ndarray,
        tolerance: float = 0.0,
        notes: tuple[str, ...] = (),
    ) -> Judgement:
        """The p-value of resampled statistics: the share that is at least the observed one."""
        return cls(share(draws, observed, tolerance), draws, observed, notes=notes)

    @classmethod
    def by_tail(cls, tail: Any, observed: float, law: Any = None) -> Judgement:
        """The p-value of a null without draws: a tail probability, or the smallest positive float."""
        return cls(max(float(tail), _SMALLEST_PVALUE), _NO_DRAWS, observed, law)


class Null(ABC):
    """A null distribution: turns the evidence of a test into a p-value."""

    paired = False  # whether it exchanges the two observations of a pair only

    @abstractmethod
    def judge(self, evidence: Any, rng: Any = None) -> Judgement:
        """The p-value of the evidence; `NoRule` where it lacks what this null needs."""

    def _lacking(self, what: str) -> NoRule:
        """The error for evidence that does not satisfy the protocol of this null."""
        return NoRule(
            f"{type(self).__name__}() cannot be used with this test, which provides no {what}: use a null "
            "that the parameter `null` of the test lists"
        )


def exceeds(draws: np.ndarray, observed: float, tolerance: float = 0.0) -> np.ndarray:
    """Mask of the draws that are at least the observed statistic; equal up to rounding counts as equal.

    `tolerance` is the largest difference by rounding between equal draws, where their arithmetic is
    coarser than float64.
    """
    finite = draws[np.isfinite(draws)]
    size = max(abs(observed), float(np.max(np.abs(finite), initial=0.0)))
    return draws >= observed - max(_RELATIVE_TOLERANCE * size, tolerance)


def share(draws: np.ndarray, observed: float, tolerance: float = 0.0) -> float:
    """(1 + #{draws >= observed}) / (1 + B), never 0."""
    return float((1 + np.count_nonzero(exceeds(draws, observed, tolerance))) / (1 + len(draws)))


@dataclass(frozen=True)
class Permutation(Null):
    """Permutation null, exact at any sample size: p = (1 + #{resampled >= observed}) / (1 + resamples).

    Parameters
    ----------
    resamples : int
    stop_early : bool
        Stop as soon as `enough` resampled statistics reach the observed one; then
        p = enough / resamples so far, which is valid too (Besag and Clifford 1991).
    enough : int
    blocks : sequence of labels, or None
        Permute within these groups of observations only: centres of a trial, batches of a
        laboratory. One label for each observation, of the first sample and then of the second;
        a block with observations of only one sample contributes nothing.
    paired : bool
        Observation i of one sample belongs to observation i of the other, as before and after a
        treatment: swap within pairs only. Default kernels of data frames then take the root mean square of the changes
        within pairs as the unit of a column.

    Examples
    --------
    >>> from mercer.htest import MMD
    >>> rng = np.random.default_rng(0)
    >>> centre = np.repeat([0.0, 5.0], 20)  # two centres that differ, and a small effect in both
    >>> x, y = rng.normal(centre), rng.normal(centre + 1.0)
    >>> blocks = [*centre, *centre]
    >>> MMD(null=Permutation(999, blocks=blocks)).test(x, y, rng=0).rejects()
    True
    >>> MMD(null=Permutation(999)).test(x, y, rng=0).rejects()
    False
    """

    resamples: int = 999
    stop_early: bool = False
    enough: int = 50
    blocks: tuple[Any, ...] | None = None
    paired: bool = False

    def __post_init__(self) -> None:
        validate.whole("resamples", self.resamples)
        validate.whole("enough", self.enough)
        validate.truth("stop_early", self.stop_early)
        validate.truth("paired", self.paired)
        if self.blocks is not None:
            object.__setattr__(self, "blocks", validate.labels("blocks", self.blocks))
            if self.paired:
                raise ValueError("choose blocks or paired, not both: pairs are blocks of two")

    @staticmethod
    def seed(rng: Any) -> int:
        """Seed of the permutations, drawn from `rng`."""
        return resampling_seed(rng)

    @property
    def columns(self) -> slice:
        """Columns of all permutations; column 0 is the observed order."""
        return slice(0, self.resamples + 1)

    def judge(self, evidence: Permutable, rng: Any = None) -> Judgement:
        """Share of the permutations whose statistic is at least the observed one."""
        if not provides(evidence, Permutable):
            raise self._lacking("permuted statistics")
        seed = self.seed(rng)
        values, step = (
            _NO_DRAWS,
            _RESAMPLES_BEFORE_STOPPING if self.stop_early else self.resamples + 1,
        )
        while True:
            columns = slice(len(values), min(len(values) + step, self.resamples + 1))
            values, step = (
                np.concatenate([values, evidence.permuted(self, columns, seed)]),
                2 * step,
            )
            observed, draws = float(values[0]), values[1:]
            tolerance = float(evidence.tolerance())
            hits = np.flatnonzero(exceeds(draws, observed, tolerance))
            if self.stop_early and len(hits) >= self.enough:
                last = int(hits[self.enough - 1]) + 1
                return Judgement(self.enough / last, draws[:last], observed)
            if len(draws) == self.resamples:
                return Judgement.resampled(observed, draws, tolerance)


@dataclass(frozen=True)
class WildBootstrap(Null):
    """Wild bootstrap: random multipliers of the observations instead of permutations.

    For degenerate statistics of one sample (goodness of fit), and for dependent observations (time
    series), where permutations would destroy the serial dependence. With a `block`, so many consecutive observations
    share a random sign; asymptotically valid, and where blocks are nearly independent of each other, close to a
    randomisation test.

    Parameters
    ----------
    resamples : int
    block : int or None
        1 for independent observations. None: for time series. The statistic of `MMD`, `Energy`, `HSIC`, `DHSIC`, `Lancaster`,
        `KSD`, `KSDAgg` or `FSSD` is then compared with its values at the slowest cosines of the series, mixed at
        random (`mercer.htest.slow_contrasts`), which needs no block length and holds for autocorrelation of
        any sign, oscillations and changing volatility; random walks are refused, and so is this null by other tests.
    """

    resamples: int = 999
    block: int | None = 1

    def __post_init__(self) -> None:
        validate.whole("resamples", self.resamples)
        if self.block is not None:
            validate.whole("block", self.block)

    def judge(self, evidence: SignFlippable | HasSlowForms, rng: Any = None) -> Judgement:
        """Share of the draws of signs or multipliers whose statistic is at least the observed one."""
        if self.block is None and provides(evidence, HasSlowForms):
            forms = evidence.slow_forms()
            draws = forms.rotated(self.resamples, resampling_seed(rng))
            observed = float(forms.matrix[0, 0])
            return Judgement.resampled(observed, draws, forms.tolerance, forms.notes())
        if not provides(evidence, SignFlippable):
            raise self._lacking("statistics with random signs")
        if self.block is None:
            raise self._lacking(
                "statistics of series: give a block length, WildBootstrap(block=...)"
            )
        observed, draws = evidence.signed(self, resampling_seed(rng))
        return Judgement.resampled(observed, draws, float(evidence.tolerance()))


@dataclass(frozen=True)
class Bootstrap(Null):
    """Bootstrap of independent data: each variable is drawn with replacement, separately.

    Asymptotically valid for tests of joint independence (Pfister et al. 2018, section 3). In many
    dimensions, where every observation is similar only to itself, bootstrap samples with repeated
    observations vary too much, and the test rejects too rarely; `Permutation` is exact.
    """

    resamples: int = 999

    def __post_init__(self) -> None:
        validate.whole("resamples", self.resamples)

    def judge(self, evidence: Bootstrappable, rng: Any = None) -> Judgement:
        """Share of the bootstrap samples whose statistic is at least the observed one."""
        if not provides(evidence, Bootstrappable):
            raise self._lacking("bootstrapped statistics")
        seed = resampling_seed(rng)
        observed, draws = evidence.bootstrapped(self, seed)
        return Judgement.resampled(observed, draws, evidence.tolerance())


@dataclass(frozen=True)
class Gamma(Null):
    """Gamma distribution with the mean and the variance of the resampled statistic.

    Both are exact; the shape is an approximation, good for moderate p-values, not in the far tail.
    Where the evidence knows the skewness too, a shifted gamma distribution (Pearson's type III) matches
    it, which corrects the tail. The level holds from four observations on; a p-value is
    never below the smallest one that the permutations it replaces could attain.
    """

    def judge(self, evidence: HasMoments, rng: Any = None) -> Judgement:
        """Survival function of the gamma distribution with the moments of the evidence."""
        if not provides(evidence, HasMoments):
            raise self._lacking("moments under the null hypothesis")
        observed, mean, variance = evidence.moments()
        if not (
            mean > 0 and variance > _RELATIVE_TOLERANCE * mean**2
        ):  # the kernel sees no difference at all
            return Judgement.by_tail(1.0, observed)
        skewness = evidence.skewness() if provides(evidence, HasSkewness) else None
        law = _gamma(mean, variance, skewness)
        return Judgement.by_tail(law.sf(observed), observed, law)


def _gamma(mean: float, variance: float, skewness: float | None) -> NamedLaw:
    """Gamma distribution with these moments; without a skewness, the one that starts at 0."""
    if skewness is None or not skewness > 0:
        return NamedLaw("gamma", (mean**2 / variance,), scale=variance / mean)
    shape = 4 / skewness**2
    scale = (variance / shape) ** 0.5
    return NamedLaw("gamma", (shape,), mean - shape * scale, scale)


@dataclass(frozen=True)
class Spectrum(Null):
    """Spectral null, sum_i l_i z_i^2, z_i standard normal and l_i eigenvalues of the centred kernel matrix.

    The asymptotic null of a quadratic statistic, drawn `resamples` times; eigenvalues beyond the
    `rank` largest are replaced by their sum. Two-sample tests rescale the draws to the mean and the
    variance of the permuted statistic, as in `Gamma`, because the eigenvalues of few points in many
    dimensions are too uneven. The level holds from four observations on, and a p-value is never below
    the smallest one that the permutations could attain.
    """

    resamples: int = 9999
    rank: int = 200

    def __post_init__(self) -> None:
        validate.whole("resamples", self.resamples)
        validate.whole("rank", self.rank)

    def judge(self, evidence: HasSpectrum, rng: Any = None) -> Judgement:
        """Share of the draws of the weighted sum that are at least the observed statistic."""
        if not provides(evidence, HasSpectrum):
            raise self._lacking("limit as a sum of chi-squares")
        observed, eigenvalues, remainder = evidence.spectrum(self.rank)
        rng = validate.generator(rng)
        draws = np.full(self.resamples, remainder, dtype=np.float64)
        for start in range(0, self.resamples, 1024):
            z = rng.standard_normal((min(1024, self.resamples - start), len(eigenvalues)))
            draws[start : start + len(z)] += z**2 @ eigenvalues
        return Judgement.resampled(observed, draws)


@dataclass(frozen=True)
class Chi2(Null):
    """Chi-square distribution; its degrees of freedom come from the test."""

    def judge(self, evidence: ChiSquareDistributed, rng: Any = None) -> Judgement:
        """Survival function of the chi-square distribution at the observed statistic."""
        if not provides(evidence, ChiSquareDistributed):
            raise self._lacking("chi-square limit")
        statistic, degrees = evidence.chi_square()
        law, observed = NamedLaw("chi2", (degrees,)), float(statistic)
        return Judgement.by_tail(law.sf(observed), observed, law)


@dataclass(frozen=True)
class Normal(Null):
    """Standard normal distribution, or Student's t for few terms.

    A statistic divided by its estimated standard error has the tails of Student's t; the test knows
    the degrees of freedom. Beyond about 100 of them, t and normal agree.
    """

    def judge(self, evidence: Studentized, rng: Any = None) -> Judgement:
        """Survival function of the normal or Student's t distribution at the studentised statistic."""
        if not provides(evidence, Studentized):
            raise self._lacking("standard error")
        observed, degrees = float(evidence.studentized()), evidence.error_degrees()
        law = NamedLaw("norm") if degrees is None else NamedLaw("t", (degrees,))
        return Judgement.by_tail(law.sf(observed), observed, law)


@dataclass(frozen=True)
class Bound(Null):
    """Upper bound on the p-value for every distribution and every sample size; conservative.

    From McDiarmid's inequality and the Rademacher bound on the mean (Gretton et al. 2012, section
    4): needs a bounded kernel.
    """

    def judge(self, evidence: Bounded, rng: Any = None) -> Judgement:
        """The bound itself, in the place of a p-value."""
        if not provides(evidence, Bounded):
            raise self._lacking("bound on the p-value")
        observed, bound = evidence.bound()
        return Judgement(float(bound), _NO_DRAWS, observed)
