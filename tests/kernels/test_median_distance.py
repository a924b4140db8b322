"""Tests of the selected median distance against the median of all distances."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from mercer.kernels.median_distance import selected_median

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("n", [65, 129, 401, 1000])
@pytest.mark.parametrize("d", [1, 2, 20])
def test_the_median_of_all_distances(n, d):
    for x in (RNG.normal(size=(n, d)), RNG.standard_t(3, size=(n, d)) + 1e4):
        assert selected_median(x) == pytest.approx(np.median(pdist(x)), rel=1e-9)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("levels", [2, 3, 9])
def test_ties_are_exact(d, levels):
    x = RNG.integers(0, levels, size=(300, d)).astype(float)
    expected = np.median(pdist(x))
    assert selected_median(x) == (expected if expected > 0 else None)
    x = np.round(RNG.normal(size=(300, d)), 1)
    assert selected_median(x) == pytest.approx(np.median(pdist(x)), rel=1e-12)


def test_outliers_make_float32_too_coarse():
    x = np.concatenate([RNG.normal(size=(300, 2)), [[1e4, 0.0]]])
    assert selected_median(x) == pytest.approx(np.median(pdist(x)), rel=1e-9)


def test_nothing_is_said_where_most_points_are_equal_or_nearly_so():
    mostly_zero = np.zeros((300, 1))
    mostly_zero[:10, 0] = 1.0
    assert selected_median(mostly_zero) is None
    near = np.concatenate([1e-9 * RNG.normal(size=(300, 2)), [[1e4, 0.0]]])
    assert selected_median(near) is None
