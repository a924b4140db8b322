"""Mutual information is never negative, and zero if and only if the variables are independent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import MutualInformation, Permutation
from mercer.info import Chi2, Hellinger, PlugIn, Renyi, Shannon, mutual_information

MEASURES = [Shannon(), Renyi(0.5), Renyi(2.0), Chi2(), Hellinger()]


def observed(table: np.ndarray) -> list[np.ndarray]:
    """One observation for every count of a table: a sample for each of its axes."""
    return [np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape)]


def of_table(table: np.ndarray, measure=MEASURES[0]) -> float:
    return mutual_information(*observed(table), measure=measure, estimator=PlugIn())


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_tables_of_independent_variables_have_none_and_others_have(measure):
    rng = np.random.default_rng(0)
    rounding = 1e-7 if isinstance(measure, Hellinger) else 1e-12  # a root of it, or rounding itself
    for _ in range(20):
        rows, columns = rng.integers(1, 7, size=4), rng.integers(1, 7, size=3)
        product = np.outer(rows, columns)
        assert_allclose(of_table(product, measure), 0, atol=rounding)
        # the smallest change of a table: one observation moves, and rows are no longer proportional
        moved = product.copy()
        moved[0, 0] += 1
        assert of_table(moved, measure) > 10 * rounding
        assert (
            of_table(rng.integers(0, 5, size=(4, 3)) + np.eye(4, 3, dtype=int), measure)
            > 10 * rounding
        )


def test_joint_independence_is_more_than_that_of_pairs():
    """An exclusive or: every two of the variables are independent, the three are not."""
    table = np.zeros((2, 2, 2), dtype=int)
    for i, j in np.ndindex(2, 2):
        table[i, j, i ^ j] = 1
    for axis in range(3):
        assert_allclose(of_table(table.sum(axis=axis)), 0, atol=1e-12)
    assert_allclose(of_table(table), np.log(2), rtol=1e-12)


def test_functions_of_a_variable_lose_information():
    rng = np.random.default_rng(1)
    table = rng.integers(0, 9, size=(6, 5))
    merged = np.add.reduceat(table, [0, 2, 4], axis=0)
    values = [of_table(t) for t in (table, merged, merged.sum(axis=0)[None])]
    assert all(b < a for a, b in pairwise(values))
    assert_allclose(values[-1], 0, atol=1e-12)
    x, y = observed(table)
    shuffled = np.array([4, 0, 5, 2, 1, 3])[x]
    assert_allclose(mutual_information(shuffled, y, estimator=PlugIn()), values[0], rtol=1e-12)


def test_uncorrelated_numbers_that_depend_have_information():
    """Estimates of 20 samples: zero within four standard errors where independent, far above it where not."""
    rng = np.random.default_rng(2)
    independent, ring, square = [], [], []
    for _ in range(20):
        x, noise, angle = rng.normal(size=300), rng.normal(size=300), rng.uniform(0, 6.3, 300)
        independent.append(mutual_information(x, noise))
        ring.append(mutual_information(np.cos(angle), np.sin(angle) + 0.1 * noise))
        square.append(mutual_information(x, x**2 + noise))
    assert abs(np.mean(independent)) < 4 * np.std(independent) / np.sqrt(20) + 0.02
    assert min(ring) > 0.5
    assert min(square) > max(0.05, np.mean(independent))
    test = MutualInformation(null=Permutation(99))
    assert test.test(x, x**2 + noise, rng=0).pvalue == 0.01
    assert test.test(x, noise, rng=0).pvalue > 0.01
