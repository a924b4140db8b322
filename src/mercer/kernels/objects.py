"""Kernels whose points are objects, such as strings, sets or graphs, and the container of such points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import frames, validate
from mercer.backend import Array, is_array
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import Rows, taken


@dataclass(frozen=True, eq=False)
class Objects(Rows):
    """Objects as they were given, and what each kernel has computed from them once.

    Kernels of a sum or of a collection read the objects one after the other; each finds its own numbers
    in `views`, under itself.
    """

    items: Any  # a list, or a container of a kernel's own that is sliced, taken and joined as Rows
    views: Mapping[Kernel, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, rows: Any, /) -> Any:
        if not isinstance(rows, slice):
            return self.items[rows]
        return Objects(self.items[rows], {k: view[rows] for k, view in self.views.items()})

    def taken(self, rows: np.ndarray, /) -> Objects:
        views = {k: taken(view, rows) for k, view in self.views.items()}
        return Objects(taken(self.items, rows), views)

    def joined(self, others: Objects, /) -> Objects:
        items, views = joined(self.items, others.items), {}
        for kernel in self.views.keys() & others.views.keys():
            if isinstance(kernel, ObjectKernel) and kernel.reads_together:
                views[kernel] = kernel.view(items)
            else:
                views[kernel] = joined(self.views[kernel], others.views[kernel])
        return Objects(items, views)

    def aligned(self, others: Any, /) -> tuple[Any, Any]:
        if not isinstance(others, Objects):
            return self, others
        mine, theirs = dict(self.views), dict(others.views)
        for kernel in mine.keys() & theirs.keys():
            if isinstance(kernel, ObjectKernel) and kernel.reads_together:
                both = kernel.view(joined(self.items, others.items))
                mine[kernel], theirs[kernel] = both[: len(self)], both[len(self) :]
            elif isinstance(mine[kernel], Rows):
                mine[kernel], theirs[kernel] = mine[kernel].aligned(theirs[kernel])
            else:
                _check_widths(mine[kernel], theirs[kernel])
        return Objects(self.items, mine), Objects(others.items, theirs)

    def widened(self) -> Objects:
        return self  # views hold float64

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling, without kernels as keys: documents such as those of skops have text as keys."""
        kernels, views = list(self.views), list(self.views.values())
        return {"items": self.items, "kernels": kernels, "views": views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the items, and the views of each kernel."""
        views = dict(zip(state["kernels"], state["views"], strict=True))
        vars(self).update(items=state["items"], views=views)


def joined(x: Any, y: Any) -> Any:
    """The rows of x, then those of y, of one kind."""
    if isinstance(x, Rows):
        return x.joined(y)
    if isinstance(x, np.ndarray):
        _check_widths(x, y)
        return np.concatenate([x, y])
    return [*x, *y]


def _check_widths(x: Any, y: Any) -> None:
    if isinstance(x, np.ndarray) and x.ndim == y.ndim == 2:
        validate.same_width(x, y)


class ObjectKernel(Kernel):
    """A kernel on objects: `items` checks them, `view` computes once what all values need.

    A view has a row for each object: an array, a list, or a container of type `Rows`. Kernels that have
    explicit features derive from `FeatureCounts` instead.
    """

    of_objects = True
    domain = "objects"  # for `facts`

    @property
    def reads_together(self) -> bool:
        """Whether a view depends on all objects that are compared, which are then read together."""
        return False

    @abstractmethod
    def items(self, x: Any, name: str, /) -> Any:
        """The objects, checked: a list, or a container of type `Rows`."""

    @abstractmethod
    def view(self, items: Any, /) -> Any:
        """What the kernel computes from each object once, for all of its values."""

    def accept(self, x: Any, name: str = "x") -> Points:
        if isinstance(x, Objects):
            if self in x.views:
                return x
            x, views = x.items, x.views
        else:
            views = {}
        items = self.items(x, name)
        if len(items) == 0:
            raise ValueError(f"{name} must have at least one point, got none")
        return Objects(items, {**views, self: self.view(items)})

    def viewed(self, x: Any) -> Any:
        """The view of accepted points."""
        known = x.views.get(self)
        return self.view(x.items) if known is None else known


class ItemwiseKernel(ObjectKernel):
    """A kernel on objects given by one formula for a pair of views."""

    expensive = True

    @abstractmethod
    def value(self, a: Any, b: Any, /) -> float:
        """k of two objects, from their views."""

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        if y is x:
            return self._symmetric(left)
        right = self.viewed(y)
        rows = [[self.value(a, b) for b in _rows(right)] for a in _rows(left)]
        return np.asarray(rows, dtype=np.float64).reshape(len(left), len(right))

    def _symmetric(self, views: Any) -> np.ndarray:
        rows = _rows(views)
        values = np.empty((len(rows), len(rows)), dtype=np.float64)
        for i, a in enumerate(rows):
            for j in range(i + 1):
                values[i, j] = values[j, i] = self.value(a, rows[j])
        return values

    def paired(self, x: Points, y: Points, /) -> Array:
        pairs = zip(_rows(self.viewed(x)), _rows(self.viewed(y)), strict=True)
        return np.asarray([self.value(a, b) for a, b in pairs], dtype=np.float64)


def _rows(views: Any) -> Sequence[Any]:
    return views if isinstance(views, list) else [views[i] for i in range(len(views))]


def listed(x: Any, name: str, what: str) -> list[Any]:
    """The objects of a list, a tuple, an array of objects or a column of a frame; `what` are their kind."""
    if isinstance(x, list | tuple):
        return list(x)
    if isinstance(x, np.ndarray) and x.ndim > 0:
        return x.tolist()
    values = None if is_array(x) or isinstance(x, str | bytes) else frames.values(x, name)
    if values is None:
        raise TypeError(
            f"{name} must be a list of {what} or a column of a data frame, got {validate.shown(x)}: "
            "put the objects into a list"
        )
    return values
