"""Smooth characteristic functions: plain formula, order, what learning moves, level."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import MMD, SCF, Permutation
from mercer.htest.samples.power_proxy import FrequencyFeatures
from mercer.htest.samples.scf import _smoothed_waves
from mercer.rkhs import Empirical
from tests.support.arrays import torch
from tests.support.htest_levels import cell
from tests.support.htest_zoo import coins, same
from tests.support.sequential_level import assert_level


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(70, 3)), rng.normal(0.3, 1.2, size=(50, 3))


def plain(x, y, bandwidth, w):
    def features(u):
        u = u / bandwidth
        window = np.exp(-np.sum(u**2, axis=1, keepdims=True) / 2)
        return np.hstack([window * np.sin(u @ w.T), window * np.cos(u @ w.T)])

    zx, zy = features(x), features(y)
    delta = zx.mean(0) - zy.mean(0)
    s = np.cov(zx.T) / len(x) + np.cov(zy.T) / len(y)
    return delta @ np.linalg.solve(s, delta)


def test_statistic_is_the_plain_formula(samples):
    w = np.random.default_rng(1).normal(size=(3, 3))
    got = SCF(2.0, frequencies=w).statistic(*samples)
    assert_allclose(got, plain(*samples, 2.0, w), rtol=1e-8)
    each = np.array([1.0, 2.0, 3.0])
    assert_allclose(
        SCF(each, frequencies=w).statistic(*samples), plain(*samples, each, w), rtol=1e-8
    )


def test_order_and_place_do_not_matter(samples):
    x, y = samples
    expected = SCF().statistic(x, y)
    assert_allclose(SCF().statistic(y[::-1], x[::-1]), expected, rtol=1e-8)
    assert_allclose(SCF().statistic(x + 500, y + 500), expected, rtol=1e-6)


def test_result_has_the_frequencies(samples):
    result = SCF(frequencies=4).test(*samples, rng=0)
    assert result.test.frequencies.shape == (4, 3)
    assert result.test.bandwidth > 0
    assert len(result.locations()) == 4
    again = result.test.test(*samples, rng=5)
    assert_allclose(again.statistic, result.statistic)


def test_learning_moves_frequencies_and_beats_chance():
    learnt, random = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(1200, 10)), rng.normal(size=(1200, 10))
        y[:, 0] *= 1.7
        made = SCF.optimized(x[:600], y[:600], frequencies=2, rng=seed)
        learnt.append(made.test(x[600:], y[600:]).pvalue)
        random.append(SCF(frequencies=2).test(x[600:], y[600:], rng=seed).pvalue)
    assert np.median(learnt) < 0.01
    assert np.median(learnt) < np.median(random)


def test_frequencies_go_where_the_difference_is():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2000, 4)), rng.normal(size=(2000, 4))
    y[:, 2] += 0.5
    made = SCF.optimized(x, y, frequencies=1, rng=0)
    assert np.argmax(np.abs(made.frequencies[0])) == 2
    other = SCF.optimized(x, y, frequencies=1, rng=1)
    assert np.argmax(np.abs(other.frequencies[0])) == 2


def test_tensors_and_weights_are_taken(samples):
    x, y = samples
    expected = SCF().statistic(x, y)
    assert_allclose(SCF().statistic(torch.tensor(x), torch.tensor(y)), expected, rtol=1e-8)
    equal = Empirical(x, np.full(len(x), 1 / len(x)))
    assert_allclose(SCF().statistic(equal, y), expected, rtol=1e-8)


@pytest.mark.parametrize("problem", [same(1), same(50), coins], ids=["1", "50", "coins"])
def test_level(problem):
    assert_level(cell(SCF(null=Permutation(39)), problem, (30, 20)).run)
    assert_level(cell(SCF(), problem, (500, 300)).run)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, "a", [1.0, 0.0, 1.0], np.nan])
def test_bad_bandwidths_are_refused(bandwidth):
    with pytest.raises((TypeError, ValueError), match="bandwidth"):
        SCF(bandwidth)


def test_widths_must_fit_the_samples(samples):
    with pytest.raises(ValueError, match="frequencies must have 3 columns"):
        SCF(frequencies=[[1.0, 2.0]]).test(*samples)
    with pytest.raises(ValueError, match="bandwidth must have 3 columns"):
        SCF([1.0, 2.0]).test(*samples)


def test_the_kernel_of_its_effect_is_computed_when_asked_for(samples):
    result = SCF(1.0).test(*samples, rng=0)
    assert "kernel" not in vars(result.pooled)
    by_mmd = MMD().test(*samples, rng=0)
    assert result.thinned(20).kernel == result.kernel == by_mmd.kernel
    assert result.effect() == by_mmd.effect()


def test_waves_are_those_that_the_search_differentiates():
    rng = np.random.default_rng(0)
    points, waves, center = (
        rng.normal(size=(9, 3)),
        rng.normal(size=(4, 3)),
        np.array([0.5, 0.0, 1.0]),
    )
    widths = np.array([1.0, 2.0, 0.5])
    searched, _ = FrequencyFeatures((points - center) / widths).push(np.append(waves.ravel(), 0.0))
    assert_allclose(_smoothed_waves(points, waves, widths, center), searched, rtol=1e-12)
