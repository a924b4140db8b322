"""Tiled equals dense, for every operation, library, dtype, tile size and number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.gram import (
    Dense,
    Gram,
    LowRank,
    PermutedWeights,
    Reweighted,
    Rounded,
    SignWeights,
    lazy,
    threads,
)
from mercer.kernels import RBF, Cauchy, Delta, Exponential, Laplace, Linear, Matern, Polynomial
from tests.support.arrays import LIBRARIES, to_numpy
from tests.support.zoo import IDS, ZOO, Entry

KERNELS = [
    RBF(1.3),
    Exponential(1.5),
    Matern(1.5) + 2 * RBF(0.5),
    RBF().select([0, 2]) * Exponential().select([1]),
    RBF(0.3).on(RBF()),
    Cauchy().scaled([1.0, 2.0, 0.5]),
    Polynomial(2) + Laplace(),
]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles so small that a few hundred points need many, ragged ones among them."""
    monkeypatch.setattr(threads.spans, "__defaults__", (48, 0))
    monkeypatch.setattr(threads, "TILE", 48)
    monkeypatch.setattr(threads, "MIN_COLUMNS_FOR_WIDE_TILES", 10)
    monkeypatch.setattr(threads, "WIDE_BYTES", 8 * 48 * 70)
    monkeypatch.setattr(lazy, "_MAX_ENTRIES_OF_ONE_BLOCK", 1)


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((230, 3))


def forms(k, w):
    return np.einsum("ik,ij,jk->k", w, k, w)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_operation_equals_its_dense_version(kernel, library, x):
    rng = np.random.default_rng(1)
    put = LIBRARIES[library]
    k, gram = kernel.pairwise(x, x), Gram(kernel, put(x))
    few, many = rng.standard_normal((230, 3)), rng.standard_normal((230, 40))
    near = {"rtol": 1e-9, "atol": 1e-9}
    assert_allclose(to_numpy(gram.dense()), k, **near)
    assert_allclose(to_numpy(gram @ put(few)), k @ few, **near)
    assert_allclose(to_numpy(gram @ put(few[:, 0])), k @ few[:, 0], **near)
    assert_allclose(to_numpy(gram @ put(many)), k @ many, **near)
    assert_allclose(to_numpy(gram.quad(put(many))), forms(k, many), **near)
    hollow = k - np.diag(np.diag(k))
    assert_allclose(to_numpy(gram.quad(put(many), diagonal=False)), forms(hollow, many), **near)
    assert_allclose(float(gram.quad(put(few[:, 0]))), forms(k, few[:, :1])[0], **near)
    assert_allclose(to_numpy(gram.row_sums()), k.sum(1), **near)
    assert_allclose(gram.sum(), k.sum(), **near)
    assert_allclose(gram.trace(), np.trace(k), **near)
    assert_allclose(to_numpy(gram.diagonal()), np.diag(k), **near)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_centred_and_entrywise_products_equal_their_dense_versions(kernel, x):
    rng = np.random.default_rng(2)
    k, gram, v = kernel.pairwise(x, x), Gram(kernel, x), rng.standard_normal((230, 20))
    other = Gram(RBF(2.0), x[:, :1])
    h = np.eye(230) - 1 / 230
    centred = h @ k @ h
    for lazy_matrix, dense in [
        (gram.centered(), centred),
        (gram * other, k * RBF(2.0)(x[:, :1])),
        (gram.centered() * other.centered(), centred * (h @ RBF(2.0)(x[:, :1]) @ h)),
    ]:
        assert_allclose(lazy_matrix.dense(), dense, rtol=1e-9, atol=1e-10)
        assert_allclose(lazy_matrix @ v, dense @ v, rtol=1e-9, atol=1e-9)
        assert_allclose(lazy_matrix.quad(v), forms(dense, v), rtol=1e-9, atol=1e-8)
        assert_allclose(lazy_matrix.diagonal(), np.diag(dense), rtol=1e-9, atol=1e-10)
    assert_allclose(gram.inner(other), np.sum(k * RBF(2.0)(x[:, :1])), rtol=1e-10)


