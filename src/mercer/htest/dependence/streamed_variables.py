"""Two variables that are read part by part: kernels, a subsample, drawn points, and points in a random order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.frames import Table
from mercer.gram.shuffled_rows import ShuffledRows, shuffled_rows
from mercer.gram.stream_sums import (
    PointReader,
    affordable_rows,
    analysed_rows,
    column_moments,
    drawn_by_hash,
    drawn_points,
    numbers,
    picked,
    rows_at,
    varied_rows,
)
from mercer.kernels.bandwidth import median_rbf, subsample_rows
from mercer.kernels.base import Kernel
from mercer.kernels.default import default_kernel_of
from mercer.rkhs.paired_samples import Variable, kernel_for_frame, need_variation, variables
from mercer.row_streams import RowStream


@dataclass(frozen=True, eq=False)
class StreamedVariables:
    """Two variables in parts, with a kernel each, and a random subsample of both."""

    streams: tuple[RowStream, RowStream]
    variables: tuple[Variable, ...]  # the subsample
    readers: tuple[PointReader, ...]

    def __len__(self) -> int:
        return len(self.streams[0])

    @property
    def width(self) -> int:
        """Columns of both variables."""
        return sum(stream.width for stream in self.streams)

    def drawn(self, index: int, number: int, seed: int) -> np.ndarray:
        """Some points of a variable, all different."""
        candidates = drawn_points(self.streams[index], self.readers[index], number, seed)
        return drawn_by_hash(candidates, number, seed)

    def landmarks(self, index: int, number: int, rng: np.random.Generator) -> np.ndarray:
        """Some points of a variable, all different, less the origin of the subsample."""
        points = self.drawn(index, number, int(rng.integers(2**63)))
        origin = self.variables[index].origin
        return points if origin is None else points - to_numpy(origin)

    @contextmanager
    def shuffled(
        self, index: int, order: np.ndarray, strips: Sequence[slice]
    ) -> Iterator[ShuffledRows]:
        """Points of a variable in another order, in temporary files: one for each strip of places."""
        with TemporaryDirectory(prefix="mercer-shuffle-") as folder:
            starts = [strip.start for strip in strips]
            yield shuffled_rows(self._points(index), order, starts, Path(folder) / "points")

    def _points(self, index: int) -> Iterator[np.ndarray]:
        """The points in float64, less the origin of the subsample, in their own order."""
        origin = self.variables[index].origin
        for part in self.streams[index].parts:
            for chunk in self.readers[index].points(part):
                points = numbers(chunk).astype(np.float64)
                yield points if origin is None else points - to_numpy(origin)


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
    pair = tuple(replace(v, places=kept) for v in variables(used, samples, least=least))
    size = min(stream.chunk_rows for stream in streams)
    readers = tuple(PointReader(v.kernel, v.columns, v.name, size) for v in pair)
    return StreamedVariables((first, second), pair, readers)


def _default(sample: Any, near: np.ndarray, stream: RowStream, name: str) -> Kernel:
    subset = rows_at(sample, near)
    if not isinstance(subset, Table):
        subset = varied_rows(subset, [stream], None)
        need_variation(subset, name)
        return median_rbf(subset, name=name)
    subset = replace(subset, values=varied_rows(subset.values, [stream], subset.columns))
    moments = column_moments([stream], sample.columns)
    deviations = moments.deviations.tolist()
    choose = lambda t: default_kernel_of(t.columns, deviations, moments.mismatches, t.values)  # noqa: E731
    return kernel_for_frame(subset, name, choose)
