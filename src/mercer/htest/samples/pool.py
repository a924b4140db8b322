"""Two samples on their way into a test: checked, joined, weighted, with a kernel that fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, count, detached, to_numpy
from mercer.frames import Columns, Table
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_bandwidth
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel
from mercer.kernels.door import aligned, as_table, prepare
from mercer.kernels.radial import RBF
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.points import joined, recentred


@dataclass(frozen=True)
class Pooled:
    """Two samples as one: the first `n` points are the first sample's."""

    kernel: Kernel  # bound to columns
    points: Points
    n: int
    m: int
    weights: np.ndarray | None  # (n + m,), of each observation, when the samples are weighted
    columns: Columns | None
    samples: tuple[Any, Any] | None = None  # as they were handed in
    origin: Array | None = None  # (d,), what was subtracted from the points of both samples

    @property
    def unmoved(self) -> Points:
        """The points where the user's are: `points` may have been moved together."""
        return self.points if self.origin is None else self.points + self.origin

    @property
    def contrast(self) -> np.ndarray:
        """1/n on the first sample and -1/m on the second, or the weights so signed: (n + m,)."""
        signs = np.repeat([1.0, -1.0], [self.n, self.m])
        if self.weights is not None:
            return signs * self.weights
        return signs / np.repeat([self.n, self.m], [self.n, self.m])

    @property
    def gram(self) -> Gram:
        """The Gram matrix of the pooled sample."""
        return Gram(self.kernel, self.points)

    @property
    def first(self) -> Points:
        """The points of the first sample."""
        return self.points[: self.n]

    @property
    def second(self) -> Points:
        """The points of the second sample."""
        return self.points[self.n :]


def pool(kernel: Kernel | None, x: Any, y: Any, least: int = 2) -> Pooled:
    """Check and join two samples; a kernel left None is chosen from the pooled sample."""
    weights = _weights(x, y)
    x, y = (s.points if isinstance(s, Empirical) else s for s in (x, y))
    frame = as_table(x, "x")
    first = kernel or (RBF(1.0) if frame is None else default_kernel(stacked_table(frame, y)))
    bound, a, b = prepare(first, x, y)
    a, b = detached(a), detached(b)
    for name, sample in (("x", a), ("y", b)):
        if count(sample) < least:
            raise ValueError(f"{name} must have at least {least} points, got {count(sample)}")
    moved = recentred(bound, a, b)
    origin = None if moved[0] is a else a[0, :] - moved[0][0, :]
    points = joined(*moved)
    if kernel is None and frame is None:
        bound = RBF(median_bandwidth(points))
    columns = frame.columns if frame else None
    return Pooled(bound, points, count(a), count(b), weights, columns, (x, y), origin)


def stacked_table(first: Table, y: Any) -> Table:
    """The rows of both samples as one table."""
    other = as_table(y, "y")
    values = validate.points(y, "y") if other is None else aligned(other, first.columns)
    validate.same_width(first.values, values)
    return Table(np.concatenate([first.values, values]), first.columns)


def _weights(x: Any, y: Any) -> np.ndarray | None:
    """Weights of the pooled observations, if one of the samples has any."""
    given = [s.weights if isinstance(s, Empirical) else None for s in (x, y)]
    if all(w is None for w in given):
        return None
    sizes = [count(s.points if isinstance(s, Empirical) else s) for s in (x, y)]
    parts = [
        np.full(n, 1 / n, np.float64) if w is None else to_numpy(w)
        for w, n in zip(given, sizes, strict=True)
    ]
    validate.finite(np.concatenate(parts), "weights")
    return np.concatenate(parts)
