"""Mean embeddings, conditional ones and operators: against definitions, simulation and known laws."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Laplace, Linear, Tensor
from mercer.rkhs import (
    ConditionalEmbedding,
    CovarianceOperator,
    Empirical,
    Function,
    Gaussian,
    Mixture,
    coco,
    hsic,
    mean_embedding,
    mmd2,
    transformed,
)

K = RBF(0.8)


def test_values_are_expectations():
    p = Gaussian([0.0, 1.0], [[1.0, 0.4], [0.4, 0.5]])
    x = np.random.default_rng(0).normal(size=(7, 2))
    draws = p.sample(200_000, rng=1)
    assert_allclose(mean_embedding(K, p)(x), K(draws, x).mean(axis=0), atol=4e-3)
    f = Function(K, x, np.arange(7.0) - 3)
    assert_allclose(mean_embedding(K, p).inner(f), f(draws).mean(), atol=0.03)


def test_distances_of_samples_are_mmd():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(50, 2)), rng.normal(0.5, 1.0, size=(70, 2))
    p, q = mean_embedding(K, x), mean_embedding(K, y)
    assert_allclose(p.distance2(q), mmd2(K, x, y, unbiased=False), rtol=1e-9)
    witness = (p - q).function()
    assert_allclose(witness(x[:5]), (p - q)(x[:5]), rtol=1e-10)
    assert_allclose(witness.norm(), p.distance(q), rtol=1e-9)
    exact = mean_embedding(K, Gaussian(np.zeros(2), 1.0))
    assert exact.distance(p) < exact.distance(q)


def test_algebra():
    a, b = (mean_embedding(K, Gaussian(m, 1.0)) for m in (0.0, 2.0))
    mixed = mean_embedding(K, Mixture([Gaussian(0.0, 1.0), Gaussian(2.0, 1.0)], [0.3, 0.7]))
    assert a.mixture(b, weights=[0.3, 0.7]).distance(mixed) < 1e-7
    assert (sum([a, b]) / 2).distance(a.mixture(b)) < 1e-7
    assert (2 * a - a).distance(a) < 1e-7
    with pytest.raises(ValueError, match="same kernel"):
        a + mean_embedding(RBF(1.0), Gaussian(0.0, 1.0))
    with pytest.raises(TypeError, match="only embeddings of samples"):
        a.function()


def test_no_rule_at_once():
    with pytest.raises(TypeError, match="take draws instead"):
        mean_embedding(Laplace(1.0), Gaussian(0.0, 1.0))


def test_products_are_those_of_independent_variables():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(6, 1)), rng.normal(size=(5, 2))
    joint = mean_embedding(K, x).product(mean_embedding(RBF(2.0), y))
    pairs = np.array([[*a, *b] for a in x for b in y])
    kernel = Tensor(K, RBF(2.0), widths=(1, 2))
    whole = mean_embedding(kernel, pairs)
    at = rng.normal(size=(4, 3))
    assert_allclose(joint(at[:, :1], at[:, 1:]), whole(at), rtol=1e-12)
    assert_allclose(joint.norm(), whole.norm(), rtol=1e-12)
    other = mean_embedding(K, x + 1).product(mean_embedding(RBF(2.0), y))
    shifted = mean_embedding(kernel, pairs + np.array([1.0, 0.0, 0.0]))
    assert_allclose(joint.distance2(other), whole.distance2(shifted), rtol=1e-8)
    with pytest.raises(ValueError, match="points of 2 variables"):
        joint(at)


@pytest.fixture(scope="module")
def law() -> ConditionalEmbedding:
    rng = np.random.default_rng(4)
    x = rng.uniform(-2, 2, size=800)
    return ConditionalEmbedding.fit(x, x**2 + 0.4 * rng.normal(size=800))


def test_conditional_expectations(law):
    at = np.linspace(-1.5, 1.5, 7)
    assert_allclose(law.expectation(lambda y: y, at), at**2, atol=0.15)
    second = law.expectation(lambda y: np.stack([y, y**2], axis=1), at)
    assert_allclose(second[:, 1] - second[:, 0] ** 2, 0.16, atol=0.2)
    assert_allclose(law.weights(at).sum(axis=0), 1.0, atol=0.05)


def test_conditional_embedding_is_near_the_law(law):
    exact = mean_embedding(law.kernel_y, Gaussian(1.0, 0.16))
    found = law([1.0])[0]
    distance2 = found.norm2() + exact.norm2() - 2 * exact.inner(found)
    assert distance2 < 0.01


def test_ridge_by_the_dense_formula():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 40))
    law = ConditionalEmbedding.fit(x, y, kernel_x=K, kernel_y=K, ridge=0.3)
    expected = np.linalg.solve(K(x) + 0.3 * np.eye(40), K(x, [0.5]))
    assert_allclose(law.weights([0.5]), expected, rtol=1e-9)


def test_leave_one_out_is_that_of_the_loop():
    from mercer.rkhs.embeddings.conditional import _RIDGES, _chosen

    rng = np.random.default_rng(6)
    x = rng.normal(size=(30, 1))
    y = np.sin(2 * x) + 0.3 * rng.normal(size=(30, 1))
    errors = []
    for ridge in _RIDGES * 30:
        total = 0.0
        for i in range(30):
            rest = np.arange(30) != i
            w = np.linalg.solve(K(x[rest]) + ridge * np.eye(29), K(x[rest], x[i : i + 1]))[:, 0]
            total += 1 - 2 * w @ K(y[rest], y[i : i + 1])[:, 0] + w @ K(y[rest]) @ w
        errors.append(total)
    assert _chosen(K, K, x, y) == pytest.approx(30 * _RIDGES[np.argmin(errors)])


def test_sum_and_chain_rule():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(600, 1))
    y = 0.5 * x + 0.5 * rng.normal(size=(600, 1))
    law = ConditionalEmbedding.fit(x, y, kernel_x=K, kernel_y=K)
    prior = Gaussian(0.5, 0.3)
    exact = mean_embedding(K, Gaussian(0.25, 0.25 * 0.3 + 0.25))
    found = law.sum_rule(prior)
    assert found.norm2() + exact.norm2() - 2 * exact.inner(found) < 2e-3
    same = law.sum_rule(mean_embedding(K, prior))
    assert_allclose(same.weights, found.weights)
    joint = law.chain_rule(prior)
    cov = np.array([[0.3, 0.15], [0.15, 0.25 * 0.3 + 0.25]])
    draws = rng.multivariate_normal([0.5, 0.25], cov, size=4000)
    at = np.array([[0.5, 0.2], [0.0, 1.0], [1.0, 0.5]])
    truth = (K(draws[:, :1], at[:, :1]) * K(draws[:, 1:], at[:, 1:])).mean(axis=0)
    assert_allclose(joint((at[:, :1], at[:, 1:])), truth, atol=0.04)
    with pytest.raises(ValueError, match="must have the kernel"):
        law.sum_rule(mean_embedding(RBF(3.0), prior))


def test_bayes_rule_of_gaussians():
    rng = np.random.default_rng(8)
    x = rng.normal(0, 1.5, size=(500, 1))
    y = x + 0.7 * rng.normal(size=(500, 1))
    law = ConditionalEmbedding.fit(x, y, kernel_x=RBF(1.0), kernel_y=RBF(1.0))
    posterior = law.bayes_rule(Gaussian(0.5, 1.0), ridge=1e-3)
    at = np.array([-0.5, 0.5, 1.5])
    shrunk = 0.5 + 1.0 / (1.0 + 0.49) * (at - 0.5)
    weights = posterior.weights(at)
    means = posterior.expectation(lambda x: x, at) / weights.sum(axis=0)
    assert_allclose(means, shrunk, atol=0.25)


def test_operator_is_the_covariance_of_functions():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(60, 2))
    y = x[:, :1] ** 2 + 0.2 * rng.normal(size=(60, 1))
    c = CovarianceOperator.of(x, y, kernel_x=K, kernel_y=RBF(1.0))
    f = Function(K, rng.normal(size=(3, 2)), [1.0, -2.0, 0.5])
    g = Function(RBF(1.0), rng.normal(size=(2, 1)), [1.0, 1.0])
    expected = np.cov(f(x), g(y), bias=True)[0, 1]
    assert_allclose(c(g).inner(f), expected, rtol=1e-9)
    assert_allclose(c.adjoint(f).inner(g), expected, rtol=1e-9)
    assert_allclose(c.norm() ** 2, hsic(K, RBF(1.0), x, y), rtol=1e-9)
    values = c.singular_values(60)
    assert_allclose(np.sum(values**2), c.norm() ** 2, rtol=1e-6)
    assert_allclose(values[0], coco(K, RBF(1.0), x, y), rtol=1e-6)
    with pytest.raises(ValueError, match="must have the kernel"):
        c(f)


def test_covariance_of_one_variable():
    x = np.random.default_rng(10).normal(size=(50, 3))
    c = CovarianceOperator.of(x, kernel_x=Linear())
    values = np.linalg.eigvalsh(np.cov(x.T, bias=True))[::-1]
    assert_allclose(c.singular_values(3), values, rtol=1e-9)


def test_functions_of_variables():
    x, y = Empirical([[1.0], [2.0]], [0.25, 0.75]), np.array([[10.0], [20.0], [30.0]])
    z = transformed(np.add, x, y)
    assert len(z) == 6
    assert_allclose(z.weights.reshape(2, 3), [[1 / 12] * 3, [1 / 4] * 3])
    drawn = transformed(np.add, x, y, points=5, rng=0)
    assert len(drawn) == 5
    assert drawn.weights is None
    with pytest.raises(ValueError, match="one value for each of 6 combinations"):
        transformed(lambda a, b: a[:2], x, y)
    with pytest.raises(TypeError, match="at least one variable"):
        transformed(np.sin)
    with pytest.raises(TypeError, match="variable 0 must be"):
        transformed(np.sin, 3)
