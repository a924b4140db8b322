"""Many series, sorted by length and packed in blocks of eight, for loops that compare one series with all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import mercer

LANES = 8  # one vector of AVX-512, two of AVX2


@dataclass(frozen=True)
class LaneBlocks:
    """Series in blocks of eight of about equal length, stored as (d, length, 8); behind its end a series stays where it is.

    Lane l of block b is the series order[8 b + l]; empty lanes are copies of the last one, with length 0.
    """

    numbers: np.ndarray  # of all blocks, one after the other
    lengths: np.ndarray  # (blocks * 8,)
    starts: np.ndarray  # (blocks,) of each block in `numbers`
    rows: np.ndarray  # (blocks,) its length
    order: np.ndarray  # (n,)

    @classmethod
    def of(cls, values: np.ndarray, offsets: np.ndarray) -> LaneBlocks:
        """Blocks of the series values[offsets[i] : offsets[i + 1]], each (T_i, d)."""
        sizes = np.diff(offsets)
        order = np.argsort(sizes, kind="stable")
        count, d = -(-len(sizes) // LANES), values.shape[1]
        lengths = np.zeros(count * LANES, dtype=np.int64)
        lengths[: len(sizes)] = sizes[order]
        rows = lengths.reshape(count, LANES).max(axis=1)
        starts = np.concatenate([[0], np.cumsum(rows)]) * d * LANES
        numbers = np.empty(int(starts[-1]), dtype=np.float64)
        for b in range(count):
            block = numbers[starts[b] : starts[b + 1]].reshape(d, rows[b], LANES)
            lane = 0
            for lane, i in enumerate(order[b * LANES : (b + 1) * LANES]):
                block[:, : sizes[i], lane] = values[offsets[i] : offsets[i + 1]].T
                block[:, sizes[i] :, lane] = values[offsets[i + 1] - 1][:, None]
            block[:, :, lane + 1 :] = block[:, :, lane : lane + 1]
        return cls(numbers, lengths, starts[:-1].copy(), rows, order)

    @property
    def longest(self) -> int:
        """Length of the longest series."""
        return int(self.rows.max())


def reversed_lanes(series: np.ndarray) -> np.ndarray:
    """One series (T, d) reversed in time, every number eight times: (d, T, 8)."""
    return np.ascontiguousarray(np.repeat(series[::-1].T[:, :, None], LANES, axis=2))


def fill_by_blocks(
    n: int, order: np.ndarray, row: Callable[[int, int], np.ndarray], *, symmetric: bool
) -> np.ndarray:
    """A matrix (n, m) on all threads: row(i, b) has entries (i, j) for j in order[8 b :].

    If the matrix is symmetric, row i is asked for the block of i in the order and those behind it; the others follow.
    """
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    out = np.empty((n, len(order)), dtype=np.float64)

    def fill(i: int) -> None:
        first = int(rank[i]) // LANES if symmetric else 0
        out[i, order[first * LANES :]] = row(i, first)

    # `mercer.gram` is built on this package: the attribute loads it when threads are first needed
    mercer.gram.for_each(fill, range(n))
    if symmetric:
        later = rank[:, None] > rank[None, :]
        out[later] = out.T[later]
    return out
