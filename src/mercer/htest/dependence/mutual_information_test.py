"""Independence test by an estimate of the mutual information."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.gram.threads import in_order
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations, permutations
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.info import MixedKSG
from mercer.info.estimator import Estimator
from mercer.info.sample import Sample, read_variables
from mercer.rkhs.paired_samples import variables

_MIN_NEIGHBOURS, _MAX_NEIGHBOURS = 3, 50
_ROWS_PER_NEIGHBOUR = (
    10  # a test wants more neighbours than an estimate: less variance, and bias cancels
)
# Observations up to which an estimate takes less time than handing it to another thread: 0.1 milliseconds.
SERIAL_ROWS = 150


@dataclass(frozen=True)
class MutualInformation(HypothesisTest):
    """Independence test by the mutual information, estimated from nearest neighbours.

    The statistic is the estimate in nats, which may be negative; permutations of y give its null distribution, so
    that the bias of the estimator does not matter. Takes numbers, categories and mixtures of both. Sees any
    dependence that is strong somewhere, also on small scales; on smooth ones `HSIC` has more power.

    Parameters
    ----------
    estimator : Estimator or None
        An estimator of `mercer.info`. None: `MixedKSG` with a tenth of the observations as neighbours, 3 to 50.
    null : Permutation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=200)
    >>> MutualInformation().test(x, np.sin(3 * x) + 0.3 * rng.normal(size=200), rng=0).rejects()
    True
    """

    estimator: Estimator | None = None
    null: Null = field(default=Permutation(199), kw_only=True)

    def __post_init__(self) -> None:
        check_estimator(self.estimator)
        validate.instance("null", self.null, Null, "a null, such as Permutation(199)")

    def statistic(self, x: Any, y: Any) -> float:
        """The estimated mutual information in nats."""
        return self._evidence(x, y).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The estimate and its p-value."""
        evidence = self._evidence(x, y)
        judgement = self.null.judge(evidence, rng)
        pair = variables((None, None), (x, y))
        return independence_result(self, pair, evidence.observed, judgement)

    def _evidence(self, x: Any, y: Any) -> InformationEvidence:
        variables((None, None), (x, y))  # checks of tests: sizes, and variables that are constant
        first, second = (on_host(v) for v in read_variables((x, y), ("x", "y")))
        return InformationEvidence(first, second, estimator_for(self.estimator, len(first)))


@dataclass(frozen=True, eq=False)
class InformationEvidence:
    """The information of x and of y in the order of a permutation."""

    x: Sample
    y: Sample
    estimator: Estimator

    @cached_property
    def observed(self) -> float:
        """The estimate."""
        return self._value(np.arange(len(self.x)))

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """Estimates of permuted data; column 0 is the observed order."""
        n = len(self.x)
        if null.blocks is None:  # the permutations of HSIC, for the same seed
            orders = [*CyclicPermutations(n, null, seed).orders(columns)]
        else:
            orders = [o for block in permutations(n, null, columns, seed) for o in block]
        parallel = n > SERIAL_ROWS
        return np.array(list(in_order(self._value, orders, parallel=parallel, what="permuting")))

    def tolerance(self) -> float:
        """Rounding of a mean of digamma functions."""
        return 1e-12

    def _value(self, order: np.ndarray) -> float:
        return self.estimator.information([self.x, self.y.take(order)])


def check_estimator(estimator: object) -> None:
    """Raise unless an estimator or None."""
    if estimator is not None:
        validate.instance("estimator", estimator, Estimator, "an estimator, such as KSG(), or None")


def estimator_for(estimator: Estimator | None, n: int) -> Estimator:
    """The estimator, or nearest neighbours in a number that suits a test of n observations."""
    if estimator is not None:
        return estimator
    return MixedKSG(min(max(n // _ROWS_PER_NEIGHBOUR, _MIN_NEIGHBOURS), _MAX_NEIGHBOURS))


def on_host(sample: Sample) -> Sample:
    """A sample without weights in the memory of the host."""
    if sample.weights is not None:
        raise TypeError(
            f"{sample.name} must be a sample without weights, which cannot be permuted: use HSIC()"
        )
    return replace(sample, values=to_numpy(sample.values))
