"""Streams and landmarks as users hand them in: what is taken, and what is refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import MemoryBudgetError, row_streams
from mercer.htest import MMD, Energy, Gamma, Permutation
from mercer.kernels import RBF
from mercer.learn import Batches, FourierRidge, NystromLogistic, NystromRidge, Parquet
from tests.support.arrays import torch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
LABELS = np.where(Y > 0, "up", "down")
FRAME = pd.DataFrame(X, columns=[*"abc"])
NAMED = np.arange(0, 300, 100)


def ridge(landmarks=X[:20], **options) -> NystromRidge:
    return NystromRidge(RBF(1.5), 0.3, landmarks=landmarks, **options)


def pairs(target=Y):
    return [(X[i : i + 100], target[i : i + 100]) for i in NAMED]


WANTED = ridge().fit(X, Y).predict(X)


# ---- landmarks that are given -----------------------------------------------------------------


def test_landmarks_in_a_frame():
    found = ridge(FRAME[["c", "a", "b"]].iloc[:20]).fit(FRAME, Y)
    assert_allclose(found.predict(FRAME), WANTED, atol=1e-7)


@pytest.mark.skipif(torch is None, reason="needs torch")
def test_landmarks_of_another_library_and_precision():
    x = torch.asarray(X)
    assert_allclose(ridge().fit(x, Y).predict(x).numpy(), WANTED, atol=1e-7)
    assert ridge().fit(X.astype(np.float32), Y).predict(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("landmarks", "words"),
    [
        (X[:5, :2], "landmarks must have as many columns as X, got 2 and 3"),
        (np.full((2, 3), np.nan), "landmarks has NaN"),
        ("all", "landmarks must be a whole number"),
        (None, "landmarks must be a whole number"),
        (0, "landmarks must be a whole number of at least 1"),
    ],
)
def test_wrong_landmarks(landmarks, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ridge(landmarks).fit(X, Y)


def test_more_landmarks_than_points():
    assert len(ridge(1000).fit(X, Y).landmarks_) == 300


# ---- streams ----------------------------------------------------------------------------------


def test_more_points_from_streams():
    first, *rest = pairs()
    whole = ridge().partial_fit(Batches([first])).partial_fit(Batches(rest))
    assert_allclose(whole.predict(X), WANTED, atol=1e-6)
    features = FourierRidge(RBF(1.5), 0.3, n_components=50, random_state=0)
    parts = features.partial_fit(*first).partial_fit(Batches(rest)).predict(X)
    again = FourierRidge(RBF(1.5), 0.3, n_components=50, random_state=0).fit(X, Y)
    assert_allclose(parts, again.predict(X), atol=1e-8)
    with pytest.raises(ValueError, match="a source of batches contains y"):
        whole.partial_fit(Batches(rest), Y)


def test_streams_that_came_without_a_source(tmp_path):
    with pytest.raises(TypeError, match=r"X is 'generator', not points: use fit\(Batches"):
        ridge().fit(pair for pair in pairs())
    with pytest.raises(TypeError, match=r"X is a path: use fit\(Parquet"):
        ridge().fit(tmp_path / "data.parquet")
    with pytest.raises(TypeError, match=r"use fit\(Batches"):
        ridge().fit(X, Y).partial_fit(iter(pairs()))


def test_batches_that_do_not_fit_together():
    wide = Batches([(X, Y), (X[:, :2], Y)])
    with pytest.raises(
        ValueError, match="all batches must have the same number of columns, got 3 and then 2"
    ):
        ridge(10).fit(wide)
    with pytest.raises(ValueError, match="X has 2 features, but NystromRidge is expecting 3"):
        ridge(10).fit(Batches(iter([(X, Y), (X[:, :2], Y)])))
    two = np.stack([Y, Y], axis=1)
    with pytest.raises(
        ValueError, match="y must have the same number of columns in every batch, got 1"
    ):
        ridge().fit(Batches([(X, Y), (X, two)]))
    with pytest.raises(ValueError, match="y must have the same number of columns in every batch"):
        ridge().fit(X, Y).partial_fit(X, two)
    with pytest.raises(ValueError, match=r"y must have shape \(300,\)"):
        ridge().fit(Batches([(X, Y[:-1])]))


def test_a_target_that_is_a_column_too(tmp_path):
    FRAME.assign(y=Y).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(ValueError, match="'y' is the target"):
        ridge().fit(Parquet(tmp_path / "data.parquet", target="y", columns=["a", "y"]))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Y, "Unknown label type: continuous"),
        (np.where(Y > 0, np.nan, 1.0), "NaN or infinite labels"),
        (np.where(Y > 2, None, LABELS), "missing labels, NaN or None"),
        (np.stack([LABELS, LABELS], axis=1), "a label for each point"),
        (np.zeros(300), "at least two classes"),
    ],
)
def test_wrong_labels_in_batches(target, words):
    with pytest.raises(ValueError, match=words):
        NystromLogistic(RBF(1.0), landmarks=10).fit(Batches(pairs(target)))


def test_missing_labels_in_a_file(tmp_path):
    FRAME.assign(y=np.where(Y > 2, None, LABELS)).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(ValueError, match="y contains missing labels"):
        NystromLogistic(RBF(1.0), landmarks=10).fit(Parquet(tmp_path / "data.parquet", target="y"))


def test_row_groups_of_several_files_are_read_side_by_side(tmp_path):
    """Files named by a pattern, one part each: as all rows at once, whatever the threads."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("pyarrow.dataset")
    rng = np.random.default_rng(4)
    x = rng.uniform(-2, 2, (9_000, 2))
    y = np.sin(x[:, 0]) + x[:, 1]
    for number, rows in enumerate(np.split(np.arange(9_000), 3)):
        table = pa.table({"a": x[rows, 0], "b": x[rows, 1], "y": y[rows]})
        pq.write_table(table, tmp_path / f"part{number}.parquet", row_group_size=700)
    source = Parquet(tmp_path / "part*.parquet", target="y")
    landmarks = x[:40]
    with mercer.config(memory="16MiB"):
        assert len(source.parts()) == 3
        fits = []
        for threads in (1, 3):
            with mercer.config(threads=threads):
                fits.append(NystromRidge(RBF(1.0), 1e-3, landmarks=landmarks).fit(source))
    whole = NystromRidge(RBF(1.0), 1e-3, landmarks=landmarks).fit(x, y)
    new = pd.DataFrame(x[:50], columns=["a", "b"])
    np.testing.assert_array_equal(fits[0].predict(new), fits[1].predict(new))
    assert_allclose(fits[0].predict(new), whole.predict(x[:50]), atol=1e-6)
    sample = Parquet(tmp_path / "part*.parquet", columns=["a", "b"])
    test = MMD(RBF(1.0), null=Permutation(39))
    assert test.test(sample, x[:500], rng=0).pvalue == test.test(x, x[:500], rng=0).pvalue
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(MemoryBudgetError, match="take a sample of its rows"),
    ):
        Energy(null=Gamma()).test(
            pa.dataset.dataset(pa.table({"a": np.zeros(3_000_000)})), x[:500, :1]
        )
    with pytest.raises(ValueError, match="which column is to be predicted"):
        NystromRidge(RBF(1.0)).fit(sample)


