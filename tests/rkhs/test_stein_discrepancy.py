"""The kernel Stein discrepancy: the mean of Stein kernels, by tiles, and zero for the model itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import NoRule
from mercer.kernels import RBF, InverseMultiquadric, Laplace, Stein, median_bandwidth
from mercer.rkhs import Gaussian, Mixture, Quadrature, ksd2
from tests.support.arrays import torch

P = Gaussian([1.0, -1.0], [[2.0, 0.5], [0.5, 1.0]])
K = InverseMultiquadric(1.5)


def test_it_is_the_mean_of_the_stein_kernel():
    x = P.sample(60, rng=0) + 0.3
    h = Stein(K, P.score)(x)
    assert_allclose(ksd2(K, P.score, x, unbiased=False), h.mean(), rtol=1e-11)
    assert_allclose(ksd2(K, P.score, x), (h.sum() - np.trace(h)) / (60 * 59), rtol=1e-11)


def test_two_normal_distributions_have_a_formula():
    """E k_p of N(m, 1) by N(0, 1): m^2 E k(X, X'), as s_p - s_q = -m everywhere."""
    m, s = 0.7, 1.3
    rule = Quadrature.hermite(m, 1.0, 60)
    h = Stein(RBF(s), lambda v: -v)(rule.nodes)
    expected = m**2 * s / np.sqrt(s**2 + 2)
    assert_allclose(rule.weights @ h @ rule.weights, expected, rtol=1e-10)
    x = m + np.random.default_rng(0).normal(size=4000)
    assert_allclose(ksd2(RBF(s), lambda v: -v, x), expected, rtol=0.15)


def test_tiles_give_what_the_dense_matrix_gives():
    x = P.sample(1500, rng=1)  # more than one tile
    h = Stein(K, P.score)(x)
    with mercer.config(memory=2**24):
        assert_allclose(ksd2(K, P.score, x, unbiased=False), h.mean(), rtol=1e-8)


def test_the_unbiased_one_is_zero_on_average_under_the_model():
    p = Mixture([P, Gaussian([-2.0, 0.0], [0.5, 1.5])], [0.3, 0.7])
    values = np.array([ksd2(K, p.score, p.sample(40, rng=seed)) for seed in range(400)])
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(400)
    assert ksd2(K, p.score, P.sample(500, rng=0)) > 10 * values.std() * 40 / 500


def test_the_default_kernel():
    x = P.sample(50, rng=0)
    assert ksd2(None, P.score, x) == ksd2(InverseMultiquadric(median_bandwidth(x)), P.score, x)


def test_tensors():
    x = P.sample(50, rng=0)
    assert_allclose(ksd2(K, P.score, torch.tensor(x)), ksd2(K, P.score, x), rtol=1e-10)


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"ksd2\(unbiased=True\) needs at least 2 points in x"):
        ksd2(K, P.score, [[0.0, 0.0]])
    assert ksd2(K, P.score, [[0.0, 0.0]], unbiased=False) > 0
    with pytest.raises(TypeError, match="score must be a function"):
        ksd2(K, P, P.sample(5, rng=0))
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        ksd2("rbf", P.score, P.sample(5, rng=0))
    with pytest.raises(NoRule, match="two derivatives"):
        ksd2(Laplace(), P.score, P.sample(5, rng=0))
    with pytest.raises(ValueError, match="x must have 2 columns"):
        ksd2(K, P.score, np.zeros((5, 3)))
