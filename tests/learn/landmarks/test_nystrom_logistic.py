"""Logistic regression on landmarks: exact with all of them, the same from every source."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer.errors import NotConverged
from mercer.features import KMeansPlusPlus
from mercer.kernels import RBF, Exponential, Linear
from mercer.learn import Batches, KernelLogistic, NystromLogistic, Parquet
from mercer.learn.landmarks import landmark_classifier
from tests.support.arrays import torch

RNG = np.random.default_rng(8)
X = RNG.normal(size=(600, 2))
F = np.sin(2 * X[:, 0]) + X[:, 1]
TWO = np.where(F + 0.5 * RNG.logistic(size=600) > 0, "yes", "no")
THREE = np.digitize(F + 0.3 * RNG.normal(size=600), [-0.7, 0.7])
KERNEL = Exponential(2.0)
LANDMARKS = X[:40]


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_all_points_are_the_exact_solution(y, weighted, intercept):
    weights = RNG.uniform(0.2, 2, size=200) if weighted else None
    exact = KernelLogistic(KERNEL, 0.3, intercept=intercept).fit(
        X[:200], y[:200], sample_weight=weights
    )
    ours = NystromLogistic(KERNEL, 0.3, landmarks=1000, intercept=intercept, tolerance=1e-9)
    ours.fit(X[:200], y[:200], sample_weight=weights)
    assert_allclose(ours.predict_proba(X), exact.predict_proba(X), atol=1e-5)
    assert_array_equal(ours.classes_, exact.classes_)
    assert_allclose(ours.intercept_, exact.intercept_, atol=1e-4)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_conditions_on_few_landmarks(y):
    """Z'(p - hot) + 2 ridge P c = 0, and residuals that add up to 0."""
    fitted = NystromLogistic(KERNEL, 0.3, landmarks=LANDMARKS, tolerance=1e-9).fit(X, y)
    p = fitted.predict_proba(X)
    hot = np.eye(len(fitted.classes_))[np.searchsorted(fitted.classes_, y)]
    residual = (p - hot)[:, 1] if y is TWO else p - hot
    z, c = KERNEL(X, LANDMARKS), fitted.function_.weights
    assert_allclose(z.T @ residual + 2 * 0.3 * KERNEL(LANDMARKS) @ c, 0, atol=1e-4)
    assert_allclose(residual.sum(axis=0), 0, atol=1e-4)
    assert fitted.n_iter_ < 15
    assert fitted.n_passes_ > fitted.n_iter_


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("intercept", [True, False])
def test_kernel_values_in_memory_and_recomputed_ones_give_the_same(y, intercept, monkeypatch):
    weights = RNG.uniform(0.2, 2, size=600)
    learner = NystromLogistic(
        KERNEL, 0.3, landmarks=LANDMARKS, intercept=intercept, tolerance=1e-10
    )
    stored = clone(learner).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(landmark_classifier, "_STORED_SHARE", 2**50)
    streamed = clone(learner).fit(X, y, sample_weight=weights)
    assert_allclose(stored.decision_function(X), streamed.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("kind", ["batches", "parquet", "memory map", "tensor", "float32"])
def test_sources(kind, tmp_path):
    wanted = NystromLogistic(KERNEL, 0.3, landmarks=LANDMARKS).fit(X, THREE).predict_proba(X)
    learner, new, near = NystromLogistic(KERNEL, 0.3, landmarks=LANDMARKS), X, 1e-5
    if kind == "batches":
        learner.fit(Batches([(X[i : i + 150], THREE[i : i + 150]) for i in range(0, 600, 150)]))
    elif kind == "parquet":
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
    else:
        learner.set_params(landmarks=LANDMARKS.astype(np.float32), tolerance=1e-4)
        learner.fit(X.astype(np.float32), THREE)
        new, near = X.astype(np.float32), 5e-3
    found = learner.predict_proba(new)
    assert_allclose(np.asarray(found), wanted, atol=near)


def test_more_landmarks_are_nearer_to_the_exact_solution():
    exact = KernelLogistic(RBF(1.5), 0.3).fit(X, THREE).predict_proba(X)
    off = [
        np.abs(
            NystromLogistic(RBF(1.5), 0.3, landmarks=m, rule=KMeansPlusPlus(), random_state=0)
            .fit(X, THREE)
            .predict_proba(X)
            - exact
        ).max()
        for m in (10, 100)
    ]
    assert off[1] < 0.01 < off[0]


def test_bad_input():
    with pytest.raises(ValueError, match="got one class"):
        NystromLogistic(RBF(1.0)).fit(X, np.ones(600))
    with pytest.raises(ValueError, match="got one class"):
        NystromLogistic(RBF(1.0)).fit(Batches([(X, np.ones(600))]))
    with pytest.raises(ValueError, match="many passes over the data, got an iterator"):
        NystromLogistic(RBF(1.0)).fit(Batches(iter([(X, TWO)])))
    with pytest.raises(ValueError, match="NaN"):
        NystromLogistic(RBF(1.0)).fit(Batches([(X, np.full(600, np.nan))]))
    with pytest.raises(ValueError, match="at least one batch"):
        NystromLogistic(RBF(1.0)).fit(Batches([]))
    with pytest.raises(ValueError, match="ridge must be"):
        NystromLogistic(RBF(1.0), 0.0).fit(X, TWO)
    with pytest.warns(NotConverged, match="raise max_iter"):
        NystromLogistic(RBF(1.0), 1e-3, landmarks=20, max_iter=1).fit(X, TWO)


def test_rounding_is_told_apart_from_too_few_steps():
    x = np.random.default_rng(0).normal(size=(200, 4))
    learner = NystromLogistic(Linear(), 0.7, landmarks=200, tolerance=1e-13, random_state=0)
    with pytest.warns(NotConverged, match="rounding prevents further progress"):
        learner.fit(x, x[:, 0] + np.sin(9 * x[:, 1]) > 0)
