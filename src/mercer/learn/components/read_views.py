"""Samples of several views, read with their kernels."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_numpy
from mercer.frames import Columns
from mercer.gram import Gram
from mercer.kernels import facts
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel
from mercer.kernels.prepare import bound_to, read
from mercer.learn.bandwidths import numbers


@dataclass(frozen=True, eq=False)
class ReadView:
    """A view with its kernel, its columns and its points."""

    kernel: Kernel
    columns: Columns | None
    points: Points

    @property
    def gram(self) -> Gram:
        """The Gram matrix of the points."""
        return Gram(bound_to(self.kernel, self.columns), self.points)

    @property
    def definite(self) -> bool:
        """Whether the kernel is known to be positive definite."""
        return facts(self.gram.kernel).positive_definite is True

    @classmethod
    def of(cls, kernel: Kernel | None, sample: Any, name: str) -> ReadView:
        """Read a view other than the first."""
        if kernel is None:
            points = numbers(sample, name)
            kernel = default_kernel(sample) if points is None else median_rbf(points, name=name)
        validate.instance("kernel_y", kernel, Kernel, "a kernel, such as RBF(1.0), or None")
        points, columns = read(kernel, sample, None, name)
        return cls(kernel, columns, points)


def named_views(y: Any) -> dict[str, Any]:
    """The other views by the names used in messages."""
    if isinstance(y, tuple):
        return {f"y[{i}]": _numeric(sample) for i, sample in enumerate(y)}
    return {"y": _numeric(y)}


def need_tuple(y: Any, n: int) -> None:
    """Refuse a list of views, which would be read as a view of objects."""
    views = isinstance(y, list) and 0 < len(y) != n
    if views and all(isinstance(sample, Sized) and len(sample) == n for sample in y):
        raise TypeError(f"y is a list of {len(y)} views: pass several views as a tuple")


def _numeric(sample: Any) -> Any:
    """Numbers of an array of objects as a numeric array; other samples unchanged."""
    if is_numpy(sample) and sample.dtype.kind == "O" and sample.ndim <= 2:
        converted = np.asarray(sample.tolist())
        return converted if converted.dtype.kind in "fiub" else sample
    return sample
