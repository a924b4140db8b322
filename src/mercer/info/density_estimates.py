"""Integrals from kernel density estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi

import numpy as np

from mercer import validate
from mercer.backend import array_like, scalar, to_numpy
from mercer.gram import Gram
from mercer.info.estimator import EstimatedIntegrals, Estimator
from mercer.info.information_measures import Integrals
from mercer.info.sample import Sample, more_points_than, same_columns
from mercer.kernels import RBF, Kernel, spectral_density


@dataclass(frozen=True)
class KDE(Estimator):
    """Estimator from kernel density estimates, each point left out of the estimate at itself.

    -mean log p_i with p_i = sum_(j != i) k(x_i, x_j) / ((n - 1) int k), and likewise for other integrals. The sum is
    taken to be at least k(x_i, x_i) / n, so that the logarithm is finite at a point far from all others. Takes the
    weights of `Empirical`, in the densities and in the means.

    Parameters
    ----------
    kernel : Kernel or None
        A shift-invariant kernel with an integral. None: `RBF` on standardized columns with the bandwidth
        (4 / (d + 2) n)^(1/(d + 4)) (Silverman 1986). Consistent if the bandwidth falls with n at such a rate.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import entropy
    >>> x = np.random.default_rng(0).normal(size=(1000, 1))
    >>> round(entropy(x, estimator=KDE()), 1)
    1.4
    """

    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel such as RBF(1.0), or None")

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        more_points_than(x, 1, "KDE")
        return DensityIntegrals(self, x, y)


class DensityIntegrals(EstimatedIntegrals):
    """Integrals of one or two densities from kernel density estimates."""

    def __init__(self, estimator: KDE, x: Sample, y: Sample | None) -> None:
        super().__init__(estimator)
        if y is not None:
            same_columns(x, y)
        self.kde, self.x, self.y = estimator, x, y

    def log_p(self) -> float:
        return self._mean(_safe_log(self._at_x(self.x), self.x))

    def log_q(self) -> float:
        return self._mean(_safe_log(self._at_x(self._other), self._other))

    def power(self, a: float, b: float = 0.0) -> float:
        if a == 0:
            return self.swapped().power(b)
        p = self._at_x(self.x) ** (a - 1) if a != 1 else 1.0
        return self._mean(p * (self._at_x(self._other) ** b if b != 0 else np.ones(len(self.x))))

    def mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        return self._mean(f(self._at_x(self.x)))

    def mean_ratio(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        at_y = self.swapped()
        return at_y._mean(f(at_y._at_x(self.x) / at_y._at_x(self._other)))

    def swapped(self) -> DensityIntegrals:
        return DensityIntegrals(self.kde, self._other, self.x)

    def _mean(self, values: np.ndarray) -> float:
        """Mean over the points of x, by their weights."""
        return float(np.average(values, weights=self.x.weights))

    @property
    def _other(self) -> Sample:
        if self.y is None:
            raise ValueError("y is needed: a divergence compares two samples")
        return self.y

    def _at_x(self, sample: Sample) -> np.ndarray:
        """Density estimate from a sample at the points of x, each left out of its own estimate: (n,)."""
        x, y = (s.numbers("KDE", weighted=True) for s in (self.x, sample))
        kernel, log_volume = self.kde.kernel, 0.0
        n, width = len(sample), sample.dimension
        weights = np.full(n, 1 / n) if sample.weights is None else sample.weights
        if kernel is None:
            scale = _deviations(to_numpy(y), weights)
            x, y = to_numpy(x) / scale, to_numpy(y) / scale
            effective = 1 / float(weights @ weights)  # n without weights
            kernel = RBF((4 / ((width + 2) * effective)) ** (1 / (width + 4)))
            log_volume = float(np.sum(np.log(scale)))
        # int k = (2 pi)^d p(0), with the spectral density p
        at_zero = scalar(spectral_density(kernel, np.zeros((1, width)))[0])
        log_volume += width * log(2 * pi) + log(at_zero)
        if sample is not self.x:
            return to_numpy(Gram(kernel, x, y) @ array_like(weights, y)) * np.exp(-log_volume)
        peak = scalar(kernel.diag(x[:1, :])[0])
        sums = to_numpy(Gram(kernel, x) @ array_like(weights, x)) - peak * weights
        # A point far from all others has the n-th part of a neighbour, so that its logarithm is finite.
        return np.maximum(sums, peak / n**2) / (1 - weights) * np.exp(-log_volume)


def _deviations(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Standard deviations of the columns, one where a column is constant: (d,)."""
    centred = points - weights @ points
    scale = np.sqrt(weights @ centred**2)
    return np.where(scale > 0, scale, 1.0)


def _safe_log(density: np.ndarray, sample: Sample) -> np.ndarray:
    if np.any(density <= 0):
        raise ValueError(
            f"the kernel density of {sample.name} is zero at {int(np.sum(density <= 0))} points: use a larger "
            "bandwidth, or KNN()"
        )
    return np.log(density)
