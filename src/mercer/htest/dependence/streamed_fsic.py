"""`NFSIC` of variables that are read part by part: kernels, locations and moments of features in one or two passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.gram.stream_sums import (
    PointReader,
    StreamMoments,
    feature_moments,
)
from mercer.htest.dependence.fsic import (
    MIN_RIDGE,
    FeatureCovarianceEvidence,
    FeatureCovariances,
    both_vary,
    rotation_of,
)
from mercer.htest.dependence.streamed_variables import StreamedVariables
from mercer.htest.feature_tests import features
from mercer.kernels.base import Kernel, Points
from mercer.row_streams import RowPairs, row_pairs

_KINDS = 5  # of features for each location: k, l, kl, k^2 and l^2


def streamed_fsic(
    both: StreamedVariables, locations: Sequence[Points], ridge: float
) -> StreamedFSIC:
    """Moments of the features at these locations, in one pass."""
    kernels = [v.kernel for v in both.variables]
    points = [v.uncentred for v in both.variables]
    inside = [features(*args) for args in zip(kernels, points, locations, strict=True)]
    means = tuple(z.mean(axis=0) for z in inside)
    work = _PairedFeatures(both.readers, tuple(kernels), tuple(locations), means)
    center = work.features(*inside).mean(axis=0)
    size = 8 * (both.width + 2 * len(center))
    moments = feature_moments(work, row_pairs(*both.streams), center, size)
    return StreamedFSIC(moments, means, ridge)


@dataclass(frozen=True, eq=False)
class _PairedFeatures:
    """Rows of both variables -> k, l, (k - a)(l - b), (k - a)^2 and (l - b)^2 at the locations: (n, 5J)."""

    readers: tuple[PointReader, ...]
    kernels: tuple[Kernel, ...]
    locations: tuple[Points, ...]
    means: tuple[np.ndarray, ...]  # a and b

    def __call__(self, part: RowPairs) -> Iterator[np.ndarray]:
        for chunks in part.chunks(self.readers[0].rows):
            points = [r.read(chunk) for r, chunk in zip(self.readers, chunks, strict=True)]
            triples = zip(self.kernels, points, self.locations, strict=True)
            yield self.features(*(features(*triple) for triple in triples))

    def features(self, k: np.ndarray, l: np.ndarray) -> np.ndarray:  # noqa: E741
        a, b = k - self.means[0], l - self.means[1]
        return np.concatenate([k, l, a * b, a**2, b**2], axis=1)


class StreamedFSIC(FeatureCovarianceEvidence):
    """The statistic of `FSICEvidence` from moments of features alone: nulls cannot permute it."""

    def __init__(self, moments: StreamMoments, means: tuple[np.ndarray, ...], ridge: float) -> None:
        self.n, width = moments.n, len(moments.mean) // _KINDS
        self._mean = moments.mean.reshape(_KINDS, width)
        covariance = (moments.scatter / moments.n).reshape(_KINDS, width, _KINDS, width)
        self._covariance = covariance.swapaxes(1, 2)  # (kinds, kinds, J, J)
        self._shift = [self._mean[i] - means[i] for i in (0, 1)]  # of the true means
        norms = [np.sqrt(np.maximum(np.diagonal(self._covariance[i, i]), 0.0)) for i in (0, 1)]
        if ridge > 0:
            self.ridge, self._scale = ridge, np.ones(width, dtype=np.float64)
            self._varies, self.rotation = np.ones(width, dtype=bool), np.eye(width)
        else:
            self.ridge, self._varies = MIN_RIDGE, both_vary(*norms)
            self._scale = np.where(self._varies, norms[0] * norms[1], 1.0)
            inside = np.ix_(self._varies, self._varies)
            product = (self._covariance[0, 0] * self._covariance[1, 1])[inside]
            unit = self._scale[self._varies]
            self.rotation = rotation_of(product / np.outer(unit, unit))
        self.rank = self.rotation.shape[1]

    @cached_property
    def _observed_covariances(self) -> FeatureCovariances:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Means and covariances of g = (k - mean)(l - mean), which is linear in the features: kl - b k - a l + ab."""
        a, b = self._shift
        weights = [-b, -a, np.ones_like(a)]  # of k, l and the products around approximate means
        covariance = sum(
            weights[i][:, None] * self._covariance[i, j] * weights[j]
            for i in range(3)
            for j in range(3)
        )
        unit, inside = self._scale[self._varies], np.ix_(self._varies, self._varies)
        u = (self._mean[2] - a * b)[self._varies] / unit @ self.rotation
        s = (
            self.rotation.T
            @ (np.asarray(covariance)[inside] / np.outer(unit, unit))
            @ self.rotation
        )
        return FeatureCovariances(u, s)

    @cached_property
    def effective_observations(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The smallest effective number of observations of a feature: n over the kurtosis of a product."""
        kurtosis = np.ones_like(self._scale)
        varies = self._varies.copy()
        for i in (0, 1):
            variance = np.diagonal(self._covariance[i, i])
            varies &= variance > 0
            kurtosis = kurtosis * self._fourth(i) / np.where(variance > 0, variance, 1.0) ** 2
        return self.n / float(np.max(kurtosis[varies])) if varies.any() else float(self.n)

    def _fourth(self, i: int) -> np.ndarray:
        """Mean of (k - mean)^4, from moments around an approximate mean."""
        d, square = self._shift[i], self._mean[3 + i]
        cube = np.diagonal(self._covariance[i, 3 + i]) + d * square
        fourth = np.diagonal(self._covariance[3 + i, 3 + i]) + square**2
        return fourth - 4 * d * cube + 6 * d**2 * square - 3 * d**4
