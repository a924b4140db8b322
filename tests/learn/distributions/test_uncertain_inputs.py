"""Uncertain inputs: densities around points, the risk bound, missing features, and the second-order cone machine."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import ndtri
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from mercer.errors import NoRule
from mercer.kernels import RBF, Laplace, Linear
from mercer.learn import (
    SVC,
    ConditionalGaussians,
    FlexSVC,
    Huber,
    Logistic,
    Pinball,
    SecondOrderConeSVC,
    Squared,
    SupportMeasureMachine,
    risk_deviation,
)
from mercer.rkhs import Bags, Empirical, Function, Gaussian, MeanMap, Mixture, Uniform


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    return x, np.where(x[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, -1)


def box(point, width):
    return Uniform(point - width, point + width)


def two_bumps(point, width):
    return Mixture([Gaussian(point - width, [0.1, 0.4]), Gaussian(point + width, 0.2)])


@pytest.mark.parametrize("density", [box, two_bumps])
def test_any_density_around_points_is_a_machine_with_its_expected_kernel(points, density):
    """Lemma 4 of Muandet et al. (2012): K_g(x, z) = E k(X, Z); here as the SVM with the matrix of Monte Carlo values."""
    x, y = points
    flex = FlexSVC(0.8, 3.0, tol=1e-10, density=density).fit(x, y, widths=np.full(60, 0.5))
    new = x[:10] + 0.2
    laws = [density(p, 0.5) for p in x]
    machine = SupportMeasureMachine(MeanMap(RBF(0.8)), 3.0, tol=1e-10).fit(laws, y)
    expected = machine.decision_function([density(p, 0.5) for p in new])
    assert_allclose(flex.decision_function(new), expected, atol=1e-7)
    a, b = density(x[0], 0.5).sample(4000, rng=0), density(new[1], 0.5).sample(4000, rng=1)
    drawn = RBF(0.8)(a, b)
    found = MeanMap(RBF(0.8))(laws[:1], [density(new[1], 0.5)])[0, 0]
    error = np.sqrt((drawn.mean(axis=1).var() + drawn.mean(axis=0).var()) / 4000)
    assert abs(found - drawn.mean()) < 5 * error


def test_a_density_by_quadrature(points):
    """A density without a closed form, as nodes with weights: nodes of a normal one give the normal one."""
    x, y = points
    t, w = np.polynomial.hermite_e.hermegauss(12)
    nodes = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    weights = np.outer(w, w).ravel() / np.sum(w) ** 2
    flex = FlexSVC(1.0, density=lambda p, s: Empirical(p + s * nodes, weights), tol=1e-10)
    plain = FlexSVC(1.0, tol=1e-10)
    for machine in (flex, plain):
        machine.fit(x, y, widths=np.full(60, 0.3))
    assert_allclose(flex.decision_function(x[:5]), plain.decision_function(x[:5]), atol=1e-6)
    with pytest.raises(TypeError, match="density must be None or a function"):
        FlexSVC(density=3.0).fit(x, y)


@pytest.mark.parametrize("loss", [None, Logistic(), Huber(0.5), Pinball(0.8)])
def test_the_risk_bound_holds_and_is_sharp(loss):
    """Theorem 3 of Muandet et al. (2012), and without its factor 2, on random functions and distributions."""
    rng = np.random.default_rng(1)
    kernel = 2.0 * RBF(0.7) + Linear()
    f = Function(kernel, rng.normal(size=(20, 2)), rng.normal(size=20))
    laws = [Gaussian(rng.normal(size=2), s**2) for s in np.geomspace(0.01, 3.0, 12)]
    laws += [Uniform([-1.0, 0.0], [2.0, 0.5]), rng.normal(size=(50, 2)), Mixture(laws[:3])]
    y = rng.choice([-1.0, 1.0], size=len(laws))
    found = risk_deviation(f, laws, y, loss=loss, draws=500, rng=0)
    assert np.all(found.deviation <= found.variance_bound * (1 + 1e-12))
    assert np.all(2 * found.variance_bound <= found.bound * (1 + 1e-12))
    assert found.risk_deviation <= found.bound.mean()
    assert found.deviation.max() > 0.05  # there is something to bound
    # l(y, E f) by the embedding, l(y, f(X)) by the definition, for the sample in the list
    bag = laws[13]
    assert_allclose(found.averaged_loss[13], np.mean(_value(loss, y[13], f(bag))), rtol=1e-12)
    assert_allclose(found.loss_of_average[13], _value(loss, y[13], np.mean(f(bag))), rtol=1e-12)


def _value(loss, y, f):
    return np.maximum(1 - y * f, 0.0) if loss is None else loss.value(np.float64(y), np.asarray(f))


def test_the_bound_is_attained_without_its_factor():
    """f(x) = x, two points at distance 2 sigma, hinge at its kink: deviation = C_l C_f sigma exactly."""
    found = risk_deviation(lambda x: x[:, 0], [[[0.5], [1.5]]], [1.0], lipschitz=1.0)
    assert_allclose(found.deviation, 0.25)  # E max(0, 1 - x) = 1/4 at sigma = 1/2
    wide = risk_deviation(lambda x: np.abs(x[:, 0]), [[[-1.0], [1.0]]], [1.0], lipschitz=1.0)
    assert wide.bound[0] == 2.0
    assert wide.deviation[0] == 0.0
    pinball = risk_deviation(
        lambda x: x[:, 0], [[[-1.0], [1.0]]], [0.0], lipschitz=1.0, loss=Pinball()
    )
    assert_allclose(pinball.deviation, pinball.bound / 2)


def test_risk_deviation_refuses_what_has_no_constant():
    f = Function(Laplace(1.0), [0.0], [1.0])
    with pytest.raises(NoRule, match="pass a Lipschitz constant"):
        risk_deviation(f, [[[0.0]]], [1.0])
    with pytest.raises(ValueError, match="must be Lipschitz"):
        risk_deviation(f, [[[0.0]]], [1.0], loss=Squared())
    with pytest.raises(TypeError, match="lipschitz is needed"):
        risk_deviation(np.sin, [[[0.0]]], [1.0])


# ---- missing features ---------------------------------------------------------------------


def incomplete(n=400, seed=2):
    rng = np.random.default_rng(seed)
    root = np.array([[1.0, 0.0, 0.0], [0.9, 0.3, 0.0], [0.5, -0.5, 0.5]])
    x = rng.normal(size=(n, 3)) @ root.T + np.array([1.0, -2.0, 0.0])
    y = np.where(x[:, 0] > 1.0, 1, -1)
    holes = rng.random((n, 3)) < 0.3
    holes[np.all(holes, axis=1)] = False
    return np.where(holes, np.nan, x), x, y, root @ root.T


def test_the_likelihood_of_incomplete_data_is_at_its_maximum():
    x, _, _, cov = incomplete()
    model = ConditionalGaussians(tol=1e-9, ridge=1e-9).fit(x)

    def likelihood(mean, cov):
        total = 0.0
        for row in x:
            there = ~np.isnan(row)
            total += Gaussian(mean[there], cov[np.ix_(there, there)]).log_density(row[None, there])[
                0
            ]
        return total

    best = likelihood(model.mean_, model.covariance_)
    rng = np.random.default_rng(0)
    for _ in range(4):
        step = 0.02 * rng.normal(size=(3, 3))
        changed = (np.eye(3) + step) @ model.covariance_ @ (np.eye(3) + step).T
        assert likelihood(model.mean_, changed) < best
        assert likelihood(model.mean_ + 0.02 * rng.normal(size=3), model.covariance_) < best
    assert_allclose(model.covariance_, cov, atol=0.15)  # 400 rows, 30% missing


def test_conditional_gaussians_are_the_regression_on_what_is_there():
    x, full, _, _ = incomplete()
    model = ConditionalGaussians().fit(x)
    row = np.array([0.3, np.nan, -0.4])
    (p,) = model.transform([row])
    s, there = model.covariance_, [0, 2]
    gains = np.linalg.solve(s[np.ix_(there, there)], s[there, 1])
    assert_allclose(p.mean, [0.3, model.mean_[1] + gains @ (row[there] - model.mean_[there]), -0.4])
    assert_allclose(p.cov[1, 1], s[1, 1] - gains @ s[there, 1], rtol=1e-8)
    assert np.max(np.abs(p.cov[there])) < 1e-8
    assert model.transform(full) is not None
    assert np.array_equal(model.transform(full), full)
    (nothing,) = model.transform([[np.nan] * 3])
    assert_allclose(nothing.mean, model.mean_)
    assert_allclose(nothing.cov, s, rtol=1e-8, atol=1e-9)


def test_a_machine_on_incomplete_rows_is_better_than_on_column_means():
    """The column that decides is missing in half of the new rows; measured over four problems: 0.968 and 0.933."""
    gains = [_gain(seed) for seed in range(4)]
    assert np.mean(gains) > 0.015


def _gain(seed):
    _, x, y, _ = incomplete(600, seed)
    x = x.copy()
    x[300:][np.random.default_rng(5).random(300) < 0.5, 0] = np.nan
    kernel = RBF(1.5)
    machine = make_pipeline(ConditionalGaussians(), SupportMeasureMachine(MeanMap(kernel), 10.0))
    plain = make_pipeline(SimpleImputer(), SVC(kernel, 10.0))
    scores = [m.fit(x[:300], y[:300]).score(x[300:], y[300:]) for m in (machine, plain)]
    return scores[0] - scores[1]


def test_columns_without_values_are_refused():
    with pytest.raises(ValueError, match="column 1 of X has no values"):
        ConditionalGaussians().fit([[1.0, np.nan], [2.0, np.nan]])


# ---- second-order cones -------------------------------------------------------------------


def uncertain(n=40, d=2, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], size=n)
    means = rng.normal(size=(n, d)) + y[:, None]
    return [
        Gaussian(m, 0.2 * a @ a.T + 0.01 * np.eye(d))
        for m, a in zip(means, rng.normal(size=(n, d, d)), strict=True)
    ], y


def objective(theta, x, y, C, kappa):
    slack = [1 - s * (theta[:-1] @ p.mean + theta[-1]) + kappa * np.sqrt(theta[:-1] @ p.cov @ theta[:-1])
             for p, s in zip(x, y, strict=True)]  # fmt: skip
    return theta[:-1] @ theta[:-1] / 2 + C * np.sum(np.maximum(slack, 0.0))


@pytest.mark.parametrize("normal", [True, False])
def test_cones_have_the_least_objective(normal):
    """The gap is certified by the dual, and a program with constraints (SLSQP) finds the same."""
    x, y = uncertain()
    machine = SecondOrderConeSVC(2.0, probability=0.8, normal=normal).fit(x, y)
    assert machine.gap_ < 1e-5
    kappa = ndtri(0.8) if normal else 2.0
    theta = np.append(machine.coef_, machine.intercept_)
    n = len(x)

    def constraints(v):
        return [s * (v[:2] @ p.mean + v[2]) - 1 + v[3 + i] - kappa * np.sqrt(v[:2] @ p.cov @ v[:2] + 1e-14)
                for i, (p, s) in enumerate(zip(x, y, strict=True))]  # fmt: skip

    start = np.concatenate([[0.1, 0.1, 0.0], np.full(n, 2.0)])
    peer = minimize(
        lambda v: v[:2] @ v[:2] / 2 + 2.0 * v[3:].sum(), start, method="SLSQP",
        jac=lambda v: np.concatenate([v[:2], [0.0], np.full(n, 2.0)]),
        bounds=[(None, None)] * 3 + [(0.0, None)] * n,
        constraints={"type": "ineq", "fun": constraints}, options={"maxiter": 300, "ftol": 1e-10},
    )  # fmt: skip
    assert_allclose(objective(theta, x, y, 2.0, kappa), peer.fun, rtol=1e-5)
    assert np.all((machine.dual_coef_ >= 0) & (machine.dual_coef_ <= 2.0))


def test_cones_by_a_conic_solver():
    clarabel = pytest.importorskip("cvxpy")
    x, y = uncertain(60, 3)
    w, b, xi = clarabel.Variable(3), clarabel.Variable(), clarabel.Variable(60)
    roots = [np.linalg.cholesky(p.cov) for p in x]
    limits = [xi >= 0] + [
        s * (p.mean @ w + b) >= 1 - xi[i] + ndtri(0.9) * clarabel.norm(r.T @ w)
        for i, (p, s, r) in enumerate(zip(x, y, roots, strict=True))
    ]
    problem = clarabel.Problem(
        clarabel.Minimize(clarabel.sum_squares(w) / 2 + clarabel.sum(xi)), limits
    )
    problem.solve()
    machine = SecondOrderConeSVC().fit(x, y)
    assert_allclose(machine.coef_, w.value, atol=1e-5)


def test_half_is_the_machine_on_means_and_probability_pays():
    x, y = uncertain(200)
    means = np.stack([p.mean for p in x])
    half = SecondOrderConeSVC(probability=0.5).fit(x, y)
    plain = SVC(Linear(), 1.0, tol=1e-10).fit(means, y)
    normal = plain.function_.points.T @ plain.function_.weights
    assert_allclose(half.coef_, normal, atol=1e-6)  # the intercept may be any of an interval
    sure = SecondOrderConeSVC(100.0, probability=0.95).fit(x[:20], y[:20])
    kept = []
    for p, s, a in zip(x[:20], y[:20], sure.dual_coef_, strict=True):
        draws = p.sample(2000, rng=0) @ sure.coef_ + sure.intercept_
        z = (
            1
            - s * (p.mean @ sure.coef_ + sure.intercept_)
            + ndtri(0.95) * np.sqrt(sure.coef_ @ p.cov @ sure.coef_)
        )
        if z < 1e-6:
            kept.append(np.mean(s * draws >= 1) if a > 0 else 1.0)
    assert kept
    assert min(kept) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 2000)


def test_cones_of_bags_and_refusals():
    rng = np.random.default_rng(4)
    bags = [rng.normal(s, 1.0, size=(30, 2)) for s in (-2, 2, -2, 2)]
    machine = SecondOrderConeSVC().fit(Bags.of(bags), [0, 1, 0, 1])
    fitted = [Gaussian(b.mean(axis=0), np.cov(b.T, bias=True)) for b in bags]
    same = SecondOrderConeSVC().fit(fitted, [0, 1, 0, 1])
    assert_allclose(machine.coef_, same.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match="at least 0.5 for normal"):
        SecondOrderConeSVC(probability=0.3).fit(fitted, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="got 3 classes: for several use"):
        SecondOrderConeSVC().fit(fitted, [0, 1, 2, 1])
