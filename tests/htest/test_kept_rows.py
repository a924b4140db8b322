"""Results that keep some of the rows: positions are those in the samples that were handed in, and blocks are theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer import row_streams
from mercer.htest import (
    FSSD,
    HSIC,
    KSD,
    MMD,
    NFSIC,
    DeepMMD,
    FourierHSIC,
    Permutation,
    WildBootstrap,
)
from mercer.report import independence_report, two_sample_report
from mercer.rkhs import Gaussian

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 2)), RNG.normal(0.4, 1.0, size=(60, 2))
BLOCKS = tuple(RNG.integers(0, 3, 120).tolist())
MANY = RNG.normal(size=(5_000, 2))  # a result keeps 2,000 of them


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(row_streams, "_SHARE_IN_MEMORY", 2**50)


def mapped(x: np.ndarray, folder: Path, name: str = "x") -> Any:
    np.save(folder / f"{name}.npy", x)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def assert_rows_of(result: Any, x: np.ndarray, y: np.ndarray):
    points = result.points(4)
    for side, sample in ((points.first, x), (points.second, y)):
        assert_array_equal(side.rows, sample[side.indices])


def test_points_of_a_held_out_half_are_rows_of_the_samples():
    pytest.importorskip("torch")
    test = DeepMMD(steps=2, null=Permutation(19))
    result = test.test(X, Y, rng=0)
    assert_rows_of(result, X, Y)
    assert_rows_of(result.thinned(12), X, Y)
    assert_rows_of(mercer.two_sample(X, Y, test=test, rng=0), X, Y)


def test_points_of_thinned_results_are_rows_of_the_samples():
    result = MMD(null=Permutation(19)).test(X, Y, rng=0)
    assert_rows_of(result.thinned(30), X, Y)
    assert_rows_of(result.thinned(30).thinned(11), X, Y)
    assert "witness" in two_sample_report(result.thinned(30))


def test_points_of_samples_read_part_by_part_are_rows_of_the_samples(tmp_path, in_parts):
    y = MANY[:3_000] + 0.1
    result = mercer.two_sample(
        mapped(MANY, tmp_path), mapped(y, tmp_path, "y"), test=MMD(null=Permutation(9)), rng=0
    )
    assert result.rows == (5_000, 3_000)
    assert_rows_of(result, MANY, y)


def test_misfits_read_part_by_part_are_rows_of_the_sample(tmp_path, in_parts):
    x = MANY.copy()
    x[4_000:] += 9.0
    for test in (KSD(Gaussian([0.0, 0.0], 1.0), null=WildBootstrap(9)), FSSD(Gaussian([0.0, 0.0], 1.0))):  # fmt: skip
        assert (test.test(mapped(x, tmp_path), rng=0).points(5).indices >= 4_000).all()


def test_telling_pairs_are_rows_of_the_variables(tmp_path, in_parts):
    """The rows beyond 4,000 alone are dependent, and far out."""
    x, y = MANY[:, 0].copy(), MANY[:, 1].copy()
    x[4_000:] += 9.0
    y[4_000:] += 9.0
    for result in (
        HSIC(null=Permutation(9)).test(x[3_500:4_200], y[3_500:4_200], rng=0).thinned(300),
        NFSIC().test(mapped(x, tmp_path), mapped(y, tmp_path, "y"), rng=0),
        FourierHSIC(null=Permutation(9)).test(mapped(x, tmp_path), mapped(y, tmp_path, "y"), rng=0),
    ):
        first = 4_000 if result.size == 5_000 else 500
        indices = result.points(5).indices
        assert (indices >= first).all()
        assert set(result.thinned(150).points(5).indices) <= set(range(first, 5_000))
        assert "share of HSIC" in independence_report(result)


@pytest.mark.parametrize("learnt", [False, True], ids=["MMD", "DeepMMD"])
@pytest.mark.parametrize("kind", ["blocks", "paired"])
def test_columns_of_some_rows_are_permuted_as_the_test_permutes_them(kind, learnt):
    null = Permutation(19, blocks=BLOCKS) if kind == "blocks" else Permutation(19, paired=True)
    if learnt:
        pytest.importorskip("torch")
    test = DeepMMD(steps=2, null=null) if learnt else MMD(null=null)
    result = test.test(X, Y, rng=0).thinned(14)
    assert "column" in result.summary()
    rows, labels = result.pooled.rows, result.pooled.null_of_rows(null).blocks
    assert rows is not None
    if labels is None:
        assert_array_equal(rows.first, rows.second)  # partners
    else:
        assert labels[0] == BLOCKS[rows.first[0]]
        assert labels[-1] == BLOCKS[60 + rows.second[-1]]


@pytest.mark.parametrize("number", [118, 122])
def test_deep_mmd_needs_a_block_of_every_row(number):
    pytest.importorskip("torch")
    blocks = tuple(i % 2 for i in range(number))
    with pytest.raises(ValueError, match="blocks must have 120 labels"):
        DeepMMD(steps=2, null=Permutation(9, blocks=blocks)).test(X, Y)


def test_deep_mmd_refuses_pairs_without_partners():
    """Halves of 60 and of 59 rows that are held out have 30 rows each: these are no partners."""
    pytest.importorskip("torch")
    test = DeepMMD(steps=2, cross_fit=False, null=Permutation(9, paired=True))
    with pytest.raises(ValueError, match="must have the same size where they are paired"):
        test.test(X, Y[:59])
