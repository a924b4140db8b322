"""Kernel ridge regression against linear ridge, loops over left-out points, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from arrays import torch
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge as Theirs
from sklearn.linear_model import Ridge

import mercer
from mercer.errors import MemoryBudgetError
from mercer.kernels import RBF, Linear, Matern, Sigmoid
from mercer.learn import GCV, KernelRidge, LeaveOneOut, RidgePath

RNG = np.random.default_rng(1)
X = RNG.uniform(-2, 2, size=(60, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * RNG.normal(size=60)
TWO = np.stack([Y, X[:, 1] ** 2], axis=1)
RIDGES = [1e-3, 0.1, 1.0, 30.0]


@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
@pytest.mark.parametrize("ridge", [0.1, RidgePath([0.1])], ids=["number", "path"])
def test_linear_kernel_is_linear_ridge(y, ridge):
    ours = KernelRidge(Linear(), ridge).fit(X, y)
    theirs = Ridge(0.1, fit_intercept=False).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    norms = np.sum(np.atleast_2d(theirs.coef_) ** 2, axis=1)
    assert_allclose(ours.function_.norm2(), norms if y.ndim == 2 else norms[0], rtol=1e-8)


@pytest.mark.parametrize("ridge", RIDGES)
def test_as_scikit_learn(ridge):
    weights = RNG.uniform(0.1, 3, size=60)
    for w in (None, weights):
        theirs = Theirs(alpha=ridge, kernel="rbf", gamma=0.5).fit(X, TWO, sample_weight=w)
        ours = KernelRidge(RBF(1.0), ridge).fit(X, TWO, sample_weight=w)
        path = KernelRidge(RBF(1.0), RidgePath([ridge])).fit(X, TWO, sample_weight=w)
        assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7)
        assert_allclose(path.predict(X), theirs.predict(X), rtol=1e-7)


def _left_out_errors(kernel, ridge, y):
    errors = np.empty_like(y)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fitted = KernelRidge(kernel, ridge).fit(X[rest], y[rest])
        errors[i] = y[i] - fitted.predict(X[i : i + 1])[0]
    return errors


@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
def test_leave_one_out_is_the_loop(y):
    fitted = KernelRidge(RBF(1.0), RidgePath(RIDGES)).fit(X, y)
    loop = [np.mean(_left_out_errors(RBF(1.0), ridge, y) ** 2) for ridge in RIDGES]
    assert_allclose(fitted.path_.leave_one_out, loop, rtol=1e-7)
    assert fitted.ridge_ == RIDGES[int(np.argmin(loop))]


def test_gcv_is_its_formula():
    fitted = KernelRidge(RBF(1.0), RidgePath(RIDGES, by=GCV())).fit(X, Y)
    k = RBF(1.0)(X)
    wanted = []
    for ridge in RIDGES:
        hat = k @ np.linalg.inv(k + ridge * np.eye(60))
        wanted.append(np.mean((Y - hat @ Y) ** 2) / (1 - np.trace(hat) / 60) ** 2)
        df = fitted.path_.degrees_of_freedom[RIDGES.index(ridge)]
        assert_allclose(df, np.trace(hat), rtol=1e-8)
    assert_allclose(fitted.path_.gcv, wanted, rtol=1e-7)
    assert fitted.ridge_ == RIDGES[int(np.argmin(wanted))]


def test_the_chosen_function_is_that_of_its_ridge():
    path = KernelRidge(RBF(1.0), RidgePath()).fit(X, Y)
    one = KernelRidge(RBF(1.0), path.ridge_).fit(X, Y)
    assert_allclose(path.predict(X), one.predict(X), rtol=1e-6)
    assert len(path.path_.ridges) == 31
    assert one.path_ is None


def test_beyond_the_budget_it_iterates():
    x = np.random.default_rng(2).normal(size=(1500, 3))
    y = np.sin(x[:, 0])
    wanted = KernelRidge(RBF(2.0), 0.1).fit(x, y).predict(x[:50])
    with mercer.config(memory="16MiB"):
        assert_allclose(KernelRidge(RBF(2.0), 0.1).fit(x, y).predict(x[:50]), wanted, atol=1e-6)
        with pytest.raises(MemoryBudgetError, match="use NystromRidge"):
            KernelRidge(RBF(2.0), RidgePath()).fit(x, y)


# ---- intervals --------------------------------------------------------------------------------


def test_interval_is_the_jackknife_plus_of_the_loop():
    new, level, kernel = RNG.uniform(-2, 2, size=(5, 2)), 0.8, Matern(1.5, 1.0)
    low, high = np.empty((60, 5)), np.empty((60, 5))
    for i in range(60):
        rest = np.arange(60) != i
        fitted = KernelRidge(kernel, 0.3).fit(X[rest], Y[rest])
        error = abs(Y[i] - fitted.predict(X[i : i + 1])[0])
        low[i], high[i] = fitted.predict(new) - error, fitted.predict(new) + error
    found = KernelRidge(kernel, 0.3).fit(X, Y).predict_interval(new, level=level)
    assert_allclose(found[:, 0], np.sort(low, axis=0)[int(0.2 * 61) - 1], rtol=1e-7)
    assert_allclose(found[:, 1], np.sort(high, axis=0)[int(np.ceil(0.8 * 61)) - 1], rtol=1e-7)


def test_intervals_cover():
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(40):
        x = rng.uniform(-2, 2, size=(80, 1))
        y = np.sin(3 * x[:, 0]) + 0.5 * rng.standard_t(3, size=80)
        ends = KernelRidge(RBF(0.7), 1.0).fit(x[:50], y[:50]).predict_interval(x[50:], level=0.8)
        inside.append(np.mean((ends[:, 0] <= y[50:]) & (y[50:] <= ends[:, 1])))
    assert 0.75 < np.mean(inside) < 0.88  # 0.6 is promised, 0.8 expected; deviation about 0.01


def test_intervals_of_few_points_are_infinite():
    found = KernelRidge(RBF(1.0)).fit(X[:5], Y[:5]).predict_interval(X[:2], level=0.9)
    assert_allclose(found, [[-np.inf, np.inf]] * 2)


def test_intervals_on_tensors():
    ours = KernelRidge(RBF(1.0), 0.1).fit(torch.tensor(X), torch.tensor(Y))
    wanted = KernelRidge(RBF(1.0), 0.1).fit(X, Y).predict_interval(X[:4])
    assert_allclose(ours.predict_interval(torch.tensor(X[:4])).numpy(), wanted, rtol=1e-8)


def test_intervals_need_one_target_and_equal_weights():
    with pytest.raises(ValueError, match="one number per point"):
        KernelRidge(RBF(1.0)).fit(X, TWO).predict_interval(X)
    weighted = KernelRidge(RBF(1.0)).fit(X, Y, sample_weight=np.linspace(1, 2, 60))
    with pytest.raises(ValueError, match="equal weight"):
        weighted.predict_interval(X)
    with pytest.raises(ValueError, match="level must be"):
        KernelRidge(RBF(1.0)).fit(X, Y).predict_interval(X, level=1.0)


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_ridge_must_be_positive(bad):
    with pytest.raises(ValueError, match="ridge must be a positive number"):
        KernelRidge(RBF(1.0), bad).fit(X, Y)
    with pytest.raises(ValueError, match="ridges"):
        RidgePath([1.0, bad])


def test_wrong_parameters():
    with pytest.raises(TypeError, match="ridge must be a positive number"):
        KernelRidge(RBF(1.0), "1").fit(X, Y)
    with pytest.raises(TypeError, match="by must be"):
        RidgePath(by="loo")


def test_a_kernel_that_is_not_positive_definite():
    bad = Sigmoid(5.0, -2.0)
    with pytest.raises(ValueError, match="not positive definite"):
        KernelRidge(bad, 1e-6).fit(X, Y)
    with pytest.raises(ValueError, match="must be positive definite, but its matrix"):
        KernelRidge(bad, RidgePath()).fit(X, Y)
    k = bad(X)
    wanted = k @ np.linalg.solve(k + 100.0 * np.eye(60), Y)
    assert_allclose(KernelRidge(bad, 100.0).fit(X, Y).predict(X), wanted)  # solved where it can be


def test_targets():
    constant = KernelRidge(RBF(1.0) + 1.0, RidgePath(by=LeaveOneOut())).fit(X, np.full(60, 3.0))
    assert_allclose(constant.predict(X), 3.0, atol=1e-4)
    assert_allclose(KernelRidge(RBF(1.0)).fit(X, np.zeros(60)).predict(X), 0.0)
    with pytest.raises(ValueError, match="NaN"):
        KernelRidge(RBF(1.0)).fit(X, np.where(np.arange(60) == 3, np.nan, Y))
