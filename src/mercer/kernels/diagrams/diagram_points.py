"""Persistence diagrams: sets of points (birth, death), checked, and the base of kernels on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_array, to_numpy
from mercer.kernels.objects import ObjectKernel, listed
from mercer.kernels.sets.element_pairs import PointSets


class DiagramKernel(ObjectKernel):
    """A kernel whose points are persistence diagrams, arrays (m, 2) of births and deaths; m = 0 is allowed."""

    domain = "persistence diagrams"
    expensive = True

    def items(self, x: Any, name: str, /) -> list[np.ndarray]:
        if is_array(x) and x.ndim == 3:
            x = list(x)
        return [
            _diagram(item, f"diagram {i} of {name}")
            for i, item in enumerate(listed(x, name, "diagrams"))
        ]

    def view(self, items: list[np.ndarray], /) -> PointSets:
        edges = np.concatenate([[0], np.cumsum([len(item) for item in items])]).astype(np.int64)
        return PointSets(np.concatenate(items), edges)


def _diagram(item: Any, name: str) -> np.ndarray:
    """One checked diagram."""
    if getattr(item, "shape", None) == (0,) or (isinstance(item, list | tuple) and not item):
        return np.empty((0, 2), dtype=np.float64)
    if isinstance(item, str | bytes | dict) or not (
        is_array(item) or isinstance(item, list | tuple)
    ):
        raise TypeError(
            f"{name} must be an array (points, 2) of births and deaths, got {validate.shown(item)}"
        )
    if isinstance(item, list) and all(map(_has_dimension, item)):
        item = _of_one_dimension(item, name)
    points = to_numpy(validate.real(item, name))
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"{name} must be an array (points, 2) of births and deaths, got shape {points.shape}"
        )
    if np.isinf(points).any():
        raise ValueError(
            f"{name} has essential points, which never die (inf): drop them, or give them a finite death"
        )
    if len(points) and bool((points[:, 1] < points[:, 0]).any()):
        raise ValueError(f"{name} must have deaths that are not before births")
    return np.asarray(
        validate.finite(points.astype(np.float64), name) if len(points) else points,
        dtype=np.float64,
    )


def _has_dimension(point: Any) -> bool:
    """Whether a point is (dimension, (birth, death)), as `SimplexTree.persistence` of gudhi has them."""
    pair = isinstance(point, tuple) and len(point) == 2 and isinstance(point[1], tuple)
    return pair and len(point[1]) == 2


def _of_one_dimension(points: list[Any], name: str) -> list[Any]:
    """Births and deaths of points that have the same dimension."""
    dimensions = sorted({dimension for dimension, _ in points})
    if len(dimensions) > 1:
        raise ValueError(
            f"{name} has points of the dimensions {dimensions}: use those of one dimension, such as "
            "persistence_intervals_in_dimension(1) of gudhi"
        )
    return [list(pair) for _, pair in points]


def sums_of_pairs(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sums of a matrix of pairs of points over the diagrams of rows and columns, given by their edges."""
    return _segments(_segments(values, rows, 0), columns, 1)


def _segments(values: np.ndarray, edges: np.ndarray, axis: int) -> np.ndarray:
    """Sums over segments along an axis; 0 for empty ones."""
    shape = list(values.shape)
    shape[axis] = len(edges) - 1
    out = np.zeros(shape, dtype=np.float64)
    filled = np.flatnonzero(np.diff(edges))
    if len(filled):
        sums = np.add.reduceat(values, edges[filled], axis=axis)
        out[(slice(None),) * axis + (filled,)] = sums
    return out
