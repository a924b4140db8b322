"""Bandwidths: those of all pairs, whatever the unit, the library and the container."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from array_api_strict import asarray as strict
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from mercer.kernels.bandwidth import bandwidth_grid, median_bandwidth, pair_distances
from tests.support.arrays import torch


def data(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("n", [2, 3, 10, 255, 256, 257, 700])
@pytest.mark.parametrize("d", [1, 2, 30])
def test_all_pairs(n, d):
    x = data(n, d)
    assert_allclose(np.sort(pair_distances(x)), np.sort(pdist(x)), rtol=1e-9, atol=1e-12)
    assert_allclose(median_bandwidth(x), np.median(pdist(x)), rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-8, 1e8, 1e140])
def test_unit_of_the_data_is_the_unit_of_the_bandwidth(unit):
    x = data(50, 3)
    assert_allclose(median_bandwidth(x * unit) / unit, median_bandwidth(x), rtol=1e-12)
    assert_allclose(np.array(bandwidth_grid(x * unit)) / unit, bandwidth_grid(x), rtol=1e-12)


def test_origin_does_not_matter():
    x = np.round(data(50, 3), 3)
    assert_allclose(median_bandwidth(x + 1e8), median_bandwidth(x), rtol=1e-6)


def test_far_clusters_keep_the_distances_inside():
    x = 1e-3 * data(100, 2)
    x[90:] += 1e6
    assert_allclose(median_bandwidth(x), np.median(pdist(x)), rtol=1e-4)


def test_order_of_points_does_not_matter():
    x = data(300, 2)
    assert_allclose(median_bandwidth(x[::-1]), median_bandwidth(x), rtol=1e-14)


def test_ties_use_the_positive_distances():
    x = np.array([0, 0, 0, 0, 0, 0, 2, 5])
    distances = pdist(x[:, None])
    assert np.median(distances) == 0
    assert median_bandwidth(x) == np.median(distances[distances > 0])
    assert min(bandwidth_grid(x)) > 0


def test_half_of_the_distances_zero_is_not_a_tie():
    x = [0.0, 0.0, 1.0]  # distances 0, 1, 1
    assert median_bandwidth(x) == 1


@pytest.mark.parametrize("value", [0.0, 0.1, 1e200**0.5])
def test_constant_data_is_refused(value):
    with pytest.raises(ValueError, match=r"all points of x are equal.*RBF\(1.0\)"):
        median_bandwidth(np.full((3000, 2), value))
    with pytest.raises(ValueError, match="all points of x are equal"):
        bandwidth_grid(np.full((5, 2), value))


def test_rare_differences_in_large_data_are_found():
    x = np.zeros((50_000, 2))
    x[77] = 3, 4
    assert median_bandwidth(x) == 5


def test_large_data_are_sampled_reproducibly():
    x = data(6000, 2)
    first = median_bandwidth(x)
    assert first == median_bandwidth(x)
    assert first != median_bandwidth(x, rng=1)
    assert median_bandwidth(x, rng=1) == median_bandwidth(x, rng=np.random.default_rng(1))
    assert_allclose(first, np.median(pdist(x)), rtol=0.02)


def test_rng_is_not_used_on_small_data():
    rng = np.random.default_rng(0)
    assert median_bandwidth(data(20, 2), rng=rng) == median_bandwidth(data(20, 2))
    assert rng.random() == np.random.default_rng(0).random()


def test_libraries_and_containers():
    x = data(40, 2)
    exact = median_bandwidth(x)
    columns = {"a": x[:, 0], "b": x[:, 1]}
    for same in (torch.tensor(x), strict(x), x.tolist(), np.asfortranarray(x)):
        assert_allclose(median_bandwidth(same), exact, rtol=1e-14)
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert_allclose(median_bandwidth(frame), exact, rtol=1e-14)
    assert_allclose(median_bandwidth(pd.Series(x[:, 0])), median_bandwidth(x[:, 0]), rtol=1e-14)
    assert_allclose(median_bandwidth(x.astype(np.float32)), exact, rtol=1e-6)
    assert isinstance(median_bandwidth(torch.tensor(x, requires_grad=True)), float)
    big = data(3000, 2)
    assert (
        median_bandwidth(torch.tensor(big))
        == median_bandwidth(big)
        == median_bandwidth(strict(big))
    )


def test_integers_and_booleans():
    assert median_bandwidth(np.array([0, 3, 4])) == 3
    assert median_bandwidth(np.array([True, False])) == 1


def test_argument_is_not_changed():
    x = data(30, 2)
    before = x.copy()
    median_bandwidth(x)
    assert np.array_equal(x, before)


def test_grid_covers_the_distances():
    x = data(200, 3)
    grid = bandwidth_grid(x, 7)
    low, high = np.quantile(pdist(x), (0.05, 0.95))
    assert len(grid) == 7
    assert all(isinstance(b, float) for b in grid)
    assert_allclose([grid[0], grid[-1]], [low / 2, high * 2], rtol=1e-12)
    assert_allclose(np.diff(np.log(grid)), np.log(4 * high / low) / 6, rtol=1e-9)
    assert grid[0] < median_bandwidth(x) < grid[-1]


def test_grid_of_one_is_the_median():
    x = data(50, 3)
    assert bandwidth_grid(x, 1) == (median_bandwidth(x),)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="at least two points"):
        median_bandwidth([[1.0, 2.0]])
    with pytest.raises(ValueError, match="NaN"):
        median_bandwidth([1.0, np.nan])
    with pytest.raises(TypeError, match=r"column 'c' of x holds categories.*default_kernel"):
        median_bandwidth(pd.DataFrame({"a": [1.0, 2.0], "c": ["u", "v"]}))
    with pytest.raises(ValueError, match="number must be"):
        bandwidth_grid([0.0, 1.0], 0)
    with pytest.raises(TypeError, match="rng must be"):
        median_bandwidth(data(3000, 1), rng="seed")
