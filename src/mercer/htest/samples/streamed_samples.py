"""Two samples that are read part by part: their kernel, a subsample for effects, and moments of features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from mercer import linalg
from mercer.backend import to_numpy
from mercer.frames import Table
from mercer.gram.stream_sums import (
    PointReader,
    StreamMoments,
    analysed_rows,
    drawn_by_hash,
    drawn_points,
    feature_moments,
    numbers,
    picked,
    stacked_rows,
)
from mercer.htest.feature_tests import features
from mercer.htest.samples.mean_difference import (
    TwoSampleMoments,
    chi_square_weights,
    regularization,
    squared_difference,
    whitening,
)
from mercer.htest.samples.pooled_sample import KeptRows, Pooled
from mercer.htest.samples.streamed_kernels import KernelRule, OneKernel, SomeRows
from mercer.kernels.base import Kernel, Points
from mercer.row_streams import RowPart, RowStream


@dataclass(frozen=True, eq=False)
class StreamedSamples:
    """Two samples in parts, the kernel that compares them, and a random subsample of both."""

    streams: tuple[RowStream, RowStream]
    pooled: Pooled  # of the subsample
    kernels: tuple[Kernel, ...]  # bound to columns, those of low order first
    low_order: int  # how many these are
    readers: tuple[PointReader, PointReader]

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of observations."""
        return len(self.streams[0]), len(self.streams[1])

    @property
    def kernel(self) -> Kernel:
        """The kernel, bound to columns."""
        return self.pooled.kernel

    @property
    def origin(self) -> np.ndarray | None:
        """What the kernels expect to be subtracted from all points: (d,)."""
        origin = self.pooled.origin
        return None if origin is None else to_numpy(origin)

    def points_at(self, positions: np.ndarray) -> np.ndarray:
        """The points at ascending positions of the pooled sample, less the origin."""
        n = self.sizes[0]
        inside = positions[positions < n], positions[positions >= n] - n
        triples = [t for t in zip(self.streams, self.readers, inside, strict=True) if len(t[2])]
        points = np.concatenate([numbers(r.read(picked(s, i, r.name))) for s, r, i in triples])
        return points if self.origin is None else points - self.origin.astype(points.dtype)

    @cached_property
    def sampled_points(self) -> Points:
        """The points of the subsample where the user's are."""
        return stacked_rows([to_numpy(r.read(s)) for r, s in self._subsamples])

    def drawn(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Some of the points of both samples, all different where there are enough."""
        seed = int(rng.integers(2**63))
        pairs = zip(self.streams, self.readers, strict=True)
        candidates = (drawn_points(stream, reader, number, seed) for stream, reader in pairs)
        return drawn_by_hash(chain.from_iterable(candidates), number, seed)

    def moments(self, work: Any, width: int) -> TwoSampleMoments:
        """Moments of features of both samples; `work(reader)` is a function part -> chunks of features (b, p)."""
        inside = np.concatenate([np.concatenate(list(work(r).of(s))) for r, s in self._subsamples])
        center, both = inside.mean(axis=0), []
        for stream, reader in zip(self.streams, self.readers, strict=True):
            size = 8 * (stream.width + width)
            both.append(feature_moments(work(reader), stream.parts, center, size))
        return _compared(*both)

    @property
    def _subsamples(self) -> Iterator[tuple[PointReader, Any]]:
        samples = self.pooled.samples
        assert samples is not None  # `pool` keeps them
        return zip(self.readers, samples, strict=True)


def streamed_samples(
    kernel: Kernel | KernelRule | None, streams: tuple[RowStream, ...], least: int = 2
) -> StreamedSamples:
    """Choose kernels as for samples in memory, and a subsample; one or two passes over the rows."""
    first, second = streams
    n, m = len(first), len(second)
    for name, size in (("x", n), ("y", m)):
        if size < least:
            raise ValueError(f"{name} must have at least {least} points, got {size}")
    rule = kernel if isinstance(kernel, KernelRule) else OneKernel(kernel)
    analysed = analysed_rows(first), analysed_rows(second)
    kept = np.concatenate([analysed[0], n + analysed[1]])
    rows = SomeRows.picked((first, second), np.union1d(kept, rule.positions(n + m, first.width)))
    x, y = rows.at(kept)
    pooled, kernels, low_order = rule.pooled(rows, x, y)
    pooled = replace(pooled, rows=KeptRows(*analysed, (n, m)))
    columns = x.columns if isinstance(x, Table) else None
    wide = any(isinstance(s, np.ndarray) and s.dtype == np.float64 for s in (x, y))
    size = min(first.chunk_rows, second.chunk_rows)
    readers = tuple(PointReader(pooled.kernel, columns, name, size, wide) for name in "xy")
    return StreamedSamples((first, second), pooled, kernels, low_order, (readers[0], readers[1]))


@dataclass(frozen=True, eq=False)
class LocationFeatures:
    """part -> kernel values at the locations, in chunks (b, J)."""

    reader: PointReader
    kernel: Kernel
    locations: Points

    def __call__(self, part: RowPart) -> Iterator[np.ndarray]:
        for points in self.reader.points(part):
            yield features(self.kernel, points, self.locations)

    def of(self, rows: Any) -> Iterator[np.ndarray]:
        """The same for rows in memory."""
        yield features(self.kernel, self.reader.read(rows), self.locations)


# ---- evidence -----------------------------------------------------------------------------------


def _compared(x: StreamMoments, y: StreamMoments) -> TwoSampleMoments:
    return TwoSampleMoments(x.mean - y.mean, (x.scatter, y.scatter), (x.n, y.n))


class FromMoments(ABC):
    """A statistic of the difference of mean features, from moments alone: nulls cannot resample it."""

    def __init__(self, moments: TwoSampleMoments) -> None:
        self._moments = moments

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of observations."""
        return self._moments.sizes

    @property
    def effective(self) -> float:
        """Observations of the smaller sample."""
        return float(min(self.sizes))

    @property
    @abstractmethod
    def degrees(self) -> int:
        """The number of features that count."""

    @property
    @abstractmethod
    def observed(self) -> float:
        """The statistic."""


class StreamedNormalized(FromMoments):
    """delta' S^-1 delta, as `NormalizedEvidence`."""

    @cached_property
    def _whitening(self) -> np.ndarray:
        return whitening(self._moments.total)

    @property
    def degrees(self) -> int:
        """The number of directions in which the features vary; 1 where there is none."""
        return max(self._whitening.shape[1], 1)

    @cached_property
    def observed(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The statistic."""
        w = self._whitening
        if w.shape[1] == 0:
            return 0.0
        delta = self._moments.delta @ w
        covariance = w.T @ self._moments.covariance @ w
        ridge = regularization(*self.sizes)
        return float(delta @ linalg.solve(covariance + ridge * np.eye(len(delta)), delta))

    def chi_square(self) -> tuple[float, int]:
        """The statistic and its degrees of freedom."""
        return self.observed, self.degrees


class StreamedSquared(FromMoments):
    """(|delta|^2 - tr S) / p, as `SquaredEvidence`."""

    @property
    def degrees(self) -> int:
        """The number of features."""
        return len(self._moments.delta)

    @property
    def observed(self) -> float:
        """The statistic."""
        return float(squared_difference(self._moments.delta, self._moments.covariance))

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """|delta|^2, and the weights of the chi-squares it is a sum of under the null hypothesis."""
        return chi_square_weights(self._moments.delta, self._moments.covariance, rank)
