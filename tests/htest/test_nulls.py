"""Nulls: p-values, ties, early stopping, restricted permutations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer.errors import NoRule
from mercer.htest import MMD, Bootstrap, Chi2, Gamma, Normal, Permutation
from mercer.htest.nulls import exceeds, share
from mercer.kernels import RBF
from tests.support.arrays import torch


class Uniform:
    """Evidence whose statistics are uniform, resampled and observed."""

    def __init__(self, seed: int) -> None:
        self.values = np.random.default_rng(seed).random(20_000)

    def permuted(self, null, columns, seed):
        return self.values[columns]

    def tolerance(self):
        return 0.0


def test_p_counts_ties_and_is_never_zero():
    draws = np.array([0.1, 0.2, 0.3, 0.3 - 1e-17, 0.4])
    assert share(draws, 0.3) == 4 / 6
    assert share(draws, 5.0) == 1 / 6
    assert exceeds(np.array([0.299, 0.2]), 0.3, tolerance=0.01).tolist() == [True, False]
    assert share(np.array([np.inf, 0.0]), 1.0) == 2 / 3


def test_early_stopping_is_valid_and_stops():
    null = Permutation(9999, stop_early=True, enough=20)
    judged = [null.judge(Uniform(seed), 0) for seed in range(600)]
    p = np.array([j.pvalue for j in judged])
    for level in (0.05, 0.2, 0.5):
        assert np.mean(p <= level) <= level + 4 * np.sqrt(level * (1 - level) / 600)
    assert np.median([len(j.draws) for j in judged]) < 100
    clear = Permutation(9999).judge(Uniform(7), 0)
    stopped = null.judge(Uniform(7), 0)
    assert stopped.pvalue == pytest.approx(clear.pvalue, rel=0.5)


def test_stopping_early_keeps_small_p_values():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 2)), rng.standard_normal((40, 2)) + 1.5
    plain = MMD(null=Permutation(999)).test(x, y, rng=3)
    early = MMD(null=Permutation(999, stop_early=True)).test(x, y, rng=3)
    assert early.pvalue == plain.pvalue == 0.001
    assert len(MMD(null=Permutation(9999, stop_early=True)).test(x, x[:40], rng=0).null) < 5000


def test_pairs_see_what_an_unpaired_test_does_not():
    rng = np.random.default_rng(1)
    x = 10 * rng.standard_normal((60, 1))
    y = x + 0.5 + 0.1 * rng.standard_normal((60, 1))
    pairs = MMD(RBF(20.0), null=Permutation(199, paired=True)).test(x, y, rng=0)
    assert pairs.rejects(0.01)
    assert "compare the samples as wholes" in " ".join(
        pairs.notes
    )  # 50% told apart beside p = 0.005
    assert not MMD(RBF(20.0), null=Permutation(199)).test(x, y, rng=0).rejects(0.2)
    with pytest.raises(ValueError, match="same size"):
        MMD(null=Permutation(9, paired=True)).test(x, y[:30])


def test_blocks_remove_what_they_explain():
    """Groups differ, and samples have different shares of them: within groups there is nothing."""
    rng = np.random.default_rng(2)
    group = np.concatenate([rng.random(80) < 0.8, rng.random(60) < 0.2])
    z = rng.standard_normal((140, 1)) + 3.0 * group[:, None]
    assert MMD().test(z[:80], z[80:], rng=0).rejects(0.01)
    kept = MMD(null=Permutation(499, blocks=tuple(group.tolist()))).test(z[:80], z[80:], rng=0)
    assert kept.pvalue > 0.05
    with pytest.raises(
        ValueError, match="must have 140 labels, .* of the 80 .* x .* 60 of y, got 2"
    ):
        MMD(null=Permutation(9, blocks=(1, 2))).test(z[:80], z[80:])
    with pytest.raises(ValueError, match="no block has observations of both"):
        MMD(null=Permutation(9, blocks=[1] * 80 + [2] * 60)).test(z[:80], z[80:])


@pytest.mark.parametrize(
    ("blocks", "error", "told"),
    [
        (5, TypeError, "a sequence of labels, one for each observation, got 5"),
        ("abc", TypeError, "a sequence of labels"),
        (np.zeros((3, 2)), TypeError, r"labels must be text or numbers, got \[0.0, 0.0\]"),
        ([{}, {}], TypeError, "labels must be text or numbers"),
        ([], ValueError, "got none: pass None"),
        ([1, None], ValueError, "got missing labels"),
        (pd.Series([1.0, np.nan]), ValueError, "got missing labels"),
        (pd.Series(["a", pd.NA]), (TypeError, ValueError), "labels"),
    ],
)
def test_blocks_are_labels(blocks, error, told):
    with pytest.raises(error, match=told):
        Permutation(blocks=blocks)


def test_labels_of_any_kind_name_the_same_blocks():
    rng = np.random.default_rng(3)
    z, number = rng.standard_normal((30, 1)), rng.integers(0, 3, 30)
    kinds = [number, number.tolist(), pd.Series(number), torch.tensor(number)]
    kinds += [[f"centre {k}" for k in number], [(k, "week") for k in number.tolist()]]
    nulls = [Permutation(99, blocks=blocks) for blocks in kinds]
    assert len({MMD(null=null).test(z[:15], z[15:], rng=0).pvalue for null in nulls}) == 1
    assert nulls[0] == nulls[1] == nulls[2] == nulls[3]
    hash(nulls[-1])


def test_a_null_that_does_not_serve_says_so():
    for null in (Chi2(), Normal(), Bootstrap()):
        with pytest.raises(NoRule, match="cannot be used with this test"):
            MMD(null=null).test(np.arange(9.0), np.arange(8.0))
    assert Gamma() == Gamma()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Permutation(0), "resamples must be a whole number"),
        (lambda: Permutation(9, enough=0), "enough must be"),
        (lambda: Permutation(9, blocks=(1,), paired=True), "choose blocks or paired"),
        (lambda: MMD(null="gamma"), "null must be a null"),
        (lambda: MMD("rbf"), "kernel must be a kernel"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
