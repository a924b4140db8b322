"""Entropies on the line from spacings of the ordered observations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from mercer import validate
from mercer.info.estimator import EstimatedIntegrals, Estimator
from mercer.info.information_measures import Integrals, weights_at
from mercer.info.sample import Sample, more_points_than

_WINDOWS = 1024  # of Correa's estimator, whose sums are cumulated together
_LOST_DIGITS = (
    1e-6  # variance of a window in units of the sum of squares, below which rounding matters
)


class SpacingEstimator(Estimator, ABC):
    """Estimator of Shannon's entropy on the line from the distances x_(i+m) - x_(i) of ordered observations."""

    m: int | None

    def __post_init__(self) -> None:
        if self.m is not None:
            validate.whole("m", self.m)

    @abstractmethod
    def _entropy(self, ordered: np.ndarray, m: int) -> float:
        """Entropy from the ordered observations."""

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        ordered, m = self._ordered(x)
        return SpacingIntegrals(self, ordered, m, self._entropy(ordered, m))

    def _ordered(self, x: Sample) -> tuple[np.ndarray, int]:
        """Ordered observations, and m, by default sqrt(n) rounded."""
        if x.dimension != 1:
            raise ValueError(f"{self!r} is for numbers on the line, but {x.name} has {x.dimension} columns: use KNN()")  # fmt: skip
        ordered = np.sort(x.host(type(self).__name__)[:, 0])
        m = round(sqrt(len(x))) if self.m is None else self.m
        more_points_than(x, 2 * m, f"{type(self).__name__}(m={m})")
        if np.any(ordered[m:] == ordered[:-m]):
            raise ValueError(
                f"{x.name} has a value that occurs more than m = {m} times, where the spacing is zero: use PlugIn() "
                "for discrete data, or a larger m"
            )
        return ordered, m


class SpacingIntegrals(EstimatedIntegrals):
    """Shannon's entropy by an estimator, and means of functions of the density m / (n + 1) / spacing."""

    def __init__(self, estimator: Estimator, ordered: np.ndarray, m: int, entropy: float) -> None:
        super().__init__(estimator)
        self.ordered, self.m, self.entropy = ordered, m, entropy

    def log_p(self) -> float:
        return -self.entropy

    def mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        return float(np.mean(f(self._density())))

    def weighted_mean(
        self, f: Callable[[np.ndarray], np.ndarray], weight: Callable[[np.ndarray], np.ndarray]
    ) -> float:
        weights = weights_at(weight, self.ordered)
        ends = (weights[self.m :] + weights[: -self.m]) / 2  # of every spacing
        return float(np.mean(ends * f(self._density())))

    def _density(self) -> np.ndarray:
        """m / (n + 1) over every spacing: (n - m,)."""
        spacings = self.ordered[self.m :] - self.ordered[: -self.m]
        return self.m / ((len(self.ordered) + 1) * spacings)


@dataclass(frozen=True)
class Spacing(SpacingEstimator):
    """Entropy mean(log((n + 1) s_i)) - psi(m), s_i = x_(i+m) - x_(i), without bias on uniform data.

    (Learned-Miller and Fisher 2003, with the constant of spacings of uniform numbers.) m is sqrt(n) if None.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import entropy
    >>> x = np.random.default_rng(0).uniform(size=1000)
    >>> round(abs(entropy(x, estimator=Spacing())), 1)
    0.0
    """

    m: int | None = None

    def _entropy(self, ordered: np.ndarray, m: int) -> float:
        from scipy.special import digamma

        spacings = ordered[m:] - ordered[:-m]
        # A spacing of uniform numbers is Beta(m, n + 1 - m): E log s = psi(m) - psi(n + 1).
        return float(np.mean(np.log(spacings)) + digamma(len(ordered) + 1) - digamma(m))


@dataclass(frozen=True)
class Vasicek(SpacingEstimator):
    """Entropy mean(log(n (x_(i+m) - x_(i-m)) / 2m)), the first and last repeated at the ends (Vasicek 1976)."""

    m: int | None = None

    def _entropy(self, ordered: np.ndarray, m: int) -> float:
        n = len(ordered)
        return float(np.mean(np.log(n / (2 * m) * _clipped_spacings(ordered, m))))


@dataclass(frozen=True)
class Ebrahimi(SpacingEstimator):
    """Vasicek's estimator with weights 1 + (i - 1)/m to 2 in place of 2 at the ends (Ebrahimi et al. 1994)."""

    m: int | None = None

    def _entropy(self, ordered: np.ndarray, m: int) -> float:
        n = len(ordered)
        from_end = np.minimum(np.arange(n), np.arange(n)[::-1])
        weights = 1 + np.minimum(from_end / m, 1.0)
        return float(np.mean(np.log(n / (m * weights) * _clipped_spacings(ordered, m))))


@dataclass(frozen=True)
class VanEs(SpacingEstimator):
    """Entropy mean(log((n + 1) s_i / m)) + sum_(j=m)^n 1/j + log(m / (n + 1)) (van Es 1992)."""

    m: int | None = None

    def _entropy(self, ordered: np.ndarray, m: int) -> float:
        n = len(ordered)
        spacings = ordered[m:] - ordered[:-m]
        harmonic = np.sum(1 / np.arange(m, n + 1)) + log(m / (n + 1))
        return float(np.mean(np.log((n + 1) / m * spacings)) + harmonic)


@dataclass(frozen=True)
class Correa(SpacingEstimator):
    """Entropy -mean(log b_i / n), b_i the slope of ranks on values in a window of 2m + 1 (Correa 1995)."""

    m: int | None = None

    def _entropy(self, ordered: np.ndarray, m: int) -> float:
        n = len(ordered)
        padded = np.concatenate([np.full(m, ordered[0]), ordered, np.full(m, ordered[-1])])
        size = max(_WINDOWS, 4 * m)
        slopes = [_slopes(padded[i : i + size + 2 * m], m) for i in range(0, n, size)]
        return float(-np.mean(np.log(np.concatenate(slopes) / n)))


def _slopes(values: np.ndarray, m: int) -> np.ndarray:
    """Slope of ranks on values in every window of 2m + 1 ordered values."""
    size, offsets = 2 * m + 1, np.arange(-m, m + 1)
    centred = values - values[len(values) // 2]
    columns = (centred, centred**2, centred * np.arange(len(values)))
    sums = [np.concatenate([[0.0], np.cumsum(column)]) for column in columns]
    total, square, product = (c[size:] - c[:-size] for c in sums)
    covariance = product - (np.arange(len(total)) + m) * total
    variance = square - total**2 / size
    # Differences of cumulated sums lose the digits that a far observation takes: sum up those windows one by one.
    for i in np.flatnonzero(~(variance > _LOST_DIGITS * sums[1][-1])):
        window = values[i : i + size] - values[i + m]
        window -= window.mean()
        covariance[i], variance[i] = window @ offsets, window @ window
    return covariance / variance


def _clipped_spacings(ordered: np.ndarray, m: int) -> np.ndarray:
    """x_(i+m) - x_(i-m), with the first and last observation repeated beyond the ends: (n,)."""
    places = np.arange(len(ordered))
    high = np.minimum(places + m, len(ordered) - 1)
    return ordered[high] - ordered[np.maximum(places - m, 0)]
