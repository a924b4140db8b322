"""Effect sizes: equal to plain formulas, and intervals that hold what they promise."""

import json
from math import sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import MMD
from mercer.htest.intervals import Estimate
from mercer.htest.samples.effect import measured, witness_of
from mercer.htest.samples.pooled_sample import pool
from mercer.kernels import RBF, Energy, Laplace, Linear
from mercer.rkhs import Empirical, hsic, mmd2
from tests.support.arrays import LIBRARIES
from tests.support.htest_coverage import SPANS, Span, coverage, gaussian_mmd2


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal(0.4, 1.0, size=(25, 3))


# ---- two roads ----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(1.0), Laplace(2.0), Energy(), Linear()], ids=repr)
def test_the_estimate_is_mmd2_and_its_first_order_variance_that_of_the_witness(kernel, samples):
    x, y = samples
    found = measured(pool(kernel, x, y))
    assert_allclose(found.mmd2.value, mmd2(kernel, x, y), rtol=1e-9, atol=1e-12)
    assert_allclose(found.biased, mmd2(kernel, x, y, unbiased=False), rtol=1e-9)
    k = kernel(pool(kernel, x, y).points)  # moved together: kernels with an origin see it
    n = len(x)
    near = (k[:n, :n].sum(1) - np.diag(k)[:n]) / (n - 1)
    assert_allclose(found.witness[:n], near - k[:n, n:].mean(1), rtol=1e-8, atol=1e-10)
    inside = (k[:n, :n].sum() - np.trace(k[:n, :n])) / (n * (n - 1))
    assert_allclose(found.spread.trace_x, np.diag(k)[:n].mean() - inside, rtol=1e-9)


def test_covariance_operators_are_those_of_hsic(samples):
    # |C|^2 is the HSIC of a variable with itself; with the linear kernel C is the covariance matrix
    x, y = samples
    kernel = RBF(1.5)
    spread = measured(pool(kernel, x, y)).spread
    assert_allclose(spread.norm_x, hsic(kernel, kernel, x, x, unbiased=True), rtol=0.15)
    spread = measured(pool(Linear(), x, y)).spread
    cx, cy = np.cov(x.T), np.cov(y.T)
    assert_allclose(spread.inner, np.sum(cx * cy), rtol=1e-9)


def test_the_second_order_variance_is_that_of_equal_samples():
    rng = np.random.default_rng(1)
    values, floors = [], []
    for _ in range(400):
        found = measured(pool(RBF(1.0), rng.normal(size=(20, 2)), rng.normal(size=(15, 2))))
        values.append(found.mmd2.value)
        floors.append(found.mmd2.floor)
    assert_allclose(np.mean(floors), np.var(values), rtol=0.25)


def test_the_variance_is_that_of_different_samples():
    rng = np.random.default_rng(2)
    truth, _ = gaussian_mmd2(1.0, 1, 1.2)
    found = [
        measured(pool(RBF(1.0), rng.normal(size=(40, 1)), rng.normal(1.2, 1.0, size=(30, 1)))).mmd2
        for _ in range(400)
    ]
    assert_allclose(
        np.mean([e.variance(truth) for e in found]), np.var([e.value for e in found]), rtol=0.25
    )


def test_with_the_linear_kernel_on_the_line_it_is_cohens_d():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=300), rng.normal(0.8, 2.0, size=200)
    effect = MMD(Linear()).test(x, y, rng=0).effect()
    pooled = (x.var(ddof=1) + y.var(ddof=1)) / 2
    noise = x.var(ddof=1) / 300 + y.var(ddof=1) / 200
    cohen = (x.mean() - y.mean()) / sqrt(pooled)
    assert_allclose(effect.standardized, sqrt(cohen**2 - noise / pooled), rtol=1e-9)
    assert_allclose(effect.share, effect.standardized**2 / (effect.standardized**2 + 4))


def test_the_closed_form_of_gaussians_is_inside():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2000, 2)), rng.normal((0.7, 0.0), 1.0, size=(1500, 2))
    truth, within = gaussian_mmd2(1.5, 2, 0.7)
    effect = MMD(RBF(1.5)).test(x, y, rng=0).effect(0.999)
    assert effect.interval.low < truth < effect.interval.high
    assert effect.interval.high - effect.interval.low < truth
    low, high = effect.standardized_interval
    assert low < sqrt(truth / within) < high


# ---- laws ---------------------------------------------------------------------------------


def test_units_of_the_kernel_and_order_of_the_samples_do_not_matter(samples):
    x, y = samples
    one, five = (MMD(k).test(x, y, rng=0).effect() for k in (RBF(1.0), 5 * RBF(1.0)))
    assert_allclose(five.mmd2, 5 * one.mmd2, rtol=1e-9)
    assert_allclose(five.interval, 5 * np.array(one.interval), rtol=1e-7)
    assert_allclose(five.standardized_interval, one.standardized_interval, rtol=1e-7)
    other = MMD(RBF(1.0)).test(y, x, rng=0).effect()
    assert_allclose(other.interval, one.interval, rtol=1e-7)
    order = np.random.default_rng(5).permutation(len(x))
    moved = MMD(RBF(1.0)).test(x[order], y, rng=0).effect()
    assert_allclose(moved.interval, one.interval, rtol=1e-7)


