"""Planning: predicted power is the power that studies then have."""

import json
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import HSIC, KSD, MMD, Permutation, PowerCurve, power, sample_size
from mercer.htest.samples.hotelling import Hotelling
from mercer.kernels import RBF
from mercer.rkhs import Empirical, Gaussian, mmd2

FAST = MMD(RBF(1.0), null=Permutation(99))


def draw(rng, n, shift=0.0, d=1):
    x = rng.normal(size=(n, d))
    x[:, 0] += shift
    return x


def actual(test, n, m, shift, runs, seed, d=1):
    """The power on fresh samples."""
    rng = np.random.default_rng(seed)
    hits = [
        test.test(draw(rng, n, 0, d), draw(rng, m, shift, d), rng=rng).rejects()
        for _ in range(runs)
    ]
    return np.mean(hits)


# ---- prediction and truth -----------------------------------------------------------------


def test_predicted_power_is_actual_power():
    rng = np.random.default_rng(0)
    x, y = draw(rng, 1500), draw(rng, 1500, 0.6)
    truth = np.array([actual(FAST, n, n, 0.6, 120, seed=1) for n in (25, 60)])
    drawn = power(FAST, x, y, n=[25, 60], runs=120, rng=2)
    formula = power(FAST, x, y, n=[25, 60], asymptotic=True)
    error = 3 * sqrt(2 * 0.25 / 120) + 0.03  # of both runs, and of the pilot
    assert_allclose(drawn.power, truth, atol=error)
    assert_allclose(formula.power, truth, atol=error)
    assert np.all(drawn.low <= drawn.power)
    assert np.all(drawn.power <= drawn.high)


def test_small_pilots_do_not_promise_too_much():
    # samples of equal distributions look different by their noise: a plain bootstrap would
    # "find" this difference with a power of 0.5 on average
    rng = np.random.default_rng(3)
    found, honest = [], []
    for _ in range(12):
        x, y = draw(rng, 40), draw(rng, 40)
        curve = power(FAST, x, y, n=[80], runs=20, rng=rng)
        found.append(curve.power[0])
        honest.append(curve.low[0])
    assert np.mean(found) < 0.35
    assert np.median(honest) < 0.1


def test_what_is_drawn_has_the_estimated_distance():
    # the mixture makes MMD^2 of the drawn-from distributions the unbiased estimate
    rng = np.random.default_rng(4)
    x, y = draw(rng, 50), draw(rng, 40, 0.8)
    from mercer.htest.samples.power import _Pilot

    pilot = _Pilot(FAST, x, y, 1.0, 0.05, 10, False, rng)
    assert 0.5 < pilot.kept < 1
    rows = [pilot._sample(50, 0, 6000), pilot._sample(40, 50, 6000)]
    values = [pilot.both[r] for r in rows]
    assert_allclose(mmd2(RBF(1.0), *values), mmd2(RBF(1.0), x, y), atol=0.015)


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "d", "sizes"), [(0.5, 1, (30, 100)), (0.7, 5, (30, 80))])
def test_predicted_power_is_actual_power_at_length(shift, d, sizes):
    test = MMD(null=Permutation(99))
    rng = np.random.default_rng(5)
    truth = np.array([actual(test, n, n, shift, 600, seed=6, d=d) for n in sizes])
    drawn, formulas, inside = [], [], []
    for _ in range(8):
        x, y = draw(rng, 1500, 0, d), draw(rng, 1500, shift, d)
        curve = power(test, x, y, n=sizes, runs=100, rng=rng)
        drawn.append(curve.power)
        inside.append((curve.low <= truth) & (truth <= curve.high))
        formulas.append(power(test, x, y, n=sizes, asymptotic=True).power)
    assert_allclose(np.mean(drawn, axis=0), truth, atol=0.06)
    assert_allclose(np.mean(formulas, axis=0), truth, atol=0.1)
    assert np.mean(inside) > 0.85


# ---- sizes --------------------------------------------------------------------------------


def test_the_size_that_is_found_has_the_power_that_was_asked_for():
    rng = np.random.default_rng(7)
    x, y = draw(rng, 800), draw(rng, 800, 0.8)
    by_formula = sample_size(FAST, x, y, asymptotic=True)
    by_runs = sample_size(FAST, x, y, runs=80, rng=8)
    assert 0.5 < by_runs.n / by_formula.n < 2
    assert int(by_runs) == by_runs.n == by_runs.m
    assert abs(actual(FAST, by_runs.n, by_runs.m, 0.8, 120, seed=9) - 0.8) < 0.17
    assert by_runs.interval.low < by_runs.n < by_runs.interval.high
    assert isinstance(by_runs.curve, PowerCurve)
    more = sample_size(FAST, x, y, power=0.95, asymptotic=True)
    assert more.n > by_formula.n
    uneven = sample_size(FAST, x, y, ratio=3.0, asymptotic=True)
    assert uneven.n < by_formula.n < uneven.m
    json.dumps(by_runs.to_dict(), allow_nan=False)


