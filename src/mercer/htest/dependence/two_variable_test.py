"""Base classes of tests of two variables with a kernel for each."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from mercer.backend import count
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.mean_statistic import OBSERVATIONS_FOR_NORMAL, MeanEvidence
from mercer.htest.nulls import Normal
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable, check_kernels, variables

MIN_ROWS = 8  # observations: two groups of four, the fewest for an unbiased HSIC
_ORDER_SEED = 0  # of the random order of observations, which protects against sorted data


class PairTest(HypothesisTest):
    """A test of two variables with one kernel for each."""

    kernel_x: Kernel | None
    kernel_y: Kernel | None

    def __post_init__(self) -> None:
        check_kernels(kernel_x=self.kernel_x, kernel_y=self.kernel_y)

    def _variables(self, x: Any, y: Any, least: int = 4) -> tuple[Variable, Variable]:
        first, second = variables((self.kernel_x, self.kernel_y), (x, y), least=least)
        return first, second


class NormalPairTest(PairTest):
    """Statistic: a studentised mean, asymptotically normal. No resampling."""

    @abstractmethod
    def _terms(self, x: Variable, y: Variable) -> MeanEvidence:
        """The terms whose mean is the statistic."""

    def statistic(self, x: Any, y: Any) -> float:
        """An unbiased estimate of HSIC."""
        return self._terms(*self._variables(x, y, MIN_ROWS)).mean

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value; `rng` is not used."""
        pair = self._variables(x, y, MIN_ROWS)
        terms, n = self._terms(*pair), count(pair[0].points)
        notes = ()
        if n < OBSERVATIONS_FOR_NORMAL:
            notes = (
                f"The normal null of {type(self).__name__} needs about {OBSERVATIONS_FOR_NORMAL} "
                f"observations, and there are {n}: the p-value is approximate; "
                "HSIC(null=Permutation()) is exact.",
            )
        return independence_result(self, pair, terms.mean, Normal().judge(terms), notes)


def in_random_order(n: int) -> np.ndarray:
    """A random order of n observations, with a fixed seed."""
    return np.random.default_rng(_ORDER_SEED).permutation(n)
