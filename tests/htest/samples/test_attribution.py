"""Columns that differ: equal to tests of one column, corrected as they should be."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.htest import (
    MMD,
    BenjaminiHochberg,
    Holm,
    Permutation,
    WestfallYoung,
    feature_differences,
)
from mercer.htest.samples.column_features import embedded
from mercer.kernels import RBF, Delta, median_bandwidth
from mercer.rkhs import Empirical, mmd2


@pytest.fixture
def frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {
            "age": rng.normal(40, 9, 90),
            "town": rng.choice(["Rome", "Oslo"], 90),
            "same": rng.normal(size=90),
            "still": np.ones(90),
        }
    )
    y = pd.DataFrame(
        {
            "town": rng.choice(["Rome", "Oslo", "Bern"], 70),
            "still": np.ones(70),
            "same": rng.normal(size=70),
            "age": rng.normal(50, 9, 70),
        }
    )
    return x, y


# ---- two roads ----------------------------------------------------------------------------


def test_a_column_is_a_test_of_one_column(frames):
    x, y = frames
    found = feature_differences(x, y, resamples=199, rng=5)
    for name in ("age", "same"):
        kernel = RBF(median_bandwidth(np.concatenate([x[name], y[name]])))
        alone = MMD(kernel, null=Permutation(199)).test(
            x[name].to_numpy(), y[name].to_numpy(), rng=5
        )
        assert_allclose(found[name].mmd2, alone.statistic, rtol=1e-5, atol=1e-8)
        assert found[name].pvalue == alone.pvalue  # the same permutations
        assert_allclose(found[name].standardized, alone.effect().standardized, rtol=1e-4)
    alone = MMD(Delta(), null=Permutation(199)).test(x["town"].tolist(), y["town"].tolist(), rng=5)
    assert_allclose(found["town"].mmd2, alone.statistic, rtol=1e-9)
    assert found["town"].pvalue == alone.pvalue


def test_features_give_the_kernel():
    rng = np.random.default_rng(1)
    for values in (
        rng.normal(size=200),
        rng.standard_cauchy(80),
        rng.integers(0, 4, 100).astype(float),
        1e6 + rng.normal(size=50),
    ):
        column = embedded(values, False)
        assert isinstance(column.kernel, RBF)
        assert_allclose(column.features @ column.features.T, column.kernel(values), atol=1e-3)
    codes = rng.integers(0, 9, 60).astype(float)
    z = embedded(codes, True).features
    assert_array_equal(z @ z.T, Delta()(codes))
    many = embedded(np.arange(200.0), True).features
    assert many.shape == (200, 64)
    assert np.all(many.sum(axis=1) == 1)


def test_weights_are_those_of_the_samples():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    w = np.repeat([1 / 25, 0.0], [25, 15])
    some = feature_differences(Empirical(x, w), y, resamples=99, rng=0)
    only = feature_differences(x[:25], y, resamples=99, rng=0)
    kernels = [embedded(np.concatenate([x[:, j], y[:, j]]), False).kernel for j in (0, 1)]
    for j in (0, 1):
        name = f"column {j}"
        assert_allclose(some[name].mmd2, mmd2(kernels[j], x[:25, j], y[:, j]), rtol=1e-5, atol=1e-8)
        assert_allclose(some[name].first["mean"], only[name].first["mean"], rtol=1e-9)
        assert_allclose(some[name].first["sd"], only[name].first["sd"], rtol=1e-9)


def test_corrections_are_the_textbooks():
    scipy_stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    for k in (1, 2, 7, 30):
        p = rng.random(k) ** 3
        want = scipy_stats.false_discovery_control(p, method="bh")
        assert_allclose(BenjaminiHochberg().adjusted(p), want, rtol=1e-12)
        order = np.argsort(p)
        holm, running = np.empty(k), 0.0
        for i, j in enumerate(order):
            running = max(running, min(1.0, (k - i) * p[j]))
            holm[j] = running
        assert_allclose(Holm().adjusted(p), holm, rtol=1e-12)
    with pytest.raises(ValueError, match="p-values are probabilities"):
        Holm().adjusted([0.5, 1.5])


def test_westfall_young_uses_dependence():
    rng = np.random.default_rng(4)
    one = rng.normal(size=(1, 999))
    observed = np.full(50, 2.6)  # fifty copies of one test
    copies = np.repeat(one, 50, axis=0)
    p = (1 + np.sum(one >= 2.6)) / 1000
    assert_allclose(WestfallYoung().of_resampled(observed, copies), p, atol=2e-3)
    assert_allclose(Holm().of_resampled(observed, copies), min(1, 50 * p), atol=1e-9)
    free = rng.normal(size=(50, 999))  # fifty independent ones: about Bonferroni's
    found = WestfallYoung().of_resampled(np.full(50, 3.0), free)
    assert np.all(np.abs(found - (1 - (1 - 0.00135) ** 50)) < 0.05)


def test_westfall_young_counts_ties_up_to_rounding():
    draws = np.tile([1.0, 2.0, 3.0, 4.0], 25)[None, :] * np.ones((2, 1))
    observed = np.array([4.0 * (1 + 1e-9), 2.0])
    assert_allclose(WestfallYoung().of_resampled(observed, draws)[0], 1 / 101)
    assert_allclose(WestfallYoung().of_resampled(observed, draws, 1e-8)[0], 26 / 101)


# ---- what is told -------------------------------------------------------------------------


def test_names_order_and_words(frames):
    found = feature_differences(*frames, rng=0)
    assert {f.name for f in found.differing()} == {"age", "town"}
    assert [f.name for f in found][-1] == "still"
    assert found["still"].pvalue == 1.0
    assert found["still"].standardized == 0.0
    assert found["age"].describe().startswith("mean 4")
    assert "'Bern' 0.0% and" in found["town"].describe()
    assert set(found["town"].first) == {"Bern", "Oslo", "Rome"}
    assert "age" in str(found)
    assert "Bern" in str(found)
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["features"][0]["name"] == found[0].name
    assert len(found) == 4
    with pytest.raises(KeyError, match="no column 'height'"):
        found["height"]
    levels = [f.adjusted for f in found]
    assert levels == sorted(levels)


def test_arrays_have_numbered_columns_and_the_seed_decides():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(50, 3)), rng.normal((0.0, 1.5, 0.0), 1.0, size=(40, 3))
    found = feature_differences(x, y, rng=1)
    assert found[0].name == "column 1"
    again = feature_differences(x, y, rng=1)
    assert [f.pvalue for f in found] == [f.pvalue for f in again]


def test_many_columns_need_westfall_young():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(30, 60)), rng.normal(size=(30, 60))
    y[:, 7] += 2.5
    held = feature_differences(x, y, resamples=999, correction=Holm(), rng=0)
    assert "or correction=WestfallYoung()" in held.cautions()[0]
    assert str(held).startswith("Caution: with 999 resamples")
    assert held.cautions(0.1) == ()
    assert_allclose(held[0].adjusted, 0.06)
    found = feature_differences(x, y, rng=0)
    assert [f.name for f in found.differing(0.01)] == ["column 7"]
    assert found.cautions() == ()
    with pytest.raises(ValueError, match="level must be between 0 and 1, got 0"):
        found.cautions(0)
    assert (found.correction, found.resamples) == (WestfallYoung(), 999)
    assert feature_differences(x, y, correction=Holm(), rng=0).resamples == 2999


def test_pairs_are_kept():
    # each pair has its own level, far larger than the difference: only paired tests see it
    rng = np.random.default_rng(7)
    level = rng.normal(0, 10, size=60)
    x, y = level + rng.normal(0, 0.5, 60), level + 1.0 + rng.normal(0, 0.5, 60)
    result = MMD(null=Permutation(199, paired=True)).test(x, y, rng=0)
    paired = result.features(resamples=199, rng=0)[0]
    free = feature_differences(x, y, resamples=199, rng=0)[0]
    assert paired.pvalue < 0.05 < free.pvalue
    with pytest.raises(ValueError, match="same size"):
        feature_differences(x, y[:50], null=Permutation(paired=True))


@pytest.mark.parametrize("n", [60, 1000])
def test_a_column_that_is_the_same_in_both_rows_of_all_pairs_does_not_differ(n):
    """All labellings have one statistic; rounding gave the observed one the smallest p-value."""
    rng = np.random.default_rng(n)
    x = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n), rng.normal(size=n)])
    y = x + np.array([0.0, 0.0, 0.5])
    features = feature_differences(x, y, null=Permutation(paired=True), resamples=199, rng=0)
    for name in ("column 0", "column 1"):
        assert features[name].pvalue == features[name].adjusted == 1.0
    assert features["column 2"].adjusted == 0.005


def test_refusals():
    x = np.arange(6.0)
    with pytest.raises(TypeError, match="correction must be a correction, such as Holm"):
        feature_differences(x, x, correction="holm")
    with pytest.raises(ValueError, match="same number of columns"):
        feature_differences(np.ones((4, 2)), np.ones((4, 3)))
    with pytest.raises(ValueError, match="y has NaN"):
        feature_differences(x, x * np.nan)
    with pytest.raises(ValueError, match="at least 2 points, got 1"):
        feature_differences(x, x[:1])
    with pytest.raises(TypeError):
        feature_differences(["to", "be"], ["or", "not"])


# ---- calibration --------------------------------------------------------------------------


def family_wise(runs, correction, seed):
    """How often any column of equal samples is found."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(runs):
        both = rng.normal(size=(35, 4)) @ rng.normal(size=(4, 4))
        both[:, 3] = np.round(both[:, 3])
        held = feature_differences(
            both[:20], both[20:], resamples=99, correction=correction, rng=rng
        )
        found += bool(held.differing(0.05))
    return found / runs


@pytest.mark.parametrize("correction", [Holm(), WestfallYoung()], ids=repr)
def test_false_findings_are_rare(correction):
    runs = 120
    assert family_wise(runs, correction, seed=8) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("correction", [Holm(), WestfallYoung()], ids=repr)
def test_false_findings_are_rare_at_length(correction):
    runs = 1500
    assert family_wise(runs, correction, seed=9) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
