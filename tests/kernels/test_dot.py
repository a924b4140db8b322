"""Dot-product kernels against scikit-learn, their series, their features and their integrals."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, pi, prod

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn.metrics.pairwise import polynomial_kernel, sigmoid_kernel

from mercer.kernels import (
    RBF,
    ArcCosine,
    Binomial,
    DotProduct,
    ExponentialDot,
    Linear,
    Polynomial,
    Sigmoid,
)
from tests.support.arrays import torch

X, Y = np.random.default_rng(2).standard_normal((2, 9, 3))


def test_linear_with_a_metric():
    a = np.random.default_rng(0).standard_normal((2, 3))
    metric = a.T @ a  # of rank 2
    kernel = Linear(metric)
    assert_allclose(kernel(X, Y), X @ metric @ Y.T, atol=1e-13)
    assert_allclose(kernel.diag(X), np.einsum("ni,ij,nj->n", X, metric, X), rtol=1e-12)
    assert isinstance(kernel.metric, tuple)
    assert kernel == Linear(metric.tolist())
    assert len({kernel, Linear(metric)}) == 1


def test_what_is_no_metric():
    with pytest.raises(
        ValueError, match=r"metric must be positive semi-definite, got an eigenvalue -1"
    ):
        Linear([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"metric must be symmetric: use \(A \+ A.T\) / 2"):
        Linear([[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ValueError, match=r"metric must be a square matrix, got shape \(1, 2\)"):
        Linear([[1.0, 0.5]])
    with pytest.raises(ValueError, match="metric has NaN"):
        Linear([[np.nan]])
    with pytest.raises(
        ValueError, match="metric must have one row per column of x: got 2 rows for 3"
    ):
        Linear(np.eye(2))(X)


def test_scikit_learn_agrees():
    assert_allclose(Polynomial(3, 0.5)(X, Y), polynomial_kernel(X, Y, 3, 1.0, 0.5), rtol=1e-12)
    assert_allclose(Sigmoid(0.7, -0.2)(X, Y), sigmoid_kernel(X, Y, 0.7, -0.2), rtol=1e-12)


def test_polynomial_has_the_monomials_as_features():
    """(<x, y> + c)^3: monomials of (x, sqrt c) weighed by the multinomial coefficients."""

    def features(x):
        x = np.column_stack([x, np.full(len(x), 0.5**0.5)])
        columns = []
        for powers in combinations_with_replacement(range(4), 3):
            repeats = [powers.count(i) for i in range(4)]
            weight = factorial(3) / prod(factorial(r) for r in repeats)
            columns.append(weight**0.5 * np.prod(x[:, powers], axis=1))
        return np.column_stack(columns)

    assert_allclose(Polynomial(3, 0.5)(X, Y), features(X) @ features(Y).T, atol=1e-12)


def test_taylor_kernels_are_their_series():
    x, y = 0.3 * X, 0.3 * Y
    dot, n = x @ y.T, np.arange(1, 60)
    exponential = np.cumprod(0.7 / n)
    binomial = np.cumprod((1.6 + n - 1) / n)  # (-1)^n binom(-1.6, n) = prod (1.6 + i - 1) / i
    for kernel, coefficients in ((ExponentialDot(0.7), exponential), (Binomial(1.6), binomial)):
        assert (coefficients > 0).all()
        series = 1 + sum(c * dot**i for i, c in zip(n, coefficients, strict=True))
        small = np.abs(dot) < 0.6
        assert_allclose(kernel.pairwise(x, y)[small], series[small], rtol=1e-9)


def test_normalized_exponential_is_an_rbf():
    assert_allclose(ExponentialDot(0.7).normalized()(X, Y), RBF(0.7**-0.5)(X, Y), rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_arc_cosine_is_a_wide_layer(n):
    """2 E max(0, <w, x>)^n max(0, <w, y>)^n for Gaussian w in the plane, in polar coordinates."""

    def layer(x, y):
        def unit(angle):
            w = np.array([np.cos(angle), np.sin(angle)])
            return (w @ x > 0) * (w @ y > 0) * (w @ x) ** n * (w @ y) ** n

        edges = np.sort(
            [(np.arctan2(*v[::-1]) + s) % (2 * pi) for v in (x, y) for s in (pi / 2, -pi / 2)]
        )
        mean = quad(unit, 0, 2 * pi, points=edges, limit=200)[0] / (2 * pi)
        return 2 * mean * 2**n * factorial(n)

    x, y = X[:4, :2], Y[:3, :2]
    expected = [[layer(a, b) for b in y] for a in x]
    assert_allclose(ArcCosine(n)(x, y), expected, rtol=1e-7)


def test_arc_cosine_near_equal_and_opposite_points():
    angle = np.array([0.0, 1e-12, 1e-7, 0.5, pi - 1e-9, pi])
    y = np.column_stack([np.cos(angle), np.sin(angle)])
    k = ArcCosine(0)([[1.0, 0.0]], y)[0]
    assert_allclose(k, 1 - angle / pi, atol=1e-15)
    assert_allclose(ArcCosine(1)([[3.0, 0.0]])[0, 0], 9.0, rtol=1e-15)
    assert_allclose(ArcCosine(2)([[3.0, 0.0]])[0, 0], 3 * 81.0, rtol=1e-15)


def test_arc_cosine_takes_the_zero_vector():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert_allclose(ArcCosine(0)(x), [[1, 0.5, 1], [0.5, 1, 0.5], [1, 0.5, 1]], atol=1e-15)
    assert_allclose(ArcCosine(1)(x), [[0, 0, 0], [0, 1, 0], [0, 0, 0]], atol=1e-15)
    t = torch.tensor(x, requires_grad=True)
    ArcCosine(1).pairwise(t, t).sum().backward()
    assert torch.isfinite(t.grad).all()


def test_sigmoid_says_what_it_is():
    assert "**not** positive definite" in Sigmoid.__doc__


def test_domains_and_overflow():
    with pytest.raises(
        ValueError, match=r"x must lie inside the unit ball, got points as long as 1: "
    ):
        Binomial()([[0.6, 0.8]])
    with pytest.raises(
        ValueError, match=r"y must lie inside the unit ball, got points as long as 2"
    ):
        Binomial()([[0.0]], [[2.0]])
    with pytest.raises(
        ValueError, match=r"x has points of squared norm 900, at which the kernel overf"
    ):
        ExponentialDot()([[30.0]])
    with pytest.raises(ValueError, match="overflows float64: divide the data by a constant"):
        Polynomial(3)([[1e60]])
    with pytest.raises(ValueError, match="overflows"):
        ArcCosine(2)([[1e90]])
    with pytest.raises(ValueError, match="overflows torch.float32"):
        ExponentialDot()(torch.tensor([[10.0]]))
    assert np.isfinite(Polynomial(3)([[1e40]])).all()


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="offset must be a non-negative number, got -1"):
        Polynomial(2, -1.0)
    with pytest.raises(TypeError, match=r"degree must be a whole number, got 2.5"):
        Polynomial(2.5)
    with pytest.raises(ValueError, match="degree must be 0, 1 or 2, got 3"):
        ArcCosine(3)
    with pytest.raises(ValueError, match="exponent must be a positive number"):
        Binomial(0.0)
    with pytest.raises(ValueError, match="scale must be a positive number"):
        ExponentialDot(-1.0)
    with pytest.raises(ValueError, match="offset must be a number"):
        Sigmoid(1.0, np.nan)


def test_profiles_are_the_one_formula():
    dot = X @ Y.T
    for kernel in (Linear(), Polynomial(2), ExponentialDot(0.1), Sigmoid()):
        assert isinstance(kernel, DotProduct)
        assert kernel.embed(X) is X
        assert_allclose(kernel.profile(dot), kernel(X, Y), rtol=1e-13)
