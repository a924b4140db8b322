"""Stein discrepancies of observations that are read part by part are those of observations in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma

import mercer
from mercer import row_streams
from mercer.errors import MemoryBudgetError
from mercer.htest import KSD, KSDAgg, WildBootstrap
from mercer.kernels import RBF, InverseMultiquadric
from mercer.learn import Parquet
from mercer.rkhs import Gaussian

X = np.random.default_rng(0).normal(size=(1_500, 2))
MODEL = Gaussian([0.0, 0.05], 1.1)
FEW = WildBootstrap(99)


@pytest.fixture(autouse=True)
def always_in_parts(monkeypatch: pytest.MonkeyPatch):
    """Stream observations however few they are, in several blocks."""
    monkeypatch.setattr(row_streams, "_SHARE_IN_MEMORY", 2**50)
    monkeypatch.setattr(row_streams, "_MAX_CHUNK_ROWS", 400)
    monkeypatch.setattr(row_streams, "_MIN_CHUNK_ROWS", 400)


def mapped(x: np.ndarray, folder: Path) -> Any:
    np.save(folder / "x.npy", x)
    return np.load(folder / "x.npy", mmap_mode="r")


@pytest.mark.parametrize(
    "test",
    [
        KSD(MODEL, null=FEW),
        KSD(MODEL, RBF(0.8), unbiased=True, null=FEW),
        KSDAgg(MODEL, null=FEW),
        KSDAgg(MODEL, [RBF(1.0), InverseMultiquadric(2.0)], null=FEW),
    ],
    ids=repr,
)
def test_the_same_signs_give_the_same(test: Any, tmp_path: Path):
    """Signs are those in memory; signed forms are in float32, and few are so near to the observed one."""
    here, there = test.test(X, rng=3), test.test(mapped(X, tmp_path), rng=3)
    assert there.size == len(X)
    assert any("read part by part" in note for note in there.notes)
    if isinstance(test, KSDAgg):  # ranks
        np.testing.assert_allclose(there.pvalues, here.pvalues, atol=0.011)
        assert [repr(k)[:20] for k in there.kernels] == [repr(k)[:20] for k in here.kernels]
    else:
        np.testing.assert_allclose(there.statistic, here.statistic, rtol=1e-9)
        np.testing.assert_allclose(there.null, here.null, atol=1e-5 * np.abs(here.null).max())
        np.testing.assert_allclose(test.statistic(mapped(X, tmp_path)), here.statistic, rtol=1e-9)
    np.testing.assert_allclose(test.unitless(mapped(X, tmp_path)), test.unitless(X), rtol=1e-8)


def test_bounded_supports_and_columns_with_names(tmp_path: Path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"waiting": np.exp(X[:, 0])})
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=500)
    test = KSD(gamma(2.0), null=FEW)
    here, there = test.test(frame, rng=1), test.test(Parquet(tmp_path / "x.parquet"), rng=1)
    np.testing.assert_allclose(there.statistic, here.statistic, rtol=1e-9)
    assert there.pvalue == here.pvalue
    assert there.sample.names == ("waiting",)


def test_threads_do_not_change_the_answer(tmp_path: Path):
    x, test = mapped(X, tmp_path), KSD(MODEL, null=FEW)
    with mercer.config(threads=1):
        one = test.test(x, rng=0)
    with ThreadPoolExecutor(2) as pool, mercer.config(executor=pool):
        two = test.test(x, rng=0)
    np.testing.assert_array_equal(one.null, two.null)


def test_discrete_observations_have_ties_that_rounding_does_not_break(tmp_path: Path):
    x = np.round(X[:600])
    test = KSD(MODEL, RBF(1.0), null=FEW)
    assert test.test(mapped(x, tmp_path), rng=0).pvalue == test.test(x, rng=0).pvalue


def test_scores_that_are_not_finite_are_refused(tmp_path: Path):
    far = X.copy()
    far[-1] = 60.0
    test = KSD(lambda x: np.where(np.abs(x) < 50, -x, np.nan), RBF(1.0), null=FEW)
    with pytest.raises(ValueError, match=r"score\(x\)"):
        test.test(mapped(far, tmp_path))


def test_series_are_read_into_memory(tmp_path: Path):
    test = KSD(MODEL, null=WildBootstrap(99, block=None))
    x = mapped(X[:300], tmp_path)
    assert not test.reads_parts
    assert test.test(x, rng=0).pvalue == test.test(X[:300], rng=0).pvalue


def test_series_that_do_not_fit_into_memory_are_refused():
    da = pytest.importorskip("dask.array")
    test = KSD(MODEL, RBF(1.0), null=WildBootstrap(99, block=4))
    with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="in memory"):
        test.test(da.zeros((1_200_000, 2)))
