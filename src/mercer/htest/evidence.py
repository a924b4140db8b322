"""What null distributions need of evidence: one protocol for each way to a p-value.

A test turns its samples into evidence, and hands that to its null:

    evidence = QuadraticEvidence(pooled, unbiased=True)   # the data, ready for any null
    judgement = Permutation(999).judge(evidence, rng)     # the p-value
    result = two_sample_result(test, pooled, evidence.observed, judgement)

A class of evidence offers the methods of every null that makes sense for its statistic; it need not
inherit from the protocols. `Null.judge` names the protocol that it needs, and raises `NoRule` where the
evidence does not satisfy it. All members are methods, so that this check computes nothing. Large
statistics speak against the null hypothesis, everywhere.

Resampled statistics are compared with an observed one that was computed in the same arithmetic, which
may be coarser than that of the reported statistic; hence the methods return both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from mercer.htest.nulls import Bootstrap, Permutation, WildBootstrap
    from mercer.htest.slow_contrasts import SlowForms
    from mercer.htest.surrogates import PhaseSurrogates

ProtocolT = TypeVar("ProtocolT")


def provides(evidence: Any, protocol: type[ProtocolT]) -> TypeGuard[ProtocolT]:
    """Whether evidence has the methods of a protocol.

    Asked of its class, because Python caches that answer; `isinstance` of a protocol takes 20 us.
    """
    return issubclass(type(evidence), protocol)


@runtime_checkable
class Permutable(Protocol):
    """Statistics of permuted data, for `Permutation`."""

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """Statistics of the permutations from these columns on; column 0 is the observed order.

        Evidence that computes all permutations together may return those after `columns.stop` too: what
        is returned continues with the statistics of the next columns, in order.
        """
        ...

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        ...


@runtime_checkable
class SignFlippable(Protocol):
    """Statistics with random signs, for `WildBootstrap`."""

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The observed statistic, and those of random signs of blocks of observations."""
        ...

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        ...


@runtime_checkable
class HasSlowForms(Protocol):
    """Statistics of the slowest cosines of time series, for `WildBootstrap(block=None)`."""

    def slow_forms(self) -> SlowForms:
        """Forms of the observed contrast and of cosines; `ValueError` for random walks."""
        ...


@runtime_checkable
class Shiftable(Protocol):
    """Statistics of circularly shifted series, for `ShiftSurrogates`."""

    def refuse_walks(self) -> None:
        """`ValueError` for random walks."""
        ...

    def shifted(self) -> np.ndarray:
        """Statistics of all n circular shifts of one series against the other; number 0 is the observed one."""
        ...

    def smallest_shift(self) -> int:
        """The memory of the series, in steps."""
        ...

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        ...


@runtime_checkable
class PhaseRandomizable(Protocol):
    """Statistics of series with random phases, for `PhaseSurrogates`."""

    def refuse_walks(self) -> None:
        """`ValueError` for random walks."""
        ...

    def phase_randomized(self, null: PhaseSurrogates, seed: int) -> tuple[float, np.ndarray]:
        """The observed statistic, and those with surrogates of one of the series."""
        ...

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        ...


@runtime_checkable
class Bootstrappable(Protocol):
    """Statistics of data drawn with replacement, for `Bootstrap`."""

    def bootstrapped(self, null: Bootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The observed statistic, and those of bootstrap samples."""
        ...

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        ...


@runtime_checkable
class HasMoments(Protocol):
    """Moments of the statistic under the null hypothesis, for `Gamma`."""

    def moments(self) -> tuple[float, float, float]:
        """The observed statistic, and its mean and variance under the null hypothesis."""
        ...


@runtime_checkable
class HasSkewness(HasMoments, Protocol):
    """A third moment too, by which `Gamma` fits a shifted gamma distribution."""

    def skewness(self) -> float:
        """Skewness of the statistic under the null hypothesis."""
        ...


@runtime_checkable
class HasSpectrum(Protocol):
    """Weights of a limiting sum of chi-squares, for `Spectrum` and `WeightedChi2`."""

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The observed statistic, at most `rank` weights, largest first, and the sum of the others."""
        ...


@runtime_checkable
class ChiSquareDistributed(Protocol):
    """A chi-square limit, for `Chi2`."""

    def chi_square(self) -> tuple[float, int]:
        """The observed statistic and its degrees of freedom."""
        ...


@runtime_checkable
class Studentized(Protocol):
    """An estimate over its standard error, for `Normal`."""

    def studentized(self) -> float:
        """The statistic in units of its standard error."""
        ...

    def error_degrees(self) -> float | None:
        """Degrees of freedom of the standard error; None where it is known exactly."""
        ...


@runtime_checkable
class Bounded(Protocol):
    """A concentration inequality, for `Bound`."""

    def bound(self) -> tuple[float, float]:
        """The observed statistic, and an upper bound on its p-value."""
        ...
