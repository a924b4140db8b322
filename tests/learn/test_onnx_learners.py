"""Exported learners: outputs of ONNX runtimes equal those of the learner, or `NoRule` says why there are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from mercer.backend import to_numpy
from mercer.errors import NoRule
from mercer.features import Nystrom, RandomFourier
from mercer.kernels import RBF, Matern
from mercer.learn import (
    SVC,
    SVR,
    DomainAdaptation,
    KernelKMeans,
    KernelLogistic,
    KernelMachine,
    KernelPCA,
    KernelRidge,
    LocalLinear,
    Logistic,
    OneVsRest,
    RidgePath,
    to_onnx,
)
from tests.learn.test_pickles import X, Y, fitted
from tests.support.features_zoo import ZOO as MAPS
from tests.support.learn_zoo import ZOO
from tests.support.onnx_runs import RUNTIMES, run, session

onnx = pytest.importorskip("onnx")

ROOT = Path(__file__).resolve().parents[2]
NEW = np.random.default_rng(5).normal(size=(40, X.shape[1]))
DISTRIBUTIONS = "mercer.learn.distributions."
REFUSED = [
    e for e in ZOO if type(e).__module__.startswith(DISTRIBUTIONS) or isinstance(e, LocalLinear)
]
EXPORTED = [e for e in (*ZOO, *MAPS) if all(e is not r for r in REFUSED)]
OTHERS = [
    SVC(RBF(2.0), 10.0),
    SVC(Matern(1.5, 2.0), multiclass=OneVsRest()),
    SVC(RBF(2.0), probability=True, random_state=0),
    KernelLogistic(RBF(2.0), 0.1),
    KernelMachine(Logistic(), RBF(2.0), 0.1),
]  # with more than two classes
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.5, 0.5])]


def expected(model: Any, x: np.ndarray, name: str) -> np.ndarray:
    """What the learner says where a graph has the output of this name."""
    methods = {
        "label": ["predict"],
        "probabilities": ["predict_proba"],
        "scores": ["decision_function", "transform"],
        "variable": ["transform", "predict"],
    }
    method = next(getattr(model, m) for m in methods[name] if hasattr(model, m))
    return to_numpy(method(x))


def rounding(model: Any) -> float:
    """sum_j |w_j| max |k| of the largest function: what the rounding of kernel values is amplified by."""
    if isinstance(model, Pipeline):
        return float(np.prod([rounding(step) for _, step in model.steps]))
    model = getattr(model, "best_estimator_", getattr(model, "estimator_", model))
    function = getattr(model, "function_", None)
    if hasattr(model, "functions_"):
        function = model.functions_[0]
    weights = getattr(getattr(model, "map_", None), "root", None)
    if weights is None and function is not None:
        weights = to_numpy(function.weights)
    if weights is None or hasattr(model, "coef_"):
        return 1.0
    columns = np.abs(weights).reshape(len(weights), -1)
    return max(float(columns.sum(axis=0).max()), 1.0)


def assert_agrees(model: Any, x: np.ndarray, outputs: dict[str, np.ndarray]) -> None:
    """In float64 up to 1,000 roundings of every term of a sum, in float32 to three digits."""
    assert outputs
    margin = np.full(len(x), np.inf)
    single = x.dtype == np.float32
    x = x.astype(np.float64)
    for name in sorted(outputs, key=lambda n: n == "label"):  # last, as it needs the margin
        ours, theirs = expected(model, x, name), outputs[name]
        if name == "label":
            clear = margin > 0
            assert theirs.shape == ours.shape
            assert_array_equal(theirs[clear], ours[clear])
            assert clear.mean() > 0.9
            continue
        assert theirs.dtype == (np.float32 if single else np.float64)
        ours = ours[:, None] if ours.ndim == 1 else ours
        scale = float(np.std(ours))
        tolerance = 1e-3 * scale if single else 1e3 * np.finfo(float).eps * rounding(model)
        assert_allclose(theirs, ours, rtol=0, atol=tolerance)
        if name == "scores" and single:
            ranked = np.sort(np.concatenate([ours, -ours], axis=1) if ours.shape[1] == 1 else ours)
            margin = (
                np.minimum(ranked[:, -1] - ranked[:, -2], ranked[:, 1] - ranked[:, 0]) - tolerance
            )


def exports(model: Any) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """New points and the outputs there, of both precisions and of all runtimes."""
    for dtype in ("float64", "float32"):
        exported = to_onnx(model, dtype=dtype)
        onnx.checker.check_model(exported, full_check=True)
        for runtime in RUNTIMES:
            x = NEW.astype(dtype)
            evaluate = session(exported, runtime)
            yield x, evaluate(x)
            few = evaluate(x[:1])  # the number of rows is free
            assert {len(value) for value in few.values()} == {1}


@pytest.mark.parametrize("learner", EXPORTED, ids=str)
def test_outputs_are_those_of_the_learner(learner):
    model = fitted(learner)
    for x, outputs in exports(model):
        assert_agrees(model, x, outputs)


@pytest.mark.parametrize("learner", OTHERS, ids=str)
def test_several_classes_and_labels_of_text(learner):
    model = learner.fit(X, LABELS)
    for x, outputs in exports(model):
        assert_agrees(model, x, outputs)
        assert next(iter(outputs)) == "label"
        assert ("probabilities" in outputs) == hasattr(model, "predict_proba")


@pytest.mark.parametrize("learner", REFUSED, ids=str)
def test_refusals_name_the_reason_and_the_alternative(learner):
    name = type(learner).__name__
    with pytest.raises(NoRule, match=f"no ONNX graph of {name}: .*(use|export|impute)"):
        to_onnx(fitted(learner))


def test_every_learner_is_exported_or_refused():
    assert {type(e) for e in EXPORTED} & {type(e) for e in REFUSED} == set()
    assert len(EXPORTED) + len(REFUSED) == len(ZOO) + len(MAPS)


def test_the_table_of_the_guide_is_true():
    """A row for every learner and feature map on rows of numbers, with the outputs that its graphs have."""
    page = (ROOT / "docs/guide/deploying.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", page.split("### Which learners")[1], re.M))
    assert set(rows) == {type(e).__name__ for e in (*EXPORTED, *REFUSED)}
    assert {name for name, outputs in rows.items() if outputs == "none"} == {
        type(e).__name__ for e in REFUSED
    }
    for learner in EXPORTED:
        listed = re.findall(r"`(\w+)`", rows[type(learner).__name__])
        if listed:
            ends = {end.name for end in to_onnx(fitted(learner)).graph.output}
            assert ends <= set(listed)


# ---- what surrounds a learner -------------------------------------------------------------------

PIPELINES = [
    make_pipeline(StandardScaler(), SVC(RBF(1.0))),
    make_pipeline(StandardScaler(with_mean=False), MinMaxScaler(clip=True), KernelRidge(RBF(1.0))),
    make_pipeline(RobustScaler(), MaxAbsScaler(), "passthrough", SVR(RBF(1.0))),
    make_pipeline(RobustScaler(with_centering=False, with_scaling=False), KernelPCA(3)),
    make_pipeline(PCA(3, whiten=True), KernelLogistic(RBF(1.0), 0.1)),
    make_pipeline(
        PCA(2), make_pipeline(StandardScaler(), Nystrom(RBF(1.0), 20, random_state=0)), LinearSVC()
    ),
    make_pipeline(RandomFourier(RBF(2.0), 41, random_state=0), LogisticRegression()),
    make_pipeline(RandomFourier(RBF(2.0), 40, random_state=0), Ridge()),
    make_pipeline(KernelKMeans(4, random_state=0), LinearRegression()),
    GridSearchCV(KernelRidge(RBF(1.0)), {"ridge": [0.1, 1.0]}, cv=2),
    DomainAdaptation(LinearRegression()),
]


@pytest.mark.parametrize("model", PIPELINES, ids=lambda m: str(m).replace("\n", "")[:60])
def test_pipelines_and_searches(model):
    model.fit(X, Y > 0 if is_classifier(model) else Y)
    for x, outputs in exports(model):
        assert_agrees(model, x, outputs)


def test_a_component_without_variance_is_whitened_as_scikit_learn_does():
    """The standard deviation 0 is a division by zero; scikit-learn replaces it by the smallest number above rounding."""
    flat, new = (np.column_stack([x, np.zeros(len(x))]) for x in (X, NEW))
    model = make_pipeline(PCA(whiten=True), Ridge()).fit(flat, Y)
    assert model[0].explained_variance_[-1] == 0
    for runtime in RUNTIMES:
        ours = run(to_onnx(model), new, runtime)["variable"][:, 0]
        assert_allclose(ours, model.predict(new), atol=1e-9)


def test_several_labels_for_each_row_are_refused():
    """The graph gave one label, that of the largest score."""
    model = make_pipeline(StandardScaler(), RidgeClassifier())
    labels = np.stack([Y > 0, X[:, 0] > 0], axis=1).astype(int)
    with pytest.raises(NoRule, match="RidgeClassifier with several labels for each row"):
        to_onnx(model.fit(X, labels))
    assert to_onnx(model.fit(X, labels[:, 0]))


def test_steps_without_a_rule_are_named():
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(
        X, Y > 0
    )
    with pytest.raises(NoRule, match="no ONNX graph of OneHotEncoder: .*skl2onnx.*merge_models"):
        to_onnx(pipeline)
    many = LogisticRegression(solver="liblinear")
    with pytest.raises(NoRule, match="skl2onnx converts estimators of scikit-learn"):
        to_onnx(make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, Y > 0))
    assert to_onnx(make_pipeline(StandardScaler(), many).fit(X, Y > 0))
    search = GridSearchCV(KernelRidge(RBF(1.0)), {"ridge": [0.1]}, cv=2, refit=False).fit(X, Y)
    with pytest.raises(NoRule, match="refit=False: fit the best estimator"):
        to_onnx(search)


# ---- uncertainty --------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.1, RidgePath()], ids=str)
def test_deviations_and_intervals(ridge, intercept):
    model = KernelRidge(RBF(2.0), ridge, intercept=intercept).fit(X[:60], Y[:60])
    search = GridSearchCV(KernelRidge(RBF(1.0)), {"ridge": [0.1, 1.0]}, cv=2).fit(X[:60], Y[:60])
    for fit in (model, search):
        exported = to_onnx(fit, std=True, interval=0.9)
        inner = getattr(fit, "best_estimator_", fit)
        for runtime in RUNTIMES:
            outputs = run(exported, NEW, runtime)
            assert list(outputs) == ["variable", "std", "interval"]
            assert_allclose(outputs["std"][:, 0], inner.predict(NEW, return_std=True)[1], atol=1e-7)
            assert_allclose(outputs["interval"], inner.predict_interval(NEW), atol=1e-7)
    several = KernelRidge(RBF(2.0)).fit(X, np.stack([Y, X[:, 0]], axis=1))
    outputs = run(to_onnx(several, std=True), NEW, "reference")
    assert outputs["variable"].shape == outputs["std"].shape == (len(NEW), 2)
    assert_allclose(outputs["std"], several.predict(NEW, return_std=True)[1], atol=1e-7)


# ---- precision ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0])
def test_small_ridges_are_summed_in_double(ridge):
    """Weights of a million of both signs: float32 sums would have no digit left."""
    model = KernelRidge(RBF(3.0), ridge).fit(X, Y)
    exported = to_onnx(model, dtype="float32")
    casts = [n for n in exported.graph.node if n.op_type == "Cast"]
    assert bool(casts) == (ridge < 1.0)
    x = NEW.astype(np.float32)
    for runtime in RUNTIMES:
        ours = run(exported, x, runtime)["variable"][:, 0]
        assert_allclose(ours, model.predict(x.astype(float)), atol=1e-3 * np.std(Y))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_far_from_the_origin(dtype):
    """Distances are expanded around the learnt points: 1e4 standard deviations away nothing more is lost."""
    wide = np.random.default_rng(0).normal(size=(200, 12))
    points = (wide + 1e4).astype(np.float32).astype(float)  # what float32 can hold
    model = KernelRidge(RBF(4.0), 1.0).fit(points, wide[:, 0])
    new = points[:50] + 0.125
    ours = run(to_onnx(model, dtype=dtype), new.astype(dtype), RUNTIMES[-1])["variable"][:, 0]
    assert_allclose(ours, model.predict(new), atol=1e-9 if dtype == "float64" else 1e-4)
