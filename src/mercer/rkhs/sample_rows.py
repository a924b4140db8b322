"""Rows of samples of any kind: subsets, joined samples, recentring and precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from mercer import validate
from mercer.backend import Array, is_array, namespace
from mercer.frames import Table, table
from mercer.kernels.algebra import Multiple, Sum
from mercer.kernels.base import Kernel, Points, Radial
from mercer.kernels.compose import Grouped
from mercer.kernels.default_objects import kind_of_objects
from mercer.kernels.dot import Linear
from mercer.kernels.prepare import aligned
from mercer.kernels.radial import Energy, Laplace
from mercer.kernels.take import Rows, joined_rows, taken, widened
from mercer.kernels.wrappers import Scaled, Select, Transformed

# Operations on rows of two numbers take ten times as long as on rows of this many.
_NUMBERS_OF_LONG_ROW = 512
_MIN_NUMBERS_IN_LONG_ROWS = 16_384  # fewer are summed in the order of np.mean

__all__ = [
    "column_sums",
    "is_plain",
    "joined",
    "moved_together",
    "one_sample",
    "recentred",
    "settled",
    "stacked",
    "taken",
    "widened",
    "widened_for",
]


def settled(x: Any, name: str = "x") -> Any:
    """`x` with a data frame read once into a `Table`, of which rows are cheap to take."""
    return x if is_array(x) or isinstance(x, list | tuple) else table(x, name) or x


def one_sample(x: Any, name: str) -> Any:
    """Checked sample from which rows can be taken: a `Table`, an array, or a sequence of objects.

    Data frames are read once, here; missing and infinite values in them are errors.
    """
    if kind_of_objects(x) is not None:
        return x
    x = settled(x, name)
    if isinstance(x, Table):
        validate.finite(x.values, name)
        return x
    return validate.points_or_objects(x, name)


def stacked(x: Any, y: Any) -> Any:
    """The rows of x, then those of y, both `settled`; columns of tables are matched by name."""
    if isinstance(x, Table) and isinstance(y, Table):
        values = np.concatenate([x.values, aligned(y, x.columns)])
        return replace(x, values=values, labels={**x.labels, **y.labels})
    return joined(x, y)


def joined(x: Points, y: Points) -> Points:
    """The points of x, then those of y."""
    if is_array(x) and is_array(y):
        validate.same_library(x, y)
        if x.ndim == y.ndim == 2:
            validate.same_width(x, y)
        return namespace(x, y).concat([x, y])
    if isinstance(x, Rows) and isinstance(y, Rows):
        return joined_rows(x, y)
    if isinstance(x, Grouped) and isinstance(y, Grouped):
        return Grouped(tuple(joined(a, b) for a, b in zip(x.groups, y.groups, strict=True)))
    if isinstance(x, Sequence) and isinstance(y, Sequence):
        return [*x, *y]
    raise TypeError(
        f"points of types {type(x).__name__} and {type(y).__name__} cannot be joined: "
        "pass two arrays or two lists"
    )


def widened_for(kernel: Kernel, points: Points) -> Points:
    """Points in float64, except for `Transformed` kernels, whose function may need the dtype it got."""
    return points if _has_function(kernel) else widened(points)


def _has_function(kernel: Kernel) -> bool:
    return isinstance(kernel, Transformed) or any(map(_has_function, kernel.parts().values()))


def recentred(kernel: Kernel, *samples: Points) -> tuple[Points, ...]:
    """The samples minus the mean of the first, for kernels whose MMD and HSIC do not change by this.

    Far from the origin, values of a linear or an energy kernel are large and their differences
    lose digits; near the centre of the data they do not.
    """
    if not all(is_array(x) for x in samples) or not _shift_invariant(kernel):
        return samples
    mean = namespace(samples[0]).mean(samples[0], axis=0)
    return tuple(x - mean for x in samples)


def moved_together(kernel: Kernel, x: Points, y: Points) -> tuple[Points, Array | None]:
    """The points of x, then those of y, `recentred` where that changes nothing, and what was subtracted."""
    if not (is_plain(x) and is_plain(y)):
        shifted = recentred(kernel, x, y)
        return joined(*shifted), None if shifted[0] is x else x[0, :] - shifted[0][0, :]
    if not _shift_invariant(kernel):
        return np.concatenate([x, y]), None
    n = len(x)
    origin = column_sums(x) / n
    points = np.empty((n + len(y), x.shape[1]), dtype=np.float64)
    _subtract(x, origin, points[:n])
    _subtract(y, origin, points[n:])
    return points, origin


def column_sums(x: np.ndarray) -> np.ndarray:
    """Sums of the columns of a table; many rows of few numbers are added as fewer long ones: (d,)."""
    n, d = x.shape
    step = _NUMBERS_OF_LONG_ROW // d
    if x.size < _MIN_NUMBERS_IN_LONG_ROWS or step < 2 or not x.flags.c_contiguous:
        return np.add.reduce(x, axis=0)  # a third of the time of np.sum of few points
    whole = n - n % step
    sums = np.add.reduce(x[:whole].reshape(-1, step * d), axis=0).reshape(step, d)
    return np.add.reduce(sums, axis=0) + np.add.reduce(x[whole:], axis=0)


def _subtract(x: np.ndarray, row: np.ndarray, out: np.ndarray) -> None:
    """x - row, in a table of contiguous rows; see `column_sums`."""
    n, d = x.shape
    step = _NUMBERS_OF_LONG_ROW // d
    whole = 0
    if step > 1 and n >= step and x.flags.c_contiguous:
        whole = n - n % step
        long, shape = np.broadcast_to(row, (step, d)).reshape(-1), (-1, step * d)
        np.subtract(x[:whole].reshape(shape), long, out=out[:whole].reshape(shape))
    np.subtract(x[whole:], row, out=out[whole:])


def is_plain(x: Any) -> TypeGuard[np.ndarray]:
    """Whether points are a table of float64 numbers, of no subclass: no matrix, no mask."""
    return type(x) is np.ndarray and x.ndim == 2 and x.dtype == np.float64


def _shift_invariant(kernel: Kernel) -> bool:
    """Whether a shift of all points changes k(x, y) at most by f(x) + f(y) + c, which centring removes."""
    if isinstance(kernel, Sum):
        return _shift_invariant(kernel.left) and _shift_invariant(kernel.right)
    if isinstance(kernel, Multiple | Scaled | Select):
        return _shift_invariant(kernel.kernel)
    return isinstance(kernel, Linear | Energy | Radial | Laplace)
