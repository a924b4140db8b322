"""Signature kernels: inner products of iterated integrals of paths, truncated at a level or complete."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array
from mercer.kernels.base import Kernel, Points, require_kernels
from mercer.kernels.series.alignment_engine import paired_with
from mercer.kernels.series.series_data import Series, SeriesKernel
from mercer.kernels.series.signature_engine import largest_increment, signature_kernel
from mercer.kernels.series.signature_features import count_features, signature_features
from mercer.kernels.take import FeatureRows

# Up to here explicit features cost less than dynamic programming: a series of length 100 has as many numbers
# added to 20,000 features as a pair of such series has cells times terms, but once, not for every pair.
_MAX_FEATURES = 20_000
_LARGEST_INCREMENT = 350.0  # that of a single step of length h is I_0(2 h), which overflows there


@dataclass(frozen=True)
class Signature(SeriesKernel):
    """Inner product of the signatures of two paths: sum over levels m of <S_m(x), S_m(y)>, S_0 = 1.

    A series is a path that goes from point to point in straight lines, and S_m(x) is the tensor of its iterated
    integrals, the integral of dx_(t1) (x) ... (x) dx_(tm) over t1 < ... < tm. The kernel sees the order of events,
    not their speed: points repeated or inserted on the way change nothing, nor does a shift of all points. Add time
    as a channel where speed matters, and the origin as the first point where the level does.

    Parameters
    ----------
    level : int or None
        Highest level of the sum. None: all levels, to machine accuracy, by local power series.
    base : Kernel or None
        Lifts the path: the points are replaced by their features k(x_t, .), and the path goes through the space of
        the base, such as RBF(1.0). None: the path itself.

    References
    ----------
    F. J. Kiraly, H. Oberhauser (2019). Kernels for sequentially ordered data. Journal of Machine Learning
    Research 20, 1-45. C. Salvi, T. Cass, J. Foster, T. Lyons, W. Yang (2021). The signature kernel is the solution of
    a Goursat PDE. SIAM Journal on Mathematics of Data Science 3, 873-899.

    Examples
    --------
    >>> line, corner = [[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    >>> Signature(2)([line, corner])
    array([[4. , 4. ],
           [4. , 4.5]])
    >>> Signature(None)([line, corner])
    array([[4.2523..., 4.2523...],
           [4.2523..., 5.1965...]])
    """

    level: int | None
    base: Kernel | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.level is not None:
            validate.whole("level", self.level)
        if self.base is not None:
            require_kernels(base=self.base)

    def parts(self) -> dict[str, Kernel]:
        return {}  # the points of the base are those of the path, not series

    def view(self, items: Series, /) -> Series | FeatureRows:
        if self.level is None or not self._explicit(items.channels):
            return items
        return FeatureRows(signature_features(items, self.level))

    def features(self, x: Any, /) -> np.ndarray:
        """The signature up to the level, all levels one after the other: (n, 1 + d + ... + d^level)."""
        if self.level is None or self.base is not None:
            raise TypeError(
                "only signatures up to a level, without a base, have finitely many features"
            )
        return signature_features(Series.of(x), self.level)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        right = left if y is x else self.viewed(y)
        if isinstance(left, FeatureRows):
            return left.vectors @ right.vectors.T
        return self._values(left, right)

    def paired(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        if isinstance(left, FeatureRows):
            return np.sum(left.vectors * right.vectors, axis=1)
        return paired_with(self._values, left, right)

    def items(self, x: Any, name: str, /) -> Series:
        series = Series.of(x, name)
        if self.base is not None:
            self.base.accept(series.values, name)
        if self.level is None and largest_increment(series, self.base) > _LARGEST_INCREMENT:
            raise ValueError(f"{name} has steps so long that signatures overflow: rescale the data")
        return series

    def _explicit(self, channels: int) -> bool:
        level = self.level or 0
        return self.base is None and count_features(channels, level) <= _MAX_FEATURES

    def _values(self, x: Series, y: Series) -> np.ndarray:
        return signature_kernel(x, y, self.base, self.level)
