"""Compiled loops over Gaussian tiles: the same numbers as tiles in NumPy, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.gram import Gram, PermutedWeights, fast_exp
from mercer.gram.combine import Rounded
from mercer.gram.gaussian_tiles import GaussianTiles
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import labelled
from mercer.gram.tiles import tile_maker
from mercer.kernels import RBF

pytest.importorskip("numba")

N = 1100  # several stripes, and columns that no tile width divides
KERNEL = RBF(1.5)
PRECISION = {np.float64: 1e-12, np.float32: 2e-5}


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr(fast_exp, "_MIN_VALUES_FOR_NUMBA", 0)


@pytest.fixture
def by_numpy(monkeypatch):
    """Calls a function with and without compiled loops."""

    def both(compute):
        compiled = compute()
        with monkeypatch.context() as patch:
            patch.setattr(GaussianTiles, "loops", None)
            return compiled, compute()

    return both


def points(d, dtype, n=N, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def exact(x, y):
    differences = x[:, None, :].astype(np.float64) - y[None, :, :]
    return np.exp(-KERNEL.rate * np.sum(differences**2, axis=2))


def close(a, b, dtype):
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    assert_allclose(a, b, atol=PRECISION[dtype] * np.abs(b).max(initial=0.0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 5])
def test_products_and_forms(d, dtype):
    x, y = points(d, dtype), points(d, dtype, N - 70, seed=1)
    gram, cross = Gram(KERNEL, x), Gram(KERNEL, x, y)
    assert gram._loops is not None
    for columns in (1, 3, 40):
        v = np.random.default_rng(2).normal(size=(N, columns)).astype(dtype)
        wanted = (exact(x, x) @ v).astype(dtype)
        close(gram @ v, wanted, dtype)
        close(gram @ np.asfortranarray(v), wanted, dtype)
        close(cross @ v[: N - 70], (exact(x, y) @ v[: N - 70]).astype(dtype), dtype)
        assert_allclose(gram.quad(v), np.sum(v * wanted, axis=0), rtol=1e3 * PRECISION[dtype])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("values", [(1.0, -1.0), (0.2, 0.5, -0.3)])
def test_forms_of_permuted_weights(dtype, values):
    x = points(3, dtype)
    weights = PermutedWeights(np.resize(values, N), 70, rng=0)
    dense = weights.dense()
    wanted = np.sum(dense * (exact(x, x) @ dense), axis=0)
    assert_allclose(Gram(KERNEL, x).quad(weights), wanted, rtol=1e2 * PRECISION[dtype])


def test_forms_of_more_weights_than_a_byte_counts():
    x = points(3, np.float64)
    weights = PermutedWeights(np.linspace(-1, 1, N), 3, rng=0)
    dense = weights.dense()
    wanted = np.sum(dense * (exact(x, x) @ dense), axis=0)
    assert_allclose(Gram(KERNEL, x).quad(weights), wanted, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_matrices(dtype):
    x, y = points(4, dtype), points(4, dtype, N - 70, seed=1)
    close(Gram(KERNEL, x).dense(), exact(x, x).astype(dtype), dtype)
    close(Gram(KERNEL, x, y).dense(), exact(x, y).astype(dtype), dtype)
    close(Rounded(Gram(KERNEL, x)).dense(), exact(x, x).astype(np.float32), np.float32)
    assert_array_equal(np.diagonal(Gram(KERNEL, x).dense()), 1)


def test_rows_of_the_transposed_matrix():
    x, y = points(4, np.float64), points(4, np.float64, 300, seed=1)
    loops = tile_maker(KERNEL, x, y).loops
    index = np.array([7, 3, 1000, 512])
    v, total = np.random.default_rng(3).normal(size=(4, 1)), np.zeros((300, 1))
    rows = loops.transposed.at_columns(index)
    rows.add_products(slice(0, 300), slice(0, 4), v, total, symmetric=False)
    assert_allclose(total, exact(x[index], y).T @ v, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [2, 3])
def test_sums_over_pairs(dtype, precise, weighted, groups, by_numpy):
    x, rng = points(3, dtype), np.random.default_rng(4)
    weights = rng.random(N) if weighted else None
    labels = rng.normal(size=(N, 2))
    tables = [np.array([-1.0, 1.0])] if groups == 2 else list(np.eye(3))
    coded = PermutedWeights(np.arange(N) % groups, 600, rng=0).columns(slice(0, 600), np.zeros(0))

    def compute():
        options = {"tables": tables, "weights": weights, "precise": precise}
        return labelled(Family([KERNEL], x), labels, coded, **options)

    compiled, wanted = by_numpy(compute)
    for name in ("rows", "squares", "forms"):
        close(getattr(compiled.sums, name), getattr(wanted.sums, name), dtype)
    single = not precise or dtype == np.float32
    close(compiled.forms, wanted.forms, np.float32 if single else np.float64)


def test_numbers_do_not_depend_on_the_number_of_threads():
    x, v = points(3, np.float64, 2500), points(20, np.float64, 2500, seed=1)
    weights = PermutedWeights(np.resize([1.0, -1.0], 2500), 100, rng=0)

    def compute(threads):
        with mercer.config(threads=threads):
            gram = Gram(KERNEL, x)
            coded = weights.columns(slice(0, 100), np.zeros(0, dtype=np.float32))
            sums = labelled(Family([KERNEL], x), v, coded, tables=[np.array([-1.0, 1.0])])
            return (
                gram @ v[:, 0],
                gram @ v,
                gram.quad(v),
                gram.quad(weights),
                sums.sums.rows,
                sums.forms,
            )

    for alone, together in zip(compute(1), compute(5), strict=True):
        assert_array_equal(alone, together)


def test_read_only_points_and_vectors():
    x, v = points(1, np.float64), np.ones(N)
    x.flags.writeable = v.flags.writeable = False
    assert_allclose(Gram(KERNEL, x) @ v, exact(x, x) @ v, rtol=1e-12)
