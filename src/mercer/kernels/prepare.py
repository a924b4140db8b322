"""The door: what users hand in, as points a kernel works on, and the kernel bound to their columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_array, namespace
from mercer.frames import Columns, Table, table
from mercer.kernels.base import Kernel, Points

_EARLIER = "the points seen before"  # as messages call those whose columns are known


def prepare(kernel: Kernel, x: Any, y: Any = None) -> tuple[Kernel, Points, Points | None]:
    """The kernel with column names resolved, and the checked points; `y` stays None if it is."""
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    left, right = as_table(x, "x"), as_table(y, "y")
    if left is not None:
        kernel, x = bound(kernel, left.columns, "x"), left.values
    if right is not None:
        y = right.values if left is None else aligned(right, left.columns)
        kernel = kernel if left is not None else bound(kernel, right.columns, "y")
    points = accepted(kernel, x, "x")
    if y is None:
        return kernel, points, None
    others = points if y is x else accepted(kernel, y, "y")
    if is_array(points) and is_array(others):
        validate.same_library(points, others)
        if points.ndim == others.ndim == 2:
            validate.same_width(points, others)
            points, others = validate.same_float(points, others)
    return kernel, points, others


def accepted(kernel: Kernel, x: Any, name: str) -> Points:
    """`x` as points where k(x, x), and so by Cauchy-Schwarz every k(x, y), is finite."""
    points = kernel.accept(x, name)
    with np.errstate(all="ignore"):
        own = kernel.diag(points)
    xp = namespace(own)
    if not bool(xp.all(xp.isfinite(own))):
        raise ValueError(
            f"{name} has points at which {kernel!r} is not finite in {own.dtype}: "
            "rescale the data or the parameters, or hand in float64"
        )
    return points


def read(
    kernel: Kernel, x: Any, columns: Columns | None, name: str
) -> tuple[Points, Columns | None]:
    """Checked points, and the columns they came with.

    `columns` are those of the points that `x` will meet, if these came as a data frame: a frame
    is put into their order.
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    frame = as_table(x, name)
    if frame is not None:
        x = frame.values if columns is None else aligned(frame, columns, (_EARLIER, name))
        columns = columns or frame.columns
    return accepted(bound_to(kernel, columns, name), x, name), columns


def bound_to(kernel: Kernel, columns: Columns | None, name: str = "x") -> Kernel:
    """The kernel with column names resolved, if there are any."""
    return kernel if columns is None else bound(kernel, columns, name)


def bound(kernel: Kernel, columns: Columns, name: str = "x") -> Kernel:
    """The kernel with names replaced by positions; categories may only meet kernels that take them."""
    from mercer.kernels.compose import Composed, Tensor
    from mercer.kernels.wrappers import Select, Transformed

    if isinstance(kernel, Select):
        positions = tuple(columns.index(c, name) for c in kernel.columns)
        return Select(bound(kernel.kernel, columns.take(positions), name), positions)
    if isinstance(kernel, Tensor):
        spans = kernel.spans(len(columns.names), name)
        groups = (columns.take(range(span.start, span.stop)) for span in spans)
        parts = zip(kernel.kernels, groups, strict=True)
        widths = tuple(span.stop - span.start for span in spans)
        return Tensor(*(bound(k, group, name) for k, group in parts), widths=widths)
    if isinstance(kernel, Composed):  # its outer kernel sees distances, not columns
        return Composed(kernel.outer, bound(kernel.inner, columns, name))
    if kernel.parts() and not isinstance(kernel, Transformed):
        return kernel.map_parts(lambda part: bound(part, columns, name))
    if any(columns.categorical) and not kernel.takes_categories:
        label = columns.names[columns.categorical.index(True)]
        raise TypeError(
            f"column {label!r} of {name} holds categories, which {type(kernel).__name__} does not "
            "take: use default_kernel(frame), or .select(...) the columns of each kernel"
        )
    return kernel


def as_table(x: Any, name: str) -> Table | None:
    """`x` as a table if it is a data frame or a series, else None."""
    if x is None or is_array(x) or isinstance(x, list | tuple | str):
        return None
    return table(x, name)


def aligned(right: Table, columns: Columns, names: tuple[str, str] = ("x", "y")) -> Any:
    """The values of `right` in the column order of the other frame; one column needs no name.

    `names` are what messages call the other frame and this one.
    """
    both = " and ".join(names)
    if len(columns.names) == len(right.columns.names) == 1:
        right = Table(right.values, Columns(columns.names, right.columns.categorical))
    if set(right.columns.names) != set(columns.names):
        missing = set(columns.names) ^ set(right.columns.names)
        raise ValueError(f"{both} must have the same columns; only one has {sorted(missing)}")
    order = [right.columns.index(name) for name in columns.names]
    for name, i, categorical in zip(columns.names, order, columns.categorical, strict=True):
        if right.columns.categorical[i] != categorical:
            raise TypeError(
                f"column {name!r} must hold the same in {both}: it holds categories in one and "
                "numbers in the other"
            )
    return right.values[:, order]
