"""Linear, block and cross statistics, and the energy distance, by a second road."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import skew, t

from mercer.htest import BlockMMD, CrossMMD, Energy, Gamma, LinearMMD
from mercer.htest.mean_statistic import IndependentTerms, unskewed
from mercer.htest.samples.linear_time_mmd import in_random_order
from mercer.htest.samples.pooled_sample import pool
from mercer.kernels import RBF
from mercer.rkhs import mmd2, witness
from mercer.rkhs.distributions import Empirical
from tests.support.peer_libraries import dcor

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 2)), RNG.standard_normal((40, 2)) + 0.3
KERNEL = RBF(1.0)


def ordered(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = in_random_order(pool(KERNEL, x, y))
    return x[first], y[second - len(x)]


def test_linear_is_the_mean_of_four_terms():
    x, y = ordered(X, Y)
    k = KERNEL.paired
    a, b, c, d = x[::2], x[1::2], y[::2], y[1::2]
    terms = k(a, b) + k(c, d) - k(a, d) - k(b, c)
    assert_allclose(LinearMMD(KERNEL).statistic(X, Y), terms.mean(), rtol=1e-10)
    result = LinearMMD(KERNEL).test(X, Y)
    assert_allclose(result.observed, terms.mean() / terms.std(ddof=1) * np.sqrt(20), rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(41, 41), (100, 7), (9, 200), (4, 4), (57, 56)])
@pytest.mark.parametrize("test", [LinearMMD(KERNEL), BlockMMD(KERNEL, block=2), CrossMMD(KERNEL)])
def test_statistics_of_any_sizes_are_unbiased(test, n, m):
    rng = np.random.default_rng(1)
    draws = (
        test.statistic(rng.standard_normal((n, 1)), rng.standard_normal((m, 1)) + 0.7)
        for _ in range(300)
    )
    found = np.array(list(draws))
    z = np.random.default_rng(2).standard_normal((4000, 2))
    truth = mmd2(KERNEL, z[:, :1], z[:, 1:] + 0.7)
    assert abs(found.mean() - truth) < 4.5 * found.std() / np.sqrt(300) + 0.01


def test_blocks_are_means_of_blocks():
    x, y = ordered(X, Y[:30])
    parts = zip(np.array_split(x, 5), np.array_split(y, 5), strict=True)
    right = np.mean([mmd2(KERNEL, a, b) for a, b in parts])
    assert_allclose(BlockMMD(KERNEL, block=6).statistic(X, Y[:30]), right, rtol=1e-9)


@pytest.mark.parametrize("number", [8, 22, 60])
@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.3, 0.1, 0.1]], ids=["one", "four"])
def test_few_skewed_blocks_hold_the_level(number, weights):
    """Under the null blocks are about sum_i l_i (z_i^2 - 1); Student's t rejects 1% or 2% of them."""
    rng, runs, l = np.random.default_rng(5), 4000, np.array(weights)
    skewness = 8 * np.sum(l**3) / (2 * np.sum(l**2)) ** 1.5
    plain = [
        IndependentTerms(b).studentized()
        for b in (rng.standard_normal((runs, number, len(l))) ** 2 - 1) @ l
    ]
    critical = t.isf(0.05, number - 1)
    found = np.mean([unskewed(v, skewness, number) > critical for v in plain])
    assert 0.04 < found < 0.07
    assert np.mean(np.array(plain) > critical) < 0.75 * found


def test_removing_skewness_keeps_the_order():
    values = np.linspace(-6, 9, 100)
    for skewness in (-1.0, 0.0, 0.5, 3.0):
        assert np.all(np.diff([unskewed(v, skewness, 8) for v in values]) > 0)
    assert unskewed(1.3, 0.0, 8) == unskewed(1.3, -2.0, 8) == 1.3


@pytest.mark.parametrize("sizes", [(300, 300), (300, 200)])
def test_the_skewness_of_blocks_is_that_of_other_blocks(sizes):
    rng = np.random.default_rng(7)
    samples = [rng.standard_normal((n, 1)) for n in sizes]
    told = BlockMMD(KERNEL, block=12)._terms(pool(KERNEL, *samples)).skewness()
    per = sizes[0] * 12 // sizes[1]
    drawn = [
        mmd2(KERNEL, rng.standard_normal((per, 1)), rng.standard_normal((12, 1)))
        for _ in range(2000)
    ]
    assert_allclose(told, skew(drawn), rtol=0.3)
    assert told > 1


def test_cross_compares_witness_values():
    x, y = ordered(X, Y[:30])
    w = witness(KERNEL, x[20:], y[15:])
    a, b = w(x[:20]), w(y[:15])
    found = CrossMMD(KERNEL).test(X, Y[:30])
    assert_allclose(found.statistic, a.mean() - b.mean(), rtol=1e-9)
    error = np.sqrt(a.var(ddof=1) / 20 + b.var(ddof=1) / 15)
    assert_allclose(found.observed, (a.mean() - b.mean()) / error, rtol=1e-9)


@pytest.mark.parametrize("test", [LinearMMD(), BlockMMD(), CrossMMD()])
def test_small_samples_are_told_and_sorted_data_do_no_harm(test):
    assert "holds from about 500" in test.test(X, Y).notes[0]
    x = np.sort(np.random.default_rng(3).standard_normal(600))
    y = np.random.default_rng(4).standard_normal(600)
    result = test.test(x, y)
    assert result.notes == ()
    assert result.pvalue > 0.01
    with pytest.raises(TypeError, match="no weighted samples"):
        test.test(Empirical(X, np.full(40, 1 / 40)), Y)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.7])
def test_energy_is_that_of_dcor(power):
    found = Energy(power).statistic(X, Y[:25])
    assert_allclose(found, dcor.energy_distance(X, Y[:25], exponent=power), rtol=1e-9)


def test_energy_and_its_nulls():
    exact = Energy().test(X, Y, rng=0)
    assert_allclose(exact.observed, exact.statistic, rtol=1e-4)
    assert Energy(null=Gamma()).test(X, Y).pvalue == pytest.approx(exact.pvalue, abs=0.04)
    with pytest.raises(ValueError, match="power must be at most 2"):
        Energy(3.0)


def test_too_large_blocks_are_refused():
    with pytest.raises(ValueError, match="at least two blocks"):
        BlockMMD(block=30).test(X, Y)
