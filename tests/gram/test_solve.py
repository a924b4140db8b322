"""Linear systems and eigenvalues against dense LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh

import mercer
from mercer.gram import Dense, Gram, LowRank, positive_definite, ridge_solve, solve, top_eigenpairs
from mercer.kernels import RBF, Matern, Sigmoid
from tests.support.arrays import LIBRARIES, to_numpy

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 3))
Y = RNG.standard_normal((1500, 2))
K = RBF()(X)


@pytest.mark.parametrize("library", LIBRARIES)
def test_ridge_solve_equals_the_dense_solution(library):
    put = LIBRARIES[library]
    x, y = X[:150], Y[:150]
    expected = np.linalg.solve(RBF()(x) + 0.3 * np.eye(150), y)
    gram = Gram(RBF(), put(x))
    assert_allclose(to_numpy(ridge_solve(gram, put(y), 0.3)), expected, rtol=1e-9, atol=1e-10)
    assert_allclose(to_numpy(ridge_solve(gram, put(y[:, 0]), 0.3)), expected[:, 0], atol=1e-9)


def test_conjugate_gradients_equal_the_dense_solution():
    expected = np.linalg.solve(K + 0.5 * np.eye(1500), Y)
    with mercer.config(memory="16MiB"):  # the matrix takes 18 MB
        assert_allclose(ridge_solve(Gram(RBF(), X), Y, 0.5), expected, rtol=1e-6, atol=1e-7)
        single = Gram(RBF(), X.astype(np.float32))
        assert_allclose(ridge_solve(single, Y, 0.5), expected, atol=2e-3)


def test_arguments_are_not_written_into():
    held, y = K[:200, :200].copy(), Y[:200].copy()
    ridge_solve(Dense(held), y, 1.0)
    np.testing.assert_array_equal(held, K[:200, :200])
    np.testing.assert_array_equal(y, Y[:200])


def test_ridge_solve_says_when_it_did_not_converge(monkeypatch):
    monkeypatch.setattr(solve, "_MAX_ITERATIONS", 2)
    monkeypatch.setattr(solve, "_PRECONDITIONER_RANK", 2)
    with mercer.config(memory="16MiB"), pytest.warns(mercer.NotConverged, match="larger ridge"):
        ridge_solve(Gram(RBF(0.1), X), Y, 1e-6)


def test_ridge_solve_refuses_indefinite_matrices():
    with pytest.raises(ValueError, match="not positive definite"):
        ridge_solve(Gram(Sigmoid(1.0, -1.0), X[:100]), Y[:100], 1e-6)
    with pytest.raises(ValueError, match="ridge must be a non-negative number"):
        ridge_solve(Gram(RBF(), X[:100]), Y[:100], -1.0)
    with pytest.raises(TypeError, match="LazyMatrix"):
        ridge_solve(K, Y, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("memory", ["16MiB", "2GiB"])
@pytest.mark.parametrize("kernel", [RBF(), Matern(2.5)])
def test_top_eigenpairs_equal_lapack(memory, kernel):
    gram = Gram(kernel, X)
    for matrix, dense in [
        (gram, kernel.pairwise(X, X)),
        (gram.centered(), gram.centered().dense()),
    ]:
        values, vectors = eigh(dense, subset_by_index=(1494, 1499))
        with mercer.config(memory=memory):
            ours, basis = top_eigenpairs(matrix, 6)
        assert_allclose(ours, values[::-1], rtol=1e-9)
        assert_allclose(basis.T @ basis, np.eye(6), atol=1e-9)
        assert_allclose(np.abs(np.sum(basis * vectors[:, ::-1], axis=0)), 1, atol=1e-7)
        assert (basis[np.abs(basis).argmax(axis=0), range(6)] > 0).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_small_matrices_and_all_pairs(library):
    x = X[:40]
    values, vectors = top_eigenpairs(Gram(RBF(), LIBRARIES[library](x)), 40)
    values, vectors = to_numpy(values), to_numpy(vectors)
    assert_allclose(vectors * values @ vectors.T, RBF()(x), atol=1e-10)
    assert (np.diff(values) <= 0).all()


def test_low_rank_and_float32():
    z = RNG.standard_normal((1500, 5))
    expected = np.linalg.svd(z, compute_uv=False) ** 2
    assert_allclose(top_eigenpairs(LowRank(z), 5)[0], expected, rtol=1e-9)
    single = top_eigenpairs(Gram(RBF(), X.astype(np.float32)), 4)[0]
    assert single.dtype == np.float32
    assert_allclose(single, eigh(K, eigvals_only=True)[::-1][:4], rtol=1e-5)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_singular_matrix_is_refused(library):
    equal = LIBRARIES[library](np.zeros((3, 2)))
    with pytest.raises(ValueError, match="the matrix plus ridge 0 is .*: use a larger ridge"):
        ridge_solve(Gram(RBF(), equal), np.ones(3), 0.0)


def test_top_eigenpairs_refuses():
    with pytest.raises(ValueError, match="at most the number of points"):
        top_eigenpairs(Gram(RBF(), X[:5]), 6)
    with pytest.raises(ValueError, match="square"):
        top_eigenpairs(Gram(RBF(), X[:5], X[:6]), 1)
    with pytest.raises(ValueError, match="symmetric"):
        top_eigenpairs(Gram(RBF(), X[:5], X[5:10]), 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [None, 1, 3, 9])
def test_substitution_in_blocks_agrees_with_lapack(monkeypatch, dtype, columns):
    monkeypatch.setattr(positive_definite, "_MIN_ROWS_FOR_SUBSTITUTION", 100)
    rng = np.random.default_rng(0)
    a = rng.normal(size=(1_100, 1_100))
    matrix = (a @ a.T / 1_100 + np.eye(1_100)).astype(dtype)
    right = rng.normal(size=1_100 if columns is None else (1_100, columns)).astype(dtype)
    substitute = positive_definite.factored(matrix.copy())
    assert substitute is not None
    found, tolerance = substitute(right), 200 * np.finfo(dtype).eps
    assert found.shape == right.shape
    assert found.dtype == dtype
    assert_allclose(found, np.linalg.solve(matrix, right), rtol=tolerance, atol=tolerance)
