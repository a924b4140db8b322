"""Greedy selection of rows by their kernel columns, shared by thinning and herding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import astype, detached, double, take_rows, to_numpy
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare
from mercer.kernels.radial import VECTOR_KERNEL

Column = Callable[[int], np.ndarray]  # i -> k(x_j, x_i) for all j


def checked_points(
    kernel: Kernel | None, x: Any, default: Callable[[Points], Kernel]
) -> tuple[Kernel, Points]:
    """Kernel bound to the columns of x, or the default one, and the checked points in float64."""
    if kernel is not None:
        validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0), or None")
    bound, points, _ = prepare(VECTOR_KERNEL if kernel is None else kernel, x)
    points = detached(points)
    if hasattr(points, "dtype"):
        points = astype(points, double(points))
    return default(points) if kernel is None else bound, points


def columns_of(kernel: Kernel, points: Points) -> Column:
    """Columns of the Gram matrix on demand: i -> k(x_j, x_i) for all j, in float64."""

    def column(i: int) -> np.ndarray:
        values = to_numpy(kernel.pairwise(points, take_rows(points, slice(i, i + 1))))
        return values[:, 0].astype(np.float64, copy=False)

    return column


def thinned(value: np.ndarray, column: Column, m: int) -> np.ndarray:
    """Rows of m greedy steps, each minimising `value` plus the columns of the rows before it: (m,)."""
    value, rows = np.array(value, dtype=np.float64), np.empty(m, dtype=np.int64)
    for t in range(m):
        rows[t] = int(np.argmin(value))
        value += column(int(rows[t]))
    return rows


def herded(column: Column, mean: np.ndarray, m: int) -> np.ndarray:
    """Rows of m herding steps towards the embedding with the values `mean` at the points: (m,)."""
    total, rows = np.zeros(len(mean), dtype=np.float64), np.empty(m, dtype=np.int64)
    for t in range(m):
        rows[t] = int(np.argmax((t + 1) * mean - total))
        total += column(int(rows[t]))
    return rows
