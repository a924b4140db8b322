"""Passes over samples that are read part by part: sums in a fixed order, picked rows, statistics of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np

from mercer import validate
from mercer.backend import astype, double, is_array, to_numpy
from mercer.config import settings
from mercer.frames import Columns, Table, table
from mercer.gram.threads import in_order
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import aligned, read
from mercer.kernels.take import taken
from mercer.row_streams import RowPart, RowStream, chunk_rows

ANALYSED_ROWS, _ANALYSED_SEED = 2000, 0  # of a sample, for effects and witness
_SHARE_OF_ROWS, _MIN_ROWS_KEPT = 32, 100  # of the memory budget, and of rows however wide
_COPIES_OF_CHUNK = 8  # of a chunk and its features, in memory while one part is read


def over_parts(
    work: Callable[[Any], Any], parts: Sequence[Any], bytes_per_row: int
) -> Iterator[Any]:
    """work(part) for every part, in their order, by the threads or the workers of the settings."""
    held = _COPIES_OF_CHUNK * bytes_per_row * chunk_rows(bytes_per_row)
    return in_order(work, parts, parallel=True, held=held, what="reading rows")


@dataclass(frozen=True, eq=False)
class PointReader:
    """Reads parts of a sample as points of a kernel, which is bound to the columns of the sample."""

    kernel: Kernel
    columns: Columns | None
    name: str
    rows: int  # at a time
    wide: bool = False  # whether float32 becomes float64, as beside a sample of float64

    def points(self, part: RowPart) -> Iterator[Points]:
        """The points of a part, chunk by chunk."""
        return (self.read(chunk) for chunk in part.chunks(self.rows))

    def read(self, chunk: Any) -> Points:
        """A chunk as points."""
        points, _ = read(self.kernel, chunk, self.columns, self.name)
        return astype(points, double(points)) if self.wide and is_array(points) else points


# ---- rows ---------------------------------------------------------------------------------------


def picked(stream: RowStream, rows: np.ndarray, name: str) -> Any:
    """The rows at these positions, which ascend: an array, or a `Table`."""
    starts = np.array([*stream.starts, len(stream)])
    tasks = []
    for part, first, after in zip(stream.parts, starts[:-1], starts[1:], strict=True):
        here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, after)] - first
        if len(here):
            tasks.append((part, here))
    work = _Picking(name, stream.chunk_rows)
    return stacked_rows(list(over_parts(work, tasks, 8 * stream.width)))


@dataclass(frozen=True)
class _Picking:
    name: str
    rows: int

    def __call__(self, task: tuple[RowPart, np.ndarray]) -> Any:
        part, wanted = task
        position, pieces = 0, []
        for chunk in part.chunks(self.rows):
            size = len(chunk)
            here = wanted[(wanted >= position) & (wanted < position + size)] - position
            if len(here):
                pieces.append(taken(as_rows(chunk, self.name), here))
            position += size
        return stacked_rows(pieces)


def as_rows(chunk: Any, name: str) -> Any:
    """A chunk as a `Table` where it is a data frame, else as an array of real numbers (n, d)."""
    frame = None if is_array(chunk) else table(chunk, name)
    return validate.points(chunk, name) if frame is None else frame


def stacked_rows(pieces: Sequence[Any]) -> Any:
    """Pieces of one sample as one."""
    if isinstance(pieces[0], Table):
        values = np.concatenate([piece.values for piece in pieces])
        labels = reduce(lambda a, b: {**a, **b}, (piece.labels for piece in pieces))
        return Table(values, pieces[0].columns, pieces[0].series, labels)
    return np.concatenate([to_numpy(piece) for piece in pieces])


def rows_at(x: Any, positions: np.ndarray) -> Any:
    """The rows of an array or a `Table` at these positions."""
    return replace(x, values=x.values[positions]) if isinstance(x, Table) else x[positions]


def analysed_rows(stream: RowStream, most: int = ANALYSED_ROWS) -> np.ndarray:
    """Positions of the rows that a result keeps of a sample that was read part by part."""
    rng, n = np.random.default_rng(_ANALYSED_SEED), len(stream)
    rows = np.sort(rng.choice(n, min(n, most), replace=False, shuffle=False))
    return affordable_rows(rows, stream.width)


def affordable_rows(positions: np.ndarray, width: int) -> np.ndarray:
    """Every k-th of some positions, so that their rows take a 32nd of the memory budget."""
    most = max(settings().memory // _SHARE_OF_ROWS // (8 * width), _MIN_ROWS_KEPT)
    return positions[:: -(-len(positions) // most)] if len(positions) > most else positions


# ---- columns ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Number of rows, means and squared deviations of columns, and how often each category occurs."""

    n: int
    means: np.ndarray  # (d,)
    squares: np.ndarray  # (d,): sums of squared differences from the mean
    largest: np.ndarray  # (d,): of the absolute values
    counts: tuple[dict[float, int], ...]  # of the columns of categories; empty for numbers

    @classmethod
    def of(cls, values: np.ndarray, categorical: Sequence[bool]) -> Self:
        """The moments of some rows."""
        first = values[0].astype(np.float64)  # a constant column has exactly this mean
        means = first + (values - first).mean(axis=0)
        squares = np.sum((values - means) ** 2, axis=0)
        counts = tuple(
            dict(zip(*(a.tolist() for a in np.unique(column, return_counts=True)), strict=True))
            if coded
            else {}
            for column, coded in zip(values.T, categorical, strict=True)
        )
        return cls(len(values), means, squares, np.abs(values).max(axis=0), counts)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        n = self.n + other.n
        step = other.means - self.means
        counts = tuple(
            {code: a.get(code, 0) + b.get(code, 0) for code in {**a, **b}}
            for a, b in zip(self.counts, other.counts, strict=True)
        )
        return ColumnMoments(
            n,
            self.means + step * (other.n / n),
            self.squares + other.squares + step**2 * (self.n * other.n / n),
            np.maximum(self.largest, other.largest),
            counts,
        )

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations; 0 where values differ by rounding only."""
        deviations = np.sqrt(self.squares / self.n)
        rounding = 4 * np.finfo(np.float64).eps * self.largest
        return np.where(deviations > rounding, deviations, 0.0)

    @property
    def mismatches(self) -> list[float]:
        """The share of pairs of rows whose categories differ, for each column of categories."""
        pairs = max(self.n * (self.n - 1), 1)
        return [
            1 - sum(c * (c - 1) for c in counts.values()) / pairs
            for counts in self.counts
            if counts
        ]


def column_moments(
    streams: Sequence[RowStream], columns: Columns | None, transform: Any = None
) -> ColumnMoments:
    """Moments of the columns over all rows of the streams together; of `transform(values)` if it is given."""
    tasks = [part for stream in streams for part in stream.parts]
    rows = min(stream.chunk_rows for stream in streams)
    work = _Moments(columns, rows, transform)
    return reduce(lambda a, b: a + b, over_parts(work, tasks, 8 * streams[0].width))


@dataclass(frozen=True)
class _Moments:
    columns: Columns | None
    rows: int
    transform: Any

    def __call__(self, part: RowPart) -> ColumnMoments:
        return reduce(lambda a, b: a + b, map(self._of, part.chunks(self.rows)))

    def _of(self, chunk: Any) -> ColumnMoments:
        values, columns = _values(chunk, self.columns), self.columns
        values = values if self.transform is None else to_numpy(self.transform(values))
        categorical = (False,) * values.shape[1] if columns is None else columns.categorical
        return ColumnMoments.of(values, categorical)


def _values(chunk: Any, columns: Columns | None) -> np.ndarray:
    """The rows of a chunk as numbers and codes: (b, d) in float64."""
    rows: Any = as_rows(chunk, "x")
    if isinstance(rows, Table):
        rows = rows.values if columns is None else aligned(rows, columns)
    return validate.finite(to_numpy(rows).astype(np.float64), "x")


# ---- features -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StreamMoments:
    """Number, mean (p,) and scatter sum (z - mean)(z - mean)' (p, p) of features."""

    n: int
    mean: np.ndarray
    scatter: np.ndarray


