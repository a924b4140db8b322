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
from mercer.gram.shuffled_rows import ShuffledRows, check_order_fits, shuffled_rows
from mercer.gram.stream_sums import numbers
from mercer.htest.mean_statistic import IndependentTerms, SkewedTerms, unskewed
from mercer.htest.samples.pooled_sample import Pooled
from mercer.htest.samples.streamed_samples import StreamedSamples

_ORDER_SEED = 0  # as in memory
_SHARE_OF_BUCKET = 16  # of the memory budget
_BYTES_OF_ORDER = 8  # for each row: its position, and the order it comes from, as int32


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
    advice = "use ME(), which reads rows in any order"
    check_order_fits(max(samples.sizes), _BYTES_OF_ORDER, advice)
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
        shuffled = [
            _shuffled(samples, i, rng, bounds[:, i], Path(folder) / "xy"[i]) for i in (0, 1)
        ]
        for b, groups in enumerate(buckets):
            pair = [rows.piece(b) for rows in shuffled]
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


def _shuffled(
    samples: StreamedSamples, i: int, rng: np.random.Generator, starts: np.ndarray, stem: Path
) -> ShuffledRows:
    """Rows of sample i in a random order, in a file for each bucket."""
    stream, reader = samples.streams[i], samples.readers[i]
    order = np.arange(len(stream), dtype=np.int32)
    rng.shuffle(order)
    chunks = (numbers(points) for part in stream.parts for points in reader.points(part))
    return shuffled_rows(chunks, order, starts.tolist(), stem)


def _pooled(pooled: Pooled, x: np.ndarray, y: np.ndarray) -> Pooled:
    """The points of a bucket in place of the subsample."""
    points: Any = np.concatenate([x, y])
    if pooled.origin is not None:
        points = points - pooled.origin
    return replace(pooled, points=points, n=len(x), m=len(y), samples=None)
