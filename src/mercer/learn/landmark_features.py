"""Nystrom features of samples that are read part by part, for learners that see every point in passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import astype, count, double, is_torch, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.features.kernel_estimator import KernelEstimator
from mercer.features.nystrom import NystromMap, inverse_root
from mercer.features.random_state import generator
from mercer.frames import Table, with_categories
from mercer.gram.stream_sums import (
    PointReader,
    StreamMoments,
    as_rows,
    feature_moments,
    over_parts,
    picked,
)
from mercer.kernels.base import Points
from mercer.kernels.prepare import as_table
from mercer.kernels.take import taken
from mercer.row_streams import (
    RowPart,
    RowStream,
    chunk_rows,
    is_streamable,
    stream_of,
    streamed,
)

_SAMPLE_ROWS = 2000  # drawn at least: from them a kernel is chosen, and k-means starts


@dataclass(frozen=True, eq=False)
class LandmarkFeatures:
    """A sample in parts, and its features z(x) = R'k(l, x) on landmarks l.

    |z(x) - z(y)| <= |phi(x) - phi(y)|, with equality on the span of the landmarks.
    """

    stream: RowStream
    reader: PointReader
    map: NystromMap
    sample: Points  # drawn uniformly, with the landmarks among them

    @property
    def bytes_per_row(self) -> int:
        """Memory of a row and its features."""
        return _bytes_per_row(self.stream.width, self.map.width)

    def of(self, points: Points) -> np.ndarray:
        """Features, and k(x, x) as the last column: (b, r + 1)."""
        diagonal = self.map.kernel.diag(points)
        return np.column_stack(
            [
                to_numpy(astype(values, double(values)))
                for values in (self.map(points), diagonal[:, None])
            ]
        )

    def chunks(self, part: RowPart) -> Iterator[np.ndarray]:
        """Features of a part, some rows at a time."""
        return map(self.of, self.reader.points(part))

    def moments(self) -> StreamMoments:
        """Mean and scatter of the columns of `of`, in one pass."""
        center = self.of(self.sample).mean(axis=0)
        return feature_moments(self.chunks, self.stream.parts, center, self.bytes_per_row)


def landmark_features(learner: KernelEstimator, X: Any, number: int) -> LandmarkFeatures:
    """Draw landmarks from X, choose the kernel of the learner from as many points, and map X to features."""
    validate.whole("landmarks", number)
    rng = generator(getattr(learner, "random_state", None))
    stream = _stream(learner, X)
    n = len(stream)
    rows = np.sort(rng.choice(n, min(n, max(number, _SAMPLE_ROWS)), replace=False, shuffle=False))
    drawn = picked(stream, rows, "X")
    kernel, sample = learner._learn_from(drawn)
    if is_streamable(X):  # else the learner has seen them
        learner._keep_categories(_categories(stream, drawn))
    learner._check_width(stream.width, reset=True)
    learner._keep_names()
    m = min(number, len(rows))
    landmarks = taken(sample, np.sort(rng.choice(len(rows), m, replace=False, shuffle=False)))
    size = chunk_rows(_bytes_per_row(stream.width, m))
    reader = PointReader(kernel, learner._columns, "X", size)
    return LandmarkFeatures(
        stream, reader, NystromMap(kernel, landmarks, inverse_root(kernel, landmarks)), sample
    )


def refuse_beyond_memory(X: Any, name: str, advice: str) -> None:
    """Raise a MemoryBudgetError where X is read from elsewhere and does not fit into the memory budget."""
    streams = streamed(X)
    needed, budget = 0 if streams is None else streams[0].nbytes, settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"{name} holds all points, which need {needed / 2**20:,.0f} MiB, and the memory budget is "
            f"{budget / 2**20:,.0f} MiB: {advice}"
        )


def rows_by_parts(
    learner: KernelEstimator, X: Any, work: Callable[[Any], Any], width: int
) -> np.ndarray | None:
    """work(chunk) for all rows of X, joined, where X is read from elsewhere and too large for memory; else None.

    `width` is that of a result.
    """
    streams = streamed(X)
    if streams is None:
        return None
    stream, budget = streams[0], settings().memory
    needed = 8 * len(stream) * width
    if needed > budget:
        raise MemoryBudgetError(
            f"the result has {len(stream):,} rows and needs {needed / 2**20:,.0f} MiB, and the memory "
            f"budget is {budget / 2**20:,.0f} MiB: pass fewer rows at a time"
        )
    size = _bytes_per_row(stream.width, count(learner.function_.points))  # type: ignore[attr-defined]
    task = _OfChunks(work, chunk_rows(size))
    return np.concatenate(list(over_parts(task, stream.parts, size)))


@dataclass(frozen=True, eq=False)
class _OfChunks:
    """part -> work(chunk) for its chunks, joined."""

    work: Callable[[Any], np.ndarray]
    rows: int

    def __call__(self, part: RowPart) -> np.ndarray:
        return np.concatenate([self.work(chunk) for chunk in part.chunks(self.rows)])


def _stream(learner: KernelEstimator, X: Any) -> RowStream:
    """X in parts; what is in memory is checked as ever."""
    x = X if is_streamable(X) or is_torch(X) else learner._numbers(X, reset=True)
    stream = None if is_torch(x) else stream_of(x)
    if stream is None and not is_torch(x) and hasattr(x, "columns"):
        stream = stream_of(as_table(x, "X"))
    if stream is None:
        raise TypeError(
            f"with landmarks X must be an array of NumPy, a data frame or a file of them, got "
            f"{type(X).__name__}: use landmarks=None, or Nystrom features of X"
        )
    if len(stream) < 2:
        raise ValueError(f"X must have at least two rows, got {len(stream)}")
    return stream


def _categories(stream: RowStream, drawn: Any) -> dict[str, frozenset[str]]:
    """Categories by column, in one pass where some rows show that there are any."""
    if not isinstance(drawn, Table) or not any(drawn.columns.categorical):
        return {}
    tables = over_parts(_CategoriesOfPart(stream.chunk_rows), stream.parts, 8 * stream.width)
    return reduce(with_categories, tables, {})


@dataclass(frozen=True)
class _CategoriesOfPart:
    rows: int

    def __call__(self, part: RowPart) -> dict[str, frozenset[str]]:
        chunks = (as_rows(chunk, "X") for chunk in part.chunks(self.rows))
        return reduce(lambda seen, rows: with_categories(seen, rows.categories()), chunks, {})


def _bytes_per_row(width: int, features: int) -> int:
    return 8 * (width + 2 * features)
