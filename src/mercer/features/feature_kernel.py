"""The kernel that a feature map has, and the functions of its space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, count, namespace, take_rows
from mercer.features.feature_map import Map
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import Rows, taken, widened


@dataclass(frozen=True, eq=False)
class Images(Rows):
    """Vectors v of the space of a feature map (n, D), in the place of points: each stands for <v, z(.)>."""

    vectors: Array

    def __len__(self) -> int:
        return count(self.vectors)

    def __getitem__(self, rows: slice, /) -> Images:
        return Images(take_rows(self.vectors, rows))

    def taken(self, rows: np.ndarray, /) -> Images:
        """Some of them, repeats included."""
        return Images(taken(self.vectors, rows))

    def joined(self, others: Images, /) -> Images:
        """These, then others."""
        return Images(namespace(self.vectors).concat([self.vectors, others.vectors]))

    def widened(self) -> Images:
        wide = widened(self.vectors)
        return self if wide is self.vectors else Images(wide)


@dataclass(frozen=True)
class FeatureKernel(Kernel):
    """k(x, y) = <z(x), z(y)> for a feature map z; x and y may be `Images` of its space, too."""

    map: Map

    def accept(self, x: Any, name: str = "x") -> Points:
        return x if isinstance(x, Images) else validate.points(x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        right = self._image(y)
        return self._image(x) @ namespace(right).permute_dims(right, (1, 0))

    def paired(self, x: Points, y: Points, /) -> Array:
        both = self._image(x) * self._image(y)
        return namespace(both).sum(both, axis=1)

    def _image(self, x: Points) -> Array:
        return x.vectors if isinstance(x, Images) else self.map(x)

    def __repr__(self) -> str:
        return f"FeatureKernel({type(self.map).__name__} of {self.map.width} features)"
