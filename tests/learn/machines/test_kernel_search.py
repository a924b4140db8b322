"""KernelSearchCV: the scores of GridSearchCV, from Gram matrices that are computed once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.svm import LinearSVC

import mercer
from mercer.errors import MemoryBudgetError
from mercer.kernels import RBF, Laplace, Linear, Sigmoid
from mercer.kernels.precomputed import Precomputed
from mercer.learn import (
    GCV,
    SVC,
    SVR,
    AugmentedSVC,
    FourierRidge,
    HSICSelector,
    KernelPCA,
    KernelRidge,
    KernelSearchCV,
    LearnedMap,
    LocalLinear,
    NadarayaWatson,
    NystromRidge,
    OneClassSVC,
    OneVsRest,
    RidgePath,
    SpectralClustering,
)
from mercer.learn.machines import kernel_search
from mercer.learn.machines.kernel_core import core, on_core
from mercer.rkhs import MeanMap
from tests.support.learn_libsvm import blobs, sets

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
    family = kernel_search.Family

    def counted(kernels, points):
        made.append(len(kernels))
        return family(kernels, points)

    monkeypatch.setattr(kernel_search, "Family", counted)
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
    with pytest.raises(ValueError, match="kernel__bandwidth cannot be set because kernel is None"):
        KernelSearchCV(SVC(), {"kernel__bandwidth": [1.0]}).fit(x, y)
    with pytest.raises(ValueError, match="C must be a positive number"):
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0, -1.0]}).fit(x, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}).fit(x, y[:-1])
    found = KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}, refit=False).fit(x, y)
    with pytest.raises(AttributeError, match="with refit=False there is no fitted estimator"):
        found.predict(x)
    large, labels = blobs(1000)
    with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="use GridSearchCV"):
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}).fit(large, labels)


def test_level_2_kernels_share_the_expected_kernel(monkeypatch):
    """The scores of a grid search, from one matrix of expectations for each kernel of the points."""
    rng = np.random.default_rng(0)
    spread = rng.choice([1.0, 1.5], size=60)
    bags = [rng.normal(0.0, s, size=(10, 2)) for s in spread]
    inner = [MeanMap(RBF(1.0)), MeanMap(RBF(3.0))]
    outer = [
        level for k in inner for level in (k, (k + 1.0) ** 2, RBF(0.5).on(k), 2 * k.normalized())
    ]
    grid = {"C": [10.0, 1.0], "kernel": outer[::2] + outer[1::2]}  # C first: kernels come in turn
    made = []
    pairwise = MeanMap.pairwise
    monkeypatch.setattr(
        MeanMap, "pairwise", lambda self, x, y, /: made.append(self) or pairwise(self, x, y)
    )
    machine = SVC(inner[0], tol=1e-6)
    ours = KernelSearchCV(machine, grid, cv=3, refit=False).fit(bags, spread > 1)
    assert made == inner
    places = np.zeros((60, 1))
    folds = list(StratifiedKFold(3).split(places, spread > 1))
    for params, *scores in zip(
        ours.cv_results_["params"],
        *(ours.cv_results_[f"split{f}_test_score"] for f in range(3)),
        strict=True,
    ):
        for (train, test), score in zip(folds, scores, strict=True):
            one = SVC(**params, tol=1e-6).fit([bags[i] for i in train], spread[train] > 1)
            assert one.score([bags[i] for i in test], spread[test] > 1) == score


@pytest.mark.parametrize(
    ("kernel", "inside"),
    [
        (RBF(1.0).on(Laplace(2.0)), Laplace(2.0)),
        ((1.0 + Laplace(2.0)) ** 3, Laplace(2.0)),
        (2.0 * Laplace(2.0).normalized(), Laplace(2.0)),
        (Laplace(2.0).exp(0.5), Laplace(2.0)),
        (Laplace(2.0) + Linear(), None),
        (Laplace(2.0).select([0]), None),
    ],
    ids=["on", "power", "normalized", "exp", "sum", "columns"],
)
def test_the_core_of_a_kernel_has_its_values(kernel, inside):
    assert core(kernel) == (kernel if inside is None else inside)
    x, _ = blobs(20)
    values = Precomputed(np.asarray(core(kernel)(x)))
    found = on_core(kernel, values)(np.arange(20.0)[:, None])
    assert_allclose(found, kernel(x), rtol=1e-12, atol=1e-14)


def test_what_was_learnt_is_a_function():
    x, y = blobs(60)
    found = KernelSearchCV(SVC(RBF(1.0)), {"C": [0.1, 1.0]}).fit(x, y)
    assert_allclose(
        found.function_(x) + found.best_estimator_.intercept_, found.decision_function(x)
    )
    assert not hasattr(
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}, refit=False).fit(x, y), "function_"
    )


@pytest.mark.parametrize(
    ("learner", "grid", "words"),
    [
        (LocalLinear(RBF(1.0)), {"kernel__bandwidth": [1.0]}, "draws lines through the points"),
        (NadarayaWatson(), {"bandwidths": [None, [1.0]]}, "chooses its bandwidth itself"),
        (NadarayaWatson(RBF(1.0)), {"bandwidths": [None, [1.0]]}, "chooses its bandwidth itself"),
        (FourierRidge(RBF(1.0)), {"ridge": [1.0]}, "makes features of the points"),
        (NystromRidge(RBF(1.0), landmarks=np.eye(3)), {"ridge": [1.0]}, "landmarks are points"),
        (KernelPCA(2, preimage=LearnedMap()), {"n_components": [1]}, "pre-images are points"),
        (SpectralClustering(2), {"n_clusters": [2]}, "chosen by the neighbours"),
        (HSICSelector(2), {"n_features_to_select": [2]}, "among the columns"),
        (AugmentedSVC(), {"draws": [2]}, "its kernel is not a parameter"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_what_uses_more_than_the_kernel_is_refused(learner, grid, words):
    """Positions in a matrix would be taken for points, and give scores of nothing."""
    x, y = blobs(60)
    with pytest.raises(ValueError, match=f"through its kernel only.*{words}.*: use GridSearchCV"):
        KernelSearchCV(learner, grid, scoring=lambda e, x, y: 0.0).fit(x, y)


def test_groups_stay_together():
    x, y = blobs(90)
    groups = np.arange(90) // 7
    ours = KernelSearchCV(SVC(RBF(1.0), tol=1e-6), GRID, cv=GroupKFold(3)).fit(x, y, groups=groups)
    theirs = GridSearchCV(SVC(RBF(1.0), tol=1e-6), GRID, cv=GroupKFold(3))
    same(ours, theirs.fit(x, y, groups=groups))


def test_methods_of_the_best():
    x, y = blobs(60)
    found = KernelSearchCV(SVC(RBF(1.0), probability=True, random_state=0), {"C": [1.0]}).fit(x, y)
    assert_allclose(np.exp(found.predict_log_proba(x)), found.predict_proba(x))
    assert not hasattr(found, "score_samples")
    ones = KernelSearchCV(OneClassSVC(RBF(1.0)), {"nu": [0.1]}, scoring=lambda e, x, y=None: 0.0)
    assert ones.fit(x).score_samples(x).shape == (60,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": ["accuracy", "roc_auc"]}, "scoring must be a single metric"),
        ({"refit": "accuracy"}, "refit must be True or False"),
    ],
)
def test_options_that_are_not_there(options, words):
    x, y = blobs(60)
    with pytest.raises((ValueError, TypeError), match=words):
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}, **options).fit(x, y)
    with pytest.raises(ValueError, match="y contains missing labels"):
        KernelSearchCV(SVC(RBF(1.0)), {"C": [1.0]}).fit(x, [None, *["a", "b"] * 29, "a"])


def test_classes_that_weigh_more_and_a_hard_margin():
    """What the quick way through the folds has to do as `fit` does it."""
    x, y = blobs(150)
    grid = [{"C": [0.1, 1.0]}, {"C": [np.inf], "kernel__bandwidth": [0.1]}]
    machine = SVC(RBF(1.0), class_weight={0: 5.0, 1: 0.5}, tol=1e-6)
    ours = KernelSearchCV(machine, grid, cv=3).fit(x, y)
    same(ours, GridSearchCV(machine, grid, cv=3).fit(x, y))
    plain = KernelSearchCV(SVC(RBF(1.0), tol=1e-6), grid, cv=3).fit(x, y)
    assert np.any(
        plain.cv_results_["mean_test_score"] != ours.cv_results_["mean_test_score"]
    )  # weights matter


def test_a_kernel_that_is_not_positive_definite_is_told_of_once():
    x, y = blobs(60)
    search = KernelSearchCV(SVC(Sigmoid(1.0, -1.0)), {"C": [1.0]}, cv=3, refit=False)
    with pytest.warns(UserWarning, match="not positive definite") as told:
        search.fit(x, y)
    assert len(told) == 1


def test_rounding_of_float32_is_not_fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)).astype(np.float32)
    y = x @ [1.0, 0.5, 0.0] + 0.3 * rng.normal(size=60)
    grid = {"ridge": [RidgePath(by=GCV()), 1e-6, 1e-4], "intercept": [True, False]}
    found = KernelSearchCV(KernelRidge(Linear()), grid, cv=3).fit(x, y)
    wanted = KernelSearchCV(KernelRidge(Linear()), grid, cv=3).fit(x.astype(np.float64), y)
    scores = [search.cv_results_["mean_test_score"] for search in (found, wanted)]
    assert_allclose(*scores, atol=1e-3)
