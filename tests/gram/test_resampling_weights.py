"""Weights made by chunk: what a column holds depends on the seed alone."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import PairedWeights, PermutedWeights, SignWeights
from mercer.gram.resampling_weights import GROUP
from mercer.gram.shuffled_codes import shuffled

LABELS = np.r_[np.full(30, 1 / 30), np.full(70, -1 / 70)]


@pytest.mark.parametrize("weights", [LABELS, np.arange(300.0) ** 2])
def test_every_column_is_a_permutation(weights):
    columns = PermutedWeights(weights, 130, rng=0).dense()
    assert columns.shape == (len(weights), 130)
    assert_array_equal(np.sort(columns, axis=0), np.repeat(np.sort(weights)[:, None], 130, axis=1))
    assert len({c.tobytes() for c in columns.T}) == 130


def test_every_point_gets_every_weight_equally_often():
    share = (PermutedWeights(LABELS, 20_000, rng=1).dense() > 0).mean(axis=1)
    error = np.sqrt(0.3 * 0.7 / 20_000)
    assert np.abs(share - 0.3).max() < 4.5 * error


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: PermutedWeights(LABELS, 300, rng=rng),
        lambda rng: SignWeights(100, 300, rng=rng),
    ],
)
def test_chunks_do_not_change_the_columns(make):
    whole, like = make(3).dense(), np.empty(0)
    for budget in (1, 100 * 64, 100 * 128, 10**9):
        chunks = list(make(3).chunks(budget))
        assert [c.start for c in chunks[1:]] == [c.stop for c in chunks[:-1]]
        parts = [make(3).columns(c, like).rows(slice(0, 100)) for c in chunks]
        assert_array_equal(np.concatenate(parts, axis=1), whole)
    assert_array_equal(make(np.random.default_rng(3)).dense(), whole)
    assert not np.array_equal(make(4).dense(), whole)


@pytest.mark.parametrize("weights", [np.arange(31) % 3, np.arange(31) // 16])
def test_keys_held_at_a_time_do_not_change_the_columns(monkeypatch, weights):
    whole = PermutedWeights(weights, 130, rng=3).dense()
    for held in (1, 5 * 12 * 31, 63 * 12 * 31):
        monkeypatch.setattr("mercer.gram.shuffled_codes._BYTES_OF_KEYS", held)
        assert_array_equal(PermutedWeights(weights, 130, rng=3).dense(), whole)


def test_rows_with_equal_keys_are_drawn_again(monkeypatch):
    class Coarse:
        """Keys of which many are equal."""

        def __init__(self):
            self.rng, self.drawn = np.random.default_rng(0), 0

        def integers(self, low, high, shape, dtype):
            self.drawn += shape[0]
            return self.rng.integers(0, 40, shape, dtype=dtype)

    monkeypatch.setattr("mercer.gram.shuffled_codes._BYTES_OF_KEYS", 7 * 12 * 9)
    coarse, codes = Coarse(), np.arange(9, dtype=np.uint8) % 2
    found = shuffled(codes, GROUP, coarse)
    assert coarse.drawn > GROUP
    assert_array_equal(found.sum(axis=1), np.full(GROUP, codes.sum()))


def test_a_million_points_are_shuffled_in_little_memory():
    weights = PermutedWeights(np.repeat([1.0, -1.0], [400_000, 600_000]), 64, rng=0)
    tracemalloc.start()
    codes = weights.group(0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < codes.nbytes + 2**26 + 2**20
    assert_array_equal(codes.sum(axis=1, dtype=np.int64), np.full(GROUP, 400_000))


def test_signs_are_fair_and_shared_by_blocks():
    signs = SignWeights(103, 5000, scale=0.5, block=10, rng=2).dense()
    assert set(np.unique(signs)) == {-0.5, 0.5}
    assert_array_equal(signs[:10], np.repeat(signs[:1], 10, axis=0))
    heads = (signs[::10] > 0).mean(axis=1)
    assert np.abs(heads - 0.5).max() < 4.5 * 0.5 / np.sqrt(5000)
    assert np.abs(np.corrcoef(signs[::10])[np.triu_indices(11, 1)]).max() < 4.5 / np.sqrt(5000)


def test_permutations_stay_within_blocks():
    rng = np.random.default_rng(5)
    blocks, weights = rng.integers(0, 4, 100), rng.integers(0, 5, 100).astype(float)
    columns = PermutedWeights(weights, 70, rng=0, blocks=blocks, keep_first=True).dense()
    assert_array_equal(columns[:, 0], weights)
    for block in range(4):
        own = np.sort(weights[blocks == block])
        assert_array_equal(
            np.sort(columns[blocks == block], axis=0), np.repeat(own[:, None], 70, 1)
        )
    assert len({c.tobytes() for c in columns.T}) == 70
    with pytest.raises(ValueError, match="one label per point"):
        PermutedWeights(weights, 70, blocks=[1, 2])


def test_pairs_are_swapped_whole():
    columns = PairedWeights(40, 200, rng=0, keep_first=True).dense()
    assert_array_equal(columns[:40], -columns[40:])
    assert_array_equal(columns[:40, 0], 1.0)
    assert np.abs((columns[:40, 1:] > 0).mean(axis=1) - 0.5).max() < 4.5 * 0.5 / np.sqrt(199)


def test_projections_equal_products_with_the_dense_columns():
    v = np.random.default_rng(6).standard_normal((3, 100))
    for weights in (
        PermutedWeights(LABELS, 130, rng=1),
        PermutedWeights(np.arange(100.0), 9, rng=1),
    ):
        chunk = weights.columns(slice(2, 9), np.empty(0, np.float32))
        assert_allclose(chunk.project(v), v @ weights.dense()[:, 2:9], rtol=1e-12, atol=1e-12)


def test_the_global_random_state_is_not_touched():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    PermutedWeights(LABELS, 10).dense()
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PermutedWeights(np.ones((3, 2)), 5), r"weights must have shape \(n,\)"),
        (lambda: PermutedWeights([np.nan, 1.0], 5), "weights has NaN"),
        (lambda: PermutedWeights(LABELS, 0), "resamples must be a whole number"),
        (lambda: SignWeights(0, 5), "n must be a whole number"),
        (lambda: SignWeights(5, 5, block=0), "block must be"),
        (lambda: SignWeights(5, 5, scale=-1.0), "scale must be a positive number"),
        (lambda: SignWeights(5, 5, rng=-1), "rng must be"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_columns_after_one_of_ones():
    signs = SignWeights(50, 70, scale=0.5, rng=1)
    columns = signs.columns(slice(0, 70), np.empty(0, dtype=np.float64)).after_ones()
    wanted = np.concatenate([np.full((50, 1), 0.5), signs.dense()], axis=1)
    assert columns.width == 71
    assert_array_equal(columns.rows(slice(0, 50)), wanted)
