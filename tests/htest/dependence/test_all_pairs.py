"""All pairs of columns of a table: p-values, effects, corrections, pictures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from mercer.htest import (
    HSIC,
    KCI,
    MMD,
    BenjaminiHochberg,
    Correction,
    Gamma,
    Holm,
    Permutation,
    WestfallYoung,
    pairwise_independence,
)
from mercer.kernels import RBF
from tests.support.sequential_level import assert_level


def table(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 4))
    return pd.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 0] ** 2 + 0.5 * x[:, 1],
            "luck": x[:, 2],
            "side": np.where(x[:, 0] + 0.5 * x[:, 3] > 0, "left", "right"),
        }
    )


def test_every_pair_is_hsic():
    frame, null = table(), Permutation(199)
    result = pairwise_independence(frame, test=HSIC(null=null), rng=0)
    assert result.names == ("a", "b", "luck", "side")
    for i, first in enumerate(result.names):
        for j, second in enumerate(result.names[:i]):
            single = HSIC(null=null).test(frame[[second]], frame[[first]], rng=0)
            assert result.uncorrected[i, j] == pytest.approx(single.pvalue)
            assert_allclose(result.effects[i, j], single.effect().correlation, atol=1e-6)
            assert result.pvalues[i, j] == result.pvalues[j, i]
    upper = np.triu_indices(4, 1)
    assert np.all(result.pvalues[upper] >= result.uncorrected[upper])  # Westfall and Young's
    held = pairwise_independence(frame, test=HSIC(null=null), correction=Holm(), rng=0)
    assert_allclose(held.pvalues[upper], Holm().adjusted(result.uncorrected[upper]))
    assert np.all(np.isnan(np.diag(result.pvalues)))
    assert np.all(np.diag(result.effects) == 1)


def test_roads_agree():
    """Many observations have factors, few have diagonals; a third way is one test after another."""
    frame = table(1500)
    fast = pairwise_independence(frame, test=HSIC(null=Permutation(99)), rng=1)
    unbiased = pairwise_independence(frame, test=HSIC(null=Gamma()), rng=1)
    assert {p[:2] for p in fast.dependent(0.1)} == {p[:2] for p in unbiased.dependent(0.01)}
    assert_allclose(fast.effects, unbiased.effects, atol=1e-9)


def test_finds_what_depends():
    result = pairwise_independence(table(), rng=0)
    found = {pair[:2] for pair in result.dependent()}
    assert {("a", "b"), ("a", "side")} <= found <= {("a", "b"), ("a", "side"), ("b", "side")}
    assert result.dependent()[0].effect == max(pair.effect for pair in result.dependent())
    assert "pairs of columns depend on each other" in result.summary()
    assert json.loads(json.dumps(result.to_dict()))["pairs"][0]["first"] == "a"


def test_many_columns_need_more_permutations_and_get_them():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 12))
    x[:, 1] += 2 * x[:, 0]
    result = pairwise_independence(x, correction=Holm(), rng=0)
    assert result.uncorrected[0, 1] == pytest.approx(1 / 6600)  # 66 pairs
    assert result.pvalues[0, 1] == pytest.approx(0.01)
    assert [pair[:2] for pair in result.dependent()] == [("0", "1")]
    hundred = HSIC(null=Permutation(99))
    coarse = pairwise_independence(x, test=hundred, correction=Holm(), rng=0)
    assert coarse.dependent() == ()
    assert coarse.summary().startswith(
        "Caution: with 99 resamples no corrected p-value of 66 pairs"
    )
    assert "Use 1,319 resamples or more, or correction=WestfallYoung()" in coarse.cautions()[0]
    joint = pairwise_independence(x, test=hundred, rng=0)  # the default, whatever the permutations
    assert joint.correction == WestfallYoung()
    assert [pair[:2] for pair in joint.dependent(0.01)] == [("0", "1")]
    assert joint.cautions() == ()
    assert "Use 999 resamples" in joint.cautions(0.001)[0]
    assert len(pairwise_independence(x, correction=BenjaminiHochberg(), rng=0).dependent()) >= 1


def test_level_of_the_whole_matrix():
    """Any false finding, at level 0.2, in tables of six independent columns."""

    def finds(seed):
        x = np.random.default_rng(seed).exponential(size=(40, 6))
        x[:, 0] = np.round(x[:, 0])
        return bool(pairwise_independence(x, rng=seed).dependent(0.2))

    assert_level(finds, 0.2)


def test_one_column_is_tested_against_all_others_as_every_pair_is_alone():
    frame, null = table(), Permutation(199)
    result = pairwise_independence(frame, against="luck", test=HSIC(null=null), rng=0)
    assert [(p.first, p.second) for p in result] == [(n, "luck") for n in ("a", "b", "side")]
    for i, other in enumerate(result.names):
        if other == "luck":
            continue
        single = HSIC(null=null).test(frame[["luck"]], frame[[other]], rng=0)
        assert result.uncorrected[i, 2] == result.uncorrected[2, i] == pytest.approx(single.pvalue)
        assert_allclose(result.effects[i, 2], single.effect().correlation, atol=1e-6)
    untested = np.isnan(result.pvalues)
    assert untested.sum() == 16 - 2 * 3
    assert np.array_equal(np.isnan(result.effects), untested & ~np.eye(4, dtype=bool))


@pytest.mark.parametrize("n", [60, 1500])  # dense, and by factors
@pytest.mark.parametrize("correction", [WestfallYoung(), Holm(), BenjaminiHochberg()])
def test_pairs_of_one_column_pay_for_themselves_only(n: int, correction: Correction):
    """Under the same permutations no corrected p-value is larger than among all pairs."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 7))
    x[:, 3] += 0.2 * x[:, 0] * np.sqrt(1500 / n)
    test = HSIC(null=Permutation(99))
    alone, all_pairs = (
        pairwise_independence(x, against=against, test=test, correction=correction, rng=2)
        for against in (0, None)
    )
    assert_allclose(alone.uncorrected[0], all_pairs.uncorrected[0])
    assert_allclose(alone.effects[0], all_pairs.effects[0], atol=1e-12)
    if correction != BenjaminiHochberg():  # which takes courage from other findings
        assert np.all(alone.pvalues[0, 1:] <= all_pairs.pvalues[0, 1:])


