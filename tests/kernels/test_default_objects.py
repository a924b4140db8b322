"""Tests and learners on strings, graphs and series with no kernel given; features that differ; levels."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.htest import HSIC, MMD, Holm, KSample, MMDAgg, Permutation, WestfallYoung
from mercer.kernels import RBF, Composed, Graphs, Series, Spectrum, default_kernel
from mercer.learn import SVC
from mercer.rkhs import Empirical
from tests.support.object_zoo import random_graph, words


def test_strings():
    rng = np.random.default_rng(0)
    x, y = words("ab", 20)(rng, 60), words("abb", 20)(rng, 60)
    k = default_kernel([*x, *y])
    assert isinstance(k, Composed)
    distances = -2 * np.log(k([*x, *y]))[np.triu_indices(120, 1)]
    assert np.median(distances) == pytest.approx(1.0, rel=1e-6)  # at the median distance
    assert MMD(k).test(x, y, rng=0).pvalue < 0.05
    assert HSIC(k, k).test(x, [s[::-1] for s in x], rng=0).pvalue < 0.05
    other = words("ac", 20)(rng, 60)  # only strings of the letter a are in both classes
    machine = SVC(k, C=10.0).fit([*x[:30], *other[:30]], [0] * 30 + [1] * 30)
    assert machine.score([*x[30:], *other[30:]], [0] * 30 + [1] * 30) > 0.8


def test_graphs_and_equal_objects():
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 6) for _ in range(20)]
    assert default_kernel(graphs) == default_kernel(Graphs.of(graphs))
    with pytest.raises(ValueError, match="equal"):
        default_kernel(["a", "a"])
    with pytest.raises(ValueError, match="two points"):
        default_kernel(["a"])


def _series(rng, n, drift):
    return Series.of([drift + rng.normal(size=(int(rng.integers(5, 9)), 2)) for _ in range(n)])


def _objects(kind):
    """Two samples of one kind that differ."""
    rng = np.random.default_rng(3)
    if kind == "strings":
        return words("ab", 20)(rng, 40), words("abbb", 20)(rng, 40)
    if kind == "series":
        return _series(rng, 20, 0.0), _series(rng, 20, 1.0)
    return [random_graph(rng, 6) for _ in range(40)], Graphs.of(
        [random_graph(rng, 9) for _ in range(40)]
    )


@pytest.mark.parametrize("kind", ["strings", "graphs", "series"])
def test_no_kernel_given(kind):
    """Samples that differ do so by the default tests; an object depends on itself; SVC tells them apart."""
    x, y = _objects(kind)
    result = mercer.two_sample(x, y, rng=0)
    assert result.rejects()
    assert len(result.points(2).first.rows) == 2
    assert KSample(null=Permutation(99)).test(x, y, rng=0).rejects()
    half = np.repeat([0.0, 1.0], len(x) // 2)
    machine = SVC().fit(x, half)
    assert machine.kernel_.takes_objects()
    assert machine.predict(y).shape == (len(y),)
    assert machine.fit(half[:, None], half).score(half[:, None], half) == 1.0  # as a fresh one
    if kind == "strings":
        assert mercer.independence([*x[:20], *y[:20]], half, rng=0).rejects()


def test_samples_of_two_kinds_and_kernels_of_vectors_are_refused():
    strings, numbers = ["ab", "ba", "aa"], [[1.0], [2.0], [3.0]]
    for test in (MMD(), MMDAgg()):
        with pytest.raises(TypeError, match="x holds strings and y none"):
            test.test(strings, numbers)
    with pytest.raises(TypeError, match="x must hold real numbers"):
        MMD(RBF(1.0)).test(strings, strings)
    with pytest.raises(TypeError, match="X must hold real numbers"):
        SVC(RBF(1.0)).fit(strings, [0, 1, 1])


def test_features_of_strings_are_those_of_their_counts():
    """The planted word is found; means are those of the counts; p-values are those of the definition."""
    rng = np.random.default_rng(0)
    x, y = words("abcd", 30)(rng, 30), words("abcd", 30)(rng, 25)
    y = [s[:5] + "dcba" + s[5:] for s in y]
    result = MMD(Spectrum(4).normalized()).test(x, y, rng=0)
    features = result.features(rng=0)
    assert features[0].name == "dcba"
    assert features[0].adjusted <= 0.002
    assert "feature" in str(features)
    assert "dcba" in result.summary()
    for feature in list(features)[:10]:
        a, b = (np.array([_occurrences(s, feature.name) for s in z], float) for z in (x, y))
        assert feature.first["mean"] == pytest.approx(a.mean(), abs=1e-12)
        assert feature.second["sd"] == pytest.approx(b.std(ddof=1), abs=1e-12)
        unbiased = (a.mean() - b.mean()) ** 2 - a.var(ddof=1) / 30 - b.var(ddof=1) / 25
        assert feature.mmd2 == pytest.approx(unbiased, abs=1e-12)
        labels = np.array([rng.permutation(55) < 30 for _ in range(4000)])
        both = np.concatenate([a, b])
        means = labels @ both / 30 - ~labels @ both / 25
        expected = np.mean(np.abs(means) >= abs(a.mean() - b.mean()) - 1e-12)
        assert abs(feature.pvalue - expected) <= 0.002 + 5 * np.sqrt(
            expected * (1 - expected) / 800
        )
    weighted = MMD(Spectrum(4)).test(Empirical(x, np.full(30, 1 / 30)), y, rng=0).features(rng=0)
    assert [f.adjusted for f in weighted] == pytest.approx([f.adjusted for f in features])
    assert weighted.correction == WestfallYoung()
    assert result.features(correction=Holm(), resamples=99, rng=0).cautions()
    series = _series(rng, 4, 0.0)
    with pytest.raises(TypeError, match="no explicit features"):
        MMD().test(series, series, rng=0).features()


def _occurrences(text, word):
    return sum(text.startswith(word, i) for i in range(len(text)))


def test_features_of_one_distribution_are_rarely_found():
    """The family-wise error of the corrected p-values at level 0.1: within four deviations of it, or below."""
    rng, sample = np.random.default_rng(2), words("abc", 8)
    found = 0
    for _ in range(60):
        x, y = sample(rng, 15)[1:], sample(rng, 15)[1:]
        result = MMD(Spectrum(2), null=Permutation(1)).test(x, y, rng=rng)
        found += bool(result.features(resamples=99, rng=rng).differing(0.1))
    assert found <= 6 + 4 * np.sqrt(60 * 0.1 * 0.9)


def test_level_on_strings():
    """Of 100 tests at level 0.1 on samples of one distribution, 10 reject: within four deviations."""
    rng, sample = np.random.default_rng(1), words("abc", 8)
    rejections = 0
    for _ in range(100):
        x, y = sample(rng, 15)[1:], sample(rng, 15)[1:]
        rejections += MMD(null=Permutation(99)).test(x, y, rng=rng).rejects(0.1)
    assert abs(rejections - 10) <= 4 * np.sqrt(100 * 0.1 * 0.9)
