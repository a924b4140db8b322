"""Independence tests with a normal null: CrossHSIC and BlockHSIC."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import BlockHSIC, CrossHSIC, Permutation
from mercer.htest.dependence.two_variable_test import in_random_order
from mercer.kernels import RBF, Linear
from mercer.rkhs import hsic

RNG = np.random.default_rng(0)
X = RNG.standard_normal((601, 2))
Y = X**2 + RNG.standard_normal((601, 2))
KERNELS = RBF(1.5), RBF(2.0)


def test_cross_statistic_is_an_inner_product_of_covariances():
    """With linear kernels the operators are matrices."""
    order = in_random_order(601)
    first, second = order[:300], order[300:]
    a, b = (np.cov(X[r].T, Y[r].T)[:2, 2:] for r in (first, second))
    assert_allclose(CrossHSIC(Linear(), Linear()).statistic(X, Y), np.sum(a * b), rtol=1e-9)


def test_cross_ratio_is_that_of_the_paper():
    """Shekhar, Kim and Ramdas: sums over pairs within a half, with h of differences."""
    x, y = X[:40], Y[:40]
    order = in_random_order(40)
    one, two = order[:20], order[20:]
    f = np.cov(x[two].T, y[two].T)[:2, 2:]  # the operator of the second half
    means = np.empty(20)
    for i in range(20):
        rest = [j for j in range(20) if j != i]
        dx, dy = x[one[i]] - x[one[rest]], y[one[i]] - y[one[rest]]
        means[i] = np.mean([0.5 * a @ f @ b for a, b in zip(dx, dy, strict=True)])
    value = means.mean()
    spread = 4 * 19 / 18**2 * np.sum((means - value) ** 2)
    result = CrossHSIC(Linear(), Linear()).test(x, y)
    assert_allclose(result.statistic, value, rtol=1e-9)
    assert_allclose(result.observed, np.sqrt(20) * value / np.sqrt(spread), rtol=1e-9)


def test_block_statistic_is_a_mean():
    order = np.array_split(in_random_order(601), 12)
    parts = [hsic(*KERNELS, X[rows], Y[rows], unbiased=True) for rows in order]
    assert_allclose(BlockHSIC(*KERNELS, block=50).statistic(X, Y), np.mean(parts), rtol=1e-9)


@pytest.mark.parametrize("test", [CrossHSIC(), BlockHSIC(), BlockHSIC(block=100)])
def test_both_find_dependence_and_nothing_else(test):
    found = test.test(X, Y, rng=3)
    assert found.rejects(0.002)
    assert found.notes == ()
    assert found.pvalue == test.test(X, Y, rng=3).pvalue
    other = np.random.default_rng(5).standard_normal((601, 3))
    assert not test.test(X, other, rng=3).rejects(0.01)


def test_few_blocks_are_permuted_by_hand():
    """The null of fewer than 2,000 observations: y permuted within blocks."""
    test, x, y = BlockHSIC(*KERNELS, block=8), X[:40], Y[:40]
    terms = test._terms(*test._variables(x, y, 8))
    blocks = np.array_split(in_random_order(40), 5)
    draws = terms.permuted(Permutation(3), slice(0, 4), 7)
    assert_allclose(draws[0], test.statistic(x, y), rtol=1e-9)
    reached = {round(float(v), 10) for v in terms.permuted(Permutation(2000), slice(0, 2001), 1)}
    assert len(reached) > 1900  # of (8!)^5
    within = np.mean([hsic(*KERNELS, X[rows], Y[rows], unbiased=True) for rows in blocks])
    assert_allclose(draws[0], within, rtol=1e-9)
    spread = np.std(terms.permuted(Permutation(4000), slice(1, 4001), 2))
    rng = np.random.default_rng(0)
    by_hand = [
        np.mean([hsic(*KERNELS, x[r], y[rng.permutation(r)], unbiased=True) for r in blocks])
        for _ in range(400)
    ]
    assert_allclose(spread, np.std(by_hand), rtol=0.12)  # 400 draws: 3.5% off by chance


def test_zero_inflated_counts_do_not_look_dependent():
    """The normal null rejected every sixth pair of such variables at level 0.05."""
    rng = np.random.default_rng(0)
    pairs = [
        (rng.poisson(3.0, (2, 60)) * (rng.random((2, 60)) < 0.2)).astype(float) for _ in range(60)
    ]
    assert sum(BlockHSIC().test(*pair, rng=0).rejects(0.05) for pair in pairs) <= 8


def test_many_observations_have_the_normal_null():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 2000))
    assert BlockHSIC().test(x, y).pvalue == BlockHSIC().test(x, y, rng=3).pvalue


def test_few_observations_are_told():
    result = CrossHSIC().test(X[:60], Y[:60])
    assert "needs about 500 observations, and there are 60" in result.notes[0]
    assert "HSIC(null=Permutation()) is exact" in result.notes[0]


def test_refusals():
    with pytest.raises(ValueError, match="need at least 8 observations"):
        CrossHSIC().test(X[:7], Y[:7])
    with pytest.raises(ValueError, match="at least two blocks of 20 observations, got 15"):
        BlockHSIC(block=15).test(X[:20], Y[:20])
    with pytest.raises(ValueError, match="block must be a whole number"):
        BlockHSIC(block=3)
    with pytest.raises(TypeError, match="kernel_x must be a kernel, such as"):
        CrossHSIC("rbf")
