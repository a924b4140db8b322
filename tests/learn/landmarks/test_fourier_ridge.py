"""Ridge regression on Fourier features: the same as scikit-learn's ridge on them, from every source."""

from __future__ import annotations

import numpy as np
import pytest
from arrays import torch
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from mercer.errors import NoRule
from mercer.features import RandomFourier
from mercer.kernels import RBF, Delta, Linear
from mercer.learn import Batches, ConjugateGradients, FourierRidge, KernelRidge, NormalEquations

RNG = np.random.default_rng(6)
X = RNG.normal(size=(700, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=700)


@pytest.mark.parametrize("solver", [NormalEquations(), ConjugateGradients(200, 1e-12)], ids=str)
def test_ridge_on_the_features(solver):
    ours = FourierRidge(RBF(1.0), 0.3, n_components=60, solver=solver, random_state=0).fit(X, Y)
    z = ours.map_(X)
    theirs = Ridge(0.3, fit_intercept=False).fit(z, Y)
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
