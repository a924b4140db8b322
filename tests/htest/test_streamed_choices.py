"""Kernels chosen from subsamples of streams: one sample has a few rows only, or a column hardly ever varies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import row_streams
from mercer.errors import NoRule
from mercer.gram.stream_sums import analysed_rows
from mercer.htest import ME, MMD, NFSIC, FourierHSIC, MMDAgg, NystromHSIC, Permutation
from mercer.kernels.bandwidth import subsample_rows
from mercer.learn import Parquet

FEW = Permutation(9)
N = 6_000


@pytest.fixture(autouse=True)
def always_in_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(row_streams, "_SHARE_IN_MEMORY", 2**50)


def source(x: np.ndarray, kind: str, folder: Path, name: str) -> tuple[Any, Any]:
    """The sample in memory, and in a file."""
    if kind == "npy":
        np.save(folder / f"{name}.npy", x)
        return x, np.load(folder / f"{name}.npy", mmap_mode="r")
    pytest.importorskip("pyarrow")
    frame = pytest.importorskip("pandas").DataFrame(x, columns=["a", "b"][: x.shape[1]])
    frame.to_parquet(folder / name)
    return frame, Parquet(folder / name)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
@pytest.mark.parametrize("sizes", [(5_001, 2), (2, 5_001)])
def test_few_rows_of_one_sample(kind: str, sizes: tuple[int, int], tmp_path: Path):
    """The rows from which bandwidths are chosen may all be of the other one."""
    rng = np.random.default_rng(0)
    x, y = (source(rng.normal(size=(n, 2)), kind, tmp_path, f"s{n}") for n in sizes)
    test = ME(locations=[[0.0, 0.0], [1.0, 1.0]])
    assert_allclose(test.statistic(x[1], y[1]), test.statistic(x[0], y[0]), rtol=1e-8)
    assert MMDAgg(landmarks=9, null=FEW).test(x[1], y[1], rng=0).sizes == sizes


def test_too_few_rows_for_an_asymptotic_null_distribution(tmp_path: Path):
    """The advice is another test: no null distribution was chosen that could be replaced."""
    x, y = (
        source(np.random.default_rng(n).normal(size=(n, 2)), "npy", tmp_path, f"s{n}")[1]
        for n in (5_001, 20)
    )
    with pytest.raises(NoRule, match=r"20 observations are too few.*use MMDAgg\(landmarks=100\)"):
        ME().test(x, y)
    with pytest.raises(NoRule, match=r"20 observations are too few.*use NystromHSIC\(\)"):
        NFSIC().test(y, y)


def rare(seed: int) -> np.ndarray:
    """A column of zeros with some ones, none of which is in a subsample."""
    stream = row_streams.stream_of(np.zeros((N, 1)))
    assert stream is not None
    seen = np.union1d(subsample_rows(N), analysed_rows(stream))
    unseen = np.setdiff1d(np.arange(N), np.union1d(seen, np.arange(0, N, 2)))
    x = np.zeros((N, 1))
    x[np.random.default_rng(seed).choice(unseen, 30 + 20 * seed, replace=False)] = 1.0
    return x


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_columns_that_vary_outside_of_the_subsample_only(kind: str, tmp_path: Path):
    """As in memory, the bandwidth is the median of the distances that are not 0."""
    (x, here), (y, there) = (source(rare(s), kind, tmp_path, f"s{s}") for s in (0, 1))
    for test in (NystromHSIC(null=FEW), FourierHSIC(null=FEW), NFSIC(), ME()):
        assert_allclose(test.statistic(here, there), test.statistic(x, y), rtol=1e-6)
    assert 0 < MMDAgg(landmarks=9, null=FEW).test(here, there, rng=0).pvalue <= 1


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_constant_columns_are_refused(kind: str, tmp_path: Path):
    (_, x), (_, y) = (
        source(v, kind, tmp_path, f"s{i}") for i, v in enumerate((rare(0), np.ones((N, 1))))
    )
    with pytest.raises(ValueError, match="(points|column) of y (are equal|is constant)"):
        NystromHSIC(null=FEW).test(x, y)
    with pytest.raises(ValueError, match="constant|equal"):
        MMD(null=FEW).test(y, y)
