"""Distance covariances of few points in plain arrays, without the overhead of Gram matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.radial import Energy
from mercer.rkhs.distance_covariance_1d import CentredDistances, centred_diagonal, centred_products

_DISTANCE = Energy()
_MAX_POINTS = 100  # beyond, sorting numbers and Gram matrices take as long
# Bounds on the largest number: products of four such numbers neither vanish nor overflow.
_MIN_SIZE, _MAX_SIZE = 1e-50, 1e60


@dataclass(frozen=True)
class SmallDistances:
    """A = -HDH / 2 with the Euclidean distances D in memory: the centred energy kernel."""

    distances: np.ndarray  # D, (n, n)
    row_sums: np.ndarray  # of D, (n,)

    @classmethod
    def of(cls, distances: np.ndarray) -> SmallDistances:
        """The matrix of these distances."""
        return cls(distances, distances.sum(axis=0))

    def inner(self, other: SmallDistances, /) -> float:
        """sum_ij A_ij B_ij."""
        products = np.vdot(self.distances, other.distances)
        crossed = self.row_sums @ other.row_sums
        return float(centred_products(products, crossed, self.row_sums, other.row_sums))

    def diagonal(self) -> np.ndarray:
        """The diagonal of A: (n,)."""
        return self._diagonal

    @cached_property
    def _diagonal(self) -> np.ndarray:
        return centred_diagonal(self.row_sums)


def plain_distances(
    kernels: Sequence[Kernel | None], samples: Sequence[Any], least: int
) -> tuple[int, Any, Any] | None:
    """The number of points, and the matrices of two paired samples compared by `Energy()`.

    None where anything needs a closer look: other kernels, other types than float64 arrays of NumPy, points
    in several dimensions and more than 100 of them, fewer than `least`, different numbers of them, values
    that are not finite or of an extreme size.
    """
    (kernel_x, kernel_y), (x, y) = kernels, samples
    if not (_is_plain(x) and _is_plain(y)) or len(x) != len(y) or len(x) < least:
        return None
    if kernel_x != _DISTANCE or (kernel_y is not kernel_x and kernel_y != _DISTANCE):
        return None
    if len(x) <= _MAX_POINTS:
        return len(x), SmallDistances.of(_distances(x)), SmallDistances.of(_distances(y))
    if x.size == y.size == len(x):
        x, y = x.ravel(), y.ravel()
        return len(x), CentredDistances(x - x.mean()), CentredDistances(y - y.mean())
    return None


def _is_plain(x: Any) -> bool:
    """Whether points are a float64 array of NumPy with numbers of a usual size."""
    if type(x) is not np.ndarray or x.dtype != np.float64 or x.ndim not in (1, 2) or not x.size:
        return False
    return _MIN_SIZE < max(x.max(), -x.min()) < _MAX_SIZE  # also false for NaN


def _distances(x: np.ndarray) -> np.ndarray:
    """|x_i - x_j|: (n, n)."""
    if x.size == len(x):
        numbers = x.ravel()
        matrix = np.subtract.outer(numbers, numbers)
        return np.abs(matrix, out=matrix)
    from scipy.spatial.distance import cdist

    return cdist(x, x)