def feature_moments(
    features: Callable[[Any], Iterator[np.ndarray]],
    parts: Sequence[Any],
    center: np.ndarray,
    bytes_per_row: int,
) -> StreamMoments:
    """Moments of the features that `features(part)` yields in chunks (b, p), in one pass.

    `center` is near their mean, so that sums of squares around it lose no digits.
    """
    total = np.zeros((len(center) + 1, len(center) + 1), dtype=np.float64)
    for products in over_parts(_CenteredProducts(features, center), parts, bytes_per_row):
        total += products
    n, sums = round(float(total[0, 0])), total[0, 1:]
    return StreamMoments(n, center + sums / n, total[1:, 1:] - np.outer(sums, sums / n))


@dataclass(frozen=True, eq=False)
class _CenteredProducts:
    """part -> sums over its rows of (1, z - center)(1, z - center)'."""

    features: Callable[[Any], Iterator[np.ndarray]]
    center: np.ndarray

    def __call__(self, part: Any) -> np.ndarray:
        size = len(self.center) + 1
        total = np.zeros((size, size), dtype=np.float64)
        for z in self.features(part):
            beside = np.empty((size, len(z)), dtype=np.float64)
            beside[0] = 1.0
            np.subtract(z.T, self.center[:, None], out=beside[1:])
            total += beside @ beside.T
        return total


