"""Difference of the mean features of two samples, for the observed labelling and for others.

A test with p features needs of each sample its mean and the covariance of that mean: sums over
points of z and zz'. Under another labelling of the pooled sample these are sums over other points,
so that one matrix product gives them for all labellings, in time linear in the number of points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from mercer import linalg
from mercer.config import settings
from mercer.htest.nulls import Permutation
from mercer.htest.samples.pooled_sample import labellings, loss, within

_RELATIVE_RANK = 1e-10  # directions with less than this share of the largest variance are constant
_SMALLEST_DEVIATION = (
    1e-14  # columns with less than this share of the largest deviation are constant
)
_MAX_CONDITION = 1e6  # with which an inverse has ten correct digits
_MIN_RELATIVE_DEVIATION = 1e-5  # of the largest value: smaller deviations have fewer correct digits
_MAX_STANDARD_ERRORS = 1e3  # of a mean difference, beyond which the ridge decides
_NUMBERS_AT_A_TIME = 32_768  # whose differences from the mean stay in the level-2 cache
_RIDGE = 1e-10  # times the variance of the mean, so that constant samples can be compared


class Difference(NamedTuple):
    """The difference of two means, and its covariance; leading axes are labellings."""

    delta: np.ndarray  # (..., p)
    covariance: np.ndarray  # (..., p, p)


class MeanDifference:
    """The difference of the mean features of two samples, under any labelling of the pool.

    Parameters
    ----------
    features : array (n + m, p)
        Features of the first sample, then of the second.
    n : int
        The size of the first sample.
    weights : array (n + m,) or None
        Weights of the observations, adding up to one in each sample.
    """

    def __init__(self, features: np.ndarray, n: int, weights: np.ndarray | None) -> None:
        self.n, self.m = n, len(features) - n
        equal = np.repeat([1 / self.n, 1 / self.m], [self.n, self.m])
        self.weighted = weights is not None
        self.weights = equal if weights is None else np.asarray(weights, dtype=np.float64)
        self.features = features - features.mean(axis=0)
        sizes = [1 / float(np.sum(w**2)) for w in (self.weights[:n], self.weights[n:])]
        self.effective = min(sizes)  # of the smaller sample, as if it were not weighted

    @cached_property
    def observed(self) -> Difference:
        """delta = mean of x - mean of y, and S_x/n + S_y/m."""
        first = moments(self.features[: self.n], self.weights[: self.n])
        second = moments(self.features[self.n :], self.weights[self.n :])
        return Difference(first[0] - second[0], first[1] + second[1])

    def relabelled(self, null: Permutation, columns: slice, seed: int) -> Iterator[Difference]:
        """The same for the labellings in some columns, in chunks; column 0 is the observed one.

        Weighted observations share one covariance matrix, that of both samples together: a sample in which
        few observations count estimates its own too poorly, and labellings spread these over both samples.
        """
        labels = labellings(self.n, self.m, null, seed)
        for chunk in within(columns, labels.chunks(settings().memory // 4)):
            crossed = labels.columns(chunk, self.features[:0]).project(self._terms)  # (terms, B)
            total = self._terms.sum(axis=1)[:, None]
            sums = (total + crossed) / 2
            first, second = self._moments(sums), self._moments(total - sums)
            difference = Difference(first[0] - second[0], first[1] + second[1])
            if self.weighted:
                units = np.sqrt(self._loss / loss(sums[:2], total[:2]))
                difference = Difference(
                    difference.delta * units[:, None], self._loss * self._together
                )
            yield difference

    @cached_property
    def _loss(self) -> float:
        return float(self.weights @ self.weights)

    @cached_property
    def _together(self) -> np.ndarray:
        """The covariance of the observations of both samples: (p, p)."""
        shares = self.weights / 2
        apart = self.features - shares @ self.features
        return (apart.T * shares) @ apart / (1 - float(shares @ shares))

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(self.features.shape[1])

    @cached_property
    def _terms(self) -> np.ndarray:
        """What is summed over a sample: u, u^2, u z, u^2 z, u^2 z z', u weights around one."""
        z, (i, j) = self.features.T, self._pairs
        u = self.weights * np.repeat([self.n, self.m], [self.n, self.m])
        return np.concatenate([[u, u**2], u * z, u**2 * z, u**2 * z[i] * z[j]])

    def _moments(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (B, p) and their covariances (B, p, p) from sums (terms, B)."""
        p, (i, j) = self.features.shape[1], self._pairs
        weight, squared_weight = sums[0], sums[1]
        mean = sums[2 : 2 + p] / weight
        cross = sums[2 + p : 2 + 2 * p]
        square = sums[2 + 2 * p :] - cross[i] * mean[j] - mean[i] * cross[j]
        square += squared_weight * mean[i] * mean[j]
        spread = weight**2 - squared_weight
        square = np.where(spread > 0, square / np.where(spread > 0, spread, 1.0), 0.0)
        covariance = np.empty((sums.shape[1], p, p), dtype=np.float64)
        covariance[:, i, j] = covariance[:, j, i] = square.T
        return mean.T, covariance


class DifferenceEvidence(ABC):
    """A statistic of the difference of mean features, observed and of other labellings."""

    def __init__(self, features: np.ndarray, n: int, weights: np.ndarray | None) -> None:
        self.features, self.n, self.weights = features, n, weights

    @cached_property
    def difference(self) -> MeanDifference:
        """The difference of the mean features, under any labelling."""
        return MeanDifference(self._compared(), self.n, self.weights)

    @abstractmethod
    def _compared(self) -> np.ndarray:
        """The features whose means are compared: (n + m, r)."""

    @property
    @abstractmethod
    def degrees(self) -> int:
        """The number of features that count."""

    @property
    def effective(self) -> float:
        """Observations of the smaller sample, as if it were not weighted."""
        if self.weights is None:
            return float(min(self.n, len(self.features) - self.n))
        return self.difference.effective

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return float(self._values(self.difference.observed))

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of some labellings."""
        parts = self.difference.relabelled(null, columns, seed)
        return np.concatenate([self._values(difference) for difference in parts])

    def tolerance(self) -> float:
        """0: labellings are not compared beyond the rounding of float64."""
        return 0.0

    @abstractmethod
    def _values(self, found: Difference) -> np.ndarray:
        """The statistic of every difference."""


class NormalizedEvidence(DifferenceEvidence):
    """delta' S^-1 delta, a chi-square under the null hypothesis.

    Features are first turned into uncorrelated ones of variance one over the pooled sample, which
    changes nothing but the rounding; directions in which the pool does not vary are left out
    (equal locations, discrete data), and `degrees` counts those that remain. Where none is left out,
    the observed statistic needs the moments of the samples only.
    """

    def _compared(self) -> np.ndarray:
        return whitened(self.features)

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        if self._from_moments is not None:
            return self._from_moments
        return float(self._values(self.difference.observed))

    @property
    def rank(self) -> int:
        """The number of directions in which the features vary."""
        if self._from_moments is not None:
            return self.features.shape[1]
        return self.difference.features.shape[1]

    @property
    def degrees(self) -> int:
        return max(self.rank, 1)  # where nothing varies the statistic is 0, and p is 1

    @property
    def ridge(self) -> float:
        """What is added to the variances of the difference."""
        return regularization(self.n, len(self.features) - self.n)

    @cached_property
    def _from_moments(self) -> float | None:
        """The statistic; None for weighted samples and where the features are nearly collinear."""
        if self.weights is not None or min(self.n, len(self.features) - self.n) < 2:
            return None
        both = moments_of_both(self.features[: self.n], self.features[self.n :])
        total, least = both.total, _MIN_RELATIVE_DEVIATION * np.abs(self.features).max(initial=0.0)
        if inverse_of_correlation(total, least) is None:
            return None
        covariance = both.covariance + self.ridge * total
        inverted = inverse_of_correlation(covariance)
        if inverted is None:
            return None
        units = both.delta / inverted[0]
        if max(abs(units)) > _MAX_STANDARD_ERRORS:
            return None
        return float(units @ inverted[1] @ units)

    def chi_square(self) -> tuple[float, int]:
        """The statistic and its degrees of freedom."""
        return self.observed, self.degrees

    def _values(self, found: Difference) -> np.ndarray:
        if self.rank == 0:
            return np.zeros(found.delta.shape[:-1], dtype=np.float64)
        regularized = found.covariance + self.ridge * np.eye(self.rank)
        solved = linalg.solve(regularized, found.delta[..., None])[..., 0]
        return np.sum(found.delta * solved, axis=-1)


class SquaredEvidence(DifferenceEvidence):
    """(|delta|^2 - tr S) / p, the mean squared difference of the features without its bias.

    It may be negative.
    """

    def _compared(self) -> np.ndarray:
        return self.features

    @property
    def degrees(self) -> int:
        return self.features.shape[1]

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """|delta|^2, and the weights of the chi-squares it is a sum of under the null hypothesis."""
        return chi_square_weights(*self.difference.observed, rank)

    def _values(self, found: Difference) -> np.ndarray:
        return squared_difference(found.delta, found.covariance)


def regularization(n: int, m: int) -> float:
    """What is added to the variances of a difference of whitened means."""
    return _RIDGE * (1 / n + 1 / m)


def squared_difference(delta: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(|delta|^2 - tr S) / p of differences (..., p) with their covariances S."""
    trace = np.trace(covariance, axis1=-2, axis2=-1)
    return (np.sum(delta**2, axis=-1) - trace) / max(delta.shape[-1], 1)


def chi_square_weights(
    delta: np.ndarray, covariance: np.ndarray, rank: int
) -> tuple[float, np.ndarray, float]:
    """|delta|^2, and the weights of the chi-squares it is a sum of under the null hypothesis."""
    values = np.maximum(linalg.eigvalsh(covariance)[::-1], 0.0)
    return float(delta @ delta), values[:rank], float(values[rank:].sum())


def moments(z: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weighted mean of z, weights adding up to one, and the covariance of that mean.

    sum_i w_i^2 (z_i - mean)(z_i - mean)' / (1 - sum_i w_i^2), which is S/n for equal weights.
    """
    mean = w @ z
    apart = (z - mean) * w[:, None]
    correction = 1 - float(w @ w)
    return mean, apart.T @ apart / (correction if correction > 0 else 1.0)


def whitened(z: np.ndarray) -> np.ndarray:
    """Uncorrelated combinations of variance one over all points: (N, r), r the rank."""
    z = z - z.mean(axis=0)
    return z @ whitening(z.T @ z / len(z))


def whitening(scatter: np.ndarray, least: Any = 0.0) -> np.ndarray:
    """W with W' scatter W = I, over the directions that vary: (p, r), r the rank.

    Columns with a deviation of not more than `least` do not vary.
    """
    size = np.sqrt(scatter.diagonal())
    varies = size > np.maximum(least, _SMALLEST_DEVIATION * size.max(initial=0.0))
    if not varies.all():
        size, scatter = size[varies], scatter[np.ix_(varies, varies)]
    if len(size) == 0:
        return np.zeros((len(varies), 0), dtype=np.float64)
    values, vectors = linalg.eigh(scatter / np.outer(size, size))
    significant = values > _RELATIVE_RANK * values[-1]
    combinations = np.zeros((len(varies), np.count_nonzero(significant)), dtype=np.float64)
    combinations[varies] = vectors[:, significant] / np.sqrt(values[significant]) / size[:, None]
    return combinations


# ---- from moments alone -------------------------------------------------------------------------


class TwoSampleMoments(NamedTuple):
    """Difference of the means of two samples, and the scatter around them, sum (z - mean)(z - mean)'."""

    delta: np.ndarray  # (p,)
    scatters: tuple[np.ndarray, np.ndarray]  # (p, p) each
    sizes: tuple[int, int]

    @property
    def within(self) -> np.ndarray:
        """The scatter of both samples: (p, p)."""
        return self.scatters[0] + self.scatters[1]

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of delta, S_x/n + S_y/m: (p, p)."""
        (n, m), (first, second) = self.sizes, self.scatters
        return first / (n * (n - 1)) + second / (m * (m - 1))

    @property
    def total(self) -> np.ndarray:
        """The covariance of the pooled sample: (p, p)."""
        n, m = self.sizes
        between = (n * m / (n + m) * self.delta[:, None]) * self.delta
        return (self.within + between) / (n + m)


def moments_of_both(first: np.ndarray, second: np.ndarray) -> TwoSampleMoments:
    """Moments of two samples of unweighted observations."""
    (mean_x, scatter_x), (mean_y, scatter_y) = _scatter(first), _scatter(second)
    return TwoSampleMoments(mean_x - mean_y, (scatter_x, scatter_y), (len(first), len(second)))


def _scatter(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean, and the scatter around it."""
    mean = np.full(len(z), 1 / len(z)) @ z
    products, offset = z.T @ z, (len(z) * mean[:, None]) * mean
    if (2 * offset.diagonal() <= products.diagonal()).all():  # the difference loses one bit at most
        return mean, products - offset
    scatter = np.zeros((len(mean), len(mean)), dtype=np.float64)
    step = max(_NUMBERS_AT_A_TIME // max(len(mean), 1), 1)
    for start in range(0, len(z), step):
        apart = z[start : start + step] - mean
        scatter += apart.T @ apart
    return mean, scatter


def inverse_of_correlation(
    covariance: np.ndarray, least: Any = 0.0
) -> tuple[np.ndarray, np.ndarray] | None:
    """Standard deviations, and the inverse of the matrix of correlations.

    None if that is nearly singular, or a deviation not more than `least`. The norm of the inverse times
    p bounds the ratio of the largest to the smallest eigenvalue.
    """
    size = np.sqrt(covariance.diagonal())
    if len(size) == 0 or not (size > np.maximum(least, _SMALLEST_DEVIATION * max(size))).all():
        return None
    try:
        inverse = linalg.inv(covariance / (size[:, None] * size))
    except np.linalg.LinAlgError:
        return None
    condition = len(size) * sqrt(np.vdot(inverse, inverse))
    return (size, inverse) if condition < _MAX_CONDITION else None
