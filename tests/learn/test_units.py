"""Predictions follow the unit and the origin of y: those for a y + b are a times those for y, plus b."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_regressor

from mercer.kernels import RBF
from mercer.learn import (
    SVR,
    BayesianDistributionRegressor,
    ConjugateGradients,
    DeepSetsRegressor,
    FourierRidge,
    Huber,
    KernelMachine,
    KernelQuantile,
    KernelRidge,
    NormalEquations,
    NystromRidge,
    Pinball,
    RidgePath,
)
from tests.support.learn_zoo import ZOO

RNG = np.random.default_rng(11)
X = RNG.uniform(-2, 2, size=(120, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=120)
NEW = RNG.uniform(-2, 2, size=(400, 2))
TRUTH = np.sin(2 * NEW[:, 0]) + NEW[:, 1]


def _has_own_unit(learner):
    """Whether a parameter is in the unit of y."""
    loss = getattr(learner, "loss", None)
    own = (
        getattr(loss, "width", None),
        getattr(learner, "C", None),
        getattr(learner, "epsilon", None),
    )
    return any(value is not None and value > 0 for value in own)


REGRESSORS = [
    *(one for one in ZOO if is_regressor(one) and not _has_own_unit(one)),
    KernelMachine(Huber(), RBF(1.0), 0.1),
    KernelMachine(Pinball(0.7), RBF(1.0), 0.1),
    NystromRidge(RBF(1.0), 0.1, landmarks=50, solver=NormalEquations(2), random_state=0),
    FourierRidge(RBF(1.0), 0.1, solver=ConjugateGradients(500, 1e-13), random_state=0),
]


@pytest.mark.parametrize(("unit", "origin"), [(1.0, 1000.0), (1e-6, 0.0), (1e6, -3e7), (-3.0, 5.0)])
@pytest.mark.parametrize("learner", REGRESSORS, ids=str)
def test_predictions_follow_the_unit_of_y(learner, unit, origin):
    """To a millionth of the spread of y, or as far as an iterative solver goes."""
    if unit < 0 and isinstance(learner, DeepSetsRegressor):
        pytest.skip("a network that begins at random learns y and -y differently")
    origin = origin if getattr(learner, "intercept", True) else 0.0
    before, after = clone(learner), clone(learner)
    if unit < 0 and hasattr(learner, "quantile"):
        after.set_params(quantile=1 - learner.quantile)
    if unit < 0 and isinstance(getattr(learner, "loss", None), Pinball):
        after.set_params(loss=Pinball(1 - learner.loss.quantile))
    wanted = before.fit(X, Y).predict(NEW)
    found = (after.fit(X, unit * Y + origin).predict(NEW) - origin) / unit
    atol = 1e-6 + 1e-12 * abs(origin / unit)
    if isinstance(learner, SVR):
        atol = 20 * learner.tol
    if isinstance(learner, BayesianDistributionRegressor):
        atol = 1e-4  # by L-BFGS
    assert_allclose(found, wanted, atol=atol)


@pytest.mark.parametrize("mean", [0.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize(
    "learner",
    [
        KernelRidge(RBF(1.0), 0.1),
        KernelRidge(RBF(1.0), RidgePath()),
        NystromRidge(RBF(1.0), 0.1, random_state=0),
        FourierRidge(RBF(1.0), 0.1, random_state=0),
        KernelQuantile(ridge=0.1),
        SVR(),
    ],
    ids=str,
)
def test_targets_far_from_zero(learner, mean):
    for x, new in ((X, NEW), (X.astype(np.float32), NEW.astype(np.float32))):
        assert clone(learner).fit(x, Y + mean).score(new, TRUTH + mean) > 0.85


def test_quantiles_of_thousands():
    """Not the constant median, which no y in thousands should get where y in units does not."""
    found = KernelQuantile(0.5).fit(X, 1000 * Y).predict(NEW)
    assert np.corrcoef(found, TRUTH)[0, 1] > 0.9
    assert np.std(found) > 0.5 * np.std(1000 * TRUTH)
