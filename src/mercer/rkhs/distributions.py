"""Weighted samples as distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import EqualByValue, count, is_array, to_numpy
from mercer.frames import table
from mercer.rkhs.sample_rows import taken

# Allowed deviation of the sum of weights from one: the rounding of float32 weights.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Empirical(EqualByValue):
    """Empirical distribution of a weighted sample: probability w_i at point x_i.

    Tests and measures accept it wherever they accept a sample.

    Parameters
    ----------
    points : points
        An array or tensor (n, d), a data frame, or any sequence of objects.
    weights : array (n,) or None
        Non-negative, adding up to one; None: equal weights. Stored as a NumPy array of float64.

    Examples
    --------
    >>> p = Empirical([[0.0], [1.0]], [0.25, 0.75])
    >>> p
    Empirical(2 points, weighted)
    >>> p.sample(3, rng=0).shape
    (3, 1)
    >>> p.effective_size  # as informative as 1.6 equally weighted observations
    1.6
    """

    points: Any
    weights: Any = None  # kept as an array (n,), or None

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _checked(self.points))
        if self.weights is not None:
            object.__setattr__(self, "weights", shares(self.weights, count(self.points)))

    def __len__(self) -> int:
        return count(self.points)

    def __repr__(self) -> str:
        kind = "" if self.weights is None else ", weighted"
        return f"Empirical({len(self)} points{kind})"

    @property
    def effective_size(self) -> float:
        """Kish's effective sample size 1 / sum w_i^2."""
        return float(len(self)) if self.weights is None else float(1 / np.sum(self.weights**2))

    def sample(self, n: int, *, rng: Any = None) -> Any:
        """Draw `n` points with replacement, of the same type as the points (array, data frame, list)."""
        validate.whole("n", n)
        rows = validate.generator(rng).choice(len(self), size=n, p=self.weights)
        return taken(self.points, rows)


def _checked(points: Any) -> Any:
    """Points after checks: arrays and lists converted, data frames and objects unchanged."""
    if isinstance(points, Empirical):
        raise TypeError("points is already an Empirical: use it directly, or pass its points")
    if is_array(points) or isinstance(points, list | tuple):
        return validate.points_or_objects(points, "points")
    frame = None if isinstance(points, str | bytes) else table(points, "points")
    if frame is not None:
        validate.finite(frame.values, "points")
        return points
    return validate.points_or_objects(points, "points")


def shares(weights: Any, n: int) -> np.ndarray:
    """Checked weights, divided by their sum, which must be one up to rounding: (n,)."""
    array = to_numpy(validate.finite(validate.real(weights, "weights"), "weights"))
    if array.shape != (n,):
        raise ValueError(f"weights must have shape ({n},), got {tuple(array.shape)}")
    if array.min() < 0:
        raise ValueError(f"weights must not be negative, got {array.min():g}")
    total = float(array.sum(dtype=np.float64))
    if abs(total - 1) > _ROUNDING:
        raise ValueError(f"weights must add up to one, got {total:g}: divide by their sum")
    return array.astype(np.float64) / total
