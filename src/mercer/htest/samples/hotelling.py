"""Hotelling's T^2 test of two means, the classical baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.config import settings
from mercer.htest.evidence import provides
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.named_law import NamedLaw
from mercer.htest.nulls import Judgement, Null, Permutation
from mercer.htest.samples.mean_difference import inverse_of_correlation, moments_of_both, whitening
from mercer.htest.samples.pooled_sample import Pooled, labellings, pool, within
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.kernels.dot import Linear

_MEANS = Linear()  # the kernel that sees means only


@runtime_checkable
class FDistributed(Protocol):
    """Evidence with an F distribution under the null hypothesis, for `FisherF`."""

    def f_ratio(self) -> tuple[float, tuple[int, int]]:
        """The observed ratio and its degrees of freedom."""
        ...


@dataclass(frozen=True)
class FisherF(Null):
    """F distribution; its degrees of freedom come from the test."""

    def judge(self, evidence: FDistributed, rng: Any = None) -> Judgement:
        """Survival function of the F distribution at the observed ratio."""
        if not provides(evidence, FDistributed):
            raise self._lacking("F distribution")
        ratio, (first, second) = evidence.f_ratio()
        law, observed = NamedLaw("f", (first, second)), float(ratio)
        return Judgement.by_tail(law.sf(observed), observed, law)


@dataclass(frozen=True)
class Hotelling(HypothesisTest):
    """Hotelling's T^2 test of equal means, the t test in several dimensions.

    T^2 = nm/(n + m) delta' S^-1 delta with the pooled covariance S. For Gaussian data of one
    covariance (N - p - 1) / (p (N - 2)) T^2 has an F distribution with p and N - p - 1 degrees of
    freedom, N = n + m. It is blind to everything but the means. Columns that depend linearly on
    others are left out; more dimensions than points are refused.

    Parameters
    ----------
    null : FisherF or Permutation
        Permutations make no assumption on the distribution.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(60, 3)), rng.normal(0.7, 1.0, size=(40, 3))
    >>> Hotelling().test(x, y).rejects()
    True
    """

    null: Null = field(default=FisherF(), kw_only=True)

    def __post_init__(self) -> None:
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:
        """T^2."""
        return HotellingEvidence(pool(_MEANS, x, y)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its p-value."""
        evidence = HotellingEvidence(pool(_MEANS, x, y))
        judgement = self.null.judge(evidence, rng)
        return two_sample_result(self, evidence.pooled, evidence.observed, judgement)

    def verdict(self, rejected: bool) -> str:
        """Verdict in words, about means only."""
        return "The means differ" if rejected else "No difference of the means was found"


class HotellingEvidence:
    """T^2 from points whose covariance over the pooled sample is the identity.

    Then the share of the total scatter that lies between the samples is
    t = nm/N^2 |delta|^2, and T^2 = (N - 2) t / (1 - t).
    """

    def __init__(self, pooled: Pooled) -> None:
        if pooled.weights is not None:
            raise TypeError(
                "Hotelling takes no weighted samples: use ME(Linear(), locations=...) or MMD(Linear())"
            )
        self.pooled, total = pooled, pooled.n + pooled.m
        points = to_numpy(pooled.points).astype(np.float64, copy=False)
        both = moments_of_both(points[: pooled.n], points[pooled.n :])
        inverted = inverse_of_correlation(both.within, sqrt(total) * self._rounding)
        if inverted is None:
            combinations = both.delta @ self.whitening
            rank, self.observed = (
                len(combinations),
                float(self._values(combinations @ combinations)),
            )
        else:
            units = both.delta / inverted[0]
            factor = (total - 2) * pooled.n * pooled.m / total
            rank, self.observed = len(units), factor * float(units @ inverted[1] @ units)
        if total - rank - 1 < 1:
            raise ValueError(
                f"Hotelling needs more points than dimensions: got {total} points in {rank} "
                "dimensions: use MMD(), or leave columns out"
            )
        self.f_degrees = (max(rank, 1), total - rank - 1)  # where nothing varies T^2 is 0

    @cached_property
    def centred(self) -> np.ndarray:
        """The points less their mean: (n + m, d)."""
        points = to_numpy(self.pooled.points).astype(np.float64, copy=False)
        return points - np.full(len(points), 1 / len(points)) @ points

    @cached_property
    def whitening(self) -> np.ndarray:
        """Combinations of the columns that are uncorrelated and of variance one: (d, r)."""
        return whitening(self.centred.T @ self.centred / len(self.centred), self._rounding)

    @property
    def _rounding(self) -> Any:
        """Deviations that may be rounding: of points that were moved by their origin."""
        origin = self.pooled.origin
        return 0.0 if origin is None else 4 * np.finfo(np.float64).eps * np.abs(to_numpy(origin))

    @cached_property
    def points(self) -> np.ndarray:
        """Points whose covariance over the pooled sample is the identity: (n + m, r)."""
        return self.centred @ self.whitening

    def f_ratio(self) -> tuple[float, tuple[int, int]]:
        """T^2 on the scale of an F distribution, and its degrees of freedom."""
        rank, residual = self.f_degrees
        total = self.pooled.n + self.pooled.m
        return self.observed * residual / (rank * (total - 2)), self.f_degrees

    def tolerance(self) -> float:
        """0: labellings are not compared beyond the rounding of float64."""
        return 0.0

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """T^2 of some labellings."""
        n, m = self.pooled.n, self.pooled.m
        labels = labellings(n, m, null, seed)
        parts = []
        for chunk in within(columns, labels.chunks(settings().memory // 4)):
            # the points add up to zero, so that the sums of the samples are opposite
            sums = labels.columns(chunk, self.points[:0]).project(self.points.T) / 2  # (r, B)
            parts.append(self._values(np.sum(sums**2, axis=0) * (1 / n + 1 / m) ** 2))
        return np.concatenate(parts)

    def _values(self, squared: Any) -> Any:
        """T^2 from |delta|^2."""
        n, m = self.pooled.n, self.pooled.m
        total = n + m
        between = np.minimum(n * m / total**2 * squared, 1 - 1e-15)
        return (total - 2) * between / (1 - between)
