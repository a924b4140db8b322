"""Lazy matrices made of others: entrywise products, centring, low rank, and dense ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer import validate
from mercer.backend import Array, astype, double, namespace, scalar, zeros
from mercer.gram.lazy import LazyMatrix
from mercer.gram.resampling_weights import WeightColumns
from mercer.gram.threads import spans

Product = Callable[[Array], Array]  # v -> K v in float64


@dataclass(frozen=True, eq=False, repr=False)
class Hadamard(LazyMatrix):
    """The entrywise product of two matrices; positive semi-definite if both are (Schur)."""

    left: LazyMatrix
    right: LazyMatrix

    def __post_init__(self) -> None:
        for name, part in (("left", self.left), ("right", self.right)):
            validate.instance(name, part, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)")
        validate.same_library(self.left.like, self.right.like, ("left", "right"))
        if self.left.shape != self.right.shape:
            raise ValueError(
                f"entrywise products need equal shapes, got {self.left.shape} and {self.right.shape}"
            )

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
        """Whether both are."""
        return self.left.symmetric and self.right.symmetric

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The product of the two blocks."""
        return self.left.block(rows, columns) * self.right.block(rows, columns)

    def diagonal(self) -> Array:
        """The product of the two diagonals: (n,)."""
        return self.left.diagonal() * self.right.diagonal()


class Changed(LazyMatrix):
    """Another matrix with changed blocks; what is not changed is the other's."""

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
        """Whether the matrix is."""
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
        """H K H v from products with K: columns are centred, which costs less than to centre tiles."""
        wide = astype(v, double(v))
        moved = wide - namespace(wide).mean(wide, axis=0)
        product = times(astype(moved, v.dtype))
        return product - namespace(product).mean(product, axis=0)

    def diagonal(self) -> Array:
        """The centred diagonal: (n,)."""
        own = astype(self.matrix.diagonal(), double(self.like))
        return astype(own - self.row_means - self.column_means + self.mean, self.like.dtype)


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
        return namespace(self.like).permute_dims(self.matrix.block(columns, rows), (1, 0))


@dataclass(frozen=True, eq=False, repr=False)
class Reweighted(Changed):
    """w_i K_ij w_j for one number per point."""

    matrix: LazyMatrix
    weights: Array

    def __post_init__(self) -> None:
        validate.instance(
            "matrix", self.matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)"
        )
        self.matrix._need_square("Reweighted")
        n, like = self.matrix.shape[0], self.matrix.like
        weights = validate.vectors(self.weights, n, like, "weights")
        if weights.ndim != 1:
            raise ValueError(f"weights must have shape ({n},), got {tuple(weights.shape)}")
        object.__setattr__(self, "weights", weights)

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The block, with weights."""
        tile = self.matrix.block(rows, columns)
        w = astype(self.weights, tile.dtype)
        return tile * w[rows][:, None] * w[columns][None, :]

    def _times(self, v: Array) -> Array:
        return self.around(self.matrix._times, v)

    def around(self, times: Product, v: Array) -> Array:
        """w * K (w * v) from products with K: columns are weighted, not tiles."""
        wide = astype(self.weights, double(v))[:, None]
        return wide * times(astype(wide * astype(v, double(v)), v.dtype))

    def diagonal(self) -> Array:
        """w_i^2 K_ii: (n,)."""
        return self.matrix.diagonal() * astype(self.weights, self.like.dtype) ** 2


@dataclass(frozen=True, eq=False, repr=False)
class Rounded(Changed):
    """K in float32: products with it are twice as fast.

    A resampling test stays exactly valid when what was observed goes through the same rounding.
    """

    matrix: LazyMatrix

    def __post_init__(self) -> None:
        validate.instance(
            "matrix", self.matrix, LazyMatrix, "a LazyMatrix, such as Gram(kernel, x)"
        )

    @property
    def like(self) -> Array:
        """An array of the library and device of the blocks, in float32."""
        return astype(self.matrix.like, namespace(self.matrix.like).float32)

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The block, rounded."""
        return astype(self.matrix.block(rows, columns), self.like.dtype)


class Dense(LazyMatrix):
    """A matrix that is held already, in lazy clothes."""

    def __init__(self, array: Any) -> None:
        self.array = validate.points(array, "array")
        n, m = self.array.shape
        xp = namespace(self.array)
        turned = xp.permute_dims(self.array, (1, 0))
        self._symmetric = n == m and bool(xp.all(self.array == turned))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the blocks."""
        return self.array[:1, 0]

    @property
    def symmetric(self) -> bool:
        """Whether it equals its transpose."""
        return self._symmetric

    def dense(self) -> Array:
        """The matrix itself, not a copy."""
        return self.array

    def _times(self, v: Array) -> Array:
        if self.array.dtype == double(v):
            return self.array @ v
        return super()._times(v)

    def block(self, rows: slice, columns: slice, /) -> Array:
        """A copy of the block."""
        return namespace(self.array).asarray(self.array[rows, columns], copy=True)


class LowRank(LazyMatrix):
    """K = Z Z' for features Z (n, r): products cost n r, not n^2."""

    def __init__(self, features: Any) -> None:
        self.features = validate.points(features, "features")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.features.shape[0], self.features.shape[0]

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the blocks."""
        return self.features[:1, 0]

    @property
    def symmetric(self) -> bool:
        """Always."""
        return True

    def block(self, rows: slice, columns: slice, /) -> Array:
        """Z_rows Z_columns'."""
        return self.features[rows, :] @ self._turned(self.features[columns, :])

    def diagonal(self) -> Array:
        """|z_i|^2: (n,)."""
        return namespace(self.features).sum(self.features**2, axis=1)

    def centered(self) -> LowRank:
        """H Z (H Z)'."""
        return LowRank(self.features - namespace(self.features).mean(self.features, axis=0))

    def _times(self, v: Array) -> Array:
        z = astype(self.features, double(v))
        return z @ (self._turned(z) @ astype(v, double(v)))

    def _quad(self, w: WeightColumns, diagonal: bool) -> Array:
        z = self.features
        spread = zeros((z.shape[1], w.width), z, double(z))
        for rows in spans(self.shape[0]):
            spread += self._turned(z[rows, :]) @ w.rows(rows)
        forms = namespace(spread).sum(spread**2, axis=0)
        return forms if diagonal else forms - self._own_terms(w)

    def _turned(self, z: Array) -> Array:
        return namespace(z).permute_dims(z, (1, 0))
