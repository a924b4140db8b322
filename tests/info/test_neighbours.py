"""Distances and counts of neighbours: sorted, by trees and by stripes, against all distances."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from mercer.info.neighbour_loops import blocked_counts, blocked_distances
from mercer.info.neighbours import (
    _striped_counts,
    joint_norm,
    joint_radii_and_counts,
    joint_widths_and_counts,
    kth_distances,
)
from tests.support.arrays import INSTALLED, torch


@pytest.mark.parametrize("d", [1, 2, 6, 13])
def test_kth_distances_are_those_of_all_pairs(d):
    rng = np.random.default_rng(d)
    x, y = rng.standard_normal((70, d)) + 1e3, rng.standard_normal((50, d)) + 1e3
    for k in (1, 4, 49):
        assert_allclose(kth_distances(x, k), np.sort(cdist(x, x), axis=1)[:, k], rtol=1e-6)
        assert_allclose(kth_distances(x, k, y), np.sort(cdist(x, y), axis=1)[:, k - 1], rtol=1e-6)


def brute_force(parts, k, subsets, metric):
    each = [cdist(p, p, metric) for p in parts]
    radii = np.sort(np.max(each, axis=0), axis=1)[:, k]
    limits = np.where(radii > 0, radii, 5e-324)[:, None]
    inside = [np.max([each[j] for j in subset], axis=0) < limits for subset in subsets]
    return radii, [np.maximum(near.sum(axis=1) - 1, 0) for near in inside]


SUBSETS = [(0,), (1,), (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("widths", [(1, 1, 1), (2, 1, 3), (5, 2, 1), (9, 4, 2)])
@pytest.mark.parametrize("digits", [1, 12])
def test_counts_are_those_of_all_pairs(widths, digits):
    """Rounded numbers have ties, on which strict and other inequalities differ."""
    rng = np.random.default_rng(0)
    parts = [np.round(8 * rng.standard_normal((160, d)), digits - 1) / 8 for d in widths]  # trees
    metric = "chebyshev" if joint_norm(parts) == np.inf else "euclidean"
    radii, counts = brute_force(parts, 3, SUBSETS, metric)
    found, near = joint_radii_and_counts(parts, 3, SUBSETS)
    assert_allclose(found, radii, atol=1e-9)
    assert_array_equal(near, counts)
    striped, inside = _striped_counts(parts, 3, SUBSETS, joint_norm(parts))
    assert_allclose(striped, radii, atol=1e-9)
    assert_array_equal(inside, counts)


def test_widths_enclose_the_neighbours():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 60, 1))
    counts, empty = joint_widths_and_counts([x, y], 4)
    dx, dy = cdist(x, x), cdist(y, y)
    nearest = np.argsort(np.maximum(dx, dy), axis=1)[:, :5]
    for distances, count in ((dx, counts[0]), (dy, counts[1])):
        width = np.take_along_axis(distances, nearest, axis=1).max(axis=1)
        assert_array_equal(count, (distances <= width[:, None]).sum(axis=1) - 1)
    assert not empty.any()


@pytest.mark.skipif("torch" not in INSTALLED, reason="needs torch")
def test_stripes_of_tensors():
    rng = np.random.default_rng(2)
    parts = [rng.standard_normal((90, d)) for d in (2, 13)]
    expected = _striped_counts(parts, 3, [(0,), (1,)], 2.0)
    found = _striped_counts([torch.tensor(p) for p in parts], 3, [(0,), (1,)], 2.0)
    assert_allclose(found[0], expected[0], rtol=1e-9)
    assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("d", [2, 3, 7])
def test_blocks_of_points_agree_with_trees(d):
    """Compiled loops and SciPy's trees compute the same differences, so they agree to the last digit."""
    pytest.importorskip("numba")
    from scipy.spatial import KDTree

    x = np.random.default_rng(d).normal(size=(700, d)).round(2 if d == 2 else 8)  # with ties
    x[5] = x[6]
    radii = blocked_distances(x, 3)
    tree = KDTree(x)
    np.testing.assert_array_equal(radii, tree.query(x, k=[4], p=np.inf)[0][:, 0])
    limits = np.where(radii > 0, radii, 1.0)
    inside = tree.query_ball_point(x, np.nextafter(limits, 0), p=np.inf, return_length=True)
    np.testing.assert_array_equal(blocked_counts(x, limits), inside - 1)
