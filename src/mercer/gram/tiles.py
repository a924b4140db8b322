"""Functions that compute the tiles of a kernel; work common to all tiles is done before the first.

The exponent of a Gaussian kernel, and any squared distance, is one matrix product of augmented, centred
points: [2g x, -g|x|^2, 1] . [y, 1, -g|y|^2].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add, mul

import numpy as np

from mercer.backend import Array, is_numpy, take_rows, to_numpy
from mercer.gram.fast_exp import exponential
from mercer.gram.gaussian_tiles import AugmentedProduct, GaussianTiles, ScaledDifferences1D
from mercer.gram.stein_tiles import SteinParts, SteinTile, join
from mercer.kernels.algebra import Multiple, Product, Sum
from mercer.kernels.base import Kernel, Points
from mercer.kernels.metric import (
    Profile,
    conditioned,
    refine,
    squared_distances,
    squared_norms,
)
from mercer.kernels.radial import RBF, Energy
from mercer.kernels.smooth import radial_form
from mercer.kernels.stein import Stein, halves
from mercer.kernels.wrappers import InputWrapper

Tile = Callable[[slice, slice], Array]


def tile_maker(kernel: Kernel, x: Points, y: Points) -> Tile:
    """The function (rows, columns) -> dense block of k(x, y), for points that were checked."""
    if isinstance(kernel, InputWrapper):
        inner_x = kernel.move(x)
        return tile_maker(kernel.kernel, inner_x, inner_x if y is x else kernel.move(y))
    if isinstance(kernel, Stein):  # the score is evaluated once at every point
        x_scored = kernel.move(x)
        y_scored = x_scored if y is x else kernel.move(y)
        wide = is_numpy(x_scored, y_scored) and x_scored.dtype == np.float64
        if not (wide and kernel.scored.radial):
            return ByFormula(kernel.scored, x_scored, y_scored)
        parts = stein_parts(to_numpy(x_scored), to_numpy(y_scored), kernel.scored.form[0])
        return SteinTile(parts, join(kernel.kernel, len(x_scored) * len(y_scored)))
    if not is_numpy(x, y) or x.dtype.kind != "f":
        return ByFormula(kernel, x, y)
    form = radial_form(kernel)
    if form is not None:
        return _radial(kernel, form.profile, x, to_numpy(y))
    if isinstance(kernel, Energy):
        return _energy(kernel, x, to_numpy(y))
    if isinstance(kernel, Sum | Product):
        tiles = tile_maker(kernel.left, x, y), tile_maker(kernel.right, x, y)
        return _Combined(tiles, add if isinstance(kernel, Sum) else mul)
    if isinstance(kernel, Multiple):
        return _Multiplied(tile_maker(kernel.kernel, x, y), kernel.factor)
    return ByFormula(kernel, x, y)


def _radial(kernel: Kernel, profile: Profile, x: np.ndarray, y: np.ndarray) -> Tile:
    out, exp = x.dtype, exponential(x.shape[0] * y.shape[0])
    if x.shape[1] == 1:  # differences on the line are exact
        if isinstance(kernel, RBF) and x.dtype == y.dtype:
            return GaussianTiles(ScaledDifferences1D(x, y, -kernel.rate), out, exp)
        return ByFormula(kernel, x, y)
    x, y, care = conditioned(x, y, profile)
    if isinstance(kernel, RBF) and not care:
        return GaussianTiles(AugmentedProduct(*_augmented(x, y, -kernel.rate), out), out, exp)
    return _RadialTiles(*_augmented(x, y, 1.0), out, profile, (x, y) if care else None)


def _energy(kernel: Energy, x: np.ndarray, y: np.ndarray) -> Tile:
    x_norms = to_numpy(kernel.raised(squared_norms(x)))
    y_norms = x_norms if y is x else to_numpy(kernel.raised(squared_norms(y)))
    return _EnergyTiles(distance_tiles(x, y, kernel.raised), x_norms, y_norms, kernel)


def distance_tiles(x: Points, y: Points, profile: Profile) -> Tile:
    """The function (rows, columns) -> squared distances, as exact as `profile` needs them."""
    if not is_numpy(x, y) or x.dtype.kind != "f" or x.shape[1] == 1:
        return _Distances(x, y, profile)
    out = x.dtype
    x, y, care = conditioned(x, x if y is x else to_numpy(y), profile)
    return _RadialTiles(*_augmented(x, y, 1.0), out, _identity_profile, (x, y) if care else None)


def stein_parts(x: np.ndarray, y: np.ndarray, profile: Profile) -> SteinParts:
    """The intermediates of Stein kernels on rows [x, s(x)]; distances as exact as `profile` needs."""
    a = np.ascontiguousarray(halves(x)[0])
    b = a if y is x else np.ascontiguousarray(halves(y)[0])
    return SteinParts(x, y, distance_tiles(a, b, profile))


def _augmented(x: np.ndarray, y: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """A, B with A @ B = factor * squared distances."""
    (n, d), m = x.shape, len(y)
    rows, columns = np.empty((n, d + 2), dtype=x.dtype), np.empty((d + 2, m), dtype=x.dtype)
    norms = squared_norms(x)
    np.multiply(x, -2 * factor, out=rows[:, :d])
    rows[:, d], rows[:, d + 1] = factor * norms, 1
    columns[:d], columns[d] = y.T, 1
    columns[d + 1] = factor * (norms if y is x else squared_norms(y))
    return rows, columns


@dataclass(frozen=True)
class ByFormula:
    """Tiles by `kernel.pairwise`."""

    kernel: Kernel
    x: Points
    y: Points

    def __call__(self, rows: slice, columns: slice) -> Array:
        return self.kernel.pairwise(take_rows(self.x, rows), take_rows(self.y, columns))


@dataclass(frozen=True)
class _Distances:
    """Squared distances by `squared_distances`."""

    x: Array
    y: Array
    profile: Profile

    def __call__(self, rows: slice, columns: slice) -> Array:
        a, b = take_rows(self.x, rows), take_rows(self.y, columns)
        return squared_distances(a, b, self.profile)


@dataclass(frozen=True)
class _RadialTiles:
    """A profile of squared distances, which are a matrix product."""

    row_factor: np.ndarray
    column_factor: np.ndarray
    dtype: np.dtype
    profile: Profile
    points: tuple[np.ndarray, np.ndarray] | None  # centred, where near-equal pairs are refined

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        r2 = self.row_factor[rows] @ self.column_factor[:, columns]
        np.maximum(r2, 0, out=r2)
        if self.points is not None:
            r2 = refine(r2, self.points[0][rows], self.points[1][columns])
        return to_numpy(self.profile(r2.astype(self.dtype, copy=False)))


@dataclass(frozen=True)
class _EnergyTiles:
    """(|x|^p + |y|^p - |x - y|^p) / 2 from squared distances."""

    squares: Tile
    x_norms: np.ndarray  # |x_i|^p
    y_norms: np.ndarray
    kernel: Energy

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        tile = self.x_norms[rows, None] + self.y_norms[columns]
        tile -= to_numpy(self.kernel.raised(self.squares(rows, columns)))
        tile /= 2
        return tile


@dataclass(frozen=True)
class _Combined:
    """A sum or product of tiles."""

    tiles: tuple[Tile, ...]
    join: Callable[[Array, Array], Array]

    def __call__(self, rows: slice, columns: slice) -> Array:
        return reduce(self.join, (tile(rows, columns) for tile in self.tiles))


@dataclass(frozen=True)
class _Multiplied:
    """A non-negative multiple of tiles."""

    tile: Tile
    factor: float

    def __call__(self, rows: slice, columns: slice) -> Array:
        return self.factor * self.tile(rows, columns)


def _identity_profile(r2: Array) -> Array:
    return r2