def test_more_confidence_is_a_wider_interval(samples):
    result = MMD().test(*samples, rng=0)
    narrow, wide = (result.effect(c).interval for c in (0.8, 0.99))
    assert 0 <= wide.low <= narrow.low <= narrow.high < wide.high
    assert narrow.low <= max(result.effect().mmd2, 0) <= narrow.high
    for bad in (0.0, 1.0, 95):
        with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
            result.effect(bad)


def test_score_intervals_solve_their_equation():
    estimate = Estimate(0.3, slope=0.02, floor=0.001)
    for end in estimate.interval(0.95):
        assert_allclose(abs(0.3 - end), 1.959964 * sqrt(estimate.variance(end)), rtol=1e-6)


def test_an_estimate_far_below_zero_does_not_make_its_interval_a_point():
    """Its upper end stays that of an estimate one standard deviation below zero: z - 1 of them."""
    below = Estimate(-0.2, slope=0.0, floor=1e-4).interval(0.95)
    assert_allclose(below, (0.0, 0.959964 * 0.01), rtol=1e-6)
    assert below == Estimate(-0.01, slope=0.0, floor=1e-4).interval(0.95)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same(library, samples):
    convert = LIBRARIES[library]
    want = MMD(RBF(1.0)).test(*samples, rng=0).effect()
    got = MMD(RBF(1.0)).test(*(convert(s) for s in samples), rng=0).effect()
    assert_allclose(got.interval, want.interval, rtol=1e-9)
    assert_allclose(got.standardized_interval, want.standardized_interval, rtol=1e-9)


def test_float32_gives_nearly_the_same(samples):
    want = MMD(RBF(1.0)).test(*samples, rng=0).effect()
    got = MMD(RBF(1.0)).test(*(s.astype(np.float32) for s in samples), rng=0).effect()
    assert_allclose(got.interval, want.interval, rtol=1e-3)


def test_large_samples_use_some_rows_for_the_second_order():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2500, 2)), rng.normal(0.1, 1.0, size=(1800, 2))
    found = measured(pool(RBF(1.0), x, y))
    whole = hsic(RBF(1.0), RBF(1.0), x, x, unbiased=True)
    assert_allclose(found.spread.norm_x, whole, rtol=0.1)
    assert_allclose(found.mmd2.value, mmd2(RBF(1.0), x, y), rtol=1e-8)


def test_constant_samples_have_no_spread():
    same = MMD(RBF(1.0)).test(np.zeros(5), np.zeros(4), rng=0).effect()
    assert (same.mmd2, same.standardized, same.share) == (0.0, 0.0, 0.0)
    far = MMD(RBF(1.0)).test(np.zeros(5), np.ones(4), rng=0).effect()
    assert far.standardized == np.inf
    assert far.share == 1.0
    assert json.loads(json.dumps(far.to_dict(), allow_nan=False))["standardized"] is None


def test_the_witness_is_where_the_user_is():
    # the pooled points were moved to their mean; the function must not be
    rng = np.random.default_rng(7)
    x, y = rng.normal(100.0, 1.0, size=(60, 2)), rng.normal(101.0, 1.0, size=(50, 2))
    kernel = RBF(1.0)
    witness = witness_of(pool(kernel, x, y))
    at = rng.normal(100.5, 1.0, size=(9, 2))
    assert_allclose(witness(at), kernel(at, x).mean(1) - kernel(at, y).mean(1), atol=1e-10)


def test_weights_are_those_of_the_witness():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    w = rng.dirichlet(np.ones(30))
    result = MMD(RBF(1.0)).test(Empirical(x, w), y, rng=0)
    assert_allclose(
        result.witness()(y), RBF(1.0)(y, x) @ w - RBF(1.0)(y, y).mean(1), rtol=1e-8, atol=1e-12
    )
    effect = result.effect()
    assert_allclose(effect.mmd2, result.statistic, rtol=1e-8)
    sure = MMD(RBF(1.0)).test(x, y, rng=0).effect()
    width = effect.interval.high - effect.interval.low
    assert width > sure.interval.high - sure.interval.low  # weighted observations say less


# ---- calibration --------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0])
def test_intervals_cover(shift):
    # 95% promised; a normal interval at the estimated variance covers 78% at shift 0.3
    runs = 150
    found = coverage(Span(1, shift, 1.0, (60, 40)), runs)
    assert np.all(found[:2] > 0.95 - 3.5 * sqrt(0.95 * 0.05 / runs))


@pytest.mark.slow
@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_intervals_cover_at_length(span):
    assert np.all(coverage(span, 400)[:2] > 0.9)
