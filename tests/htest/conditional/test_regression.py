"""Variance components and residuals against dense formulas, and what they find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer.htest.conditional.basis import (
    EffectBasis,
    NumericTable,
    additive_basis,
    telling_pairs,
    with_joint_effects,
    within_reach,
)
from mercer.htest.conditional.bias_aware import MeanProduct, variance_correction
from mercer.htest.conditional.bias_variance import sharpest_weights
from mercer.htest.conditional.regression import regress, regress_on, standard
from mercer.htest.conditional.variance_components import Components, fitted_components


def table(values: np.ndarray) -> NumericTable:
    return NumericTable(values, (False,) * values.shape[1])


def problem(n: int = 120, d: int = 3, seed: int = 0) -> tuple[NumericTable, np.ndarray]:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    return table(z), standard(np.sin(2 * z[:, 0]) + z[:, 1] + 0.5 * rng.normal(size=n))


def dense_covariance(model: Components) -> np.ndarray:
    scaled = model.basis.features * model.scales
    return scaled @ scaled.T + model.noise * np.eye(model.basis.n)


@pytest.mark.parametrize("n", [35, 400], ids=["more features than rows", "fewer"])
def test_the_likelihood_is_that_of_the_normal_distribution(n):
    z, t = problem(n)
    basis = additive_basis(z)
    assert basis.wide == (n == 35)
    rng = np.random.default_rng(1)
    models = [Components(basis, rng.uniform(0.1, 1, len(basis.blocks)), s) for s in (0.3, 0.7)]
    ours = [m.log_likelihood(t) for m in models]
    exact = [multivariate_normal(np.zeros(n), dense_covariance(m)).logpdf(t) for m in models]
    assert ours[0] - ours[1] == pytest.approx(exact[0] - exact[1], rel=1e-9)


@pytest.mark.parametrize("n", [35, 400])
def test_updates_raise_the_likelihood_and_end_where_its_slope_is_zero(n):
    z, t = problem(n)
    basis = additive_basis(z)
    start = Components(basis, np.full(len(basis.blocks), 0.1), 0.5)
    values = []
    for _ in range(200):
        values.append(start.log_likelihood(t))
        start = start.updated(t)
    assert values[-1] > values[0]
    large = int(np.argmax(start.weights))
    step = 1e-4 * start.weights[large] * np.eye(len(basis.blocks))[large]
    up, down = (Components(basis, start.weights + s, start.noise) for s in (step, -step))
    slope = (up.log_likelihood(t) - down.log_likelihood(t)) / 2e-4
    assert abs(slope) < 0.02


@pytest.mark.parametrize("n", [35, 400])
def test_left_over_is_noise_times_the_inverse_covariance(n):
    z, t = problem(n)
    model = fitted_components(additive_basis(z), t)
    dense = model.noise * np.linalg.solve(dense_covariance(model), t)
    np.testing.assert_allclose(model.left_over(t), dense, atol=1e-7)
    prediction = model.basis.features @ model.coefficients(t)
    np.testing.assert_allclose(prediction, t - dense, atol=1e-6)


def test_the_weights_say_which_column_matters_and_how():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 3))
    t = standard(np.sin(3 * z[:, 1]) + 0.5 * rng.normal(size=400))
    basis = additive_basis(table(z))
    model = fitted_components(basis, t)
    best = int(np.argmax(model.weights))
    assert basis.blocks[best].kind == "rough"
    assert 3 <= best < 6  # line, wiggly and smooth effects of each column
    assert model.noise == pytest.approx(0.25 / 0.75, rel=0.25)


@pytest.mark.parametrize("n", [35, 500])
def test_residuals_and_their_bias_are_those_of_the_dense_smoother(n):
    z, t = problem(n)
    basis = additive_basis(z)
    residuals = regress(basis, t)
    fitted = fitted_components(basis, t)
    generous, hidden = fitted.with_hidden_effects(t)
    signal = dense_covariance(generous) - generous.noise * np.eye(n)
    values, vectors = np.linalg.eigh(signal + 1e3 * np.ones((n, n)))
    values, vectors = values[:-1], vectors[:, :-1]  # the last direction is the mean
    shares = np.sqrt(sharpest_weights(np.maximum(values, 0.0) / generous.noise))
    left = (vectors * shares) @ vectors.T  # I - S
    assert residuals.hidden == hidden
    near = {"atol": 1e-4, "rtol": 0}  # directions below 1e-9 of the largest eigenvalue are dropped
    np.testing.assert_allclose(residuals.values, left @ t, **near)
    np.testing.assert_allclose(residuals.bias, np.diag(left @ signal @ left), **near)
    np.testing.assert_allclose(residuals.removed - 1 / n, 1 - 1 / n - np.diag(left @ left), **near)


@pytest.mark.parametrize("unbiased", [0, 40])
def test_no_other_weights_detect_a_weaker_dependence(unbiased):
    rng = np.random.default_rng(unbiased)
    bias = np.concatenate([rng.exponential(0.2, size=30), np.zeros(unbiased)])

    def detected(a):
        return (2.0 * np.linalg.norm(a) + a @ bias) / np.sum(a)

    weights = np.concatenate([sharpest_weights(bias[:30], unbiased), np.ones(unbiased)])
    best = detected(weights)
    scale = np.max(weights)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        moves = weights + size * scale * rng.normal(size=(200, len(bias)))
        assert min(detected(np.maximum(a, 0.0)) for a in moves) >= best - 1e-12


def test_the_correction_is_the_variance_of_sums_of_products_of_residuals_of_noise():
    z, t = problem(100)
    x, y = regress(additive_basis(z), t), regress(additive_basis(z), standard(t**2))
    rng = np.random.default_rng(0)
    n, draws = 100, 4000
    smoothed = []
    for r in (x, y):
        e = rng.normal(size=(n, draws))
        e -= e.mean(axis=0)
        smoothed.append(e - r.vectors @ ((1 - r.shares)[:, None] * (r.vectors.T @ e)))
    products = smoothed[0] * smoothed[1]
    ratio = np.var(products.sum(axis=0)) / np.sum(np.mean(products**2, axis=1))
    assert variance_correction(x, y) == pytest.approx(ratio, rel=0.1)


def test_bias_aware_pvalues_are_the_worst_over_all_biases():
    rng = np.random.default_rng(0)
    t, b = 2.1, 0.6
    for bias in np.linspace(-b, b, 7):
        share = np.mean(np.abs(rng.normal(size=200_000) + bias) >= t)
        assert share <= MeanProduct(t, b).pvalue + 0.003
    assert share == pytest.approx(MeanProduct(t, b).pvalue, abs=0.003)
    assert MeanProduct(1.96, 0.0).pvalue == pytest.approx(0.05, abs=1e-4)


def test_pairs_that_act_together_are_found():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 6))
    residuals = np.sin(2 * z[:, 1] + z[:, 4]) + 0.3 * rng.normal(size=300)
    assert (1, 4) in telling_pairs(z, [residuals])
    basis, (found,) = regress_on(table(z), [standard(residuals)])
    assert isinstance(basis, EffectBasis)
    assert found.explained > 0.6


def test_far_rows_are_left_out_and_sparse_ones_count_little():
    z = np.random.default_rng(0).standard_cauchy(size=(500, 1))
    rows = within_reach(table(z))
    assert 0.8 < np.mean(rows) < 0.99
    assert np.max(np.abs(z[~rows])) > 5
    basis = with_joint_effects(additive_basis(table(z[rows])), table(z[rows]), (), ())
    wiggly = next(block for block in basis.blocks if block.kind == "rough")
    assert wiggly.missed is not None
    far = np.argsort(-np.abs(z[rows][:, 0]))[:5]
    assert np.mean(wiggly.missed[far]) > 100 * np.median(wiggly.missed)
