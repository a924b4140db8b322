"""Containers of points that are not plain arrays, and row selection for points of any kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer import frames, validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    count,
    double,
    is_array,
    is_single,
    namespace,
    take_rows,
)
from mercer.frames import Table


class Rows(ABC):
    """A container of points that is neither an array nor a list, such as bags or distributions."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: slice, /) -> Any: ...

    @abstractmethod
    def taken(self, rows: np.ndarray, /) -> Any:
        """The points at these positions, repeats included."""

    @abstractmethod
    def joined(self, others: Any, /) -> Any:
        """These points, then others of their kind."""

    @abstractmethod
    def widened(self) -> Any:
        """These points with float32 numbers as float64; the same object where there are none."""

    def aligned(self, others: Any, /) -> tuple[Any, Any]:
        """These points and others, so prepared that tiles of their kernel values need no further work."""
        return self, others


@dataclass(frozen=True, eq=False)
class Both(Rows):
    """The same points in two containers, one for each kernel of a sum or product."""

    left: Any
    right: Any

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: slice) -> Both:
        return Both(self.left[rows], self.right[rows])

    def taken(self, rows: np.ndarray) -> Both:
        return Both(self.left.taken(rows), self.right.taken(rows))

    def joined(self, others: Any) -> Both:
        return joined_rows(self, others)

    def widened(self) -> Both:
        left, right = widened(self.left), widened(self.right)
        return self if left is self.left and right is self.right else Both(left, right)


@dataclass(frozen=True, eq=False)
class FeatureRows(Rows):
    """Points represented by the rows of a matrix of features (n, D)."""

    vectors: Array

    def __len__(self) -> int:
        return count(self.vectors)

    def __getitem__(self, rows: slice, /) -> Self:
        return replace(self, vectors=take_rows(self.vectors, rows))

    def taken(self, rows: np.ndarray, /) -> Self:
        return replace(self, vectors=taken(self.vectors, rows))

    def joined(self, others: Self, /) -> Self:
        validate.same_width(self.vectors, others.vectors)
        vectors = namespace(self.vectors).concat([self.vectors, others.vectors])
        return replace(self, vectors=vectors)

    def widened(self) -> Self:
        wide = widened(self.vectors)
        return self if wide is self.vectors else replace(self, vectors=wide)


@dataclass(frozen=True, eq=False)
class Grouped:
    """Points that are tuples: one sequence of points per kernel of a `Tensor`, sliced together."""

    groups: tuple[Any, ...]

    def __len__(self) -> int:
        return count(self.groups[0])

    def __getitem__(self, rows: slice) -> Grouped:
        return Grouped(tuple(take_rows(g, rows) for g in self.groups))


def joined_rows(x: Any, y: Any) -> Any:
    """The points of x, then those of y; a `Both` where one of them is."""
    if not (isinstance(x, Both) or isinstance(y, Both)):
        return x.joined(y)
    (a, b), (c, d) = sides(x), sides(y)
    return Both(joined_rows(a, c), joined_rows(b, d))


def sides(x: Any) -> tuple[Any, Any]:
    """The points for the left and for the right kernel of a sum or product."""
    return (x.left, x.right) if isinstance(x, Both) else (x, x)


def taken(x: Any, rows: np.ndarray) -> Any:
    """The rows of an array, a data frame or a sequence at these positions, repeats included."""
    if is_array(x):
        xp = namespace(x)
        return xp.take(x, array_like(rows, x, dtype=xp.int64), axis=0)
    if isinstance(x, Table):
        return replace(x, values=x.values[rows])
    if isinstance(x, Rows):
        return x.taken(np.asarray(rows, dtype=np.int64))
    if isinstance(x, Grouped):
        return Grouped(tuple(taken(group, rows) for group in x.groups))
    positions = [int(i) for i in rows]
    rows_of_frame = None if isinstance(x, list | tuple) else frames.rows(x, positions)
    return [x[i] for i in positions] if rows_of_frame is None else rows_of_frame


def widened(x: Any) -> Any:
    """The same points with float32 numbers as float64; x itself where there are none.

    For results that amplify the rounding of kernel values: regularisation chosen by leave-one-out,
    tiny ridges, statistics that are compared for equality.
    """
    if is_array(x):
        return astype(x, double(x)) if is_single(x) else x
    if isinstance(x, Rows):
        return x.widened()
    if isinstance(x, Grouped):
        groups = tuple(widened(group) for group in x.groups)
        same = all(a is b for a, b in zip(groups, x.groups, strict=True))
        return x if same else Grouped(groups)
    return x
