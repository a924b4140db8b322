"""Norms of permuted factors against the naive loop; permutations that depend on nothing but the seed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.htest import Permutation
from mercer.htest.dependence.sums.cyclic_permutations import permutations
from mercer.htest.dependence.sums.permuted_low_rank import permuted_norms

RNG = np.random.default_rng(0)


def orders(n: int, null: Permutation, columns: slice, seed: int) -> np.ndarray:
    return np.concatenate([*permutations(n, null, columns, seed)])


@pytest.mark.parametrize(("r", "s"), [(3, 3), (7, 2), (2, 7), (1, 400)])
def test_norms_are_those_of_the_loop(r: int, s: int) -> None:
    a, b = RNG.normal(size=(1000, r)), RNG.normal(size=(1000, s))
    order = orders(1000, Permutation(20), slice(0, 21), 1)
    loop = [np.sum((a.T @ b[p]) ** 2) for p in order]
    assert_allclose(permuted_norms(a, b, order), loop, rtol=1e-12)


def test_norms_are_traces_of_permuted_kernel_matrices() -> None:
    a, b = RNG.normal(size=(30, 4)), RNG.normal(size=(30, 5))
    order = orders(30, Permutation(5), slice(0, 6), 2)
    k, l_ = a @ a.T, b @ b.T
    assert_allclose(permuted_norms(a, b, order), [np.sum(k * l_[np.ix_(p, p)]) for p in order])


def test_single_precision_in_single_precision_work() -> None:
    a, b = (RNG.normal(size=(3000, 6)).astype(np.float32) for _ in range(2))
    order = orders(3000, Permutation(5), slice(0, 6), 3)
    exact = permuted_norms(a.astype(np.float64), b.astype(np.float64), order)
    found = permuted_norms(a, b, order)
    assert found.dtype == np.float64
    assert_allclose(found, exact, rtol=1e-5)


def test_factors_without_columns_have_norm_zero() -> None:
    order = orders(5, Permutation(2), slice(0, 3), 0)
    assert_array_equal(permuted_norms(np.ones((5, 2)), np.empty((5, 0)), order), np.zeros(3))


def test_the_first_permutation_is_the_identity_and_all_are_permutations() -> None:
    order = orders(50, Permutation(99), slice(0, 100), 4)
    assert_array_equal(order[0], np.arange(50))
    assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(50), (100, 1)))
    assert len(np.unique(order, axis=0)) == 100


def test_permutations_depend_on_the_seed_only() -> None:
    whole = orders(200, Permutation(300), slice(0, 301), 5)
    parts = [orders(200, Permutation(300), c, 5) for c in (slice(0, 70), slice(70, 301))]
    assert_array_equal(np.concatenate(parts), whole)
    with mercer.config(memory="16MiB"):
        few = [*permutations(20_000, Permutation(80), slice(0, 81), 5)]
    assert len(few) > 1
    assert_array_equal(np.concatenate(few), orders(20_000, Permutation(80), slice(0, 81), 5))
    assert not np.array_equal(whole[1:], orders(200, Permutation(300), slice(1, 301), 6))


def test_blocks_are_permuted_within() -> None:
    blocks = np.arange(40) % 3
    order = orders(40, Permutation(50, blocks=tuple(blocks)), slice(0, 51), 7)
    assert_array_equal(blocks[order], np.tile(blocks, (51, 1)))
    assert not np.array_equal(order[1], np.arange(40))


def test_pairs_are_for_samples() -> None:
    with pytest.raises(ValueError, match="leave paired=False"):
        orders(10, Permutation(9, paired=True), slice(0, 10), 0)
