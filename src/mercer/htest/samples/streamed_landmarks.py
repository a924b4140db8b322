"""MMD^2 with landmarks of samples that are read part by part: labels are drawn where the rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.backend import to_numpy
from mercer.config import settings
from mercer.gram.blockwise_permutations import BlockwisePermutations, aligned
from mercer.gram.kernel_family import Family
from mercer.gram.stream_sums import PointReader, numbers
from mercer.gram.threads import in_order, spans
from mercer.htest.nulls import Permutation
from mercer.htest.samples.landmark_mmd import (
    LandmarkBasis,
    LandmarkStatistics,
    labels_after_ones,
    landmark_rows,
    sums_at_landmarks,
)
from mercer.htest.samples.pooled_sample import check_null
from mercer.htest.samples.streamed_samples import StreamedSamples
from mercer.kernels.base import Kernel
from mercer.row_streams import RowPart

_SHARE_OF_SUMS = 8  # of the memory budget, for the sums of one task
_ROWS_OF_TILE = 4096
_TILES_IN_USE = (
    6  # of landmarks by rows: distances, kernel values, the same centred, and in float32
)
_COPIES_OF_CHUNK = 6


class StreamedLandmarks(LandmarkStatistics):
    """The statistics of samples that are read part by part, once for all kernels and labellings."""

    def __init__(
        self,
        samples: StreamedSamples,
        kernels: Sequence[Kernel],
        number: int,
        rng: np.random.Generator,
    ) -> None:
        self._samples, self._kernels = samples, tuple(kernels)
        rows = landmark_rows(sum(samples.sizes), number, rng)
        self._landmarks = samples.points_at(rows)
        self.tie_tolerances = np.zeros(len(kernels), dtype=np.float64)
        self.precise = False

    @property
    def _some_points(self) -> np.ndarray:
        return to_numpy(self._samples.pooled.points)

    def _be_precise(self) -> None:
        self.precise, self._landmarks = True, self._landmarks.astype(np.float64)

    def _resampled(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        if null.blocks is not None:
            raise ValueError(
                "labels are permuted within blocks of samples in memory: select rows or columns that fit, or raise "
                "mercer.config(memory=...)"
            )
        sizes = self._samples.sizes
        check_null(null, *sizes)
        labels = BlockwisePermutations.drawn(sizes, null.resamples, seed, paired=null.paired)
        some = self._some_points.astype(self._landmarks.dtype)
        basis = LandmarkBasis(Family(self._kernels, self._landmarks, some), self._landmarks)
        width = affordable_sums(len(self._kernels) * len(self._landmarks))
        parts = [self._values(basis, labels, c) for c in spans(columns.stop, width, columns.start)]
        return np.concatenate(parts, axis=1)

    def _values(
        self, basis: LandmarkBasis, labels: BlockwisePermutations, columns: slice
    ) -> np.ndarray:
        """MMD^2 of some labellings, in one pass over the rows: (kernels, columns)."""
        samples, shift = self._samples, [to_numpy(s) for s in basis.shift]
        k, number = len(self._kernels), len(self._landmarks)
        width = columns.stop - columns.start
        total = np.zeros((k, number, 1 + width), dtype=np.float64)
        tasks = [
            (stream.parts[i], sample, stream.starts[i] + sample * len(samples.streams[0]))
            for sample, stream in enumerate(samples.streams)
            for i in range(len(stream.parts))
        ]
        work = _LandmarkSumsOfPart(
            self._kernels,
            self._landmarks,
            samples.readers,
            samples.origin,
            shift,
            labels,
            columns,
            self.precise,
        )
        rows = min(_ROWS_OF_TILE, samples.readers[0].rows)
        held = (
            2 * total.nbytes
            + 8 * _COPIES_OF_CHUNK * samples.readers[0].rows * samples.streams[0].width
            + 8 * rows * (_TILES_IN_USE * number + width)
        )
        for sums in in_order(work, tasks, parallel=True, held=held, what="reading rows"):
            total += sums
        n, m = samples.sizes
        forms = []
        for root, sums in zip(basis.roots, total, strict=True):
            every, first = sums[:, :1], sums[:, 1:]
            forms.append(np.sum((root @ (first / n - (every - first) / m)) ** 2, axis=0))
        return np.stack(forms)


def affordable_sums(number: int) -> int:
    """How often so many sums in float64 fit into the share of a task of the memory budget."""
    return max(settings().memory // _SHARE_OF_SUMS // (8 * number), 1)


@dataclass(frozen=True, eq=False)
class _LandmarkSumsOfPart:
    """part -> sums of k(l, x) over its rows, of all and of those with label 1: (k, landmarks, 1 + columns)."""

    kernels: tuple[Kernel, ...]
    landmarks: np.ndarray
    readers: tuple[PointReader, ...]
    origin: np.ndarray | None
    shift: list[np.ndarray]
    labels: BlockwisePermutations
    columns: slice
    precise: bool

    def __call__(self, task: tuple[RowPart, int, int]) -> np.ndarray:
        part, sample, first = task
        width = 1 + self.columns.stop - self.columns.start
        kind = np.float64 if self.precise else np.float32
        total = np.zeros((len(self.kernels), len(self.landmarks), width), dtype=np.float64)
        for start, points in self._pieces(part, self.readers[sample], first):
            rows = slice(start, start + len(points))
            labels = labels_after_ones(self.labels.codes(rows, self.columns), kind)
            family = Family(self.kernels, self.landmarks, points)
            total += sums_at_landmarks(family, slice(0, len(points)), labels, self.shift)
        return total

    def _pieces(
        self, part: RowPart, reader: PointReader, first: int
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Points in blocks of labels, and the position of the first of them."""
        for chunk in reader.points(part):
            points = numbers(chunk).astype(self.landmarks.dtype, copy=False)
            points = points if self.origin is None else points - self.origin.astype(points.dtype)
            for rows in aligned(slice(first, first + len(points))):
                yield rows.start, points[rows.start - first : rows.stop - first]
            first += len(points)
