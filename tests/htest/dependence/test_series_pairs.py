"""Pairs of columns of series: equal to tests of two series, and rarely dependent where the series are independent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import Gram
from mercer.gram.combine import LowRank
from mercer.htest import HSIC, Holm, WestfallYoung, WildBootstrap, pairwise_independence
from mercer.htest.dependence.series_pairs import SeriesPairs
from mercer.htest.slow_contrasts import SlowContrasts, contrasted, contrasted_pair
from mercer.kernels import RBF
from tests.support.series_problems import arma, seasonal

_AR = arma((0.9,))


@pytest.fixture
def rng():
    return np.random.default_rng()


def in_time(resamples=199):
    return HSIC(null=WildBootstrap(resamples, block=None))


def columns(rng, n, width=3, draw=_AR):
    return np.column_stack([draw(rng, n) for _ in range(width)])


def test_pairs_of_independent_series_are_rarely_dependent(rng):
    """Taken for independent rows, some pair of three was dependent in more than half of the runs."""
    alarms = 0
    for run in range(60):
        result = pairwise_independence(columns(rng, 400), test=in_time(), rng=run)
        alarms += bool(result.dependent())
    assert alarms <= 9  # binomial of 60 runs at level 0.05: more with probability 0.001
    assert result.correction == WestfallYoung()
    assert result.cautions() == ()


@pytest.mark.slow
@pytest.mark.parametrize("correction", [WestfallYoung(), Holm()])
def test_level_of_all_pairs_together(rng, correction):
    runs, alarms = 400, 0
    for run in range(runs):
        result = pairwise_independence(
            columns(rng, 500), test=in_time(499), correction=correction, rng=run
        )
        alarms += bool(result.dependent())
    assert alarms / runs <= 0.05 + 4 * (0.05 * 0.95 / runs) ** 0.5


def test_dependent_series_are_found(rng):
    x = columns(rng, 800)
    x[:, 2] += 3 * np.abs(x[:, 0])
    result = pairwise_independence(x, test=in_time(999), rng=0)
    assert [(pair.first, pair.second) for pair in result.dependent()] == [("0", "2")]


@pytest.mark.parametrize("draw", [_AR, seasonal(25)], ids=["autoregressive", "seasonal"])
def test_a_pair_is_a_test_of_two_series(rng, draw):
    """Two roads: HSIC of the two columns, up to the random mixtures."""
    x = columns(rng, 250, draw=draw)
    test = in_time(1999)
    pairs = pairwise_independence(x, test=test, rng=0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        alone = test.test(x[:, i], x[:, j], rng=0).pvalue
        assert_allclose(pairs.uncorrected[i, j], alone, atol=4 * (2 * 0.25 / 1999) ** 0.5)


def test_forms_of_features_are_those_of_their_matrices(rng):
    a, b = rng.normal(size=(90, 3)), rng.normal(size=(90, 5))
    contrasts = SlowContrasts.of(np.ones(90), (90,))
    fast, dense = contrasted_pair(a, b, contrasts), contrasted(LowRank(a) * LowRank(b), contrasts)
    assert_allclose(fast.matrix, dense.matrix, rtol=1e-10, atol=1e-10)
    gram = Gram(RBF(1.0), rng.normal(size=(90, 1))).centered()  # of any rank: by tiles
    low = SeriesPairs([LowRank(a), gram])
    assert_allclose(
        low.statistics([(0, 1)], 19, 0)[0][0, 0],
        np.mean(LowRank(a).dense() * gram.dense()),
        rtol=1e-10,
    )


def test_pairs_of_trends_are_not_tested(rng):
    x = rng.normal(size=(300, 4))
    x[:, :2] += np.linspace(0, 50, 300)[:, None]
    result = pairwise_independence(x, test=in_time(), rng=0)
    assert result.pvalues[0, 1] == result.uncorrected[0, 1] == 1.0
    (caution,) = result.cautions()
    assert "0 and 1" in caution
    assert "like a random walk" in caution
    assert caution in result.summary()
