"""The base of learners with kernels: parameters inside kernels, and points of every kind at the door."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from mercer.kernels import RBF, Delta, Linear, Matern, Tensor, median_bandwidth
from mercer.learn import SVC, KernelRidge, KernelSearchCV
from mercer.rkhs import MeanMap
from tests.support.arrays import torch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] + X[:, 1] ** 2


def test_parameters_of_kernels_are_parameters():
    learner = KernelRidge(RBF(2.0) + 3.0 * Matern(1.5, 1.0))
    params = learner.get_params()
    assert params["kernel__left__bandwidth"] == 2.0
    assert params["kernel__right__kernel__nu"] == 1.5
    learner.set_params(kernel__left__bandwidth=4.0, kernel__right__factor=5.0, ridge=2.0)
    assert learner.kernel == RBF(4.0) + 5.0 * Matern(1.5, 1.0)
    assert learner.ridge == 2.0
    learner.set_params(kernel=RBF(1.0), kernel__bandwidth=7.0)
    assert learner.kernel == RBF(7.0)


def test_every_listed_parameter_can_be_set():
    learner = KernelRidge(RBF(2.0).scaled([1.0, 2.0, 3.0]) * Linear())
    params = learner.get_params()
    for name, value in params.items():
        clone(learner).set_params(**{name: value})
    assert clone(learner).set_params(**params).kernel == learner.kernel


def test_parameters_that_are_not_there():
    with pytest.raises(ValueError, match="RBF has no parameter 'width'"):
        KernelRidge(RBF(1.0)).set_params(kernel__width=1.0)
    with pytest.raises(ValueError, match="kernel is None: set kernel first"):
        KernelRidge().set_params(kernel__bandwidth=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'kernels'"):
        KernelRidge().set_params(kernels__bandwidth=1.0)


def test_a_grid_over_the_bandwidth():
    search = GridSearchCV(KernelRidge(RBF(1.0), 0.1), {"kernel__bandwidth": [1e-3, 2.0]}, cv=3)
    assert search.fit(X, Y).best_estimator_.kernel == RBF(2.0)


def test_without_a_kernel():
    assert KernelRidge().fit(X, Y).kernel_ == RBF(median_bandwidth(X))
    with pytest.raises(ValueError, match="n_samples = 1: pass a kernel"):
        KernelRidge().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="all points of X are equal"):
        KernelRidge().fit(np.ones((5, 2)), Y[:5])
    alone = KernelRidge(RBF(1.0), intercept=False).fit(X[:1], Y[:1])
    assert_allclose(alone.predict(X[:1]), Y[:1] / 2)


@pytest.mark.parametrize("bad", ["rbf", RBF, 1.0])
def test_no_kernel(bad):
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        KernelRidge(bad).fit(X, Y)


def test_weights_are_repeats_without_a_kernel():
    weights = RNG.integers(0, 3, size=len(X))
    again = np.repeat(np.arange(len(X)), weights)
    one = KernelRidge().fit(X, Y, sample_weight=weights)
    two = KernelRidge().fit(X[again], Y[again])
    assert one.kernel_ == two.kernel_
    assert_allclose(one.predict(X), two.predict(X), rtol=1e-8)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (np.ones(3), "shape"),
        (-np.ones(40), "negative"),
        (np.zeros(40), "positive for some"),
        (np.full(40, np.nan), "NaN"),
    ],
)
def test_bad_weights(weights, match):
    with pytest.raises(ValueError, match=match):
        KernelRidge(RBF(1.0)).fit(X, Y, sample_weight=weights)


# ---- frames, tensors, objects -----------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(make):
    columns = dict(zip("abc", X.T, strict=True))
    frame = make(columns)
    fitted = KernelRidge(RBF(2.0), 0.5).fit(frame, Y)
    assert_allclose(fitted.predict(frame), KernelRidge(RBF(2.0), 0.5).fit(X, Y).predict(X))
    assert fitted.n_features_in_ == 3
    known = (
        hasattr(frame, "__dataframe__") or sklearn.__version__ >= "1.9"
    )  # its columns, by sklearn
    if make is pd.DataFrame or (make is pl.DataFrame and known):
        assert_array_equal(fitted.feature_names_in_, [*"abc"])
        with pytest.raises(ValueError, match="Feature names must be in the same order"):
            fitted.predict(make({k: columns[k] for k in "cab"}))
    with pytest.raises(ValueError, match="only one has"):
        fitted.function_(make({k: columns[k] for k in "ab"}))


def test_frames_with_categories():
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "up", "down")})
    y = np.where(frame["kind"] == "up", 3.0, 0.0)
    fitted = KernelRidge(Delta().select("kind"), 1e-3).fit(frame, y)
    assert_allclose(fitted.predict(frame), y, atol=1e-3)
    assert KernelRidge(ridge=1e-3).fit(frame, y).score(frame, y) > 0.99
    with pytest.raises(ValueError, match="missing values"):
        fitted.predict(frame.assign(x=np.nan))


def test_tensors_stay_tensors():
    x, y = torch.tensor(X), torch.tensor(Y)
    fitted = KernelRidge(RBF(2.0), 0.5).fit(x, y)
    wanted = KernelRidge(RBF(2.0), 0.5).fit(X, Y)
    found = fitted.predict(x[:7])
    assert isinstance(found, torch.Tensor)
    assert_allclose(found.numpy(), wanted.predict(X[:7]), rtol=1e-9)
    assert fitted.n_features_in_ == 3
    with pytest.raises(ValueError, match="expecting 3 features"):
        fitted.predict(x[:, :2])
    assert_allclose(KernelRidge(RBF(2.0), 0.5).fit(x, Y).predict(x[:7]).numpy(), found.numpy())
    single = KernelRidge(RBF(2.0), 0.5).fit(x.to(torch.float32), y).predict(x.to(torch.float32))
    assert single.dtype == torch.float32
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelRidge(RBF(2.0)).fit(x, y[:5])


def test_float32_stays_float32():
    fitted = KernelRidge(RBF(2.0), 0.5).fit(X.astype(np.float32), Y)
    found = fitted.predict(X.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found, KernelRidge(RBF(2.0), 0.5).fit(X, Y).predict(X), rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("make", [list, np.array, lambda v: np.array(v, dtype=object)])
def test_labels_are_points(make):
    labels = ["red", "blue", "red", "green"]
    fitted = KernelRidge(Delta(), 1e-6).fit(make(labels), [1.0, 2.0, 3.0, 4.0])
    wanted = [2.0, 4.0, 8 / 3]  # the mean of the colour; of one that was not seen that of the means
    assert_allclose(fitted.predict(make(["red", "green", "black"])), wanted, atol=1e-5)
    assert not hasattr(fitted, "n_features_in_")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.fit(make(labels), [1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(make(labels), [1.0, 2.0, np.nan, 3.0])
    with pytest.warns(DataConversionWarning, match="column-vector"):
        fitted._accept_numbers(make(labels), [[1.0]] * 4, several=False)


def test_before_fitting():
    with pytest.raises(NotFittedError):
        KernelRidge(RBF(1.0)).predict(X)


def test_a_sample_for_each_kernel_of_a_tensor():
    rng = np.random.default_rng(0)
    owner = rng.integers(0, 4, size=80)
    groups = [rng.normal(size=(20, 2)) + i for i in range(4)]
    x = rng.normal(size=(80, 1)) + owner[:, None]
    y = x[:, 0] > owner
    kernel = Tensor(RBF(1.0).on(MeanMap(RBF(1.0))), RBF(0.5))
    pairs = ([groups[i] for i in owner], x)
    gram = kernel.kernels[0](groups)[np.ix_(owner, owner)] * RBF(0.5)(x)
    ridge = KernelRidge(kernel, 0.1, intercept=False).fit(pairs, y.astype(float))
    known = np.linalg.solve(gram + 0.1 * np.eye(80), y.astype(float))
    assert_allclose(ridge.predict(pairs), gram @ known, atol=1e-9)
    weights = rng.integers(0, 3, size=80)
    kept = np.repeat(np.arange(80), weights)
    repeated = SVC(kernel).fit(([groups[i] for i in owner[kept]], x[kept]), y[kept])
    machine = SVC(kernel).fit(pairs, y, sample_weight=weights)
    assert_allclose(machine.decision_function(pairs), repeated.decision_function(pairs), atol=5e-3)
    grid = {"C": [1.0, 10.0], "kernel__kernels__1__bandwidth": [0.5, 5.0]}
    assert KernelSearchCV(SVC(kernel), grid).fit(pairs, y).score(pairs, y) > 0.9
    with pytest.raises(ValueError, match="same number of points"):
        machine.predict((groups, x))
