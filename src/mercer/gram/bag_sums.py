"""Sums of a matrix over bags of rows and bags of columns, in one pass over tiles."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    is_numpy,
    itemsize,
    namespace,
    transposed,
    zeros,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.lazy import LazyMatrix
from mercer.gram.threads import in_order, side, spans

_MAX_BAGS_BY_PRODUCTS = 24  # of a tile; for more of them one segmented sum is faster
# A block from which only the sums on the diagonal are used: large enough to be worth a call, and small
# enough that the unused sums beside the diagonal cost little.
_ROWS_PER_BLOCK, _BAGS_PER_BLOCK = 256, 32


@dataclass(frozen=True, eq=False)
class Segments:
    """Bags of consecutive rows: bag a holds the rows from offsets[a] to offsets[a + 1].

    Parameters
    ----------
    offsets : array (b + 1,) of integers
        Increasing from 0 to the number of rows; no bag is empty.
    weights : array (n,) or None
        The weight of each row in its bag; None: equal weights that add up to one.
    """

    offsets: np.ndarray
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        offsets = np.asarray(self.offsets, dtype=np.int64)
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or np.any(np.diff(offsets) < 1):
            raise ValueError(
                "offsets must increase from 0 to the number of rows, with at least one row in every bag"
            )
        object.__setattr__(self, "offsets", offsets)
        if self.weights is not None:
            weights = np.asarray(self.weights, dtype=np.float64)
            if weights.shape != (self.rows,):
                raise ValueError(f"weights must have shape ({self.rows},), got {weights.shape}")
            object.__setattr__(self, "weights", weights)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def rows(self) -> int:
        """The number of rows in all bags."""
        return int(self.offsets[-1])

    @cached_property
    def shares(self) -> np.ndarray:
        """The weight of each row: (n,)."""
        if self.weights is not None:
            return self.weights
        sizes = np.diff(self.offsets)
        return np.repeat(1.0 / sizes, sizes)

    def taken(self, bags: np.ndarray) -> tuple[Segments, np.ndarray]:
        """These bags, one after the other, and the positions of their rows."""
        sizes = np.diff(self.offsets)[bags]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[bags] - offsets[:-1], sizes)
        return Segments(offsets, None if self.weights is None else self.weights[rows]), rows

    def of(self, rows: slice) -> tuple[slice, np.ndarray]:
        """The bags that overlap a range of rows, and their borders in it: edges from 0 to len(rows)."""
        first = bisect_right(self._ends, rows.start) - 1
        last = bisect_left(self._ends, rows.stop)
        edges = self.offsets[first : last + 1] - rows.start
        edges[0], edges[-1] = 0, rows.stop - rows.start
        return slice(first, last), edges

    @cached_property
    def _ends(self) -> list[int]:
        return self.offsets.tolist()


def bag_sums(matrix: LazyMatrix, rows: Segments, columns: Segments | None = None) -> Array:
    """sum_i sum_j w_i v_j K_ij over the rows i of bag a and the columns j of bag b: (a, b), float64.

    With the default weights, the mean of each block. One pass over the tiles of K, which is never
    held in memory; half a pass for a symmetric matrix with the same bags on both sides (no `columns`).
    """
    validate.instance("matrix", matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
    same_bags = columns is None
    columns = rows if columns is None else columns
    if (rows.rows, columns.rows) != matrix.shape:
        raise ValueError(
            f"the bags have {rows.rows} rows and {columns.rows} columns, but the matrix has shape "
            f"{matrix.shape}"
        )
    _check_memory(len(rows), len(columns), matrix.like)
    half = same_bags and matrix.symmetric
    if matrix._fused is not None:
        return matrix._fused.bag_sums(rows, columns, half)
    out = zeros((len(rows), len(columns)), matrix.like, double(matrix.like))
    work = _BagStripe(matrix, rows, columns, half)
    tiles = spans(matrix.shape[0], side(matrix.like))
    for bags, stripe in in_order(work, tiles, parallel=is_numpy(matrix.like)):
        out[bags, :] += stripe
    return out + namespace(out).permute_dims(out, (1, 0)) if half else out


def paired_bag_sums(matrix: LazyMatrix, rows: Segments, columns: Segments | None = None) -> Array:
    """sum_i sum_j w_i v_j K_ij over bag a of the rows and bag a of the columns: (a,), float64.

    Computed from small blocks along the diagonal, which saves calls rather than terms.
    """
    columns = rows if columns is None else columns
    work = _Diagonal(matrix, rows, columns)
    runs = _runs(np.maximum(np.diff(rows.offsets), np.diff(columns.offsets)))
    return namespace(matrix.like).concat(list(in_order(work, runs, parallel=is_numpy(matrix.like))))


def _runs(sizes: np.ndarray) -> list[slice]:
    """Ranges of consecutive bags, each of about `_ROWS_PER_BLOCK` rows."""
    ends = np.cumsum(sizes)
    runs, first = [], 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + _ROWS_PER_BLOCK, side="right")), first + 1)
        last = min(last, first + _BAGS_PER_BLOCK)
        runs.append(slice(first, last))
        first = last
    return runs


@dataclass(frozen=True)
class _Diagonal:
    """bags -> the sum of each bag of rows with the bag of columns of the same number."""

    matrix: LazyMatrix
    rows: Segments
    columns: Segments

    def __call__(self, bags: slice) -> Array:
        cuts = []
        for segments in (self.rows, self.columns):
            edges = segments.offsets[bags.start : bags.stop + 1]
            span = slice(int(edges[0]), int(edges[-1]))
            cuts.append((span, _Borders(edges - edges[0], segments.shares[span], self.matrix.like)))
        (rows, row_bags), (columns, column_bags) = cuts
        sums = column_bags.sums_across(row_bags.sums(self.matrix.block(rows, columns)))
        return namespace(sums).linalg.diagonal(astype(sums, double(sums)))


@dataclass(frozen=True)
class _BagStripe:
    """rows -> the bags that overlap them, and the contribution of their tiles to the sums of these bags."""

    matrix: LazyMatrix
    rows: Segments
    columns: Segments
    half: bool  # tiles above the diagonal count once, those on it by half

    def __call__(self, rows: slice) -> tuple[slice, Array]:
        bags, edges = self.rows.of(rows)
        like = self.matrix.like
        out = zeros((bags.stop - bags.start, len(self.columns)), like, double(like))
        row_bags = _Borders(edges, self.rows.shares[rows], like)
        for columns in self._columns(rows):
            others, cuts = self.columns.of(columns)
            column_bags = _Borders(cuts, self.columns.shares[columns], like)
            sums = column_bags.sums_across(self._down(rows, columns, row_bags))
            out[:, others] += 0.5 * sums if self.half and columns == rows else sums
        return bags, out

    def _down(self, rows: slice, columns: slice, row_bags: _Borders) -> Array:
        """Sums of the rows of every bag, without forming the block where possible: (bags, columns)."""
        on_diagonal = self.half and columns == rows  # a block has exactly k(x, x) there
        sums = (
            None
            if on_diagonal
            else self.matrix._bag_rows(rows, columns, row_bags.shares, row_bags.edges)
        )
        if sums is not None:
            return sums
        return row_bags.sums(self.matrix.block(rows, columns))

    def _columns(self, rows: slice) -> list[slice]:
        """Column ranges, twice as wide as usual: fewer tiles have less overhead."""
        first = rows.stop if self.half else 0
        wide = spans(self.matrix.shape[1], 2 * side(self.matrix.like), first)
        return [rows, *wide] if self.half else wide


class _Borders:
    """The rows (or columns) of a tile, split into bags."""

    def __init__(self, edges: np.ndarray, shares: np.ndarray, like: Array) -> None:
        self.edges, self.shares, self.like = edges, shares, like

    def sums(self, tile: Array) -> Array:
        """Weighted sums of the rows of every bag: (bags, columns)."""
        if not is_numpy(tile):
            return array_like(self._indicator, tile) @ tile
        pieces = list(zip(self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True))
        if len(pieces) <= _MAX_BAGS_BY_PRODUCTS:
            shares = self.shares.astype(tile.dtype, copy=False)
            return np.stack([shares[a:b] @ tile[a:b] for a, b in pieces])
        tile *= self.shares[:, None].astype(tile.dtype, copy=False)
        return np.add.reduceat(tile, self.edges[:-1], axis=0, dtype=np.float64)

    def sums_across(self, tile: Array) -> Array:
        """Weighted sums of the columns of every bag: (rows, bags)."""
        if not is_numpy(tile):
            return tile @ transposed(array_like(self._indicator, tile))
        return np.add.reduceat(tile * self.shares, self.edges[:-1], axis=1)

    @cached_property
    def _indicator(self) -> Array:
        """The weights of each bag in its row, zeros elsewhere: (bags, rows)."""
        bags = len(self.edges) - 1
        owner = np.repeat(np.arange(bags), np.diff(self.edges))
        table = np.where(owner == np.arange(bags)[:, None], self.shares, 0.0)
        return array_like(table, self.like)


def _check_memory(a: int, b: int, like: Array) -> None:
    need, budget = 2 * a * b * max(itemsize(like), 8), settings().memory
    if need > budget:
        raise MemoryBudgetError(
            f"sums over {a} x {b} bags take {need / 2**20:,.0f} MiB and the budget is "
            f"{budget / 2**20:,.0f} MiB: use fewer bags at a time, or raise mercer.config(memory=...)"
        )
