"""Equivalence: a p-value for sameness that is valid at the margin."""

from math import sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from mercer.htest import MMD, Equivalence
from mercer.htest.samples.effect import measured
from mercer.htest.samples.pooled_sample import pool
from mercer.kernels import RBF
from tests.support.htest_coverage import gaussian_mmd2


def distance(shift):
    """MMD of N(0, 1) and N(shift, 1) under RBF(1)."""
    return sqrt(gaussian_mmd2(1.0, 1, shift)[0])


def test_it_is_the_estimate_in_standard_deviations_at_the_margin():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=(60, 2))
    found = measured(pool(RBF(1.0), x, y))
    for margin, estimate, standardized in ((0.3, found.mmd2, False), (0.5, found.ratio, True)):
        result = Equivalence(margin, RBF(1.0), standardized=standardized).test(x, y)
        z = (margin**2 - estimate.value) / sqrt(estimate.slope * margin**2 + estimate.floor)
        assert_allclose(result.statistic, z, rtol=1e-12)
        assert_allclose(result.pvalue, norm.sf(z), rtol=1e-9)
        assert_allclose(Equivalence(margin, RBF(1.0), standardized=standardized).statistic(x, y), z)


def test_it_agrees_with_the_interval():
    # sameness at 5% is a 90% interval below the margin: both invert the same variance
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(150, 1)), rng.normal(0.3, 1.0, size=(120, 1))
    high = MMD(RBF(1.0)).test(x, y, rng=0).effect(0.9).interval.high
    assert_allclose(Equivalence(sqrt(high), RBF(1.0)).test(x, y).pvalue, 0.05, rtol=1e-6)


def test_larger_margins_are_easier():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(100, 2)), rng.normal(size=(100, 2))
    p = [Equivalence(m).test(x, y).pvalue for m in (0.05, 0.1, 0.2, 0.4, 0.8)]
    assert p == sorted(p, reverse=True)
    assert p[-1] < 1e-6


def test_the_least_margin_is_what_equal_samples_would_show():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(200, 1)), rng.normal(size=(200, 1))
    test = Equivalence(0.3, RBF(1.0))
    margin = test.least(x, y)
    estimate = measured(pool(RBF(1.0), x, y)).mmd2
    assert_allclose(norm.sf(margin**2 / sqrt(estimate.variance(margin**2))), 0.05, rtol=1e-9)
    assert test.least(x, y, level=0.01) > margin
    assert test.least(x[:50], y[:50]) > margin


def test_words_are_about_sameness():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(300, 1)), rng.normal(size=(300, 1))
    same = Equivalence(0.5, standardized=True).test(x, y)
    assert "the samples are the same up to a standardized distance of 0.5" in same.summary()
    apart = Equivalence(0.1).test(x, y + 3)
    assert "it is not shown that the samples are the same up to an MMD of 0.1" in apart.summary()
    assert not apart.rejects()
    assert apart.to_dict()["test"] == "Equivalence"


def test_refusals():
    for margin in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="margin must be a positive number"):
            Equivalence(margin)
    with pytest.raises(TypeError, match="kernel must be"):
        Equivalence(0.1, "rbf")
    with pytest.raises(ValueError, match="x and y are constant, each by itself"):
        Equivalence(0.1, RBF(1.0), standardized=True).test(np.zeros(4), np.ones(4))


def rejections(runs, n, m, shift, margin, seed):
    rng = np.random.default_rng(seed)
    test = Equivalence(margin, RBF(1.0))
    found = [
        test.test(rng.normal(size=(n, 1)), rng.normal(shift, 1.0, size=(m, 1))).rejects()
        for _ in range(runs)
    ]
    return np.mean(found)


def test_the_level_is_kept_at_the_margin_and_sameness_is_found():
    runs = 150
    band = 0.05 + 3 * sqrt(0.05 * 0.95 / runs)
    assert rejections(runs, 80, 60, 0.8, distance(0.8), seed=5) <= band
    assert rejections(runs, 80, 60, 0.3, distance(0.3), seed=6) <= band
    assert rejections(40, 150, 150, 0.0, distance(0.8), seed=7) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.3, 0.8, 1.5])
@pytest.mark.parametrize("sizes", [(40, 40), (100, 60), (400, 400)])
def test_the_level_is_kept_at_length(shift, sizes):
    runs = 800
    found = rejections(runs, *sizes, shift, distance(shift), seed=8)
    assert found <= 0.05 + 3 * sqrt(0.05 * 0.95 / runs)
    if min(sizes) >= 400 and shift >= 0.8:
        assert found > 0.02  # not conservative where the samples are large


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize("kernel", [None, RBF(1.0)])
def test_margins_that_nothing_reaches_are_refused(kernel, standardized):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(100, 2))
    far = MMD(kernel).test(x, x + 100, rng=0).effect()  # nothing in common
    reached = far.standardized if standardized else sqrt(far.mmd2)
    with pytest.raises(ValueError, match="nothing in common"):
        Equivalence(1.05 * reached, kernel, standardized=standardized).test(x, x + 100)
    near = Equivalence(0.9 * reached, kernel, standardized=standardized)
    assert not near.test(x, x + 100).rejects()


def test_margins_beyond_any_mmd_are_refused():
    x = np.random.default_rng(8).normal(size=(40, 2))
    with pytest.raises(ValueError, match="margin must be below"):
        Equivalence(1.5, RBF(1.0)).test(x, x)


def test_sizes_that_cannot_show_the_margin_are_told():
    """Twenty observations never showed a margin of 0.2: the result says so, and which margin they can."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20, 1))
    test = Equivalence(0.2)
    result = test.test(x, y)
    assert not result.rejects()
    assert "cannot show a margin of 0.2 at level 0.05, even if they are equal" in result.notes[0]
    assert f"is about {test.least(x, y):.3g}." in result.notes[0]
    assert test.least(x, y) > 0.2
    many = rng.normal(size=(2, 800, 1))
    assert Equivalence(0.2).test(*many).notes == ()
    assert Equivalence(0.2).least(*many) < 0.2
