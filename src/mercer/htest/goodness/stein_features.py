"""Stein features at a few locations, and their moments, in linear time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer import linalg
from mercer.gram.threads import spans
from mercer.kernels.metric import squared_distances
from mercer.kernels.smooth import Profile

_MAX_FEATURE_VALUES = 2_000_000  # in memory at a time: 16 MB


def stein_features(
    x: np.ndarray, scores: np.ndarray, locations: np.ndarray, profile: Profile, slope: Profile
) -> np.ndarray:
    """xi(x_i, v_j) / sqrt(dJ) with xi(x, v) = s(x) k(x, v) + grad_x k(x, v): (n, J, d).

    The features have mean zero under the model (Jitkrittum et al. 2017, section 2).
    """
    r2 = squared_distances(x, locations, profile)
    values = profile(r2)[:, :, None] * scores[:, None, :]
    values += 2 * slope(r2)[:, :, None] * (x[:, None, :] - locations[None, :, :])
    return values / np.sqrt(locations.size)


def feature_chunks(
    x: np.ndarray, scores: np.ndarray, locations: np.ndarray, profile: Profile, slope: Profile
) -> Iterator[tuple[slice, np.ndarray]]:
    """Some rows at a time, and their features: (rows, D)."""
    size = locations.size
    for rows in spans(len(x), max(_MAX_FEATURE_VALUES // size, 1)):
        features = stein_features(x[rows], scores[rows], locations, profile, slope)
        yield rows, features.reshape(-1, size)


def feature_sums(
    x: np.ndarray, scores: np.ndarray, locations: np.ndarray, profile: Profile, slope: Profile
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the features (D,) and of their products (D, D)."""
    size = locations.size
    total = np.zeros(size, dtype=np.float64)
    products = np.zeros((size, size), dtype=np.float64)
    for _, flat in feature_chunks(x, scores, locations, profile, slope):
        total += flat.sum(axis=0)
        products += flat.T @ flat
    return total, products


@dataclass(frozen=True, eq=False)
class SteinMoments:
    """First and second moments of n Stein features in D = dJ dimensions.

    `judged` is the observed statistic if it is not that of these features, as for draws from the
    model.
    """

    n: int
    mean: np.ndarray  # (D,)
    products: np.ndarray  # (D, D)
    judged: float | None = None

    @classmethod
    def of(
        cls,
        x: np.ndarray,
        scores: np.ndarray,
        locations: np.ndarray,
        profile: Profile,
        slope: Profile,
    ) -> SteinMoments:
        """Compute the moments in chunks of rows, in time O(n D^2) and bounded memory."""
        n = len(x)
        total, products = feature_sums(x, scores, locations, profile, slope)
        return cls(n, total / n, products / n)

    @cached_property
    def observed(self) -> float:
        """Unbiased estimate of |E xi|^2 / (dJ): (n |m|^2 - mean |xi_i|^2) / (n - 1)."""
        return float((self.n * (self.mean @ self.mean) - np.trace(self.products)) / (self.n - 1))

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of the covariance of the features, largest first."""
        covariance = self.products - np.outer(self.mean, self.mean)
        eigenvalues = linalg.eigvalsh(covariance * self.n / (self.n - 1))[::-1]
        return np.maximum(eigenvalues, 0.0)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and its limit under the model: sum_i l_i (z_i^2 - 1) / n.

        l are the eigenvalues of the covariance of the features (Jitkrittum et al. 2017, proposition 2).
        """
        weights = self.eigenvalues / self.n
        statistic = self.observed if self.judged is None else self.judged
        return statistic, weights[:rank], -float(weights.sum()) + float(weights[rank:].sum())
