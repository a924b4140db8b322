"""Several resampled statistics as one test: it rejects if any of them does, at its share of the level.

Statistic k rejects at level u w_k, and u is as large as the level of the whole allows. With p_kb the
share of resamples whose statistic k is at least that of resample b, min_k p_kb / w_k is the
smallest u at which resample b is rejected, and its rank among all resamples gives the p-value. (Schrab
et al. 2023 take B1 resamples for the quantiles, B2 others for the level, and B3 steps of bisection
for u; here one set serves both and u is an order statistic: the resamples are exchangeable, and so
are these ranks.)

Statistics of a default test come in blocks (`aggregated_blocks`): linear ones, those of second order, and
those of all scales. The score is the weighted mean of 1 / p over the blocks, whose reciprocal is the
harmonic mean of p-values (Wilson 2019), again with a permutation null: a block of one statistic can so
have most of the level, which a share of 1 / 100 beside 99 others would not leave to it, and blocks that
agree support each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer import validate
from mercer.htest.nulls import Permutation
from mercer.htest.ties import merged

_TAIL = 0.1, 0.02  # shares of resamples between which the slope of the tail is taken
_MAX_EVIDENCE = 1e9  # digits: statistics may be infinite, and differences of logarithms must not
_SAME_EVIDENCE = 1e-9  # digits: rounding of logarithms, with room
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


class AggregatedBlocks(NamedTuple):
    """Scores of all resamples over several blocks of statistics, and the strongest statistic."""

    scores: np.ndarray  # log10 sum_b w_b / p_b: (B,)
    best: int  # the strongest statistic of the strongest block, for the observed resample
    evidence: tuple[np.ndarray, ...]  # -log10 p_k of the statistics of each block, observed
    blocks: np.ndarray  # log10 mean_k 1 / p_k of every block and resample: (blocks, B)
    weighted: np.ndarray  # log10 w_b / p_b: (blocks, B)

    def rejecting(self, level: float) -> int:
        """Number of statistics that would reject with the weight of their block, without the others."""
        threshold = np.sort(self.scores)[::-1][int(level * len(self.scores))]
        limits = (
            np.max(block[weighted <= threshold], initial=-np.inf)
            for block, weighted in zip(self.blocks, self.weighted, strict=True)
        )
        each = zip(self.evidence, limits, strict=True)
        return sum(int(np.count_nonzero(evidence > limit)) for evidence, limit in each)


def aggregated_blocks(
    values: np.ndarray, ties: np.ndarray, sizes: Sequence[int], weights: np.ndarray
) -> AggregatedBlocks:
    """Aggregate blocks of consecutive statistics (k, B), the first column observed.

    `sizes` are the numbers of statistics of the blocks, `weights` the shares of the blocks; inside a
    block all statistics have the same share. p_k are the p-values of `tail_evidence`, and p_b those of
    mean_k 1 / p_k. Every score is the same function of all resamples, so that the level is exact as in
    `aggregated`.
    """
    each = np.split(tail_evidence(values, ties), np.cumsum(sizes)[:-1])
    blocks = np.stack([_log_mean(e, shares(None, len(e))) for e in each])
    evidence = tail_evidence(blocks, np.full(len(blocks), _SAME_EVIDENCE))
    weighted = evidence + np.log10(weights)[:, None]
    strongest = int(np.argmax(weighted[:, 0]))
    best = sum(sizes[:strongest]) + int(np.argmax(each[strongest][:, 0]))
    observed = tuple(block[:, 0] for block in each)
    return AggregatedBlocks(_log_mean(evidence, weights), best, observed, blocks, weighted)


def _log_mean(exponents: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """log10 sum_k w_k 10^e_k, for columns of exponents of any size."""
    top = exponents.max(axis=0)
    return top + np.log10(weights @ 10.0 ** (exponents - top))


def tail_evidence(values: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """-log10 of the p-values of statistics (k, B) among the resamples of their row.

    Shares of resamples, and beyond the upper tenth an exponential tail through the upper tenth and
    fiftieth, as sums of squares have: shares alone would not tell a statistic that is far above all
    others from one that is just above them. Where too many resamples are equal, shares are all.
    """
    number = values.shape[1]
    low, high = (int(share * number) for share in _TAIL)
    levels = [merged(row, tie) for row, tie in zip(values, ties, strict=True)]
    values, ranks = (np.stack([level[i] for level in levels]) for i in range(2))
    evidence = -np.log10(ranks / number)
    ends = np.partition(values, (number - 1 - low, number - 1 - high), axis=1)
    start, stop = ends[:, number - 1 - low, None], ends[:, number - 1 - high, None]
    with np.errstate(invalid="ignore"):  # infinite statistics
        gap = stop - start
        beyond = (values > start) & (gap > 0) & np.isfinite(gap)
        slope = np.log10((low + 1) / (high + 1)) / np.where(gap > 0, gap, 1.0)
        tail = (values - start) * slope - np.log10((low + 1) / number)
    return np.minimum(np.where(beyond, tail, evidence), _MAX_EVIDENCE)


def aggregated_by_order(
    values: np.ndarray, ties: np.ndarray, sizes: Sequence[int], weights: Sequence[float]
) -> AggregatedBlocks:
    """Aggregate the statistics of a default test: linear ones, others of low order, and those of all scales.

    `sizes` are the numbers of statistics of the three blocks, which may be 0, and `weights` their shares.
    """
    used = np.array(sizes) > 0
    of_blocks = shares(np.array(weights)[used], int(np.count_nonzero(used)))
    return aggregated_blocks(values, ties, [size for size in sizes if size], of_blocks)


def shares(weights: Sequence[float] | np.ndarray | None, number: int) -> np.ndarray:
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
