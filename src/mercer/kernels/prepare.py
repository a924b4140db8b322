"""Input of users as checked points of a kernel, and the kernel with column names resolved."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import double, is_array, namespace
from mercer.frames import Columns, Table, table, values
from mercer.kernels.base import Kernel, Points
from mercer.kernels.log_valued import LogValued
from mercer.kernels.take import Rows

# Names of kernels in scikit-learn, and the objects that users of mercer write instead
_OBJECTS_FOR_NAMES = {
    "rbf": "RBF(1.0), or RBF.from_gamma(0.5) for exp(-0.5 r^2)",
    "gaussian": "RBF(1.0)",
    "linear": "Linear()",
    "poly": "Polynomial(3)",
    "polynomial": "Polynomial(3)",
    "laplacian": "Laplace(1.0)",
    "sigmoid": "Sigmoid(1.0, 0.0)",
    "chi2": "Chi2(1.0)",
}
_EARLIER = "the points seen before"  # the name in messages of the points whose columns are known


def prepare(kernel: Kernel, x: Any, y: Any = None) -> tuple[Kernel, Points, Points | None]:
    """The kernel with column names resolved, and the checked points; `y` stays None if it is."""
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    x, y = without_frame(kernel, x, "x"), without_frame(kernel, y, "y")
    x_table, y_table = as_table(x, "x"), as_table(y, "y")
    if x_table is not None:
        kernel, x = bound(kernel, x_table.columns, "x"), x_table.values
    if y_table is not None:
        y = y_table.values if x_table is None else aligned(y_table, x_table.columns)
        kernel = kernel if x_table is not None else bound(kernel, y_table.columns, "y")
    points = accepted(kernel, x, "x")
    if y is None:
        return kernel, points, None
    others = points if y is x else accepted(kernel, y, "y")
    if is_array(points) and is_array(others):
        validate.same_library(points, others)
        if points.ndim == others.ndim == 2:
            validate.same_width(points, others)
            points, others = validate.same_float(points, others)
    if isinstance(points, Rows) and points is not others:
        points, others = points.aligned(others)
    return kernel, points, others


def accepted(kernel: Kernel, x: Any, name: str) -> Points:
    """`x` as points with finite k(x, x), and so, by Cauchy-Schwarz, finite k(x, y)."""
    points = kernel.accept(x, name)
    if kernel.finite_diagonal and points.dtype == double(points):
        return points  # `accept` has refused those whose squares overflow
    with np.errstate(all="ignore"):
        diagonal = kernel.diag(points)
    xp = namespace(diagonal)
    if not bool(xp.all(xp.isfinite(diagonal))):
        remedy = "rescale the data or the parameters, or use float64"
        if isinstance(kernel, LogValued):
            remedy = "use .normalized(), which works with logarithms, or rescale the data"
        raise ValueError(
            f"{name} has points at which {kernel!r} is not finite in {diagonal.dtype}: {remedy}"
        )
    return points


def read(
    kernel: Kernel, x: Any, columns: Columns | None, name: str
) -> tuple[Points, Columns | None]:
    """Checked points, and the columns they came with.

    `columns` are those of the points that `x` is compared with, if these came as a data frame; the
    columns of `x` are put into their order.
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    x = without_frame(kernel, x, name)
    frame = as_table(x, name)
    if frame is not None:
        x = frame.values if columns is None else aligned(frame, columns, (_EARLIER, name))
        columns = columns or frame.columns
    return accepted(bound_to(kernel, columns, name), x, name), columns


def remedy(value: Any) -> str:
    """How to make a kernel of a value that is not one, for the end of a message."""
    if isinstance(value, str):
        if value == "precomputed":
            return ": give the matrix to the kernel, Precomputed(K), and row indices of K as data"
        known = _OBJECTS_FOR_NAMES.get(value, "RBF(1.0)")
        return f": kernels are objects of mercer.kernels, so write {known}"
    if is_array(value):
        return (
            ": for a matrix of kernel values write Precomputed(K) and give row indices of K as data"
        )
    if isinstance(value, type) and issubclass(value, Kernel):
        return f": pass an instance, such as {value.__name__}()"
    if callable(value):
        return (
            ": write FromCallable(function) for a function of two arrays, as the kernels of "
            "scikit-learn are, or FromPairs(function) for one of two points"
        )
    return ""


def bound_to(kernel: Kernel, columns: Columns | None, name: str = "x") -> Kernel:
    """The kernel with column names resolved, if there are any."""
    return kernel if columns is None else bound(kernel, columns, name)


def bound(kernel: Kernel, columns: Columns, name: str = "x") -> Kernel:
    """The kernel with column names replaced by positions; refuses categories for most kernels."""
    return kernel._bound(columns, name)


def without_frame(kernel: Kernel | None, x: Any, name: str) -> Any:
    """A column of objects as a list, for a kernel on objects; everything else as it is."""
    objects = kernel is not None and kernel.takes_objects()
    if not objects or x is None or is_array(x) or isinstance(x, list | tuple | str | Rows):
        return x
    column = values(x, name)
    return x if column is None else column


def as_table(x: Any, name: str) -> Table | None:
    """`x` as a table if it is a data frame or a series, else None."""
    if x is None or is_array(x) or isinstance(x, list | tuple | str):
        return None
    return table(x, name)


def aligned(right: Table, columns: Columns, names: tuple[str, str] = ("x", "y")) -> Any:
    """The values of `right` in the column order of the other frame; a single column needs no name.

    `names` are the names of the other frame and of this one in messages.
    """
    frames = " and ".join(names)
    if len(columns.names) == len(right.columns.names) == 1:
        right = Table(right.values, Columns(columns.names, right.columns.categorical))
    if set(right.columns.names) != set(columns.names):
        missing = set(columns.names) ^ set(right.columns.names)
        raise ValueError(f"{frames} must have the same columns; only one has {sorted(missing)}")
    order = [right.columns.index(name) for name in columns.names]
    for name, i, categorical in zip(columns.names, order, columns.categorical, strict=True):
        if right.columns.categorical[i] != categorical:
            raise TypeError(
                f"column {name!r} must be of one kind in {frames}: it holds categories in one and "
                "numbers in the other"
            )
    return right.values[:, order]
