"""Observations of a goodness-of-fit test that are read part by part: kernels, Stein features, and tiles of pairs of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.backend import astype, double, to_numpy
from mercer.frames import Columns, Table
from mercer.gram.partition_forms import PartitionedPairs, PartitionedPoints
from mercer.gram.stream_sums import (
    affordable_rows,
    analysed_rows,
    column_moments,
    over_parts,
    picked,
    rows_at,
)
from mercer.htest.goodness.learn_stein_locations import locations_around
from mercer.htest.goodness.score_models import Model
from mercer.htest.goodness.stein_features import SteinMoments, feature_sums
from mercer.htest.goodness.stein_sample import MIN_OBSERVATIONS, SteinSample, sample_of
from mercer.kernels.bandwidth import subsample_rows
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import read
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.kernels.stein import Stein
from mercer.rkhs.stein_discrepancy import median_imq
from mercer.row_streams import RowPart, RowStream


@dataclass(frozen=True, eq=False)
class StreamedStein:
    """Observations in parts, the Stein kernel of the model, and a random subsample."""

    stream: RowStream
    model: Model
    sample: SteinSample  # the subsample
    near: np.ndarray | None = None  # points whose distances give the default bandwidths

    @property
    def reader(self) -> _Coordinates:
        """Reads rows as coordinates of the model."""
        return _Coordinates(self.model, self.sample.columns, self.stream.chunk_rows)

    def random_locations(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Draws from a Gaussian fitted to the observations, as in memory: (J, d)."""
        moments = column_moments([self.stream], None, self.reader.of_numbers)
        rows = rng.integers(len(self.stream), size=min(len(self.stream), 1000))
        distinct, place = np.unique(rows, return_inverse=True)
        subset = self.reader.read(picked(self.stream, distinct, "x"))[place]
        return locations_around(moments.means, subset, number, rng)

    def moments(self, locations: np.ndarray) -> SteinMoments:
        """Moments of the Stein features at these locations, in one pass."""
        work = _SteinSums(self.reader, self.sample.kernel, locations)
        size = 8 * (self.stream.width + locations.size)
        n, total, products = 0, 0.0, 0.0
        for count, sums, squares in over_parts(work, self.stream.parts, size):
            n, total, products = n + count, total + sums, products + squares
        return SteinMoments(n, np.asarray(total) / n, np.asarray(products) / n)

    def pairs(self, kernels: Sequence[Stein]) -> PartitionedPairs:
        """The matrices of several Stein kernels, by tiles of pairs of blocks of rows."""
        points = PartitionedPoints((self.stream,), (self.reader,))
        return PartitionedPairs(kernels, points, to_numpy(self.sample.points))

    def traces(self, kernels: Sequence[Stein]) -> np.ndarray:
        """sum_i k(x_i, x_i) of every kernel, in one pass that checks the scores: (k,)."""
        work = _SteinTraces(self.reader, tuple(kernels))
        size = 8 * self.stream.width * (3 + len(kernels))
        return np.sum(list(over_parts(work, self.stream.parts, size)), axis=0)


def sums_of_diagonals(kernels: Sequence[Stein], points: Points) -> np.ndarray:
    """sum_i k(x_i, x_i) of Stein kernels with one score: (k,)."""
    scored = kernels[0].move(points)
    diagonals = (kernel.scored.diag(scored) for kernel in kernels)
    return np.array([to_numpy(d).astype(np.float64).sum() for d in diagonals])


def streamed_stein(model: Model, kernel: Kernel | None, stream: RowStream) -> StreamedStein:
    """Choose a kernel as for observations in memory, and a subsample."""
    n = len(stream)
    if n < MIN_OBSERVATIONS:
        raise ValueError(f"x needs at least {MIN_OBSERVATIONS} observations, got {n}")
    if model.binding is not None:
        raise TypeError(
            "Scores are those of observations in memory: pass a function of the observations, "
            "x -> gradients of log p"
        )
    model.check_width(stream.width)
    kept = analysed_rows(stream)
    near = affordable_rows(subsample_rows(n), stream.width) if kernel is None else kept
    rows = np.union1d(kept, near)
    sample = picked(stream, rows, "x")
    columns = sample.columns if isinstance(sample, Table) else None
    chosen_from = None
    if kernel is None:
        whole = _Coordinates(model, columns, 0).read(sample)
        chosen_from = whole[np.searchsorted(rows, near)]
        kernel = median_imq(chosen_from)
    subset = rows_at(sample, np.searchsorted(rows, kept))
    in_memory = sample_of(model, kernel, subset, MIN_OBSERVATIONS)
    return StreamedStein(stream, model, replace(in_memory, places=kept), chosen_from)


@dataclass(frozen=True, eq=False)
class _Coordinates:
    """Rows -> points of the model in float64, in unbounded coordinates."""

    model: Model
    columns: Columns | None
    rows: int  # at a time

    def read(self, rows: Any) -> np.ndarray:
        points, _ = read(VECTOR_KERNEL, rows, self.columns, "x")
        return self.of_numbers(points)

    def of_numbers(self, points: Any) -> np.ndarray:
        return to_numpy(self.model.coordinates(astype(points, double(points))))


@dataclass(frozen=True, eq=False)
class _SteinTraces:
    """part -> sum_i k(x_i, x_i) of its points by every kernel: (k,)."""

    reader: _Coordinates
    kernels: tuple[Stein, ...]

    def __call__(self, part: RowPart) -> np.ndarray:
        total = np.zeros(len(self.kernels), dtype=np.float64)
        for chunk in part.chunks(self.reader.rows):
            points = self.reader.read(chunk)
            self.kernels[0].accept(points)  # checks the scores
            total += sums_of_diagonals(self.kernels, points)
        return total


@dataclass(frozen=True, eq=False)
class _SteinSums:
    """part -> number, sums and products of its Stein features."""

    reader: _Coordinates
    kernel: Stein
    locations: np.ndarray

    def __call__(self, part: RowPart) -> tuple[int, np.ndarray, np.ndarray]:
        profile, slope, _ = self.kernel.scored.form
        n, total, products = 0, 0.0, 0.0
        for chunk in part.chunks(self.reader.rows):
            points = self.reader.read(chunk)
            self.kernel.accept(points)  # checks the scores
            scores = to_numpy(self.kernel.score(points)).astype(np.float64, copy=False)
            sums, squares = feature_sums(points, scores, self.locations, profile, slope)
            n, total, products = n + len(points), total + sums, products + squares
        return n, np.asarray(total), np.asarray(products)


@dataclass(frozen=True, eq=False)
class StreamedSteinEvidence:
    """Stein features at locations, for the nulls `WeightedChi2`, `Spectrum` and `ModelDraws`."""

    stein: StreamedStein
    locations: np.ndarray
    in_memory: Any  # the evidence of the subsample

    @property
    def sample(self) -> SteinSample:
        """The subsample."""
        return self.stein.sample

    @cached_property
    def moments(self) -> SteinMoments:
        """Moments of the features of all observations."""
        return self.stein.moments(self.locations)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and its limit with the covariance of the observed features."""
        return self.moments.spectrum(rank)

    def of_draws(self, draws: int, rng: np.random.Generator) -> SteinMoments:
        """The statistic, and its limit with the covariance of features of draws from the model."""
        return self.in_memory.of_draws(draws, rng, self.moments)
