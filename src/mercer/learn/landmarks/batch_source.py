"""Sources of data in batches: arrays, what is not in memory, iterators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_array, on_gpu, take_rows
from mercer.config import settings
from mercer.frames import Table, with_categories
from mercer.gram.threads import spans
from mercer.rkhs.sample_rows import settled, stacked, taken
from mercer.row_streams import (
    RowPairs,
    RowStream,
    is_streamable,
    row_pairs,
    stream_of,
    streamed,
)

_MAX_BATCH_ROWS = 2**17  # 1 MiB for each column in float64
_GPU_BATCH_ROWS = 2**24  # on a GPU, whose work on fewer rows would be too short
_MIN_BATCH_ROWS = 2**10  # whatever the memory budget

Batch = tuple[Any, Any, np.ndarray | None]  # points, numbers to predict, weights


class Source(ABC):
    """Observations in batches (X, y), the same in every pass."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Points X (b, d), targets y (b,) or (b, q), and weights (b,) or None, batch by batch."""

    @property
    def once(self) -> bool:
        """Whether the batches can be read only once."""
        return False

    def parts(self) -> Sequence[Source]:
        """Sources that together are this one, which several workers read at the same time; here itself alone."""
        return [self]


@dataclass(frozen=True, eq=False)
class InMemory(Source):
    """Arrays, tensors, memory maps, or lists of objects, and their targets."""

    points: Any
    target: Any
    weights: np.ndarray | None = None

    @property
    def single(self) -> bool:
        """Whether the data fit into one batch."""
        return count(self.points) <= batch_rows(self.points)

    def batches(self) -> Iterator[Batch]:
        for rows in spans(count(self.points), batch_rows(self.points)):
            weights = None if self.weights is None else self.weights[rows]
            yield take_rows(self.points, rows), take_rows(self.target, rows), weights


@dataclass(frozen=True, eq=False)
class Batches(Source):
    """Batches (X, y) from user code.

    Parameters
    ----------
    make : callable, sequence or iterator
        A function without arguments that returns a new iterable of pairs (X, y) on every call; a list of
        such pairs; or an iterator over them, which can be read only once: landmarks are then drawn from
        its first batch, and the solver has one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import NystromRidge
    >>> from mercer.kernels import RBF
    >>> def make():
    ...     for seed in range(10):
    ...         x = np.random.default_rng(seed).uniform(-3, 3, size=(1000, 1))
    ...         yield x, np.sin(x[:, 0])
    >>> ridge = NystromRidge(RBF(1.0), 1e-3, landmarks=50, random_state=0).fit(Batches(make))
    >>> ridge.predict([[1.0]]).round(3)  # sin(1)
    array([0.841])
    """

    make: Callable[[], Iterable[Any]] | Iterable[Any]

    def __post_init__(self) -> None:
        if not callable(self.make) and not isinstance(self.make, Iterable):
            raise TypeError(
                "make must be a function that returns an iterable of pairs (X, y), or such an "
                f"iterable, got {self.make!r}"
            )

    @property
    def once(self) -> bool:
        """Whether `make` is an iterator."""
        return isinstance(self.make, Iterator)

    def batches(self) -> Iterator[Batch]:
        for pair in self.make() if callable(self.make) else self.make:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(f"every batch must be a pair (X, y), got {type(pair).__name__}")
            yield pair[0], pair[1], None


@dataclass(frozen=True, eq=False)
class InParts(Source):
    """Points and targets that are not in memory: Dask collections, Arrow datasets, Zarr arrays and memory maps."""

    points: RowStream
    target: RowStream

    def batches(self) -> Iterator[Batch]:
        for part in self.parts():
            yield from part.batches()

    def parts(self) -> Sequence[Source]:
        """The parts of the points, with their targets."""
        rows = rows_of_batch(8 * self.points.width)
        return [_PairsOfRows(pairs, rows) for pairs in row_pairs(self.points, self.target)]


@dataclass(frozen=True, eq=False)
class _PairsOfRows(Source):
    """Some rows of points and targets."""

    pairs: RowPairs
    rows: int  # at a time

    def batches(self) -> Iterator[Batch]:
        for x, y in self.pairs.chunks(self.rows):
            yield x, y if is_array(y) else np.asarray(y), None


def opened(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """X as a source of batches with its targets, and None, where X is not in memory and too large for it; else both."""
    streams = None if isinstance(X, Source) or sample_weight is not None else streamed(X)
    if streams is None or y is None:
        return X, y
    target = stream_of(y if is_streamable(y) else np.asarray(y))
    if target is None:
        raise TypeError(
            f"y must have one number or label for each row of X, got {validate.shown(y)}"
        )
    if len(target) != len(streams[0]):
        raise ValueError(f"X and y must have as many rows, got {len(streams[0])} and {len(target)}")
    return InParts(streams[0], target), None


def batch_rows(points: Any) -> int:
    """Rows of a batch of such points."""
    if on_gpu(points):
        return _GPU_BATCH_ROWS
    if is_array(points) and points.ndim == 2:
        return rows_of_batch(8 * int(points.shape[1]))
    return _MAX_BATCH_ROWS


def sampled(
    source: Source, size: int, rng: np.random.Generator
) -> tuple[Any, Source, Mapping[str, frozenset[str]]]:
    """A uniform sample of points drawn in one pass, the complete source, and the categories of its columns.

    Every point gets a random key, and those with the smallest keys are kept. For a source that can be
    read only once, the points come from its first batch, and the categories are not known. Those of data in memory
    are not looked for.
    """
    if source.once:
        batches = source.batches()
        first = next(batches, None)
        if first is None:
            raise ValueError("there must be at least one batch, got none")
        complete = Batches((x, y) for x, y, _ in chain([first], batches))
        return _drawn(first[0], size, rng), complete, {}
    if isinstance(source, InMemory):
        return _drawn(source.points, size, rng), source, {}
    sample, keys = None, np.empty(0, dtype=np.float64)
    seen: dict[str, frozenset[str]] = {}
    for x, _, _ in source.batches():
        new_keys = rng.random(count(x) if is_array(x) else len(x))
        rows = (
            np.arange(len(new_keys)) if len(keys) < size else np.flatnonzero(new_keys < keys.max())
        )
        points = settled(x, "X")
        seen = with_categories(seen, points.categories() if isinstance(points, Table) else {})
        candidates = taken(points, rows)
        _need_width(sample, candidates)
        sample = candidates if sample is None else stacked(sample, candidates)
        keys = np.concatenate([keys, new_keys[rows]])
        if len(keys) > size:
            smallest = np.sort(np.argpartition(keys, size)[:size])
            sample, keys = taken(sample, smallest), keys[smallest]
    if sample is None:
        raise ValueError("there must be at least one batch, got none")
    return sample, source, seen


def _need_width(before: Any, points: Any) -> None:
    if is_array(before) and is_array(points) and before.shape[1:] != points.shape[1:]:
        raise ValueError(
            f"all batches must have the same number of columns, got {before.shape[-1]} and then "
            f"{points.shape[-1]}"
        )


def _drawn(points: Any, size: int, rng: np.random.Generator) -> Any:
    n = count(points) if is_array(points) else len(points)
    if size >= n:
        return points
    return taken(points, np.sort(rng.choice(n, size, replace=False, shuffle=False)))


def rows_of_batch(bytes_each: int, most: int = _MAX_BATCH_ROWS) -> int:
    """Rows of a batch, inside the memory budget."""
    return max(min(settings().memory // 32 // max(bytes_each, 1), most), _MIN_BATCH_ROWS)
