"""Distributions as points: weighted samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import EqualByValue, count, is_array, to_numpy
from mercer.frames import table
from mercer.rkhs.sample_rows import taken

_ROUNDING = 1e-6  # how far from one the weights may add up


@dataclass(frozen=True, eq=False, repr=False)
class Empirical(EqualByValue):
    """A weighted sample: probability w_i at point x_i.

    Tests and measures take it wherever they take a sample.

    Parameters
    ----------
    points : points
        An array or tensor (n, d), a data frame, or any sequence of objects.
    weights : array (n,) or None
        Non-negative, adding up to one; None: equal weights. Kept as float64 of NumPy.

    Examples
    --------
    >>> p = Empirical([[0.0], [1.0]], [0.25, 0.75])
    >>> p
    Empirical(2 points, weighted)
    >>> p.sample(3, rng=0).shape
    (3, 1)
    >>> p.effective_size  # as much as 1.6 equally weighted observations
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
        """1 / sum w_i^2, Kish's: how many equally weighted observations would say as much."""
        return float(len(self)) if self.weights is None else float(1 / np.sum(self.weights**2))

    def sample(self, n: int, *, rng: Any = None) -> Any:
        """`n` draws with replacement, of the kind the points are (rows of a data frame, say)."""
        validate.whole("n", n)
        rows = validate.generator(rng).choice(len(self), size=n, p=self.weights)
        return taken(self.points, rows)


def _checked(points: Any) -> Any:
    """Arrays of numbers checked; frames and objects as they are, once it is clear that they are."""
    if isinstance(points, Empirical):
        raise TypeError("points is an Empirical already: use it, or its points")
    if is_array(points) or isinstance(points, list | tuple):
        return validate.points_or_objects(points, "points")
    frame = None if isinstance(points, str | bytes) else table(points, "points")
    if frame is not None:
        validate.finite(frame.values, "points")
        return points
    return validate.points_or_objects(points, "points")


def shares(weights: Any, n: int) -> np.ndarray:
    """Probabilities that add up to one exactly, or an error."""
    found = to_numpy(validate.finite(validate.real(weights, "weights"), "weights"))
    if found.shape != (n,):
        raise ValueError(f"weights must have shape ({n},), got {tuple(found.shape)}")
    if found.min() < 0:
        raise ValueError(f"weights must not be negative, got {found.min():g}")
    total = float(found.sum(dtype=np.float64))
    if abs(total - 1) > _ROUNDING:
        raise ValueError(f"weights must add up to one, got {total:g}: divide by their sum")
    return found.astype(np.float64) / total
