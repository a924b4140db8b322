"""Distances of distributions as numbers that know the function at which their supremum is attained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import detached, to_numpy
from mercer.kernels.prepare import as_table, prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.distributions import Empirical


class MetricValue(float):
    """A distance of two distributions: a float with the function that attains its supremum.

    It behaves as the number that it is. `witness` is computed when it is asked for, so the value keeps
    the samples alive; `float(value)` does not.

    Examples
    --------
    >>> from mercer.info import kantorovich
    >>> distance = kantorovich([0.0, 1.0], [1.0, 2.0])
    >>> distance, distance + 1
    (1.0, 2.0)
    >>> f = distance.witness
    >>> float(f([0.0, 1.0]).mean() - f([1.0, 2.0]).mean())
    1.0
    """

    _attained_at: Callable[[], Any]

    def __new__(cls, value: float, attained_at: Callable[[], Any]) -> MetricValue:
        """The number, and a function without arguments that returns the witness."""
        number = super().__new__(cls, value)
        number._attained_at = attained_at
        return number

    def __getnewargs__(self) -> tuple[float, Callable[[], Any]]:  # type: ignore[override]
        return float(self), self._attained_at

    @property
    def witness(self) -> Any:
        """The function at which the supremum is attained; call it with points."""
        return self._attained_at()


class WeightedPoints(NamedTuple):
    """A sample of vectors with positive weights that add up to one; weights None: all equal."""

    points: np.ndarray  # (n, d), float64
    weights: np.ndarray | None

    @property
    def masses(self) -> np.ndarray:
        """The weights, also where they are equal: (n,)."""
        n = len(self.points)
        return np.full(n, 1 / n, dtype=np.float64) if self.weights is None else self.weights


def weighted_pair(x: Any, y: Any) -> tuple[WeightedPoints, WeightedPoints]:
    """Two checked samples of vectors; points of weight zero are left out."""
    weights = [s.weights if isinstance(s, Empirical) else None for s in (x, y)]
    x, y = (
        _numeric(s.points if isinstance(s, Empirical) else s, name)
        for s, name in ((x, "x"), (y, "y"))
    )
    _, a, b = prepare(VECTOR_KERNEL, x, y)
    first, second = (
        _positive(to_numpy(detached(points)).astype(np.float64, copy=False), w)
        for points, w in zip((a, b), weights, strict=True)
    )
    return first, second


def _numeric(x: Any, name: str) -> Any:
    """`x`, a data frame as a table; refuses columns of categories, between which there is no distance."""
    data = as_table(x, name)
    if data is None or not any(data.columns.categorical):
        return x if data is None else data
    label = data.columns.names[data.columns.categorical.index(True)]
    raise TypeError(
        f"column {label!r} of {name} holds categories where this distance needs numbers: encode them as numbers, such "
        "as a column of 0 and 1 for each category, or use total_variation(x, y) or divergence(x, y, JensenShannon()), "
        "which take categories"
    )


def _positive(points: np.ndarray, weights: np.ndarray | None) -> WeightedPoints:
    if weights is None or weights.min() > 0:
        return WeightedPoints(points, weights)
    return WeightedPoints(points[weights > 0], weights[weights > 0])


def points_of_width(z: Any, d: int) -> np.ndarray:
    """Checked points (n, d) at which a witness is evaluated."""
    from mercer import validate

    points = to_numpy(detached(validate.points(z, "z"))).astype(np.float64, copy=False)
    if points.shape[1] != d:
        raise ValueError(f"z must have {d} columns, as the samples, got {points.shape[1]}")
    return points
