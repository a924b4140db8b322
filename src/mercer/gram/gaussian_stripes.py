"""Stripes of Gaussian kernel matrices: products, forms and sums of their tiles, in compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer import native_exp
from mercer.gram import blas_calls, gaussian_loops, gaussian_pair_loops
from mercer.gram.blas_calls import routines
from mercer.gram.resampling_weights import CodedColumns
from mercer.gram.threads import (
    MAX_FEW_VECTORS,
    MIN_COLUMNS_FOR_WIDE_TILES,
    TILE,
    WIDE_BYTES,
    spans,
    while_wanted,
)
from mercer.native import Builder, native_loop

# Columns of a tile in products with few vectors: with 480 rows 0.5 MiB, half of a small level-2 cache.
_NARROW = 120
# Labellings in one product with a tile: as numbers they fill a level-2 cache.
MAX_LABELLINGS_TOGETHER = 512
# Columns of a call, and times vectors: 5 to 20 milliseconds, after which an interrupt is noticed.
_MAX_COLUMNS_PER_CALL = 16 * TILE
_MAX_PRODUCTS_PER_CALL = 2**20

_SOURCES = (blas_calls.__file__, native_exp.__file__, gaussian_loops.__file__)
_C_NAMES = {4: "float", 8: "double"}
_WRITE = {4: gaussian_loops.write_single, 8: gaussian_loops.write_double}
_PRODUCTS = {4: gaussian_loops.products_single, 8: gaussian_loops.products_double}
_PRODUCTS_OF_BOTH = {
    4: gaussian_loops.products_of_both_single,
    8: gaussian_loops.products_of_both_double,
}
_CODED_PRODUCTS = {4: gaussian_loops.coded_products_single, 8: gaussian_loops.coded_products_double}
_PAIR_SUMS = {  # by the size of the numbers in forms, then in tiles
    4: {4: gaussian_pair_loops.pair_sums_single, 8: gaussian_pair_loops.pair_sums_mixed},
    8: {8: gaussian_pair_loops.pair_sums_double},
}


@dataclass(frozen=True)
class PairWeights:
    """Weights of pairs of points: weights and labels of the points, and codes with tables of their values."""

    weights: np.ndarray  # (n,), or empty
    labels: np.ndarray  # (labels, n)
    codes: np.ndarray  # (labellings, n)
    tables: np.ndarray  # (tables, values)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All four arrays."""
        return self.weights, self.labels, self.codes, self.tables

    def sizes(self, on_diagonal: bool) -> tuple[int, ...]:
        """The numbers that the loop needs to read the arrays; it leaves out pairs i = j on the diagonal."""
        labels, n = self.labels.shape
        count, tables = len(self.codes), self.tables.shape
        return n, len(self.weights) > 0, on_diagonal, labels, count, *tables

    @classmethod
    def of(
        cls,
        like: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray | None,
        coded: CodedColumns | None,
        tables: np.ndarray,
    ) -> PairWeights:
        """Arrays for loops over tiles of the dtype of `like`; labels are (n, labels)."""
        weights = np.zeros(0) if weights is None else weights
        codes = np.zeros((0, len(labels)), np.uint8) if coded is None else coded.codes
        wide = weights.astype(like.dtype), labels.T.astype(like.dtype)
        return cls(*(plain(array) for array in (*wide, codes, tables)))


