"""Learners on data that do not fit into the memory budget give the results of data in memory, up to rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.kernels import RBF
from mercer.learn import FourierRidge, NystromLogistic, NystromRidge
from mercer.row_streams import streamed

RNG = np.random.default_rng(0)
N, NAMES = 24_000, list("abcdefghijkl")
X = RNG.uniform(-2, 2, size=(N, len(NAMES)))
Y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=N)
LABELS = np.where(Y > 0.2, "high", "low")
NEW = RNG.uniform(-2, 2, size=(50, len(NAMES)))
LANDMARKS = X[::1_200]  # given, because those that are drawn depend on how the data are read
BUDGET = "16MiB"  # the smallest; X takes 2.2 MiB, more than an eighth of it
KINDS = ["npy", "dask array", "dask frame", "dataset", "zarr"]
RIDGES = [
    NystromRidge(RBF(4.0), 1.0, landmarks=LANDMARKS),
    FourierRidge(RBF(4.0), 1.0, n_components=20, random_state=0),
]


def source(x: np.ndarray, kind: str, folder: Path) -> Any:
    """The same rows, but not in memory."""
    if kind == "npy":
        np.save(folder / "x.npy", x)
        return np.load(folder / "x.npy", mmap_mode="r")
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.open(
            str(folder / "x"), mode="w", shape=x.shape, chunks=(4_000, 12), dtype="f8"
        )
        array[:] = x
        return array
    if kind == "dask array":
        return pytest.importorskip("dask.array").from_array(x, chunks=(5_000, 6))
    frame = pytest.importorskip("pandas").DataFrame(x, columns=NAMES)
    if kind == "dask frame":
        pytest.importorskip("dask")
        return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)
    dataset = pytest.importorskip("pyarrow.dataset")
    frame.to_parquet(folder / "x.parquet", row_group_size=7_000)
    return dataset.dataset(folder / "x.parquet")


def predictions(learner: Any, kind: str) -> np.ndarray:
    if kind in ("dask frame", "dataset"):
        return learner.predict(pytest.importorskip("pandas").DataFrame(NEW, columns=NAMES))
    return learner.predict(NEW)


@pytest.mark.parametrize(
    ("learner", "kind"),
    [*((RIDGES[0], kind) for kind in KINDS), (RIDGES[1], "dataset")],
    ids=lambda p: p if isinstance(p, str) else type(p).__name__,
)
def test_regressions_in_parts(learner: Any, kind: str, tmp_path: Path):
    expected = learner.fit(X, Y).predict(NEW)
    with mercer.config(memory=BUDGET):
        x = source(X, kind, tmp_path)
        assert streamed(x) is not None  # the case is about parts
        learner.fit(x, Y)
    # normal equations of condition up to 1e6 times the rounding of float64
    np.testing.assert_allclose(predictions(learner, kind), expected, atol=1e-8)


def test_classes_in_parts(tmp_path: Path):
    learner = NystromLogistic(RBF(4.0), 1.0, landmarks=LANDMARKS)
    expected = learner.fit(X, LABELS).predict_proba(NEW)
    with mercer.config(memory=BUDGET):
        learner.fit(source(X, "npy", tmp_path), LABELS)
    np.testing.assert_array_equal(learner.classes_, ["high", "low"])
    # both stop at 1e-6 of the first gradient
    np.testing.assert_allclose(learner.predict_proba(NEW), expected, atol=1e-4)


@pytest.mark.parametrize("learner", RIDGES, ids=lambda r: type(r).__name__)
def test_more_rows_that_are_not_in_memory(learner: Any, tmp_path: Path):
    expected = learner.fit(X, Y).predict(NEW)
    learner = clone(learner)
    with mercer.config(memory=BUDGET):
        learner.partial_fit(X[:100], Y[:100]).partial_fit(
            source(X[100:], "dask array", tmp_path), Y[100:]
        )
    np.testing.assert_allclose(learner.predict(NEW), expected, atol=1e-8)


def test_as_many_targets_as_rows(tmp_path: Path):
    with mercer.config(memory=BUDGET), pytest.raises(ValueError, match="as many rows, got 24000"):
        RIDGES[0].fit(source(X, "npy", tmp_path), Y[:-1])
