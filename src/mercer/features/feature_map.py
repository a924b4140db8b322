"""What feature maps share: a function z of points with k(x, y) ~ <z(x), z(y)>, as a transformer."""

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

_ROWS = 1024  # points whose features are made at a time


class Map(ABC):
    """z: points (n, d) -> features (n, D), a formula on points that were checked before."""

    width: int  # D, the number of features

    @abstractmethod
    def __call__(self, x: Points, /) -> Array:
        """The features of points, in their library and dtype: (n, D)."""


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """A transformer that replaces points by features whose dot products are kernel values, nearly."""

    n_components: int
    random_state: Any

    @abstractmethod
    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> Map:
        """Choose the features."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the features for points X; y is not looked at."""
        validate.whole("n_components", self.n_components)
        kernel, points = self._accept(X)
        self.map_ = self._map(kernel, points, generator(self.random_state))
        self._n_features_out = self.map_.width
        return self

    def transform(self, X: Any) -> Array:
        """The features of points, (n, D): their dot products are kernel values, nearly."""
        points = self._points(X)
        return Mapped(self.map_, points).whole()


@dataclass(frozen=True, eq=False, repr=False)
class Mapped(LazyMatrix):
    """The features of points as a matrix (n, D) that is known by its rows."""

    map: Map
    points: Points

    @property
    def shape(self) -> tuple[int, int]:
        """Points and features."""
        return count(self.points), self.map.width

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the features."""
        return self.map(take_rows(self.points, slice(0, 1)))[0, :1]

    @property
    def symmetric(self) -> bool:
        """Never."""
        return False

    def block(self, rows: slice, columns: slice, /) -> Array:
        """Features of some points."""
        return self.map(take_rows(self.points, rows))[:, columns]

    def whole(self) -> Array:
        """All features, made on all cores, if the memory budget allows it."""
        (n, width), like = self.shape, self.like
        needed, budget = n * width * itemsize(like), settings().memory
        if needed > budget:
            raise MemoryBudgetError(
                f"{width} features of {n:,} points need {needed / 2**20:,.0f} MiB, and the budget "
                f"is {budget / 2**20:,.0f} MiB: transform fewer points at a time, use a learner that "
                "streams them, or raise mercer.config(memory=...)"
            )
        out, tasks = zeros((n, width), like), spans(n, _ROWS)
        made = in_order(_Rows(self), tasks, parallel=is_numpy(like))
        for rows, part in zip(tasks, made, strict=True):
            out[rows, :] = part
        return out


@dataclass(frozen=True)
class _Rows:
    """rows -> all features of these points."""

    matrix: Mapped

    def __call__(self, rows: slice) -> Array:
        return self.matrix.block(rows, slice(0, self.matrix.shape[1]))