@dataclass(frozen=True)
class GaussianLoops:
    """Stripes of a Gaussian kernel matrix, whose tiles are computed and used in compiled loops.

    `symmetric` says that rows and columns are the same points: then entries of the diagonal are exactly 1.
    """

    left: np.ndarray  # (n, p)
    right: np.ndarray  # (p, m)
    rate: float  # factor of squared differences where p = 1

    @classmethod
    def of(cls, left: np.ndarray, right: np.ndarray, rate: float = 0.0) -> GaussianLoops:
        """Loops for factors (n, p) and (p, m)."""
        return cls(plain(left), plain(right), rate)

    @cached_property
    def transposed(self) -> GaussianLoops:
        """Loops over K'."""
        return replace(self, left=plain(self.right.T), right=plain(self.left.T))

    def at(self, index: np.ndarray) -> GaussianLoops:
        """Loops over some rows of K and the same columns."""
        return replace(self, left=self.left[index], right=plain(self.right[:, index]))

    def at_columns(self, index: np.ndarray) -> GaussianLoops:
        """Loops over some columns of K."""
        return replace(self, right=plain(self.right[:, index]))

    def write(self, rows: slice, out: np.ndarray, symmetric: bool) -> None:
        """out = K[rows, :], for an array in C order, of float32 or float64."""
        height, width = rows.stop - rows.start, _NARROW
        work = np.empty(height * width, self.left.dtype)
        loop = self._loop(_WRITE, gaussian_loops.WRITE.replace("OUT", _C_NAMES[out.itemsize]))
        for run in while_wanted(spans(self.right.shape[1], _MAX_COLUMNS_PER_CALL)):
            sizes = (*self._sizes(rows, run), _diagonal(rows, run, symmetric), self.rate, width)
            factors = self._factors(rows, run)
            loop(*factors, out[0, run], work, self._routines, *sizes, out.shape[1])

    def add_products(
        self, rows: slice, columns: slice, v: np.ndarray, total: np.ndarray, symmetric: bool
    ) -> None:
        """total += K[rows, columns] @ v[columns]."""
        height, k = rows.stop - rows.start, v.shape[1]
        width = _tile_columns(v)
        work = np.empty(height * (width + k), v.dtype)
        loop = self._loop(_PRODUCTS, gaussian_loops.PRODUCTS)
        for run in while_wanted(_runs(columns, k, width)):
            diagonal = _diagonal(rows, run, symmetric)
            sizes = *self._sizes(rows, run), diagonal, self.rate, width, k
            loop(*self._factors(rows, run), v[run], total, work, self._routines, *sizes)

    def add_products_of_both(
        self, rows: slice, columns: slice, v: np.ndarray, total: np.ndarray, below: np.ndarray
    ) -> None:
        """total += K[rows, columns] @ v[columns], below = K[columns, rows] @ v[rows]."""
        height, k, width = rows.stop - rows.start, v.shape[1], _NARROW
        work = np.empty(height * (width + k) + width * k, v.dtype)
        loop = self._loop(_PRODUCTS_OF_BOTH, gaussian_loops.PRODUCTS_OF_BOTH)
        for run in while_wanted(_runs(columns, k, width)):
            sizes = *self._sizes(rows, run), width, self.rate, k
            out = below[run.start - columns.start : run.stop - columns.start]
            factors = self._factors(rows, run)
            loop(*factors, v[rows], v[run], total, out, work, self._routines, *sizes)

    def add_coded_products(
        self, rows: slice, columns: slice, coded: CodedColumns, total: np.ndarray
    ) -> None:
        """total += K[rows, columns] @ w[columns] for coded columns w; no entry is on the diagonal."""
        height, k, width = rows.stop - rows.start, coded.width, TILE
        table, codes = coded.table.astype(self.left.dtype), plain(coded.codes)
        work = np.empty(height * (width + k) + width * k, table.dtype)
        loop = self._loop(_CODED_PRODUCTS, gaussian_loops.CODED_PRODUCTS)
        for run in while_wanted(_runs(columns, k, width)):
            sizes = *self._sizes(rows, run), k, self.rate, width
            factors = self._factors(rows, run)
            weights = codes[0, run], codes.shape[1], table, len(table)
            loop(*factors, *weights, total, work, self._routines, *sizes)

    def add_pair_sums(
        self,
        rows: slice,
        columns: slice,
        pairs: PairWeights,
        scales: tuple[float, float],
        sums: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    ) -> float:
        """Add sums over pairs i in rows, j in columns, j != i, and return the sum of the squares.

        `scales` are the shift and the unit of the kernel. `sums` are those of the rows, of the columns, the forms
        of labels and the forms of codes. The rows are the columns, or pairs (j, i) count as well.
        """
        height, width, kind = rows.stop - rows.start, TILE, pairs.tables.dtype
        together = min(len(pairs.codes), MAX_LABELLINGS_TOGETHER)
        work = np.empty((height + 2) * width, self.left.dtype)
        form_work = np.empty(height * width + together * (2 * height + width), kind)
        builders = _PAIR_SUMS[kind.itemsize]
        signature = gaussian_pair_loops.PAIR_SUMS.replace("FORM", _C_NAMES[kind.itemsize])
        loop = self._loop(builders, signature)
        squares = np.zeros(1)
        for run in while_wanted(_runs(columns, max(len(pairs.codes), 1), width)):
            place = (*self._sizes(rows, run), width, rows.start, run.start)
            sizes = np.array((*place, *pairs.sizes(rows == columns), together), np.int64)
            of_columns = sums[1][run.start - columns.start : run.stop - columns.start]
            loop(
                *(*self._factors(rows, run), *pairs.arrays),
                *(sums[0], of_columns, *sums[2:], squares),
                *(work, form_work, self._routines, routines(kind), sizes),
                *(self.rate, scales[0], 1 / scales[1]),
            )
        return float(squares[0])

    def _factors(self, rows: slice, columns: slice) -> tuple[np.ndarray, np.ndarray, int]:
        """The factors of some rows and columns, and the distance of the rows of the second."""
        return self.left[rows], self.right[0, columns], self.right.shape[1]

    def _sizes(self, rows: slice, columns: slice) -> tuple[int, int, int]:
        """Rows, columns, and numbers for each point."""
        return rows.stop - rows.start, columns.stop - columns.start, self.left.shape[1]

    @property
    def _routines(self) -> np.ndarray:
        return routines(self.left.dtype)

    def _loop(self, builders: dict[int, Builder], signature: str) -> Callable[..., int]:
        """The loop for the dtype of the points."""
        size = self.left.itemsize
        return native_loop(builders[size], signature.replace("REAL", _C_NAMES[size]), _SOURCES)


def _diagonal(rows: slice, columns: slice, symmetric: bool) -> int:
    """Column of the run at which row 0 meets the diagonal, which may be outside of the run."""
    return rows.start - columns.start if symmetric else gaussian_loops.NO_DIAGONAL


def plain(array: np.ndarray) -> np.ndarray:
    """The array in the layout for which loops are compiled: in C order, aligned and writeable."""
    return np.require(array, requirements=["C", "A", "W"])


def takes(codes: np.ndarray) -> bool:
    """Whether there are loops for codes of this type."""
    return codes.dtype == np.uint8


def _tile_columns(v: np.ndarray) -> int:
    """Columns of a tile that is multiplied with v (m, k)."""
    if v.shape[1] <= MAX_FEW_VECTORS:
        return _NARROW
    wide = v.shape[1] >= MIN_COLUMNS_FOR_WIDE_TILES
    return WIDE_BYTES // (TILE * v.itemsize) if wide else TILE


def _runs(columns: slice, vectors: int, width: int) -> list[slice]:
    """The columns of each call, in whole tiles."""
    many = min(_MAX_COLUMNS_PER_CALL, _MAX_PRODUCTS_PER_CALL // vectors)
    return spans(columns.stop, max(many // width, 1) * width, first=columns.start)
