"""HSIC test of two stationary time series, with circular shifts as the null distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.two_variable_test import PairTest
from mercer.htest.surrogates import ShiftSurrogates
from mercer.kernels.base import Kernel


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
        ShiftSurrogates(self.head)  # raises if the head is not a whole number

    @property
    def for_series(self) -> bool:
        """Always True."""
        return True

    def statistic(self, x: Any, y: Any) -> float:
        """HSIC of the two series, tr(KHLH) / n^2."""
        return HSICEvidence.of(*self._variables(x, y)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value; `rng` is not used."""
        variables = self._variables(x, y)
        evidence = HSICEvidence.of(*variables)
        judgement = ShiftSurrogates(self.head).judge(evidence, rng)
        return independence_result(self, variables, evidence.observed, judgement)
