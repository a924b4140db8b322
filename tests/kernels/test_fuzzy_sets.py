"""Kernels on fuzzy sets equal their sums and suprema; what facts deny is shown by an example."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    RBF,
    FuzzyCrossProduct,
    FuzzyIntersection,
    GaussianNonsingleton,
    MinimumNorm,
    Nonsingleton,
    ProductNorm,
    SetIntersection,
    Spectrum,
)
from tests.support.object_zoo import fuzzy_points, fuzzy_sets, fuzzy_vectors

SETS = fuzzy_sets(np.random.default_rng(0), 8)


@pytest.mark.parametrize(
    ("norm", "formula"), [(MinimumNorm(), min), (ProductNorm(), lambda a, b: a * b)]
)
def test_intersections_by_elements(norm, formula):
    degrees = [[[formula(x[e], y[e]) for e in x.keys() & y.keys()] for y in SETS] for x in SETS]
    sums = [[sum(values) for values in row] for row in degrees]
    heights = [[max(values, default=0.0) for values in row] for row in degrees]
    assert_allclose(FuzzyIntersection(norm)(SETS), sums, rtol=1e-13)
    assert_allclose(Nonsingleton(norm)(SETS), heights, rtol=1e-13)


def test_crisp_sets_are_sets():
    crisp = [{1, "a"}, set(), {"a", "b", 2}]
    fuzzy = [dict.fromkeys(s, 1.0) for s in crisp]
    assert_allclose(FuzzyIntersection()(fuzzy), SetIntersection()(crisp))
    assert_allclose(FuzzyIntersection()([{"a": 0.0}], [{"a": 1.0}]), [[0]])


def test_cross_product_by_pairs_of_elements():
    sets, k = fuzzy_points(np.random.default_rng(1), 6), RBF(0.7)
    expected = [
        [
            sum(
                a * b * k([p], [q])[0, 0]
                for p, a in zip(*x, strict=True)
                for q, b in zip(*y, strict=True)
            )
            for y in sets
        ]
        for x in sets
    ]
    assert_allclose(FuzzyCrossProduct(k)(sets), expected, atol=1e-13)
    words = [{"ab": 0.5, "b": 1.0}, {"bb": 0.25}]  # objects as elements
    assert_allclose(FuzzyCrossProduct(Spectrum(1))(words)[0, 1], 0.5 * 0.25 * 2 + 0.25 * 2)


def test_gaussian_heights_by_search():
    a, b = fuzzy_vectors(np.random.default_rng(2), 2)
    grid = np.linspace(-6, 6, 200_001)
    heights = [
        np.max(np.exp(-((grid - m) ** 2) / (2 * s**2) - (grid - n) ** 2 / (2 * t**2)))
        for m, s, n, t in zip(*a, *b, strict=True)
    ]
    assert_allclose(
        GaussianNonsingleton()([a], [b]), [[np.prod(heights)]], rtol=1e-6
    )  # of the grid


@pytest.mark.parametrize(
    ("kernel", "points"),
    [
        (Nonsingleton(), [{"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0}]),
        (GaussianNonsingleton(), [([0.0], [0.01]), ([1.0], [0.01]), ([0.5], [9.0])]),
    ],
)
def test_heights_are_not_positive_definite(kernel, points):
    assert np.linalg.eigvalsh(kernel(points))[0] < -0.4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FuzzyIntersection()([{"a": 1.5}]), "between 0 and 1"),
        (lambda: FuzzyIntersection()([{"a": float("nan")}]), "between 0 and 1"),
        (lambda: FuzzyIntersection()([{"a": "high"}]), "degrees of set 0"),
        (lambda: FuzzyIntersection()(["warm"]), "use a mapping"),
        (lambda: FuzzyIntersection(min), "norm must be"),
        (lambda: FuzzyCrossProduct(RBF(1.0))([(np.zeros((2, 1)), [1.0])]), "as many degrees"),
        (lambda: FuzzyCrossProduct(RBF(1.0))([3]), "pairs"),
        (lambda: GaussianNonsingleton()([([0.0], [0.0])]), "width positive"),
        (lambda: GaussianNonsingleton()([([0.0], [1.0]), ([0.0, 1.0], [1.0, 1.0])]), "dimension"),
    ],
)  # fmt: skip
def test_wrong_sets(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
