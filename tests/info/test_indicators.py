"""Total variation and Kolmogorov's distance: all corners by brute force, and closed forms of Gaussians."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import trapezoid

import mercer
from mercer.errors import MemoryBudgetError
from mercer.info import kolmogorov, total_variation
from mercer.kernels import RBF
from mercer.rkhs import Empirical, Gaussian, mmd2

rng = np.random.default_rng(7)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_kolmogorov_is_the_largest_gap_over_all_corners(d):
    x, y = rng.normal(size=(12, d)).round(1), rng.normal(0.3, 1.0, size=(9, d)).round(1)
    wx, wy = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(9))
    gaps = [
        abs(wx @ np.all(x <= c, axis=1) - wy @ np.all(y <= c, axis=1))
        for c in map(np.array, product(*np.vstack([x, y]).T))
    ]
    distance = kolmogorov(Empirical(x, wx), Empirical(y, wy))
    assert_allclose(distance, max(gaps), atol=1e-14)
    f = distance.witness
    assert_allclose(wx @ f(x) - wy @ f(y), distance, atol=1e-14)
    observed = kolmogorov(Empirical(x, wx), Empirical(y, wy), observed=True)
    assert_allclose(wx @ observed.witness(x) - wy @ observed.witness(y), observed, atol=1e-14)
    assert observed <= distance + 1e-14
    if d == 1:
        assert_allclose(kolmogorov(x, y), stats.ks_2samp(x[:, 0], y[:, 0]).statistic, atol=1e-14)


def test_total_variation_is_the_sum_over_atoms():
    x, y = rng.integers(4, size=(50, 2)), rng.integers(5, size=(30, 2))
    cells = [np.array(c) for c in product(range(5), repeat=2)]
    shares = [np.array([np.all(s == c, axis=1).mean() for c in cells]) for s in (x, y)]
    distance = total_variation(x, y)
    assert_allclose(distance, np.abs(shares[0] - shares[1]).sum(), atol=1e-14)
    f = distance.witness
    assert_allclose(f(x).mean() - f(y).mean(), distance, atol=1e-14)
    assert_allclose(f([[9.0, 9.0]]), [0.0])
    assert np.sqrt(mmd2(RBF(1.0), x, y, unbiased=False)) <= distance
    assert total_variation(x, np.tile(x, (3, 1))) == 0


@pytest.mark.parametrize("second", [Gaussian(-0.5, 0.6), Gaussian(0.3, 0.2), Gaussian(2.0, 1.4)])
def test_gaussians_on_the_line(second):
    first, t = Gaussian(0.3, 1.4), np.linspace(-15, 15, 200_001)
    densities = [np.exp(p.log_density(t)) for p in (first, second)]
    laws = [stats.norm(p.mean[0], p.cov.ravel()[0] ** 0.5) for p in (first, second)]
    variation = total_variation(first, second)
    assert_allclose(variation, trapezoid(np.abs(densities[0] - densities[1]), t), atol=1e-7)
    signed = variation.witness(t) * (densities[0] - densities[1])
    assert_allclose(trapezoid(signed, t), variation, atol=1e-7)
    gap = kolmogorov(first, second)
    assert_allclose(gap, np.max(np.abs(laws[0].cdf(t) - laws[1].cdf(t))), atol=1e-7)
    assert total_variation(first, first) == kolmogorov(first, first) == 0


def test_too_many_corners_are_refused():
    x = rng.normal(size=(800, 4))
    with pytest.raises(ValueError, match="more than 10,000,000,000: pass observed=True"):
        kolmogorov(x, x + 1)
    with mercer.config(memory=2**24), pytest.raises(MemoryBudgetError, match="observed=True"):
        kolmogorov(x[:, :3], x[:, :3] + 1)
