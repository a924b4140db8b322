"""Base class of conditional independence tests: two variables given a third."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.errors import NoRule
from mercer.htest.dependence.conditional_statistic import ConditionalEvidence
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.feature_tests import SEED
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Gamma, Judgement, Null, Spectrum, WildBootstrap
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable, check_kernels, variables

# Regressions on z take autocorrelated noise for effects of z: with signs of blocks, KCI rejected 27% of autoregressions of
# coefficient -0.8 that are independent given a third, n = 200, and 12% at 0.5.
NO_SERIES_GIVEN = (
    "there is no test of series given others: add earlier rows to what is given, such as independence(x[1:], y[1:], "
    "given=np.column_stack([z[1:], x[:-1], y[:-1]])), which asks whether x and y depend on each other beyond their past"
)
_NULLS = (Gamma, Spectrum, WeightedChi2, WildBootstrap)
_MIN_ROWS = 8  # observations; fewer do not support a regression on z
_NEGLIGIBLE_SHARE = 1e-7  # of the variance of a variable, below which z explains it up to rounding


class ConditionalTest(HypothesisTest):
    """Test of x _||_ y | z by residuals of features of x and y after regression on z."""

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
                "null must be Gamma(), Spectrum(), WeightedChi2() or WildBootstrap(), because "
                f"permutations break the dependence of x and y on z, got {self.null!r}"
            )
        if isinstance(self.null, WildBootstrap) and self.null.block is None:
            raise NoRule(f"WildBootstrap(block=None) is for series, and {NO_SERIES_GIVEN}")

    @abstractmethod
    def _evidence(
        self, variables: tuple[Variable, ...], z: Any, rng: np.random.Generator
    ) -> ConditionalEvidence:
        """Residuals of x and y; `z` is the third variable as the user passed it."""

    def statistic(self, x: Any, y: Any, z: Any) -> float:
        """Squared norm of the covariance of the residuals; random features have seed 0."""
        return self._evidence(self._variables(x, y, z), z, validate.generator(SEED)).observed

    def test(self, x: Any, y: Any, z: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        observed, rng = self._variables(x, y, z), validate.generator(rng)
        evidence = self._evidence(observed, z, rng)
        if min(evidence.x.share, evidence.y.share) < _NEGLIGIBLE_SHARE:
            judgement = Judgement(1.0, np.empty(0, dtype=np.float64), evidence.observed)
        else:
            judgement = self.null.judge(evidence, rng)
        notes = _regression_notes(evidence, [v.described for v in observed])
        return independence_result(self, observed, evidence.observed, judgement, notes, given=True)

    def _variables(self, x: Any, y: Any, z: Any) -> tuple[Variable, ...]:
        kernels = (self.kernel_x, self.kernel_y, self.kernel_z)
        return tuple(v.widened() for v in variables(kernels, (x, y, z), least=_MIN_ROWS))


def _regression_notes(evidence: ConditionalEvidence, names: Sequence[str]) -> tuple[str, ...]:
    """How much z explains of x and of y, under these names, and with how many degrees of freedom."""
    x, y, z = names
    return tuple(
        f"{z} determines {name} completely: there is nothing to test."
        if residuals.share < _NEGLIGIBLE_SHARE
        else f"{z} explains {1 - residuals.share:.0%} of {name} "
        f"({residuals.smoother.degrees:.1f} effective degrees of freedom, n = {evidence.n:,})."
        for name, residuals in ((x, evidence.x), (y, evidence.y))
    )
