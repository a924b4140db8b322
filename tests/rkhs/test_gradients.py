"""Gradients of functions, the canonical distance that bounds their differences, and moment generating functions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.features import RandomFourier, RandomPhaseFourier
from mercer.kernels import RBF, ExponentialDot, Laplace, Linear, Polynomial, canonical_distance
from mercer.rkhs import Function, Gaussian, Mixture, mean_embedding

RNG = np.random.default_rng(0)
POINTS, WEIGHTS = RNG.normal(size=(12, 3)), RNG.normal(size=12)


@pytest.mark.parametrize(
    "kernel",
    [RBF(1.2), Polynomial(3), RBF(0.8) * Linear() + 2.0, RBF(1.0).scaled((1.0, 0.5, 2.0)), RBF(1.0).select(1)],
    ids=repr,
)  # fmt: skip
def test_gradients_are_limits_of_differences(kernel):
    f, x, h = Function(kernel, POINTS, WEIGHTS), RNG.normal(size=(5, 3)), 1e-5
    steps = np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
    assert_allclose(f.gradient(x), steps, rtol=1e-6, atol=1e-7)


def test_what_has_no_gradient():
    with pytest.raises(NoRule, match="no derivatives"):
        Function(Laplace(1.0), POINTS, WEIGHTS).gradient(POINTS)
    with pytest.raises(TypeError, match="one function"):
        Function(RBF(1.0), POINTS, np.eye(12)).gradient(POINTS)


@pytest.mark.parametrize("kernel", [RBF(1.2), Laplace(1.0), Polynomial(2)], ids=repr)
def test_the_norm_is_a_lipschitz_constant(kernel):
    """|f(x) - f(y)| <= |f| d_k(x, y), with equality for f = k(x, .) - k(y, .)."""
    f, x, y = Function(kernel, POINTS, WEIGHTS), RNG.normal(size=(6, 3)), RNG.normal(size=(7, 3))
    d = canonical_distance(kernel, x, y)
    assert np.all(np.abs(f(x)[:, None] - f(y)) <= f.norm() * d + 1e-12)
    g = Function(kernel, np.stack([x[0], y[0]]), np.array([1.0, -1.0]))
    assert_allclose(g.norm(), d[0, 0], rtol=1e-10)
    assert_allclose(np.diag(canonical_distance(kernel, x)), 0.0, atol=1e-7)


def test_embeddings_by_the_exponential_kernel_are_moment_generating_functions():
    k = ExponentialDot(0.8)
    p = Gaussian([0.3, -0.2], [[0.3, 0.1], [0.1, 0.2]])
    q = Gaussian([0.5, 0.1], [[0.2, -0.05], [-0.05, 0.4]])
    mu, nu = mean_embedding(k, p), mean_embedding(k, q)
    z = np.array([[0.5, -1.0], [0.0, 0.0], [0.2, 0.7]])
    draws = p.sample(200_000, rng=1)
    # the relative error of the mean of exp(a z'X) is about 0.5 / sqrt(200,000)
    assert_allclose(mu(z), np.exp(0.8 * draws @ z.T).mean(axis=0), rtol=0.01)
    assert_allclose(mu(z[1:2]), 1.0)
    assert_allclose(mu.inner(nu), np.mean(np.asarray(nu(draws))), rtol=0.01)
    assert_allclose(mu.inner(nu), nu.inner(mu), rtol=1e-12)
    mixture = mean_embedding(k, Mixture([p, q], [0.25, 0.75]))
    assert_allclose(mixture(z), 0.25 * mu(z) + 0.75 * nu(z), rtol=1e-12)
    with pytest.raises(ValueError, match="infinite"):
        mean_embedding(k, Gaussian([0.0, 0.0], 2.0)).norm()


def test_random_phases_are_unbiased_and_pairs_have_less_variance():
    x = RNG.normal(size=(8, 2))
    exact = RBF(1.5)(x)
    errors = {}
    for kind in (RandomPhaseFourier, RandomFourier):
        values = []
        for seed in range(60):
            options = {} if kind is RandomPhaseFourier else {"orthogonal": False}
            z = kind(RBF(1.5), 64, random_state=seed, **options).fit_transform(x)
            values.append(z @ z.T)
        # 60 means of 64 cosines: standard error at most 1 / sqrt(64 * 60) = 0.016
        assert_allclose(np.mean(values, axis=0), exact, atol=0.08)
        errors[kind] = float(np.mean((np.array(values) - exact) ** 2))
    assert errors[RandomFourier] < errors[RandomPhaseFourier]
