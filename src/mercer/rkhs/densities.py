"""What a distribution with a density gives: its logarithm, the gradient of that, and draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, EqualByValue


class Density(EqualByValue, ABC):
    """A distribution on R^d with a known density p.

    `log_density` and `score` take points of any array library and answer in it; draws are
    arrays of NumPy.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The d of R^d."""

    @abstractmethod
    def log_density(self, x: Any) -> Array:
        """log p(x_i), with its normaliser: (n,)."""

    @abstractmethod
    def score(self, x: Any) -> Array:
        """The gradient of log p at x_i: (n, d)."""

    @abstractmethod
    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """`n` draws: (n, d)."""

    def _points(self, x: Any) -> Array:
        """Points of as many columns as the distribution has dimensions."""
        points = validate.points(x, "x")
        if points.shape[1] != self.dimension:
            raise ValueError(
                f"x must have {self.dimension} columns, as many as the distribution has "
                f"dimensions, got {points.shape[1]}"
            )
        return points
