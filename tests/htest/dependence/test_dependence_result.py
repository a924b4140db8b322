"""What an independence result knows: strength, witness, telling rows, words, JSON, pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.htest import HSIC
from mercer.htest.dependence.dhsic import DHSIC
from mercer.htest.dependence.strength import Dependence
from mercer.kernels import RBF, Energy, Linear
from mercer.rkhs import hsic
from mercer.rkhs.paired_samples import variables


def parabola(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, x**2 + rng.normal(size=n)


def test_strength_is_the_unbiased_hsic_and_its_normalisation():
    x, y = parabola(120)
    found = HSIC(RBF(1.0), RBF(2.0)).test(x, y, rng=0).effect()
    xy, xx, yy = (
        hsic(RBF(a), RBF(b), u, v, unbiased=True)
        for a, b, u, v in ((1.0, 2.0, x, y), (1.0, 1.0, x, x), (2.0, 2.0, y, y))
    )
    assert_allclose(found.hsic, xy, rtol=1e-10)
    assert_allclose(found.correlation**2, xy / np.sqrt(xx * yy), rtol=1e-10)


def test_correlation_is_pearsons_for_linear_kernels():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    y = 0.6 * x + 0.8 * rng.normal(size=4000)
    found = HSIC(Linear(), Linear()).test(x, y, rng=0).effect()
    assert_allclose(found.correlation, abs(np.corrcoef(x, y)[0, 1]), rtol=2e-3)


def test_correlation_is_the_distance_correlation_for_energy_kernels():
    dcor = pytest.importorskip("dcor")
    x, y = parabola(150)
    found = HSIC(Energy(), Energy()).test(x, y, rng=0).effect()
    theirs = dcor.u_distance_correlation_sqr(x, y)
    assert_allclose(found.correlation**2, theirs, rtol=1e-8)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_strength_does_not_know_units(unit):
    x, y = parabola(100)
    found = HSIC().test(x, unit * y, rng=0)
    assert_allclose(found.effect().correlation, HSIC().test(x, y, rng=0).effect().correlation)
    assert found.pvalue == HSIC().test(x, y, rng=0).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("slope", [0.0, 0.3, 0.8])
def test_intervals_cover(n, slope):
    """300 runs: fewer than 271 of 95% intervals have a probability of 0.001."""

    def draw(rng, n):
        x = rng.normal(size=(n, 1))
        return x, slope * x + np.sqrt(1 - slope**2) * rng.normal(size=(n, 1))

    kernels = [RBF(1.0), RBF(1.0)]
    rng = np.random.default_rng(1)
    truth = Dependence(*variables(kernels, draw(rng, 6000))).strength(0.95)
    wanted = (truth.hsic, truth.correlation) if slope else (0.0, 0.0)
    inside = np.zeros(2)
    for _ in range(300):
        found = Dependence(*variables(kernels, draw(rng, n))).strength(0.95)
        ends = (found.interval, found.correlation_interval)
        inside += [e.low <= w <= e.high for e, w in zip(ends, wanted, strict=True)]
    assert np.all(inside >= 271)


def test_witness_is_positive_where_pairs_come_together():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x + 0.3 * rng.normal(size=200) + 50.0  # far from the origin
    result = HSIC(RBF(1.0), RBF(1.0)).test(x, y, rng=0)
    witness = result.witness()
    assert (witness([1.0, 1.0, -1.0], [51.0, 49.0, 49.0]) > 0).tolist() == [True, False, True]
    assert_allclose(np.mean(witness(x, y)), hsic(RBF(1.0), RBF(1.0), x, y), rtol=1e-10)
    grid = np.linspace(-1, 1, 5)
    surface = witness.surface(grid, grid + 50)
    assert_allclose(np.diag(surface), witness(grid, grid + 50), rtol=1e-10)
    with pytest.raises(ValueError, match="surface"):
        witness([1.0], [1.0, 2.0])


def test_telling_rows_add_most():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=200), rng.normal(size=200)
    x[:5] = y[:5] = 4.0
    result = HSIC(RBF(1.0), RBF(1.0)).test(x, y, rng=0)
    assert set(result.points(5).indices.tolist()) == set(range(5))


def test_summary_and_json_say_the_same():
    x, y = parabola(100)
    result = HSIC().test(x, y, rng=0)
    assert "they depend on each other" in result.summary()
    assert "are x and y independent?" in result.summary()
    assert "no dependence was found" in HSIC().test(x, np.roll(y, 50)[::-1], rng=0).summary()
    document = json.loads(json.dumps(result.to_dict()))
    assert document["schema"] == "mercer/independence/1"
    assert document["effect"]["correlation"] == result.effect().correlation


def test_thinned_keeps_the_verdict():
    x, y = parabola(300)
    result = HSIC().test(x, y, rng=0)
    some = result.thinned(100)
    assert (some.size, some.pvalue) == (100, result.pvalue)
    assert result.thinned(1000) is result
    with pytest.raises(ValueError, match="most must be a whole number of at least 4, got 1"):
        result.thinned(1)


def test_three_variables_have_no_strength():
    rng = np.random.default_rng(0)
    result = DHSIC().test(*rng.normal(size=(3, 40)), rng=0)
    assert "Size" not in result.summary()
    with pytest.raises(NoRule, match="two variables"):
        result.effect()


def test_map_of_the_witness():
    plt = pytest.importorskip("matplotlib.pyplot")
    x, y = parabola(100)
    ax = HSIC().test(x, y, rng=0).plot_witness()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    plt.close(ax.figure)
    with pytest.raises(ValueError, match="map"):
        HSIC().test(np.stack([x, y], axis=1), y, rng=0).plot_witness()


def test_an_interval_that_excludes_nothing_is_left_out():
    """Of ten rows no correlation by a kernel of rank one is excluded, and the limits of HSIC have no scale."""
    x, y = np.random.default_rng(1).normal(size=(2, 10))
    result = HSIC(Linear(), Linear()).test(x, 30 * y, rng=0)
    assert result.effect().correlation_interval == (0.0, 1.0)
    words = result.summary()
    assert "without an interval: so few observations exclude no correlation from 0 to 1" in words
    assert "0 to 1)" not in words
    assert "HSIC = " not in words
    x, y = np.random.default_rng(1).normal(size=(2, 100))
    assert "HSIC = " in HSIC(Linear(), Linear()).test(x, 30 * y, rng=0).summary()
