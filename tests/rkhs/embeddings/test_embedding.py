"""Mean embeddings, conditional ones and operators: against definitions, simulation and known laws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Laplace, Linear, Tensor
from mercer.rkhs import (
    Bags,
    ConditionalEmbedding,
    CovarianceOperator,
    Empirical,
    Function,
    Gaussian,
    Mixture,
    coco,
    hsic,
    kernel_herding,
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


def test_distance_to_a_function_of_the_same_space():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(40, 1))
    p, q = mean_embedding(K, Gaussian(0.0, 1.0)), mean_embedding(K, x)
    assert_allclose(p.distance(q.function()), p.distance(q), rtol=1e-9)
    with pytest.raises(TypeError, match="other must be an Embedding or a Function"):
        p.distance(Gaussian(0.0, 1.0))


def test_the_distribution_of_an_embedding():
    p, q = Gaussian(0.0, 1.0), Empirical([[1.0], [2.0]], [0.25, 0.75])
    a, b = mean_embedding(K, p), mean_embedding(K, q)
    assert a.distribution is p
    mixed = a.mixture(b, weights=[0.3, 0.7])
    assert mean_embedding(K, mixed.distribution).distance(mixed) < 1e-7
    with pytest.raises(ValueError, match=r"coefficients must be probabilities, got \[1.0, -1.0\]"):
        _ = (a - b).distribution


def test_herding_from_embeddings():
    p = Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    mu = mean_embedding(K, p)
    herd, drawn = mu.herd(60, rng=0), p.sample(60, rng=0)
    assert herd.shape == (60, 2)
    assert mu.distance(mean_embedding(K, herd)) < mu.distance(mean_embedding(K, drawn)) / 2
    mixed = mu.mixture(mean_embedding(K, Gaussian([3.0, 3.0], 0.1)), weights=[0.5, 0.5])
    few = mixed.herd(30, rng=0)
    assert 0.3 < np.mean(few.sum(axis=1) > 4) < 0.7
    points = np.random.default_rng(1).normal(size=(200, 2))
    own = mean_embedding(K, points).herd(20)
    assert all((points == row).all(axis=1).any() for row in own)
    assert_allclose(own, points[kernel_herding(K, points, 20)])


def test_herding_from_conditional_embeddings(law):
    given = law([1.0])[0]
    rows = kernel_herding(None, law.y, 40, target=given)
    assert_allclose(law.y[rows].mean(), 1.0, atol=0.2)
    assert_allclose(law.y[rows].std(), 0.4, atol=0.2)
    with pytest.raises(ValueError, match="target must have the kernel"):
        kernel_herding(RBF(9.0), law.y, 5, target=given)
    with pytest.raises(TypeError, match=r"not several: take target\[j\]"):
        kernel_herding(None, law.y, 5, target=law([0.0, 1.0]))


def test_one_embedding_is_of_one_distribution():
    bags = [np.zeros((2, 1)), np.ones((3, 1))]
    for several in (bags, Bags.of(bags), [Gaussian(0.0, 1.0), [[1.0]]]):
        with pytest.raises(TypeError, match="p must be one distribution, got several"):
            mean_embedding(K, several)


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
    assert_allclose(joint.distance(other), np.sqrt(joint.distance2(other)))
    with pytest.raises(ValueError, match="points of 2 variables"):
        joint(at)
    with pytest.raises(ValueError, match="same number of variables, got 2 and 3"):
        joint.inner(other.factors[0].product(*other.factors))


@pytest.mark.parametrize("ridge", [None, 1e-6])
@pytest.mark.parametrize("kernel", [Linear(), RBF(20.0), None], ids=str)
def test_rounding_of_float32_is_not_fitted(kernel, ridge):
    rng = np.random.default_rng(2)
    x, new = (rng.normal(size=(n, 2)).astype(np.float32) for n in (60, 9))
    y = (x[:, :1] + 0.3 * rng.normal(size=(60, 1))).astype(np.float32)
    found = ConditionalEmbedding.fit(x, y, kernel_x=kernel, ridge=ridge)
    wide, points, after = (a.astype(np.float64) for a in (x, new, y))
    wanted = ConditionalEmbedding.fit(wide, after, kernel_x=kernel, ridge=ridge)
    means = [law.expectation(lambda v: v, at) for law, at in ((found, new), (wanted, points))]
    assert_allclose(*means, atol=1e-3 * np.std(after))
    size = np.abs(wanted(points)(after)).max()
    assert_allclose(found(new)(y), wanted(points)(after), atol=1e-3 * size)


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


def test_expectations_are_weighted_sums_of_the_outcomes():
    """Solved for the function, against the weights of every new point; also of a posterior."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(80, 2))
    y = np.sin(x) + 0.1 * rng.normal(size=(80, 2))
    law = ConditionalEmbedding.fit(x, y, kernel_x=K, kernel_y=RBF(1.2), ridge=0.3)
    posterior = law.bayes_rule(Gaussian([0.0, 0.0], np.eye(2)))
    for fitted, outcomes in ((law, y), (posterior, x)):
        weights, new = fitted.weights(x[:5] + 0.1), x[:5] + 0.1
        assert_allclose(
            fitted.expectation(lambda v: v[:, 0] > 0, new),
            weights.T @ (outcomes[:, 0] > 0),
            atol=1e-9,
        )
        assert_allclose(fitted.expectation(np.exp, new), weights.T @ np.exp(outcomes), atol=1e-9)


