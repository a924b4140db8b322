"""Where integral probability metrics meet kernels: the statements of docs/guide/information.md."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid

from mercer.info import kolmogorov, total_variation, wasserstein
from mercer.kernels import RBF, Energy, Laplace, spectral_density
from mercer.rkhs import Gaussian, mean_embedding, mmd2

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
    first, second = (np.exp(1j * omega[:, None] * s).mean(axis=1) for s in (X, Y))
    weights = spectral_density(kernel, omega[:, None])
    distance = trapezoid(np.abs(first - second) ** 2 * weights, omega)
    total = trapezoid(weights, omega)  # the density may be normalised otherwise: k(0) = 1
    assert_allclose(distance / total, mmd2(kernel, X, Y, unbiased=False), rtol=1e-6)


def test_three_distances_of_cumulative_distributions():
    jumps = np.sort(np.concatenate([X, Y]))
    gap = np.array([np.mean(t >= X) - np.mean(t >= Y) for t in jumps])[:-1]
    steps = np.diff(jumps)
    assert_allclose(2 * mmd2(Energy(), X, Y, unbiased=False), 2 * steps @ gap**2, rtol=1e-10)
    assert_allclose(wasserstein(X, Y), steps @ np.abs(gap), rtol=1e-10)
    assert_allclose(kolmogorov(X, Y), np.max(np.abs(gap)), rtol=1e-10)