def test_an_index_that_pandas_stored_is_no_column(tmp_path):
    """Rows of one table have other numbers than those of another one: a difference that means nothing."""
    schema = pytest.importorskip("pyarrow.parquet").read_schema
    frame, path = FRAME.assign(y=Y).sample(frac=1, random_state=0), tmp_path / "d.parquet"
    frame.to_parquet(path)
    assert "__index_level_0__" in schema(path).names  # the case is about it
    assert ridge().fit(Parquet(path, "y")).n_features_in_ == 3
    result = MMD(null=Permutation(9)).test(Parquet(path), frame)
    assert result.pooled.columns.names == ("a", "b", "c", "y")
    asked = Parquet(path, "y", columns=["a", "__index_level_0__"])
    assert ridge(X[:20, :2]).fit(asked).n_features_in_ == 2


def test_a_file_without_a_column_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(row_streams, "_SHARE_IN_MEMORY", 2**50)
    FRAME.assign(y=Y).to_parquet(tmp_path / "first.parquet")
    FRAME[["a", "c"]].assign(y=Y).to_parquet(tmp_path / "second.parquet")
    with pytest.raises(ValueError, match=r"second\.parquet has no column 'b'"):
        ridge().fit(Parquet(tmp_path, "y"))
    sample = Parquet(tmp_path, columns=[*"abc"])
    with pytest.raises(ValueError, match=r"second\.parquet has no column 'b'"):
        MMD(null=Permutation(9)).test(sample, Parquet(tmp_path / "first.parquet", columns=[*"abc"]))
    assert ridge(X[:20, [0, 2]]).fit(Parquet(tmp_path, "y", columns=["a", "c"])).n_features_in_ == 2


def test_dask_collections_are_read_into_memory():
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    frame, other = dd.from_pandas(FRAME, npartitions=3), X[:200] + 0.5
    test = MMD(RBF(1.0), null=Permutation(39))
    wanted = test.test(X, other, rng=0)
    assert test.test(da.from_array(X, chunks=(100, 3)), other, rng=0).pvalue == wanted.pvalue
    assert test.test(frame, pd.DataFrame(other, columns=[*"abc"]), rng=0).pvalue == wanted.pvalue
    for data in (da.from_array(X, chunks=(100, 3)), frame):
        assert_allclose(ridge().fit(data, da.from_array(Y, chunks=150)).predict(data), WANTED)
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(MemoryBudgetError, match="would take 23 MiB in memory"),
    ):
        Energy(null=Gamma()).test(da.zeros((1_000_000, 3)), other)
