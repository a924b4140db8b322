"""Kernel of a feature map, and the vectors of its feature space as points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer import validate
from mercer.backend import Array, namespace
from mercer.features.feature_map import Map
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import FeatureRows


class FeatureVectors(FeatureRows):
    """Vectors v of a feature space (n, D) as points: v represents the function <v, z(.)>."""


@dataclass(frozen=True)
class FeatureKernel(Kernel):
    """Kernel k(x, y) = <z(x), z(y)> of a feature map z, on points and on `FeatureVectors` of its space."""

    map: Map

    def accept(self, x: Any, name: str = "x") -> Points:
        return x if isinstance(x, FeatureVectors) else validate.points(x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        right = self._image(y)
        return self._image(x) @ namespace(right).permute_dims(right, (1, 0))

    def paired(self, x: Points, y: Points, /) -> Array:
        products = self._image(x) * self._image(y)
        return namespace(products).sum(products, axis=1)

    def _image(self, x: Points) -> Array:
        return x.vectors if isinstance(x, FeatureVectors) else self.map(x)

    def __repr__(self) -> str:
        return f"FeatureKernel({type(self.map).__name__} of {self.map.width} features)"
