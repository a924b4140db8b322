"""`NFSIC` of variables that are read part by part: kernels, locations and moments of features in one or two passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.frames import Table
from mercer.gram.stream_sums import (
    PointReader,
    StreamMoments,
    affordable_rows,
    analysed_rows,
    column_moments,
    drawn_by_hash,
    drawn_points,
    feature_moments,
    picked,
    rows_at,
)
from mercer.htest.dependence.fsic import (
    MIN_RIDGE,
    FeatureCovarianceEvidence,
    FeatureCovariances,
    both_vary,
    rotation_of,
)
from mercer.htest.feature_tests import features
from mercer.kernels.bandwidth import median_rbf, subsample_rows
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel_of
from mercer.rkhs.paired_samples import Variable, kernel_for_frame, need_variation, variables
from mercer.row_streams import RowPairs, RowStream, row_pairs

_KINDS = 5  # of features for each location: k, l, kl, k^2 and l^2


@dataclass(frozen=True, eq=False)
class StreamedVariables:
    """Two variables in parts, with a kernel each, and a random subsample of both."""

    streams: tuple[RowStream, RowStream]
    variables: tuple[Variable, ...]  # the subsample
    readers: tuple[PointReader, ...]

    def drawn(self, index: int, number: int, seed: int) -> np.ndarray:
        """Some points of a variable, all different."""
        candidates = drawn_points(self.streams[index], self.readers[index], number, seed)
        return drawn_by_hash(candidates, number, seed)

    def evidence(self, locations: Sequence[Points], ridge: float) -> StreamedFSIC:
        """Moments of the features at these locations, in one pass."""
        kernels = [v.kernel for v in self.variables]
        points = [v.uncentred for v in self.variables]
        inside = [features(*args) for args in zip(kernels, points, locations, strict=True)]
        means = tuple(z.mean(axis=0) for z in inside)
        work = _PairedFeatures(self.readers, tuple(kernels), tuple(locations), means)
        center = work.features(*inside).mean(axis=0)
        size = 8 * (sum(s.width for s in self.streams) + 2 * len(center))
        moments = feature_moments(work, row_pairs(*self.streams), center, size)
        return StreamedFSIC(moments, means, ridge)


def streamed_variables(
    kernels: Sequence[Kernel | None], streams: Sequence[RowStream], least: int = 4
) -> StreamedVariables:
    """Choose kernels as for variables in memory, and a subsample."""
    first, second = streams
    n = len(first)
    if n != len(second):
        raise ValueError(
            f"x and y must have the same number of observations, got {n} and {len(second)}: "
            "row i of each is one observation"
        )
    kept = analysed_rows(first if first.width >= second.width else second)
    near = affordable_rows(subsample_rows(n), max(first.width, second.width))
    rows = np.union1d(kept, near)
    samples, used = [], []
    for kernel, stream, name in zip(kernels, streams, "xy", strict=True):
        sample = picked(stream, rows, name)
        at_near = np.searchsorted(rows, near)
        used.append(_default(sample, at_near, stream, name) if kernel is None else kernel)
        samples.append(rows_at(sample, np.searchsorted(rows, kept)))
    pair = variables(used, samples, least=least)
    size = min(stream.chunk_rows for stream in streams)
    readers = tuple(PointReader(v.kernel, v.columns, v.name, size) for v in pair)
    return StreamedVariables((first, second), pair, readers)


def _default(sample: Any, near: np.ndarray, stream: RowStream, name: str) -> Kernel:
    subset = rows_at(sample, near)
    if not isinstance(sample, Table):
        need_variation(subset, name)
        return median_rbf(subset, name=name)
    moments = column_moments([stream], sample.columns)
    deviations = moments.deviations.tolist()
    choose = lambda t: default_kernel_of(t.columns, deviations, moments.mismatches, t.values)  # noqa: E731
    return kernel_for_frame(subset, name, choose)


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
