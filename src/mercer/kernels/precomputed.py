"""Kernels whose values are entries of a matrix that was computed before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, to_numpy
from mercer.kernels.base import Points
from mercer.kernels.objects import ObjectKernel

_ROUNDING = (
    1e-6  # asymmetry that is taken for rounding, relative to the largest value: that of float32
)


@dataclass(frozen=True, eq=False)
class Precomputed(ObjectKernel):
    """k(i, j) = K[i, j], entries of a given matrix; points are row indices of K.

    Data are index arrays: two samples are the indices of their rows, and a learner is fitted on the indices
    of its training rows. K must be symmetric; nothing else is known about it, and whether it is positive
    semi-definite is left to the reader, who can ask `is_positive_definite`. The matrix is not copied.

    Parameters
    ----------
    matrix : array (n, n)
        Kernel values of all pairs of n points.

    Examples
    --------
    >>> from mercer.htest import two_sample
    >>> rng = np.random.default_rng(0)
    >>> points = np.concatenate([rng.normal(size=(40, 2)), rng.normal(1.5, 1, size=(40, 2))])
    >>> K = Precomputed(np.exp(-np.sum((points[:, None] - points) ** 2, axis=2)))
    >>> two_sample(np.arange(40), np.arange(40, 80), kernel=K, rng=0).pvalue
    0.001
    """

    matrix: np.ndarray

    domain = "row indices"

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _checked(self.matrix))

    def items(self, x: Any, name: str, /) -> np.ndarray:
        """Row indices (n,), from numbers or a column of numbers."""
        n = len(self.matrix)
        values = to_numpy(validate.points(x, name))
        if values.shape[1] != 1:
            raise TypeError(
                f"points of Precomputed are row indices of its matrix, so {name} must be whole numbers (n,), "
                f"got shape {values.shape}: pass np.arange({n}), or the indices of some rows"
            )
        values = values[:, 0]
        inside = (values >= 0) & (values < n) & (values == np.floor(values))
        if not inside.all():
            raise ValueError(
                f"{name} must hold row indices of the matrix, whole numbers from 0 to {n - 1}, "
                f"got {values[~inside][0]}"
            )
        return values.astype(np.int64)

    def view(self, items: np.ndarray, /) -> np.ndarray:
        return items

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self.matrix.take(self.viewed(x), axis=0).take(self.viewed(y), axis=1)

    def paired(self, x: Points, y: Points, /) -> Array:
        return self.matrix[self.viewed(x), self.viewed(y)]

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Precomputed)
        return self is other or (same and np.array_equal(self.matrix, other.matrix))

    def __hash__(self) -> int:
        return hash(np.diagonal(self.matrix).tobytes())

    def __deepcopy__(self, memo: Any) -> Precomputed:
        return self  # never written into

    def __repr__(self) -> str:
        return f"Precomputed({len(self.matrix)} points)"


def _checked(matrix: Any) -> np.ndarray:
    """The matrix as finite, symmetric floats that cannot be written into."""
    values = to_numpy(validate.points(matrix, "matrix")).view()
    if values.shape[0] != values.shape[1]:
        raise ValueError(
            f"matrix must hold the kernel values of all pairs, (n, n), got {values.shape}: for new points "
            "compute the matrix of all points, and pass the indices of some"
        )
    gap, scale = float(np.max(np.abs(values - values.T))), float(np.max(np.abs(values)))
    if gap > _ROUNDING * scale:
        raise ValueError(
            f"matrix must be symmetric, but entries (i, j) and (j, i) differ by up to {gap:.3g}: "
            "if that is noise, pass (K + K.T) / 2"
        )
    values.flags.writeable = False
    return values
