"""Blocks of statistics as one test: harmonic means of p-values with a permutation null."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest.aggregation import aggregated_blocks, aggregated_by_order, tail_evidence

RNG = np.random.default_rng(0)


def test_evidence_is_the_share_of_resamples_below_the_upper_tenth():
    values = RNG.chisquare(1, (3, 400))
    evidence = tail_evidence(values, np.zeros(3))
    shares = np.array([[np.mean(row >= v) for v in row] for row in values])
    bulk = shares > 0.11
    assert_allclose(evidence[bulk], -np.log10(shares[bulk]))


def test_the_tail_of_a_sum_of_squares_is_continued():
    """At a p-value of 1e-6 of one and of ten squares, the tail of 2,000 draws is off by a digit at most."""
    from scipy.stats import chi2

    for df in (1, 3, 10):
        values = RNG.chisquare(df, (20, 2000))
        values[:, 0] = chi2.isf(1e-6, df)
        evidence = tail_evidence(values, np.zeros(20))[:, 0]
        assert abs(np.mean(evidence) - 6) < 1.5
    assert np.all(evidence > -np.log10(1 / 2000))


def test_ties_and_infinite_statistics_have_shares_alone():
    values = np.array([[2.0, 1.0, 1.0, 1.0, 2.0] * 20, [np.inf, np.inf, *range(98)]])
    evidence = tail_evidence(values, np.zeros(2))
    assert_allclose(evidence[0, :2], -np.log10([0.4, 1.0]))
    assert np.all(np.isfinite(evidence))
    assert np.argmax(evidence[1]) == 0


def test_scores_are_weighted_means_of_reciprocals():
    values = RNG.chisquare(2, (4, 200))
    weights = np.array([0.7, 0.3])
    combined = aggregated_blocks(values, np.zeros(4), [1, 3], weights)
    each = 10 ** -tail_evidence(values, np.zeros(4))
    blocks = np.log10([1 / each[0], np.mean(1 / each[1:], axis=0)])
    p = 10 ** -tail_evidence(blocks, np.zeros(2))
    assert_allclose(combined.scores, np.log10(weights @ (1 / p)), atol=1e-9)
    assert_allclose(combined.blocks, blocks, atol=1e-9)


def test_the_strongest_statistic_is_that_of_the_strongest_block():
    values = RNG.chisquare(2, (6, 500))
    values[4, 0] = 60.0
    combined = aggregated_by_order(values, np.zeros(6), (1, 2, 3), (0.5, 0.2, 0.3))
    assert combined.best == 4
    assert np.argmax(combined.scores) == 0
    assert combined.rejecting(0.05) == 1
    assert aggregated_by_order(values, np.zeros(6), (0, 0, 6), (0.5, 0.2, 0.3)).best == 4


@pytest.mark.parametrize("sizes", [(0, 0, 12), (2, 0, 10), (2, 3, 7)])
def test_level_is_exact_for_dependent_statistics(sizes):
    """The score of the first of exchangeable columns is uniform among all: its mean rank is one half."""
    rng, ranks = np.random.default_rng(1), []
    for _ in range(400):
        shared = rng.normal(size=(1, 60))
        values = (0.7 * shared + rng.normal(size=(12, 60))) ** 2
        scores = aggregated_by_order(values, np.zeros(12), sizes, (0.5, 0.2, 0.3)).scores
        ranks.append(np.mean(scores >= scores[0]))
    rejected = np.mean(np.array(ranks) <= 0.05)
    assert abs(rejected - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)
    assert abs(np.mean(ranks) - 0.508) < 4 * np.sqrt(1 / 12 / 400)
