"""How a kernel's tiles are made fast: what can be done once for all tiles is done before the first.

The exponent of a Gaussian kernel, and any squared distance, comes straight out of one matrix
product of widened, centred points: [2g x, -g|x|^2, 1] . [y, 1, -g|y|^2].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add, mul

import numpy as np

from mercer.backend import Array, is_numpy, take_rows
from mercer.gram.fast_exp import compiled_exp, exponential, exponential_sums
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
from mercer.kernels.radial import RBF
from mercer.kernels.smooth import radial_form
from mercer.kernels.stein import Stein, halves
from mercer.kernels.wrappers import InputWrapper

Tile = Callable[[slice, slice], Array]


def tile_maker(kernel: Kernel, x: Points, y: Points) -> Tile:
    """The function (rows, columns) -> dense block of k(x, y), its preparations done."""
    if isinstance(kernel, InputWrapper):
        moved = kernel.move(x)
        return tile_maker(kernel.kernel, moved, moved if y is x else kernel.move(y))
    if isinstance(kernel, Stein):  # scores are taken once
        moved = kernel.move(x)
        others = moved if y is x else kernel.move(y)
        wide = is_numpy(moved, others) and moved.dtype == np.float64
        if not (wide and kernel.scored.radial):
            return _Plain(kernel.scored, moved, others)
        parts = stein_parts(moved, others, kernel.scored.form[0])
        return SteinTile(parts, join(kernel.kernel, len(moved) * len(others)))
    if not is_numpy(x, y) or x.dtype.kind != "f":
        return _Plain(kernel, x, y)
    form = radial_form(kernel)
    if form is not None:
        return _radial(kernel, form.profile, x, y)
    if isinstance(kernel, Sum | Product):
        parts = tile_maker(kernel.left, x, y), tile_maker(kernel.right, x, y)
        return _Combined(parts, add if isinstance(kernel, Sum) else mul)
    if isinstance(kernel, Multiple):
        return _Multiplied(tile_maker(kernel.kernel, x, y), kernel.factor)
    return _Plain(kernel, x, y)


def _radial(kernel: Kernel, profile: Profile, x: np.ndarray, y: np.ndarray) -> Tile:
    out, exp = x.dtype, exponential(x.shape[0] * y.shape[0])
    if x.shape[1] == 1:  # differences on the line are exact
        if isinstance(kernel, RBF) and x.dtype == y.dtype:
            return GaussianTiles(_Line(x, y, -kernel.rate), out, exp)
        return _Plain(kernel, x, y)
    x, y, care = conditioned(x, y, profile)
    if isinstance(kernel, RBF) and not care:
        return GaussianTiles(_Exponents(*_widened(x, y, -kernel.rate), out), out, exp)
    return _Radial(*_widened(x, y, 1.0), out, profile, (x, y) if care else None)


def distance_tiles(x: Points, y: Points, profile: Profile) -> Tile:
    """The function (rows, columns) -> squared distances, as exact as `profile` needs them."""
    if not is_numpy(x, y) or x.dtype.kind != "f" or x.shape[1] == 1:
        return _Distances(x, y, profile)
    out = x.dtype
    x, y, care = conditioned(x, y, profile)
    return _Radial(*_widened(x, y, 1.0), out, _itself, (x, y) if care else None)


def stein_parts(x: np.ndarray, y: np.ndarray, profile: Profile) -> SteinParts:
    """What Stein kernels need of rows [x, s(x)], distances as exact as `profile` needs them."""
    a = np.ascontiguousarray(halves(x)[0])
    b = a if y is x else np.ascontiguousarray(halves(y)[0])
    return SteinParts(x, y, distance_tiles(a, b, profile))


def _widened(x: np.ndarray, y: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """A, B with A @ B = factor * squared distances."""
    one = np.ones((1, 1), dtype=x.dtype)
    nx, ny = factor * squared_norms(x)[:, None], factor * squared_norms(y)[:, None]
    left = np.concatenate([-2 * factor * x, nx, np.broadcast_to(one, nx.shape)], axis=1)
    right = np.concatenate([y, np.broadcast_to(one, ny.shape), ny], axis=1)
    return left.astype(x.dtype), np.ascontiguousarray(right.T.astype(x.dtype))


@dataclass(frozen=True)
class _Plain:
    """Tiles by the kernel's own formula."""

    kernel: Kernel
    x: Points
    y: Points

    def __call__(self, rows: slice, columns: slice) -> Array:
        return self.kernel.pairwise(take_rows(self.x, rows), take_rows(self.y, columns))


@dataclass(frozen=True)
class _Distances:
    """Squared distances by their own formula."""

    x: Array
    y: Array
    profile: Profile

    def __call__(self, rows: slice, columns: slice) -> Array:
        a, b = take_rows(self.x, rows), take_rows(self.y, columns)
        return squared_distances(a, b, self.profile)


@dataclass(frozen=True)
class GaussianTiles:
    """exp of what was made for it, in place."""

    exponents: Callable[[slice, slice], np.ndarray]
    dtype: np.dtype
    exp: Callable[[np.ndarray], np.ndarray]

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        return self.exp(self.exponents(rows, columns))

    def bag_rows(
        self, rows: slice, columns: slice, weights: np.ndarray, edges: np.ndarray
    ) -> np.ndarray | None:
        """Sums of rows, each times its weight, from edge to edge, without the block; None: not compiled."""
        if self.exp is not compiled_exp:
            return None
        exponents = self.exponents(rows, columns)
        sums = np.empty((len(edges) - 1, exponents.shape[1]), dtype=self.dtype)
        exponential_sums(exponents, weights.astype(self.dtype, copy=False), edges, sums)
        return sums


@dataclass(frozen=True)
class _Exponents:
    """Tiles of one matrix product."""

    left: np.ndarray
    right: np.ndarray
    dtype: np.dtype

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        return (self.left[rows] @ self.right[:, columns]).astype(self.dtype, copy=False)


@dataclass(frozen=True)
class _Line:
    """A factor times squared differences on the line."""

    x: np.ndarray
    y: np.ndarray
    factor: float

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        r2 = self.x[rows] - self.y[columns, 0]
        r2 *= r2
        r2 *= self.factor
        return r2


@dataclass(frozen=True)
class _Radial:
    """A profile of squared distances that come from one matrix product."""

    left: np.ndarray
    right: np.ndarray
    dtype: np.dtype
    profile: Profile
    points: tuple[np.ndarray, np.ndarray] | None  # centred, where near-equal pairs need care

    def __call__(self, rows: slice, columns: slice) -> np.ndarray:
        r2 = self.left[rows] @ self.right[:, columns]
        np.maximum(r2, 0, out=r2)
        if self.points is not None:
            r2 = refine(r2, self.points[0][rows], self.points[1][columns])
        return self.profile(r2.astype(self.dtype, copy=False))


@dataclass(frozen=True)
class _Combined:
    """A sum or product of tiles."""

    parts: tuple[Tile, ...]
    join: Callable[[Array, Array], Array]

    def __call__(self, rows: slice, columns: slice) -> Array:
        return reduce(self.join, (part(rows, columns) for part in self.parts))


@dataclass(frozen=True)
class _Multiplied:
    """A non-negative multiple of tiles."""

    part: Tile
    factor: float

    def __call__(self, rows: slice, columns: slice) -> Array:
        return self.factor * self.part(rows, columns)


def _itself(r2: np.ndarray) -> np.ndarray:
    return r2