def test_leave_one_out_is_that_of_the_loop():
    from mercer.rkhs.embeddings.conditional_embedding import _RIDGES, _leave_one_out_ridge

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
    assert _leave_one_out_ridge(K, K, x, y) == pytest.approx(30 * _RIDGES[np.argmin(errors)])


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
    """X ~ N(0.5, 1), Y = X + N(0, 0.49): X given y is N(0.5 + (y - 0.5) / 1.49, 1 - 1 / 1.49)."""
    rng = np.random.default_rng(8)
    x = rng.normal(0, 1.5, size=(800, 1))  # not from the prior: Bayes' rule changes it
    law = ConditionalEmbedding.fit(x, x + 0.7 * rng.normal(size=(800, 1)))
    posterior = law.bayes_rule(Gaussian(0.5, 1.0))
    at = np.array([-0.5, 0.5, 1.5, 2.5])
    mean, variance = 0.5 + (at - 0.5) / 1.49, 1 - 1 / 1.49
    assert_allclose(posterior.weights(at).sum(axis=0), 1.0, atol=0.02)
    first = posterior.expectation(lambda x: x, at)
    assert_allclose(first, mean, atol=0.15)
    assert_allclose(posterior.expectation(lambda x: x**2, at) - first**2, variance, atol=0.2)
    for j, m in enumerate(mean):
        assert mean_embedding(law.kernel_x, Gaussian(m, variance)).distance(posterior(at)[j]) < 0.1


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
    mu = mean_embedding(K, x)
    assert_allclose(transformed(np.add, mu, y).weights, z.weights)
    assert len(transformed(np.negative, pd.DataFrame({"a": [1.0, 2.0]}))) == 2
    mixed = mu.mixture(mean_embedding(K, Gaussian(5.0, 1.0)))
    drawn = transformed(lambda v: 2 * v, mixed, points=4000, rng=0)
    assert_allclose(np.mean(drawn.points), 1.75 + 5.0, atol=0.3)
    with pytest.raises(ValueError, match="one value for each of 6 combinations"):
        transformed(lambda a, b: a[:2], x, y)
    with pytest.raises(TypeError, match="at least one variable"):
        transformed(np.sin)
    with pytest.raises(TypeError, match="variable 0 must be"):
        transformed(np.sin, 3)
