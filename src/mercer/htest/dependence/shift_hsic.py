"""HSIC test of two stationary time series, with circular shifts as the null distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.series_forms import refuse_walks
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.htest.dependence.two_variable_test import PairTest
from mercer.htest.nulls import Judgement, exceeds
from mercer.htest.serial_dependence import lag_means, memory
from mercer.htest.slow_spectrum import effective_share
from mercer.kernels.base import Kernel

_MIN_EFFECTIVE_SHIFTS = 30  # fewer leave p-values of 0.05 to chance


class CircularShifts(CyclicPermutations):
    """The n circular shifts of a series, as permutations; number 0 is the identity."""

    def __init__(self, n: int) -> None:
        self.base = np.arange(n)
        self.coset_orders = [self.base]
        self.positions = np.arange(n)


@dataclass(frozen=True)
class ShiftHSIC(PairTest):
    """HSIC test of two stationary series observed at the same times, by circular shifts of one of them.

    A circular shift by k steps keeps the distribution of a series, and breaks its dependence on the
    other one if k exceeds the memory of the series: so HSIC of x_i and y_(i+k), k = head, ...,
    n - head, is the null distribution (Chwialkowski and Gretton 2014). All shifts come from
    one Fourier transform, O(n^2 log n), or less where the kernel matrices have low rank.

    The test asks whether x_i and y_i, at the same time, are independent; for another lag, pass one
    series shifted by it. No random numbers are used. With n observations the p-value is at least
    1 / (n + 2 - 2 head).

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    head : int or None
        The smallest shift that is used. None: the first lag at which the kernel autocorrelations of both
        series are below 0.05.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> e = rng.normal(size=(2, 400))
    >>> x, y = np.zeros((2, 400))
    >>> for t in range(1, 400):
    ...     x[t], y[t] = 0.8 * x[t - 1] + e[0, t], 0.8 * y[t - 1] + e[1, t]
    >>> ShiftHSIC().test(x, y).rejects()
    False
    >>> ShiftHSIC().test(x, y + np.abs(x)).rejects()
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head is not None:
            validate.whole("head", self.head)

    @property
    def for_series(self) -> bool:
        """Always True."""
        return True

    def statistic(self, x: Any, y: Any) -> float:
        """HSIC of the two series, tr(KHLH) / n^2."""
        return HSICEvidence.of(*self._variables(x, y)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value; `rng` is not used."""
        validate.generator(rng)
        variables = self._variables(x, y)
        evidence = HSICEvidence.of(*variables)
        refuse_walks([gram.matrix() for gram in (evidence.first, evidence.second)])
        head = _smallest_shift(evidence) if self.head is None else self.head
        n = evidence.n
        if 2 * head > n:
            raise ValueError(
                f"head must be at most half of the {n} observations, got {head}: "
                "no shift would be left"
            )
        values = np.maximum(evidence.trace.cyclic(CircularShifts(n)), 0.0) / n**2
        draws, observed = values[head : n - head + 1], float(values[0])
        judgement = _by_effective_shifts(observed, draws, evidence.tolerance())
        notes = (f"Shifts by {head} to {n - head} steps of one series against the other.",)
        return independence_result(self, variables, evidence.observed, judgement, notes)


def _by_effective_shifts(observed: float, draws: np.ndarray, tolerance: float) -> Judgement:
    """(1 + m s) / (1 + m), with s the share of shifts that reach the observed value and m their effective number.

    Neighbouring shifts of slow series give nearly the same value, so that n of them are worth fewer independent ones.
    """
    effective = len(draws) * effective_share(draws)
    reached = np.mean(exceeds(draws, observed, tolerance))
    notes: tuple[str, ...] = ()
    if effective < _MIN_EFFECTIVE_SHIFTS:
        notes = (
            f"Caution: the shifts are worth about {max(effective, 1.0):.0f} independent ones, fewer than "
            f"{_MIN_EFFECTIVE_SHIFTS}: the p-value is conservative.",
        )
    pvalue = float((1 + effective * reached) / (1 + effective))
    return Judgement(pvalue, draws, observed, notes=notes)


def _smallest_shift(evidence: HSICEvidence) -> int:
    """The longer memory of the two series, at most a quarter of the observations."""
    grams = (evidence.first, evidence.second)
    return max(memory(lag_means(gram.matrix())) for gram in grams)
