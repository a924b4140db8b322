"""Kernels on persistence diagrams equal their definitions."""

from __future__ import annotations

from math import atan, exp, pi

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    PersistenceFisher,
    PersistenceScaleSpace,
    PersistenceSlicedWasserstein,
    PersistenceWeightedGaussian,
)
from mercer.kernels.base import Kernel


def diagram(rng, m):
    birth = rng.uniform(size=m)
    return np.stack([birth, birth + rng.exponential(0.3, size=m)], axis=1)


RNG = np.random.default_rng(0)
DIAGRAMS = [np.empty((0, 2)), *(diagram(RNG, m) for m in (1, 2, 5, 8))]


def gauss(p, q, rate):
    return exp(-rate * np.sum((p - q) ** 2))


def scale_space(x, y, s):
    pairs = [(p, q) for p in x for q in y]
    return sum(gauss(p, q, 1 / (8 * s)) - gauss(p, q[::-1], 1 / (8 * s)) for p, q in pairs) / (
        8 * pi * s
    )


def weighted(x, y, s, c, power):
    def w(p):
        return atan(c * (p[1] - p[0]) ** power)

    return sum(w(p) * w(q) * gauss(p, q, 1 / (2 * s * s)) for p in x for q in y)


@pytest.mark.parametrize(
    ("kernel", "naive"),
    [
        (PersistenceScaleSpace(0.3), lambda x, y: scale_space(x, y, 0.3)),
        (PersistenceWeightedGaussian(0.4, 2.0, 3.0), lambda x, y: weighted(x, y, 0.4, 2.0, 3.0)),
    ],
    ids=lambda case: repr(case) if isinstance(case, Kernel) else "naive",
)
def test_sums_over_pairs(kernel, naive):
    expected = [[naive(x, y) for y in DIAGRAMS] for x in DIAGRAMS]
    assert_allclose(kernel(DIAGRAMS), expected, rtol=1e-12, atol=1e-15)


def test_exact_slices_are_the_limit_of_many_directions():
    """Also for coincident points, points on the diagonal and empty diagrams."""
    twice = np.concatenate([DIAGRAMS[3], DIAGRAMS[3][:2], [[0.4, 0.4]]])
    diagrams = [*DIAGRAMS, twice]
    exact = PersistenceSlicedWasserstein(1.0)(diagrams)
    many = PersistenceSlicedWasserstein(1.0, directions=4_000)(diagrams)
    assert_allclose(exact, many, rtol=3e-7)
    assert_allclose(np.diag(exact), 1.0)
    # one point of persistence a against nothing: the mean of |(cos t, sin t) . (p - its diagonal point)| is
    # a sqrt(2) / pi
    lone = PersistenceSlicedWasserstein(1.0)([np.array([[1.0, 4.0]])], [DIAGRAMS[0]])[0, 0]
    assert_allclose(-2 * np.log(lone), 3 * np.sqrt(2) / pi, rtol=1e-13)


def test_fisher_distance_of_one_point():
    """By hand, on the four points of one diagram and of the other, with their diagonal points."""
    p, q = np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])
    first = [[0.0, 1.0], [1.0, 1.0]]
    second = [[0.0, 2.0], [0.5, 0.5]]
    places = np.array([*first, *second])
    f, g = (
        np.array([sum(gauss(a, np.array(b), 0.5) for b in side) for a in places])
        for side in (first, second)
    )
    distance = np.arccos(np.sum(np.sqrt(f / f.sum() * g / g.sum())))
    assert_allclose(PersistenceFisher(1.0, 0.7)([p], [q])[0, 0], exp(-0.7 * distance), rtol=1e-12)


def test_fisher_is_not_positive_definite():
    rng = np.random.default_rng(0)
    x = [diagram(rng, m) for m in rng.integers(1, 5, size=40)]
    assert np.linalg.eigvalsh(PersistenceFisher(0.3, 5.0)(x))[0] < -0.1
    assert np.linalg.eigvalsh(PersistenceSlicedWasserstein(0.5)(x))[0] > -1e-12


def test_essential_points_are_refused():
    with pytest.raises(ValueError, match=r"diagram 1 of x has essential points.*drop them"):
        PersistenceScaleSpace()([DIAGRAMS[1], np.array([[0.0, np.inf]])])
    with pytest.raises(ValueError, match="not before births"):
        PersistenceScaleSpace()([np.array([[1.0, 0.5]])])
