"""Base of feature maps: a function z of points with k(x, y) ~ <z(x), z(y)>, as a transformer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from mercer import validate
from mercer.backend import Array, count, is_numpy, itemsize, take_rows, zeros
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.features.kernel_estimator import KernelEstimator
from mercer.features.random_state import generator
from mercer.gram import LazyMatrix
from mercer.gram.threads import in_order, spans
from mercer.kernels.base import Kernel, Points

# Points per task of `transform`: 2 MiB at 256 features, so that a task stays in cache.
_POINTS_PER_TASK = 1024


class Map(ABC):
    """Function z from checked points (n, d) to features (n, D)."""

    width: int  # D, the number of features

    @abstractmethod
    def __call__(self, x: Points, /) -> Array:
        """Features of points, in their array library and dtype: (n, D)."""


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Transformer from points to features whose dot products approximate kernel values."""

    n_components: int
    random_state: Any

    @abstractmethod
    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> Map:
        """The fitted map."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the feature map to the points X; y is ignored."""
        validate.whole("n_components", self.n_components)
        kernel, points = self._accept(X)
        self.map_ = self._map(kernel, points, generator(self.random_state))
        self._n_features_out = self.map_.width
        return self

    def transform(self, X: Any) -> Array:
        """Features of points, whose dot products approximate kernel values: (n, D)."""
        points = self._points(X)
        return Mapped(self.map_, points).computed()


@dataclass(frozen=True, eq=False, repr=False)
class Mapped(LazyMatrix):
    """Lazy matrix (n, D) of the features of points, computed by rows."""

    map: Map
    points: Points

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points and number of features."""
        return count(self.points), self.map.width

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the features."""
        return self.map(take_rows(self.points, slice(0, 1)))[0, :1]

    @property
    def symmetric(self) -> bool:
        """Always False."""
        return False

    def block(self, rows: slice, columns: slice, /) -> Array:
        """Features of a slice of the points."""
        return self.map(take_rows(self.points, rows))[:, columns]

    def computed(self) -> Array:
        """All features, computed on all cores, if the memory budget allows it: (n, D)."""
        (n, width), like = self.shape, self.like
        needed, budget = n * width * itemsize(like), settings().memory
        if needed > budget:
            raise MemoryBudgetError(
                f"{width} features of {n:,} points need {needed / 2**20:,.0f} MiB, and the budget "
                f"is {budget / 2**20:,.0f} MiB: transform fewer points at a time, use a learner that "
                "streams them, or raise mercer.config(memory=...)"
            )
        out, tasks = zeros((n, width), like), spans(n, _POINTS_PER_TASK)
        blocks = in_order(_FeaturesOfRows(self), tasks, parallel=is_numpy(like))
        for rows, block in zip(tasks, blocks, strict=True):
            out[rows, :] = block
        return out


@dataclass(frozen=True)
class _FeaturesOfRows:
    """Task of the thread pool: all features of a slice of the points."""

    matrix: Mapped

    def __call__(self, rows: slice) -> Array:
        return self.matrix.block(rows, slice(0, self.matrix.shape[1]))
