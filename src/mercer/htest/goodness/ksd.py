"""Goodness-of-fit test by the kernel Stein discrepancy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.goodness.goodness_result import GoodnessResult, goodness_result
from mercer.htest.goodness.ksd_statistic import SteinForms
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import MIN_OBSERVATIONS, sample_of
from mercer.htest.goodness.streamed_stein import streamed_stein
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement, WildBootstrap
from mercer.kernels.base import Kernel
from mercer.kernels.stein import Stein
from mercer.row_streams import streamed


@dataclass(frozen=True)
class KSD(HypothesisTest):
    """Goodness-of-fit test by the kernel Stein discrepancy.

    The statistic is the mean of the `Stein` kernel over all pairs of observations (Liu, Lee & Jordan
    2016; Chwialkowski, Strathmann & Gretton 2016). It needs only the score of the model, the gradient
    of its log-density: no draws and no normalizing constant. If the parameters of the model were
    fitted to the same observations, the test rejects too rarely: use `Composite`, or hold out
    observations for the test. `KSDAgg` combines kernels of several bandwidths.

    Parameters
    ----------
    model : distribution or function
        `Gaussian`, `Mixture`, `GaussBernoulliRBM`, a frozen distribution of SciPy, a fitted
        `GaussianMixture` or `KernelDensity` of scikit-learn, a `LogDensity`, `Scores` of the
        observations, any object with a method `score`, or a function that returns the gradients of
        log p at the rows of x, (n, d). For a distribution with bounded support, such as gamma or
        uniform, model, kernel and observations are transformed by log(x - low) or
        log((x - low) / (high - x)).
    kernel : Kernel or None
        A smooth kernel, as in `Stein`. None: InverseMultiquadric with the median distance as
        bandwidth, whose discrepancy also detects differences in the tails (Gorham & Mackey 2017).
    unbiased : bool
        Leave out pairs i = j, so that the statistic has mean zero under the model. The p-value is
        the same.
    null : WildBootstrap
        Random signs. For a Markov chain or another series in the order of time, `WildBootstrap(block=None)` compares the
        statistic with its values at the slowest cosines of the chain (`mercer.htest.slow_contrasts`): no block length is
        chosen, and chains that have not mixed are refused. With a `block`, so many consecutive
        observations share a sign, and the correlation of neighbours in different blocks, which random signs lose, is
        subtracted from the observed statistic.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> KSD(Gaussian([0.0, 0.0], 1.0)).test(x, rng=0).rejects()
    False
    >>> KSD(Gaussian([0.0, 0.0], [1.0, 2.0])).test(x, rng=0).rejects()
    True
    >>> KSD(lambda x: -(x**3)).test(x, rng=0).rejects()  # exp(-x^4 / 4), without its normalizing constant
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
            Stein(self.kernel, model.score)  # raises if the kernel is not smooth enough
        validate.truth("unbiased", self.unbiased)
        validate.instance(
            "null", self.null, WildBootstrap, "a WildBootstrap, such as WildBootstrap(999)"
        )

    @property
    def reads_parts(self) -> bool:
        """Whether observations have a sign each: blocks of them, and series, are read into memory."""
        return self.null.block == 1

    def statistic(self, x: Any) -> float:
        """The squared discrepancy."""
        forms = self._forms(x)
        return float(self._estimates(forms, forms.observed)[0])

    def unitless(self, x: Any) -> np.ndarray:
        """The squared discrepancy with pairs i = j, divided by mean k_p(x_i, x_i): (1,)."""
        return self._forms(x).unitless

    def test(self, x: Any, *, rng: Any = None) -> GoodnessResult:
        """The statistic and its p-value."""
        forms = self._forms(x)
        signed, notes = forms.resampled(self.null, rng)
        values = self._estimates(forms, signed.values[0])
        tolerance = float(signed.tolerances[0])
        judgement = Judgement.resampled(float(values[0]), values[1:], tolerance, notes)
        statistic = float(self._estimates(forms, signed.observed)[0])
        return goodness_result(self, forms.sample, statistic, judgement, rows=forms.rows)

    def _forms(self, x: Any) -> SteinForms:
        streams = streamed(x) if self.reads_parts else None
        if streams is not None:
            stein = streamed_stein(model_of(self.model), self.kernel, streams[0])
            return SteinForms(stein.sample, [stein.sample.kernel.kernel], stein)
        sample = sample_of(model_of(self.model), self.kernel, x, MIN_OBSERVATIONS)
        return SteinForms(sample, [sample.kernel.kernel])

    def _estimates(self, forms: SteinForms, means: np.ndarray) -> np.ndarray:
        """Statistics from means over all pairs; the unbiased one leaves out pairs i = j."""
        if not self.unbiased:
            return np.maximum(means, 0.0)
        n = forms.n
        return (n**2 * means - forms.traces[0]) / (n * (n - 1))
