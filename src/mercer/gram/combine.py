"""Further lazy matrices: of pairs of points, reweighted, rounded, dense, and of low rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer import validate
from mercer.backend import Array, astype, count, double, namespace, transposed, zeros
from mercer.gram.gaussian_stripes import GaussianLoops
from mercer.gram.lazy import Changed, LazyMatrix, Product
from mercer.gram.resampling_weights import WeightColumns
from mercer.gram.threads import spans
from mercer.linalg import threads_for_product


class OfPairs(LazyMatrix):
    """A matrix with an entry for every pair of points, of `x` (rows) and `y` (columns)."""

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
        """Whether x and y are one sample."""
        return self.y is self.x


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
        """w * K (w * v) from products with K: weighting vectors costs less than weighting tiles."""
        wide = astype(self.weights, double(v))[:, None]
        return wide * times(astype(wide * astype(v, double(v)), v.dtype))

    def diagonal(self) -> Array:
        """w_i^2 K_ii: (n,)."""
        return self.matrix.diagonal() * astype(self.weights, self.like.dtype) ** 2


@dataclass(frozen=True, eq=False, repr=False)
class Rounded(Changed):
    """K in float32: products with it are twice as fast.

    A resampling test stays exactly valid if the observed statistic is rounded in the same way.
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

    @property
    def _writer(self) -> GaussianLoops | None:
        return self.matrix._writer


class Dense(LazyMatrix):
    """An array in memory, as a lazy matrix."""

    def __init__(self, array: Any) -> None:
        self.array = validate.points(array, "array")
        n, m = self.array.shape
        equal = n == m and namespace(self.array).all(self.array == transposed(self.array))
        self._symmetric = bool(equal)

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
        """Whether the array equals its transpose."""
        return self._symmetric

    def dense(self) -> Array:
        """The array itself, not a copy."""
        return self.array

    def _times(self, v: Array) -> Array:
        if self.array.dtype == double(v):
            n, m = self.shape
            with threads_for_product(n * m * v.shape[1]):
                return self.array @ v
        return super()._times(v)

    def block(self, rows: slice, columns: slice, /) -> Array:
        """A copy of the block."""
        return namespace(self.array).asarray(self.array[rows, columns], copy=True)


class Held(Dense):
    """The dense array of a symmetric lazy matrix, which needs no checks."""

    def __init__(self, matrix: LazyMatrix) -> None:
        self.array = matrix.dense()
        self._symmetric = True

    def diagonal(self) -> Array:
        """K_ii: (n,)."""
        return namespace(self.array).linalg.diagonal(self.array)


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
        """True: Z Z' is symmetric."""
        return True

    def block(self, rows: slice, columns: slice, /) -> Array:
        """Z_rows Z_columns'."""
        return self.features[rows, :] @ transposed(self.features[columns, :])

    def diagonal(self) -> Array:
        """|z_i|^2: (n,)."""
        return namespace(self.features).sum(self.features**2, axis=1)

    def centered(self) -> LowRank:
        """H Z (H Z)'."""
        return LowRank(self.features - namespace(self.features).mean(self.features, axis=0))

    def _times(self, v: Array) -> Array:
        z = astype(self.features, double(v))
        return z @ (transposed(z) @ astype(v, double(v)))

    def _quad(self, w: WeightColumns, diagonal: bool) -> Array:
        z = self.features
        projected = zeros((z.shape[1], w.width), z, double(z))  # Z'w
        for rows in spans(self.shape[0]):
            projected += transposed(z[rows, :]) @ w.rows(rows)
        forms = namespace(projected).sum(projected**2, axis=0)
        return forms if diagonal else forms - self._diagonal_terms(w)
