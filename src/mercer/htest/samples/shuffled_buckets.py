"""Means over groups of points of samples that are read part by part, in the random order of samples in memory.

Groups consist of points that are neighbours in a random order, and anywhere in the files. Rows are sorted into buckets
of whole groups, in temporary files; a bucket fits into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.stream_sums import PointReader, numbers
from mercer.htest.mean_statistic import IndependentTerms, SkewedTerms, unskewed
from mercer.htest.samples.pooled_sample import Pooled
from mercer.htest.samples.streamed_samples import StreamedSamples
from mercer.row_streams import RowStream

_ORDER_SEED = 0  # as in memory
_SHARE_OF_BUCKET = 16  # of the memory budget
_BYTES_OF_ORDER = 8  # for each row: its position, and the order it comes from, as int32
_MAX_ROWS = 2**31 - 1


@dataclass(frozen=True)
class Bucket:
    """Some groups of points, of `number` in all, and the positions in the random order at which they begin."""

    groups: range
    number: int
    starts: tuple[int, int]
    sizes: tuple[int, int]  # of the whole samples


class SummedTerms:
    """Independent terms, of which number, mean and squared deviations are known."""

    def __init__(self, number: int, mean: float, squares: float, skewness: float | None) -> None:
        self._number, self._mean, self._squares = number, mean, squares
        self._skewness = skewness

    @property
    def mean(self) -> float:
        """The statistic."""
        return self._mean

    def studentized(self) -> float:
        """The mean in units of its standard error, without the skewness of that ratio if it is known."""
        error = sqrt(self._squares / (self._number - 1)) / sqrt(self._number)
        t = self._mean / error if error > 0 else 0.0
        return t if self._skewness is None else unskewed(t, self._skewness, self._number)

    def error_degrees(self) -> int:
        """Degrees of freedom of the standard error."""
        return self._number - 1


def summed_terms(
    samples: StreamedSamples,
    number: int,
    starts: Callable[[int], Sequence[int]],
    terms: Callable[[Pooled, Bucket], IndependentTerms],
    least: int = 1,
) -> SummedTerms:
    """Terms of all groups; `starts(g)` are the positions at which group g begins in both samples.

    A bucket has at least so many groups: those of the first one tell the skewness.
    """
    _check_rows(max(samples.sizes))
    row_bytes = 8 * sum(
        size * stream.width for size, stream in zip(samples.sizes, samples.streams, strict=True)
    )
    per_bucket = max(number * (settings().memory // _SHARE_OF_BUCKET) // max(row_bytes, 1), least)
    buckets = [range(g, min(g + per_bucket, number)) for g in range(0, number, per_bucket)]
    if len(buckets) > 1 and len(buckets[-1]) < 2:
        buckets[-2:] = [range(buckets[-2].start, number)]
    bounds = np.array([starts(b.start) for b in buckets])
    rng, count, mean, squares, skewness = np.random.default_rng(_ORDER_SEED), 0, 0.0, 0.0, None
    with TemporaryDirectory(prefix="mercer-shuffle-") as folder:
        for i, (stream, reader) in enumerate(zip(samples.streams, samples.readers, strict=True)):
            _sort_rows(stream, reader, rng, bounds[:, i], Path(folder) / "xy"[i])
        for b, groups in enumerate(buckets):
            pair = [_bucket_points(Path(folder) / name, b) for name in "xy"]
            bucket = Bucket(groups, number, (int(bounds[b, 0]), int(bounds[b, 1])), samples.sizes)
            here = terms(_pooled(samples.pooled, *pair), bucket)
            if b == 0 and isinstance(here, SkewedTerms):
                skewness = here.skewness()
            values, size = here.values, len(here.values)
            step = float(np.mean(values)) - mean
            squares += float(np.sum((values - np.mean(values)) ** 2))
            squares += step**2 * count * size / (count + size)
            mean, count = mean + step * size / (count + size), count + size
    return SummedTerms(count, mean, squares, skewness)


def _check_rows(size: int) -> None:
    needed = _BYTES_OF_ORDER * size
    if needed > settings().memory // 2 or size > _MAX_ROWS:
        raise MemoryBudgetError(
            f"the random order of {size:,} rows would take {needed / 2**20:,.0f} MiB, more than half of the memory "
            "budget: use ME(), which reads rows in any order, or raise mercer.config(memory=...)"
        )


def _sort_rows(
    stream: RowStream, reader: PointReader, rng: np.random.Generator, bounds: np.ndarray, stem: Path
) -> None:
    """Write the rows of a sample into files, one for each bucket, with their positions in the random order."""
    order = np.arange(len(stream), dtype=np.int32)
    rng.shuffle(order)
    positions = np.empty_like(order)
    positions[order] = np.arange(len(order), dtype=np.int32)
    del order
    first = 0
    for part in stream.parts:
        for points in reader.points(part):
            values = numbers(points)
            here = positions[first : first + len(values)]
            first += len(values)
            owner = np.searchsorted(bounds, here, side="right") - 1
            turn = np.argsort(owner, kind="stable")
            cuts = np.searchsorted(owner[turn], np.arange(len(bounds) + 1))
            for b in np.flatnonzero(np.diff(cuts)):
                _append(
                    stem,
                    int(b),
                    values[turn[cuts[b] : cuts[b + 1]]],
                    here[turn[cuts[b] : cuts[b + 1]]],
                )


def _append(stem: Path, bucket: int, values: np.ndarray, positions: np.ndarray) -> None:
    header = stem.with_suffix(".npy")
    if not header.exists():
        np.save(header, values[:0])  # dtype and width
    for suffix, rows in (("values", values), ("positions", positions)):
        with open(f"{stem}.{bucket}.{suffix}", "ab") as file:
            np.ascontiguousarray(rows).tofile(file)


def _bucket_points(stem: Path, bucket: int) -> np.ndarray:
    like = np.load(stem.with_suffix(".npy"))
    values = np.fromfile(f"{stem}.{bucket}.values", like.dtype).reshape(-1, like.shape[1])
    return values[np.argsort(np.fromfile(f"{stem}.{bucket}.positions", np.int32))]


def _pooled(pooled: Pooled, x: np.ndarray, y: np.ndarray) -> Pooled:
    """The points of a bucket in place of the subsample."""
    points: Any = np.concatenate([x, y])
    if pooled.origin is not None:
        points = points - pooled.origin
    return replace(pooled, points=points, n=len(x), m=len(y), samples=None)
