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


def test_ties_on_the_line_are_exact_and_elsewhere_left_to_all_distances():
    x = np.round(RNG.normal(size=(300, 1)), 1)
    assert selected_median(x) == pytest.approx(np.median(pdist(x)), rel=1e-12)
    assert selected_median(RNG.integers(0, 3, size=(300, 2)).astype(float)) is None


def test_nothing_is_said_where_most_points_are_equal_or_nearly_so():
    mostly_zero = np.zeros((300, 1))
    mostly_zero[:10, 0] = 1.0
    assert selected_median(mostly_zero) is None
    near = np.concatenate([1e-6 * RNG.normal(size=(300, 2)), [[1e4, 0.0]]])
    assert selected_median(near) is None
