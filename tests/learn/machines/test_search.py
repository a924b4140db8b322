"""KernelSearchCV: the scores of GridSearchCV, from Gram matrices that are computed once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from learn_libsvm import blobs, sets
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import LinearSVC

import mercer
from mercer.errors import MemoryBudgetError
from mercer.kernels import RBF, Laplace, Linear
from mercer.learn import SVC, SVR, KernelRidge, KernelSearchCV, OneVsRest
from mercer.learn.machines import search as search_module

GRID = {"C": [10.0, 0.1, 1.0], "kernel__bandwidth": [0.5, 1.0, 3.0]}


def same(ours: KernelSearchCV, theirs: GridSearchCV, close: float = 0.0) -> None:
    assert ours.best_params_ == theirs.best_params_
    assert ours.n_splits_ == theirs.n_splits_
    for name, values in ours.cv_results_.items():
        if name == "params":
            assert values == theirs.cv_results_[name]
        elif name == "rank_test_score" and close:
            continue  # equal scores may come in any order
        elif name.endswith("_score"):
            assert_allclose(values, theirs.cv_results_[name], atol=close, err_msg=name)
        else:
            assert_array_equal(values, theirs.cv_results_[name])
    assert_allclose(ours.best_score_, theirs.best_score_, atol=close)


@pytest.mark.parametrize("name", ["overlapping", "iris"])
@pytest.mark.parametrize("options", [{}, {"multiclass": OneVsRest()}], ids=["one", "rest"])
def test_scores_of_a_grid_search_of_classifiers(name, options):
    data = sets()[name]
    machine = SVC(RBF(1.0), tol=1e-6, **options)
    ours = KernelSearchCV(machine, GRID).fit(data.x, data.y)
    theirs = GridSearchCV(machine, GRID).fit(data.x, data.y)
    same(ours, theirs)
    assert_array_equal(ours.predict(data.x), theirs.predict(data.x))
    assert_allclose(ours.decision_function(data.x), theirs.decision_function(data.x), atol=1e-4)
    assert ours.score(data.x, data.y) == theirs.score(data.x, data.y)
    assert_array_equal(ours.classes_, theirs.classes_)


@pytest.mark.parametrize(
    ("learner", "grid"),
    [
        (SVR(RBF(1.0), tol=1e-5), GRID | {"C": [1.0, 0.1], "epsilon": [0.01, 0.1]}),
        (KernelRidge(RBF(1.0)), {"ridge": [0.01, 1.0], "kernel__bandwidth": [0.5, 2.0]}),
        (KernelRidge(RBF(1.0)), [{"kernel": [Linear(), Laplace(1.0)]}, {"ridge": [0.1]}]),
        (KernelRidge(), {"ridge": [0.01, 1.0]}),
    ],
    ids=["SVR", "KernelRidge", "kernels", "no kernel"],
)
def test_scores_of_a_grid_search_of_regressors(learner, grid):
    x, _ = blobs(120)
    y = np.sin(x[:, 0]) + 0.1 * x[:, 1]
    folds = KFold(3, shuffle=True, random_state=0)
    ours = KernelSearchCV(learner, grid, cv=folds, scoring="neg_mean_squared_error").fit(x, y)
    if learner.kernel is None:  # one kernel for all folds: that of all points
        learner = KernelRidge(ours.best_estimator_.kernel_)
    theirs = GridSearchCV(learner, grid, cv=folds, scoring="neg_mean_squared_error").fit(x, y)
    same(ours, theirs, 1e-5)


def test_every_distance_is_computed_once(monkeypatch):
    x, y = blobs(60)
    made, seen = [], []
    family = search_module.Family

    def counted(kernels, points):
        made.append(len(kernels))
        return family(kernels, points)

    monkeypatch.setattr(search_module, "Family", counted)
    pairwise = RBF.pairwise
    monkeypatch.setattr(
        RBF, "pairwise", lambda self, x, y, /: seen.append(x) or pairwise(self, x, y)
    )
    KernelSearchCV(SVC(RBF(1.0)), GRID, cv=4, refit=False).fit(x, y)
    assert made == [3]
    assert not seen


def test_weights_frames_and_texts():
    x, y = blobs(90)
    labels = np.where(y > 0, "yes", "no")
    weights = np.random.default_rng(0).exponential(size=90)
    machine = SVC(RBF(1.0).select(["a", "b"]), tol=1e-8)
    frame = pd.DataFrame(x, columns=[*"abc"])
    grid = {"C": [0.1, 1.0], "kernel__kernel__bandwidth": [1.0, 2.0]}
    ours = KernelSearchCV(machine, grid, cv=3).fit(frame, labels, sample_weight=weights)
    theirs = GridSearchCV(machine, grid, cv=3).fit(frame, labels, sample_weight=weights)
    same(ours, theirs)
    assert_array_equal(ours.predict(frame), theirs.predict(frame))
    assert ours.feature_names_in_.tolist() == [*"abc"]
    roc = KernelSearchCV(machine, grid, cv=3, scoring="roc_auc").fit(frame, labels)
    same(roc, GridSearchCV(machine, grid, cv=3, scoring="roc_auc").fit(frame, labels))


def test_threads_do_not_matter():
    x, y = blobs(150)
    found = []
    for threads in (1, 3):
        with mercer.config(threads=threads):
            found.append(KernelSearchCV(SVC(RBF(1.0)), GRID, cv=4).fit(x, y).cv_results_)
    assert_array_equal(found[0]["mean_test_score"], found[1]["mean_test_score"])


def test_folds_do_not_wait_for_each_other():
    """Folds large enough to be scored tile by tile, on threads that run folds themselves."""
    x, y = blobs(1500)
    half = [(np.arange(750), np.arange(750, 1500)), (np.arange(750, 1500), np.arange(750))]
    with mercer.config(threads=2):
        found = KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}, cv=half, refit=False).fit(x, y)
    assert found.best_score_ > 0.7


def test_what_is_refused():
    x, y = blobs(60)
    with pytest.raises(TypeError, match="estimator must be an estimator with a kernel"):
        KernelSearchCV(LinearSVC(), {"C": [1.0]}).fit(x, y)
    with pytest.raises(ValueError, match="kernel__bandwidth cannot be set, because kernel is None"):
        KernelSearchCV(SVC(), {"kernel__bandwidth": [1.0]}).fit(x, y)
    with pytest.raises(ValueError, match="C must be a positive number"):
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0, -1.0]}).fit(x, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}).fit(x, y[:-1])
    found = KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}, refit=False).fit(x, y)
    with pytest.raises(AttributeError, match="refit=False leaves no estimator"):
        found.predict(x)
    large, labels = blobs(1000)
    with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="use GridSearchCV"):
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}).fit(large, labels)