def test_fewer_pairs_are_found_more_often():
    def found(seed: int, against: int | None) -> int:
        x = np.random.default_rng(seed).normal(size=(60, 10))
        x[:, 4] += 0.6 * x[:, 7]
        result = pairwise_independence(x, against=against, rng=seed)
        return result.pvalues[4, 7] <= 0.05

    alone, among_all = (sum(found(seed, a) for seed in range(20)) for a in (7, None))
    assert alone > among_all


def test_names_and_words_of_one_column():
    result = pairwise_independence(table(), against="a", rng=0)
    assert result.against == "a"
    assert "of 3 columns depend on a at level 0.05" in result.summary()
    assert {pair.first for pair in result.dependent()} == {"b", "side"}
    assert json.loads(json.dumps(result.to_dict()))["against"] == "a"
    assert set(result.clustered().dependent()) == set(result.dependent())
    ordered = result.clustered()
    assert ordered.names[0] == "a"
    assert list(ordered.effects[0, 1:]) == sorted(ordered.effects[0, 1:], reverse=True)
    assert result.dependent_across(["b"])[0].first == "b"
    numbers = np.random.default_rng(0).normal(size=(30, 3))
    assert pairwise_independence(numbers, against=2, rng=0).against == "2"
    for absent in ("c", 4, ["a"], True):
        with pytest.raises(ValueError, match="against must be the name of one column of frame"):
            pairwise_independence(table(), against=absent)
    any_test = HSIC(RBF(1.0), RBF(1.0), null=Permutation(99))
    alone = pairwise_independence(table()[["a", "b", "luck"]], against="b", test=any_test, rng=0)
    assert alone.uncorrected[0, 1] == 0.01
    assert np.isnan(alone.uncorrected[0, 2])


