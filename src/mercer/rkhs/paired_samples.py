"""Variables observed together: row i of every sample belongs to observation i.

`paired_points` reads them for measures, which may be differentiated; `variables` reads them for tests, which
also need centred points, column names and float64 copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mercer import validate
from mercer.backend import Array, count, detached, is_array, namespace
from mercer.frames import Columns, Table
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel
from mercer.kernels.default_objects import default_of_objects
from mercer.kernels.prepare import as_table, bound_to, read, without_frame
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.sample_rows import recentred, taken, widened

T = TypeVar("T")
_MAX_COLUMNS_NAMED = 4  # in a label, which has to fit on a line
_MAX_LISTED = 3  # columns or samples that a caution names


# ---- for measures -------------------------------------------------------------------------------


def paired_points(
    kernels: Sequence[Kernel | None],
    samples: Sequence[Any],
    names: Sequence[str] = ("x", "y"),
    least: int = 1,
    what: str = "this measure",
) -> tuple[tuple[Kernel, Points], ...]:
    """The kernel of every variable, bound to its columns, and the checked points.

    A kernel left None is RBF at the median distance of that variable. All variables need the same
    number of points, at least `least`, in arrays of one library.
    """
    pairs = tuple(
        _kernel_and_points(kernel, sample, name)
        for kernel, sample, name in zip(kernels, samples, names, strict=True)
    )
    (_, first), *others = pairs
    for name, (_, points) in zip(names[1:], others, strict=True):
        if count(points) != count(first):
            raise ValueError(
                f"{names[0]} and {name} must have the same number of points, "
                f"got {count(first)} and {count(points)}"
            )
        _check_same_library(first, points, (names[0], name))
    if count(first) < least:
        raise ValueError(f"{what} needs at least {least} points in {names[0]}, got {count(first)}")
    return pairs


def _kernel_and_points(kernel: Kernel | None, x: Any, name: str) -> tuple[Kernel, Points]:
    if kernel is None:
        points, _ = read(VECTOR_KERNEL, x, None, name)
        return median_rbf(points, name=name), points
    check_kernels(**{f"kernel_{name}": kernel})
    points, columns = read(kernel, x, None, name)
    return bound_to(kernel, columns, name), points


# ---- for tests ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable:
    """One variable: n observations, and the kernel that compares them."""

    name: str
    kernel: Kernel  # bound to columns
    points: Points
    columns: Columns | None
    origin: Array | None = None  # (d,), what was subtracted from the points
    places: np.ndarray | None = None  # row numbers of the points, if they are a subset of the data

    @property
    def uncentred(self) -> Points:
        """The points in the coordinates of the user: `points` may be centred."""
        return self.points if self.origin is None else self.points + self.origin

    @property
    def label(self) -> str:
        """The names of the columns, or the name of the variable where columns have none."""
        if self.columns is None:
            return self.name
        names = self.columns.names
        hidden = len(names) - _MAX_COLUMNS_NAMED
        more = "" if hidden <= 0 else f" and {hidden} more"
        return f"{', '.join(names[:_MAX_COLUMNS_NAMED])}{more}"

    @property
    def described(self) -> str:
        """The name of the variable, with those of its columns where they have names."""
        return self.name if self.columns is None else f"{self.name} ({self.label})"

    def subset(self, rows: np.ndarray) -> Variable:
        """The observations of these rows."""
        places = rows if self.places is None else self.places[rows]
        return replace(self, points=taken(self.points, rows), places=places)

    def widened(self) -> Variable:
        """The same observations in float64, so that equal statistics differ by its rounding only."""
        return replace(self, points=widened(self.points))

    @property
    def gram(self) -> Gram:
        """The Gram matrix of the observations."""
        return Gram.of_checked(self.kernel, self.points)

    @property
    def width(self) -> int | None:
        """The number of columns; None where the observations are not rows of an array."""
        points = self.points
        return int(points.shape[1]) if is_array(points) and points.ndim == 2 else None


def variables(
    kernels: Iterable[Kernel | None],
    samples: Iterable[Any],
    names: Sequence[str] = ("x", "y", "z"),
    least: int = 4,
) -> tuple[Variable, ...]:
    """Check variables observed together; a kernel left None is chosen from its variable alone.

    The default kernel is RBF at the median distance, or `default_kernel` for data frames and objects. It does
    not depend on the other variables, which may have other units.
    """
    samples_read = [
        _ReadSample.of(kernel, sample, name)
        for kernel, sample, name in zip(kernels, samples, names, strict=False)
    ]
    _check_sizes(samples_read, least)
    result = tuple(sample.variable() for sample in samples_read)
    first = result[0]
    for other in result[1:]:
        _check_same_library(first.points, other.points, (first.name, other.name))
    return result


class _ReadSample(NamedTuple):
    """A sample before a kernel is chosen for it."""

    name: str
    kernel: Kernel | None
    frame: Table | None
    sample: Any  # checked points; or a frame, of which the kernel will take some columns
    columns: Columns | None

    @classmethod
    def of(cls, kernel: Kernel | None, sample: Any, name: str) -> _ReadSample:
        """Read the points, except those of a data frame whose kernel is not chosen yet."""
        kernel = default_of_objects(sample, name=name) if kernel is None else kernel
        sample = without_frame(kernel, sample, name)
        frame = as_table(sample, name)
        if kernel is None and frame is not None:
            return cls(name, None, frame, frame, None)
        source = sample if frame is None else frame
        points, columns = read(kernel or VECTOR_KERNEL, source, None, name)
        return cls(name, kernel, frame, detached(points), columns)

    def variable(self) -> Variable:
        """The variable with the kernel given for it, or with the default kernel."""
        name, kernel, points, columns = self.name, self.kernel, self.sample, self.columns
        if kernel is None and self.frame is not None:
            kernel = kernel_for_frame(self.frame, name, default_kernel)
            points, columns = read(kernel, self.frame, None, name)
            points = detached(points)
        elif kernel is None:
            need_variation(points, name)
            kernel = median_rbf(points, name=name)
        bound = bound_to(kernel, columns, name)
        (centred,) = recentred(bound, points)
        origin = None if centred is points else points[0, :] - centred[0, :]
        return Variable(name, bound, centred, columns, origin)


def _check_sizes(samples: Sequence[_ReadSample], least: int) -> None:
    """Raise unless all samples have the same number of observations, at least `least`."""
    names, sizes = [s.name for s in samples], [count(s.sample) for s in samples]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"{listed(names)} must have the same number of observations, "
            f"got {listed([str(n) for n in sizes])}: row i of each is one observation"
        )
    if sizes[0] < least:
        raise ValueError(f"{listed(names)} need at least {least} observations, got {sizes[0]}")


# ---- for both -----------------------------------------------------------------------------------


def _check_same_library(x: Points, y: Points, names: tuple[str, str]) -> None:
    if is_array(x) and is_array(y):
        validate.same_library(x, y, names)


def need_variation(points: Array, name: str) -> None:
    """Raise where all points are equal: no bandwidth fits them."""
    if bool(namespace(points).all(points == points[:1, :])):
        raise ValueError(
            f"all points of {name} are equal; a constant is independent of everything, so drop {name}"
        )


def check_kernels(**kernels: object) -> None:
    """Raise TypeError unless every argument is a kernel or None; the keys are the argument names."""
    for name, kernel in kernels.items():
        if kernel is not None:
            validate.instance(name, kernel, Kernel, "a kernel, such as RBF(1.0), or None")


def kernel_for_frame(frame: Table, name: str, choose: Callable[[Table], T]) -> T:
    """choose(frame), with errors that name the variable `name` instead of x."""
    try:
        return choose(frame)
    except ValueError as error:
        raise ValueError(str(error).replace("of x ", f"of {name} ")) from None


def listed(words: Sequence[str]) -> str:
    """Words joined with commas and an "and"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def listed_briefly(words: Sequence[str]) -> str:
    """The first three words and how many more there are."""
    hidden = len(words) - _MAX_LISTED
    return listed(words if hidden <= 0 else [*words[:_MAX_LISTED], f"{hidden} more"])
