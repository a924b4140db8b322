"""A goodness-of-fit test aggregated over kernels: the default when nothing is chosen."""

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
from mercer.htest.goodness.ksd_statistic import SteinForms, shared_block
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import Sample, sample_of
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.kernel_collection import checked_kernels, unfolded
from mercer.htest.kernel_names import CHOSEN, LEVEL, told_apart
from mercer.htest.nulls import WildBootstrap
from mercer.kernels.bandwidth import bandwidth_grid, usable
from mercer.kernels.base import Kernel
from mercer.kernels.radial import RBF, InverseMultiquadric
from mercer.kernels.stein import Stein

NUMBER = 5  # offsets and bandwidths of the two kernels, where none are given
_LEAST = 4  # observations


@dataclass(frozen=True)
class KSDAggResult(GoodnessResult):
    """The result of `KSDAgg`, which also tells what every kernel found.

    Attributes
    ----------
    kernels : tuple of kernels
    pvalues : array (k,)
        Of the tests by each kernel alone, not corrected for their number.
    """

    kernels: tuple[Kernel, ...] = field(default=(), repr=False, compare=False, kw_only=True)
    pvalues: np.ndarray = field(repr=False, compare=False, kw_only=True)
    found: Aggregated = field(repr=False, compare=False, kw_only=True)

    def rejecting(self, level: float = 0.05) -> tuple[Kernel, ...]:
        """The kernels that reject, each at its share of the level."""
        if not self.rejects(level):
            return ()
        chosen = self.found.weighted < self.found.threshold(level)
        chosen[self.found.best] = True  # the whole test rejects by one at least
        return tuple(kernel for kernel, own in zip(self.kernels, chosen, strict=True) if own)

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        told = zip(self.kernels, self.pvalues.tolist(), strict=True)
        own = [{"kernel": repr(kernel), "pvalue": pvalue} for kernel, pvalue in told]
        return {**super().to_dict(confidence=confidence), "kernels": own}


@dataclass(frozen=True)
class KSDAgg(HypothesisTest):
    """KSDAgg: rejects if any of several KSD tests does, each at its share of the level.

    Kernel k rejects at level u w_k, and u is as large as the level of the whole allows (Schrab,
    Guedj & Gretton 2022). Nothing has to be known about the scale on which the model fails. The p-value
    is the smallest level at which the aggregated test rejects (`mercer.htest.aggregation`); all
    kernels meet the same random signs, in one pass over the pairs of observations.

    The statistic is -log10 min_k p_k / w_k; on its own it is computed with `null` signs of a fixed
    seed. Parameters of the model that were fitted to the same observations make it reject too
    rarely: use `Composite`, or hold some out for the test.

    Parameters
    ----------
    model : distribution or function
        As in `KSD`: whatever has a score.
    kernels : sequence of kernels or None
        Smooth kernels, as in `Stein`. None: InverseMultiquadric and Gaussian kernels, at five
        widths each that cover the scales of the observations: the first see tails, the second see
        more in many dimensions.
    weights : sequence of positive numbers or None
        What the kernels count, divided by their sum; None: all the same.
    null : WildBootstrap
        Random signs, of blocks for a Markov chain.

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
            Stein(kernel, model.score)  # refused here where it is not smooth enough
        validate.instance(
            "null", self.null, WildBootstrap, "a WildBootstrap, such as WildBootstrap(999)"
        )
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
            for i, weight in enumerate(self.weights):
                validate.positive(f"weights[{i}]", weight)
            shares(self.weights, len(self.weights if self.kernels is None else self.kernels))

    def statistic(self, x: Any) -> float:
        """-log10 of the smallest weighted p-value, with signs of a fixed seed."""
        return self.test(x, rng=0).statistic

    def unitless(self, x: Any) -> np.ndarray:
        """By every kernel the squared discrepancy over mean k_p(x_i, x_i), which has no unit: (k,)."""
        return SteinForms(*self._collected(x)).unitless

    def test(self, x: Any, *, rng: Any = None) -> KSDAggResult:
        """The statistic and its p-value."""
        sample, kernels = self._collected(x)
        evidence = _Evidence(SteinForms(sample, kernels), shares(self.weights, len(kernels)))
        judgement = self.null.judge(evidence, rng)
        found = evidence.found
        best = replace(sample, kernel=Stein(kernels[found.best], sample.kernel.score))
        plain = goodness_result(self, best, judgement.observed, judgement)
        held = {f.name: getattr(plain, f.name) for f in fields(plain)}
        pvalues = found.weighted * evidence.weights
        result = KSDAggResult(**held, kernels=kernels, pvalues=pvalues, found=found)
        return replace(result, notes=(*result.notes, *_told(result)))

    def _collected(self, x: Any) -> tuple[Sample, tuple[Kernel, ...]]:
        """The sample, and the kernels bound to its columns; None: a collection that fits it."""
        model = model_of(self.model)
        if self.kernels is None:
            sample = sample_of(model, None, x, _LEAST)
            return sample, collection(sample)
        sample = sample_of(model, reduce(add, self.kernels), x, _LEAST)
        return sample, unfolded(sample.kernel.kernel, len(self.kernels))


def collection(sample: Sample, number: int = NUMBER) -> tuple[Kernel, ...]:
    """Inverse multiquadric and Gaussian kernels whose widths cover the scales of the sample."""
    points = sample.points
    widths = [usable(b, points, "x") for b in bandwidth_grid(points, number)]
    return (*map(InverseMultiquadric, widths), *map(RBF, widths))


class _Evidence:
    """-log10 min_k p_k / w_k of every draw of signs."""

    found: Aggregated

    def __init__(self, forms: SteinForms, weights: np.ndarray) -> None:
        self.forms, self.weights = forms, weights

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The observed one, and those of random signs."""
        values = self.forms.signed(null, seed)  # (k, 1 + B)
        self.found = aggregated(values, self.forms.ties, self.weights)
        return float(self.found.scores[0]), self.found.scores[1:]

    def block_length(self) -> int:
        """How many observations should share a sign."""
        return shared_block(self.forms.sample)

    def tolerance(self) -> float:
        """0: statistics that are equal have the same score."""
        return 0.0


def _told(result: KSDAggResult) -> tuple[str, ...]:
    """How many kernels reject at level 0.05, and which one sees most."""
    number, rejecting = len(result.kernels), len(result.rejecting(LEVEL))
    name = told_apart(result.kernels, result.found.best)
    if number == 1:
        return (f"Kernel: {name}.",)
    if rejecting == 0:
        said = f"None of {number} kernels rejects at level {LEVEL:g}; {name} comes closest."
    else:
        verb = "rejects" if rejecting == 1 else "reject"
        said = f"{rejecting} of {number} kernels {verb} at level {LEVEL:g}, first of all {name}."
    return (said, CHOSEN)
