"""The distribution of weighted sums of chi-squares: density and tail against SciPy and each other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from mercer.htest import UME, Hotelling, Permutation, WeightedChi2
from mercer.htest.weighted_chi2 import WeightedChi2Law
from mercer.kernels import RBF

VALUES = np.array([1e-6, 1e-2, 0.5, 2.0, 20.0, 300.0])


@pytest.mark.parametrize("degrees", [1, 2, 3, 8, 60])
def test_equal_weights_are_a_chi_square(degrees):
    law, exact = WeightedChi2Law(np.full(degrees, 2.5)), chi2(degrees, scale=2.5)
    assert_allclose(law.pdf(VALUES), exact.pdf(VALUES), rtol=1e-9)
    assert_allclose(law.sf(VALUES), exact.sf(VALUES), rtol=1e-9)
    assert_allclose([law.mean(), law.std()], [exact.mean(), exact.std()])
    assert law.support() == exact.support()


def test_pairs_of_weights_are_a_sum_of_exponentials():
    law = WeightedChi2Law(np.array([3.0, 3.0, 1.0, 1.0]))  # exponentials of means 6 and 2
    known = (np.exp(-VALUES / 6) - np.exp(-VALUES / 2)) / (6 - 2)
    assert_allclose(law.pdf(VALUES), known, rtol=1e-7)


def test_the_density_is_the_slope_of_the_tail():
    law = WeightedChi2Law(np.array([5.0, 1.0, 0.3, 0.01]), rest=-2.0)
    x = np.linspace(-1.5, 30.0, 40)
    step = 1e-4
    assert_allclose(law.pdf(x), (law.sf(x - step) - law.sf(x + step)) / (2 * step), rtol=1e-5)
    assert law.pdf(-3.0) == law.pdf(-2.0) == 0
    assert law.sf(-3.0) == 1


def test_results_know_their_law_and_draw_it():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(600, 2)), rng.normal(0.1, 1.0, size=(500, 2))
    for test, words in ((UME(RBF(1.0)), "weighted chi-square"), (Hotelling(), "F")):
        result = test.test(x, y, rng=0)
        assert result.null_in_words() == f"{words} null distribution"
        assert_allclose(result.law.sf(result.observed), result.pvalue, rtol=1e-9)
        curve = result.plot().lines[0].get_xydata()
        assert len(curve) >= 400
        assert_allclose(curve[200, 1], result.law.pdf(curve[200, 0]), rtol=1e-9)


def test_nothing_that_varies_has_no_density():
    x = np.ones((600, 1))
    result = UME(RBF(1.0), null=WeightedChi2()).test(x, x, rng=0)
    assert result.law is None
    assert result.pvalue == 1


def test_the_law_is_that_of_the_permutations():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(800, 2)), rng.normal(size=(700, 2))
    places = rng.normal(size=(4, 2))
    law = UME(RBF(1.0), locations=places).test(x, y).law
    permuted = UME(RBF(1.0), locations=places, null=Permutation(999)).test(x, y, rng=0)
    draws = 4 * permuted.null + law.mean()  # |delta|^2, its mean taken off by the statistic
    assert_allclose(np.mean(draws >= law.mean()), law.sf(law.mean()), atol=0.06)
    assert_allclose(np.std(draws), law.std(), rtol=0.2)
