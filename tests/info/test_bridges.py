"""Where integral probability metrics meet kernels: the statements of docs/guide/information.md."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid

from mercer.errors import NoRule
from mercer.info import (
    KSG,
    CharacteristicFunction,
    divergence,
    kolmogorov,
    mutual_information,
    total_variation,
    wasserstein,
)
from mercer.kernels import RBF, Energy, Laplace, spectral_density
from mercer.rkhs import Dirac, Empirical, Gaussian, Mixture, Uniform, hsic, mean_embedding, mmd2

rng = np.random.default_rng(1)
X, Y = rng.normal(size=40), rng.normal(0.7, 1.4, size=30)
GRID = np.linspace(-12, 12, 20_001)


def windows(sample, width):
    """Density estimate with Gaussian windows, on the grid."""
    z = (GRID[:, None] - sample) / width
    return np.exp(-(z**2) / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("width", [0.3, 1.0])
def test_mmd_is_the_l2_distance_of_density_estimates(width):
    distance = trapezoid((windows(X, width) - windows(Y, width)) ** 2, GRID)
    kernel = RBF(width * np.sqrt(2))
    mmd = mmd2(kernel, X, Y, unbiased=False)
    assert_allclose(distance, mmd / np.sqrt(4 * np.pi * width**2), rtol=1e-6)


@pytest.mark.parametrize("kernel", [RBF(0.2), RBF(1.0), Laplace(0.5)])
def test_total_variation_bounds_the_mmd(kernel):
    for other in (Gaussian(0.5, 2.0), Gaussian(0.0, 0.3)):
        if isinstance(kernel, RBF):
            first = mean_embedding(kernel, Gaussian(0.0, 1.0))
            assert first.distance(mean_embedding(kernel, other)) <= total_variation(
                Gaussian(0.0, 1.0), other
            )
    counts = rng.integers(3, size=50), rng.integers(4, size=60)
    discrete = np.sqrt(mmd2(kernel, *counts, unbiased=False))
    assert discrete <= total_variation(*counts)
    if isinstance(kernel, RBF):  # |phi(x) - phi(y)| <= |x - y| / s
        assert np.sqrt(mmd2(kernel, X, Y, unbiased=False)) <= wasserstein(X, Y) / kernel.bandwidth


def test_mmd_is_the_weighted_distance_of_characteristic_functions():
    kernel, omega = RBF(0.8), np.linspace(-15, 15, 8001)
    first, second = CharacteristicFunction(X), CharacteristicFunction(Y)
    weights = spectral_density(kernel, omega[:, None])
    distance = trapezoid(np.abs(first(omega) - second(omega)) ** 2 * weights, omega)
    assert_allclose(distance, mmd2(kernel, X, Y, unbiased=False), rtol=1e-6)
    assert_allclose(first.mmd2(second, 3 * kernel, rng=0), 3 * distance, rtol=0.05)
    p, q = (
        Gaussian([0.0, 1.0], [1.0, 2.0]),
        Mixture([Dirac([0.0, 1.0]), P], [0.3, 0.7]),
    )
    random = CharacteristicFunction(p).mmd2(CharacteristicFunction(q), kernel, rng=0)
    closed = mean_embedding(kernel, p).distance(mean_embedding(kernel, q)) ** 2
    assert_allclose(random, closed, rtol=0.05)


P = Uniform([-1.0, 0.0], [2.0, 1.0])


def test_characteristic_functions_of_distributions_are_those_of_many_draws():
    omega = rng.normal(size=(5, 2))
    for p in (P, Gaussian([0.5, 1.0], [1.0, 2.0]), Mixture([P, Dirac([0.5, -1.0])], [0.4, 0.6])):
        draws = CharacteristicFunction(p.sample(20_000, rng=1))(omega)  # errors of 1 / sqrt(20,000)
        assert_allclose(CharacteristicFunction(p)(omega), draws, atol=0.03)
    weighted = CharacteristicFunction(Empirical([[0.0], [1.0]], [0.25, 0.75]))
    assert_allclose(weighted([2.0]), [0.25 + 0.75 * np.exp(2j)])
    with pytest.raises(ValueError, match="omega must have 1 columns"):
        weighted([[1.0, 2.0]])
    with pytest.raises(ValueError, match="same dimension"):
        weighted.mmd2(CharacteristicFunction(P), RBF(1.0))
    with pytest.raises(NoRule, match="take a sample"):
        CharacteristicFunction(scipy.stats.gamma(2.0))


def test_information_bounds_hsic():
    """HSIC = MMD^2(P_xy, P_x P_y) <= TV^2 <= 2 KL = 2 I for kernels up to 1 (Pinsker; TV is up to 2)."""
    draws = rng.normal(size=(2, 3_000))
    for rho in (0.3, 0.9):
        joint, apart = (Gaussian([0.0, 0.0], [[1.0, r], [r, 1.0]]) for r in (rho, 0.0))
        information = divergence(joint, apart)
        assert_allclose(information, -np.log(1 - rho**2) / 2, rtol=1e-9)
        for kernel in (RBF(0.3), RBF(1.0), RBF(3.0)):
            gap = mean_embedding(kernel, joint).distance(mean_embedding(kernel, apart)) ** 2
            assert 0 < gap <= 2 * information
    x, y = draws[0], 0.9 * draws[0] + np.sqrt(1 - 0.9**2) * draws[1]
    kernel = RBF(1.0)
    closed = mean_embedding(kernel, joint).distance(mean_embedding(kernel, apart)) ** 2
    assert_allclose(hsic(kernel, kernel, x, y), closed, rtol=0.1)  # five standard errors
    # Units change HSIC, and not the information.
    assert hsic(kernel, kernel, 10 * x, y) < 0.7 * hsic(kernel, kernel, x, y)
    information = mutual_information(x, y, estimator=KSG())
    assert_allclose(mutual_information(x**3, y, estimator=KSG()), information, rtol=0.15)


def test_three_distances_of_cumulative_distributions():
    jumps = np.sort(np.concatenate([X, Y]))
    gap = np.array([np.mean(t >= X) - np.mean(t >= Y) for t in jumps])[:-1]
    steps = np.diff(jumps)
    assert_allclose(2 * mmd2(Energy(), X, Y, unbiased=False), 2 * steps @ gap**2, rtol=1e-10)
    assert_allclose(wasserstein(X, Y), steps @ np.abs(gap), rtol=1e-10)
    assert_allclose(kolmogorov(X, Y), np.max(np.abs(gap)), rtol=1e-10)
