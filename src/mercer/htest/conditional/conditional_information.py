"""Tests of conditional mutual information and of transfer entropy, by local permutations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mercer import validate
from mercer.gram.threads import in_order
from mercer.htest.conditional.local_permutation import (
    MIN_REPEATS,
    nearest_rows,
    restricted_permutation,
    within_groups,
)
from mercer.htest.conditional.resampled_test import MIN_ROWS
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.mutual_information_test import (
    SERIAL_ROWS,
    check_estimator,
    estimator_for,
    on_host,
)
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement
from mercer.info.estimator import Estimator
from mercer.info.mutual_information import transfer_variables
from mercer.info.sample import Sample, read_variables
from mercer.rkhs.paired_samples import variables

# What a summary calls the variables of a transfer entropy.
_PASTS = ("the past of source", "the present of target", "the past of target")


class _LocallyPermuted(HypothesisTest):
    """A test of I(x; y | z) whose null permutes x among observations with equal or similar z."""

    estimator: Estimator | None
    neighbours: int
    resamples: int

    def __post_init__(self) -> None:
        check_estimator(self.estimator)
        validate.whole("neighbours", self.neighbours, least=2)
        validate.whole("resamples", self.resamples)

    def _estimate(self, samples: tuple[Sample, Sample, Sample]) -> float:
        x, y, z = samples
        return estimator_for(self.estimator, len(x)).information([x, y], z)

    def _judged(
        self, samples: tuple[Sample, Sample, Sample], rng: Any
    ) -> tuple[Judgement, tuple[str, ...]]:
        """The p-value, and a note on how x was permuted."""
        x, _, z = samples
        permute, note = _local(z, int(self.neighbours))
        seeds = validate.generator(rng).integers(2**63, size=int(self.resamples))
        work, parallel = partial(self._permuted, samples, permute), len(x) > SERIAL_ROWS
        draws = [*in_order(work, seeds.tolist(), parallel=parallel, what="permuting")]
        return Judgement.resampled(self._estimate(samples), np.array(draws), 1e-12), (note,)

    def _permuted(
        self,
        samples: tuple[Sample, Sample, Sample],
        permute: Callable[[np.random.Generator], np.ndarray],
        seed: int,
    ) -> float:
        """The estimate with x permuted."""
        x, y, z = samples
        return self._estimate((x.take(permute(np.random.default_rng(seed))), y, z))


@dataclass(frozen=True)
class ConditionalMutualInformation(_LocallyPermuted):
    """Test of x and y independent given z by the conditional mutual information, estimated from neighbours.

    The statistic is the estimate of I(x; y | z) in nats. Where z takes few values, x is permuted among observations with
    the same z, and the test is exact; otherwise every observation gets the x of one of its nearest neighbours
    in z, none twice as far as possible (Runge 2018), which is approximate: z should have few columns. Takes
    numbers, categories and mixtures of both.

    Parameters
    ----------
    estimator : Estimator or None
        An estimator of `mercer.info`. None: `MixedKSG` with a tenth of the observations as neighbours, 3 to 50.
    neighbours : int
        Observations among which x is permuted where z is continuous.
    resamples : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=300)
    >>> x, y = z + rng.normal(size=300), z + rng.normal(size=300)
    >>> ConditionalMutualInformation(resamples=39).test(x, y, z, rng=0).rejects()
    False
    >>> ConditionalMutualInformation(resamples=39).test(x, y + x, z, rng=0).rejects()
    True
    """

    estimator: Estimator | None = None
    neighbours: int = field(default=8, kw_only=True)
    resamples: int = field(default=199, kw_only=True)

    def statistic(self, x: Any, y: Any, z: Any) -> float:
        """The estimated conditional mutual information in nats."""
        return self._estimate(_read(x, y, z))

    def test(self, x: Any, y: Any, z: Any, *, rng: Any = None) -> IndependenceResult:
        """The estimate and its p-value."""
        judgement, notes = self._judged(_read(x, y, z), rng)
        three = variables((None, None, None), (x, y, z), least=MIN_ROWS)
        return independence_result(self, three, judgement.observed, judgement, notes, given=True)


@dataclass(frozen=True)
class TransferEntropy(_LocallyPermuted):
    """Test of whether the past of one series tells of the present of another, beyond the past of that.

    The statistic is the transfer entropy I(target_t; source past | target past) in nats (Schreiber 2000). Under
    the null hypothesis the past of the source is permuted among times with a similar past of the target, which
    keeps how the two pasts depend on each other; approximate, for few lags.

    Parameters
    ----------
    estimator : Estimator or None
        As in `ConditionalMutualInformation`.
    lags : int, or tuple of int
        The steps back that make up the past: 1, ..., lags, or the lags named.
    neighbours : int
    resamples : int

    Examples
    --------
    >>> source, noise = np.random.default_rng(0).normal(size=(2, 300))
    >>> target = np.concatenate([[0.0], source[:-1]]) + noise
    >>> TransferEntropy(resamples=39).test(source, target, rng=0).rejects()
    True
    """

    estimator: Estimator | None = None
    lags: int | tuple[int, ...] = field(default=1, kw_only=True)
    neighbours: int = field(default=8, kw_only=True)
    resamples: int = field(default=199, kw_only=True)

    def statistic(self, source: Any, target: Any) -> float:
        """The estimated transfer entropy in nats."""
        return self._estimate(self._embedded(source, target))

    def test(self, source: Any, target: Any, *, rng: Any = None) -> IndependenceResult:
        """The estimate and its p-value."""
        samples = self._embedded(source, target)
        judgement, notes = self._judged(samples, rng)
        three = variables((None, None, None), [s.values for s in samples], least=MIN_ROWS)
        named = tuple(replace(v, name=name) for v, name in zip(three, _PASTS, strict=True))
        return independence_result(self, named, judgement.observed, judgement, notes, given=True)

    def _embedded(self, source: Any, target: Any) -> tuple[Sample, Sample, Sample]:
        (now, past), condition = transfer_variables(source, target, self.lags)
        if len(now) < MIN_ROWS:
            raise ValueError(
                f"source and target need at least {MIN_ROWS} observations after the lags, got {len(now)}"
            )
        return on_host(past), on_host(now), on_host(condition)


def _read(x: Any, y: Any, z: Any) -> tuple[Sample, Sample, Sample]:
    variables((None, None, None), (x, y, z), least=MIN_ROWS)  # the checks of tests
    first, second, third = (on_host(s) for s in read_variables((x, y, z), ("x", "y", "z")))
    return first, second, third


def _local(z: Sample, neighbours: int) -> tuple[Any, str]:
    """How x is permuted given z, and what is noted about it."""
    groups = z.codes()
    distinct = int(groups.max()) + 1
    if len(groups) >= MIN_REPEATS * distinct:
        note = f"x is permuted among observations with the same z, which has {distinct:,} values."
        return partial(within_groups, groups), note
    deviations = z.values.std(axis=0)
    units = np.where(deviations > 0, deviations, 1.0)
    # observations of other categories are farther than all of the same
    units = np.where(np.array(z.categorical), 1e-6, units)
    near = nearest_rows(z.values / units, min(neighbours, len(groups)))
    note = (
        f"x is permuted among {near.shape[1]} nearest neighbours in z: the p-value is approximate."
    )
    return partial(restricted_permutation, near), note