@pytest.mark.parametrize("library", LIBRARIES)
def test_reweighted_and_rounded_matrices_equal_their_dense_versions(library, x):
    rng = np.random.default_rng(9)
    w, v = rng.uniform(0.5, 2.0, 230), rng.standard_normal((230, 4))
    gram, k = Gram(Matern(1.5), LIBRARIES[library](x)), Matern(1.5).pairwise(x, x)
    weighted = Reweighted(gram, LIBRARIES[library](w))
    dense = w[:, None] * k * w
    assert_allclose(to_numpy(weighted.dense()), dense, rtol=1e-12)
    assert_allclose(to_numpy(weighted.quad(v, diagonal=False)), forms(dense - np.diag(w**2), v))
    coarse = Rounded(gram)
    assert to_numpy(coarse.dense()).dtype == np.float32
    assert_allclose(to_numpy(coarse.dense()), k, rtol=1e-6)
    assert_allclose(to_numpy(coarse.quad(v)), forms(k, v), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("entry", ZOO, ids=IDS)
def test_tiles_equal_the_kernels_own_matrix(entry: Entry):
    rng = np.random.default_rng(3)
    x, y = entry.sample(rng, 101), entry.sample(rng, 67)
    scale = np.abs(entry.kernel.pairwise(x, x)).max()
    tolerance = max(entry.tolerance, 1e-10) * scale
    assert_allclose(
        Gram(entry.kernel, x).dense(), entry.kernel.pairwise(x, x), rtol=0, atol=tolerance
    )
    assert_allclose(
        Gram(entry.kernel, x, y).dense(), entry.kernel.pairwise(x, y), rtol=0, atol=tolerance
    )
    assert_array_equal(np.diag(Gram(entry.kernel, x).dense()), entry.kernel.diag(x))


def test_rectangular_matrices(x):
    y = np.random.default_rng(4).standard_normal((77, 3))
    gram, k = Gram(RBF(), x, y), RBF().pairwise(x, y)
    assert gram.shape == (230, 77)
    assert not gram.symmetric
    assert_allclose(gram @ np.eye(77), k, rtol=1e-12, atol=1e-14)
    assert_allclose(gram.sum(), k.sum(), rtol=1e-12)
    with pytest.raises(ValueError, match="square"):
        gram.quad(np.ones(230))
    square = Gram(RBF(), x[:77], y)
    assert_allclose(square.diagonal(), np.diag(RBF()(x[:77], y)), rtol=1e-12)
    h = np.eye(77) - 1 / 77
    assert_allclose(square.centered().dense(), h @ RBF()(x[:77], y) @ h, atol=1e-13)
    w = np.random.default_rng(5).standard_normal((77, 4))
    assert_allclose(square.quad(w), forms(RBF()(x[:77], y), w), rtol=1e-10)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_a_bit(threads, x):
    v = np.random.default_rng(6).standard_normal((230, 5))
    gram = Gram(RBF(), x)
    with mercer.config(threads=2):
        expected = gram @ v, gram.quad(v), gram.row_sums()
    with mercer.config(threads=threads):
        for ours, theirs in zip((gram @ v, gram.quad(v), gram.row_sums()), expected, strict=True):
            assert_array_equal(ours, theirs)


@pytest.mark.parametrize("size", [1, 7, 48, 229, 230, 1000])
def test_the_tile_size_changes_rounding_only(size, x, monkeypatch):
    v = np.random.default_rng(7).standard_normal((230, 5))
    gram, k = Gram(RBF(), x), RBF().pairwise(x, x)
    monkeypatch.setattr(threads.spans, "__defaults__", (size, 0))
    monkeypatch.setattr(threads, "TILE", size)
    assert_allclose(gram @ v, k @ v, rtol=1e-12, atol=1e-12)
    assert_allclose(gram.quad(v), forms(k, v), rtol=1e-12)


def test_an_executor_of_the_user_runs_the_tiles(x):
    gram, v = Gram(RBF(), x), np.ones(230)
    expected = gram @ v
    with ThreadPoolExecutor(3) as pool, mercer.config(executor=pool):
        assert_array_equal(gram @ v, expected)


def test_progress_is_shown_on_stderr_only(x, capsys):
    with mercer.config(progress=True):
        Gram(RBF(), x).sum()
    assert capsys.readouterr().out == ""


def test_float32_stays_float32_and_sums_in_float64(x):
    single = Gram(RBF(), x.astype(np.float32))
    assert (single @ np.ones(230, dtype=np.float32)).dtype == np.float32
    assert single.row_sums().dtype == np.float64
    assert single.quad(np.ones((230, 2), dtype=np.float32)).dtype == np.float64
    assert_allclose(single.sum(), RBF().pairwise(x, x).sum(), rtol=1e-6)


def test_low_rank_and_dense_agree():
    rng = np.random.default_rng(8)
    z, v = rng.standard_normal((230, 4)), rng.standard_normal((230, 30))
    low, held, gram = LowRank(z), Dense(z @ z.T), Gram(Linear(), z)
    assert held.symmetric
    weights = PermutedWeights(rng.standard_normal(230), 70, rng=0)
    for matrix in (held, gram):
        assert_allclose(low @ v, matrix @ v, rtol=1e-9, atol=1e-9)
        assert_allclose(low.quad(v), matrix.quad(v), rtol=1e-9)
        assert_allclose(low.quad(v, diagonal=False), matrix.quad(v, diagonal=False), rtol=1e-8)
        assert_allclose(low.quad(weights), matrix.quad(weights), rtol=1e-9)
        assert_allclose(low.diagonal(), matrix.diagonal(), rtol=1e-12)
        assert_allclose(low.centered().dense(), matrix.centered().dense(), atol=1e-10)
        assert_allclose(low.sum(), matrix.sum(), rtol=1e-8)
    assert_allclose(Dense(z.T) @ v, z.T @ v, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("diagonal", [True, False])
def test_resampled_weights_give_what_their_dense_columns_give(x, library, diagonal):
    gram, k = Gram(RBF(), LIBRARIES[library](x)), RBF().pairwise(x, x)
    if not diagonal:
        np.fill_diagonal(k, 0)
    labels = np.r_[np.full(100, 1 / 100), np.full(130, -1 / 130)]
    for weights in (
        PermutedWeights(labels, 150, rng=1),
        PermutedWeights(np.arange(230.0), 3, rng=1),
        SignWeights(230, 70, scale=1 / 230, block=7, rng=1),
    ):
        got = to_numpy(gram.quad(weights, diagonal=diagonal))
        assert_allclose(got, forms(k, weights.dense()), rtol=1e-9, atol=1e-12)


def test_strings_and_other_points_work_through_the_same_engine():
    words = np.array(["red", "blue", "red", "green"] * 60)
    k = (words[:, None] == words[None, :]).astype(float)
    assert_allclose(Gram(Delta(), words).quad(np.ones(240)), k.sum())


def test_what_does_not_fit_is_refused_with_the_way_out(x):
    gram = Gram(RBF(), np.zeros((5000, 1)))
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(mercer.MemoryBudgetError, match="use @, quad"),
    ):
        gram.dense()
    with pytest.raises(ValueError, match=r"w must have shape \(5000,\)"):
        gram.quad(np.ones(3))
    with pytest.raises(ValueError, match="5000 rows"):
        gram.quad(SignWeights(3, 5))
    with pytest.raises(ValueError, match="equal shapes"):
        Gram(RBF(), x) * gram
    with pytest.raises(TypeError):
        gram * 2.0
    assert repr(gram) == "<Gram 5000 x 5000 float64>"
