"""Several resampled statistics as one test: it rejects if any of them does, at its share of the level.

Statistic k rejects at level u w_k, and u is as large as the level of the whole allows. With p_kb the
share of resamples whose statistic k is at least that of resample b, min_k p_kb / w_k is the
smallest u at which resample b is rejected, and its rank among all resamples gives the p-value. (Schrab
et al. 2023 take B1 resamples for the quantiles, B2 others for the level, and B3 steps of bisection
for u; here one set serves both and u is an order statistic: the resamples are exchangeable, and so
are these ranks.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer import validate
from mercer.htest.nulls import Permutation
from mercer.htest.ties import merged

_SAME_HEIGHT = 1e-9  # standard deviations: rounding of `_standardized`, with room


class Aggregated(NamedTuple):
    """Scores of all resamples, the observed one first, and the strongest statistic."""

    scores: np.ndarray  # -log10 min_k p_k / w_k
    best: int  # the k that attains it for the observed one
    smallest: np.ndarray  # min_k p_k / w_k
    weighted: np.ndarray  # p_k / w_k of the observed one: (k,)

    def rejecting(self, level: float) -> int:
        """Number of statistics that reject at their share of the level."""
        return int(np.count_nonzero(self.weighted < self.threshold(level)))

    def threshold(self, level: float) -> float:
        """The u that the level allows: statistic k rejects if p_k / w_k is below it."""
        return float(np.sort(self.smallest)[int(level * len(self.smallest))])


def aggregated(values: np.ndarray, ties: np.ndarray, weights: np.ndarray) -> Aggregated:
    """Aggregate statistics (k, B), the first column observed, with shares `weights` of the level.

    `ties` (k,) are how far equal statistics may be apart by rounding; those are made equal, so that
    labellings that no statistic tells apart have the same score.

    Examples
    --------
    >>> values = np.array([[3.0, 1.0, 2.0, 0.0], [0.0, 2.0, 1.0, 3.0]])
    >>> found = aggregated(values, np.zeros(2), np.array([0.5, 0.5]))
    >>> found.best, int(found.scores.argmax())
    (0, 0)
    """
    levels = [merged(v, t) for v, t in zip(values, ties, strict=True)]
    values = np.stack([each.values for each in levels])
    weighted = np.stack([each.ranks for each in levels]) / (values.shape[1] * weights[:, None])
    smallest = np.min(weighted, axis=0)
    heights = np.where(weighted == smallest, _standardized(values), -np.inf)
    scores = _refined(-np.log10(smallest), heights.max(axis=0))
    return Aggregated(scores, int(np.argmax(heights[:, 0])), smallest, weighted[:, 0])


def shares(weights: Sequence[float] | None, number: int) -> np.ndarray:
    """Shares of the level: `weights` over their sum, or equal ones."""
    if weights is None:
        return np.full(number, 1 / number, dtype=np.float64)
    if len(weights) != number:
        raise ValueError(f"weights must have {number} entries, got {len(weights)}")
    return np.array(weights, dtype=np.float64) / sum(weights)


def never_early(null: object, name: str) -> None:
    """Refuse what is not a `Permutation`, or one that stops early."""
    validate.instance("null", null, Permutation, "a Permutation, such as Permutation(999)")
    if isinstance(null, Permutation) and null.stop_early:
        raise ValueError(
            f"{name} compares all permutations with each other and cannot stop early: "
            "use Permutation(..., stop_early=False)"
        )


def _standardized(values: np.ndarray) -> np.ndarray:
    """Every row less its mean, in units of its standard deviation."""
    finite = np.isfinite(values)
    number = np.count_nonzero(finite, axis=1, keepdims=True)
    known = np.where(finite, values, 0.0)
    _, sizes = np.frexp(np.max(np.abs(known), axis=1, keepdims=True))
    known, values = np.ldexp(known, -sizes), np.ldexp(values, -sizes)  # squares stay finite
    middle = known.sum(axis=1, keepdims=True) / np.maximum(number, 1)
    away = np.where(finite, known - middle, 0.0)
    unit = np.sqrt(np.einsum("kb,kb->k", away, away)[:, None] / np.maximum(number, 1))
    return (values - middle) / np.where(unit > 0, unit, 1.0)


def _refined(scores: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """The scores with ties broken by height; the added amounts are smaller than the gap to the next score.

    Twenty kernels have twenty largest statistics, all of rank one; the one that stands out most
    counts most.
    """
    steps = np.diff(np.unique(scores))
    gap = float(np.min(steps[steps > 1e-9], initial=1.0))
    below = len(heights) - merged(heights, _SAME_HEIGHT).ranks
    return scores + gap / 2 * below / len(heights)
