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

_FEW = 24  # bags in a tile up to which a product for each beats one sum over segments
_ROWS, _AT_ONCE = 256, 32  # rows and bags of a block of which the diagonal is wanted


@dataclass(frozen=True, eq=False)
class Segments:
    """Bags of consecutive rows: bag a holds the rows from offsets[a] to offsets[a + 1].

    Parameters
    ----------
    offsets : array (b + 1,) of integers
        Rising, from 0 to the number of rows; no bag is empty.
    weights : array (n,) or None
        What each row counts in its bag; None: equally, adding up to one.
    """

    offsets: np.ndarray
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        offsets = np.asarray(self.offsets, dtype=np.int64)
        if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or np.any(np.diff(offsets) < 1):
            raise ValueError(
                "offsets must rise from 0 to the number of rows, with a row in every bag at least"
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
        """How many rows there are in all bags."""
        return int(self.offsets[-1])

    @cached_property
    def shares(self) -> np.ndarray:
        """What each row counts: (n,)."""
        if self.weights is not None:
            return self.weights
        sizes = np.diff(self.offsets)
        return np.repeat(1.0 / sizes, sizes)

    def taken(self, bags: np.ndarray) -> tuple[Segments, np.ndarray]:
        """Some of the bags, one after the other, and the rows that they are made of."""
        sizes = np.diff(self.offsets)[bags]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[bags] - offsets[:-1], sizes)
        return Segments(offsets, None if self.weights is None else self.weights[rows]), rows

    def of(self, rows: slice) -> tuple[slice, np.ndarray]:
        """The bags that meet some rows, and where they are cut: edges from 0 to len(rows)."""
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
    held; of a symmetric matrix with the same bags on both sides (`columns` left out) half a pass.
    """
    validate.instance("matrix", matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
    both = columns is None
    columns = rows if columns is None else columns
    if (rows.rows, columns.rows) != matrix.shape:
        raise ValueError(
            f"the bags hold {rows.rows} rows and {columns.rows} columns, and the matrix has shape "
            f"{matrix.shape}"
        )
    _fits(len(rows), len(columns), matrix.like)
    half = both and matrix.symmetric
    if matrix._fused is not None:
        return matrix._fused.bag_sums(rows, columns, half)
    out = zeros((len(rows), len(columns)), matrix.like, double(matrix.like))
    work = _Stripe(matrix, rows, columns, half)
    tiles = spans(matrix.shape[0], side(matrix.like))
    for some, stripe in in_order(work, tiles, parallel=is_numpy(matrix.like)):
        out[some, :] += stripe
    return out + namespace(out).permute_dims(out, (1, 0)) if half else out


def paired_bag_sums(matrix: LazyMatrix, rows: Segments, columns: Segments | None = None) -> Array:
    """sum_i sum_j w_i v_j K_ij over bag a of the rows and bag a of the columns: (a,), float64.

    From small blocks down the diagonal: few calls rather than few terms.
    """
    columns = rows if columns is None else columns
    work = _Diagonal(matrix, rows, columns)
    runs = _runs(np.maximum(np.diff(rows.offsets), np.diff(columns.offsets)))
    return namespace(matrix.like).concat(list(in_order(work, runs, parallel=is_numpy(matrix.like))))


def _runs(sizes: np.ndarray) -> list[slice]:
    """Consecutive bags of so many rows together that a call is worth it."""
    ends = np.cumsum(sizes)
    runs, first = [], 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + _ROWS, side="right")), first + 1)
        last = min(last, first + _AT_ONCE)
        runs.append(slice(first, last))
        first = last
    return runs


@dataclass(frozen=True)
class _Diagonal:
    """bags -> the sums of each with itself, or with the bag of columns beside it."""

    matrix: LazyMatrix
    rows: Segments
    columns: Segments

    def __call__(self, bags: slice) -> Array:
        cuts = []
        for segments in (self.rows, self.columns):
            edges = segments.offsets[bags.start : bags.stop + 1]
            some = slice(int(edges[0]), int(edges[-1]))
            cuts.append((some, _Cut(edges - edges[0], segments.shares[some], self.matrix.like)))
        (rows, left), (columns, right) = cuts
        sums = right.sums_across(left.sums(self.matrix.block(rows, columns)))
        return namespace(sums).linalg.diagonal(astype(sums, double(sums)))


@dataclass(frozen=True)
class _Stripe:
    """rows -> the bags they meet, and what their tiles add to the sums of these bags."""

    matrix: LazyMatrix
    rows: Segments
    columns: Segments
    half: bool  # tiles above the diagonal, and half of those on it

    def __call__(self, rows: slice) -> tuple[slice, Array]:
        some, edges = self.rows.of(rows)
        like = self.matrix.like
        out = zeros((some.stop - some.start, len(self.columns)), like, double(like))
        left = _Cut(edges, self.rows.shares[rows], like)
        for columns in self._columns(rows):
            others, cuts = self.columns.of(columns)
            right = _Cut(cuts, self.columns.shares[columns], like)
            sums = right.sums_across(self._down(rows, columns, left))
            out[:, others] += 0.5 * sums if self.half and columns == rows else sums
        return some, out

    def _down(self, rows: slice, columns: slice, left: _Cut) -> Array:
        """Sums of the rows of every bag, if they can be had without their block: (bags, columns)."""
        on_diagonal = self.half and columns == rows  # whose values are exactly k(x, x) in a block
        sums = (
            None if on_diagonal else self.matrix._bag_rows(rows, columns, left.shares, left.edges)
        )
        if sums is not None:
            return sums
        return left.sums(self.matrix.block(rows, columns))

    def _columns(self, rows: slice) -> list[slice]:
        """Tiles twice as wide as usual: the fewer they are, the less is spent between them."""
        first = rows.stop if self.half else 0
        wide = spans(self.matrix.shape[1], 2 * side(self.matrix.like), first)
        return [rows, *wide] if self.half else wide


class _Cut:
    """A tile's rows (or columns) cut into bags."""

    def __init__(self, edges: np.ndarray, shares: np.ndarray, like: Array) -> None:
        self.edges, self.shares, self.like = edges, shares, like

    def sums(self, tile: Array) -> Array:
        """Weighted sums of the rows of every bag: (bags, columns)."""
        if not is_numpy(tile):
            return array_like(self._indicator, tile) @ tile
        pieces = list(zip(self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True))
        if len(pieces) <= _FEW:
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
        """The weights of each bag in a row of its own: (bags, rows)."""
        bags = len(self.edges) - 1
        owner = np.repeat(np.arange(bags), np.diff(self.edges))
        table = np.where(owner == np.arange(bags)[:, None], self.shares, 0.0)
        return array_like(table, self.like)


def _fits(a: int, b: int, like: Array) -> None:
    need, budget = 2 * a * b * max(itemsize(like), 8), settings().memory
    if need > budget:
        raise MemoryBudgetError(
            f"sums over {a} x {b} bags take {need / 2**20:,.0f} MiB and the budget is "
            f"{budget / 2**20:,.0f} MiB: take fewer bags at a time, or raise mercer.config(memory=...)"
        )
