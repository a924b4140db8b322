"""Partial distance correlation: dcor and projections of matrices agree, and permutations are brute force's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import HSIC, PartialDistanceCorrelation, Permutation
from mercer.htest.dependence.partial_distance import PartialEvidence
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.kernels import Energy
from mercer.rkhs import partial_distance_correlation


@pytest.mark.parametrize(("n", "d"), [(10, 1), (60, 1), (60, 3)])
def test_dcor_agrees(n, d):
    dcor = pytest.importorskip("dcor")
    x, y, z = related(n, d)
    want = dcor.partial_distance_correlation(x, y, z)
    assert_allclose(partial_distance_correlation(x, y, z), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("power", [0.7, 1.0, 1.6])
def test_projections_of_matrices_agree(power):
    x, y, z = related(40, 2)
    want = by_projection(x, y, z, power)
    assert_allclose(partial_distance_correlation(x, y, z, power=power), want, rtol=0, atol=1e-12)


def test_degenerate_projections_are_zero():
    x, y, z = related(30, 1)
    assert partial_distance_correlation(x, y, x) == 0
    assert partial_distance_correlation(x, np.ones(30), z) == 0
    constant = np.full(30, 2.0)
    want = partial_distance_correlation(x, y, constant)
    plain = HSIC(unbiased=True, kernel_x=Energy(), kernel_y=Energy()).statistic
    assert_allclose(want, plain(x, y) / np.sqrt(plain(x, x) * plain(y, y)), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2])
def test_permuted_statistics_are_those_of_permuted_projections(d):
    x, y, z = related(25, d)
    test, null = PartialDistanceCorrelation(), Permutation(40)
    evidence = PartialEvidence(*test._variables(x, y, z))
    values = evidence.permuted(null, null.columns, 3)
    a, b = (projected(centred(v), centred(z)) for v in (x, y))
    orders = CyclicPermutations(25, null, 3).orders(slice(0, 41))
    want = [np.sum(a * b[np.ix_(o, o)]) / np.sqrt(np.sum(a**2) * np.sum(b**2)) for o in orders]
    assert_allclose(values, want, rtol=0, atol=1e-12)
    assert_allclose(values[0], test.statistic(x, y, z), rtol=0, atol=1e-12)


def test_conditional_independence_is_another_hypothesis():
    """x and y are independent given z, and yet the partial distance correlation is not zero."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=800)
    x, y = z + rng.normal(size=(2, 800))
    result = PartialDistanceCorrelation(null=Permutation(99)).test(x, y, z, rng=0)
    assert result.rejects()
    assert result.statistic < 0.06
    assert "not conditional independence" in str(result)
    assert "independent given" not in str(result)


def test_other_nulls_are_refused():
    with pytest.raises(TypeError, match="null must be Permutation"):
        PartialDistanceCorrelation(null=3)


# ---- another road: U-centred matrices -----------------------------------------------------------


def related(n, d):
    rng = np.random.default_rng(n)
    x, y, z = rng.normal(size=(3, n, d))
    return x + z, y + 0.5 * x + np.abs(z), z


def centred(x, power=1.0):
    """The U-centred distance matrix (Szekely and Rizzo 2014, definition 2)."""
    n = len(x)
    distances = np.linalg.norm(x[:, None] - x[None], axis=-1) ** power
    rows, total = distances.sum(axis=1), distances.sum()
    matrix = distances - (rows[:, None] + rows) / (n - 2) + total / ((n - 1) * (n - 2))
    np.fill_diagonal(matrix, 0.0)
    return matrix


def projected(a, z):
    return a - np.sum(a * z) / np.sum(z * z) * z


def by_projection(x, y, z, power):
    a, b, c = (centred(v, power) for v in (x, y, z))
    a, b = projected(a, c), projected(b, c)
    return np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b))
