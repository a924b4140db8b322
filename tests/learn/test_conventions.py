"""Every learner keeps scikit-learn's conventions, and its own: pipelines, frames, names, pickles."""

from __future__ import annotations

import importlib
import inspect
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mercer import learn
from mercer.learn import HSICSelector
from tests.support.learn_zoo import DEEP, ZOO, expected_failures
from tests.support.sklearn_checks import results_of_checks

each_learner = pytest.mark.parametrize("learner", ZOO, ids=str)
selectors = [learner for learner in ZOO if isinstance(learner, SelectorMixin)]
drawing = [learner for learner in ZOO if "random_state" in learner.get_params()]
each_selector = pytest.mark.parametrize("selector", selectors, ids=str)


@each_learner
def test_scikit_learn_checks(learner):
    """All checks in one test: one test for each of 2,600 would take longer to hand out than to run."""
    results_of_checks(learner, expected_failures(learner))


def test_a_learner_that_breaks_a_convention_is_caught():
    class Forgetful(learn.KernelRidge):
        def fit(self, X, y, sample_weight=None):
            self.ridge = 2.0
            return super().fit(X, y, sample_weight)

    with pytest.raises(AssertionError, match="should not change or mutate"):
        results_of_checks(Forgetful(), {})
    with pytest.raises(AssertionError, match="an expected failure passed"):
        results_of_checks(learn.KernelRidge(), {"check_fit2d_1sample": "it passes"})


def test_every_learner_is_in_the_zoo():
    public = (getattr(learn, name) for name in learn.__all__)
    learners = {c for c in public if inspect.isclass(c) and issubclass(c, BaseEstimator)}
    assert learners == {type(learner) for learner in [*ZOO, *DEEP]}  # DEEP needs torch


@pytest.fixture
def problem() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.uniform(-1, 1, size=(80, 4)), columns=[*"abcd"])
    return x, (x["b"] + 0.3 * x["d"] ** 2 + 0.1 * rng.normal(size=80)).to_numpy()


@each_learner
def test_configuration_is_kept(learner):
    copy = clone(learner)
    assert repr(copy) == repr(learner)
    assert copy.get_params().keys() == learner.get_params().keys()


@each_learner
def test_pickled_after_fitting(learner, problem):
    x, y = problem
    fitted = clone(learner).fit(x, y > np.median(y) if is_classifier(learner) else y)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(_answers(again, x), _answers(fitted, x))


def _answers(fitted, x):
    return fitted.predict(x) if hasattr(fitted, "predict") else fitted.transform(x)


@each_selector
def test_names_and_frames(selector, problem):
    x, y = problem
    fitted = clone(selector).set_output(transform="pandas").fit(x, y)
    chosen = fitted.get_feature_names_out().tolist()
    assert chosen == [c for c, kept in zip(x, fitted.get_support(), strict=True) if kept]
    pd.testing.assert_frame_equal(fitted.transform(x), x[chosen])
    assert_array_equal(np.sort(fitted.ranking_), np.arange(1, 5))
    assert_array_equal(fitted.support_, fitted.ranking_ <= fitted.n_features_)


@each_selector
def test_order_of_columns_does_not_matter(selector, problem):
    x, y = problem
    ranking = clone(selector).fit(x, y).ranking_
    assert_array_equal(clone(selector).fit(x[[*"dbca"]], y).ranking_, ranking[[3, 1, 2, 0]])


@each_selector
def test_several_targets_and_one_in_a_column(selector, problem):
    x, y = problem
    scores = clone(selector).fit(x, y).scores_
    assert_allclose(clone(selector).fit(x, y[:, None]).scores_, scores)
    two = np.stack([y, x["a"]], axis=1)
    assert clone(selector).fit(x, two).scores_[0] > scores[0]


def test_a_pipeline_is_searched():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, 6))
    y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    line = make_pipeline(HSICSelector(), KNeighborsClassifier(5))
    search = GridSearchCV(line, {"hsicselector__n_features_to_select": [1, 2, 6]}, cv=3).fit(x, y)
    assert search.best_params_ == {"hsicselector__n_features_to_select": 2}
    assert search.best_score_ > 0.85


@each_selector
@pytest.mark.parametrize("number", [0, -1, 5, 1.5, "2", True, np.nan])
def test_wrong_number_of_features(selector, number, problem):
    with pytest.raises((ValueError, TypeError), match="n_features_to_select must be"):
        clone(selector).set_params(n_features_to_select=number).fit(*problem)


@each_selector
@pytest.mark.parametrize(("number", "kept"), [(None, 2), (3, 3), (0.3, 1), (0.8, 3), (4, 4)])
def test_numbers_of_features(selector, number, kept, problem):
    fitted = clone(selector).set_params(n_features_to_select=number).fit(*problem)
    assert fitted.n_features_ == fitted.support_.sum() == kept


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[learn\]'"):
        importlib.reload(learn)


@pytest.mark.parametrize("learner", drawing, ids=str)
def test_every_kind_of_random_state(learner, problem):
    x, y = problem
    y = y > np.median(y) if is_classifier(learner) else y
    for make in (lambda: 0, lambda: np.random.default_rng(0), lambda: np.random.RandomState(0)):
        one, other = (clone(learner).set_params(random_state=make()).fit(x, y) for _ in range(2))
        assert_array_equal(_answers(one, x), _answers(other, x))


@pytest.mark.parametrize("bad", ["0", 0.5, -1])
@pytest.mark.parametrize(
    "make",
    [
        learn.KCCA,
        learn.KernelKMeans,
        learn.SpectralClustering,
        learn.NystromRidge,
        learn.FourierRidge,
        partial(learn.SVC, probability=True),
    ],
)
def test_wrong_random_states(make, bad, problem):
    x, y = problem
    learner = make(random_state=bad)
    with pytest.raises((ValueError, TypeError), match="random_state must be"):
        learner.fit(x, y > np.median(y) if is_classifier(learner) else y)
