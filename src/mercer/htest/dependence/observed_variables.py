"""Variables observed together, on their way into a test: checked, each with a kernel of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from mercer import validate
from mercer.backend import Array, count, detached, is_array, namespace
from mercer.frames import Columns, Table
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel
from mercer.kernels.prepare import as_table, bound_to, read
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.sample_rows import recentred, widened

Chosen = TypeVar("Chosen")
_TOLD = 4  # columns that are named


@dataclass(frozen=True)
class Variable:
    """One variable: n observations, and the kernel that compares them."""

    name: str
    kernel: Kernel  # bound to columns
    points: Points
    columns: Columns | None
    origin: Array | None = None  # (d,), what was subtracted from the points

    @property
    def unmoved(self) -> Points:
        """The points where the user's are: `points` may have been moved together."""
        return self.points if self.origin is None else self.points + self.origin

    @property
    def label(self) -> str:
        """The names of its columns, or its own where they have none."""
        if self.columns is None:
            return self.name
        names = self.columns.names
        more = "" if len(names) <= _TOLD else f" and {len(names) - _TOLD} more"
        return f"{', '.join(names[:_TOLD])}{more}"

    @property
    def described(self) -> str:
        """Its name, with those of its columns where they have some."""
        return self.name if self.columns is None else f"{self.name} ({self.label})"

    def widened(self) -> Variable:
        """The same observations in float64, so that equal statistics differ by its rounding only."""
        return replace(self, points=widened(self.points))

    @property
    def gram(self) -> Gram:
        """The Gram matrix of the observations."""
        return Gram(self.kernel, self.points)

    @property
    def width(self) -> int | None:
        """The number of columns; None where the observations have none."""
        points = self.points
        return int(points.shape[1]) if is_array(points) and points.ndim == 2 else None


def variables(
    kernels: Sequence[Kernel | None],
    samples: Sequence[Any],
    names: Sequence[str] = ("x", "y", "z"),
    least: int = 4,
) -> tuple[Variable, ...]:
    """Check variables observed together; a kernel left None is chosen from its variable alone.

    That kernel is the RBF at the median distance, or `default_kernel` for data frames, so that
    the unit of one variable has nothing to do with the others.
    """
    opened = [
        _Opened.of(kernel, sample, name)
        for kernel, sample, name in zip(kernels, samples, names, strict=False)
    ]
    _together(opened, least)
    found = tuple(each.variable() for each in opened)
    first = found[0]
    for other in found[1:]:
        if is_array(first.points) and is_array(other.points):
            validate.same_library(first.points, other.points, (first.name, other.name))
    return found


class _Opened(NamedTuple):
    """A variable before a kernel is chosen for it."""

    name: str
    kernel: Kernel | None
    frame: Table | None
    sample: Any  # checked points, or what will be once there is a kernel that tells which they are
    columns: Columns | None

    @classmethod
    def of(cls, kernel: Kernel | None, sample: Any, name: str) -> _Opened:
        """Frames of which a kernel will be made are left as they are; all else is read."""
        frame = as_table(sample, name)
        if kernel is None and frame is not None:
            return cls(name, None, frame, frame, None)
        points, columns = read(
            kernel or VECTOR_KERNEL, sample if frame is None else frame, None, name
        )
        return cls(name, kernel, frame, detached(points), columns)

    def variable(self) -> Variable:
        """With its own kernel, or the one that is chosen from the observations."""
        name, kernel, points, columns = self.name, self.kernel, self.sample, self.columns
        if kernel is None and self.frame is not None:
            kernel = chosen_for(self.frame, name, default_kernel)
            points, columns = read(kernel, self.frame, None, name)
            points = detached(points)
        elif kernel is None:
            need_variation(points, name)
            kernel = median_rbf(points, name=name)
        bound = bound_to(kernel, columns, name)
        (moved,) = recentred(bound, points)
        origin = None if moved is points else points[0, :] - moved[0, :]
        return Variable(name, bound, moved, columns, origin)


def _together(opened: Sequence[_Opened], least: int) -> None:
    """As many observations of one as of the others, and enough of them."""
    names, sizes = [each.name for each in opened], [count(each.sample) for each in opened]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"{listed(names)} must have the same number of observations, "
            f"got {listed([str(n) for n in sizes])}: row i of each is one observation"
        )
    if sizes[0] < least:
        raise ValueError(f"{listed(names)} need at least {least} observations, got {sizes[0]}")


def need_variation(points: Array, name: str) -> None:
    """Raise where all points are equal: no bandwidth fits them."""
    if bool(namespace(points).all(points == points[:1, :])):
        raise ValueError(
            f"all points of {name} are equal, and what does not vary depends on nothing: leave it out"
        )


def check_kernels(**kernels: object) -> None:
    """Kernels, or None for those that are to fit the data, by the names of their arguments."""
    for name, kernel in kernels.items():
        if kernel is not None:
            validate.instance(name, kernel, Kernel, "a kernel, such as RBF(1.0), or None")


def chosen_for(frame: Table, name: str, choose: Callable[[Table], Chosen]) -> Chosen:
    """choose(frame), whose errors are about the variable `name`."""
    try:
        return choose(frame)
    except ValueError as error:
        raise ValueError(str(error).replace("of x ", f"of {name} ")) from None


def listed(words: Sequence[str]) -> str:
    """Words with commas and an `and`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
