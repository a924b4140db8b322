"""Independence test of two variables by the Hilbert-Schmidt independence criterion (HSIC)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mercer import validate
from mercer.htest.dependence.dependence_result import (
    IndependenceResult,
    blind_kernel_notes,
    independence_result,
)
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.two_variable_test import PairTest
from mercer.htest.nulls import Null, Permutation
from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class HSIC(PairTest):
    """Independence test of two variables by the Hilbert-Schmidt independence criterion.

    HSIC = tr(KHLH) / n^2 (Gretton et al. 2005) is the squared norm of the cross-covariance operator:
    with characteristic kernels it is zero only under independence. With `Energy` kernels 4 HSIC is the
    squared distance covariance (Szekely et al. 2007; unbiased: the U-statistic of Szekely and
    Rizzo 2014), in O(n log n) for one-dimensional variables.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    unbiased : bool
        The U-statistic of Song et al. (2012, eq. 5), which may be negative.
    null : Permutation, Gamma, Spectrum or WildBootstrap
        Permutations are exact, and cost little more than the statistic: n of them, all circular
        shifts of one random order, come from one Fourier transform. WildBootstrap is for time series.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> y = np.abs(x) + 0.5 * rng.normal(size=200)  # dependent, though not correlated
    >>> HSIC().test(x, y, rng=0).pvalue
    0.001
    >>> HSIC().test(x, rng.permutation(y), rng=0).rejects()
    False
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    unbiased: bool = field(default=False, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.truth("unbiased", self.unbiased)
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:
        """HSIC of two variables."""
        return HSICEvidence.of(*self._variables(x, y), self.unbiased).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        variables = self._variables(x, y)
        evidence = HSICEvidence.of(*variables, self.unbiased, self.null)
        judgement = self.null.judge(evidence, rng)
        notes = blind_kernel_notes([v.kernel for v in variables], [v.name for v in variables])
        return independence_result(self, variables, evidence.observed, judgement, notes)
