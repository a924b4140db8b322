"""Lazy matrices, known by their blocks: products, forms and sums in one pass over tiles; their algebra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    astype,
    double,
    is_numpy,
    itemsize,
    namespace,
    on_gpu,
    ones,
    scalar,
    to_numpy,
    transposed,
    zeros,
)
from mercer.config import settings
from mercer.gram.device_engine import device_engine
from mercer.gram.gaussian_stripes import GaussianLoops
from mercer.gram.resampling_weights import (
    BYTES_PER_DECODED_COLUMN,
    CodedColumns,
    DenseColumns,
    Resamples,
    WeightColumns,
)
from mercer.gram.threads import MAX_FEW_VECTORS, WIDE_BYTES, in_order, runs_elsewhere, side, spans
from mercer.gram.tile_products import (
    RowBlocks,
    RowForms,
    RowProducts,
    SymmetricRowProducts,
    column_sums,
    filled,
    laid_out,
    refuse_beyond_budget,
    stripe_rows,
    write_products,
)
from mercer.linalg import threads_for_product

Product = Callable[[Array], Array]  # v -> K v in float64

_MAX_ENTRIES_OF_ONE_BLOCK = 500_000  # up to here one block costs less than to start threads


class LazyMatrix(ABC):
    """A matrix known by its blocks.

    `block(rows, columns)` gives a dense block for two slices. Products, quadratic forms and sums
    are computed tile by tile on all cores inside the memory budget, in float64 (tiles of float32
    data are float32, sums of them float64), and do not depend on the number of threads.
    """

    __array_ufunc__ = None  # keeps NumPy from putting the matrix into an array of objects

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
        """Whether the matrix equals its transpose by construction."""

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
        if n * m <= _MAX_ENTRIES_OF_ONE_BLOCK:
            with threads_for_product(n * m * v.shape[1]):
                return astype(self._one_block() @ v, double(v))
        v = laid_out(self, v)
        out = zeros((n, v.shape[1]), v, dtype=double(v))
        tiles = spans(n, stripe_rows(self, v.shape[1]))
        if self.symmetric and v.shape[1] <= MAX_FEW_VECTORS:
            work = SymmetricRowProducts(self, v, tiles)
            products = self._run(work, range(len(tiles)), held=8 * n * v.shape[1])
            for rows, (at_rows, below) in zip(tiles, products, strict=True):
                out[rows, :] += at_rows
                out[rows.stop :, :] += below
        elif self._loops is not None and not runs_elsewhere():
            write_products(self, self._loops, to_numpy(v), to_numpy(out))
        else:
            for rows, at_rows in zip(tiles, self._run(RowProducts(self, v), tiles), strict=True):
                out[rows, :] = at_rows
        return out

    def quad(self, w: Any, *, diagonal: bool = True) -> Array:
        """w'Kw for every column w, in one pass over the tiles: (B,), or a number for one vector.

        `w` is an array (n,) or (n, B), or `PermutedWeights` / `SignWeights` (or a chunk of their
        columns), which are generated in chunks and never held in memory together; on a GPU, K
        is rounded to half precision for them. With ``diagonal=False`` the terms i = j are left out.
        """
        self._need_square("quad")
        if isinstance(w, Resamples):
            return self._quad_resampled(w, diagonal)
        if isinstance(w, CodedColumns) or (self._fused is not None and self._fused.takes(w)):
            return self._quad(w, diagonal)
        w = validate.vectors(w, self.shape[0], self.like, "w")
        wide = astype(w if w.ndim == 2 else w[:, None], self.like.dtype)
        forms = self._quad(DenseColumns(laid_out(self, wide)), diagonal)
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
        if self._fused is not None and isinstance(w, DenseColumns):
            all_w = w.rows(slice(0, n))
            forms = column_sums(all_w, self._times(all_w))
        elif n * n <= _MAX_ENTRIES_OF_ONE_BLOCK:
            with threads_for_product(n * n * w.width):
                all_w = w.rows(slice(0, n))
                forms = column_sums(all_w, self._one_block() @ all_w)
        else:
            held = WIDE_BYTES + 3 * BYTES_PER_DECODED_COLUMN * w.width
            terms = self._run(RowForms(self, w), spans(n, stripe_rows(self, 1)), held)
            forms = sum(terms, zeros((w.width,), self.like, double(self.like)))
        return forms if diagonal else forms - self._diagonal_terms(w)

    def _diagonal_terms(self, w: WeightColumns) -> Array:
        """sum_i w_i^2 K_ii for every column: (B,)."""
        diagonal = self.diagonal()
        terms = zeros((w.width,), self.like, double(self.like))
        for rows in spans(self.shape[0], side(self.like)):
            weights = w.rows(rows)
            terms += column_sums(weights, weights * diagonal[rows][:, None])
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
        xp, tiles = namespace(self.like), spans(self.shape[0], side(self.like))
        return xp.concat([xp.linalg.diagonal(self.block(rows, rows)) for rows in tiles])

    def trace(self) -> float:
        """The sum of the diagonal, in float64."""
        d = self.diagonal()
        return scalar(namespace(d).sum(astype(d, double(d))))

    def _columns_at(self, indices: np.ndarray) -> Array:
        """The columns with these indices: (n, k)."""
        everything = slice(0, self.shape[0])
        blocks = [self.block(everything, slice(int(j), int(j) + 1)) for j in indices]
        return namespace(self.like).concat(blocks, axis=1)

    # ---- new matrices -----------------------------------------------------------------

    def __mul__(self, other: LazyMatrix) -> LazyMatrix:
        """The entrywise (Hadamard) product."""
        return Hadamard(self, other) if isinstance(other, LazyMatrix) else NotImplemented

    def centered(self) -> LazyMatrix:
        """HKH with H = I - 11'/n, lazily; takes one pass for the means."""
        self._need_square("centered")
        return Centered.of(self)

    def dense(self) -> Array:
        """The matrix as an array; `MemoryBudgetError` where it does not fit into the memory budget."""
        refuse_beyond_budget(*self.shape, itemsize(self.like))
        return self._filled()

    def _filled(self) -> Array:
        n, m = self.shape
        if n * m <= side(self.like) ** 2:
            return self._one_block()
        tiles = spans(n, side(self.like))
        if is_numpy(self.like) and not runs_elsewhere():  # threads share the array
            return filled(self, self._writer, np.empty((n, m), self.like.dtype), self._run)
        out = zeros((n, m), self.like)
        stripes = self._run(RowBlocks(self), tiles, held=side(self.like) * m * itemsize(self.like))
        for rows, stripe in zip(tiles, stripes, strict=True):
            out[rows, :] = stripe
        return out

    # ---- private ----------------------------------------------------------------------

    _movable_pairs = 0  # pairs of points that `_on_device` could move; a property of some classes

    def _on_device(self, device: str, /) -> LazyMatrix:
        raise TypeError(f"{type(self).__name__} stays where its points are")

    @property
    def _for_gpu(self) -> bool:
        """Whether a GPU computes the tiles."""
        return on_gpu(self.like)

    @property
    def _loops(self) -> GaussianLoops | None:
        """Compiled loops over runs of tiles; None where there are none."""
        return None

    @cached_property
    def _fused(self) -> Any:
        """The fused tiles of the matrix on a GPU; None where there are none."""
        return device_engine().fused_matrix(self) if self._for_gpu else None

    @property
    def _writer(self) -> GaussianLoops | None:
        """Compiled loops that write the matrix, or its rounded form, into an array."""
        return self._loops

    def _one_block(self) -> Array:
        return self.block(slice(0, self.shape[0]), slice(0, self.shape[1]))

    def _run(self, work: Callable[[Any], Any], tasks: Sequence[Any], held: int = 0) -> Iterator:
        """work(task) for every task on the threads; each holds `held` bytes."""
        return in_order(work, tasks, parallel=is_numpy(self.like), held=held)

    def _need_square(self, what: str) -> None:
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"{what} needs a square matrix, got shape {self.shape}")

    def _bag_rows(
        self, rows: slice, columns: slice, weights: np.ndarray, edges: np.ndarray
    ) -> Array | None:
        """Weighted sums of the rows of a block from edge to edge, if they need no block; else None."""
        return None

    def __repr__(self) -> str:
        n, m = self.shape
        return f"<{type(self).__name__} {n} x {m} {self.like.dtype}>"


