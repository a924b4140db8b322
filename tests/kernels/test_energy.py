"""Laplace and energy kernels against scikit-learn, dcor and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import energy_distance
from sklearn.metrics.pairwise import laplacian_kernel

from mercer.kernels import Brownian, Energy, Exponential, Laplace, Linear
from tests.support.arrays import torch
from tests.support.peer_libraries import dcor

RNG = np.random.default_rng(1)
X, Y = RNG.standard_normal((30, 3)), RNG.standard_normal((20, 3)) * 1.5 + 0.5


def mmd2(k, x, y):
    return k(x).mean() + k(y).mean() - 2 * k(x, y).mean()


def hsic(k, x, y):
    n = len(x)
    h = np.eye(n) - 1 / n
    return np.trace(k(x) @ h @ k(y) @ h) / n**2


def test_laplace():
    assert_allclose(Laplace(2.0)(X, Y), laplacian_kernel(X, Y, gamma=0.5), rtol=1e-13)
    assert_allclose(Laplace(2.0)(X[:, :1]), Exponential(2.0)(X[:, :1]), rtol=1e-14)


@pytest.mark.parametrize("power", [0.3, 1.0, 1.7])
def test_twice_mmd2_is_the_energy_distance(power):
    theirs = dcor.energy_distance(X, Y, exponent=power)
    assert 2 * mmd2(Energy(power), X, Y) == pytest.approx(theirs, rel=1e-10)


def test_twice_mmd2_is_the_energy_distance_of_scipy():
    x, y = X[:, 0], Y[:, 0]
    assert 2 * mmd2(Energy(), x, y) == pytest.approx(energy_distance(x, y) ** 2, rel=1e-12)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_four_hsic_is_the_squared_distance_covariance(power):
    y = X[:, :1] ** 2 + 0.1 * RNG.standard_normal((30, 1))
    theirs = dcor.distance_covariance_sqr(X, y, exponent=power)
    assert 4 * hsic(Energy(power), X, y) == pytest.approx(theirs, rel=1e-10)


def test_special_cases():
    assert_allclose(Energy(2.0)(X, Y), Linear()(X, Y), atol=1e-13)
    times = np.abs(X[:, :1])
    assert_allclose(Energy()(times), Brownian()(times), atol=1e-14)  # Brownian motion
    assert_allclose(Energy()(times, -times), 0, atol=1e-15)  # two directions, independent


def test_gradient_at_the_origin_is_finite():
    x = torch.zeros((2, 2), dtype=torch.float64, requires_grad=True)
    Energy(0.5).pairwise(x, x).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_power_is_at_most_two():
    with pytest.raises(ValueError, match=r"power must be at most 2, got 2.1: .* not conditionally"):
        Energy(2.1)
    with pytest.raises(ValueError, match="power must be a positive number, got 0"):
        Energy(0)
    x = RNG.standard_normal((12, 2))  # and this is why
    r = np.linalg.norm(x[:, None] - x, axis=2) ** 2.5
    n = np.linalg.norm(x, axis=1) ** 2.5
    assert np.linalg.eigvalsh(n[:, None] + n - r)[0] < -1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_finite_at_the_largest_points_that_are_accepted(dtype, power):
    """`finite_diagonal` promises this, so that values at accepted points are not checked."""
    limit = 0.999 * np.sqrt(np.finfo(dtype).max / (16 * 3))
    x = np.array([[limit] * 3, [-limit] * 3, [0.0] * 3], dtype=dtype)
    assert Energy.finite_diagonal
    assert np.isfinite(Energy(power).diag(Energy(power).accept(x))).all()
    with pytest.raises(ValueError, match="squares overflow"):
        Energy(power).accept(1.01 * x)
