"""Leading eigenvectors and singular vectors, against LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.learn.components.leading import leading_eigenpairs, leading_singular

SPECTRA = {
    "falling": 0.9 ** np.arange(350.0),
    "crowded": 1 - 1e-4 * np.arange(350.0),  # as in kernel CCA with a small ridge
    "equal": np.repeat([0.9, 0.5], [3, 347]),
}


@pytest.mark.parametrize("values", SPECTRA.values(), ids=SPECTRA)
@pytest.mark.parametrize("shape", [(350, 350), (420, 350), (350, 420)], ids=str)
def test_singular_values_and_vectors(values, shape):
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, 350)))[0] for n in shape)
    matrix = (left * values) @ right.T
    u, found, v = leading_singular(matrix, 3)
    assert_allclose(found, values[:3], rtol=1e-9)
    assert_allclose(matrix @ v, u * found, atol=1e-9)
    assert_allclose(matrix.T @ u, v * found, atol=1e-8)
    assert_allclose(u.T @ u, np.eye(3), atol=1e-8)


@pytest.mark.parametrize("values", SPECTRA.values(), ids=SPECTRA)
def test_eigenvalues_and_vectors(values):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(350, 350)))[0]
    matrix = (turn * values) @ turn.T
    found, vectors = leading_eigenpairs((matrix + matrix.T) / 2, 3)
    assert_allclose(found, values[:3], rtol=1e-9)
    assert_allclose(matrix @ vectors, vectors * found, atol=1e-9)
