"""Tiles of several kernels on the same points; shared intermediates, such as distances, are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import add, mul
from typing import Any, Protocol

import numpy as np

from mercer.backend import Array, count, is_array, is_numpy, take_rows, to_numpy
from mercer.gram.device_work import both_to_device
from mercer.gram.gaussian_stripes import GaussianLoops
from mercer.gram.gaussian_tiles import GaussianTiles
from mercer.gram.stein_tiles import Join
from mercer.gram.stein_tiles import join as stein_join
from mercer.gram.tiles import Tile, distance_tiles, stein_parts, tile_maker
from mercer.kernels.algebra import Multiple, Product, Sum
from mercer.kernels.base import Kernel, Points
from mercer.kernels.metric import Profile, l1_distances
from mercer.kernels.radial import Laplace
from mercer.kernels.smooth import radial_form
from mercer.kernels.stein import Stein
from mercer.kernels.wrappers import InputWrapper

SharedTiles = dict[Any, Any]  # tiles that several kernels need, for one pair of slices, by name


class Family:
    """k_1(x_i, y_j), k_2(x_i, y_j), ... for kernels on the same points, known by their tiles.

    Squared distances are shared by all radial kernels, city-block distances by all Laplace kernels,
    and equal parts of sums and products (such as the factor of the categories of a data frame) by all
    kernels that contain them. The points are trusted: they were checked before.
    """

    def __init__(self, kernels: Sequence[Kernel], x: Points, y: Points | None = None) -> None:
        self.kernels, self.x = tuple(kernels), x
        self.y = x if y is None else y
        if len(self.kernels) == 1:
            self._nodes: list[_Node] = [_Unshared(tile_maker(self.kernels[0], x, self.y))]
        else:
            self._nodes = _Planner(self.kernels, x, self.y).nodes
        self.shape = count(x), count(self.y)  # of every matrix
        self.like = self.kernels[0].diag(
            take_rows(x, slice(0, 1))
        )  # library, device, dtype of tiles

    def __reduce__(self) -> Any:  # workers compute the factors of the tiles again
        return Family, (self.kernels, self.x, None if self.y is self.x else self.y)

    def __len__(self) -> int:
        return len(self.kernels)

    @property
    def movable_pairs(self) -> int:
        """Pairs of points that `on_device` could move: none where points are no arrays in memory."""
        return self.shape[0] * self.shape[1] if is_numpy(self.x, self.y) else 0

    def on_device(self, device: str) -> Family:
        """The same kernels on points copied to a device of torch."""
        return Family(self.kernels, *both_to_device(self.x, self.y, device))

    @property
    def loops(self) -> GaussianLoops | None:
        """Compiled loops over runs of tiles, of a family of one Gaussian kernel; else None."""
        node = self._nodes[0]
        if isinstance(node, _Unshared) and isinstance(node.tile, GaussianTiles):
            return node.tile.loops
        return None

    def tiles(self, rows: slice, columns: slice) -> Iterator[Array]:
        """The tile of every kernel, one after the other; the caller may write into it."""
        shared: SharedTiles = {}
        return (node(rows, columns, shared) for node in self._nodes)


class _Node(Protocol):
    """Part of the formula of a kernel: computes its tile, from shared tiles where there are any."""

    def __call__(self, rows: slice, columns: slice, shared: SharedTiles, /) -> Array: ...


@dataclass(frozen=True)
class _Unshared:
    """A tile that one kernel alone needs."""

    tile: Tile

    def __call__(self, rows: slice, columns: slice, shared: SharedTiles) -> Array:
        return self.tile(rows, columns)


@dataclass(frozen=True)
class _Shared:
    """A tile that several kernels need: computed once, and not to be written into."""

    name: Any
    tile: Callable[[slice, slice], Any]

    def __call__(self, rows: slice, columns: slice, shared: SharedTiles) -> Any:
        if self.name not in shared:
            shared[self.name] = self.tile(rows, columns)
        return shared[self.name]


@dataclass(frozen=True)
class _Applied:
    """A function of a shared tile, such as a radial profile of squared distances."""

    function: Profile
    argument: _Shared

    def __call__(self, rows: slice, columns: slice, shared: SharedTiles) -> Array:
        return self.function(self.argument(rows, columns, shared))


@dataclass(frozen=True)
class _Joined:
    """A sum or product of two tiles, in a new array."""

    join: Callable[[Any, Any], Array]
    left: _Node
    right: _Node

    def __call__(self, rows: slice, columns: slice, shared: SharedTiles) -> Array:
        return self.join(self.left(rows, columns, shared), self.right(rows, columns, shared))


@dataclass(frozen=True)
class _Times:
    """A multiple of a tile, in a new array."""

    factor: float
    node: _Node

    def __call__(self, rows: slice, columns: slice, shared: SharedTiles) -> Array:
        return self.factor * self.node(rows, columns, shared)


@dataclass(frozen=True)
class _Stein:
    """A Stein kernel, from the three arrays that all Stein kernels of one score share."""

    join: Join
    parts: _Shared

    def __call__(self, rows: slice, columns: slice, shared: SharedTiles) -> Array:
        r2, products, steps = self.parts(rows, columns, shared)
        out = np.empty_like(r2)
        self.join(r2, products, steps, out)
        return out


class _L1:
    """City-block distances of slices of points."""

    def __init__(self, x: Array, y: Array) -> None:
        self.x, self.y = x, y

    def __call__(self, rows: slice, columns: slice) -> Array:
        return l1_distances(take_rows(self.x, rows), take_rows(self.y, columns))


class _Planner:
    """Plans the tiles of several kernels so that shared intermediates are computed once.

    A path names transformed points by the wrappers that led to them: equal paths have equal points.
    """

    def __init__(self, kernels: Sequence[Kernel], x: Points, y: Points) -> None:
        self._points: dict[Any, tuple[Points, Points]] = {(): (x, y)}
        self._profiles: dict[Any, list[Profile]] = {}
        self._distances: dict[Any, _Shared] = {}
        for kernel in kernels:
            self._collect(kernel, ())
        self.nodes = [self._node(kernel, ()) for kernel in kernels]

    def _collect(self, kernel: Kernel, path: tuple[Any, ...]) -> None:
        """Collect the radial profiles at each path; the most sensitive one sets the accuracy of distances."""
        form = self._radial(kernel, path)
        if form is not None:
            self._profiles.setdefault(path, []).append(form)
        elif isinstance(kernel, Stein) and kernel.scored.radial:
            self._profiles.setdefault(self._score(kernel, path), []).append(kernel.scored.form[0])
        elif isinstance(kernel, InputWrapper):
            self._collect(kernel.kernel, self._transformed(kernel, path))
        elif isinstance(kernel, Sum | Product):
            self._collect(kernel.left, path)
            self._collect(kernel.right, path)
        elif isinstance(kernel, Multiple):
            self._collect(kernel.kernel, path)

    def _node(self, kernel: Kernel, path: tuple[Any, ...]) -> _Node:
        x, y = self._points[path]
        form = self._radial(kernel, path)
        if form is not None:
            return _Applied(form, self._squared(path))
        if isinstance(kernel, Laplace) and is_array(x):
            shared = self._distances.setdefault(("l1", path), _Shared(("l1", path), _L1(x, y)))
            return _Applied(kernel._decay, shared)
        wide = is_numpy(x, y) and x.dtype == np.float64
        if isinstance(kernel, Stein) and wide and kernel.scored.radial:
            formula = stein_join(kernel.kernel, count(x) * count(y))
            return _Stein(formula, self._scored(kernel, path))
        if isinstance(kernel, InputWrapper):
            return self._node(kernel.kernel, self._transformed(kernel, path))
        if isinstance(kernel, Sum | Product):
            terms = self._node(kernel.left, path), self._node(kernel.right, path)
            return _Joined(add if isinstance(kernel, Sum) else mul, *terms)
        if isinstance(kernel, Multiple):
            return _Times(kernel.factor, self._node(kernel.kernel, path))
        return _Times(1.0, _Shared((_identity(kernel), path), tile_maker(kernel, x, y)))

    def _radial(self, kernel: Kernel, path: tuple[Any, ...]) -> Profile | None:
        form = None if isinstance(kernel, InputWrapper) else radial_form(kernel)
        return form.profile if form is not None and is_array(self._points[path][0]) else None

    def _squared(self, path: tuple[Any, ...]) -> _Shared:
        name = ("r2", path)
        if name not in self._distances:
            x, y = self._points[path]
            profile = _MostSensitive(tuple(self._profiles[path]))
            self._distances[name] = _Shared(name, distance_tiles(x, y, profile))
        return self._distances[name]

    def _score(self, kernel: Stein, path: tuple[Any, ...]) -> tuple[Any, ...]:
        """The path of points with a score; Stein kernels of one score share their intermediates."""
        return (*path, (Stein, id(kernel.score)))

    def _scored(self, kernel: Stein, path: tuple[Any, ...]) -> _Shared:
        name = self._score(kernel, path)
        if name not in self._distances:
            x, y = self._points[path]
            x_scored = kernel.move(x)
            y_scored = x_scored if y is x else kernel.move(y)
            profile = _MostSensitive(tuple(self._profiles[name]))
            parts = stein_parts(to_numpy(x_scored), to_numpy(y_scored), profile)
            self._distances[name] = _Shared(name, parts)
        return self._distances[name]

    def _transformed(self, kernel: InputWrapper, path: tuple[Any, ...]) -> tuple[Any, ...]:
        """The path of the points that the inner kernel sees; equal wrappers give equal paths."""
        step = tuple(item for item in vars(kernel).items() if item[0] != "kernel")
        longer = (*path, (type(kernel), step))
        if longer not in self._points:
            x, y = self._points[path]
            inner_x = kernel.move(x)
            self._points[longer] = inner_x, inner_x if y is x else kernel.move(y)
        return longer


def _identity(kernel: Kernel) -> Any:
    """A key that equal kernels share."""
    try:
        hash(kernel)
    except TypeError:  # a parameter that is an array
        return id(kernel)
    return kernel


@dataclass(frozen=True)
class _MostSensitive:
    """The profile, among several, that changes most for a small error of its argument."""

    profiles: tuple[Profile, ...]

    def __call__(self, r2: Array) -> Array:
        values = [profile(r2) for profile in self.profiles]
        if not is_numpy(r2):
            return min(values, key=lambda v: float(v[-1] / v[0]))
        with np.errstate(all="ignore"):
            return min(values, key=lambda v: np.nan_to_num(v[-1] / v[0], nan=-np.inf))
