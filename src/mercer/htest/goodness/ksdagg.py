"""Goodness-of-fit test aggregated over kernels; the default for up to 5,000 observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.aggregation import Aggregated, aggregated, shares
from mercer.htest.goodness.goodness_result import GoodnessResult, goodness_result
from mercer.htest.goodness.ksd_statistic import SteinForms
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import MIN_OBSERVATIONS, SteinSample, sample_of
from mercer.htest.goodness.streamed_stein import streamed_stein
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.kernel_collection import (
    CHOSEN_FOR_MODEL,
    LEVEL,
    checked_kernels,
    rejecting,
    unfolded,
)
from mercer.htest.nulls import Judgement, WildBootstrap
from mercer.kernels.bandwidth import bandwidth_grid, usable
from mercer.kernels.base import Kernel, Points
from mercer.kernels.radial import RBF, InverseMultiquadric
from mercer.kernels.stein import Stein
from mercer.row_streams import streamed

BANDWIDTHS = 5  # of each of the two default kernels; a grid over the scales of the observations


@dataclass(frozen=True)
class KSDAggResult(GoodnessResult):
    """Result of `KSDAgg`, with the p-value of each kernel.

    Attributes
    ----------
    kernels : tuple of kernels
    pvalues : array (k,)
        P-values of the tests with a single kernel, not corrected for the number of kernels.
    """

    kernels: tuple[Kernel, ...] = field(default=(), repr=False, compare=False, kw_only=True)
    pvalues: np.ndarray = field(repr=False, compare=False, kw_only=True)
    found: Aggregated = field(repr=False, compare=False, kw_only=True)

    def rejecting(self, level: float = 0.05) -> tuple[Kernel, ...]:
        """The kernels that reject, each at its share of the level."""
        if not self.rejects(level):
            return ()
        rejects = self.found.weighted < self.found.threshold(level)
        rejects[self.found.best] = True  # at least one kernel rejects if the test does
        return tuple(kernel for kernel, r in zip(self.kernels, rejects, strict=True) if r)

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """The result as a dictionary that can be written as JSON."""
        pairs = zip(self.kernels, self.pvalues.tolist(), strict=True)
        kernels = [{"kernel": repr(kernel), "pvalue": pvalue} for kernel, pvalue in pairs]
        return {**super().to_dict(confidence=confidence), "kernels": kernels}


@dataclass(frozen=True)
class KSDAgg(HypothesisTest):
    """Goodness-of-fit test that rejects if any of several KSD tests does (KSDAgg).

    The test with kernel k has level u w_k, where u is as large as the level of the aggregated test
    allows (Schrab, Guedj & Gretton 2022), so the scale on which the model fails need not be known. The
    p-value is the smallest level at which the aggregated test rejects (`mercer.htest.aggregation`);
    all kernels use the same random signs, in one pass over the pairs of observations.

    The statistic is -log10 min_k p_k / w_k; `statistic` computes it with random signs of a fixed seed.
    If the parameters of the model were fitted to the same observations, the test rejects too rarely:
    use `Composite`, or hold out observations for the test.

    Parameters
    ----------
    model : distribution or function
        Anything that has a score: see `KSD`.
    kernels : sequence of kernels or None
        Smooth kernels, as in `Stein`. None: InverseMultiquadric and Gaussian kernels at five
        bandwidths each that cover the scales of the observations. The former detect differences in
        the tails, the latter are more powerful in high dimension.
    weights : sequence of positive numbers or None
        Weights of the kernels, normalized to sum one. None: equal weights.
    null : WildBootstrap
        Random signs; for a Markov chain `WildBootstrap(block=None)`, as in `KSD`. All kernels then share the random
        mixtures of cosines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> x = np.sign(rng.normal(size=300)) + 0.1 * rng.normal(size=300)  # two narrow peaks
    >>> result = KSDAgg(Gaussian(0.0, 1.0)).test(x, rng=0)
    >>> result.rejects(0.01), len(result.rejecting(0.01)) > 1
    (True, True)
    """

    model: Any
    kernels: Sequence[Kernel] | None = None
    weights: Sequence[float] | None = field(default=None, kw_only=True)
    null: WildBootstrap = field(default=WildBootstrap(999), kw_only=True)

    def __post_init__(self) -> None:
        model = model_of(self.model)
        object.__setattr__(self, "kernels", checked_kernels(self.kernels))
        for kernel in self.kernels or ():
            Stein(kernel, model.score)  # raises if the kernel is not smooth enough
        validate.instance(
            "null", self.null, WildBootstrap, "a WildBootstrap, such as WildBootstrap(999)"
        )
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
            for i, weight in enumerate(self.weights):
                validate.positive(f"weights[{i}]", weight)
            shares(self.weights, len(self.weights if self.kernels is None else self.kernels))

    @property
    def reads_parts(self) -> bool:
        """Whether observations have a sign each: blocks of them, and series, are read into memory."""
        return self.null.block == 1

    def statistic(self, x: Any) -> float:
        """-log10 of the smallest weighted p-value, with random signs of a fixed seed."""
        return self.test(x, rng=0).statistic

    def unitless(self, x: Any) -> np.ndarray:
        """The squared discrepancy of every kernel divided by mean k_p(x_i, x_i): (k,)."""
        return self._forms(x).unitless

    def test(self, x: Any, *, rng: Any = None) -> KSDAggResult:
        """The statistic and its p-value."""
        forms = self._forms(x)
        sample, kernels = forms.sample, tuple(k.kernel for k in forms.stein_kernels)
        weights = shares(self.weights, len(kernels))
        signed, notes = forms.resampled(self.null, rng)
        tests = aggregated(signed.values, signed.tolerances, weights)
        judgement = Judgement.resampled(float(tests.scores[0]), tests.scores[1:], notes=notes)
        best = replace(sample, kernel=Stein(kernels[tests.best], sample.kernel.score))
        plain = goodness_result(self, best, judgement.observed, judgement, rows=forms.rows)
        common = {f.name: getattr(plain, f.name) for f in fields(plain)}
        pvalues = tests.weighted * weights
        result = KSDAggResult(**common, kernels=kernels, pvalues=pvalues, found=tests)
        kernel_notes = rejecting(
            kernels, tests.best, len(result.rejecting(LEVEL)), CHOSEN_FOR_MODEL
        )
        return replace(result, notes=(*result.notes, *kernel_notes))

    def _forms(self, x: Any) -> SteinForms:
        """The forms of all kernels, which are bound to the columns of the sample or chosen for it."""
        model = model_of(self.model)
        common = None if self.kernels is None else reduce(add, self.kernels)
        streams = streamed(x) if self.reads_parts else None
        if streams is not None:
            stein = streamed_stein(model, common, streams[0])
            return SteinForms(stein.sample, self._kernels(stein.sample, stein.near), stein)
        sample = sample_of(model, common, x, MIN_OBSERVATIONS)
        return SteinForms(sample, self._kernels(sample, sample.points))

    def _kernels(self, sample: SteinSample, points: Any) -> tuple[Kernel, ...]:
        """The kernels; by default they cover the scales of these points."""
        if self.kernels is None:
            return collection(points)
        return unfolded(sample.kernel.kernel, len(self.kernels))


def collection(points: Points, number: int = BANDWIDTHS) -> tuple[Kernel, ...]:
    """Inverse multiquadric and Gaussian kernels whose bandwidths cover the scales of the points."""
    bandwidths = [usable(b, points, "x") for b in bandwidth_grid(points, number)]
    return (*map(InverseMultiquadric, bandwidths), *map(RBF, bandwidths))
