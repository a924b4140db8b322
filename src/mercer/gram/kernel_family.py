"""Tiles of several kernels on the same points: what they share, distances above all, is made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import add, mul
from typing import Any, Protocol

import numpy as np

from mercer.backend import Array, count, is_array, is_numpy, take_rows
from mercer.gram.stein_tiles import Join
from mercer.gram.stein_tiles import join as stein_join
from mercer.gram.tiles import Tile, distance_tiles, stein_parts, tile_maker
from mercer.kernels.algebra import Multiple, Product, Sum
from mercer.kernels.base import Kernel, Points
from mercer.kernels.distance_induced import Laplace
from mercer.kernels.metric import Profile, l1_distances
from mercer.kernels.smooth import radial_form
from mercer.kernels.stein import Stein
from mercer.kernels.wrappers import InputWrapper

Held = dict[Any, Any]  # the tiles that several kernels need, for one pair of slices


class Family:
    """k_1(x_i, y_j), k_2(x_i, y_j), ... for kernels on the same points, known by their tiles.

    Squared distances serve all radial kernels, city-block distances all Laplace kernels, and
    equal parts of sums and products (such as the categories of a data frame) all kernels that
    have them. Points were checked before.
    """

    def __init__(self, kernels: Sequence[Kernel], x: Points, y: Points | None = None) -> None:
        self.kernels, self.x = tuple(kernels), x
        self.y = x if y is None else y
        if len(self.kernels) == 1:
            self._nodes: list[_Node] = [_Own(tile_maker(self.kernels[0], x, self.y))]
        else:
            self._nodes = _Planner(self.kernels, x, self.y).nodes
        self._like = self.kernels[0].diag(take_rows(x, slice(0, 1)))

    def __len__(self) -> int:
        return len(self.kernels)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of every matrix."""
        return count(self.x), count(self.y)

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the tiles."""
        return self._like

    def tiles(self, rows: slice, columns: slice) -> Iterator[Array]:
        """The tile of every kernel, one after the other; the caller may write into it."""
        held: Held = {}
        return (node(rows, columns, held) for node in self._nodes)


class _Node(Protocol):
    def __call__(self, rows: slice, columns: slice, held: Held, /) -> Array: ...


@dataclass(frozen=True)
class _Own:
    """A tile nobody else needs."""

    tile: Tile

    def __call__(self, rows: slice, columns: slice, held: Held) -> Array:
        return self.tile(rows, columns)


@dataclass(frozen=True)
class _Shared:
    """A tile several kernels need: made by the first of them, and not to be written into."""

    name: Any
    tile: Callable[[slice, slice], Any]

    def __call__(self, rows: slice, columns: slice, held: Held) -> Any:
        if self.name not in held:
            held[self.name] = self.tile(rows, columns)
        return held[self.name]


@dataclass(frozen=True)
class _Applied:
    """A function of a shared tile, such as a radial profile of squared distances."""

    function: Profile
    part: _Shared

    def __call__(self, rows: slice, columns: slice, held: Held) -> Array:
        return self.function(self.part(rows, columns, held))


@dataclass(frozen=True)
class _Joined:
    """A sum or product of tiles, always a new one."""

    join: Callable[[Any, Any], Array]
    left: _Node
    right: _Node

    def __call__(self, rows: slice, columns: slice, held: Held) -> Array:
        return self.join(self.left(rows, columns, held), self.right(rows, columns, held))


@dataclass(frozen=True)
class _Times:
    """A multiple of a tile, always a new one."""

    factor: float
    part: _Node

    def __call__(self, rows: slice, columns: slice, held: Held) -> Array:
        return self.factor * self.part(rows, columns, held)


@dataclass(frozen=True)
class _Stein:
    """A Stein kernel of what all those of its score share."""

    join: Join
    parts: _Shared

    def __call__(self, rows: slice, columns: slice, held: Held) -> Array:
        r2, products, steps = self.parts(rows, columns, held)
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
    """Finds what kernels share, and makes it once."""

    def __init__(self, kernels: Sequence[Kernel], x: Points, y: Points) -> None:
        self._points: dict[Any, tuple[Points, Points]] = {(): (x, y)}
        self._profiles: dict[Any, list[Profile]] = {}
        self._distances: dict[Any, _Shared] = {}
        for kernel in kernels:
            self._collect(kernel, ())
        self.nodes = [self._node(kernel, ()) for kernel in kernels]

    def _collect(self, kernel: Kernel, way: tuple[Any, ...]) -> None:
        """Note the radial profiles on every set of moved points: the strictest rules the care."""
        form = self._radial(kernel, way)
        if form is not None:
            self._profiles.setdefault(way, []).append(form)
        elif isinstance(kernel, Stein) and kernel.scored.radial:
            self._profiles.setdefault(self._score(kernel, way), []).append(kernel.scored.form[0])
        elif isinstance(kernel, InputWrapper):
            self._collect(kernel.kernel, self._moved(kernel, way))
        elif isinstance(kernel, Sum | Product):
            self._collect(kernel.left, way)
            self._collect(kernel.right, way)
        elif isinstance(kernel, Multiple):
            self._collect(kernel.kernel, way)

    def _node(self, kernel: Kernel, way: tuple[Any, ...]) -> _Node:
        x, y = self._points[way]
        form = self._radial(kernel, way)
        if form is not None:
            return _Applied(form, self._squared(way))
        if isinstance(kernel, Laplace) and is_array(x):
            shared = self._distances.setdefault(("l1", way), _Shared(("l1", way), _L1(x, y)))
            return _Applied(kernel._decay, shared)
        wide = is_numpy(x, y) and x.dtype == np.float64
        if isinstance(kernel, Stein) and wide and kernel.scored.radial:
            made = stein_join(kernel.kernel, count(x) * count(y))
            return _Stein(made, self._scored(kernel, way))
        if isinstance(kernel, InputWrapper):
            return self._node(kernel.kernel, self._moved(kernel, way))
        if isinstance(kernel, Sum | Product):
            parts = self._node(kernel.left, way), self._node(kernel.right, way)
            return _Joined(add if isinstance(kernel, Sum) else mul, *parts)
        if isinstance(kernel, Multiple):
            return _Times(kernel.factor, self._node(kernel.kernel, way))
        return _Times(1.0, _Shared((_name(kernel), way), tile_maker(kernel, x, y)))

    def _radial(self, kernel: Kernel, way: tuple[Any, ...]) -> Profile | None:
        form = None if isinstance(kernel, InputWrapper) else radial_form(kernel)
        return form.profile if form is not None and is_array(self._points[way][0]) else None

    def _squared(self, way: tuple[Any, ...]) -> _Shared:
        name = ("r2", way)
        if name not in self._distances:
            x, y = self._points[way]
            strict = _Strictest(tuple(self._profiles[way]))
            self._distances[name] = _Shared(name, distance_tiles(x, y, strict))
        return self._distances[name]

    def _score(self, kernel: Stein, way: tuple[Any, ...]) -> tuple[Any, ...]:
        """The name of points with a score; Stein kernels of one score share what they need."""
        return (*way, (Stein, id(kernel.score)))

    def _scored(self, kernel: Stein, way: tuple[Any, ...]) -> _Shared:
        name = self._score(kernel, way)
        if name not in self._distances:
            x, y = self._points[way]
            moved = kernel.move(x)
            others = moved if y is x else kernel.move(y)
            parts = stein_parts(moved, others, _Strictest(tuple(self._profiles[name])))
            self._distances[name] = _Shared(name, parts)
        return self._distances[name]

    def _moved(self, kernel: InputWrapper, way: tuple[Any, ...]) -> tuple[Any, ...]:
        """The name of the points an inner kernel sees; equal wrappers have equal names."""
        step = tuple(item for item in vars(kernel).items() if item[0] != "kernel")
        longer = (*way, (type(kernel), step))
        if longer not in self._points:
            x, y = self._points[way]
            moved = kernel.move(x)
            self._points[longer] = moved, moved if y is x else kernel.move(y)
        return longer


def _name(kernel: Kernel) -> Any:
    """What equal kernels have in common."""
    try:
        hash(kernel)
    except TypeError:  # a parameter that is an array
        return id(kernel)
    return kernel


@dataclass(frozen=True)
class _Strictest:
    """Of several profiles the one that shows errors of its argument most."""

    profiles: tuple[Profile, ...]

    def __call__(self, r2: Array) -> Array:
        values = [profile(r2) for profile in self.profiles]
        if not is_numpy(r2):
            return min(values, key=lambda v: float(v[-1] / v[0]))
        with np.errstate(all="ignore"):
            return min(values, key=lambda v: np.nan_to_num(v[-1] / v[0], nan=-np.inf))