@dataclass(frozen=True, eq=False, repr=False)
class Hadamard(LazyMatrix):
    """The entrywise product of two matrices; positive semi-definite if both are (Schur)."""

    left: LazyMatrix
    right: LazyMatrix

    def __post_init__(self) -> None:
        for name, factor in (("left", self.left), ("right", self.right)):
            validate.instance(name, factor, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
        validate.same_library(self.left.like, self.right.like, ("left", "right"))
        left, right = self.left.shape, self.right.shape
        if left != right:
            raise ValueError(f"entrywise products need equal shapes, got {left} and {right}")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.left.shape

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the blocks."""
        return self.left.like[:1] * self.right.like[:1]

    @property
    def symmetric(self) -> bool:
        """Whether both factors are symmetric."""
        return self.left.symmetric and self.right.symmetric

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The product of the two blocks."""
        return self.left.block(rows, columns) * self.right.block(rows, columns)

    def diagonal(self) -> Array:
        """The product of the two diagonals: (n,)."""
        return self.left.diagonal() * self.right.diagonal()


class Changed(LazyMatrix):
    """A matrix derived from another, `matrix`, whose shape, dtype and symmetry it inherits."""

    matrix: LazyMatrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.matrix.shape

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the blocks."""
        return self.matrix.like

    @property
    def symmetric(self) -> bool:
        """Whether `matrix` is symmetric."""
        return self.matrix.symmetric


@dataclass(frozen=True, eq=False, repr=False)
class Centered(Changed):
    """HKH with H = I - 11'/n: K_ij - row mean - column mean + mean."""

    matrix: LazyMatrix
    row_means: Array
    column_means: Array
    mean: float

    @classmethod
    def of(cls, matrix: LazyMatrix) -> Centered:
        """Centre a square matrix; one pass over its tiles, two if it is not symmetric."""
        validate.instance("matrix", matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
        matrix._need_square("centered")
        n = matrix.shape[0]
        rows = matrix.row_sums() / n
        columns = rows if matrix.symmetric else Transposed(matrix).row_sums() / n
        return cls(matrix, rows, columns, scalar(namespace(rows).mean(rows)))

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The centred block."""
        tile = self.matrix.block(rows, columns)
        across = astype(self.row_means[rows] - self.mean, tile.dtype)
        down = astype(self.column_means[columns], tile.dtype)
        tile -= across[:, None]
        tile -= down[None, :]
        return tile

    def _times(self, v: Array) -> Array:
        return self.around(self.matrix._times, v)

    def around(self, times: Product, v: Array) -> Array:
        """H K H v from products with K: centring vectors costs less than centring tiles."""
        wide = astype(v, double(v))
        centred = wide - namespace(wide).mean(wide, axis=0)
        product = times(astype(centred, v.dtype))
        return product - namespace(product).mean(product, axis=0)

    def diagonal(self) -> Array:
        """The centred diagonal: (n,)."""
        diagonal = astype(self.matrix.diagonal(), double(self.like))
        return astype(diagonal - self.row_means - self.column_means + self.mean, self.like.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Transposed(Changed):
    """K' of a lazy K."""

    matrix: LazyMatrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, m = self.matrix.shape
        return m, n

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The transposed block."""
        return transposed(self.matrix.block(columns, rows))
