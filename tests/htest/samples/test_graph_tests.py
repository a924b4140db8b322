"""Tests by trees, pairs, orthants and lines: statistics and null distributions by brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

import mercer
from mercer.errors import MemoryBudgetError
from mercer.htest import CrossMatch, Kolmogorov, Normal, Permutation, SpanningTreeTest, Wasserstein
from mercer.htest.samples.crossmatch import CrossCounts, _nearest_pairs
from mercer.htest.samples.friedman_rafsky import EdgeEvidence
from mercer.htest.samples.nonbipartite_matching import matched_pairs
from mercer.info import kolmogorov, sliced_wasserstein, wasserstein
from mercer.info.minimum_spanning_tree import spanning_trees
from mercer.rkhs import Empirical

rng = np.random.default_rng(5)
X, Y = rng.normal(size=(40, 3)), rng.normal(0.4, 1.2, size=(30, 3))


def shortest(distances, points):
    """The smallest sum over all matchings, by recursion."""
    if not points:
        return 0.0
    first, others = points[0], points[1:]
    return min(
        distances[first, k] + shortest(distances, [p for p in others if p != k]) for k in others
    )


@pytest.mark.parametrize("d", [1, 2, 5])
def test_matchings_are_the_shortest(d):
    for n in (4, 6, 8):
        points = rng.normal(size=(n, d))
        distances = cdist(points, points)
        pairs = matched_pairs(distances)
        assert sorted(pairs.ravel().tolist()) == list(range(n))
        total = distances[pairs[:, 0], pairs[:, 1]].sum()
        assert_allclose(total, shortest(distances, list(range(n))), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 6, 7, 8, 9])
def test_pairs_on_the_line_are_the_shortest(n):
    """Of an odd number of points, one is near to all: it stands for being left out."""
    for seed in range(20):
        points = np.random.default_rng([seed, n]).normal(size=(n, 1))
        distances = np.pad(cdist(points, points), (0, n % 2))
        pairs = _nearest_pairs(points)
        assert len(set(pairs.ravel().tolist())) == n - n % 2
        total = distances[pairs[:, 0], pairs[:, 1]].sum()
        assert_allclose(total, shortest(distances, list(range(n + n % 2))), rtol=1e-9)


def test_many_points_on_the_line_need_no_matrix():
    x, y = rng.normal(size=30_000), rng.normal(0.5, 1.0, size=30_001)
    with mercer.config(memory=2**24):
        assert CrossMatch().test(x, y, rng=0).rejects()


def test_far_triangles_need_odd_sets():
    """Two triangles: one long edge joins them, though fractions of 1/2 within would be shorter."""
    points = np.array([[0.0, 0], [1, 0], [0.5, 0.8], [30, 0], [31, 0], [30.5, 0.8]])
    distances = cdist(points, points)
    pairs = matched_pairs(distances)
    assert_allclose(
        distances[pairs[:, 0], pairs[:, 1]].sum(), shortest(distances, list(range(6))), rtol=1e-9
    )


def test_the_exact_null_of_crossmatch_is_that_of_all_labellings():
    n, m = 5, 3
    counts = np.zeros(4)
    for first in combinations(range(8), n):
        chosen = np.isin(np.arange(8), first).reshape(4, 2)
        counts[np.count_nonzero(chosen[:, 0] != chosen[:, 1])] += 1
    counts /= counts.sum()
    law = CrossCounts(n, m, 1)
    assert_allclose([law.probability(a) for a in (1, 3)], counts[[1, 3]], rtol=1e-12)
    assert_allclose(law.tail(), counts[1], rtol=1e-12)
    mean = counts @ np.arange(4)
    assert_allclose(law.mean, mean, rtol=1e-12)
    deviation = np.sqrt(counts @ (np.arange(4) - mean) ** 2)
    assert_allclose(law.standardized, (mean - 1) / deviation, rtol=1e-12)


def test_pvalues_of_crossmatch_are_at_most_one():
    """Sums of all probabilities are rounded."""
    tails = [CrossCounts(n, m, min(n, m)).tail() for n in range(2, 12) for m in range(n, 12, 2)]
    assert max(tails) <= 1
    assert_allclose(tails, 1, rtol=1e-12)


def test_crossmatch_leaves_one_of_an_odd_number_out():
    result = CrossMatch().test(X, Y[:-1])
    assert "of 34 pairs of nearest observations join both samples" in result.notes[0]
    with mercer.config(memory=2**24), pytest.raises(MemoryBudgetError, match="SpanningTreeTest"):
        CrossMatch().test(rng.normal(size=(400, 2)), rng.normal(size=(300, 2)))


def test_trees_are_those_of_scipy_and_disjoint():
    distances = cdist(X, X)
    edges = spanning_trees(X, 2)
    lengths = distances[edges[:, 0], edges[:, 1]]
    assert_allclose(lengths[:39].sum(), minimum_spanning_tree(distances).sum(), rtol=1e-12)
    assert len({frozenset(e) for e in edges.tolist()}) == 78
    for i, j in edges[:39]:
        distances[i, j] = distances[j, i] = 0  # no edge
    assert_allclose(lengths[39:].sum(), minimum_spanning_tree(distances).sum(), rtol=1e-12)


def test_moments_of_joining_edges_are_those_over_all_labellings():
    edges = spanning_trees(X[:9], 2)
    evidence = EdgeEvidence(edges, 4, 5)
    labels = np.array([np.isin(np.arange(9), c) for c in combinations(range(9), 4)]).T
    values = evidence.values(labels.astype(float))
    assert_allclose(values.mean(), 0, atol=1e-12)
    assert_allclose(values.std(), evidence.deviation, rtol=1e-12)
    exact = SpanningTreeTest(null=Permutation(1999)).test(X, Y, rng=0).pvalue
    assert abs(SpanningTreeTest(null=Normal()).test(X, Y).pvalue - exact) < 0.05


def test_statistics_are_the_metrics_of_info():
    assert_allclose(Kolmogorov().statistic(X, Y), kolmogorov(X, Y, observed=True), atol=1e-12)
    line = Kolmogorov().statistic(X[:, 0], Y[:, 0])
    assert_allclose(line, stats.ks_2samp(X[:, 0], Y[:, 0]).statistic, atol=1e-12)
    assert_allclose(Wasserstein().statistic(X[:, 0], Y[:, 0]), wasserstein(X[:, 0], Y[:, 0]))
    lines = np.random.default_rng(0).standard_normal((50, 3))
    expected = sliced_wasserstein(X, Y, 1, projections=lines)
    assert_allclose(Wasserstein().statistic(X, Y), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "test", [Kolmogorov(), Wasserstein(projections=50), SpanningTreeTest()], ids=repr
)
def test_permuted_statistics_are_those_of_permuted_samples(test):
    both = np.vstack([X, Y])
    result = test.test(X, Y, rng=3)
    null = [
        test.statistic(both[order[:40]], both[order[40:]])
        for order in (rng.permutation(70) for _ in range(200))
    ]
    assert stats.ks_2samp(null, result.null).pvalue > 1e-4


def test_columns_of_frames_have_their_own_units():
    small, large = (pd.DataFrame(s * [1.0, 1.0, 1e5], columns=list("abc")) for s in (X, Y))
    plain = [pd.DataFrame(s, columns=list("abc")) for s in (X, Y)]
    for test in (CrossMatch(), SpanningTreeTest(), Wasserstein()):
        assert_allclose(test.statistic(small, large), test.statistic(*plain), rtol=1e-9)
    assert any("standard deviations" in note for note in Wasserstein().test(small, large).notes)
    with pytest.raises(TypeError, match="CrossMatch takes no weighted samples"):
        CrossMatch().test(Empirical(X, np.full(40, 1 / 40)), Y)
