"""Kernels on sets and on rankings equal their definitions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    RBF,
    BestMatch,
    Convolution,
    Dice,
    Jaccard,
    Kendall,
    Mallows,
    SetIntersection,
    Spearman,
    Spectrum,
    WeightedJaccard,
)
from mercer.rkhs import MeanMap

SETS = [set(), {1, 2}, {2.0, 3, "a"}, frozenset({3, "a", ("b", 1)}), [1, 1, 2], (True,), set()]
WEIGHTS = {"a": 3.0, 2: 0.5}
weight = lambda s: sum(WEIGHTS.get(e, 1.0) for e in s)  # noqa: E731


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (SetIntersection(), lambda a, b: len(a & b)),
        (Jaccard(), lambda a, b: len(a & b) / len(a | b) if a | b else 1.0),
        (Dice(), lambda a, b: 2 * len(a & b) / (len(a) + len(b)) if a | b else 1.0),
        (WeightedJaccard(WEIGHTS), lambda a, b: weight(a & b) / weight(a | b) if a | b else 1.0),
    ],
    ids=["intersection", "jaccard", "dice", "weighted"],
)
def test_set_kernels(kernel, formula):
    sets = [set(s) for s in SETS]
    expected = [[formula(a, b) for b in sets] for a in sets]
    assert_allclose(kernel(SETS), expected, rtol=1e-14)
    assert_allclose(kernel(SETS[:2], SETS[2:]), np.array(expected)[:2, 2:], rtol=1e-14)


def test_element_names_and_refusals():
    table = Jaccard().features(SETS)
    names = Jaccard().describe([set(s) for s in SETS], table.vocabulary)
    assert sorted(names) == sorted(["1", "2", "3", "a", "('b', 1)"])
    for wrong, words in (
        (["text"], "must hold sets"),
        ([{None}], "numbers, text or tuples"),
        ([[[1]]], "not hashable"),
        ([{float("nan")}], "NaN"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            Jaccard()(wrong)
    with pytest.raises(ValueError, match="positive"):
        WeightedJaccard({"a": -1.0})


def test_sums_and_best_matches_over_elements():
    rng, k = np.random.default_rng(0), RBF(1.0)
    bags = [rng.normal(size=(n, 2)) for n in (3, 1, 0, 5, 2)]
    zero = np.zeros((1, 1))
    values = [[k(a, b) if len(a) and len(b) else zero for b in bags] for a in bags]
    sums = [[v.sum() for v in row] for row in values]
    best = [[(v.max(0).mean() + v.max(1).mean()) / 2 for v in row] for row in values]
    assert_allclose(Convolution(k)(bags), sums, rtol=1e-13)
    assert_allclose(BestMatch(k)(bags), best, rtol=1e-13)
    assert_allclose(BestMatch(k)(bags[:2], bags[1:]), np.array(best)[:2, 1:], rtol=1e-13)
    full = [b for b in bags if len(b)]
    sizes = np.array([len(b) for b in full])
    assert_allclose(Convolution(k)(full), MeanMap(k)(full) * np.outer(sizes, sizes), rtol=1e-12)
    texts = [["ab", "abc"], [], ["bc"]]
    assert_allclose(Convolution(Spectrum(2))(texts, [["ab"]])[:, 0], [2, 0, 0])


def completions(ranks):
    """All orders of the items that agree with a partial ranking."""
    n = len(ranks)
    given = [(i, j) for i in range(n) for j in range(n) if ranks[i] < ranks[j]]
    orders = map(np.array, permutations(range(n)))
    return [p for p in orders if all(p[i] < p[j] for i, j in given)]


def tau(p, q):
    i, j = np.triu_indices(len(p), 1)
    return float(np.mean(np.sign(p[i] - p[j]) * np.sign(q[i] - q[j])))


def rho(p, q):
    return 1 - 6 * float(np.sum((p - q) ** 2)) / (len(p) * (len(p) ** 2 - 1))


@pytest.mark.parametrize(("kernel", "formula"), [(Kendall(), tau), (Spearman(), rho)])
def test_partial_rankings_are_averaged_over_completions(kernel, formula):
    nan = np.nan
    partial = [
        [1, 2, 3, 4], [1, 3, 2, 4], [4, nan, 1, 2], [1, 1, 2, 2], [nan, 5, nan, 1], [1, 1, nan, 2],
        [nan] * 4,
    ]  # fmt: skip
    orders = [completions(r) for r in partial]
    expected = [[np.mean([formula(p, q) for p in a for q in b]) for b in orders] for a in orders]
    assert_allclose(kernel(partial), expected, rtol=0, atol=1e-12)


def test_mallows_counts_discordant_pairs():
    p = np.random.default_rng(0).permuted(np.tile(np.arange(6), (9, 1)), axis=1)
    i, j = np.triu_indices(6, 1)
    discordant = [[np.sum((a[i] - a[j]) * (b[i] - b[j]) < 0) for b in p] for a in p]
    assert_allclose(Mallows(0.3)(p), np.exp(-0.3 * np.array(discordant)), rtol=1e-13)
    with pytest.raises(ValueError, match="Kendall"):
        Mallows(0.3)([[1, np.nan]])
    with pytest.raises(ValueError, match="columns|dimension"):
        Kendall()(p, p[:, :4])
