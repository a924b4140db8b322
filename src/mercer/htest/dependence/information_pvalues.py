"""P-values of the mutual information of many pairs of columns, which share their null distributions.

Numbers enter by normal scores of their ranks, ties in random order, so that under independence all pairs of such columns
have one and the same distribution, whatever the law of the data: a few thousand permutations serve every pair.
A column of categories has one null distribution with all numbers, and two of them one of their own. Permutations
end when every pair has been reached often enough (Besag and Clifford 1991).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.htest.dependence.mutual_information_test import estimator_for
from mercer.htest.nulls import exceeds
from mercer.info import MixedKSG
from mercer.info.permuted_information import permuted_information
from mercer.info.random_ties import random_scores
from mercer.info.sample import Sample, read_sample

_ENOUGH = 20  # permutations that reach the estimate: the p-value is then off by a fifth
_FIRST = 100  # permutations, then twice as many
_TOLERANCE = 1e-12  # rounding of a mean of digamma functions
_GAP = 100.0  # of categories: normal scores are a few units wide
_DENSE_CELLS = (
    8  # cells of a table of two columns of categories for each row, up to which all are counted
)


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as it enters the statistic: normal scores, or the numbers of categories."""

    values: np.ndarray
    categorical: bool


def information_pvalues(
    columns: Sequence[Any],
    pairs: Sequence[tuple[int, int]],
    *,
    resamples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """P-values of the independence of pairs of columns by their mutual information, exact at any size: (pairs,)."""
    read = [_read(read_sample(column, "x"), rng) for column in columns]
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, (i, j) in enumerate(pairs):
        groups[_null_of(read, i, j)].append(place)
    pvalues = np.empty(len(pairs), dtype=np.float64)
    for places in groups.values():
        pvalues[places] = _shared([_ordered(read, *pairs[p]) for p in places], resamples, rng)
    return pvalues


def _read(sample: Sample, rng: np.random.Generator) -> _Column:
    values = to_numpy(sample.values)[:, 0]
    if sample.categorical[0]:
        return _Column(np.unique(values, return_inverse=True)[1].reshape(-1), True)
    return _Column(random_scores(values, rng), False)


def _null_of(columns: Sequence[_Column], i: int, j: int) -> tuple[int, ...]:
    """Pairs of columns with equal keys have the same distribution under independence."""
    return tuple(place for place in (i, j) if columns[place].categorical)


def _ordered(columns: Sequence[_Column], i: int, j: int) -> tuple[_Column, _Column]:
    """The two columns, categories first."""
    first, second = columns[i], columns[j]
    return (second, first) if second.categorical and not first.categorical else (first, second)


def _shared(
    pairs: Sequence[tuple[_Column, _Column]], resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """P-values of pairs of columns with one null distribution: (pairs,)."""
    n = len(pairs[0][0].values)
    identity = np.arange(n)[None, :]
    observed = np.array([_statistics(x, y, identity)[0] for x, y in pairs])

    def draw(number: int) -> np.ndarray:
        return _statistics(*pairs[0], np.array([rng.permutation(n) for _ in range(number)]))

    return _sequential(observed, draw, resamples)


def _statistics(x: _Column, y: _Column, orders: np.ndarray) -> np.ndarray:
    """Estimates of the information of x and of y in each of the orders (b, n), up to a constant: (b,)."""
    if y.categorical:
        return _counted(x.values, y.values, orders)
    rule = estimator_for(None, len(x.values))
    k = rule.k if isinstance(rule, MixedKSG) else 1
    return permuted_information(x.values * _GAP if x.categorical else x.values, y.values, orders, k)


def _counted(x: np.ndarray, y: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Sum of c log c over the cells of the table of two columns of categories, of which the margins are fixed."""
    n, width = len(x), int(y.max()) + 1
    cells = (int(x.max()) + 1) * width
    terms = np.arange(n + 1) * np.log(np.maximum(np.arange(n + 1), 1))
    sums = np.empty(len(orders), dtype=np.float64)
    for b, order in enumerate(orders):
        codes = x * width + y[order]
        few = cells <= _DENSE_CELLS * n
        counts = np.bincount(codes) if few else np.unique(codes, return_counts=True)[1]
        sums[b] = terms[counts].sum() / n
    return sums


def _sequential(
    observed: np.ndarray, draw: Callable[[int], np.ndarray], resamples: int
) -> np.ndarray:
    """P-values of statistics (k,) with one null distribution, from as few draws as they need: (k,).

    Where _ENOUGH of the first l draws reach a statistic, its p-value is _ENOUGH / l; else it is
    (1 + hits) / (1 + resamples). Both are valid together (Besag and Clifford 1991).
    """
    draws, step = np.empty(0, dtype=np.float64), _FIRST
    while len(draws) < resamples:
        draws = np.concatenate([draws, draw(min(step, resamples - len(draws)))])
        step *= 2
        if exceeds(draws, float(observed.max()), _TOLERANCE).sum() >= _ENOUGH:
            break
    return np.array([_pvalue(draws, float(value)) for value in observed])


def _pvalue(draws: np.ndarray, observed: float) -> float:
    hits = np.flatnonzero(exceeds(draws, observed, _TOLERANCE))
    if len(hits) >= _ENOUGH:
        return float(_ENOUGH / (hits[_ENOUGH - 1] + 1))
    return float((1 + len(hits)) / (1 + len(draws)))
