"""Base of distributions with a density: log-density, score and sampling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, EqualByValue


class Density(EqualByValue, ABC):
    """Distribution on R^d with a known density p.

    `log_density` and `score` take points of any array library and return arrays of the same library;
    draws are NumPy arrays.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The d of R^d."""

    @abstractmethod
    def log_density(self, x: Any) -> Array:
        """Normalised log-density log p(x_i): (n,)."""

    @abstractmethod
    def score(self, x: Any) -> Array:
        """Score, the gradient of log p at x_i: (n, d)."""

    @abstractmethod
    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """Draw `n` points: (n, d)."""

    def _points(self, x: Any) -> Array:
        """Checked points with one column for each dimension."""
        points = validate.points(x, "x")
        if points.shape[1] != self.dimension:
            raise ValueError(
                f"x must have {self.dimension} columns, as many as the distribution has "
                f"dimensions, got {points.shape[1]}"
            )
        return points
