"""HSIC of many pairs of variables at once: each Gram matrix computed once, all under the same permutations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt, sqrt

import numpy as np

from mercer.config import settings
from mercer.gram.threads import spans
from mercer.htest.dependence.hsic_statistic import hsic_tolerance
from mercer.htest.dependence.sums.centered_gram import CenteredGram, LowRankGram
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.htest.dependence.sums.permuted_trace import cyclic_traces, permuted_trace
from mercer.htest.nulls import Permutation, share
from mercer.rkhs.measures import unbiased_hsic

_COPIES_PER_PAIR = 8  # of the values of a pair: its spectrum, terms of it, the inverse transform
_MAX_VARIABLES_PER_PASS = 16  # whose diagonals are in memory while they meet those of all others

IndexPairs = Sequence[tuple[int, int]]


def permuted_pairs(
    grams: Sequence[CenteredGram], pairs: IndexPairs, null: Permutation, seed: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The number of a pair, and tr(K~ P L~ P') / n^2 for all permutations, the identity first: (b,).

    Pairs come in an order of their own: those of two low-rank matrices first, then the others, as many
    at a time as the memory budget allows.
    """
    n = len(grams[0].diagonal)
    permutations = CyclicPermutations(n, null, seed)
    remaining = []  # pairs that are not both low-rank
    for row, (i, j) in enumerate(pairs):
        if isinstance(grams[i], LowRankGram) and isinstance(grams[j], LowRankGram):
            traces = permuted_trace(grams[i], grams[j]).cyclic(permutations)
            yield row, np.maximum(traces, 0.0) / n**2
        else:
            remaining.append(row)
    bytes_per_pair = _COPIES_PER_PAIR * 8 * n * len(permutations.coset_orders)
    pairs_per_pass = max(
        settings().memory // 2 // bytes_per_pair, 1
    )  # dense matrices have the other half
    height = min(_MAX_VARIABLES_PER_PASS, isqrt(pairs_per_pass))
    firsts = sorted({pairs[row][0] for row in remaining})
    for span in spans(len(firsts), height):
        batch = firsts[span]
        rows = [row for row in remaining if pairs[row][0] in batch]
        seconds = sorted({pairs[row][1] for row in rows})
        for other_span in spans(len(seconds), pairs_per_pass // height):
            others = seconds[other_span]
            values = cyclic_traces(
                [grams[i] for i in batch], [grams[j] for j in others], permutations
            )  # (batch, others, b)
            for row in rows:
                i, j = pairs[row]
                if j in others:
                    traces = values[batch.index(i), others.index(j)]
                    yield row, np.maximum(traces, 0.0) / n**2


def pair_pvalue(first: CenteredGram, second: CenteredGram, values: np.ndarray) -> float:
    """(1 + #{permuted >= observed}) / (1 + B) of values of which the first is the observed one."""
    return share(values[1:], float(values[0]), hsic_tolerance(first, second))


def kernel_correlations(
    grams: Sequence[CenteredGram], pairs: IndexPairs, observed: np.ndarray
) -> np.ndarray:
    """sqrt(HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y))), unbiased, from tr(K~L~) / n^2: (pairs,)."""
    variances = [_unbiased(gram.squared_norm, gram, gram) for gram in grams]
    n, correlations = len(grams[0].diagonal), []
    for (i, j), value in zip(pairs, observed, strict=True):
        unit = sqrt(max(variances[i], 0.0) * max(variances[j], 0.0))
        ratio = _unbiased(value * n**2, grams[i], grams[j]) / unit if unit > 0 else 0.0
        correlations.append(min(sqrt(max(ratio, 0.0)), 1.0))
    return np.array(correlations, dtype=np.float64)


def _unbiased(trace: float, first: CenteredGram, second: CenteredGram) -> float:
    a, b = first.diagonal, second.diagonal
    return float(unbiased_hsic(trace, float(a @ b), float(a.sum() * b.sum()), len(a)))
