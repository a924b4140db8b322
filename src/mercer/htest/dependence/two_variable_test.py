"""Tests of two variables by a kernel of each: what all of them check and read."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from mercer.backend import count
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.observed_variables import Variable, check_kernels, variables
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.mean_statistic import OBSERVATIONS_FOR_NORMAL, MeanEvidence
from mercer.htest.nulls import Normal
from mercer.kernels.base import Kernel

_LEAST = 8  # observations, for two groups of four
_ORDER = 0  # seed of the order in which observations are taken, so that sorted data do no harm


class PairTest(HypothesisTest):
    """A test of two variables with a kernel of its own for each."""

    kernel_x: Kernel | None
    kernel_y: Kernel | None

    def __post_init__(self) -> None:
        check_kernels(kernel_x=self.kernel_x, kernel_y=self.kernel_y)

    def _variables(self, x: Any, y: Any, least: int = 4) -> tuple[Variable, Variable]:
        first, second = variables((self.kernel_x, self.kernel_y), (x, y), least=least)
        return first, second


class NormalPairTest(PairTest):
    """One whose statistic is a mean, in units of its standard error normal; nothing is random."""

    @abstractmethod
    def _terms(self, x: Variable, y: Variable) -> MeanEvidence:
        """What the mean is taken of."""

    def statistic(self, x: Any, y: Any) -> float:
        """An unbiased estimate of HSIC."""
        return self._terms(*self._variables(x, y, _LEAST)).mean

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value; nothing is random."""
        found = self._variables(x, y, _LEAST)
        terms, n = self._terms(*found), count(found[0].points)
        notes = ()
        if n < OBSERVATIONS_FOR_NORMAL:
            notes = (
                f"The null of {type(self).__name__} holds from about {OBSERVATIONS_FOR_NORMAL} observations on, and "
                f"there are {n}: its p-value is approximate; HSIC(null=Permutation()) is exact.",
            )
        return independence_result(self, found, terms.mean, Normal().judge(terms), notes)


def in_random_order(n: int) -> np.ndarray:
    """Positions of n observations in random order, always the same."""
    return np.random.default_rng(_ORDER).permutation(n)
