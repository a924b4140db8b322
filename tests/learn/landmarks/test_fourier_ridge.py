"""Ridge regression on Fourier features: the same as scikit-learn's ridge on them, from every source."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from mercer.errors import NoRule
from mercer.features import RandomFourier
from mercer.kernels import RBF, Delta, Linear
from mercer.learn import Batches, ConjugateGradients, FourierRidge, KernelRidge, NormalEquations
from mercer.rkhs import Function
from tests.support.arrays import torch

RNG = np.random.default_rng(6)
X = RNG.normal(size=(700, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=700)


@pytest.mark.parametrize("solver", [NormalEquations(), ConjugateGradients(200, 1e-12)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_on_the_features(solver, intercept):
    options = {"n_components": 60, "solver": solver, "intercept": intercept}
    ours = FourierRidge(RBF(1.0), 0.3, random_state=0, **options).fit(X, Y + 5)
    z = ours.map_(X)
    theirs = Ridge(0.3, fit_intercept=intercept).fit(z, Y + 5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert_allclose(ours.predict(X), theirs.predict(z), atol=1e-7)
    assert ours.error_bound_ == RandomFourier(RBF(1.0), 60).fit(X).error_bound_


def test_many_features_are_nearly_exact():
    exact = KernelRidge(RBF(1.0), 0.3).fit(X, Y).predict(X)
    off = [
        np.std(
            FourierRidge(RBF(1.0), 0.3, n_components=d, random_state=0).fit(X, Y).predict(X) - exact
        )
        for d in (20, 1000)
    ]
    assert off[1] < 0.3 * off[0]
    assert off[1] < 0.02


def test_batches_parts_and_tensors():
    wanted = FourierRidge(RBF(1.0), n_components=40, random_state=0).fit(X, Y)
    parts = FourierRidge(RBF(1.0), n_components=40, random_state=0)
    for rows in np.array_split(np.arange(700), 5):
        parts.partial_fit(X[rows], Y[rows])
    source = Batches([(X[:300], Y[:300]), (X[300:], Y[300:])])
    streamed = FourierRidge(RBF(1.0), n_components=40, random_state=0).fit(source)
    for other in (parts, streamed):
        assert_allclose(other.predict(X), wanted.predict(X), atol=1e-8)
    tensors = FourierRidge(RBF(1.0), n_components=40, random_state=0)
    found = tensors.fit(torch.tensor(X), torch.tensor(Y)).predict(torch.tensor(X))
    assert_allclose(found.numpy(), wanted.predict(X), atol=1e-6)


def test_bad_input():
    with pytest.raises(NoRule, match="Nystrom"):
        FourierRidge(Linear()).fit(X, Y)
    with pytest.raises(NoRule, match="Nystrom"):
        FourierRidge(Delta()).fit(["a", "b"], [1.0, 2.0])
    with pytest.raises(ValueError, match="n_components must be"):
        FourierRidge(RBF(1.0), n_components=0).fit(X, Y)
    with pytest.raises(ValueError, match="ridge must be"):
        FourierRidge(RBF(1.0), -1.0).fit(X, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_was_learnt_is_a_function(dtype):
    x = X.astype(dtype)
    two = np.stack([Y, X[:, 0]], axis=1)
    one = FourierRidge(RBF(1.0), n_components=41, random_state=0).fit(x, Y)
    both = FourierRidge(RBF(1.0), n_components=41, random_state=0).fit(x, two)
    tight = 1e-10 if dtype == np.float64 else 1e-3
    for fitted in (one, both):
        f = fitted.function_
        assert isinstance(f, Function)
        assert_allclose(f(x) + fitted.intercept_, fitted.predict(x), atol=tight)
        assert_allclose(f.norm2(), np.sum(fitted.coef_**2, axis=0), rtol=tight)
        assert_allclose((f + f)(x), 2 * f(x), atol=2 * tight)
        assert_allclose(np.max((f - f).norm()), 0, atol=tight)
    values = one.function_(x)
    assert_allclose(both.function_[0](x), values, atol=tight)
    # the space is that of <z(x), z(y)>: ridge regression with this kernel finds the same function
    exact = KernelRidge(one.function_.kernel).fit(x, Y).function_
    assert_allclose(exact.norm(), one.function_.norm(), rtol=100 * tight)
    assert_allclose(exact.inner(one.function_), exact.norm2(), rtol=100 * tight)
    frame = pd.DataFrame(x, columns=["a", "b"])
    named = FourierRidge(RBF(1.0), n_components=41, random_state=0).fit(frame, Y)
    assert_allclose(named.function_(frame[["b", "a"]]), values, atol=tight)
    assert_allclose(pickle.loads(pickle.dumps(one)).function_(x), values)
    tensor = FourierRidge(RBF(1.0), n_components=41, random_state=0).fit(torch.tensor(x), Y)
    assert_allclose(tensor.function_(torch.tensor(x)).numpy(), values, atol=1e4 * tight)