def test_a_pilot_without_a_difference_is_no_plan():
    x = np.random.default_rng(10).normal(size=(60, 1))
    with pytest.raises(ValueError, match="x and y, the pilot, do not differ"):
        sample_size(FAST, x, x[::-1])
    rng = np.random.default_rng(11)
    pilots = ((draw(rng, 30), draw(rng, 30, 0.4)) for _ in range(50))
    effects = ((pair, FAST.test(*pair, rng=0).effect()) for pair in pilots)
    pair = next(p for p, e in effects if e.mmd2 > 0 and e.interval.low == 0)
    vague = sample_size(FAST, *pair, asymptotic=True)
    assert vague.interval.high == inf
    assert vague.to_dict()["interval"][1] is None
    with pytest.raises(ValueError, match="needs more than 20 points"):
        sample_size(FAST, draw(rng, 300), draw(rng, 300, 0.6), power=0.99, asymptotic=True, most=20)


def test_nothing_is_simulated_far_beyond_a_pilot_that_may_differ_by_chance():
    rng = np.random.default_rng(13)
    found = ((draw(rng, 30), draw(rng, 30)) for _ in range(100))
    sizes = ((pair, FAST.test(*pair, rng=0).effect().mmd2) for pair in found)
    pair = next(pair for pair, mmd2 in sizes if 0 < mmd2 < 0.005)  # a power of 0.8 takes hundreds
    vague = sample_size(FAST, *pair, asymptotic=True)
    assert vague.n > 4 * 30
    with pytest.raises(ValueError, match=f"no clear difference.*about {vague.n:,} points"):
        sample_size(FAST, *pair)


# ---- curves -------------------------------------------------------------------------------


def test_a_curve_grows_from_the_level_to_one():
    rng = np.random.default_rng(12)
    x, y = draw(rng, 100, 0, 2), draw(rng, 80, 1.0, 2)
    curve = power(MMD(), x, y, n=[2, 5, 20, 80, 5000], asymptotic=True, level=0.01)
    assert np.all(np.diff(curve.power) >= 0)
    assert curve.power[0] < 0.2
    assert curve.power[-1] > 0.999
    assert curve.sizes[2] == (20, 20)
    assert np.all(curve.error == 0)
    assert power(MMD(), x, y, asymptotic=True).sizes[0] == (12, 12)
    held = json.loads(json.dumps(curve.to_dict()))
    assert held["level"] == 0.01
    uneven = power(MMD(), x, y, n=40, ratio=0.5, asymptotic=True)
    assert uneven.sizes == ((40, 20),)


def test_any_test_and_any_points():
    rng = np.random.default_rng(13)
    pd = pytest.importorskip("pandas")
    x, y = draw(rng, 60, 0, 2), draw(rng, 60, 2.5, 2)
    assert power(Hotelling(), x, y, n=30, runs=10, rng=0).power[0] > 0.8
    town = rng.choice(["a", "b"], 60)
    frames = (pd.DataFrame({"v": s[:, 0], "town": town}) for s in (x, y))
    test = MMD(null=Permutation(39))
    assert power(test, *frames, n=30, runs=10, rng=0).power[0] > 0.8
    one, two = (power(test, x, y, n=15, runs=8, rng=3).power[0] for _ in range(2))
    assert one == two


@pytest.mark.parametrize("test", [HSIC(), KSD(Gaussian(np.zeros(1), 1.0))], ids=["HSIC", "KSD"])
def test_only_tests_of_two_samples_are_planned(test: Any):
    """HSIC took the two variables for two samples, and wanted 42,240 rows."""
    with pytest.raises(TypeError, match="test must be a two-sample test"):
        sample_size(test, np.arange(20.0), np.arange(20.0) + 1)
    with pytest.raises(TypeError, match="test must be a two-sample test"):
        power(test, np.arange(20.0), np.arange(20.0) + 1)


def test_refusals():
    x = np.arange(10.0)
    with pytest.raises(TypeError, match="test must be a two-sample test"):
        power("mmd", x, x)
    with pytest.raises(TypeError, match="asymptotic formula is that of MMD"):
        power(Hotelling(), x, x + 1, asymptotic=True)
    with pytest.raises(TypeError, match="a pilot is two plain samples"):
        power(MMD(), Empirical(x), x)
    with pytest.raises(ValueError, match="n must be a whole number of at least 2"):
        power(MMD(), x, x + 1, n=1)
    with pytest.raises(ValueError, match="level must be between"):
        power(MMD(), x, x + 1, level=5)
    with pytest.raises(ValueError, match="power must be between"):
        sample_size(MMD(), x, x + 1, power=1.0)
    with pytest.raises(ValueError, match="ratio must be a positive number"):
        power(MMD(), x, x + 1, ratio=0.0)
