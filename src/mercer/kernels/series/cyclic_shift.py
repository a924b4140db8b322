"""Kernel that does not see where a cyclic series begins: the mean over all cyclic shifts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import Array, to_numpy
from mercer.kernels.base import DotProduct, Kernel, Points, Radial, require_kernels
from mercer.kernels.series.alignment_engine import paired_with
from mercer.kernels.series.series_data import Series, SeriesKernel

_NUMBERS_AT_ONCE = 2**22  # shifted series held at once: 32 MiB


@dataclass(frozen=True)
class CyclicShift(SeriesKernel):
    """Mean of base(x, shifted y) over all T cyclic shifts of a series of length T, as vectors of T d numbers.

    The value does not change when a series begins elsewhere, such as an outline of a shape or a day that is cut at
    another hour. With the mean, not the maximum over shifts, the kernel is positive definite. The base must not
    change when both arguments are shifted together, which is so for functions of distances and of dot products.
    All series must have the same length.

    Examples
    --------
    >>> from mercer.kernels.radial import RBF
    >>> CyclicShift(RBF(1.0))([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    array([[0.57..., 0.57..., 0.47...],
           [0.57..., 0.57..., 0.47...],
           [0.47..., 0.47..., 0.57...]])
    """

    base: Kernel

    def __post_init__(self) -> None:
        require_kernels(base=self.base)
        plain = isinstance(self.base, Radial | DotProduct)
        if not plain or getattr(self.base, "metric", None) is not None:
            raise TypeError(
                "base must be a function of distances or of dot products, such as RBF(1.0) or Linear(), whose "
                f"values do not change when both series are shifted, got {self.base!r}"
            )

    def parts(self) -> dict[str, Kernel]:
        return {}  # the points of the base are vectors, not series

    def items(self, x: Any, name: str, /) -> Series:
        series = Series.of(x, name)
        lengths = np.unique(series.lengths)
        if len(lengths) > 1:
            raise ValueError(
                f"all series of {name} must have the same length, got lengths from {lengths[0]} to "
                f"{lengths[-1]}: resample them first"
            )
        return series

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self._means(self.viewed(x), self.viewed(y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return paired_with(self._means, self.viewed(x), self.viewed(y))

    def _means(self, x: Series, y: Series) -> np.ndarray:
        left, right = _grid(x), _grid(y)
        if left.shape[1:] != right.shape[1:]:
            raise ValueError(
                f"x and y must have series of one length and as many channels, got {left.shape[1:]} and "
                f"{right.shape[1:]}"
            )
        (m, t, d), rows = right.shape, left.reshape(len(left), -1)
        shifts = (np.arange(t)[:, None] + np.arange(t)) % t
        out = np.empty((len(left), m), dtype=np.float64)
        many = max(_NUMBERS_AT_ONCE // (t * t * d), 1)
        for start in range(0, m, many):
            part = right[start : start + many]
            shifted = part[:, shifts].reshape(len(part) * t, t * d)
            values = to_numpy(self.base.pairwise(rows, shifted))
            out[:, start : start + many] = values.reshape(len(rows), len(part), t).mean(axis=2)
        return out


def _grid(x: Series) -> np.ndarray:
    """Series of one length as an array (n, T, d)."""
    return x.values.reshape(len(x), -1, x.channels)
