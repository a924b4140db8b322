"""Quadratic forms of a kernel matrix whose points are read part by part: tiles of pairs of blocks of rows.

A task names two blocks; the process that works on it reads their rows. What stays in memory of all points are labels and
row sums.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import Labelled, PairSums, labels_as_numbers, tile_forms
from mercer.gram.resampling_weights import CodedColumns
from mercer.gram.stream_sums import PointReader, numbers
from mercer.gram.threads import TILE, in_order, spans, while_wanted
from mercer.kernels.base import Kernel
from mercer.row_streams import RowStream

_MAX_BLOCK_ROWS = 2**13  # 67 million pairs in a task: seconds
_BLOCKS_KEPT = (
    3  # in memory, for each process: the rows of the next task are often those of this one
)
_COPIES_OF_BLOCK = 8  # of the rows of two blocks, with their tiles


@dataclass(frozen=True)
class RowBlock:
    """Rows `start` to `stop` of a part; `first` is the position of the first of them among all points."""

    sample: int
    part: int
    start: int
    stop: int
    first: int

    @property
    def rows(self) -> slice:
        """Positions among all points."""
        return slice(self.first, self.first + self.stop - self.start)


@dataclass(frozen=True, eq=False)
class PartitionedPoints:
    """The points of several samples, one after the other, in blocks that are read when they are needed."""

    streams: tuple[RowStream, ...]
    readers: tuple[PointReader, ...]

    def __len__(self) -> int:
        return sum(map(len, self.streams))

    @cached_property
    def blocks(self) -> tuple[RowBlock, ...]:
        """Blocks of all rows, in their order."""
        size = min(*(stream.chunk_rows for stream in self.streams), _MAX_BLOCK_ROWS)
        blocks, first = [], 0
        for sample, stream in enumerate(self.streams):
            for part, rows in enumerate(stream.lengths):
                for span in spans(rows, size):
                    blocks.append(RowBlock(sample, part, span.start, span.stop, first + span.start))
                first += rows
        return tuple(blocks)

    def read(self, block: RowBlock) -> np.ndarray:
        """The points of a block in float64."""
        stream = self.streams[block.sample]
        alone = RowStream((stream.parts[block.part],), (stream.lengths[block.part],), stream.width)
        reader = self.readers[block.sample]
        chunks = alone.between(block.start, block.stop, block.stop - block.start)
        return np.concatenate([numbers(reader.read(c)).astype(np.float64) for c in chunks])


def partitioned_forms(
    kernel: Kernel,
    points: PartitionedPoints,
    labels: np.ndarray,
    shift: float,
    coded: CodedColumns | None = None,
    tables: Sequence[np.ndarray] = (),
) -> Labelled:
    """`labelled` of points that are read block by block; forms of coded labels in float32."""
    n, kinds = len(points), len(tables)
    width = 0 if coded is None else coded.width
    rows = np.zeros((1, n), dtype=np.float64)
    squares, exact = np.zeros(1), np.zeros((1, labels.shape[1]), dtype=np.float64)
    forms = np.zeros((1, kinds, width), dtype=np.float64)
    blocks = points.blocks
    tasks = [(i, j) for i in range(len(blocks)) for j in range(i, len(blocks))]
    work = _PairOfBlocks(kernel, points, labels, shift, coded, tuple(tables))
    size = max((b.stop - b.start for b in blocks), default=1)
    held = 8 * size * (_COPIES_OF_BLOCK * points.streams[0].width + TILE) + 8 * width * TILE
    for (i, j), sums in zip(tasks, in_order(work, tasks, parallel=True, held=held), strict=True):
        rows[0, blocks[i].rows] += sums.rows
        if i != j:
            rows[0, blocks[j].rows] += sums.columns
        squares += sums.squares
        exact[0] += sums.exact
        forms[0] += sums.forms
    return Labelled(PairSums(np.array([shift]), rows, squares, exact), forms)


@dataclass(frozen=True, eq=False)
class _BlockSums:
    """Sums over the pairs of two blocks."""

    rows: np.ndarray
    columns: np.ndarray
    squares: float
    exact: np.ndarray
    forms: np.ndarray


@dataclass(eq=False)
class _PairOfBlocks:
    """(i, j) -> sums over the pairs of a point of block i and one of block j."""

    kernel: Kernel
    points: PartitionedPoints
    labels: np.ndarray
    shift: float
    coded: CodedColumns | None
    tables: tuple[np.ndarray, ...]
    _kept: OrderedDict[int, np.ndarray] = field(default_factory=OrderedDict)
    _lock: Any = field(default_factory=Lock)

    def __reduce__(self) -> Any:
        made_of = self.kernel, self.points, self.labels, self.shift, self.coded, self.tables
        return _PairOfBlocks, made_of

    def __call__(self, task: tuple[int, int]) -> _BlockSums:
        i, j = task
        a, b = self._read(i), self._read(j)
        family = Family([self.kernel], a, None if i == j else b)
        width = 0 if self.coded is None else self.coded.width
        first, second = (self.points.blocks[k].first for k in task)
        rows, columns = np.zeros(len(a)), np.zeros(len(b))
        squares, exact = 0.0, np.zeros(self.labels.shape[1])
        forms = np.zeros((len(self.tables), width), dtype=np.float64)
        tiles = [
            (r, c) for r in spans(len(a)) for c in spans(len(b)) if i != j or c.start >= r.start
        ]
        for r, c in while_wanted(tiles):
            diagonal = i == j and r == c
            tile = to_numpy(next(iter(family.tiles(r, c)))) - self.shift
            if diagonal:
                np.fill_diagonal(tile, 0.0)
            times = 1.0 if diagonal else 2.0
            at, beside = _moved(r, first), _moved(c, second)
            rows[r] += tile.sum(axis=1)
            if not diagonal:
                (rows if i == j else columns)[c] += tile.sum(axis=0)
            squares += times * float(np.vdot(tile, tile))
            exact += times * np.einsum("ik,ik->k", self.labels[at], tile @ self.labels[beside])
            if self.coded is not None:
                of_rows = labels_as_numbers(self.coded, self.tables, at)
                of_columns = labels_as_numbers(self.coded, self.tables, beside)
                forms += times * tile_forms(tile, of_rows, of_columns)
        return _BlockSums(rows, columns, squares, exact, forms)

    def _read(self, block: int) -> np.ndarray:
        with self._lock:
            if block not in self._kept:
                self._kept[block] = self.points.read(self.points.blocks[block])
            self._kept.move_to_end(block)
            while len(self._kept) > _BLOCKS_KEPT:
                self._kept.popitem(last=False)
            return self._kept[block]


def _moved(rows: slice, by: int) -> slice:
    return slice(rows.start + by, rows.stop + by)
