"""Ridge systems by float32 factors: as right as float64 ones, and left where they would not be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import Dense, Gram, ridge_solve, solve
from mercer.gram.mixed_precision import refined_solve, worth_refining
from mercer.kernels import RBF, Linear, Sigmoid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2100, 4))
Y = RNG.normal(size=(2100, 2)) * [1.0, 1e-8]
K = RBF(2.0)(X)


@pytest.mark.parametrize("ridge", [100.0, 1.0, 1e-2, 1e-3])
def test_as_right_as_float64(ridge, monkeypatch):
    gram = Gram(RBF(2.0), X)
    assert worth_refining(gram, ridge)
    ours = ridge_solve(gram, Y, ridge)
    monkeypatch.setattr(solve, "worth_refining", lambda matrix, ridge: False)
    direct = ridge_solve(gram, Y, ridge)
    off = [
        np.linalg.norm(K @ a + ridge * a - Y, axis=0) / np.linalg.norm(Y, axis=0)
        for a in (ours, direct)
    ]
    assert np.all(off[0] < 10 * off[1] + 1e-13)
    assert_allclose(ours, direct, atol=1e-9 * np.abs(direct).max())


def test_zero_columns_stay_zero():
    assert_allclose(refined_solve(Gram(RBF(2.0), X), 0 * Y, 1.0), 0.0)


def test_left_where_float32_does_not_do():
    gram = Gram(RBF(2.0), X)
    assert not worth_refining(gram, 1e-5)  # its rounding is larger than the ridge
    assert not worth_refining(Gram(RBF(2.0), X[:100]), 1.0)  # too small to pay
    assert not worth_refining(Gram(RBF(2.0), X.astype(np.float32)), 1.0)
    assert_allclose(K @ (a := ridge_solve(gram, Y, 1e-5)) + 1e-5 * a, Y, atol=1e-7)
    assert refined_solve(Gram(Sigmoid(5.0, -2.0), X), Y, 1e-3) is None


def test_matrices_that_are_held():
    linear = X @ X.T
    wanted = np.linalg.solve(linear + 50 * np.eye(2100), Y)
    before = linear.copy()
    assert_allclose(ridge_solve(Dense(linear), Y, 50.0), wanted, atol=1e-12)
    assert_allclose(linear, before)
    assert_allclose(ridge_solve(Gram(Linear(), X), Y, 50.0), wanted, atol=1e-12)
