"""Kernel generalized variance and kernel mutual information, by dense determinants."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag, eigh

from mercer.kernels import RBF, Laplace
from mercer.rkhs import (
    NormPenalty,
    SquaredShift,
    coco,
    kcca,
    kernel_generalized_variance,
    kernel_mutual_information,
    nocco,
)

rng = np.random.default_rng(2)
X = rng.uniform(-1, 1, size=(60, 2))
Y = X[:, :1] ** 2 + 0.3 * rng.uniform(-1, 1, size=(60, 1))
KERNELS = [(RBF(0.8), RBF(0.5)), (Laplace(0.7), Laplace(0.6)), (Laplace(0.7), RBF(0.5))]
H = np.eye(60) - 1 / 60


def centred(kernels):
    return [H @ kernel(z) @ H for kernel, z in zip(kernels, (X, Y), strict=True)]


def leading(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return values[values > 1e-10], vectors[:, values > 1e-10]


@pytest.mark.parametrize("kernels", KERNELS, ids=["smooth", "rough", "mixed"])
@pytest.mark.parametrize("ridge", [1e-3, 0.1])
def test_kgv_is_the_ratio_of_determinants(kernels, ridge):
    """-1/2 log det of the block matrix over those of its blocks, on the eigenvectors that are above rounding."""
    (k, p), (g, q) = (leading(m) for m in centred(kernels))
    c = 60 * ridge
    for form, blocks in (
        (NormPenalty(), [k**2 + c * k, g**2 + c * g]),
        (SquaredShift(), [(k + c) ** 2, (g + c) ** 2]),
    ):
        corner = (k[:, None] * (p.T @ q)) * g
        whole = np.block([[np.diag(blocks[0]), corner], [corner.T, np.diag(blocks[1])]])
        units = np.sqrt(np.concatenate(blocks))
        expected = -0.5 * np.linalg.slogdet(whole / units / units[:, None])[1]
        value = kernel_generalized_variance(*kernels, X, Y, ridge=ridge, regularization=form)
        assert_allclose(value, expected, rtol=1e-6)
    # for small correlations, -log(1 - r^2) is r^2
    weak = kernel_generalized_variance(*kernels, X, Y, ridge=1e3)
    assert_allclose(weak, nocco(*kernels, X, Y, ridge=1e3) / 2, rtol=1e-4)


@pytest.mark.parametrize("kernels", KERNELS, ids=["smooth", "rough", "mixed"])
def test_kmi_is_a_determinant_of_both_matrices(kernels):
    k, g = centred(kernels)
    scale = np.prod(
        [kernel(z).sum(axis=0).min() for kernel, z in zip(kernels, (X, Y), strict=True)]
    )
    expected = -0.5 * np.linalg.slogdet(np.eye(60) - k @ g / scale)[1]
    assert_allclose(kernel_mutual_information(*kernels, X, Y), expected, rtol=1e-8)
    largest = (60 * coco(*kernels, X, Y)) ** 2 / scale
    assert kernel_mutual_information(*kernels, X, Y) >= -0.5 * np.log1p(-largest)


@pytest.mark.parametrize("kernels", KERNELS, ids=["smooth", "rough", "mixed"])
def test_kcca_with_a_squared_shift_is_the_printed_eigenvalue_problem(kernels):
    """[0 KL; LK 0] v = rho [(K + c I)^2 0; 0 (L + c I)^2] v, whose right side is definite."""
    c = 60 * 0.05
    k, g = centred(kernels)
    zero = np.zeros((60, 60))
    shifted = [(m + c * np.eye(60)) @ (m + c * np.eye(60)) for m in (k, g)]
    left = np.block([[zero, k @ g], [g @ k, zero]])
    expected = eigh(left, block_diag(*shifted), eigvals_only=True)[-1]
    value = kcca(*kernels, X, Y, ridge=0.05, regularization=SquaredShift())
    assert_allclose(value, expected, rtol=1e-8)
    assert value < kcca(*kernels, X, Y, ridge=0.05)
    with pytest.raises(TypeError, match="regularization must be NormPenalty"):
        kcca(*kernels, X, Y, ridge=0.05, regularization="squared")


def test_kmi_is_infinite_where_its_bound_is_void():
    two = np.repeat([0.0, 9.0], 10)
    assert kernel_mutual_information(RBF(1.0), RBF(1.0), two, two) == inf
    with pytest.raises(TypeError, match=r"regularization must be NormPenalty\(\) or SquaredShift"):
        kernel_generalized_variance(None, None, X, Y, ridge=0.1, regularization="squared")