# ---- rows drawn by their values -----------------------------------------------------------------

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
_MIX = np.uint64(0xBF58476D1CE4E5B9)  # of splitmix64
_HALF_STEP = np.uint64(2**21)  # of the 2^52 steps of a float64 between two powers of two
MIN_ROWS_TO_HASH = 2**16  # fewer rows are sorted


def drawn_points(
    stream: RowStream, reader: PointReader, number: int, seed: int
) -> Iterator[np.ndarray]:
    """The points with the smallest hashes of every part of a sample, for `drawn_by_hash`."""
    return over_parts(_HashedPoints(reader, number, seed), stream.parts, 8 * stream.width)


@dataclass(frozen=True, eq=False)
class _HashedPoints:
    """part -> its points with the smallest hashes."""

    reader: PointReader
    number: int
    seed: int

    def __call__(self, part: RowPart) -> np.ndarray:
        chunks = (numbers(points) for points in self.reader.points(part))
        return drawn_by_hash(chunks, self.number, self.seed)


def varied_rows(
    rows: np.ndarray, streams: Sequence[RowStream], columns: Columns | None
) -> np.ndarray:
    """Some rows of the streams as numbers and codes, or different ones, in one more pass, where their numbers are equal.

    Bandwidths are medians of distances, and a column that is 0 in all but a few of a million rows may be 0 in a subsample.
    """
    numeric = rows if columns is None else rows[:, ~np.array(columns.categorical)]
    if numeric.shape[1] == 0 or np.any(numeric != numeric[:1]):
        return rows
    size = min(stream.chunk_rows for stream in streams)
    parts = [part for stream in streams for part in stream.parts]
    found = over_parts(_DifferentRows(columns, size), parts, 8 * rows.shape[1])
    different = drawn_by_hash(found, ANALYSED_ROWS, _ANALYSED_SEED)
    return different if len(different) > 1 else rows


@dataclass(frozen=True)
class _DifferentRows:
    """part -> some of its rows, all different."""

    columns: Columns | None
    rows: int

    def __call__(self, part: RowPart) -> np.ndarray:
        chunks = (_values(chunk, self.columns) for chunk in part.chunks(self.rows))
        return drawn_by_hash(chunks, ANALYSED_ROWS, _ANALYSED_SEED)


def numbers(points: Points) -> np.ndarray:
    """Points as an array of numbers (n, d); others cannot be read part by part."""
    if not is_array(points) or points.ndim != 2:
        raise TypeError("samples that are read part by part must have columns of numbers")
    return to_numpy(points)


def drawn_by_hash(chunks: Iterator[np.ndarray], number: int, seed: int) -> np.ndarray:
    """`number` different rows, drawn uniformly from the distinct rows: those with the smallest hashes.

    It needs one pass and depends on the values alone, neither on their order nor on their copies.
    """
    rows: np.ndarray | None = None
    keys = np.empty(0, dtype=np.uint64)
    for values in chunks:
        new = _row_hashes(values, seed)
        few = min(number * 4, len(new))  # copies of a row have one hash
        near = np.argpartition(new, few - 1)[:few] if few < len(new) else np.arange(len(new))
        if len(np.unique(new[near])) < min(number, few):
            near = np.arange(len(new))
        rows = values[near] if rows is None else np.concatenate([rows, values[near]])
        keys, first = np.unique(np.concatenate([keys, new[near]]), return_index=True)
        keys, rows = keys[:number], rows[first[:number]]
    assert rows is not None
    return rows


def _row_hashes(values: np.ndarray, seed: int) -> np.ndarray:
    """A hash of every row, in which numbers count with nine digits: points may have been centred and moved back."""
    numbers = np.ascontiguousarray(values.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    with np.errstate(over="ignore"):
        numbers = (numbers + _HALF_STEP) & ~(2 * _HALF_STEP - np.uint64(1))
        keys = np.full(len(numbers), np.uint64(seed), dtype=np.uint64)
        for column in numbers.T:
            keys = (keys ^ column) * _ODD
            keys ^= keys >> np.uint64(31)
            keys *= _MIX
            keys ^= keys >> np.uint64(29)
    return keys
