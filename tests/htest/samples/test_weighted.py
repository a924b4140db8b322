"""Weighted samples: what is compared has the precision of what was observed, so that levels hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import (
    ME,
    MMD,
    SCF,
    UME,
    Energy,
    Gamma,
    MMDAgg,
    Spectrum,
    feature_differences,
)
from mercer.htest.samples.mmd_statistic import QuadraticEvidence
from mercer.htest.samples.pooled_sample import loss, pool
from mercer.kernels import RBF
from mercer.rkhs import Empirical
from tests.support.htest_levels import P, cell, importance, same, weighted
from tests.support.sequential_level import assert_level

TESTS = [
    MMD(null=P),
    MMD(null=Gamma()),
    MMD(null=Spectrum(199)),
    Energy(null=P),
    ME(locations=3, null=P),
    SCF(frequencies=2, null=P),
    UME(locations=3, null=P),
    MMDAgg([RBF(0.5), RBF(2.0)], null=P, landmarks=20),
]


@pytest.mark.parametrize("test", TESTS, ids=repr)
def test_a_few_weighted_observations_against_many(test):
    """Exponential weights halve the 30 observations: labels that spread them see too little noise."""
    assert_level(cell(test, weighted(same(2), 0), (30, 150)).run)


@pytest.mark.parametrize("test", TESTS[:4], ids=repr)
def test_importance_weights(test):
    assert_level(cell(test, importance(3, 1), (60, 40)).run)


def test_columns_of_weighted_samples():
    def finds(run):
        rng = np.random.default_rng(run)
        x, y = weighted(same(3), 0)(rng, (30, 150))
        return bool(feature_differences(x, y, resamples=99, rng=rng).differing())

    assert_level(finds)


def test_equal_weights_change_no_pvalue():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal(0.2, 1.0, size=(40, 2))
    given = Empirical(x, np.full(60, 1 / 60)), Empirical(y, np.full(40, 1 / 40))
    for test in (MMD(null=P), Energy(null=P), MMDAgg(null=P)):
        assert test.test(*given, rng=0).pvalue == test.test(x, y, rng=0).pvalue
    for test in (ME(), UME(), MMD(null=Gamma()), MMD(null=Spectrum())):
        assert_allclose(test.test(*given, rng=0).pvalue, test.test(x, y, rng=0).pvalue, atol=0.02)


def test_the_loss_is_the_variance_of_a_difference_of_weighted_means():
    rng = np.random.default_rng(1)
    w = rng.gamma(0.7, size=50)
    first = np.stack([w[:30], w[:30] ** 2]).sum(axis=1, keepdims=True)
    both = np.stack([w, w**2]).sum(axis=1, keepdims=True)
    z = rng.normal(size=(20_000, 50))
    drawn = z[:, :30] @ w[:30] / w[:30].sum() - z[:, 30:] @ w[30:] / w[30:].sum()
    assert_allclose(loss(first, both)[0], drawn.var(), rtol=0.04)
    ones = np.ones((2, 1))
    assert_allclose(loss(30 * ones, 50 * ones), 1 / 30 + 1 / 20)


def test_moments_are_those_of_other_samples_with_these_weights():
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(20))
    found = []
    for _ in range(1500):
        x, y = Empirical(rng.normal(size=(30, 2)), p), Empirical(rng.normal(size=(20, 2)), q)
        found.append(QuadraticEvidence(pool(RBF(1.0), x, y), unbiased=False).moments())
    forms, means, variances = np.array(found).T
    assert_allclose(means.mean(), forms.mean(), rtol=0.04)
    assert_allclose(variances.mean(), forms.var(), rtol=0.15)
