"""Support vector classification on landmarks: exact with all of them, the same from every source."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.svm import LinearSVC

import mercer
from mercer.errors import MemoryBudgetError, NotConverged
from mercer.kernels import RBF, Exponential
from mercer.learn import Batches, KernelMachine, NystromSVC, Parquet, SquaredHinge
from mercer.learn.landmarks import factored_objective, landmark_classifier
from mercer.row_streams import streamed
from tests.support.arrays import torch

RNG = np.random.default_rng(8)
X = RNG.normal(size=(600, 2))
F = np.sin(2 * X[:, 0]) + X[:, 1]
TWO = np.where(F + 0.5 * RNG.logistic(size=600) > 0, "yes", "no")
THREE = np.digitize(F + 0.3 * RNG.normal(size=600), [-0.7, 0.7])
WEIGHTS = RNG.uniform(0.2, 2, size=600)
KERNEL = Exponential(2.0)
LANDMARKS = X[:40]
BOTH = pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])


@BOTH
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_all_points_are_the_exact_solution(y, weighted, intercept):
    weights, C = WEIGHTS[:200] if weighted else None, 5.0
    exact = KernelMachine(SquaredHinge(), KERNEL, 1 / (2 * C), intercept=intercept, tolerance=1e-15)
    exact.fit(X[:200], y[:200], sample_weight=weights)
    ours = NystromSVC(KERNEL, C, landmarks=1000, intercept=intercept, tolerance=1e-12)
    ours.fit(X[:200], y[:200], sample_weight=weights)
    # both end with the system of the points inside the margin, so that only rounding is left
    assert_allclose(ours.decision_function(X), exact.decision_function(X), atol=1e-9)
    assert_allclose(ours.intercept_, exact.intercept_, atol=1e-9)
    assert_array_equal(ours.predict(X), exact.predict(X))


@BOTH
def test_liblinear_on_the_features(y):
    """scikit-learn's intercept is penalised, so that both go without."""
    values, vectors = np.linalg.eigh(KERNEL(LANDMARKS))
    features = KERNEL(X, LANDMARKS) @ (vectors / np.sqrt(values))
    theirs = LinearSVC(C=2.0, dual=False, fit_intercept=False, tol=1e-9).fit(features, y)
    ours = NystromSVC(KERNEL, 2.0, landmarks=LANDMARKS, intercept=False).fit(X, y)
    # LIBLINEAR stops at 1e-9 of the gradient, 1,200 at first, times the inverse of the curvature, at most 2 C
    assert_allclose(ours.decision_function(X), theirs.decision_function(features), atol=1e-5)


@BOTH
def test_conditions_on_few_landmarks(y):
    """The slopes of the loss are balanced by the penalty, and add up to 0 for every class."""
    fitted = NystromSVC(KERNEL, 5.0, landmarks=LANDMARKS).fit(X, y, sample_weight=WEIGHTS)
    f = fitted.decision_function(X).reshape(600, -1)
    signs = np.where(np.arange(f.shape[1]) == THREE[:, None], 1, -1)
    signs = np.where(TWO == "yes", 1, -1)[:, None] if y is TWO else signs
    slopes = -2 * 5.0 * WEIGHTS[:, None] * signs * np.maximum(1 - signs * f, 0)
    c = fitted.function_.weights.reshape(40, -1)
    gradient = KERNEL(X, LANDMARKS).T @ slopes + KERNEL(LANDMARKS) @ c
    assert_allclose(gradient, 0, atol=1e-7)  # sums of 600 slopes of up to 40
    assert_allclose(slopes.sum(axis=0), 0, atol=1e-7)
    assert fitted.n_passes_ == 2 * fitted.n_iter_ + 1  # full steps: values, and normal equations


@BOTH
@pytest.mark.parametrize("how", ["streamed", "class by class"])
def test_features_in_memory_and_recomputed_ones_give_the_same(y, how, monkeypatch):
    learner = NystromSVC(KERNEL, 5.0, landmarks=LANDMARKS)
    stored = clone(learner).fit(X, y, sample_weight=WEIGHTS)
    monkeypatch.setattr(landmark_classifier, "_STORED_SHARE", 2**50)
    if how == "class by class":  # as many classes at a time as the memory budget allows: here one
        monkeypatch.setattr(factored_objective, "_COPIES", 2**50)
    other = clone(learner).fit(X, y, sample_weight=WEIGHTS)
    assert_allclose(stored.decision_function(X), other.decision_function(X), atol=1e-9)


