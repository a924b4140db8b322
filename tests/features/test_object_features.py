"""Features of sets and series: unbiased, with the variance of theory, and equal to their definitions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from mercer.errors import NoRule
from mercer.features import MinHash, RandomWarping
from mercer.kernels import (
    Dice,
    DynamicTimeWarping,
    GlobalAlignment,
    Jaccard,
    Series,
    SetIntersection,
    WeightedJaccard,
)
from tests.support.object_zoo import paths, subsets

SETS = subsets(np.random.default_rng(0), 12)
SERIES = paths(9)(np.random.default_rng(0), 8)


@pytest.mark.parametrize("kernel", [Jaccard(), WeightedJaccard({0: 3.0, 3: 0.2, 5: 2.0})])
def test_minwise_hashing_has_no_bias_and_its_variance(kernel):
    d, runs, truth = 1000, 40, np.minimum(kernel(SETS), 1.0)  # 1 up to rounding
    zs = [MinHash(kernel, d, random_state=seed).fit_transform(SETS) for seed in range(runs)]
    errors = np.array([z @ z.T - truth for z in zs])
    off = truth < 1 - 1e-12
    scores = errors[:, off] / np.sqrt((1 - truth[off] ** 2) / d)
    assert np.abs(scores.mean(axis=0)).max() * runs**0.5 < 5  # 66 pairs: once in 25,000 tries
    assert 0.8 < np.sqrt(np.mean(scores**2)) < 1.2
    assert_allclose(errors[:, ~off], 0, atol=1e-12)


def test_error_falls_as_the_root():
    truth = Jaccard()(SETS)
    errors = []
    for d in (100, 10_000):
        zs = (MinHash(n_components=d, random_state=s).fit_transform(SETS) for s in range(5))
        errors.append(np.sqrt(np.mean([(z @ z.T - truth) ** 2 for z in zs])))
    assert 7 < errors[0] / errors[1] < 14  # 10 by theory


def test_drawn_elements_are_the_first_of_one_order():
    """Some order of all elements in each column explains what every set draws."""
    fitted = MinHash(n_components=50, random_state=1).fit([set(range(7))])
    drawn = fitted.map_.drawn([*SETS, *({i} for i in range(7))])
    singles = dict(zip(map(tuple, drawn[len(SETS) :]), range(7), strict=True))
    assert len(singles) == 7
    codes = drawn[len(SETS) :, 0]
    for column in range(50):
        for subset, code in zip(SETS, drawn[: len(SETS), column], strict=True):
            if subset:
                assert code in {codes[e] for e in subset}
                for other, theirs in zip(SETS, drawn[: len(SETS), column], strict=True):
                    if other >= subset and theirs in {codes[e] for e in subset}:
                        assert theirs == code


def naive_warping(x, y):
    cost = np.full((len(x) + 1, len(y) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(len(x)):
        for j in range(len(y)):
            step = np.sum((x[i] - y[j]) ** 2)
            cost[i + 1, j + 1] = step + min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
    return cost[-1, -1]


def test_random_warping_by_hand():
    fitted = RandomWarping(n_components=6, longest=4, random_state=0).fit(SERIES)
    probes = fitted.map_.probes.items
    assert probes.lengths.max() <= 4
    expected = [[naive_warping(x, w) ** 0.5 / 6**0.5 for w in probes] for x in SERIES]
    assert_allclose(fitted.transform(SERIES), expected, rtol=1e-12)
    similar = RandomWarping(DynamicTimeWarping(1.3), 6, longest=4, random_state=0).fit(SERIES)
    expected = np.exp(-6 * np.array(expected) ** 2 / (2 * 1.3**2)) / 6**0.5
    assert_allclose(similar.transform(SERIES), expected, rtol=1e-12)


def test_random_warping_settles():
    """Two large maps agree on the kernel that both estimate, up to 1 / sqrt(D)."""
    kernel = GlobalAlignment(1.0).normalized()

    def gram(d, seed):
        z = RandomWarping(kernel, d, longest=5, random_state=seed).fit_transform(SERIES)
        return z @ z.T

    reference = gram(4000, 9)
    errors = [
        np.sqrt(np.mean([(gram(d, s) - reference) ** 2 for s in range(4)])) for d in (20, 500)
    ]
    assert 3 < errors[0] / errors[1] < 8  # sqrt(25) = 5, less a little for the reference


def test_repeated_points_change_nothing():
    z = RandomWarping(n_components=20, random_state=0).fit(SERIES)
    twice = [np.repeat(x, 2, axis=0) for x in SERIES]
    far = RandomWarping(n_components=20, longest=1, random_state=0).fit(SERIES)
    assert z.transform(Series.of(SERIES)).shape == (8, 20)
    # With random series of one point all pairs are matched, so that distances grow by sqrt(2).
    assert_allclose(far.transform(twice), far.transform(SERIES) * 2**0.5, rtol=1e-12)


@pytest.mark.parametrize(("maker", "points"), [(MinHash, SETS), (RandomWarping, SERIES)])
def test_transformer(maker, points):
    fitted = maker(n_components=16, random_state=3).fit(points)
    z = fitted.transform(points)
    assert_array_equal(clone(fitted).fit(points).transform(points), z)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(points), z)
    assert_allclose(fitted.transform(points[3:5]), z[3:5], rtol=1e-12)
    assert list(fitted.get_feature_names_out())[:2] == [
        f"{maker.__name__.lower()}{i}" for i in (0, 1)
    ]
    y = np.arange(len(points)) % 2
    make_pipeline(maker(n_components=16, random_state=3), LogisticRegression()).fit(points, y)


@pytest.mark.parametrize("kernel", [Dice(), SetIntersection()])
def test_only_the_jaccard_index(kernel):
    with pytest.raises(NoRule, match="minwise hashing"):
        MinHash(kernel).fit(SETS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MinHash().fit(["text"]), "must hold sets"),
        (lambda: MinHash(n_components=0).fit(SETS), "n_components"),
        (lambda: MinHash().fit([{None}]), "numbers, text"),
        (lambda: MinHash().fit([]), "at least one"),
        (lambda: RandomWarping().fit(["text"]), "series 0 of X"),
        (lambda: RandomWarping(longest=0).fit(SERIES), "longest"),
        (lambda: RandomWarping(scale=-1.0).fit(SERIES), "scale"),
        (lambda: RandomWarping().fit([[1.0, np.nan]]), "NaN"),
        (lambda: RandomWarping(n_components=2).fit(SERIES).transform([[1.0]]), "channels"),
    ],
)
def test_wrong_points(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
