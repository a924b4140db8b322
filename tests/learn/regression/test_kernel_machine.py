"""Kernel machines: conditions of optimality, other solvers, and what quantiles promise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor, LogisticRegression, QuantileRegressor
from sklearn.svm import SVC as Libsvm

from mercer.errors import NotConverged
from mercer.kernels import RBF, Linear, Sigmoid
from mercer.learn import (
    Hinge,
    Huber,
    KernelLogistic,
    KernelMachine,
    KernelQuantile,
    KernelRidge,
    Logistic,
    Loss,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.learn.target_scale import spread, weighted_median
from tests.support.arrays import torch

RNG = np.random.default_rng(7)
X = RNG.normal(size=(150, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * RNG.standard_t(2, size=150)
SIGNS = np.where(Y > 0.2, 1.0, -1.0)
THREE = np.digitize(Y, [-0.7, 0.7])
W = RNG.uniform(0.3, 2, size=150)
LOSSES = [Squared(), Huber(0.4), Logistic(), SquaredHinge(), Hinge(), Pinball(0.3)]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


@each_loss
def test_slopes_and_convexity(loss):
    y = np.repeat([-1.0, 1.0], 50)
    f, g = RNG.normal(scale=2, size=(2, 100))
    middle = loss.value(y, (f + g) / 2)
    assert np.all(middle <= (loss.value(y, f) + loss.value(y, g)) / 2 + 1e-12)
    assert np.all(loss.value(y, f) >= 0)
    if hasattr(loss, "slope"):
        step = 1e-6
        slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
        assert_allclose(loss.slope(y, f), slope, atol=1e-5)
        smooth = np.abs(np.abs(y - f) - 0.4) > 1e-3
        curvature = (loss.slope(y, f + step) - loss.slope(y, f - step)) / (2 * step)
        assert_allclose(loss.curvature(y, f)[smooth], curvature[smooth], atol=1e-4)
    else:
        low, high = loss.interval(y)
        shifted = y - f
        assert_allclose(loss.value(y, f), np.maximum(low * shifted, high * shifted))


@each_loss
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
def test_nothing_nearby_is_better(loss, intercept, weights):
    """The first-order conditions, by the loss alone: the subgradient holds -2 ridge a."""
    y = SIGNS if loss.margin else Y
    ridge = 0.2
    fitted = KernelMachine(loss, RBF(1.0), ridge, intercept=intercept, tolerance=1e-12)
    fitted.fit(X, y, sample_weight=weights)
    w = np.ones(150) if weights is None else weights
    if loss.degree == 1:  # in units of the spread of y
        w = spread(Y, w) * w
    a = fitted.function_.weights
    f = RBF(1.0)(X) @ a + fitted.intercept_
    step = 1e-5
    right = w * (loss.value(y, f + step) - loss.value(y, f)) / step
    left = w * (loss.value(y, f) - loss.value(y, f - step)) / step
    near = 1e-4 if hasattr(loss, "slope") else 5e-4
    assert np.all(left - near <= -2 * ridge * a)
    assert np.all(-2 * ridge * a <= right + near)
    if intercept:
        assert abs(a.sum()) < 1e-6
    else:
        assert fitted.intercept_ == 0.0
    assert fitted.gap_ <= 1e-12


def test_squared_loss_is_ridge():
    for intercept in (True, False):
        machine = KernelMachine(Squared(), RBF(1.0), 0.3, intercept=intercept).fit(X, Y, W)
        ridge = KernelRidge(RBF(1.0), 0.3, intercept=intercept).fit(X, Y, W)
        assert_allclose(machine.predict(X), ridge.predict(X), atol=1e-8)
        huge = KernelMachine(Huber(1e6), RBF(1.0), 0.3, intercept=intercept).fit(X, Y, W)
        assert_allclose(huge.predict(X), machine.predict(X), atol=1e-8)


def test_hinge_loss_is_the_support_vector_machine():
    ours = KernelMachine(Hinge(), RBF(1.0), 1 / (2 * 3.0), tolerance=1e-13)
    theirs = Libsvm(C=3.0, gamma=0.5, tol=1e-10)
    for w in (None, W):
        values = theirs.fit(X, SIGNS, sample_weight=w).decision_function(X)
        found = ours.fit(X, SIGNS, sample_weight=w).decision_function(X)
        assert_allclose(found, values, atol=1e-5)
    assert ours.score(X, SIGNS) == theirs.score(X, SIGNS)


def test_logistic_loss_is_logistic_regression():
    theirs = LogisticRegression(C=1 / (2 * 0.3), tol=1e-12, max_iter=10_000).fit(X, SIGNS, W)
    ours = KernelLogistic(Linear(), 0.3, tolerance=1e-13).fit(X, SIGNS, sample_weight=W)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    machine = KernelMachine(Logistic(), Linear(), 0.3).fit(X, SIGNS, sample_weight=W)
    assert_allclose(machine.decision_function(X), ours.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_multinomial_is_logistic_regression(intercept):
    theirs = LogisticRegression(
        C=1 / (2 * 0.3), tol=1e-12, max_iter=10_000, fit_intercept=intercept
    ).fit(X, THREE, W)
    ours = KernelLogistic(Linear(), 0.3, intercept=intercept).fit(X, THREE, sample_weight=W)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert_allclose(np.exp(ours.predict_log_proba(X)).sum(axis=1), 1.0)
    assert ours.decision_function(X).shape == (150, 3)


def test_multinomial_conditions():
    """With f_c = K a_c: 2 ridge a_c = w (1[y = c] - p_c), and the residuals of a class add up to 0."""
    fitted = KernelLogistic(RBF(1.0), 0.2).fit(X, THREE, sample_weight=W)
    p = fitted.predict_proba(X)
    residual = W[:, None] * (np.eye(3)[THREE] - p)
    assert_allclose(RBF(1.0)(X) @ (residual - 2 * 0.2 * fitted.function_.weights), 0, atol=1e-6)
    assert_allclose(residual.sum(axis=0), 0, atol=1e-6)


def test_two_classes_either_way():
    """A multinomial model of two classes with ridge r is the binary one with ridge r / 2."""
    binary = KernelLogistic(RBF(1.0), 0.1).fit(X, SIGNS)
    learner = KernelLogistic(RBF(1.0), 0.2)
    learner.ridge_ = 0.2
    learner._check()
    kernel, points, codes, _ = learner._accept_labels(X, SIGNS)
    fits = learner._multinomial(kernel(points), np.eye(2)[codes], np.ones(150), 2.0**-52)
    values = kernel(X) @ (fits[1].coefficients - fits[0].coefficients)
    values += fits[1].intercept - fits[0].intercept
    assert_allclose(expit(values), binary.predict_proba(X)[:, 1], atol=1e-6)


def test_several_classes_one_against_the_rest():
    machine = KernelMachine(SquaredHinge(), RBF(1.0), 0.1).fit(X, THREE)
    for c in range(3):
        one = KernelMachine(SquaredHinge(), RBF(1.0), 0.1).fit(X, c == THREE)
        assert_allclose(machine.decision_function(X)[:, c], one.decision_function(X))
    assert machine.score(X, THREE) > 0.8
    assert len(machine.function_[0].weights) == 150


# ---- quantiles --------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
def test_quantile_property(q):
    fitted = KernelQuantile(q, RBF(1.0), 0.05).fit(X, Y)
    off = Y - fitted.predict(X)
    assert np.sum(off < -1e-6) <= q * 150 + 1e-9
    assert np.sum(off > 1e-6) <= (1 - q) * 150 + 1e-9


def test_linear_quantiles():
    theirs = QuantileRegressor(quantile=0.3, alpha=0).fit(X, Y)
    ours = KernelQuantile(0.3, Linear(), 1e-7, tolerance=1e-12).fit(X, Y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


def test_huber_regression():
    theirs = HuberRegressor(epsilon=1.35, alpha=0.0, tol=1e-10, max_iter=1000).fit(X, Y)
    ours = KernelMachine(Huber(1.35 * theirs.scale_), Linear(), 1e-8).fit(X, Y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


# ---- kinds of data, and bad input -------------------------------------------------------------


@each_loss
def test_tensors(loss):
    y = SIGNS if loss.margin else Y
    wanted = KernelMachine(loss, RBF(1.0), 0.2).fit(X, y)
    found = KernelMachine(loss, RBF(1.0), 0.2).fit(torch.tensor(X), torch.tensor(y))
    values = found._values(torch.tensor(X[:5]))
    assert isinstance(values, torch.Tensor)
    assert_allclose(values.numpy(), wanted._values(X[:5]), atol=1e-6)


def test_tensors_of_many_classes():
    wanted = KernelLogistic(RBF(1.0), 0.2).fit(X, THREE).predict_proba(X[:5])
    found = KernelLogistic(RBF(1.0), 0.2).fit(torch.tensor(X), THREE)
    assert_allclose(found.predict_proba(torch.tensor(X[:5])).numpy(), wanted, atol=1e-6)
    single = KernelLogistic(RBF(1.0), 0.2).fit(X.astype(np.float32), THREE)
    assert_allclose(single.predict_proba(X[:5].astype(np.float32)), wanted, atol=2e-2)


@dataclass(frozen=True)
class Strange(Loss):
    def value(self, y, f, /):
        return (y - f) ** 4


def test_bad_parameters():
    with pytest.raises(TypeError, match="loss must be a loss"):
        KernelMachine("hinge").fit(X, Y)
    with pytest.raises(TypeError, match="derive from one"):
        KernelMachine(Strange(), RBF(1.0)).fit(X, Y)
    for learner in (KernelMachine(Huber()), KernelLogistic(), KernelQuantile()):
        y = THREE if isinstance(learner, KernelLogistic) else Y
        with pytest.raises(ValueError, match="ridge must be a positive number"):
            learner.set_params(ridge=0.0).fit(X, y)
        with pytest.raises(TypeError, match="intercept must be True or False"):
            learner.set_params(ridge=1.0, intercept="yes").fit(X, y)
    with pytest.raises(ValueError, match="quantile must be between 0 and 1"):
        KernelQuantile(1.0).fit(X, Y)
    with pytest.raises(ValueError, match="width must be a positive number"):
        Huber(0.0)


def test_bad_targets():
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        KernelLogistic(RBF(1.0)).fit(X, np.ones(150))
    with pytest.raises(ValueError, match="NaN"):
        KernelLogistic(RBF(1.0)).fit(X, np.where(np.arange(150) == 0, np.nan, SIGNS))
    with pytest.raises(ValueError, match="one class"):
        KernelMachine(Hinge(), RBF(1.0)).fit(X, SIGNS, sample_weight=(SIGNS > 0).astype(float))
    constant = KernelQuantile(0.3, RBF(1.0)).fit(X, np.full(150, 4.0))
    assert_allclose(constant.predict(X), 4.0, atol=1e-6)
    assert_allclose(KernelMachine(Huber(), RBF(1.0)).fit(X[:1], [3.0]).predict(X), 3.0)


def test_a_kernel_that_is_not_positive_definite():
    for learner in (
        KernelMachine(Squared(), Sigmoid(5.0, -2.0), 1e-3),
        KernelQuantile(0.5, Sigmoid(5.0, -2.0), 1e-3),
    ):
        with pytest.raises(ValueError, match="must be positive definite"):
            learner.fit(X, Y)
    with pytest.raises(ValueError, match="must be positive definite"):
        KernelLogistic(Sigmoid(5.0, -2.0), 1e-3).fit(X, THREE)


def test_convergence():
    with pytest.warns(NotConverged, match="raise max_iter"):
        KernelMachine(Logistic(), RBF(1.0), 1e-3, max_iter=1).fit(X, SIGNS)
    with pytest.warns(NotConverged, match="raise max_iter"):
        KernelQuantile(0.5, RBF(1.0), 1e-3, max_iter=2).fit(X, Y)


def test_a_ridge_that_leaves_nothing_but_rounding():
    x = np.random.default_rng(0).normal(size=(60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        found = KernelQuantile(0.5, RBF(1.0), 1e-12).fit(x, x[:, 0] ** 2)
    assert_allclose(found.predict(x), x[:, 0] ** 2, atol=1e-3)


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e9])
def test_the_unit_of_y_does_not_matter_to_quantiles(unit):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    y = x[:, 0] + rng.exponential(size=80)
    want = KernelQuantile(0.8, RBF(1.0), 0.1).fit(x, y).predict(x)
    found = KernelQuantile(0.8, RBF(1.0), 0.1).fit(x, unit * y)
    assert_allclose(found.predict(x) / unit, want, atol=1e-6)


def test_the_default_width_of_huber_ignores_outliers():
    """1.345 standard deviations of what is normal, with 10% of nonsense: some 20% more at most."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(size=900), np.full(100, 1e6)])
    chosen = Huber().for_target(y, np.ones(1000))
    assert 1.345 * 0.9 < chosen.width < 1.345 * 1.3
    assert Huber(3.0).for_target(y, np.ones(1000)) == Huber(3.0)
    assert Huber().for_target(np.zeros(5), np.ones(5)).width > 0  # nothing varies


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_weighted_medians(n):
    y, copies = RNG.normal(size=n), RNG.integers(1, 5, size=n)
    many = np.repeat(y, copies)
    assert_allclose(weighted_median(y, np.ones(n)), np.median(y))
    assert_allclose(weighted_median(y, 0.1 * copies), np.median(many))
    assert_allclose(weighted_median(-y, 0.1 * copies), -np.median(many))
    wanted = np.sqrt(np.pi / 2) * np.mean(np.abs(many - np.median(many)))
    assert_allclose(spread(y, 1.0 * copies), wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("learner", "ridge"),
    [(KernelMachine(), 1e-6), (KernelQuantile(), 1e-4), (KernelLogistic(), 1e-6)],
    ids=str,
)
def test_small_ridges_do_not_amplify_the_rounding_of_float32(learner, ridge):
    """The same points in both dtypes, and a kernel so smooth that float32 hardly tells its values apart."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)).astype(np.float32)
    y = x @ [1.0, 0.5, 0.0] + 0.3 * rng.normal(size=60)
    y = y > 0 if isinstance(learner, KernelLogistic) else y.astype(np.float32)
    found, wanted = (clone(learner).set_params(kernel=RBF(20.0), ridge=ridge) for _ in range(2))
    name = "decision_function" if isinstance(learner, KernelLogistic) else "predict"
    single = getattr(found.fit(x[:45], y[:45]), name)(x[45:])
    wide = x.astype(np.float64)
    double = getattr(wanted.fit(wide[:45], y[:45]), name)(wide[45:])
    assert single.dtype == np.float32
    assert_allclose(single, double, atol=1e-3 * np.std(double))
