"""Tests of two variables given a third: what all of them check, read and tell."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.dependence.conditional_statistic import PartialEvidence
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.observed_variables import Variable, check_kernels, variables
from mercer.htest.feature_tests import SEED
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Gamma, Judgement, Null, Spectrum, WildBootstrap
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel

_NULLS = (Gamma, Spectrum, WeightedChi2, WildBootstrap)
_LEAST = 8  # observations
_NOTHING = 1e-7  # share of a variable below which nothing is left of it


class GivenTest(HypothesisTest):
    """x _||_ y | z, by residuals of features of x and y after regression on z."""

    kernel_x: Kernel | None
    kernel_y: Kernel | None
    kernel_z: Kernel | None
    slack: float
    null: Null

    def __post_init__(self) -> None:
        check_kernels(kernel_x=self.kernel_x, kernel_y=self.kernel_y, kernel_z=self.kernel_z)
        validate.non_negative("slack", self.slack)
        if not isinstance(self.null, _NULLS):
            raise TypeError(
                "null must be Gamma(), Spectrum(), WeightedChi2() or WildBootstrap(), for what "
                f"x and y share with z does not survive permutations, got {self.null!r}"
            )

    @abstractmethod
    def _evidence(
        self, found: tuple[Variable, ...], z: Any, rng: np.random.Generator
    ) -> PartialEvidence:
        """Residuals of x and y; `z` is the third variable as it was handed in."""

    def statistic(self, x: Any, y: Any, z: Any) -> float:
        """The squared norm of what the residuals of x and y share; what is random has seed 0."""
        found = self._variables(x, y, z)
        return self._evidence(found, z, validate.generator(SEED)).observed

    def test(self, x: Any, y: Any, z: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        found, rng = self._variables(x, y, z), validate.generator(rng)
        evidence = self._evidence(found, z, rng)
        gone = [e for e in (evidence.x, evidence.y) if e.share < _NOTHING]
        nothing = Judgement(1.0, np.empty(0, dtype=np.float64), evidence.observed)
        judgement = nothing if gone else self.null.judge(evidence, rng)
        notes = _told(evidence)
        return independence_result(self, found, evidence.observed, judgement, notes, given=True)

    def _variables(self, x: Any, y: Any, z: Any) -> tuple[Variable, ...]:
        kernels = (self.kernel_x, self.kernel_y, self.kernel_z)
        return tuple(v.widened() for v in variables(kernels, (x, y, z), least=_LEAST))


def _told(evidence: PartialEvidence) -> tuple[str, ...]:
    """How much z explains, and with how many degrees of freedom."""
    both = ((name, getattr(evidence, name)) for name in ("x", "y"))
    return tuple(
        f"Given z, nothing is left of {name}: there is nothing to test."
        if e.share < _NOTHING
        else f"Regression on z: {1 - e.share:.0%} of {name}, with {e.smoother.degrees:.1f} degrees "
        f"of freedom of {evidence.n:,}."
        for name, e in both
    )
