"""Several kernels in one pass: shared tiles and labelled sums equal dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.backend import to_numpy
from mercer.gram import PermutedWeights
from mercer.gram.cuda.weight_columns import DeviceColumns
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import labelled
from mercer.kernels import RBF, Delta, Energy, Laplace, Linear, Matern, Polynomial
from tests.support.arrays import LIBRARIES, torch

RNG = np.random.default_rng(0)
KERNELS = [
    RBF(0.5),
    Laplace(1.0),
    RBF(3.0),
    Matern(1.5),
    2.0 * RBF(1.0) + Linear(),
    RBF(1.0).select((0, 1)) * Delta().select(2),
    Laplace(2.0).select((0, 1)) * Delta().select(2),
    RBF(1.0).scaled((1.0, 2.0, 0.5)),
    Polynomial(2),
]
POINTS = np.concatenate([RNG.standard_normal((300, 2)), RNG.integers(0, 3, (300, 1))], axis=1)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("width", [1, 3])
def test_tiles_of_a_family_are_those_of_its_kernels(library, width):
    kernels = KERNELS if width == 3 else [RBF(0.5), Laplace(1.0), RBF(3.0)]
    x = LIBRARIES[library](POINTS[:, :width])
    family = Family(kernels, x)
    rows, columns = slice(10, 60), slice(40, 110)
    for kernel, tile in zip(kernels, family.tiles(rows, columns), strict=True):
        right = kernel.pairwise(x[rows, :], x[columns, :])
        assert_allclose(to_numpy(tile), to_numpy(right), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", ["numpy", "torch", "strict"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_equal_those_of_dense_matrices(library, weighted):
    x, n = LIBRARIES[library](POINTS), 300
    labels = np.repeat([1.0, -1.0], [180, 120])
    columns = PermutedWeights(labels, 70, rng=0, keep_first=True)
    coded = columns.columns(slice(0, 70), np.empty(0, np.float32))
    weights = RNG.random(n) + 0.5 if weighted else None
    found = labelled(
        Family(KERNELS, x),
        labels[:, None],
        coded,
        tables=[np.array([-1.0, 1.0]), np.array([0.0, 1.0])],
        weights=weights,
    )
    t = columns.dense()
    for i, kernel in enumerate(KERNELS):
        k = kernel(POINTS) - found.sums.shift[i]
        k = k if weights is None else k * np.outer(weights, weights)
        np.fill_diagonal(k, 0.0)
        size = np.abs(k).sum()
        assert_allclose(found.sums.rows[i], k.sum(axis=1), atol=1e-11 * size)
        assert_allclose(found.sums.squares[i], np.sum(k**2), rtol=1e-10)
        assert_allclose(found.sums.forms[i, 0], labels @ k @ labels, atol=1e-11 * size)
        for a, w in enumerate((t, (t + 1) / 2)):
            forms = np.einsum("ib,ij,jb->b", w, k, w, optimize=True)
            assert_allclose(found.forms[i, a], forms, atol=2e-7 * size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_labels_made_on_a_device_where_a_kernel_has_no_fused_tiles(dtype):
    """Tensors of the host stand for those of a device: what matters is how the labels are held."""
    x = torch.tensor(POINTS, dtype=getattr(torch, dtype))
    family, labels = Family([Energy(), Delta().select(2)], x), np.repeat([1.0, -1.0], [180, 120])
    drawn = PermutedWeights(labels, 70, rng=0, keep_first=True)
    signs = torch.zeros((384, 128), dtype=torch.float16)
    signs[:300, :70] = torch.tensor(drawn.dense())
    made = DeviceColumns(signs, slice(0, 70), drawn.table, x[:1, 0], 300, seed=0)
    tables = [np.array([-1.0, 1.0]), np.array([0.0, 1.0])]
    found = labelled(family, labels[:, None], made, tables=tables)
    coded = drawn.columns(slice(0, 70), np.empty(0, np.float32))
    wanted = labelled(family, labels[:, None], coded, tables=tables)
    assert_allclose(found.forms, wanted.forms, rtol=1e-5, atol=1e-5 * np.abs(wanted.forms).max())
    assert_allclose(found.sums.rows, wanted.sums.rows)
