"""Block Lanczos where it is hard: many pairs, equal eigenvalues, low rank, restarts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh

import mercer
from mercer.gram import Dense, Gram, LowRank, Reweighted, eigen, top_eigenpairs
from mercer.gram.block_lanczos import _leading, block_lanczos
from mercer.kernels import RBF, Delta, Matern

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1200, 4))


def checked(matrix, k, dense):
    """The pairs, compared with LAPACK: values, residuals, orthonormal vectors."""
    n = len(dense)
    values, vectors = top_eigenpairs(matrix, k)
    want = eigh(dense, eigvals_only=True, subset_by_index=(n - k, n - 1))[::-1]
    assert_allclose(values, want, atol=1e-9 * want[0])
    assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-9)
    assert_allclose(dense @ vectors, vectors * values, atol=3e-9 * want[0])


@pytest.mark.parametrize("k", [1, 3, 40, 150])
@pytest.mark.parametrize("kernel", [RBF(2.0), Matern(1.5, 2.0)])
def test_one_pair_and_many(kernel, k):
    checked(Gram(kernel, X), k, kernel.pairwise(X, X))


@pytest.mark.parametrize("n", [300, 700])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_few_pairs_of_medium_matrices(n, k):
    """Where block Lanczos takes over from LAPACK."""
    checked(Gram(RBF(2.0), X[:n]), k, RBF(2.0)(X[:n]))


@pytest.mark.parametrize("spread", [1.0, 1e-15, 0.0])
def test_leading_pairs_in_the_basis_are_those_of_the_complete_decomposition(spread):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(30, 30))
    inner = 2 * np.eye(30) + spread * (noise + noise.T)
    values, vectors = _leading(inner, 4)
    assert_allclose(values, np.linalg.eigvalsh(inner)[::-1][:4], rtol=1e-12)
    assert_allclose(inner @ vectors, vectors * values, atol=1e-12)
    assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)


def test_krylov_spaces_of_low_rank_are_left_to_restarts():
    z = RNG.standard_normal((200, 3))
    start = RNG.standard_normal((200, 4))
    assert block_lanczos(lambda v: z @ (z.T @ v), start, 4, 1e-12, 100) is None


def test_restarts_lose_nothing(monkeypatch):
    monkeypatch.setattr(eigen, "_MAX_KRYLOV_COLUMNS", 0)
    monkeypatch.setattr(eigen, "_MIN_BLOCK_COLUMNS", 1)
    checked(Gram(Matern(1.5, 2.0), X), 20, Matern(1.5, 2.0).pairwise(X, X))


def test_equal_eigenvalues():
    labels = np.repeat(np.arange(30.0), 40)[:, None]  # 30 eigenvalues of 40
    values, vectors = top_eigenpairs(Gram(Delta(), labels), 12)
    assert_allclose(values, 40, rtol=1e-9)
    assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-9)


@pytest.mark.parametrize("n", [50, 300, 1100])
def test_eigenvalues_that_are_all_equal(n):
    """LAPACK gives no pair at all when a part of such a spectrum is asked for."""
    centring = np.eye(n) - 1 / n
    values, vectors = top_eigenpairs(Dense(centring), 3)
    assert_allclose(values, 1, rtol=1e-12)
    assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-9)
    assert_allclose(centring @ vectors, vectors, atol=1e-9)


def test_more_pairs_than_rank():
    z = RNG.standard_normal((1200, 3))
    values, vectors = top_eigenpairs(LowRank(z), 8)
    assert_allclose(values[:3], np.linalg.svd(z, compute_uv=False) ** 2, rtol=1e-9)
    assert_allclose(values[3:], 0, atol=1e-9 * values[0])
    assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-9)


def test_a_matrix_of_zeros_has_eigenvalues_of_zero():
    values, _ = top_eigenpairs(Dense(np.zeros((1100, 1100))), 2)
    assert_allclose(values, 0)


def test_centred_and_weighted_products_are_those_of_the_matrix():
    gram = Gram(RBF(1.0), X)
    v = RNG.standard_normal((1200, 3))
    w = RNG.uniform(0.5, 2.0, size=1200)
    for matrix in (gram.centered(), Reweighted(gram, w), Reweighted(gram, w).centered()):
        assert_allclose(matrix @ v, matrix.dense() @ v, rtol=1e-9, atol=1e-9)
        assert (matrix @ v[:, 0]).shape == (1200,)
    single = Gram(RBF(1.0), X.astype(np.float32)).centered()
    assert (single @ v).dtype == np.float32
    assert_allclose(single @ v, gram.centered() @ v, atol=1e-3)


def test_most_pairs_need_the_whole_matrix():
    gram = Gram(RBF(0.5), RNG.standard_normal((1600, 3)))
    with mercer.config(memory="16MiB"), pytest.raises(mercer.MemoryBudgetError):
        top_eigenpairs(gram, 800)


def test_it_says_when_it_did_not_converge(monkeypatch):
    monkeypatch.setattr(eigen, "_MAX_KRYLOV_COLUMNS", 0)
    monkeypatch.setattr(eigen, "_MAX_PASSES", 3)
    with pytest.warns(mercer.NotConverged, match="stopped after 3 passes"):
        top_eigenpairs(Gram(Matern(0.5, 0.1), X), 5)
