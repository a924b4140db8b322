"""Base class of conditional tests whose null redraws x given z."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.conditional.feature_ridge import (
    FEATURES,
    CholeskyFeatures,
    Regressors,
    noise_of,
    on_host,
    product_statistic,
    regressors,
    residuals,
)
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable, check_kernels, variables

WEIGHTS = (
    10  # features of z that weight products, beside a constant one: dependence that changes with z
)
MIN_ROWS = 8  # observations; fewer do not support a regression on z
_SEED = 0  # makes `statistic`, which has no rng, deterministic

Redraw = Callable[
    [np.random.Generator], np.ndarray
]  # -> features of x that are drawn given z: (n, p)


@dataclass(frozen=True, eq=False)
class GivenZ:
    """Three variables, with features of x, residuals of y, regressors of z and weights."""

    variables: tuple[Variable, ...]
    x: CholeskyFeatures
    y: np.ndarray  # residuals of the features of y given z, (n, q)
    z: Regressors
    weights: np.ndarray  # a constant, and features of z: (n, w)

    @classmethod
    def of(cls, observed: tuple[Variable, ...], noise: tuple[bool, bool]) -> GivenZ:
        """`noise`: whether x and y are replaced by what their regressions on z leave of them."""
        x, y, z = observed
        on_z = regressors(z)
        centred = CholeskyFeatures.of(z, WEIGHTS).values
        weights = np.column_stack([np.ones(len(centred)), centred - centred.mean(axis=0)])
        y = noise_of(y, on_z) if noise[1] else y
        outcome = residuals(on_z, CholeskyFeatures.of(y, FEATURES).values)
        x = noise_of(x, on_z) if noise[0] else x
        return cls(observed, CholeskyFeatures.of(x, FEATURES), outcome, on_z, weights)


class ResampledGivenZ(HypothesisTest):
    """Test of x _||_ y | z that compares T(x) with T of x redrawn given z."""

    kernel_x: Kernel | None
    kernel_y: Kernel | None
    kernel_z: Kernel | None
    resamples: int

    def __post_init__(self) -> None:
        check_kernels(kernel_x=self.kernel_x, kernel_y=self.kernel_y, kernel_z=self.kernel_z)
        validate.whole("resamples", self.resamples)

    @abstractmethod
    def _redraw(self, given: GivenZ) -> tuple[np.ndarray, Redraw, tuple[str, ...]]:
        """Features of x (n, p), how to draw them again given z, and notes."""

    def statistic(self, x: Any, y: Any, z: Any) -> float:
        """Squared norm of the mean product of the features; draws have seed 0."""
        return self.test(x, y, z, rng=_SEED).statistic

    def test(self, x: Any, y: Any, z: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        rng = validate.generator(rng)
        given = self._given(x, y, z)
        values, redraw, notes = self._redraw(given)
        seeds = [int(s) for s in rng.integers(2**63, size=self.resamples)]
        # The mean over x and all its draws is the same whichever of them is the observed one, so that
        # subtracting it leaves the test as exact as it was.
        centre = values.copy()
        for seed in seeds:
            centre += redraw(np.random.default_rng(seed))
        centre /= len(seeds) + 1
        observed = product_statistic(values - centre, given.y, given.weights)
        draws = [
            product_statistic(redraw(np.random.default_rng(s)) - centre, given.y, given.weights)
            for s in seeds
        ]
        judgement = Judgement.resampled(observed, np.array(draws, dtype=np.float64))
        return independence_result(self, given.variables, observed, judgement, notes, given=True)

    def _given(self, x: Any, y: Any, z: Any) -> GivenZ:
        """Features and residuals; kernels that were given are those of the variables themselves."""
        noise = (self.kernel_x is None, self.kernel_y is None)
        return GivenZ.of(self._variables(x, y, z), noise)

    def _variables(self, x: Any, y: Any, z: Any) -> tuple[Variable, ...]:
        kernels = (self.kernel_x, self.kernel_y, self.kernel_z)
        return tuple(on_host(v) for v in variables(kernels, (x, y, z), least=MIN_ROWS))
