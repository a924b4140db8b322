"""Two-sample results: what they know, say, and hand on."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.htest import MMD, Bound, Chi2, Gamma, Normal, Permutation, Spectrum
from mercer.htest.nulls import Judgement
from mercer.htest.samples.me import ME
from mercer.htest.samples.pooled_sample import pool
from mercer.htest.samples.scf import SCF
from mercer.htest.samples.two_sample_result import SCHEMA, two_sample_result
from mercer.kernels import RBF, Linear
from mercer.rkhs import Empirical, witness
from tests.support.arrays import LIBRARIES


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 3)), rng.normal((0.0, 1.2, 0.0), 1.0, size=(50, 3))


@pytest.fixture
def frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"age": rng.normal(40, 5, 80), "town": rng.choice(["Rome", "Oslo"], 80)})
    y = pd.DataFrame({"town": rng.choice(["Oslo", "Bern"], 60), "age": rng.normal(43, 5, 60)})
    return x, y


# ---- what it is ---------------------------------------------------------------------------


def test_a_result_is_frozen_and_not_a_tuple(samples):
    result = MMD().test(*samples, rng=0)
    with pytest.raises(AttributeError):
        result.pvalue = 0.5
    with pytest.raises(TypeError):
        _, _ = result
    assert result.sizes == (60, 50)
    assert result.width == 3
    assert result == MMD().test(*samples, rng=0)


def test_what_was_compared_is_on_the_scale_of_the_null(samples):
    # of unbiased statistics the spectrum compares the biased one: p-values must follow from it
    for null in (Permutation(199), Spectrum(500), Gamma()):
        result = MMD(null=null).test(*samples, rng=0)
        if len(result.null):
            share = (1 + np.sum(result.null >= result.observed)) / (1 + len(result.null))
            assert_allclose(share, result.pvalue, atol=1e-12)
        else:
            assert_allclose(result.law.sf(result.observed), result.pvalue, rtol=1e-9)
    assert MMD(null=Bound()).test(*samples).bounded


@pytest.mark.parametrize(("null", "words"), [
    (Permutation(99), "99 resamples"), (Gamma(), "gamma null distribution"), (Bound(), "a bound"),
])  # fmt: skip
def test_where_the_p_value_comes_from(null, words, samples):
    result = MMD(null=null).test(*samples, rng=0)
    assert result.null_in_words() == words
    assert words in result.summary()
    assert ("p <=" in result.summary()) == (null == Bound())


def test_asymptotic_nulls_have_their_law(samples):
    class Evidence:
        def chi_square(self):
            return 3.0, 2

        def studentized(self):
            return 1.5

        def error_degrees(self):
            return None

    for null, name in ((Chi2(), "chi-square"), (Normal(), "normal")):
        judgement = null.judge(Evidence())
        result = two_sample_result(MMD(), pool(None, *samples), 3.0, judgement)
        assert result.null_in_words() == f"{name} null distribution"
        assert_allclose(result.law.sf(judgement.observed), result.pvalue)
    unknown = two_sample_result(MMD(), pool(None, *samples), 3.0, Judgement(0.1, np.empty(0), 3.0))
    assert unknown.null_in_words() == "its limiting null distribution"


# ---- where --------------------------------------------------------------------------------


def test_the_witness_is_that_of_the_samples(samples, frames):
    x, y = samples
    w = MMD(RBF(1.0)).test(x, y, rng=0).witness()
    assert_allclose(w(x), witness(RBF(1.0), x, y)(x), atol=1e-10)
    result = MMD().test(*frames, rng=0)
    w = result.witness()
    x, y = frames
    swapped = x[["town", "age"]]
    assert_allclose(w(x), w(swapped), rtol=1e-12)
    assert_allclose(w(x).mean() - w(y).mean(), w.norm2(), rtol=1e-8)
    assert w.columns.names == ("age", "town")


def test_points_are_where_the_witness_is_largest(samples):
    x, y = samples
    result = MMD(RBF(1.0)).test(x, y, rng=0)
    found = result.points(4)
    w = result.witness()
    order = np.argsort(-w(x))[:4]  # k(x, x) is one number: leaving a point out changes no rank
    assert_array_equal(found.first.indices, order)
    assert_array_equal(found.second.indices, np.argsort(w(y))[:4])
    assert_array_equal(found.first.rows, x[order])
    assert np.all(found.first.witness > 0)
    assert np.all(found.second.witness < 0)
    assert len(found.first) == 4
    assert len(result.points(1000).first) == 60


def test_points_of_frames_are_rows_of_frames(frames):
    x, y = frames
    found = MMD().test(Empirical(x, np.full(80, 1 / 80)), y, rng=0).points(2)
    assert list(found.first.rows.index) == found.first.indices.tolist()
    assert list(found.first.rows.columns) == ["age", "town"]
    assert set(found.second.rows["town"]) == {"Bern"}


def test_features_of_a_result(frames):
    found = MMD().test(*frames, rng=0).features(rng=0)
    assert {f.name for f in found.differing()} == {"age", "town"}


def test_locations_have_the_names_of_columns(frames):
    result = ME(locations=3).test(*frames, rng=0)
    places = result.locations()
    assert len(places) == 3
    w = result.witness()
    for place, row in zip(places, result.test.locations, strict=True):
        assert_allclose(place.coordinates["age"], row[0])
        assert place.coordinates["town"] in {"Rome", "Oslo", "Bern"}
        assert_allclose(place.witness, w(row[None, :])[0], rtol=1e-9)
        assert ("more of the first" in str(place)) == (place.witness > 0)
    assert "Compared at:" in result.summary()
    assert len(result.to_dict()["locations"]) == 3


def test_frequencies_are_per_unit(samples):
    result = SCF(frequencies=2).test(*samples, rng=0)
    (first, _) = result.locations()
    want = result.test.frequencies[0] / result.test.bandwidth
    assert_allclose(list(first.coordinates.values()), want)
    assert "radians per unit" in str(first)
    with pytest.raises(TypeError, match="MMD compares samples at no locations"):
        MMD().test(*samples, rng=0).locations()


# ---- words and numbers --------------------------------------------------------------------


def test_a_summary_says_what_was_asked_and_found(frames):
    text = MMD().test(*frames, rng=0).summary()
    question, verdict, size, columns = text.split("\n")
    assert question == (
        "Asked: do two samples (80 and 60 observations of 2 columns) come from the same "
        "distribution?"
    )
    assert verdict == "Verdict: they differ, p = 0.001 (MMD, 999 resamples; level 0.05)."
    assert size.startswith("Size: a classifier tells them apart ")
    assert "95% interval" in size
    assert columns.startswith(
        "Columns: 2 of 2 differ by themselves (p-values corrected by WestfallYoung)"
    )
    assert "'Bern'" in columns


def test_no_difference_is_not_sameness():
    rng = np.random.default_rng(2)
    result = MMD().test(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), rng=0)
    text = result.summary(level=0.01)
    assert "no difference was found" in text
    assert "does not show that they are the same" in text
    assert "none of 2 differs by itself" in text


def test_differences_in_dependence_only_are_said_to_be_so():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(2, 150, 2))
    x = noise[0]
    y = np.stack([noise[1, :, 0], 0.98 * noise[1, :, 0] + 0.2 * noise[1, :, 1]], axis=1)
    assert "in the dependence between columns" in MMD(RBF(0.5)).test(x, y, rng=0).summary()


def test_summaries_are_the_same_each_time(samples):
    result = MMD().test(*samples, rng=0)
    assert result.summary() == result.summary()
    one = MMD(Linear()).test(samples[0][:, 0], samples[1][:, 0], rng=0)
    assert "Columns" not in one.summary()


def test_a_dictionary_is_ready_for_json(frames):
    result = MMD().test(*frames, rng=0)
    held = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert held["schema"] == SCHEMA == "mercer/two-sample/1"
    assert held["sizes"] == [80, 60]
    assert held["columns"] == ["age", "town"]
    assert held["pvalue"] == result.pvalue
    assert held["effect"]["confidence"] == 0.95
    again = MMD().test(*frames, rng=0)
    assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())


def test_notebooks_see_a_table_that_is_escaped(samples):
    html = MMD().test(*samples, rng=0)._repr_html_()
    assert "<caption>MMD</caption>" in html
    assert "they differ" in html
    assert "a classifier tells them apart" in html
    assert "Columns" in html


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_has_results(library, samples):
    convert = LIBRARIES[library]
    result = MMD(RBF(1.0)).test(*(convert(s) for s in samples), rng=0)
    plain = MMD(RBF(1.0)).test(*samples, rng=0)
    assert_array_equal(result.points(3).first.indices, plain.points(3).first.indices)
    assert result.summary() == plain.summary()
    assert json.dumps(result.to_dict()["effect"])


def test_words_have_results_too():
    lengths = RBF(1.0).transformed(lambda w: np.array([float(len(v)) for v in w])[:, None])
    result = MMD(lengths).test(["a", "bb", "a", "bb"] * 4, ["cccc", "ddd"] * 6, rng=0)
    assert result.width is None
    assert result.points(2).second.rows == ["cccc", "cccc"]
    assert "Verdict: they differ" in result.summary()
    with pytest.raises(TypeError):
        result.features()


def test_thinned_keeps_the_verdict_and_subsamples_both_samples():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((80, 2)), rng.standard_normal((30, 2)) + 0.5
    result = MMD(RBF(1.0)).test(x, y, rng=0)
    thinned = result.thinned(40)
    assert thinned.pvalue == result.pvalue
    assert thinned.sizes == (40, 30)
    assert_allclose(thinned.pooled.samples[1], y)
    assert set(map(tuple, thinned.pooled.samples[0])) < set(map(tuple, x))
    assert thinned.effect() == result.thinned(40).effect() != result.effect()
    assert result.thinned(80) is result
