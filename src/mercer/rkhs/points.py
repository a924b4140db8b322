"""Points of any kind on their way into an RKHS: frames read once, samples joined."""

from __future__ import annotations

from collections.abc import Sequence

from mercer import validate
from mercer.backend import is_array, namespace
from mercer.kernels.algebra import Multiple, Sum
from mercer.kernels.base import Kernel, Points, Radial
from mercer.kernels.compose import Grouped
from mercer.kernels.distance_induced import Energy, Laplace
from mercer.kernels.dot import Linear
from mercer.kernels.prepare import bound_to, read
from mercer.kernels.take import Rows, joined_rows, widened
from mercer.kernels.wrappers import Scaled, Select, Transformed

__all__ = ["bound_to", "joined", "read", "recentred", "widened", "widened_for"]


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
        "hand in arrays or lists"
    )


def widened_for(kernel: Kernel, points: Points) -> Points:
    """`widened` points, for kernels that take either dtype: functions of `Transformed` may not."""
    return points if _has_function(kernel) else widened(points)


def _has_function(kernel: Kernel) -> bool:
    return isinstance(kernel, Transformed) or any(map(_has_function, kernel.parts().values()))


def recentred(kernel: Kernel, *samples: Points) -> tuple[Points, ...]:
    """The samples moved by the mean of the first, where measures of difference cannot tell.

    Far from the origin k(x, y) of a linear or an energy kernel is large, and differences of it
    lose their digits; near the centre of the data they do not.
    """
    if not all(is_array(x) for x in samples) or not _free_of_origin(kernel):
        return samples
    middle = namespace(samples[0]).mean(samples[0], axis=0)
    return tuple(x - middle for x in samples)


def _free_of_origin(kernel: Kernel) -> bool:
    """Whether moving all points changes k(x, y) by some f(x) + f(y) + c, or not at all."""
    if isinstance(kernel, Sum):
        return _free_of_origin(kernel.left) and _free_of_origin(kernel.right)
    if isinstance(kernel, Multiple | Scaled | Select):
        return _free_of_origin(kernel.kernel)
    return isinstance(kernel, Linear | Energy | Radial | Laplace)
