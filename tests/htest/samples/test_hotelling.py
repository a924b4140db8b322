"""Hotelling's test: the t test on the line, the textbook formula, its level."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import f, ttest_ind

from mercer.htest import Hotelling, Permutation
from mercer.rkhs import Empirical
from tests.support.sequential_level import assert_level


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)), rng.normal(0.3, 1.0, size=(40, 4))


def test_on_the_line_it_is_the_t_test(samples):
    x, y = (s[:, 0] for s in samples)
    expected = ttest_ind(x, y)
    result = Hotelling().test(x, y)
    assert_allclose(result.pvalue, expected.pvalue, rtol=1e-8)
    assert_allclose(result.statistic, expected.statistic**2, rtol=1e-8)


def test_statistic_is_the_textbook_formula(samples):
    x, y = samples
    n, m, p = 60, 40, 4
    delta = x.mean(0) - y.mean(0)
    s = ((n - 1) * np.cov(x.T) + (m - 1) * np.cov(y.T)) / (n + m - 2)
    t2 = n * m / (n + m) * delta @ np.linalg.solve(s, delta)
    result = Hotelling().test(x, y)
    assert_allclose(result.statistic, t2, rtol=1e-9)
    ratio = (n + m - p - 1) / (p * (n + m - 2)) * t2
    assert_allclose(result.pvalue, f.sf(ratio, p, n + m - p - 1), rtol=1e-8)
    assert_allclose(Hotelling().statistic(y[::-1], x), t2, rtol=1e-9)
    assert "Verdict: the means differ" in Hotelling().test(x, y + 9).summary()


def test_permutations_agree(samples):
    exact = Hotelling().test(*samples).pvalue
    drawn = Hotelling(null=Permutation(1999)).test(*samples, rng=0).pvalue
    assert_allclose(drawn, exact, atol=0.02)


def test_columns_that_repeat_are_left_out(samples):
    x, y = samples
    doubled = (np.hstack([s, s[:, :2] @ [[1.0], [2.0]], np.ones((len(s), 1))]) for s in (x, y))
    assert_allclose(Hotelling().test(*doubled).pvalue, Hotelling().test(x, y).pvalue, rtol=1e-6)


@pytest.mark.parametrize("d", [1, 5, 50])
def test_level(d):
    def rejects(seed):
        rng = np.random.default_rng(seed)
        return Hotelling().test(rng.normal(size=(60, d)), rng.normal(size=(40, d))).rejects()

    assert_level(rejects)


def test_what_it_does_not_take(samples):
    x, y = samples
    with pytest.raises(TypeError, match="weighted"):
        Hotelling().test(Empirical(x, np.full(60, 1 / 60)), y)
    with pytest.raises(ValueError, match="more points than dimensions"):
        Hotelling().test(*np.random.default_rng(0).normal(size=(2, 5, 20)))
    assert Hotelling().test(np.zeros((5, 2)), np.zeros((4, 2))).pvalue == 1


def test_equal_constants_do_not_differ():
    x, y = np.full((30, 2), 0.1), np.full((40, 2), 0.1)  # whose computed means are not 0.1
    assert Hotelling().test(x, y).pvalue == 1
