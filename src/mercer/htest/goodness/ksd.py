"""Does a model fit? By the kernel Stein discrepancy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.goodness.goodness_result import GoodnessResult, goodness_result
from mercer.htest.goodness.ksd_statistic import SteinEvidence
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import Sample, sample_of
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import WildBootstrap
from mercer.kernels.base import Kernel
from mercer.kernels.stein import Stein

_LEAST = 4  # observations


@dataclass(frozen=True)
class KSD(HypothesisTest):
    """Do observations come from a model? By the kernel Stein discrepancy.

    The mean of the `Stein` kernel over all pairs (Liu, Lee & Jordan 2016; Chwialkowski, Strathmann
    & Gretton 2016). It needs the score of the model alone, the gradient of its log-density: neither
    draws nor the normaliser. Parameters that were fitted to the same observations make it reject
    too rarely: use `Composite`, or hold some out for the test. `KSDAgg` looks through kernels of
    several widths.

    Parameters
    ----------
    model : distribution or function
        `Gaussian`, `Mixture`, `GaussBernoulliRBM`, a frozen distribution of SciPy, a fitted
        `GaussianMixture` or `KernelDensity` of scikit-learn, a `LogDensity`, `Scores` of the
        observations, any object with a method `score`, or a function that gives the gradients of log p
        at the rows of x, (n, d). Where a distribution has borders, as gamma and uniform, its
        coordinates log(x - low) or log((x - low) / (high - x)) are compared, by the kernel too.
    kernel : Kernel or None
        A smooth one, as in `Stein`. None: InverseMultiquadric at the median distance, whose
        discrepancy sees tails too (Gorham & Mackey 2017).
    unbiased : bool
        Leave out pairs i = j, so that the statistic is zero on average under the model. The
        p-value is the same.
    null : WildBootstrap
        Random signs. For a Markov chain with `block`, of observations that share a sign: the
        number, or None for one that is chosen by autocorrelations. What neighbours on both sides of
        a border of blocks have in common, which signs lose, is subtracted before the comparison.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> KSD(Gaussian([0.0, 0.0], 1.0)).test(x, rng=0).rejects()
    False
    >>> KSD(Gaussian([0.0, 0.0], [1.0, 2.0])).test(x, rng=0).rejects()
    True
    >>> KSD(lambda x: -(x**3)).test(x, rng=0).rejects()  # exp(-x^4 / 4), whatever its normaliser
    True
    """

    model: Any
    kernel: Kernel | None = None
    unbiased: bool = field(default=False, kw_only=True)
    null: WildBootstrap = field(default=WildBootstrap(999), kw_only=True)

    def __post_init__(self) -> None:
        model = model_of(self.model)
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
            Stein(self.kernel, model.score)  # refused here where it is not smooth enough
        validate.truth("unbiased", self.unbiased)
        validate.instance(
            "null", self.null, WildBootstrap, "a WildBootstrap, such as WildBootstrap(999)"
        )

    def statistic(self, x: Any) -> float:
        """The squared discrepancy."""
        return SteinEvidence(self._sample(x), self.unbiased).observed

    def unitless(self, x: Any) -> np.ndarray:
        """The squared discrepancy, i = j included, over mean k_p(x_i, x_i), which has no unit: (1,)."""
        return SteinEvidence(self._sample(x)).forms.unitless

    def test(self, x: Any, *, rng: Any = None) -> GoodnessResult:
        """The statistic and its p-value."""
        sample = self._sample(x)
        evidence = SteinEvidence(sample, self.unbiased)
        judgement = self.null.judge(evidence, rng)
        return goodness_result(self, sample, evidence.observed, judgement)

    def _sample(self, x: Any) -> Sample:
        return sample_of(model_of(self.model), self.kernel, x, _LEAST)