def test_level_of_one_column_against_dependent_others():
    """Any false finding, at level 0.2: others depend on each other, and the column on none of them."""

    def finds(seed):
        rng = np.random.default_rng(seed)
        x = rng.exponential(size=(40, 6)) + rng.exponential(size=(40, 1))
        x[:, 2] = rng.normal(size=40)
        x[:, 0] = np.round(x[:, 0])
        return bool(pairwise_independence(x, against=2, rng=seed).dependent(0.2))

    assert_level(finds, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 400])
def test_family_wise_error_of_one_column(n: int):
    """Within the 99.9% band of a binomial around the level, which exact permutations keep up to their discreteness."""
    runs, level, findings = 400, 0.1, 0
    for seed in range(runs):
        rng = np.random.default_rng((n, seed))
        x = rng.normal(size=(n, 12)) + rng.normal(size=(n, 1))
        x[:, :4] = np.round(x[:, :4])
        x[:, 5] = rng.exponential(size=n)
        findings += bool(pairwise_independence(x, against=5, rng=seed).dependent(level))
    low, high = binom(runs, level).interval(0.999)
    assert low <= findings <= high


def test_rows_in_time_harm_one_column_only_where_it_has_them():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((120, 3))
    x[:, 0], x[:, 1] = np.cumsum(x[:, 0]), np.cumsum(x[:, 1])
    assert pairwise_independence(x, against=2, rng=0).cautions() == ()
    assert "the rows of 0 and 1 depend" in pairwise_independence(x, against=0, rng=0).cautions()[0]


def test_picture_of_one_column():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = pairwise_independence(table(), against="a", rng=0).plot()
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "luck"  # the strongest first
    assert ax.get_xlabel() == "kernel correlation with a"
    assert len(ax.patches) == 3
    plt.close(ax.figure)


def test_rows_in_time_are_told_where_two_columns_have_them():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((120, 3))
    assert pairwise_independence(x, rng=0).cautions() == ()
    x[:, 0] = np.cumsum(x[:, 0])  # one column alone does not harm a permutation test
    assert pairwise_independence(x, rng=0).cautions() == ()
    x[:, 1] = np.cumsum(x[:, 1])
    told = pairwise_independence(x, rng=0).summary()
    assert told.startswith("Caution: the rows of 0 and 1 depend on those before them")


def test_any_test_of_two_variables():
    test = HSIC(RBF(1.0), RBF(1.0), null=Permutation(99))
    frame = table()[["a", "b", "luck"]]
    result = pairwise_independence(frame, test=test, rng=0)
    assert result.test == test
    assert result.correction == Holm()  # Westfall and Young need the same permutations for all
    assert result.uncorrected[0, 1] == 0.01
    with pytest.raises(ValueError, match="needs all pairs under the same permutations"):
        pairwise_independence(frame, test=test, correction=WestfallYoung())


def test_picture():
    plt = pytest.importorskip("matplotlib.pyplot")
    result = pairwise_independence(table(), rng=0)
    ax = result.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == list(result.names)
    shown = ax.images[0].get_array()
    assert_allclose(float(shown[0, 1]), result.effects[0, 1])
    assert shown.mask[0, 2] or np.isnan(shown[0, 2])  # luck has nothing to do with it
    plt.close(ax.figure)


def test_refusals():
    with pytest.raises(ValueError, match="at least two columns, got 1"):
        pairwise_independence(np.zeros((10, 1)))
    frame = table()
    frame["one"] = 1.0
    with pytest.raises(ValueError, match="column 'one' of frame is constant"):
        pairwise_independence(frame)
    with pytest.raises(TypeError, match="test must be a test"):
        pairwise_independence(table(), test="hsic")
    numbers = np.random.default_rng(0).normal(size=(30, 2))
    for other in (KCI(), MMD()):  # of three variables; of two samples
        with pytest.raises(TypeError, match="test of the independence of two variables, such as"):
            pairwise_independence(numbers, test=other)
    with pytest.raises(TypeError, match="correction must be a correction"):
        pairwise_independence(table(), correction="holm")
    frame = table()
    frame.loc[3, "a"] = np.nan
    with pytest.raises(ValueError, match=r"frame has missing values \(a: 1\)"):
        pairwise_independence(frame)
    with pytest.raises(ValueError, match="level must be"):
        pairwise_independence(table(), test=HSIC(null=Permutation(19))).dependent(2.0)
