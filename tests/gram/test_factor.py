"""Pivoted Cholesky factors: equal to the matrix where it has low rank, bounded elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import Dense, Gram, cholesky, factor
from mercer.kernels import RBF, Linear


@pytest.mark.parametrize("kernel", [RBF(1.0), Linear(), RBF(2.0) * Linear() + 1.0])
def test_factor_equals_the_matrix(kernel):
    x = np.random.default_rng(0).normal(size=(700, 2))
    factor = cholesky(Gram(kernel, x))
    assert factor.columns.shape[1] < 200
    assert_allclose(factor.columns @ factor.columns.T, kernel(x), atol=1e-10 * kernel(x).max())


def test_full_rank_reaches_every_point():
    x = np.random.default_rng(0).normal(size=(60, 30))
    factor = cholesky(Gram(RBF(0.5), x))
    assert sorted(factor.pivots) == list(range(60))
    assert_allclose(factor.columns @ factor.columns.T, RBF(0.5)(x), atol=1e-12)


def test_blocks_take_the_pivots_of_one_at_a_time():
    """Beyond 256 columns pivots are found in blocks: they are those of the plain algorithm."""
    x = np.random.default_rng(0).normal(size=(420, 10))
    matrix = RBF(3.0)(x)
    left, columns, want = np.ones(420), [], []
    for _ in range(400):
        p = int(np.argmax(left))
        column = (matrix[:, p] - sum(c * c[p] for c in columns)) / left[p] ** 0.5
        columns.append(column)
        left = left - column**2
        left[want] = -np.inf
        left[p] = -np.inf
        want.append(p)
    found = cholesky(Gram(RBF(3.0), x), most=400)
    assert list(found.pivots) == want
    assert_allclose(found.columns, np.stack(columns, axis=1), atol=1e-9)


def test_residual_is_the_trace_that_is_left():
    x = np.random.default_rng(0).normal(size=(300, 5))
    gram = Gram(RBF(1.0), x)
    factor = cholesky(gram, most=40)
    assert factor.columns.shape == (300, 40)
    difference = gram.dense() - factor.columns @ factor.columns.T
    assert_allclose(np.trace(difference), factor.residual)
    assert np.max(np.abs(difference)) <= factor.residual


def test_single_precision_stops_at_its_noise():
    x = np.random.default_rng(0).normal(size=(800, 1)).astype(np.float32)
    assert cholesky(Gram(RBF(1.0), x)).columns.shape[1] < 40


def test_zero_matrix_has_no_columns():
    assert cholesky(Dense(np.zeros((5, 5)))).columns.shape == (5, 0)


def test_bad_input():
    with pytest.raises(ValueError, match="square"):
        cholesky(Gram(RBF(1.0), np.zeros((3, 1)), np.ones((4, 1))))
    with pytest.raises(ValueError, match="tolerance"):
        cholesky(Gram(RBF(1.0), np.zeros((3, 1))), tolerance=2.0)


@pytest.mark.parametrize("d", [1, 2, 20])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-14])
@pytest.mark.parametrize("most", [None, 7])
def test_few_points_have_the_factor_of_many(monkeypatch, d, tolerance, most):
    x = np.random.default_rng(d).normal(size=(60, d))
    gram = Gram(RBF(2.0), x)
    by_lapack = cholesky(gram, tolerance=tolerance, most=most)
    monkeypatch.setattr(factor, "_MAX_POINTS_DENSE", 0)
    by_pivots = cholesky(gram, tolerance=tolerance, most=most)
    assert by_lapack.pivots == by_pivots.pivots
    np.testing.assert_allclose(by_lapack.columns, by_pivots.columns, atol=1e-6)
    assert by_lapack.residual == pytest.approx(by_pivots.residual, rel=1e-2, abs=1e-13)
