"""Labellings that are drawn block by block have the distribution of shuffled labels."""

from __future__ import annotations

import pickle
from itertools import combinations
from math import comb

import numpy as np
import pytest

from mercer.gram import blockwise_permutations
from mercer.gram.blockwise_permutations import BlockwisePermutations, aligned


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blockwise_permutations, "BLOCK", 3)


@pytest.mark.usefixtures("small_blocks")
def test_every_labelling_is_equally_likely():
    labels = BlockwisePermutations.drawn((3, 5), 5_600, seed=2)
    codes = labels.codes(slice(0, 8), slice(1, 5_601))
    found = {tuple(np.flatnonzero(row)): 0 for row in codes}
    assert set(found) == set(combinations(range(8), 3))
    for row in codes:
        found[tuple(np.flatnonzero(row))] += 1
    counts = np.array(list(found.values()))
    expected = len(codes) / comb(8, 3)
    chi_square = np.sum((counts - expected) ** 2 / expected)
    assert chi_square < 55 + 5 * np.sqrt(2 * 55)  # 55 degrees of freedom


@pytest.mark.usefixtures("small_blocks")
def test_members_of_pairs_have_different_labels():
    labels = BlockwisePermutations.drawn((7, 7), 640, seed=1, paired=True)
    codes = labels.codes(slice(0, 14), slice(0, 641))
    assert codes[0].tolist() == [1] * 7 + [0] * 7
    np.testing.assert_array_equal(codes[:, :7] + codes[:, 7:], 1)
    patterns = np.unique(codes[1:, :7] @ 2 ** np.arange(7))
    assert len(patterns) > 120  # of 128; 99.3% of them are expected


@pytest.mark.parametrize("paired", [False, True])
def test_parts_are_those_of_the_whole(paired: bool):
    sizes = (6_000, 6_000)
    labels = BlockwisePermutations.drawn(sizes, 150, seed=4, paired=paired)
    whole = labels.codes(slice(0, 12_000), slice(0, 151))
    np.testing.assert_array_equal(whole.sum(axis=1), 6_000)
    sent = pickle.loads(pickle.dumps(labels))
    part = sent.codes(slice(3_990, 9_001), slice(60, 140))
    np.testing.assert_array_equal(part, whole[60:140, 3_990:9_001])
    pieces = [labels.codes(rows, slice(0, 3)) for rows in aligned(slice(100, 12_000))]
    np.testing.assert_array_equal(np.concatenate(pieces, axis=1), whole[:3, 100:])


def test_keys_that_are_tied_are_drawn_again():
    class TiedAtFirst:
        calls = 0

        def integers(self, low, high, shape, dtype):
            self.calls += 1
            rng = np.random.default_rng(self.calls)
            return rng.integers(low, high if self.calls > 1 else 2, shape, dtype)

    codes = blockwise_permutations._shuffled(np.array([0, 2, 4]), 5, TiedAtFirst())  # type: ignore[arg-type]
    assert codes.sum(axis=1).tolist() == [0, 2, 4]


def test_too_many_points_are_refused():
    with pytest.raises(ValueError, match="use ME"):
        BlockwisePermutations.drawn((10**9, 5), 1, seed=0)
