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
from typing import Any, Protocol

import numpy as np

from mercer.backend import (
    Array,
    array_like,
    namespace,
    set_diagonal,
    to_numpy,
    zeros,
)
from mercer.config import settings
from mercer.gram.decoded_labels import DecodedLabels, sum_of_squares, tile_forms
from mercer.gram.device_work import DeviceWork, to_device
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import (
    Labelled,
    PairSums,
    scales_of,
)
from mercer.gram.pair_forms import PairForms
from mercer.gram.resampling_weights import CodedColumns
from mercer.gram.stream_sums import numbers
from mercer.gram.threads import TILE, in_order, side, spans, while_wanted
from mercer.kernels.base import Kernel, Points
from mercer.row_streams import RowStream

_MAX_BLOCK_ROWS = 2**13  # 67 million pairs in a task: seconds
_SHARE_KEPT = 8  # of the memory budget, for blocks of rows that the next tasks need again
_MIN_BLOCKS_KEPT = 3  # whatever the memory budget
_COPIES_OF_BLOCK = 8  # of the rows of a block: those kept, augmented and transformed ones
_TILES_IN_USE = 6  # shared ones, and temporaries


class RowReader(Protocol):
    """Makes points of rows, in the process that has read them."""

    def read(self, rows: Any, /) -> Points:
        """Rows as points of a kernel."""
        ...


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
    readers: tuple[RowReader, ...]
    origin: np.ndarray | None = None  # subtracted from all points

    def __len__(self) -> int:
        return sum(map(len, self.streams))

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.streams[0].width

    @property
    def rows_of_block(self) -> int:
        """Rows of the largest block."""
        return max((block.stop - block.start for block in self.blocks), default=1)

    @cached_property
    def blocks(self) -> tuple[RowBlock, ...]:
        """Blocks of all rows, in their order."""
        size = min(_MAX_BLOCK_ROWS, *(stream.chunk_rows for stream in self.streams))
        blocks, first = [], 0
        for sample, stream in enumerate(self.streams):
            for part, rows in enumerate(stream.lengths):
                for span in spans(rows, size):
                    blocks.append(RowBlock(sample, part, span.start, span.stop, first + span.start))
                first += rows
        return tuple(blocks)

    @cached_property
    def blocks_kept(self) -> int:
        """Blocks that a process keeps in memory."""
        size = 8 * self.rows_of_block * self.width
        return max(settings().memory // _SHARE_KEPT // size, _MIN_BLOCKS_KEPT)

    def pairs_of_blocks(self) -> list[tuple[int, int]]:
        """(i, j), i <= j, in panels of rows i that are kept in memory: all blocks are read once for each panel."""
        number, height = len(self.blocks), max(self.blocks_kept - 2, 1)
        panels = [range(i, min(i + height, number)) for i in range(0, number, height)]
        return [
            (i, j) for panel in panels for j in range(panel.start, number) for i in panel if i <= j
        ]

    def read(self, block: RowBlock) -> np.ndarray:
        """The points of a block in float64, less the origin."""
        stream = self.streams[block.sample]
        alone = RowStream((stream.parts[block.part],), (stream.lengths[block.part],), stream.width)
        reader = self.readers[block.sample]
        chunks = alone.between(block.start, block.stop, block.stop - block.start)
        rows = np.concatenate([numbers(reader.read(c)).astype(np.float64) for c in chunks])
        return rows if self.origin is None else rows - self.origin


class PartitionedPairs(PairForms):
    """The kernel matrices of points that are read block by block, in float64."""

    def __init__(
        self, kernels: Sequence[Kernel], points: PartitionedPoints, some_points: np.ndarray
    ) -> None:
        self.kernels, self._points, self._some = tuple(kernels), points, some_points
        family = Family(kernels, some_points)
        self.like, self._scales = family.like, scales_of(family)

    def forms(
        self,
        labels: np.ndarray,
        coded: CodedColumns | None = None,
        *,
        tables: Sequence[np.ndarray] = (),
        weights: np.ndarray | None = None,
        known: PairSums | None = None,
        precise: bool = False,
    ) -> Labelled:
        """The sums, in one pass over the pairs of blocks; points have no weights."""
        if weights is not None:
            raise TypeError("points that are read part by part have no weights")
        points, kernels = self._points, self.kernels
        labellings = _Labellings(labels, coded, tuple(tables), precise)
        work = _PairOfBlocks(kernels, points, labellings, self._scales)
        blocks, n = points.blocks, len(points)
        rows = np.zeros((len(kernels), n), dtype=np.float64)
        squares = np.zeros(len(kernels), dtype=np.float64)
        exact = np.zeros((len(kernels), labels.shape[1]), dtype=np.float64)
        forms = np.zeros((len(kernels), len(tables), labellings.width), dtype=np.float64)
        tasks = self._points.pairs_of_blocks()
        sums_of_pairs = in_order(work, tasks, parallel=True, held=self._bytes_of_task(labellings))
        for (i, j), sums in zip(tasks, sums_of_pairs, strict=True):
            rows[:, blocks[i].rows] += sums.rows
            if i != j:
                rows[:, blocks[j].rows] += sums.columns
            squares += sums.squares
            exact += sums.exact
            forms += sums.forms
        return Labelled(PairSums(self._scales[0], rows, squares, exact), forms)

    def diagonals(self) -> np.ndarray:
        """k(x_i, x_i) of every kernel, in one pass over the points."""
        work = _Diagonals(self.kernels, self._points)
        held = _COPIES_OF_BLOCK * 8 * self._points.rows_of_block * self._points.width
        parts = in_order(work, self._points.blocks, parallel=True, held=held, what="reading rows")
        return np.concatenate(list(parts), axis=1)

    @property
    def some_points(self) -> np.ndarray:
        """A random subsample."""
        return self._some

    def widened(self) -> PartitionedPairs:
        """These kernel matrices: points are read in float64."""
        return self

    def _bytes_of_task(self, labellings: _Labellings) -> int:
        size = self._points.rows_of_block
        points = _COPIES_OF_BLOCK * size * self._points.width
        sums, labels = 2 * len(self.kernels) * size, 4 * labellings.width * TILE
        return 8 * (points + sums + labels + _TILES_IN_USE * TILE**2)


@dataclass(frozen=True, eq=False)
class _Labellings:
    """Labels in full precision, and coded ones with the values of their codes."""

    exact: np.ndarray  # (n, labels)
    coded: CodedColumns | None
    tables: tuple[np.ndarray, ...]
    precise: bool

    @property
    def width(self) -> int:
        """The number of coded labellings."""
        return 0 if self.coded is None else self.coded.width

    def numbers(self, rows: slice, like: Array) -> tuple[Array, ...] | None:
        """Coded labels of these points as numbers beside `like`, for each table (columns, rows)."""
        if self.coded is None:
            return None
        return DecodedLabels(self.coded, self.tables, like, self.precise).rows(rows)


@dataclass(frozen=True, eq=False)
class _BlockSums:
    """Sums over the pairs of two blocks, for every kernel."""

    rows: np.ndarray  # (kernels, rows of the first block)
    columns: np.ndarray  # (kernels, rows of the second one)
    squares: np.ndarray  # (kernels,)
    exact: np.ndarray  # (kernels, labels)
    forms: np.ndarray  # (kernels, tables, columns)


@dataclass(eq=False)
class _PairOfBlocks(DeviceWork):
    """(i, j) -> sums over the pairs of a point of block i and one of block j."""

    kernels: tuple[Kernel, ...]
    points: PartitionedPoints
    labellings: _Labellings
    scales: tuple[np.ndarray, np.ndarray]  # shift and unit of every kernel
    device: str | None = None  # of torch, to which blocks are copied
    _kept: OrderedDict[int, Any] = field(default_factory=OrderedDict)
    _lock: Any = field(default_factory=Lock)

    def __reduce__(self) -> Any:
        made_of = self.kernels, self.points, self.labellings, self.scales, self.device
        return _PairOfBlocks, made_of

    @property
    def movable_pairs(self) -> int:
        """All pairs of points."""
        return len(self.points) ** 2

    def on_device(self, device: str) -> _PairOfBlocks:
        """The same sums, of blocks that are copied to a device when they have been read."""
        return _PairOfBlocks(self.kernels, self.points, self.labellings, self.scales, device)

    def __call__(self, task: tuple[int, int]) -> _BlockSums:
        i, j = task
        a, b = self._read(i), self._read(j)
        family = Family(self.kernels, a, None if i == j else b)
        sums = self._empty(len(a), len(b))
        rows, columns = (spans(len(points), side(family.like)) for points in (a, b))
        tiles = [(r, c) for r in rows for c in columns if i != j or c.start >= r.start]
        for r, c in while_wanted(tiles):
            self._add(family, (i, j), (r, c), sums)
        return sums

    def _empty(self, first: int, second: int) -> _BlockSums:
        k, labels = len(self.kernels), self.labellings
        return _BlockSums(
            rows=np.zeros((k, first), dtype=np.float64),
            columns=np.zeros((k, second), dtype=np.float64),
            squares=np.zeros(k, dtype=np.float64),
            exact=np.zeros((k, labels.exact.shape[1]), dtype=np.float64),
            forms=np.zeros((k, len(labels.tables), labels.width), dtype=np.float64),
        )

    def _add(
        self,
        family: Family,
        blocks: tuple[int, int],
        tile_at: tuple[slice, slice],
        sums: _BlockSums,
    ) -> None:
        """Add the sums over a tile of the matrix of every kernel."""
        (i, j), (r, c) = blocks, tile_at
        diagonal = i == j and r == c
        times, beside_rows = 1.0 if diagonal else 2.0, sums.rows if i == j else sums.columns
        at, beside = (self._places(k, span) for k, span in ((i, r), (j, c)))
        xp, labels = namespace(family.like), self.labellings.exact
        of_rows, of_columns = (self.labellings.numbers(span, family.like) for span in (at, beside))
        for k, tile in enumerate(family.tiles(r, c)):
            tile = tile - float(self.scales[0][k])
            if diagonal:
                set_diagonal(tile, 0, 0, zeros((r.stop - r.start,), tile))
            sums.rows[k, r] += to_numpy(xp.sum(tile, axis=1))
            if not diagonal:
                beside_rows[k, c] += to_numpy(xp.sum(tile, axis=0))
            sums.squares[k] += times * sum_of_squares(tile)
            products = to_numpy(tile @ array_like(labels[beside], tile))
            sums.exact[k] += times * np.einsum("ik,ik->k", labels[at], products)
            if of_rows is not None and of_columns is not None:
                unit = 1.0 if self.labellings.precise else float(self.scales[1][k])
                sums.forms[k] += times * tile_forms(tile, of_rows, of_columns, unit)

    def _places(self, block: int, rows: slice) -> slice:
        """Positions of some rows of a block among all points."""
        first = self.points.blocks[block].first
        return slice(rows.start + first, rows.stop + first)

    def _read(self, block: int) -> Any:
        with self._lock:
            if block not in self._kept:
                rows = self.points.read(self.points.blocks[block])
                self._kept[block] = rows if self.device is None else to_device(rows, self.device)
            self._kept.move_to_end(block)
            while len(self._kept) > self.points.blocks_kept:
                self._kept.popitem(last=False)
            return self._kept[block]


@dataclass(frozen=True, eq=False)
class _Diagonals:
    """block -> k(x, x) of its points by every kernel: (kernels, rows)."""

    kernels: tuple[Kernel, ...]
    points: PartitionedPoints

    def __call__(self, block: RowBlock) -> np.ndarray:
        points = self.points.read(block)
        return np.stack([to_numpy(kernel.diag(points)) for kernel in self.kernels])
