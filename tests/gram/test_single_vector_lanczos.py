"""Lanczos from a single vector: as LAPACK, and nothing where an eigenvalue could be missed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag

from mercer.gram import Dense, Gram, top_eigenpairs
from mercer.gram.single_vector_lanczos import SpectralMoments, single_vector_lanczos
from mercer.kernels import RBF, Linear, Matern

RNG = np.random.default_rng(0)


def centred(array):
    return array - array.mean(axis=0) - array.mean(axis=1)[:, None] + array.mean()


def checked(pairs, array, k):
    """Compare the pairs with LAPACK: values, residuals, orthonormal vectors."""
    values, vectors = pairs
    want = np.linalg.eigvalsh(array)[::-1][:k]
    assert_allclose(values, want, atol=1e-12 * want[0])
    assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-12)
    assert_allclose(array @ vectors, vectors * values, atol=1e-11 * want[0])


@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize("kernel", [RBF, lambda width: Matern(0.5, width)])
@pytest.mark.parametrize("k", [1, 5])
def test_pairs_of_smooth_and_rough_kernels(d, kernel, k):
    array = kernel(d**0.5)(RNG.standard_normal((300, d)))
    pairs = single_vector_lanczos(array, None, k, 75)
    assert pairs is not None
    checked(pairs, array, k)
    pairs = single_vector_lanczos(array, array.mean(axis=0), k, 75)
    assert pairs is not None
    checked(pairs, centred(array), k)


def test_a_mean_far_above_the_variance_does_no_harm():
    """Rounding along the vector of ones would grow by the ratio of both in every step."""
    array = Matern(0.5, 20.0)(RNG.standard_normal((300, 5))) + 1000.0
    pairs = single_vector_lanczos(array, array.mean(axis=0), 4, 75)
    assert pairs is not None
    values, vectors = pairs
    assert_allclose(vectors.sum(axis=0), 0, atol=1e-12)
    assert_allclose(values, np.linalg.eigvalsh(centred(array))[::-1][:4], rtol=1e-9)


def test_points_on_a_circle_have_pairs_of_equal_eigenvalues():
    """The matrix is circulant: its eigenvalues are the Fourier transform of its first row."""
    angle = 2 * np.pi * np.arange(400) / 400
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    array = RBF(0.5)(circle)
    want = np.sort(np.fft.fft(array[0]).real)[::-1]
    assert_allclose(want[1], want[2], rtol=1e-12)
    assert (
        single_vector_lanczos(array, None, 5, 12) is None
    )  # the space has one vector of each pair
    values, vectors = top_eigenpairs(Gram(RBF(0.5), circle), 7)
    assert_allclose(values, want[:7], rtol=1e-10)
    assert_allclose(vectors.T @ vectors, np.eye(7), atol=1e-10)
    values, _ = top_eigenpairs(Gram(RBF(0.5), circle).centered(), 6)
    assert_allclose(values, want[1:7], rtol=1e-10)


@pytest.mark.parametrize("copies", [2, 3])
def test_eigenvalues_of_equal_blocks_are_not_missed(copies):
    """Rounding may lead into the directions that the first vector lacks: the pairs are right, or None is returned."""
    block = RBF(1.0)(RNG.standard_normal((120, 2)))
    array = block_diag(*[block] * copies)
    assert single_vector_lanczos(array, None, 4, 20) is None
    for max_steps in (40, 80, 160):
        pairs = single_vector_lanczos(array, None, 4, max_steps)
        if pairs is not None:
            checked(pairs, array, 4)
    want = np.repeat(np.linalg.eigvalsh(block)[::-1][:4], copies)
    assert_allclose(top_eigenpairs(Dense(array), 4)[0], want[:4], rtol=1e-10)


def test_what_a_krylov_space_leaves_is_bounded():
    """A tridiagonal matrix of leading rows: the bound is no less than the largest eigenvalue beside it."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rest = rng.uniform(0.1, 3.0) * rng.standard_normal((40, 40))
        rest = rest @ rest.T
        diagonal, beside = rng.uniform(5, 9, 10), np.append(rng.uniform(0, 1, 9), 0.0)
        head = np.diag(diagonal) + np.diag(beside[:9], 1) + np.diag(beside[:9], -1)
        moments = SpectralMoments.of(block_diag(head, rest), None)
        bound = moments.largest_outside(diagonal, beside)
        assert bound >= np.linalg.eigvalsh(rest)[-1]
        assert bound <= np.trace(rest)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_the_unit_of_the_matrix_does_not_matter(scale):
    array = RBF(1.0)(RNG.standard_normal((200, 2)))
    pairs = single_vector_lanczos(scale * array, None, 3, 50)
    assert pairs is not None
    assert_allclose(pairs[0] / scale, np.linalg.eigvalsh(array)[::-1][:3], rtol=1e-12)


def test_low_rank_and_equal_rows_are_left_to_others():
    x = RNG.standard_normal((200, 3))
    assert single_vector_lanczos(Linear()(x), None, 5, 50) is None
    assert single_vector_lanczos(np.zeros((200, 200)), None, 1, 50) is None
    assert single_vector_lanczos(np.eye(200), np.full(200, 1 / 200), 2, 50) is None
    values, _ = top_eigenpairs(Gram(Linear(), x), 3)
    assert_allclose(values, np.linalg.svd(x, compute_uv=False) ** 2, rtol=1e-10)
