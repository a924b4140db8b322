"""Tiles of a Gaussian kernel matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.gram.fast_exp import compiled_exp, exponential_sums
from mercer.gram.gaussian_stripes import GaussianLoops


@dataclass(frozen=True)
class AugmentedProduct:
    """Exponents as a matrix product, row factor times column factor."""

    row_factor: np.ndarray
    column_factor: np.ndarray
    dtype: np.dtype

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        return (self.row_factor[rows] @ self.column_factor[:, columns]).astype(
            self.dtype, copy=False
        )

    def loops(self) -> GaussianLoops | None:
        """Compiled loops; None where exponents are rounded to a lower precision."""
        if self.row_factor.dtype != self.dtype:
            return None
        return GaussianLoops.of(self.row_factor, self.column_factor)


@dataclass(frozen=True)
class ScaledDifferences1D:
    """Exponents as a factor times squared differences of points on the line."""

    x: np.ndarray
    y: np.ndarray
    factor: float

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        r2 = self.x[rows] - self.y[columns, 0]
        r2 *= r2
        r2 *= self.factor
        return r2

    def loops(self) -> GaussianLoops:
        """Compiled loops."""
        return GaussianLoops.of(self.x, self.y.T, self.factor)


@dataclass(frozen=True)
class GaussianTiles:
    """Tiles of exp(exponent), computed in place."""

    exponents: AugmentedProduct | ScaledDifferences1D
    dtype: np.dtype
    exp: Callable[[np.ndarray], np.ndarray]

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        return self.exp(self.exponents(rows, columns))

    @cached_property
    def loops(self) -> GaussianLoops | None:
        """Compiled loops over runs of tiles; None where compiling does not pay."""
        return self.exponents.loops() if self.exp is compiled_exp else None

    def bag_rows(
        self, rows: slice, columns: slice, weights: np.ndarray, edges: np.ndarray
    ) -> np.ndarray | None:
        """Weighted sums of the rows from edge to edge, without forming the block; None if not compiled."""
        if self.exp is not compiled_exp:
            return None
        exponents = self.exponents(rows, columns)
        sums = np.empty((len(edges) - 1, exponents.shape[1]), dtype=self.dtype)
        exponential_sums(exponents, weights.astype(self.dtype, copy=False), edges, sums)
        return sums
