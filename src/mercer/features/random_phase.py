"""Random Fourier features with random phases, the map of Rahimi and Recht's first paper."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any

import numpy as np

from mercer.backend import Array, array_like, count, is_array, namespace
from mercer.errors import NoRule
from mercer.features.feature_map import FeatureMap, Map
from mercer.kernels.base import Kernel, Points
from mercer.kernels.spectral_density import sample_frequencies
from mercer.kernels.spectrum_algebra import top

_ERROR_RATE = 0.05  # probability with which `error_bound_` may fail


@dataclass(frozen=True, eq=False)
class PhaseMap(Map):
    """Feature map z(x) = sqrt(2 k(0) / D) (cos(w_1'x + b_1) ... cos(w_D'x + b_D))."""

    frequencies: np.ndarray  # (D, d)
    phases: np.ndarray  # (D,)
    scale: float
    width: int  # D

    def __call__(self, x: Points, /) -> Array:
        phase = x @ array_like(self.frequencies.T, x) + array_like(self.phases, x)
        return self.scale * namespace(phase).cos(phase)


class RandomPhaseFourier(FeatureMap):
    """Random Fourier features with one cosine of random phase for each frequency: <z(x), z(y)> ~ k(x, y).

    z(x) = sqrt(2 k(0) / D) (cos(w_1'x + b_1), ..., cos(w_D'x + b_D)), the frequencies w from the spectrum of the kernel
    and the phases b uniform on [0, 2 pi). As many features have twice the frequencies of `RandomFourier`, but
    the phases add variance, and k(x, x) is met on average only: `RandomFourier` is more accurate
    for Gaussian kernels (Sutherland and Schneider 2015).

    Parameters
    ----------
    kernel : Kernel or None
        A kernel with a known spectrum (`sample_frequencies`). None: RBF at the median distance.
    n_components : int
        Number of features and of frequencies.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    map_ : PhaseMap
        `frequencies` (D, d), `phases` (D,), and the `scale` of the features.
    error_bound_ : float
        Bound on the error of all kernel values between the points of `fit`, which holds with probability 95%:
        2 k(0) sqrt(2 log(n (n + 1) / 0.05) / D), by Hoeffding's inequality for D terms between -2 k(0) and 2 k(0).
    kernel_ : Kernel

    References
    ----------
    A. Rahimi, B. Recht (2007). Random features for large-scale kernel machines. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> x = np.random.default_rng(0).normal(size=(100, 5))
    >>> features = RandomPhaseFourier(RBF(3.0), 2000, random_state=0)
    >>> z = features.fit_transform(x)
    >>> bool(np.abs(z @ z.T - RBF(3.0)(x)).max() < features.error_bound_)
    True
    """

    error_bound_: float

    def __init__(
        self, kernel: Kernel | None = None, n_components: int = 256, *, random_state: Any = None
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def _needs_points(self) -> str | None:
        return "it computes features of the points"

    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> PhaseMap:
        if not (is_array(points) and points.ndim == 2):
            raise NoRule(
                f"Fourier features need numeric points and a stationary kernel, got {kernel!r}: use "
                "Nystrom, which takes any kernel"
            )
        width, dim, n = int(self.n_components), int(points.shape[1]), count(points)
        frequencies = sample_frequencies(kernel, width, dim, rng=rng)
        largest = top(kernel, dim)
        self.error_bound_ = 2 * largest * sqrt(2 * log(n * (n + 1) / _ERROR_RATE) / width)
        phases = rng.uniform(0, 2 * pi, width)
        return PhaseMap(frequencies, phases, sqrt(2 * largest / width), width)
