"""The door: what users hand in, as points a kernel works on, and the kernel bound to their columns."""

from __future__ import annotations

from typing import Any

from mercer import validate
from mercer.backend import is_array
from mercer.frames import Columns, Table, table
from mercer.kernels.base import Kernel, Points


def prepare(kernel: Kernel, x: Any, y: Any = None) -> tuple[Kernel, Points, Points | None]:
    """The kernel with column names resolved, and the checked points; `y` stays None if it is."""
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    left, right = _table(x, "x"), _table(y, "y")
    if left is not None:
        kernel, x = bound(kernel, left.columns), left.values
    if right is not None:
        y = right.values if left is None else _aligned(right, left.columns)
        kernel = kernel if left is not None else bound(kernel, right.columns)
    points = kernel.accept(x, "x")
    if y is None:
        return kernel, points, None
    others = points if y is x else kernel.accept(y, "y")
    if is_array(points) and is_array(others):
        validate.same_library(points, others)
        validate.same_width(points, others)
    return kernel, points, others


def bound(kernel: Kernel, columns: Columns) -> Kernel:
    """The kernel with names replaced by positions; categories may only meet kernels that take them."""
    from mercer.kernels.wrappers import Select

    if isinstance(kernel, Select):
        positions = tuple(columns.index(c) for c in kernel.columns)
        return Select(bound(kernel.kernel, columns.take(positions)), positions)
    if kernel.parts():
        return kernel.map_parts(lambda part: bound(part, columns))
    if any(columns.categorical) and not kernel.takes_categories:
        name = columns.names[columns.categorical.index(True)]
        raise TypeError(
            f"column {name!r} holds categories, which {type(kernel).__name__} does not take: "
            "use default_kernel(frame), or .select(...) the columns of each kernel"
        )
    return kernel


def _table(x: Any, name: str) -> Table | None:
    if x is None or is_array(x) or isinstance(x, list | tuple | str):
        return None
    return table(x, name)


def _aligned(right: Table, columns: Columns) -> Any:
    """The values of `right` in the column order of the other frame."""
    if set(right.columns.names) != set(columns.names):
        missing = set(columns.names) ^ set(right.columns.names)
        raise ValueError(f"x and y must have the same columns; only one has {sorted(missing)}")
    order = [right.columns.index(name) for name in columns.names]
    for name, i, categorical in zip(columns.names, order, columns.categorical, strict=True):
        if right.columns.categorical[i] != categorical:
            raise TypeError(
                f"column {name!r} holds categories in one frame and numbers in the other"
            )
    return right.values[:, order]
