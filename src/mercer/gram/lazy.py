"""Matrices that are never held: everything derives from `block`, one pass over tiles at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    astype,
    count,
    double,
    is_numpy,
    itemsize,
    namespace,
    on_gpu,
    ones,
    scalar,
    zeros,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.resampling_weights import (
    DECODED,
    CodedColumns,
    HeldColumns,
    Resamples,
    WeightColumns,
)
from mercer.gram.threads import WIDE_BYTES, in_order, side, spans, while_wanted, width

_ONE_SHOT = 500_000  # entries below which one dense block beats a round trip through threads
_MIRROR = 16  # columns up to which a symmetric product uses each off-diagonal tile twice
_QUICK = 4  # columns that BLAS multiplies a tile with in the time of two


class LazyMatrix(ABC):
    """A matrix known by its blocks.

    `block(rows, columns)` gives a dense block for two slices. Products, quadratic forms and sums
    are computed tile by tile on all cores inside the memory budget, in float64 (tiles of float32
    data are float32, sums of them float64), and do not depend on the number of threads.
    """

    __array_ufunc__ = None  # NumPy would take it for an object to put into arrays

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def like(self) -> Array:
        """An array of the library, device and dtype of the blocks."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether it equals its transpose by construction."""

    @abstractmethod
    def block(self, rows: slice, columns: slice, /) -> Array:
        """The dense block; the caller may write into it."""

    # ---- products ---------------------------------------------------------------------

    def __matmul__(self, v: Any) -> Array:
        """K @ v for (m,) or (m, k)."""
        v = validate.vectors(v, self.shape[1], self.like, "v")
        wide = v if v.ndim == 2 else v[:, None]
        product = astype(self._times(astype(wide, self.like.dtype)), self.like.dtype)
        return product if v.ndim == 2 else product[:, 0]

    def _times(self, v: Array) -> Array:
        """K @ v in float64: (n, k)."""
        n, m = self.shape
        if self._fused is not None:
            return self._fused.times(v)
        if n * m <= _ONE_SHOT:
            return astype(self._whole() @ v, double(v))
        out = zeros((n, v.shape[1]), v, dtype=double(v))
        tiles = spans(n, side(self.like))
        if self.symmetric and v.shape[1] <= _MIRROR:
            work, tasks = _MirroredRows(self, v), range(len(tiles))
            parts = self._run(work, tasks, held=8 * n * v.shape[1])
            for rows, (own, below) in zip(tiles, parts, strict=True):
                out[rows, :] += own
                out[rows.stop :, :] += below
        else:
            for rows, own in zip(tiles, self._run(_Rows(self, v), tiles), strict=True):
                out[rows, :] = own
        return out

    def quad(self, w: Any, *, diagonal: bool = True) -> Array:
        """w'Kw for every column w, in one pass over the tiles: (B,), or a number for one vector.

        `w` is an array (n,) or (n, B), or `PermutedWeights` / `SignWeights` (or some of their
        columns), which are made by chunk so that they never stand in memory together; on a GPU, K
        is rounded to half precision for these. With ``diagonal=False`` the terms i = j are left out.
        """
        self._need_square("quad")
        if isinstance(w, Resamples):
            return self._quad_resampled(w, diagonal)
        if isinstance(w, CodedColumns) or (self._fused is not None and self._fused.takes(w)):
            return self._quad(w, diagonal)
        w = validate.vectors(w, self.shape[0], self.like, "w")
        wide = astype(w if w.ndim == 2 else w[:, None], self.like.dtype)
        forms = self._quad(HeldColumns(wide), diagonal)
        return forms if w.ndim == 2 else forms[0]

    def _quad_resampled(self, w: Resamples, diagonal: bool) -> Array:
        if w.shape[0] != self.shape[0]:
            raise ValueError(f"w must have {self.shape[0]} rows, got {w.shape[0]}")
        forms = zeros((w.shape[1],), self.like, dtype=double(self.like))
        for chunk in w.chunks(settings().memory // 4):
            forms[chunk] = self._quad(w.columns(chunk, self.like), diagonal)
        return forms

    def _quad(self, w: WeightColumns, diagonal: bool) -> Array:
        n = self.shape[0]
        if self._fused is not None and self.symmetric and self._fused.takes(w):
            return self._fused.quad(w, self.diagonal(), diagonal)
        if self._fused is not None and isinstance(w, HeldColumns):
            all_w = w.rows(slice(0, n))
            forms = _column_sums(all_w, self._times(all_w))
        elif n * n <= _ONE_SHOT:
            whole, all_w = self._whole(), w.rows(slice(0, n))
            forms = _column_sums(all_w, whole @ all_w)
        else:
            tiles = spans(n, side(self.like))
            tasks = range(len(tiles))
            parts = self._run(_Forms(self, w), tasks, held=WIDE_BYTES + 3 * DECODED * w.width)
            forms = sum(parts, zeros((w.width,), self.like, double(self.like)))
        return forms if diagonal else forms - self._own_terms(w)

    def _own_terms(self, w: WeightColumns) -> Array:
        """sum_i w_i^2 K_ii for every column: (B,)."""
        own = self.diagonal()
        terms = zeros((w.width,), self.like, double(self.like))
        for rows in spans(self.shape[0], side(self.like)):
            part = w.rows(rows)
            terms += _column_sums(part, part * own[rows][:, None])
        return terms

    def inner(self, other: LazyMatrix) -> float:
        """The Frobenius inner product, sum_ij A_ij B_ij."""
        validate.instance("other", other, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
        return (self * other).sum()

    # ---- sums -------------------------------------------------------------------------

    def row_sums(self) -> Array:
        """The sum of every row, float64: (n,)."""
        return self._times(ones((self.shape[1], 1), self.like))[:, 0]

    def sum(self) -> float:
        """The sum of all entries, in float64."""
        sums = self.row_sums()
        return scalar(namespace(sums).sum(sums))

    def diagonal(self) -> Array:
        """K_ii: (n,)."""
        self._need_square("diagonal")
        parts = [
            _diagonal_of(self.block(rows, rows)) for rows in spans(self.shape[0], side(self.like))
        ]
        return namespace(self.like).concat(parts)

    def trace(self) -> float:
        """The sum of the diagonal, in float64."""
        d = self.diagonal()
        return scalar(namespace(d).sum(astype(d, double(d))))

    # ---- new matrices -----------------------------------------------------------------

    def __mul__(self, other: LazyMatrix) -> LazyMatrix:
        """The entrywise (Hadamard) product."""
        from mercer.gram.combine import Hadamard

        if not isinstance(other, LazyMatrix):
            return NotImplemented
        return Hadamard(self, other)

    def centered(self) -> LazyMatrix:
        """HKH with H = I - 11'/n, without the matrix; takes one pass for the means."""
        from mercer.gram.combine import Centered

        self._need_square("centered")
        return Centered.of(self)

    def dense(self) -> Array:
        """The whole matrix, if the memory budget allows it."""
        n, m = self.shape
        need, budget = n * m * itemsize(self.like), settings().memory
        if need > budget:
            raise MemoryBudgetError(
                f"the dense {n} x {m} matrix takes {need / 2**20:,.0f} MiB and the budget is "
                f"{budget / 2**20:,.0f} MiB: use @, quad or sum, which never hold it, or raise "
                "mercer.config(memory=...)"
            )
        if n * m <= _ONE_SHOT:
            return self._whole()
        out = zeros((n, m), self.like)
        stripes = spans(n, side(self.like))
        parts = self._run(_Stripe(self), stripes, held=side(self.like) * m * itemsize(self.like))
        for rows, own in zip(stripes, parts, strict=True):
            out[rows, :] = own
        return out

    # ---- private ----------------------------------------------------------------------

    @property
    def _for_gpu(self) -> bool:
        """Whether a GPU works on it."""
        return on_gpu(self.like)

    @cached_property
    def _fused(self) -> Any:
        """Its fused tiles on a GPU; None where there are none."""
        if not self._for_gpu:
            return None
        from mercer.gram.cuda.fused_matrix import fused_matrix

        return fused_matrix(self)

    def _whole(self) -> Array:
        return self.block(slice(0, self.shape[0]), slice(0, self.shape[1]))

    def _run(self, work: Callable[[Any], Any], tasks: Any, held: int = 0) -> Any:
        return in_order(work, tasks, parallel=is_numpy(self.like), held=held)

    def _need_square(self, what: str) -> None:
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"{what} needs a square matrix, got shape {self.shape}")

    def _bag_rows(
        self, rows: slice, columns: slice, weights: np.ndarray, edges: np.ndarray
    ) -> Array | None:
        """Weighted sums of the rows of a block from edge to edge, where they come without it."""
        return None

    def __repr__(self) -> str:
        n, m = self.shape
        return f"<{type(self).__name__} {n} x {m} {self.like.dtype}>"


class OfPairs(LazyMatrix):
    """A matrix with a number for every two of the points `x` (rows) and `y` (columns)."""

    x: Any
    y: Any  # x itself where there is one sample
    _like: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return count(self.x), count(self.y)

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the blocks."""
        return self._like

    @property
    def symmetric(self) -> bool:
        """Whether it is the matrix of one sample with itself."""
        return self.y is self.x


@dataclass(frozen=True)
class _Rows:
    """rows -> K[rows, :] @ v in float64."""

    matrix: LazyMatrix
    v: Array

    def __call__(self, rows: slice) -> Array:
        total = _Accumulator((rows.stop - rows.start, self.v.shape[1]), self.v)
        for columns in while_wanted(spans(self.matrix.shape[1], width(self.v))):
            total.add(self.matrix.block(rows, columns), self.v[columns, :])
        return total.value


@dataclass(frozen=True)
class _MirroredRows:
    """i -> what the tiles (i, i), (i, i+1), ... add to rows i, and their transposes to the rows below."""

    matrix: LazyMatrix
    v: Array

    def __call__(self, i: int) -> tuple[Array, Array]:
        n, xp = self.matrix.shape[0], namespace(self.v)
        rows = spans(n, side(self.matrix.like))[i]
        own = zeros((rows.stop - rows.start, self.v.shape[1]), self.v, double(self.v))
        own += _few_columns(self.matrix.block(rows, rows), self.v[rows, :])
        below = zeros((n - rows.stop, self.v.shape[1]), self.v, double(self.v))
        for columns in while_wanted(spans(n, width(self.v), first=rows.stop)):
            tile = self.matrix.block(rows, columns)
            own += _few_columns(tile, self.v[columns, :])
            down = slice(columns.start - rows.stop, columns.stop - rows.stop)
            below[down, :] = _few_columns(xp.permute_dims(tile, (1, 0)), self.v[rows, :])
            del tile  # before the next one is made: the allocator hands its pages on
        return own, below


@dataclass(frozen=True)
class _Forms:
    """i -> the part of w'Kw that rows i add; of a symmetric matrix only tiles on and above the diagonal."""

    matrix: LazyMatrix
    w: WeightColumns

    def __call__(self, i: int) -> Array:
        n = self.matrix.shape[0]
        rows = spans(n, side(self.matrix.like))[i]
        left = self.w.rows(rows)
        total = _Accumulator(left.shape, left)
        step = width(left)
        above = [] if self.matrix.symmetric else spans(rows.start, step)
        for columns in while_wanted(above + spans(n, step, first=rows.stop)):
            total.add(self.matrix.block(rows, columns), self.w.rows(columns))
        if self.matrix.symmetric:
            total.value *= 2.0
        total.add(self.matrix.block(rows, rows), left)
        return _column_sums(left, total.value)


@dataclass(frozen=True)
class _Stripe:
    """rows -> K[rows, :]."""

    matrix: LazyMatrix

    def __call__(self, rows: slice) -> Array:
        columns = spans(self.matrix.shape[1], side(self.matrix.like))
        parts = [self.matrix.block(rows, some) for some in while_wanted(columns)]
        return namespace(self.matrix.like).concat(parts, axis=1)


class _Accumulator:
    """A float64 sum of products, without a new array for each."""

    def __init__(self, shape: Any, like: Array) -> None:
        self.value = zeros(tuple(shape), like, dtype=double(like))
        self._buffer = np.empty(shape, like.dtype) if is_numpy(like) else None

    def add(self, a: Array, b: Array) -> None:
        if self._buffer is None:
            self.value += a @ b
        else:
            self.value += np.matmul(a, b, out=self._buffer)


def _few_columns(a: Array, b: Array) -> Array:
    """a @ b for few columns, four at a time: BLAS is quick with so few, and slow with a few more."""
    if not is_numpy(a, b) or b.shape[1] <= _QUICK:
        return a @ b
    fours = range(0, b.shape[1], _QUICK)
    return np.concatenate([a @ np.ascontiguousarray(b[:, j : j + _QUICK]) for j in fours], axis=1)


def _column_sums(a: Array, b: Array) -> Array:
    """sum_i a_ik b_ik in float64: (k,)."""
    if is_numpy(a, b):
        return np.einsum("ik,ik->k", a, b, dtype=np.float64)
    return namespace(a).sum(astype(a, double(a)) * b, axis=0)


def _diagonal_of(block: Array) -> Array:
    xp = namespace(block)
    return xp.linalg.diagonal(block)
