"""Random warping series: features of series from their alignments with short random series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, to_numpy
from mercer.features.feature_map import FeatureMap, Map
from mercer.kernels.base import Kernel, Points
from mercer.kernels.series.alignment_kernels import DynamicTimeWarping
from mercer.kernels.series.series_data import Series, same_channels


@dataclass(frozen=True, eq=False)
class WarpingMap(Map):
    """Similarities (or distances) of series and random series, divided by the root of their number."""

    kernel: Kernel
    distances: bool
    probes: Any  # the random series, accepted by the kernel

    @property
    def width(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of features."""
        return len(self.probes)

    def __call__(self, x: Any, /) -> Array:
        same_channels(x.items, self.probes.items)
        if self.distances and isinstance(self.kernel, DynamicTimeWarping):
            values = np.sqrt(self.kernel.squared_distances(x, self.probes))
        else:
            values = to_numpy(self.kernel.pairwise(x, self.probes))
        return values / self.width**0.5


class RandomWarping(FeatureMap):
    """Features of series of any lengths: alignments with random series w_1, ..., w_D, over sqrt(D).

    The features define a positive definite kernel, k(x, y) = E f(x, w) f(y, w) over random series w, which dot
    products estimate with an error of order 1 / sqrt(D). Random series have lengths between 1 and `longest`,
    uniformly, and normal entries. Features cost D alignments with short series
    for each series, so that fitting a linear learner on them takes linear time, where Gram matrices of alignment
    kernels take quadratic time.

    Parameters
    ----------
    kernel : Kernel on series or None
        The f(x, w), such as ``DynamicTimeWarping(5.0)`` or ``GlobalAlignment(2.0).normalized()``. None: the dynamic
        time warping distance itself, as Wu et al. have it.
    n_components : int
        Number of features D.
    longest : int
        Largest length of the random series.
    scale : float or None
        Standard deviation of their entries, whose mean is 0. None: mean and standard deviation of the values of
        the series of `fit`, in each channel.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    map_ : WarpingMap
    kernel_ : Kernel

    References
    ----------
    L. Wu, I. E.-H. Yen, J. Yi, F. Xu, Q. Lei, M. Witbrock (2018). Random warping series: a random features method
    for time-series embedding. AISTATS.

    Examples
    --------
    >>> series = [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0], [5.0, 5.0]]
    >>> z = RandomWarping(n_components=64, random_state=0).fit_transform(series)
    >>> z.shape
    (3, 64)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int = 256,
        *,
        longest: int = 25,
        scale: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.longest = longest
        self.scale = scale
        self.random_state = random_state

    def _needs_points(self) -> str | None:
        return "it aligns series with random ones"

    def _takes_objects(self, X: Any) -> bool:
        return True

    def _default_kernel(self, x: Any) -> Kernel:
        return DynamicTimeWarping()

    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> WarpingMap:
        validate.whole("longest", self.longest)
        series = Series.of(points, "X")
        centre, spread = np.zeros(series.channels), np.ones(series.channels)
        if self.scale is None:
            centre, deviations = series.values.mean(axis=0), series.values.std(axis=0)
            spread = np.where(deviations > 0, deviations, 1.0)
        else:
            validate.positive("scale", self.scale)
            spread = spread * float(self.scale)
        lengths = rng.integers(1, self.longest, self.n_components, endpoint=True)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        values = centre + spread * rng.standard_normal((offsets[-1], series.channels))
        probes = kernel.accept(Series(values, offsets), "random series")
        return WarpingMap(kernel, self.kernel is None, probes)
