"""Surrogate series as null distributions: circular shifts, and series with random phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.gram.resampling_weights import resampling_seed
from mercer.htest.evidence import PhaseRandomizable, Shiftable, provides
from mercer.htest.nulls import Judgement, Null, exceeds
from mercer.htest.slow_spectrum import effective_share

_MIN_EFFECTIVE_SHIFTS = 30  # fewer leave p-values of 0.05 to chance


@dataclass(frozen=True)
class ShiftSurrogates(Null):
    """Circular shifts of one of two stationary series, all that exceed its memory.

    A shift by k steps keeps the distribution of a series, but for the seam where its end meets its beginning, and breaks its
    dependence on the other series if k exceeds the memory of both. Nothing else is assumed: the series
    may be nonlinear and have any distribution. p = (1 + m s) / (1 + m), with s the share of shifts k = head, ...,
    n - head that reach the observed statistic, and m their effective number: neighbouring shifts of slow
    series are nearly the same. No random numbers are used. For `HSIC` and `Lancaster`; `ShiftHSIC` is HSIC with this null.

    Parameters
    ----------
    head : int or None
        The smallest shift that is used. None: the first lag at which the kernel autocorrelations of both
        series are below 0.05.

    Examples
    --------
    >>> from mercer.htest import HSIC
    >>> e = np.random.default_rng(0).normal(size=(2, 401))
    >>> x, y = e[:, 1:] + e[:, :-1]  # moving averages
    >>> HSIC(null=ShiftSurrogates()).test(x, y).rejects()
    False
    >>> HSIC(null=ShiftSurrogates(head=5)).test(x, y + np.abs(x)).rejects()
    True
    """

    head: int | None = None

    def __post_init__(self) -> None:
        if self.head is not None:
            validate.whole("head", self.head)

    def judge(self, evidence: Shiftable, rng: Any = None) -> Judgement:
        """Share of the effective shifts whose statistic is at least the observed one; `rng` is not used."""
        validate.generator(rng)
        if not provides(evidence, Shiftable):
            raise self._lacking("statistics of shifted series")
        evidence.refuse_walks()
        values = evidence.shifted()
        n, head = len(values), evidence.smallest_shift() if self.head is None else self.head
        if 2 * head > n:
            raise ValueError(
                f"head must be at most half of the {n} observations, got {head}: "
                "no shift would be left"
            )
        draws, observed = values[head : n - head + 1], float(values[0])
        effective = len(draws) * effective_share(draws)
        reached = np.mean(exceeds(draws, observed, float(evidence.tolerance())))
        notes = (f"Shifts by {head} to {n - head} steps of one series against the other.",)
        if effective < _MIN_EFFECTIVE_SHIFTS:
            notes = (
                f"Caution: the shifts are worth about {max(effective, 1.0):.0f} independent ones, fewer than "
                f"{_MIN_EFFECTIVE_SHIFTS}: the p-value is conservative.",
                *notes,
            )
        pvalue = float((1 + effective * reached) / (1 + effective))
        return Judgement(pvalue, draws, observed, notes=notes)


@dataclass(frozen=True)
class PhaseSurrogates(Null):
    """Series with the autocorrelations and the values of the observed one, and random phases.

    What is assumed: one of the two series, the second, is a stationary linear Gaussian process, seen through an increasing
    function. Its phases are then uniform and independent of its periodogram. The Fourier phases of its normal scores are
    drawn at random, the same for all columns, which keeps autocorrelations and cross-correlations; the values are put back
    by their ranks (Theiler et al. 1992, amplitude-adjusted surrogates). Take a season out before, because its phases are
    not random. The other series may be anything. Where the assumption fails, as with changing
    volatility or thresholds, a rejection may mean that the series is not linear: use `ShiftSurrogates` or
    `WildBootstrap(block=None)`. Each surrogate costs as much as the statistic. Measured at
    level 0.05 with 100 observations: 0.13 for AR(0.8) with noise t3 and 0.10 for MA(10), 0.06 and less with 300.
    For `HSIC` and `Lancaster`.

    Examples
    --------
    >>> from mercer.htest import HSIC
    >>> e = np.random.default_rng(0).normal(size=(2, 201))
    >>> x, y = e[:, 1:] + e[:, :-1]
    >>> HSIC(null=PhaseSurrogates()).test(x, y, rng=0).rejects()
    False
    >>> HSIC(null=PhaseSurrogates()).test(x, y + x**2, rng=0).rejects()
    True
    """

    resamples: int = 199

    def __post_init__(self) -> None:
        validate.whole("resamples", self.resamples)

    def judge(self, evidence: PhaseRandomizable, rng: Any = None) -> Judgement:
        """Share of the surrogates whose statistic is at least the observed one."""
        if not provides(evidence, PhaseRandomizable):
            raise self._lacking("statistics of series with random phases")
        evidence.refuse_walks()
        observed, draws = evidence.phase_randomized(self, resampling_seed(rng))
        return Judgement.resampled(observed, draws, float(evidence.tolerance()))


@dataclass(frozen=True)
class PhaseRandomized:
    """Surrogates of a series in the columns of an array: its values in the ranks of scores with random phases."""

    values: np.ndarray  # (n, d), every column sorted
    amplitudes: np.ndarray  # (f, d), Fourier coefficients of the normal scores

    @classmethod
    def of(cls, points: np.ndarray) -> PhaseRandomized:
        """Prepare the surrogates of a series, (n, d)."""
        from scipy.special import ndtri
        from scipy.stats import rankdata

        scores = ndtri((rankdata(points, axis=0) - 0.5) / len(points))
        return cls(np.sort(points, axis=0), np.fft.rfft(scores, axis=0))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """A surrogate: (n, d)."""
        n = len(self.values)
        phases = np.exp(2j * np.pi * rng.random(len(self.amplitudes)))
        if n % 2 == 0:  # the highest frequency of an even number of values is real
            phases[-1] = np.sign(phases[-1].real)
        scores = np.fft.irfft(self.amplitudes * phases[:, None], n, axis=0)
        return np.take_along_axis(
            self.values, np.argsort(np.argsort(scores, axis=0), axis=0), axis=0
        )
