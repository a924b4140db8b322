"""Variables observed together, on their way into a measure of dependence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer import validate
from mercer.backend import count, is_array
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import bound_to, read
from mercer.kernels.radial import VECTOR_KERNEL


def together(
    kernels: Sequence[Kernel | None],
    samples: Sequence[Any],
    names: Sequence[str] = ("x", "y"),
    least: int = 1,
    what: str = "this measure",
) -> tuple[tuple[Kernel, Points], ...]:
    """Every kernel bound to columns, or the default one of its variable, and its checked points.

    The default is RBF at the median distance of that variable alone. All variables need as many
    points, `least` at least, in arrays of one library.
    """
    found = tuple(
        _variable(kernel, sample, name)
        for kernel, sample, name in zip(kernels, samples, names, strict=True)
    )
    (_, first), *others = found
    for name, (_, points) in zip(names[1:], others, strict=True):
        if count(points) != count(first):
            raise ValueError(
                f"{names[0]} and {name} must have the same number of points, "
                f"got {count(first)} and {count(points)}"
            )
        if is_array(first) and is_array(points):
            validate.same_library(first, points, (names[0], name))
    if count(first) < least:
        raise ValueError(f"{what} needs at least {least} points in {names[0]}, got {count(first)}")
    return found


def _variable(kernel: Kernel | None, x: Any, name: str) -> tuple[Kernel, Points]:
    if kernel is None:
        points, _ = read(VECTOR_KERNEL, x, None, name)
        return median_rbf(points, name=name), points
    validate.instance(f"kernel_{name}", kernel, Kernel, "a kernel, such as RBF(1.0), or None")
    points, columns = read(kernel, x, None, name)
    return bound_to(kernel, columns, name), points
