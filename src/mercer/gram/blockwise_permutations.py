"""Random labellings of two samples, drawn block by block where the rows of a block are read.

Labels of all points in memory would take more than the points themselves. How many points of each block have a label is
drawn first, for all blocks together; which of them, from a seed and the number of the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.gram.resampling_weights import GROUP

BLOCK = 2**12  # points that are permuted together: their codes stay in cache
_MAX_POINTS = 10**9  # of the hypergeometric distribution in NumPy
_COLUMNS_AT_ONCE = 16  # whose counts are drawn together, as int64


@dataclass(frozen=True, eq=False)
class BlockwisePermutations:
    """Labellings of n + m points, of which n have the label 1 and m the label 0; number 0 is the observed one.

    Every labelling is as likely as any other, as if all labels were shuffled: the numbers of ones in the blocks
    have the multivariate hypergeometric distribution, and given these, each block is shuffled on its own. For pairs, the
    members of a pair have different labels, exchanged at random.

    Examples
    --------
    >>> labels = BlockwisePermutations.drawn((3, 2), 4, seed=1)
    >>> codes = labels.codes(slice(0, 5), slice(0, 5))
    >>> codes[0].tolist(), codes.sum(axis=1).tolist()
    ([1, 1, 1, 0, 0], [3, 3, 3, 3, 3])
    """

    sizes: tuple[int, int]
    seed: int
    counts: np.ndarray | None  # ones of every block and labelling, (blocks, B + 1); None: pairs

    @classmethod
    def drawn(
        cls, sizes: tuple[int, int], resamples: int, seed: int, *, paired: bool = False
    ) -> BlockwisePermutations:
        """The observed labelling and so many random ones."""
        n, m = sizes
        if paired:
            return cls(sizes, seed, None)
        if n + m >= _MAX_POINTS:
            raise ValueError(
                f"labels are drawn for fewer than {_MAX_POINTS:,} points, got {n + m:,}: use ME(), which needs none"
            )
        blocks = _spans(n + m)
        lengths = [stop - start for start, stop in blocks]
        counts = np.empty((len(blocks), resamples + 1), dtype=np.uint16)
        counts[:, 0] = [min(max(n - start, 0), stop - start) for start, stop in blocks]
        rng = np.random.default_rng((seed, 0))
        for first in range(1, resamples + 1, _COLUMNS_AT_ONCE):
            width = min(_COLUMNS_AT_ONCE, resamples + 1 - first)
            drawn = rng.multivariate_hypergeometric(lengths, n, size=width)
            counts[:, first : first + width] = drawn.T
        return cls(sizes, seed, counts)

    def codes(self, rows: slice, columns: slice) -> np.ndarray:
        """The labels of these points, in the labellings with these numbers: uint8 (columns, rows)."""
        groups = range(columns.start // GROUP, (columns.stop - 1) // GROUP + 1)
        blocks = range(rows.start // BLOCK, (rows.stop - 1) // BLOCK + 1)
        codes = np.concatenate(
            [np.concatenate([self._group(b, g) for b in blocks], axis=1) for g in groups]
        )
        down, right = groups.start * GROUP, blocks.start * BLOCK
        return codes[
            columns.start - down : columns.stop - down, rows.start - right : rows.stop - right
        ]

    def _group(self, block: int, group: int) -> np.ndarray:
        """Labels of all points of a block in GROUP labellings."""
        n, total = self.sizes[0], sum(self.sizes)
        start, stop = block * BLOCK, min((block + 1) * BLOCK, total)
        if self.counts is None:
            codes = _pair_codes(self.seed, n, slice(start, stop), group)
        else:
            counts = self.counts[block, group * GROUP : (group + 1) * GROUP]
            rng = np.random.default_rng((self.seed, 1, block, group))
            codes = _shuffled(counts, stop - start, rng)
        if group == 0:
            codes[0] = np.arange(start, stop) < n
        return codes


def aligned(rows: slice) -> Iterator[slice]:
    """Rows in pieces, none of which crosses a border of blocks."""
    start = rows.start
    while start < rows.stop:
        stop = min((start // BLOCK + 1) * BLOCK, rows.stop)
        yield slice(start, stop)
        start = stop


def _spans(total: int) -> list[tuple[int, int]]:
    return [(start, min(start + BLOCK, total)) for start in range(0, total, BLOCK)]


def _shuffled(counts: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Random arrangements of `counts` ones and otherwise zeros: (len(counts), size).

    Ones are where random keys are smallest; keys that are tied at the border are drawn again.
    """
    codes = np.zeros((len(counts), size), dtype=np.uint8)
    keys = rng.integers(0, 2**32, (len(counts), size), dtype=np.uint32)
    for row, key, count in zip(codes, keys, counts.tolist(), strict=True):
        while count > 0:
            row[:] = key <= np.partition(key, count - 1)[count - 1]
            if np.count_nonzero(row) == count:
                break
            key = rng.integers(0, 2**32, size, dtype=np.uint32)
    return codes


def _pair_codes(seed: int, n: int, rows: slice, group: int) -> np.ndarray:
    """Labels of points of n pairs, first members first, in GROUP labellings."""
    parts = []
    for first, offset in ((True, 0), (False, n)):
        low, high = max(rows.start - offset, 0), min(rows.stop - offset, n)
        for piece in aligned(slice(low, high)) if low < high else ():
            block = piece.start // BLOCK
            rng = np.random.default_rng((seed, 2, block, group))
            bits = rng.integers(0, 2, (GROUP, min(BLOCK, n - block * BLOCK)), dtype=np.uint8)
            inside = bits[:, piece.start - block * BLOCK : piece.stop - block * BLOCK]
            parts.append(inside if first else 1 - inside)
    return np.concatenate(parts, axis=1)
