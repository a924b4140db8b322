"""Kernel ridge regression against linear ridge, loops over left-out points, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as TheirRBF
from sklearn.kernel_ridge import KernelRidge as Theirs
from sklearn.linear_model import Ridge

import mercer
from mercer.errors import MemoryBudgetError
from mercer.kernels import RBF, Linear, Matern, Sigmoid
from mercer.kernels.wrappers import Transformed
from mercer.learn import GCV, KernelRidge, LeaveOneOut, RidgePath
from tests.support.arrays import torch

RNG = np.random.default_rng(1)
X = RNG.uniform(-2, 2, size=(60, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * RNG.normal(size=60)
TWO = np.stack([Y, X[:, 1] ** 2], axis=1)
RIDGES = [1e-3, 0.1, 1.0, 30.0]
WEIGHTS = RNG.uniform(0.1, 3, size=60)
either = pytest.mark.parametrize("intercept", [True, False])


def bordered(kernel, ridge, y, weights=None):
    """Coefficients and intercepts by the bordered system [[K + ridge W^-1, 1], [1', 0]]."""
    w = np.ones(60) if weights is None else weights
    side = np.ones((60, 1))
    whole = np.block([[kernel(X) + np.diag(ridge / w), side], [side.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(whole, np.concatenate([y, 0 * y[:1]]))
    return solved[:-1], solved[-1]


@either
@pytest.mark.parametrize("y", [Y + 5, TWO + 5], ids=["one", "two"])
@pytest.mark.parametrize("ridge", [0.1, RidgePath([0.1])], ids=["number", "path"])
def test_linear_kernel_is_linear_ridge(y, ridge, intercept):
    """Rounding of the size of the values, which may vanish: the tolerance is absolute."""
    ours = KernelRidge(Linear(), ridge, intercept=intercept).fit(X, y, sample_weight=WEIGHTS)
    theirs = Ridge(0.1, fit_intercept=intercept, solver="cholesky")
    theirs.fit(X, y, sample_weight=WEIGHTS)
    size = np.abs(y).max()
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-9 * size)
    norms = np.sum(np.atleast_2d(theirs.coef_) ** 2, axis=1)
    assert_allclose(ours.function_.norm2(), norms if y.ndim == 2 else norms[0], rtol=1e-7)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("ridge", RIDGES)
def test_as_scikit_learn_without_an_intercept(ridge):
    for w in (None, WEIGHTS):
        theirs = Theirs(alpha=ridge, kernel="rbf", gamma=0.5).fit(X, TWO, sample_weight=w)
        for given in (ridge, RidgePath([ridge])):
            ours = KernelRidge(RBF(1.0), given, intercept=False).fit(X, TWO, sample_weight=w)
            assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)
            assert ours.intercept_ == 0.0


@pytest.mark.parametrize("ridge", RIDGES)
def test_intercept_is_that_of_the_bordered_system(ridge):
    for w in (None, WEIGHTS):
        c, b = bordered(RBF(1.0), ridge, TWO + 7, w)
        for given in (ridge, RidgePath([ridge])):
            ours = KernelRidge(RBF(1.0), given).fit(X, TWO + 7, sample_weight=w)
            assert_allclose(ours.intercept_, b, atol=1e-8)
            assert_allclose(ours.predict(X), RBF(1.0)(X) @ c + b, atol=1e-8)
            assert_allclose(ours.function_.weights.sum(axis=0), 0, atol=1e-9)


def test_intercept_on_the_features_of_scikit_learn():
    """With a linear kernel on features z and Ridge(fit_intercept=True) on the same z."""
    z = np.stack([np.cos(X[:, 0]), np.sin(X[:, 1]), X[:, 0] * X[:, 1]], axis=1)
    for w in (None, WEIGHTS):
        theirs = Ridge(0.3).fit(z, TWO + 100, sample_weight=w)
        ours = KernelRidge(Linear(), 0.3).fit(z, TWO + 100, sample_weight=w)
        assert_allclose(ours.predict(z), theirs.predict(z), atol=1e-9 * 100)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9 * 100)


def test_float32_with_a_large_mean():
    """The mean is subtracted first: what is left of y is rounded as if it had never been there."""
    wanted = KernelRidge(RBF(1.0), 0.1).fit(X, Y).predict(X)
    single = KernelRidge(RBF(1.0), 0.1).fit(X.astype(np.float32), Y + 1000)
    found = single.predict(X.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found.astype(np.float64) - 1000, wanted, atol=4 * 1000 * 2.0**-23)


LINE = X @ [1.0, 0.5] + 0.3 * RNG.normal(size=60)  # what kernels of low rank can learn
SMOOTH = [Linear(), Linear() + 1.0, RBF(20.0), RBF(2.0)]


@pytest.mark.parametrize("library", [np.asarray, lambda x: torch.tensor(x)], ids=["numpy", "torch"])
@pytest.mark.parametrize("kernel", SMOOTH, ids=str)
@pytest.mark.parametrize("ridge", [RidgePath(), RidgePath(by=GCV()), 1e-6, 1e-4, 1e-2], ids=str)
def test_rounding_of_float32_is_not_fitted(kernel, ridge, library):
    """The same points in both dtypes: in float32 only the predictions are rounded, or the ridge is large."""
    single = [library(a.astype(np.float32)) for a in (X[:45], LINE[:45], X[45:])]
    x, y, new = (np.asarray(a).astype(np.float64) for a in single)
    wanted = KernelRidge(kernel, ridge).fit(x, y)
    found = KernelRidge(kernel, ridge).fit(*single[:2])
    spread = np.std(y)
    assert found.predict(single[2]).dtype == single[2].dtype
    assert_allclose(found.predict(single[2]), wanted.predict(new), atol=1e-3 * spread)
    ends = found.predict_interval(single[2], level=0.8)
    assert ends.dtype == single[2].dtype
    assert_allclose(ends, wanted.predict_interval(new, level=0.8), atol=1e-3 * spread)


def test_weights_count_where_float32_is_too_narrow():
    """Weights of w are a ridge of ridge / w: a large one must not hide behind large weights."""
    x, y = X.astype(np.float32), LINE.astype(np.float32)
    found = KernelRidge(RBF(2.0), 1.0).fit(x, y, sample_weight=1e6 * WEIGHTS)
    wanted = KernelRidge(RBF(2.0), 1e-6).fit(np.float64(x), np.float64(y), sample_weight=WEIGHTS)
    assert_allclose(found.predict(x), wanted.predict(np.float64(x)), atol=1e-3 * np.std(y))


def test_ordinary_ridges_stay_in_float32():
    found = KernelRidge(RBF(2.0), 1.0).fit(X.astype(np.float32), Y)
    assert found.function_.points.dtype == np.float32


def test_functions_of_kernels_get_the_dtype_they_came_with():
    """A network with float32 parameters does not take float64."""
    net = torch.nn.Linear(2, 2)
    x, y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32)
    kernel = Transformed(RBF(1.0), lambda points: net(points).detach())
    assert KernelRidge(kernel, RidgePath([0.1])).fit(x, y).predict(x).dtype == torch.float32


@pytest.mark.parametrize("ridge", [1.0, RidgePath()], ids=["number", "path"])
def test_one_point_gives_its_own_value(ridge):
    with np.errstate(all="raise"):
        fitted = KernelRidge(RBF(1.0), ridge).fit(X[:1], [3.0])
    assert_allclose(fitted.predict(X), 3.0)
    assert_allclose(fitted.predict_interval(X[:2], level=0.5), [[-np.inf, np.inf]] * 2)


def _left_out_errors(kernel, ridge, y, intercept):
    errors = np.empty_like(y)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fitted = KernelRidge(kernel, ridge, intercept=intercept).fit(X[rest], y[rest])
        errors[i] = y[i] - fitted.predict(X[i : i + 1])[0]
    return errors


@either
@pytest.mark.parametrize("y", [Y + 3, TWO], ids=["one", "two"])
def test_leave_one_out_is_the_loop(y, intercept):
    fitted = KernelRidge(RBF(1.0), RidgePath(RIDGES), intercept=intercept).fit(X, y)
    loop = [np.mean(_left_out_errors(RBF(1.0), ridge, y, intercept) ** 2) for ridge in RIDGES]
    assert_allclose(fitted.path_.leave_one_out, loop, rtol=1e-6)
    assert fitted.ridge_ == RIDGES[int(np.argmin(loop))]


def test_weighted_leave_one_out_is_the_loop():
    fitted = KernelRidge(RBF(1.0), RidgePath([0.3])).fit(X, Y, sample_weight=WEIGHTS)
    errors = []
    for i in range(60):
        rest = np.arange(60) != i
        without = KernelRidge(RBF(1.0), 0.3).fit(X[rest], Y[rest], sample_weight=WEIGHTS[rest])
        errors.append(Y[i] - without.predict(X[i : i + 1])[0])
    wanted = np.mean(WEIGHTS * np.square(errors))
    assert_allclose(fitted.path_.leave_one_out, [wanted], rtol=1e-6)


@either
def test_gcv_is_its_formula(intercept):
    fitted = KernelRidge(RBF(1.0), RidgePath(RIDGES, by=GCV()), intercept=intercept).fit(X, Y)
    k = RBF(1.0)(X)
    wanted = []
    for ridge in RIDGES:
        hat = k @ np.linalg.inv(k + ridge * np.eye(60))
        if intercept:  # the images of the unit vectors
            c, b = bordered(RBF(1.0), ridge, np.eye(60))
            hat = k @ c + b
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


@either
def test_interval_is_the_jackknife_plus_of_the_loop(intercept):
    new, level, kernel = RNG.uniform(-2, 2, size=(5, 2)), 0.8, Matern(1.5, 1.0)
    low, high = np.empty((60, 5)), np.empty((60, 5))
    for i in range(60):
        rest = np.arange(60) != i
        fitted = KernelRidge(kernel, 0.3, intercept=intercept).fit(X[rest], Y[rest])
        error = abs(Y[i] - fitted.predict(X[i : i + 1])[0])
        low[i], high[i] = fitted.predict(new) - error, fitted.predict(new) + error
    learner = KernelRidge(kernel, 0.3, intercept=intercept).fit(X, Y)
    found = learner.predict_interval(new, level=level)
    assert_allclose(found[:, 0], np.sort(low, axis=0)[int(0.2 * 61) - 1], atol=1e-8)
    assert_allclose(found[:, 1], np.sort(high, axis=0)[int(np.ceil(0.8 * 61)) - 1], atol=1e-8)


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
    with pytest.raises(ValueError, match="a single column of y"):
        KernelRidge(RBF(1.0)).fit(X, TWO).predict_interval(X)
    weighted = KernelRidge(RBF(1.0)).fit(X, Y, sample_weight=np.linspace(1, 2, 60))
    with pytest.raises(ValueError, match="equal weight"):
        weighted.predict_interval(X)
    with pytest.raises(ValueError, match="level must be"):
        KernelRidge(RBF(1.0)).fit(X, Y).predict_interval(X, level=1.0)


# ---- standard deviations ----------------------------------------------------------------------


@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
@pytest.mark.parametrize("ridge", [0.01, RidgePath([1.0])], ids=["number", "path"])
def test_deviations_are_those_of_the_gaussian_process(y, ridge):
    new = np.vstack([RNG.uniform(-4, 4, size=(20, 2)), X[:5]])
    ours = KernelRidge(RBF(0.8), ridge, intercept=False).fit(X, y)
    process = GaussianProcessRegressor(TheirRBF(0.8), alpha=ours.ridge_, optimizer=None).fit(X, y)
    values, deviations = ours.predict(new, return_std=True)
    wanted = process.predict(new, return_std=True)
    assert_allclose(values, wanted[0], rtol=0, atol=1e-8)
    assert_allclose(deviations, wanted[1], rtol=0, atol=1e-8)
    assert deviations.shape == values.shape


def test_a_flat_prior_on_the_intercept_is_the_limit_of_wide_ones():
    """With the kernel plus a constant c the prior of b has variance c, which changes that of b by 1 / c of it."""
    new = RNG.uniform(-4, 4, size=(20, 2))
    _, flat = KernelRidge(RBF(0.8), 0.1).fit(X, Y).predict(new, return_std=True)
    wide = KernelRidge(RBF(0.8) + 1e3, 0.1, intercept=False).fit(X, Y)
    assert_allclose(flat, wide.predict(new, return_std=True)[1], rtol=1e-3)
    without = KernelRidge(RBF(0.8), 0.1, intercept=False).fit(X, Y)
    assert np.all(flat > without.predict(new, return_std=True)[1])


def test_deviations_in_blocks_on_tensors_and_refused():
    fitted = KernelRidge(RBF(1.0), 0.1).fit(X, Y)
    values, wanted = fitted.predict(X, return_std=True)
    with mercer.config(memory="16MiB"):  # 2184 rows at a time
        many = fitted.predict(np.tile(X, (50, 1)), return_std=True)[1]
    assert_allclose(many, np.tile(wanted, 50), rtol=1e-8)
    ours = KernelRidge(RBF(1.0), 0.1).fit(torch.tensor(X), torch.tensor(Y))
    mean, deviations = ours.predict(torch.tensor(X), return_std=True)
    assert_allclose(mean.numpy(), values, atol=1e-8)
    assert_allclose(deviations.numpy(), wanted, rtol=1e-8)
    with pytest.raises(ValueError, match="return_std needs observations of equal weight"):
        KernelRidge(RBF(1.0)).fit(X, Y, sample_weight=WEIGHTS).predict(X, return_std=True)
    with pytest.raises(TypeError, match="return_std"):
        fitted.predict(X, return_std=1)


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
    with pytest.raises(TypeError, match="intercept must be True or False"):
        KernelRidge(RBF(1.0), intercept=0.0).fit(X, Y)
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
    found = KernelRidge(bad, 100.0, intercept=False).fit(X, Y).predict(X)  # solved where it can be
    assert_allclose(found, wanted, atol=1e-9)


def test_targets():
    path, three = RidgePath(by=LeaveOneOut()), np.full(60, 3.0)
    constant = KernelRidge(RBF(1.0) + 1.0, path, intercept=False).fit(X, three)
    assert_allclose(constant.predict(X), 3.0, atol=1e-4)
    assert_allclose(KernelRidge(RBF(1.0), path).fit(X, three).predict(X), 3.0, rtol=1e-12)
    assert_allclose(KernelRidge(RBF(1.0)).fit(X, np.zeros(60)).predict(X), 0.0)
    with pytest.raises(ValueError, match="NaN"):
        KernelRidge(RBF(1.0)).fit(X, np.where(np.arange(60) == 3, np.nan, Y))
