"""LinearKSD: the mean over disjoint pairs by hand, its null, linear time and memory."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.htest import LinearKSD
from mercer.htest.mean_statistic import unskewed
from mercer.kernels import RBF, Exponential, Stein
from mercer.rkhs import Gaussian, ksd2
from tests.support.sequential_level import assert_level

P = Gaussian([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]])


def test_the_statistic_is_a_mean_over_pairs():
    x = P.sample(41, rng=0) + 0.5
    h = Stein(RBF(1.0), P.score)(x)
    order = np.random.default_rng(0).permutation(41)
    terms = h[order[:20], order[20:40]]
    assert_allclose(LinearKSD(P, RBF(1.0)).statistic(x), terms.mean(), rtol=1e-10)
    result = LinearKSD(P, RBF(1.0)).test(x)
    t = terms.mean() / (terms.std(ddof=1) / np.sqrt(20))
    pairs = h[np.triu_indices(41, 1)]
    skewness = np.mean((pairs - pairs.mean()) ** 3) / pairs.std() ** 3
    assert_allclose(result.observed, unskewed(t, skewness, 20), rtol=1e-10)
    assert_allclose(result.pvalue, result.law.sf(result.observed), rtol=1e-12)


def test_it_is_unbiased():
    """The mean over many samples is the squared discrepancy, as all pairs of a large one give it."""
    model = Gaussian([0.0, 0.0], 1.0)
    values = [LinearKSD(model, RBF(1.0)).statistic(P.sample(200, rng=s)) for s in range(100)]
    expected = ksd2(RBF(1.0), model.score, P.sample(3000, rng=0))
    assert abs(np.mean(values) - expected) < 4 * np.std(values) / 10 + 0.02 * expected


@pytest.mark.parametrize("d", [1, 5])
def test_level(d):
    test = LinearKSD(Gaussian(np.zeros(d), 1.0))
    assert_level(lambda s: test.test(np.random.default_rng(s).normal(size=(200, d))).rejects())


def test_many_observations_in_little_memory():
    x = np.random.default_rng(0).normal(size=(200_000, 3))
    x *= 1.2
    tracemalloc.start()
    result = LinearKSD(Gaussian(np.zeros(3), 1.0)).test(x)
    assert tracemalloc.get_traced_memory()[1] < 2**27
    tracemalloc.stop()
    assert result.rejects(1e-3)
    assert result.notes == ()


def test_few_observations_are_told():
    assert "approximate" in LinearKSD(P).test(P.sample(50, rng=0)).notes[0]
    with pytest.raises(ValueError, match="x needs at least 4 observations"):
        LinearKSD(P).test(P.sample(3, rng=0))
    with pytest.raises(NoRule, match="two derivatives"):
        LinearKSD(P, Exponential(1.0))
    with pytest.raises(TypeError, match="kernel must be a kernel or None"):
        LinearKSD(P, 1.0)
