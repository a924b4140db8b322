"""Labels and categories in data that do not fit into the memory budget: text, classes and categories that come late."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.errors import UnseenCategory
from mercer.kernels import RBF, Delta
from mercer.learn import Batches, KernelPCA, NystromRidge, NystromSVC, Parquet
from mercer.row_streams import streamed

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
RNG = np.random.default_rng(0)
N, NAMES = 24_000, list("abcdefghijkl")
X = RNG.normal(size=(N, len(NAMES)))
LABELS = np.where(X[:, 0] + X[:, 1] > 0, "high", "low").astype(object)
LABELS[-400:] = "rare"  # in the last row group only
X[-400:, 2] += 4
FRAME = pd.DataFrame(X, columns=NAMES)
COLOUR = np.where(RNG.random(N) < 0.5, "red", "blue").astype(object)
COLOUR[-100:] = "white"
COLOURED = FRAME.assign(colour=COLOUR)
NUMBERS = X[:, 0] * (COLOUR == "red")
MIXED = RBF(4.0).select(NAMES) * (Delta() + 1.0).select("colour")
BUDGET = "16MiB"  # the smallest; X takes 2.2 MiB, more than an eighth of it
SVC = NystromSVC(RBF(4.0), landmarks=X[::1_200])


def in_file(frame: Any, folder: Path) -> Path:
    frame.to_parquet(folder / "d.parquet", row_group_size=7_000)
    return folder / "d.parquet"


def of_columns(path: Path, names: list[str]) -> Any:
    data = dataset.dataset(path)
    return data.replace_schema(pa.schema([data.schema.field(name) for name in names]))


def data(kind: str, folder: Path) -> tuple[Any, Any]:
    """The same points and labels, elsewhere."""
    categories = pd.Categorical(LABELS)
    if kind in ("parquet", "dictionary"):
        y = LABELS if kind == "parquet" else categories
        return Parquet(in_file(FRAME.assign(y=y), folder), "y"), None
    if kind == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(
            FRAME.assign(y=categories), npartitions=3
        )
        return frame.drop(columns="y"), frame["y"]
    path = in_file(FRAME.assign(y=LABELS), folder)
    points = of_columns(path, NAMES)
    return points, of_columns(path, ["y"]) if kind == "dataset" else FRAME.assign(y=LABELS)["y"]


@pytest.mark.parametrize("kind", ["parquet", "dictionary", "dask", "dataset", "series"])
def test_labels_of_text(kind: str, tmp_path: Path):
    expected = SVC.fit(X, LABELS).decision_function(X[-50:])
    with mercer.config(memory=BUDGET):
        SVC.fit(*data(kind, tmp_path))
    assert_array_equal(SVC.classes_, ["high", "low", "rare"])
    new = FRAME[-50:]
    assert_allclose(SVC.decision_function(new), expected, atol=1e-9)
    assert set(SVC.predict(new)) <= {"high", "low", "rare"}


def test_labels_that_are_missing_or_of_two_kinds(tmp_path: Path):
    labels = LABELS.copy()
    labels[-3:] = None
    path = in_file(FRAME.assign(y=labels), tmp_path)
    with mercer.config(memory=BUDGET), pytest.raises(ValueError, match="missing labels.* in 3 of"):
        SVC.fit(Parquet(path, "y"))
    with pytest.raises(ValueError, match="batches of text and batches of numbers"):
        SVC.fit(Batches([(X[:100], LABELS[:100]), (X[:100], np.arange(100) % 3)]))


@pytest.mark.parametrize("kind", ["dataset", "dask", "parquet"])
def test_columns_of_categories(kind: str, tmp_path: Path):
    learner = NystromRidge(MIXED, 1.0, landmarks=COLOURED[::1_200])
    expected = learner.fit(COLOURED, NUMBERS).predict(COLOURED[-200:])
    x: Any = COLOURED
    with mercer.config(memory=BUDGET):
        if kind == "parquet":
            learner.fit(Parquet(in_file(COLOURED.assign(y=NUMBERS), tmp_path), "y"))
        else:
            if kind == "dask":
                frame = COLOURED.assign(colour=pd.Categorical(COLOUR))
                x = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)
            else:
                x = dataset.dataset(in_file(COLOURED, tmp_path))
            assert streamed(x) is not None  # the case is about parts
            learner.fit(x, NUMBERS)
    # normal equations of condition up to 1e6 times the rounding of float64
    assert_allclose(known_categories(learner), expected, atol=1e-8)


def test_components_of_columns_of_categories(tmp_path: Path):
    pca = KernelPCA(2, kernel=MIXED, landmarks=30, random_state=0)
    expected = np.abs(pca.fit(COLOURED).transform(COLOURED[-200:]))
    with mercer.config(memory=BUDGET):
        pca.fit(dataset.dataset(in_file(COLOURED, tmp_path)))
    assert_allclose(np.abs(known_categories(pca)), expected, atol=1e-8)
    with mercer.config(memory=BUDGET):
        pca.set_params(kernel=RBF(4.0)).fit(dataset.dataset(in_file(FRAME, tmp_path)))
    assert pca.transform(FRAME[:3]).shape == (
        3,
        2,
    )  # the categories of the first data are forgotten


def known_categories(learner: Any) -> np.ndarray:
    """Answers for the last rows, without a warning; other categories have one, and arrays are refused."""
    ask = learner.predict if hasattr(learner, "predict") else learner.transform
    with pytest.warns(UnseenCategory, match=r"column 'colour' of X .*fitted on: 'green'\."):
        ask(COLOURED[:3].assign(colour="green"))
    with pytest.raises(TypeError, match="X must be a data frame.*categories in column 'colour'"):
        ask(np.zeros((3, 13)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ask(COLOURED[-200:])
