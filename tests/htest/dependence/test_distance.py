"""Distance covariance: HSIC with energy kernels, and the road in O(n log n) for numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import HSIC, Permutation
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.sums.centered_gram import Distance1D
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.htest.dependence.sums.permuted_trace import DiagonalTrace, Distance1DTrace
from mercer.kernels import Energy
from mercer.rkhs import distance_covariance_1d
from mercer.rkhs.distance_covariance_1d import (
    compiled_forms,
    distance_rows,
    distance_sums,
    sorted_forms,
)
from mercer.rkhs.paired_samples import variables
from tests.support.peer_libraries import dcor

SAMPLES = {
    "normal": lambda rng, n: (rng.standard_normal(n), rng.standard_normal(n)),
    "ties": lambda rng, n: (rng.poisson(1.0, n).astype(float), rng.integers(0, 3, n).astype(float)),
    "far off": lambda rng, n: (1e4 + rng.standard_normal(n), rng.standard_cauchy(n)),
}


@pytest.mark.parametrize("problem", SAMPLES)
@pytest.mark.parametrize("n", [4, 5, 33, 300])
def test_is_dcor(problem, n):
    x, y = SAMPLES[problem](np.random.default_rng(n), n)
    y = y + x**2 * (problem == "normal")
    energy = Energy(), Energy()
    assert_allclose(
        4 * HSIC(*energy).statistic(x, y),
        dcor.distance_covariance_sqr(x, y, method="naive"),
        rtol=1e-9,
        atol=1e-14,
    )
    assert_allclose(
        4 * HSIC(*energy, unbiased=True).statistic(x, y),
        dcor.u_distance_covariance_sqr(x, y, method="naive"),
        rtol=1e-8,
        atol=1e-12,
    )


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5])
def test_is_dcor_in_more_dimensions_and_powers(power):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2))
    y = x[:, :1] * rng.standard_normal((60, 3))
    ours = HSIC(Energy(power), Energy(power)).statistic(x, y)
    assert_allclose(4 * ours, dcor.distance_covariance_sqr(x, y, exponent=power), rtol=1e-9)


@pytest.mark.parametrize("problem", SAMPLES)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 200])
def test_sums_of_products_of_distances(problem, n):
    rng = np.random.default_rng(n)
    x, y = SAMPLES[problem](rng, n)
    x = x - x.mean()
    orders = np.stack([np.arange(n), *(rng.permutation(n) for _ in range(5))])
    expected = [np.sum(np.abs(x[:, None] - x) * np.abs(y[p][:, None] - y[p])) for p in orders]
    assert_allclose(distance_sums(x, y, orders), expected, rtol=1e-10, atol=1e-10)
    assert_allclose(distance_rows(x), np.abs(x[:, None] - x).sum(axis=1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", [2, 5, 16, 333])
def test_compiled_and_sorted_agree(n):
    pytest.importorskip("numba")
    rng = np.random.default_rng(n)
    x, y = np.sort(rng.standard_normal(n)), np.sort(rng.standard_normal(n))
    ranks = np.stack([rng.permutation(n) for _ in range(4)])
    size = n**2
    assert_allclose(compiled_forms(x, y, ranks), sorted_forms(x, y, ranks), atol=1e-13 * size)


def test_a_line_is_its_matrix():
    rng = np.random.default_rng(0)
    (variable,) = variables((Energy(),), (rng.standard_t(3, 150),))
    found = HSICEvidence.of(variable, variable)
    assert isinstance(found.first, Distance1D)
    assert isinstance(found.trace, Distance1DTrace)
    dense = np.asarray(found.first.matrix().dense())
    assert_allclose(found.first.diagonal, np.diag(dense), atol=1e-12)
    assert_allclose(found.first.squared_norm, np.sum(dense**2), rtol=1e-10)
    assert_allclose(found.first.norm**2, np.sum(dense**2), rtol=1e-10)
    assert_allclose(found.trace.observed, np.sum(dense**2), rtol=1e-10)


@pytest.mark.parametrize("unbiased", [False, True])
def test_both_roads_give_the_same_permutations(unbiased, monkeypatch):
    rng = np.random.default_rng(0)
    both = variables((Energy(), Energy()), (rng.standard_normal(90), rng.standard_normal(90)))
    null = Permutation(199)
    diagonal = HSICEvidence.of(*both, unbiased)
    monkeypatch.setattr(
        "mercer.htest.dependence.sums.permuted_trace._SECONDS_PER_PAIR", 1.0
    )  # a second for a pair
    sorting = HSICEvidence.of(*both, unbiased)
    found = sorting.permuted(null, slice(0, 200), 4)
    turns = CyclicPermutations(90, null, 4)
    assert isinstance(sorting.trace, Distance1DTrace)
    banded = DiagonalTrace(diagonal.first, diagonal.second).cyclic(turns)
    assert_allclose(sorting.trace.cyclic(turns), banded, rtol=1e-10)
    monkeypatch.undo()
    assert_allclose(found, diagonal.permuted(null, slice(0, 200), 4), atol=1e-14)


def test_large_samples_take_the_quicker_road():
    assert distance_covariance_1d.seconds_for(100_000, 1) < 1.0
    rng = np.random.default_rng(0)
    x = rng.standard_normal(30_000)
    y = 0.02 * x + rng.standard_normal(30_000)
    ours = 4 * HSIC(Energy(), Energy()).statistic(x, y)
    assert_allclose(ours, dcor.distance_covariance_sqr(x, y), rtol=1e-6)


@pytest.mark.parametrize("n", [2, 50, 201, 640, 1500])
@pytest.mark.parametrize("digits", [15, 0])
def test_one_pairing_is_that_of_all_pairs(n, digits):
    rng = np.random.default_rng(n)
    x = np.round(rng.normal(size=n), digits)
    y = np.round(x + rng.normal(size=n), digits)
    dense = np.sum(np.abs(x[:, None] - x) * np.abs(y[:, None] - y))
    assert_allclose(distance_covariance_1d.distance_sum(x, y), dense, rtol=1e-12)


def test_cubes_and_forms_of_numbers_are_those_of_the_matrix():
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=60), 1)
    x -= x.mean()
    centring = np.eye(60) - 1 / 60
    matrix = centring @ (-np.abs(x[:, None] - x) / 2) @ centring
    assert_allclose(
        distance_covariance_1d.centred_cube_trace(x), np.trace(matrix @ matrix @ matrix)
    )
    weights = rng.normal(size=60)
    centred = distance_covariance_1d.CentredDistances(x)
    assert_allclose(centred.form(weights), weights @ matrix @ weights)
    assert_allclose(centred.diagonal(), np.diag(matrix), atol=1e-12)


def test_the_grid_is_as_exact_as_the_compiled_tree(monkeypatch):
    x, y = np.random.default_rng(5).normal(size=(2, 700))
    compiled = distance_covariance_1d.distance_sum(x, y)
    monkeypatch.setattr(distance_covariance_1d, "is_quick", lambda *_: False)
    assert_allclose(distance_covariance_1d.distance_sum(x, y), compiled, rtol=1e-12)
