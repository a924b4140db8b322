"""Columns of the samples of a test of series have the null distribution of that test."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.htest import MMD, Holm, WildBootstrap
from mercer.htest.samples.column_features import embedded
from mercer.kernels import Spectrum
from tests.support.series_problems import arma

_AR = arma((0.9,))


@pytest.fixture
def rng():
    return np.random.default_rng()


def series(rng, n, width, shift=0.0):
    """Independent AR(0.9) series in the columns; the first is shifted."""
    columns = np.column_stack([_AR(rng, n) for _ in range(width)])
    columns[:, 0] += shift
    return columns


@pytest.mark.parametrize("block", [None, 40])
def test_columns_of_series_of_one_law_rarely_differ(rng, block):
    """Taken for independent rows, one of three columns differed in nearly every run."""
    runs, alarms = 60, 0
    test = MMD(null=WildBootstrap(199, block=block))
    for run in range(runs):
        x, y = series(rng, 400, 3), series(rng, 400, 3)
        features = test.test(x, y, rng=run).features(resamples=199, rng=run)
        alarms += bool(features.differing())
    assert alarms <= 9  # binomial of 60 runs at level 0.05: more with probability 0.001


@pytest.mark.slow
@pytest.mark.parametrize("correction", [mercer.htest.WestfallYoung(), Holm()])
def test_level_of_all_columns_together(rng, correction):
    runs, alarms = 400, 0
    test = MMD(null=WildBootstrap(99, block=None))
    for run in range(runs):
        result = test.test(series(rng, 400, 3), series(rng, 400, 3), rng=run)
        features = result.features(correction=correction, resamples=499, rng=run)
        alarms += bool(features.differing())
    assert alarms / runs <= 0.05 + 4 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.parametrize("block", [None, 40])
def test_a_shifted_column_of_series_is_found(rng, block):
    x, y = series(rng, 600, 3), series(rng, 600, 3, shift=8.0)
    result = MMD(null=WildBootstrap(999, block=block)).test(x, y, rng=0)
    assert [f.name for f in result.features(rng=0).differing()] == ["column 0"]
    assert "1 of 3 differs by itself" in result.summary()


@pytest.mark.parametrize("block", [None, 20])
def test_a_column_is_a_test_of_one_series(rng, block):
    """Two roads: the test of the column by itself, with its kernel and the same random numbers."""
    x, y = series(rng, 200, 1), series(rng, 150, 1)
    pair = np.repeat(x, 2, axis=1), np.repeat(y, 2, axis=1)
    null = WildBootstrap(1999, block=block)
    features = MMD(null=null).test(*pair, rng=0).features(resamples=1999, rng=5)
    kernel = embedded(np.concatenate([x, y])[:, 0], False).kernel
    alone = MMD(kernel, null=null).test(x, y, rng=5)
    noise = 1e-9 if block else 4 * (2 * 0.25 / 1999) ** 0.5  # fewer cosines have other directions
    assert_allclose([f.pvalue for f in features], alone.pvalue, atol=noise)
    assert_allclose([f.adjusted for f in features], features[0].pvalue, atol=1e-9)  # equal columns


def test_a_column_that_wanders_among_others_is_not_tested(rng):
    x, y = (
        np.column_stack([rng.normal(size=(300, 12)), np.linspace(0, 0.1, 300)]) for _ in range(2)
    )
    result = MMD(null=WildBootstrap(block=None)).test(x, y, rng=0)
    features = result.features(rng=0)
    assert features["column 12"].pvalue == features["column 12"].adjusted == 1.0
    (caution,) = features.cautions()
    assert "column 12 wanders like a random walk" in caution
    assert caution in result.summary()


def test_the_page_and_the_summary_of_series_call_no_equal_columns_different(rng, tmp_path):
    """The page of a comparison of two AR(0.9) series said '2 of 2 columns differ on their own'."""
    pytest.importorskip("jinja2")
    x, y = series(rng, 400, 2), series(rng, 400, 2)
    result = mercer.two_sample(x, y, series=True, rng=0)
    assert min(f.pvalue for f in result.features(rng=0)) > 0.001
    result.report(tmp_path / "page.html")
    assert "on their own" not in (tmp_path / "page.html").read_text()
    assert "none of 2 differs by itself" in result.summary()


def test_features_of_series_of_objects_are_refused(rng):
    x, y = (["".join(rng.choice(list("AC"), 12)) for _ in range(40)] for _ in range(2))
    result = MMD(Spectrum(2), null=WildBootstrap(block=None)).test(x, y, rng=0)
    with pytest.raises(mercer.errors.NoRule, match="permuted.*use points"):
        result.features()
    assert "differ" in result.summary() or "no difference" in result.summary()
