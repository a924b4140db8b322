"""Sums over bags of rows and columns: tiled = dense, half a pass = a whole one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import MemoryBudgetError
from mercer.gram import Gram, fast_exp
from mercer.gram.bag_sums import Segments, bag_sums, paired_bag_sums
from mercer.kernels import RBF
from tests.support.arrays import LIBRARIES, to_numpy

SIZES = {
    "one point each": [1] * 700,
    "larger than a tile": [3, 1, 700, 5, 900, 2],
    "alike": [100] * 15,
    "small": [1, 2, 3, 4, 5] * 50,
}


def blocks(segments: Segments) -> np.ndarray:
    table = np.zeros((len(segments), segments.rows))
    for a, (first, last) in enumerate(
        zip(segments.offsets[:-1], segments.offsets[1:], strict=True)
    ):
        table[a, first:last] = segments.shares[first:last]
    return table


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_equals_the_dense_product(sizes, weighted):
    rng = np.random.default_rng(0)
    n = sum(sizes)
    x, y = rng.normal(size=(2, n, 3))
    weights = rng.random(n) if weighted else None
    segments = Segments(np.concatenate([[0], np.cumsum(sizes)]), weights)
    table, kernel = blocks(segments), RBF(1.0)
    assert_allclose(
        bag_sums(Gram(kernel, x), segments), table @ kernel.pairwise(x, x) @ table.T, rtol=1e-12
    )
    both = bag_sums(Gram(kernel, x, y), segments, segments)
    assert_allclose(both, table @ kernel.pairwise(x, y) @ table.T, rtol=1e-12)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_bags_beside_each_other_are_the_diagonal(sizes):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, sum(sizes), 3))
    segments = Segments(np.concatenate([[0], np.cumsum(sizes)]), rng.random(sum(sizes)))
    for matrix in (Gram(RBF(1.0), x), Gram(RBF(1.0), x, y)):
        whole = np.diagonal(bag_sums(matrix, segments, segments))
        assert_allclose(paired_bag_sums(matrix, segments, segments), whole, rtol=1e-12)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_compiled_sums_equal_plain_ones(sizes, d, dtype, rtol, monkeypatch):
    pytest.importorskip("numba")
    x = np.random.default_rng(4).normal(size=(sum(sizes), d)).astype(dtype)
    segments = Segments(np.concatenate([[0], np.cumsum(sizes)]))
    plain = bag_sums(Gram(RBF(1.0), x), segments)
    monkeypatch.setattr(fast_exp, "_MIN_VALUES_FOR_NUMBA", 0)
    assert_allclose(bag_sums(Gram(RBF(1.0), x), segments), plain, rtol=rtol)


@pytest.mark.parametrize("least", [0, 10**9], ids=["compiled", "plain"])
def test_differences_on_the_line_are_exact_far_from_the_origin(least, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(fast_exp, "_MIN_VALUES_FOR_NUMBA", least)
    x, y = np.random.default_rng(5).integers(0, 2**20, size=(2, 60, 1)) / 2.0**20  # no rounding
    segments = Segments(np.arange(0, 61, 20))
    near = bag_sums(Gram(RBF(0.01), x, y), segments, segments)
    far = bag_sums(Gram(RBF(0.01), x + 2.0**30, y + 2.0**30), segments, segments)
    assert_allclose(far, near, rtol=1e-12)
    assert_allclose(
        Gram(RBF(0.01), x, y).dense(), RBF(0.01).pairwise(x, y), rtol=1e-12, atol=1e-300
    )


def test_float32_is_summed_in_float64():
    x = np.random.default_rng(1).normal(size=(1500, 2)).astype(np.float32)
    segments = Segments(np.arange(0, 1501, 30))
    found = bag_sums(Gram(RBF(1.0), x), segments)
    assert found.dtype == np.float64
    exact = bag_sums(Gram(RBF(1.0), x.astype(np.float64)), segments)
    assert_allclose(found, exact, rtol=1e-5)


def test_tensors():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(2).normal(size=(900, 2))
    segments = Segments(np.array([0, 1, 600, 610, 900]))
    found = bag_sums(Gram(RBF(1.0), torch.asarray(x)), segments)
    assert_allclose(found.numpy(), bag_sums(Gram(RBF(1.0), x), segments), rtol=1e-12)


def test_threads_do_not_matter():
    x = np.random.default_rng(3).normal(size=(3000, 2))
    segments = Segments(np.arange(0, 3001, 8))
    found = []
    for threads in (1, 3):
        with mercer.config(threads=threads):
            found.append(bag_sums(Gram(RBF(1.0), x), segments))
    assert np.array_equal(*found)


@pytest.mark.parametrize("offsets", [[0], [1, 2], [0, 2, 2], [0, 3, 2], [[0, 1]]])
def test_wrong_offsets(offsets):
    with pytest.raises(ValueError, match="offsets must increase"):
        Segments(np.array(offsets))


def test_wrong_sizes_and_budget():
    gram = Gram(RBF(1.0), np.arange(10.0))
    with pytest.raises(ValueError, match="the bags have 9 rows"):
        bag_sums(gram, Segments(np.array([0, 9])))
    with pytest.raises(ValueError, match="weights must have shape"):
        Segments(np.array([0, 9]), np.ones(8))
    many = Gram(RBF(1.0), np.arange(3000.0))
    with mercer.config(memory="64MiB"), pytest.raises(MemoryBudgetError, match="3000 x 3000 bags"):
        bag_sums(many, Segments(np.arange(3001)))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_sums_of_float32_tiles_are_float64(library):
    x = LIBRARIES[library](np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32))
    gram, bags = Gram(RBF(1.0), x), Segments(np.array([0, 4, 17, 30]))
    pairs = bag_sums(gram, bags)
    assert str(pairs.dtype).endswith("float64")
    beside = paired_bag_sums(gram, bags)
    assert beside.dtype == pairs.dtype
    assert_allclose(to_numpy(beside), np.diagonal(to_numpy(pairs)), rtol=1e-6)
