"""Kernels on sets of points from a kernel of their elements: sums over all pairs, and best matches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, count, is_array, take_rows, to_numpy
from mercer.kernels.base import Kernel, Points, require_kernels
from mercer.kernels.objects import ObjectKernel, joined, listed
from mercer.kernels.take import Rows, taken

_MAX_VALUES = 2**22  # of the base kernel at a time: 32 MiB


@dataclass(frozen=True, eq=False)
class PointSets(Rows):
    """Sets of points, one after the other, and where each ends."""

    points: Any  # accepted by the base kernel; None where all sets are empty
    edges: np.ndarray  # (n + 1,)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, rows: slice, /) -> PointSets:
        start, stop, _ = rows.indices(len(self))
        edges = self.edges[start : max(stop, start) + 1]
        if self.points is None:
            return PointSets(None, edges)
        return PointSets(take_rows(self.points, slice(edges[0], edges[-1])), edges - edges[0])

    def taken(self, rows: np.ndarray, /) -> PointSets:
        sizes = np.diff(self.edges)[rows]
        edges = np.concatenate([[0], np.cumsum(sizes)])
        if self.points is None:
            return PointSets(None, edges)
        places = np.arange(edges[-1]) + np.repeat(self.edges[:-1][rows] - edges[:-1], sizes)
        return PointSets(taken(self.points, places), edges)

    def joined(self, others: PointSets, /) -> PointSets:
        edges = np.concatenate([self.edges, self.edges[-1] + others.edges[1:]])
        if self.points is None or others.points is None:
            return PointSets(others.points if self.points is None else self.points, edges)
        return PointSets(joined(self.points, others.points), edges)

    def aligned(self, others: PointSets, /) -> tuple[PointSets, PointSets]:
        if not isinstance(self.points, Rows) or not isinstance(others.points, Rows):
            return self, others
        a, b = self.points.aligned(others.points)
        return PointSets(a, self.edges), PointSets(b, others.edges)

    def widened(self) -> PointSets:
        return self


class _OfElements(ObjectKernel):
    """A kernel on sets from the matrix of the base kernel on the elements of two sets."""

    base: Kernel
    domain = "finite sets of points"
    expensive = True

    @abstractmethod
    def reduced(self, values: np.ndarray, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        """Values for all pairs of sets, from the base kernel at their elements and the sets' edges."""

    def __post_init__(self) -> None:
        require_kernels(base=self.base)

    def items(self, x: Any, name: str, /) -> list[Any]:
        sets = [
            elements_of(item, i, name) for i, item in enumerate(listed(x, name, "sets of points"))
        ]
        self._accepted(sets, name)
        return sets

    def view(self, items: list[Any], /) -> PointSets:
        edges = np.concatenate([[0], np.cumsum([count(item) for item in items])]).astype(np.int64)
        return PointSets(self._accepted(items, "x"), edges)

    def _accepted(self, sets: list[Any], name: str) -> Any:
        """The elements of all sets as points of the base kernel; None where there are none."""
        full = [item for item in sets if count(item)]
        if not full:
            return None
        if not all(is_array(item) for item in full):
            return self.base.accept([element for item in full for element in item], name)
        widths = {item.shape[1] for item in full}
        if len(widths) > 1:
            raise ValueError(
                f"the sets of {name} must have points of one dimension, got {sorted(widths)}"
            )
        return self.base.accept(np.concatenate(full), name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        out = np.zeros((len(left), len(right)), dtype=np.float64)
        if left.points is None or right.points is None:
            return out
        for rows in _blocks(left, len(right.points)):
            part = left[rows]
            if part.edges[-1]:
                values = to_numpy(self.base.pairwise(part.points, right.points))
                out[rows] = self.reduced(values, part.edges, right.edges)
        return (out + out.T) / 2 if y is x else out

    def paired(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        out = np.zeros(len(left), dtype=np.float64)
        for i in range(len(left)):
            a, b = left[i : i + 1], right[i : i + 1]
            if a.edges[-1] and b.edges[-1]:
                values = to_numpy(self.base.pairwise(a.points, b.points))
                out[i] = self.reduced(values, a.edges, b.edges)[0, 0]
        return out


@dataclass(frozen=True)
class Convolution(_OfElements):
    """Sum of the base kernel over all pairs of elements: sum over a in A, b in B of k(a, b).

    Points are sets (bags) of points of the base kernel: arrays (n_i, d), or lists of objects. The value with
    the empty set is 0. `MeanMap` is the same divided by the numbers of elements.

    References
    ----------
    D. Haussler (1999). Convolution kernels on discrete structures. UCSC-CRL-99-10.
    T. Gärtner, P. A. Flach, A. Kowalczyk, A. J. Smola (2002). Multi-instance kernels. ICML, 179-186.

    Examples
    --------
    >>> from mercer.kernels.strings.spectrum import Spectrum
    >>> Convolution(Spectrum(1))([["ab", "b"], ["b"]])
    array([[5., 2.],
           [2., 1.]])
    """

    base: Kernel

    def reduced(self, values: np.ndarray, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return _reduced(np.add, _reduced(np.add, values, a, 0), b, 1)


@dataclass(frozen=True)
class BestMatch(_OfElements):
    """Mean similarity of best matches: half of mean_a max_b k(a, b) + mean_b max_a k(a, b).

    Points are sets of points as for `Convolution`; the value of a set and the empty set is 0. It is not positive
    definite: learners may warn.

    References
    ----------
    C. Wallraven, B. Caputo, A. Graf (2003). Recognition with local features: the kernel recipe. ICCV.
    S. Lyu (2005). Mercer kernels for object recognition with local features. CVPR: not positive definite.

    Examples
    --------
    >>> from mercer.kernels.radial import RBF
    >>> BestMatch(RBF(1.0))([[[0.0], [1.0]], [[0.0]]]).round(3)
    array([[1.   , 0.902],
           [0.902, 1.   ]])
    """

    base: Kernel

    def reduced(self, values: np.ndarray, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        sizes, others = np.maximum(np.diff(a), 1), np.maximum(np.diff(b), 1)
        of_b = _reduced(np.add, _reduced(np.maximum, values, a, 0), b, 1) / others
        of_a = _reduced(np.add, _reduced(np.maximum, values, b, 1), a, 0) / sizes[:, None]
        return (of_a + of_b) / 2


def _reduced(operation: np.ufunc, values: np.ndarray, edges: np.ndarray, axis: int) -> np.ndarray:
    """Sums or maxima over the segments between edges; 0 for empty segments."""
    full = np.flatnonzero(np.diff(edges))
    shape = list(values.shape)
    shape[axis] = len(edges) - 1
    out = np.zeros(shape, dtype=np.float64)
    if len(full):
        target = (full,) if axis == 0 else (slice(None), full)
        out[target] = operation.reduceat(values, edges[full], axis=axis)
    return out


def _blocks(sets: PointSets, width: int) -> Iterator[slice]:
    """Runs of sets whose points have at most so many values with `width` others, but at least one set."""
    start, limit = 0, max(_MAX_VALUES // max(width, 1), 1)
    while start < len(sets):
        stop = int(np.searchsorted(sets.edges, sets.edges[start] + limit, "right")) - 1
        stop = max(stop, start + 1)
        yield slice(start, stop)
        start = stop


def elements_of(item: Any, i: int, name: str) -> Any:
    """The points of one set."""
    if is_array(item):
        points = to_numpy(item)
        if points.ndim in (1, 2) and points.dtype.kind in "fiub":
            return (
                validate.points(points, f"set {i} of {name}") if len(points) else np.empty((0, 1))
            )
        return elements_of(points.tolist(), i, name) if points.ndim else elements_of(None, i, name)
    if isinstance(item, set | frozenset):
        item = sorted(item, key=repr)
    if not isinstance(item, list | tuple):
        raise TypeError(
            f"{name} must hold sets of points, got {validate.shown(item)} at position {i}: use an array "
            "or a list of points"
        )
    if not item:
        return []
    return (
        list(item) if validate.holds_objects(item) else validate.points(item, f"set {i} of {name}")
    )
