"""Pickled learners: as large as what they predict with, and marked with the version that wrote them."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier

import mercer
from mercer.errors import InconsistentVersion
from mercer.kernels import RBF
from mercer.learn import FourierRidge, KernelRidge, NystromRidge
from tests.support.features_zoo import ZOO as MAPS
from tests.support.learn_zoo import ZOO

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X[:, 0] + 0.1 * RNG.normal(size=300)


def fitted(learner: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop early
        return clone(learner).fit(X, Y > 0 if is_classifier(learner) else Y)


def size(thing: Any) -> int:
    return len(pickle.dumps(thing))


@pytest.mark.parametrize("learner", ZOO, ids=str)
def test_no_larger_than_what_was_learnt(learner):
    """At most twice what is public: scores of training points, where pre-images start from them.

    48 KiB beside it for the prior of `BayesianDistributionRegressor`, two matrices of 50 landmarks.
    """
    found = fitted(learner)
    public = {name: value for name, value in vars(found).items() if not name.startswith("_")}
    assert size(found) <= 2.1 * size(public) + 48 * 1024


@pytest.mark.parametrize(
    "learner",
    [NystromRidge(RBF(2.0), landmarks=250), FourierRidge(RBF(2.0), n_components=300)],
    ids=["NystromRidge", "FourierRidge"],
)
def test_normal_equations_stay_at_home(learner):
    """Landmarks or frequencies and one coefficient for each, several times: 32 KB, not m^2 numbers."""
    found = fitted(learner)
    assert size(found) < 10 * 300 * (X.shape[1] + 1) * 8 < 300 * 300 * 8
    again = pickle.loads(pickle.dumps(found))
    assert_allclose(again.predict(X), found.predict(X))
    with pytest.raises(ValueError, match="pickled after fit.*use partial_fit from the first batch"):
        again.partial_fit(X, Y)
    again.fit(X, Y).partial_fit(X, Y)  # a new fit starts anew


def test_partial_fit_goes_on_after_a_pickle():
    one = NystromRidge(RBF(2.0), landmarks=X[:30]).partial_fit(X[:150], Y[:150])
    other = pickle.loads(pickle.dumps(one)).partial_fit(X[150:], Y[150:])
    whole = one.partial_fit(X[150:], Y[150:])
    assert_allclose(other.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", [*ZOO, *MAPS], ids=str)
def test_other_versions_are_told(estimator, monkeypatch):
    kept = pickle.dumps(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(pickle.loads(kept)) == repr(estimator)
    monkeypatch.setattr(mercer, "__version__", "99.0")
    with pytest.warns(InconsistentVersion, match=r"was pickled by mercer .*this is mercer 99\.0"):
        assert repr(pickle.loads(kept)) == repr(estimator)


def test_pickles_without_a_version():
    ridge = KernelRidge(RBF(1.0))
    with pytest.warns(InconsistentVersion, match="before 0.1.0"):
        ridge.__setstate__(vars(ridge).copy())
