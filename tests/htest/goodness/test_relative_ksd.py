"""RelativeKSD: the difference by hand, its variance against simulation, who is better."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import RelativeKSD
from mercer.kernels import RBF
from mercer.rkhs import Gaussian, Mixture, ksd2

LEFT, RIGHT = Gaussian([-0.5, 0.0], 1.0), Gaussian([0.5, 0.0], 1.0)


def normal(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 2))


def test_the_statistic_is_a_difference():
    x = normal(70, 0)
    for kernel in (None, RBF(1.5)):
        first, second = (ksd2(kernel, p.score, x) for p in (LEFT, RIGHT))
        result = RelativeKSD(LEFT, RIGHT, kernel).test(x)
        assert_allclose(result.discrepancies, (first, second), rtol=1e-9)
        assert_allclose(result.statistic, first - second, rtol=1e-9)


@pytest.mark.parametrize(("first", "second"), [(LEFT, RIGHT), (Gaussian([0, 0], 1.5), LEFT)])
@pytest.mark.parametrize("n", [60, 400])
def test_the_error_is_the_standard_deviation(first, second, n):
    test = RelativeKSD(first, second, RBF(1.0))
    results = [test.test(normal(n, seed)) for seed in range(150)]
    spread = np.std([r.statistic for r in results])
    errors = np.array([r.error for r in results])
    assert_allclose(np.sqrt(np.mean(errors**2)), spread, rtol=0.2)


def test_where_both_fit_the_second_order_is_all():
    """Scores that differ by what averages out: n^2 times the variance stays, and is known."""

    def wavy(sign):
        return lambda x: -x + sign * 0.3 * np.sin(40 * x)

    test = RelativeKSD(wavy(1), wavy(-1), RBF(1.0))
    for n in (100, 400):
        results = [test.test(normal(n, seed)) for seed in range(150)]
        assert 0 <= sum(r.rejects() for r in results) <= 17
        spread = np.std([r.statistic for r in results])
        assert 0.7 < np.mean([r.error for r in results]) / spread < 1.5


def test_equal_models_are_not_told_apart():
    result = RelativeKSD(LEFT, LEFT).test(normal(50, 0))
    assert result.statistic == 0
    assert result.pvalue == 1
    assert result.better() is None


def test_the_better_one_is_named():
    x = Mixture([Gaussian([0.0, 0.0], 1.0), Gaussian([4.0, 0.0], 1.0)], [0.8, 0.2]).sample(
        500, rng=0
    )
    close = Mixture([Gaussian([0.0, 0.0], 1.0), Gaussian([3.5, 0.0], 1.0)], [0.8, 0.2])
    plain = Gaussian([0.0, 0.0], 1.0)
    for test in (RelativeKSD(close, plain), RelativeKSD(plain, close)):
        result = test.test(x)
        assert result.better(0.01) is close
        assert np.sign(result.statistic) == np.sign(result.interval().low)
        assert "Mixture(2 parts, 2 dimensions), fits better" in result.summary()
        found = result.to_dict()
        assert json.loads(json.dumps(found)) == found
    swapped = [RelativeKSD(*pair).test(x) for pair in ((close, plain), (plain, close))]
    assert_allclose(swapped[0].statistic, -swapped[1].statistic, rtol=1e-9)
    assert_allclose(swapped[0].pvalue, swapped[1].pvalue, rtol=1e-6)


def test_undecided():
    result = RelativeKSD(LEFT, RIGHT).test(normal(300, 3))
    assert "neither model fits significantly better" in result.summary()
    assert result.better() is None
    low, high = result.interval()
    assert low < 0 < high


def test_wrong_arguments():
    with pytest.raises(TypeError, match="model must be"):
        RelativeKSD(LEFT, 3)
    with pytest.raises(TypeError, match="kernel must be a kernel or None"):
        RelativeKSD(LEFT, RIGHT, "rbf")
    with pytest.raises(ValueError, match="x must have 2 columns"):
        RelativeKSD(LEFT, RIGHT).test(np.arange(9.0))