def test_landmarks_that_are_dependent():
    """Twice the same landmarks span the same functions, and 300 landmarks on a line nearly those of 20."""
    twice = NystromSVC(KERNEL, 5.0, landmarks=np.repeat(LANDMARKS, 2, axis=0)).fit(X, TWO)
    once = NystromSVC(KERNEL, 5.0, landmarks=LANDMARKS).fit(X, TWO)
    assert_allclose(twice.decision_function(X), once.decision_function(X), atol=1e-6)
    line = X[:, :1]
    many = NystromSVC(RBF(1.0), 100.0, landmarks=line[:300]).fit(line, TWO)
    exact = KernelMachine(SquaredHinge(), RBF(1.0), 1 / 200).fit(line, TWO)
    assert many.n_iter_ < 20
    # what is left out has an eigenvalue below 1e-13 of the largest, hence values of 3e-7 times |f|, which is 60
    assert_allclose(many.decision_function(line), exact.decision_function(line), atol=1e-4)


@pytest.mark.parametrize("kind", ["batches", "parquet", "memory map", "tensor", "float32"])
def test_sources(kind, tmp_path):
    wanted = NystromSVC(KERNEL, 5.0, landmarks=LANDMARKS).fit(X, THREE).decision_function(X)
    learner, new, near = NystromSVC(KERNEL, 5.0, landmarks=LANDMARKS), X, 1e-9
    if kind == "batches":
        learner.fit(Batches([(X[i : i + 150], THREE[i : i + 150]) for i in range(0, 600, 150)]))
    elif kind == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": THREE})
        pq.write_table(table, tmp_path / "d.parquet")
        learner.fit(Parquet(tmp_path / "d.parquet", "y"))
        new = table.select(["a", "b"])
    elif kind == "memory map":
        held = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=X.shape)
        held[:] = X
        learner.fit(held, THREE)
    elif kind == "tensor":
        learner.set_params(landmarks=torch.tensor(LANDMARKS)).fit(torch.tensor(X), THREE)
        new = torch.tensor(X)
    else:  # computed in float64, from rounded points
        learner.set_params(landmarks=LANDMARKS.astype(np.float32)).fit(X.astype(np.float32), THREE)
        new, near = X.astype(np.float32), 1e-4
        assert learner.decision_function(new).dtype == np.float32
    assert_allclose(np.asarray(learner.decision_function(new)), wanted, atol=near)


class Pickling(Executor):
    """An executor that pickles its work, as one with other processes does."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        work, values = pickle.loads(pickle.dumps((fn, args)))
        future.set_result(work(*values))
        return future


def test_parts_on_an_executor(tmp_path: Path):
    x = np.tile(X, (100, 3)) + RNG.normal(size=(60_000, 6))
    labels = np.tile(TWO, 100)
    learner = NystromSVC(RBF(2.0), 0.1, landmarks=x[:20], class_weight="balanced")
    wanted = learner.fit(x, labels).decision_function(x[:50])
    np.save(tmp_path / "x.npy", x)
    with mercer.config(memory="16MiB", executor=Pickling(), threads=1):
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        assert streamed(mapped) is not None  # the case is about parts
        learner.fit(mapped, labels)
    assert_array_equal(learner.classes_, ["no", "yes"])
    assert_allclose(learner.decision_function(x[:50]), wanted, atol=1e-9)


def test_weights_of_classes():
    by_class = {"yes": 3.0, "no": 0.5}
    weights = np.where(TWO == "yes", 3.0, 0.5)
    learner = NystromSVC(KERNEL, landmarks=LANDMARKS, class_weight=by_class).fit(X, TWO)
    wanted = NystromSVC(KERNEL, landmarks=LANDMARKS).fit(X, TWO, sample_weight=weights)
    assert_allclose(learner.decision_function(X), wanted.decision_function(X), atol=1e-9)
    parts = Batches([(X[:300], TWO[:300]), (X[300:], TWO[300:])])
    assert_allclose(learner.fit(parts).decision_function(X), wanted.decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="classes that are not in y: .'maybe'."):
        NystromSVC(KERNEL, class_weight={"maybe": 1.0}).fit(X, TWO)
    with pytest.raises(ValueError, match='class_weight must be a dictionary, "balanced" or None'):
        NystromSVC(KERNEL, class_weight="even").fit(X, TWO)


def test_bad_input():
    with pytest.raises(ValueError, match="got one class"):
        NystromSVC(RBF(1.0)).fit(Batches([(X, np.ones(600))]))
    with pytest.raises(ValueError, match="NystromSVC needs many passes over the data"):
        NystromSVC(RBF(1.0)).fit(Batches(iter([(X, TWO)])))
    for C in (0.0, np.inf):
        with pytest.raises(ValueError, match="C must be"):
            NystromSVC(RBF(1.0), C).fit(X, TWO)
    with pytest.warns(NotConverged, match=r"raise max_iter, or use a smaller C"):
        NystromSVC(RBF(1.0), 10.0, landmarks=20, max_iter=1).fit(X, TWO)
    with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="fewer landmarks"):
        NystromSVC(RBF(1.0), landmarks=600).fit(X, TWO)
