"""Uniform distribution on a box, and point mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, EqualByValue, to_numpy
from mercer.rkhs.gaussian import as_vector


@dataclass(frozen=True, eq=False, repr=False)
class Uniform(EqualByValue):
    """Uniform distribution on the box lower <= x <= upper.

    Parameters
    ----------
    lower, upper : number or array (d,)
        Corners of the box; numbers for an interval.

    Examples
    --------
    >>> p = Uniform([0.0, -1.0], [1.0, 1.0])
    >>> p
    Uniform(2 dimensions)
    >>> p.log_density([[0.5, 0.0], [2.0, 0.0]])  # -log 2 inside
    array([-0.6931...,    -inf])
    """

    lower: Any  # a number or a vector; kept as an array (d,)
    upper: Any

    def __post_init__(self) -> None:
        lower, upper = as_vector("lower", self.lower), as_vector("upper", self.upper)
        if lower.shape != upper.shape:
            raise ValueError(
                f"lower and upper must have the same length, got {len(lower)} and {len(upper)}"
            )
        wrong = np.flatnonzero(lower >= upper)
        if len(wrong):
            i = int(wrong[0])
            raise ValueError(
                f"lower must be below upper, got {lower[i]:g} and {upper[i]:g} in coordinate {i}"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def __repr__(self) -> str:
        if self.dimension == 1:
            return f"Uniform({float(self.lower[0]):g}, {float(self.upper[0]):g})"
        return f"Uniform({self.dimension} dimensions)"

    @property
    def dimension(self) -> int:
        """The d of R^d."""
        return len(self.lower)

    def log_density(self, x: Any) -> np.ndarray:
        """Log-density: -log of the volume inside the box, -inf outside. (n,)"""
        points = to_numpy(validate.points(x, "x"))
        if points.shape[1] != self.dimension:
            raise ValueError(f"x must have {self.dimension} columns, got {points.shape[1]}")
        inside = np.all((points >= self.lower) & (points <= self.upper), axis=1)
        return np.where(inside, -np.sum(np.log(self.upper - self.lower)), -np.inf)

    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """Draw `n` points: (n, d)."""
        validate.whole("n", n)
        return validate.generator(rng).uniform(self.lower, self.upper, (n, self.dimension))


@dataclass(frozen=True, eq=False, repr=False)
class Dirac(EqualByValue):
    """Point mass: the distribution concentrated at one point.

    Examples
    --------
    >>> Dirac([1.0, 2.0])
    Dirac([1. 2.])
    """

    point: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", as_vector("point", self.point))

    def __repr__(self) -> str:
        return f"Dirac({self.point})"

    @property
    def dimension(self) -> int:
        """The d of R^d."""
        return len(self.point)

    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """The point repeated `n` times: (n, d)."""
        validate.whole("n", n)
        return np.tile(self.point, (n, 1))
