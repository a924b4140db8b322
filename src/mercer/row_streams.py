"""Samples that are not in memory, as parts that are read when they are needed.

Memory maps, Zarr arrays, Dask arrays and data frames, Arrow datasets, Parquet and CSV files. A part can be pickled, so that
the process that needs its rows reads them: it carries the place of the rows, not the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import isnan
from pathlib import PurePath
from typing import Any

import numpy as np

from mercer.backend import is_array, is_dask
from mercer.config import settings
from mercer.frames import Table

_MAX_CHUNK_ROWS = 2**17  # 1 MiB for each column in float64
_MIN_CHUNK_ROWS = 2**6  # whatever the memory budget
_SHARE_OF_CHUNK = 64  # of the memory budget that one chunk takes at most
_SHARE_IN_MEMORY = (
    8  # samples beyond this share of the budget are streamed: tests make several copies
)
_CHUNKS_PER_PART = 8  # of sources without parts of their own


class RowPart(ABC):
    """Some consecutive rows of a sample, which another process can read."""

    @abstractmethod
    def chunks(self, rows: int) -> Iterator[Any]:
        """The rows in their order, at most so many at a time: arrays or data frames."""


@dataclass(frozen=True, eq=False)
class RowStream:
    """A sample in parts; `lengths` are their numbers of rows."""

    parts: tuple[RowPart, ...]
    lengths: tuple[int, ...]
    width: int

    def __len__(self) -> int:
        return sum(self.lengths)

    @property
    def starts(self) -> list[int]:
        """Position of the first row of every part."""
        return [0, *accumulate(self.lengths)][:-1]

    @property
    def nbytes(self) -> int:
        """Size in memory as float64."""
        return 8 * len(self) * self.width

    @property
    def chunk_rows(self) -> int:
        """Rows to read at a time, inside the memory budget."""
        return chunk_rows(8 * self.width)

    def between(self, start: int, stop: int, rows: int) -> Iterator[Any]:
        """The rows from `start` to `stop`, in chunks of at most so many."""
        for part, first, size in zip(self.parts, self.starts, self.lengths, strict=True):
            if first + size <= start or first >= stop:
                continue
            position = first
            for chunk in part.chunks(rows):
                low, high = max(start, position), min(stop, position + len(chunk))
                if low < high:
                    yield rows_between(chunk, low - position, high - position)
                position += len(chunk)
                if position >= stop:
                    break


@dataclass(frozen=True, eq=False)
class RowPairs:
    """The rows of a part of one sample, and the same rows of another one, cut in other places."""

    first: RowPart
    second: RowStream
    start: int  # in `second`
    stop: int

    def chunks(self, rows: int) -> Iterator[tuple[Any, Any]]:
        """Rows of both, as many of each."""
        others, other = self.second.between(self.start, self.stop, rows), None
        for chunk in self.first.chunks(rows):
            position = 0
            while position < len(chunk):
                other = next(others) if other is None or len(other) == 0 else other
                size = min(len(chunk) - position, len(other))
                yield rows_between(chunk, position, position + size), rows_between(other, 0, size)
                position, other = position + size, rows_between(other, size, len(other))


def row_pairs(first: RowStream, second: RowStream) -> list[RowPairs]:
    """Two samples observed together, in the parts of the first."""
    pairs = []
    for part, start, size in zip(first.parts, first.starts, first.lengths, strict=True):
        stop = start + size
        inside = [
            i
            for i, (a, n) in enumerate(zip(second.starts, second.lengths, strict=True))
            if a < stop and a + n > start
        ]
        offset = second.starts[inside[0]]
        near = RowStream(
            tuple(second.parts[i] for i in inside),
            tuple(second.lengths[i] for i in inside),
            second.width,
        )
        pairs.append(RowPairs(part, near, start - offset, stop - offset))
    return pairs


def chunk_rows(bytes_per_row: int) -> int:
    """Rows to read at a time, inside the memory budget."""
    most = settings().memory // _SHARE_OF_CHUNK // max(bytes_per_row, 1)
    return max(min(most, _MAX_CHUNK_ROWS), _MIN_CHUNK_ROWS)


def rows_between(x: Any, start: int, stop: int) -> Any:
    """x[start:stop] of an array, a data frame or a `Table`."""
    if isinstance(x, Table):
        return replace(x, values=x.values[start:stop])
    if hasattr(x, "iloc"):
        return x.iloc[start:stop]
    if hasattr(x, "slice") and hasattr(x, "schema"):
        return x.slice(start, stop - start)
    return x[start:stop]


def streamed(*samples: Any) -> tuple[RowStream, ...] | None:
    """The samples as streams, where one of them is not in memory and together they are too large for that.

    None where none of them is read from elsewhere, or where all take at most an eighth of the memory budget.
    """
    if not any(map(is_streamable, samples)):
        return None
    streams = tuple(stream_of(x) for x in samples)
    if any(s is None for s in streams):
        return None
    ready = tuple(s for s in streams if s is not None)
    large = sum(s.nbytes for s in ready) > settings().memory // _SHARE_IN_MEMORY
    return ready if large else None


def is_streamable(x: Any) -> bool:
    """Whether the rows of `x` are elsewhere: on disk, in an object store, or in a graph of Dask."""
    lazy = isinstance(x, RowStream) or is_dask(x) or _is_map(x) or _is_zarr(x)
    return lazy or hasattr(x, "row_stream") or _is_dataset(_dataset_of(x))


def stream_of(x: Any) -> RowStream | None:
    """`x` as a stream; None for what has no rows of numbers or names, such as a list."""
    if isinstance(x, RowStream):
        return x
    if hasattr(x, "row_stream"):
        return x.row_stream()
    if is_dask(x):
        return _of_dask_array(x) if hasattr(x, "rechunk") else _of_dask_frame(x)
    if _is_zarr(x) or _is_map(x):
        return _of_array(x)
    data = _dataset_of(x)
    if _is_dataset(data):
        return _of_dataset(data)
    return _of_array(x) if isinstance(x, Table) or (is_array(x) and x.ndim in (1, 2)) else None


# ---- arrays -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ArrayRows(RowPart):
    """Rows of an array; those of a memory map travel as a place in its file."""

    array: Any
    start: int
    stop: int

    def chunks(self, rows: int) -> Iterator[Any]:
        for first in range(self.start, self.stop, rows):
            chunk = rows_between(self.array, first, min(first + rows, self.stop))
            yield np.array(chunk) if isinstance(chunk, np.memmap) else chunk

    def __reduce__(self) -> Any:
        array = self.array
        if _is_zarr(array):
            return _ArrayRows, (array, self.start, self.stop)
        if _is_map(array):
            place = _place_in_file(array)
            if place is not None:
                return _mapped_rows, (*place, self.start, self.stop)
            array = np.asarray(array)
        return _ArrayRows, (rows_between(array, self.start, self.stop), 0, self.stop - self.start)


def _mapped_rows(
    filename: str, dtype: Any, offset: int, shape: Any, order: Any, start: int, stop: int
) -> _ArrayRows:
    array = np.memmap(filename, dtype, "r", offset, shape, order)
    return _ArrayRows(array, start, stop)


def _place_in_file(array: np.memmap) -> tuple[Any, ...] | None:
    """Arguments that map the same array again; None for views of a map."""
    contiguous = array.flags.c_contiguous or array.flags.f_contiguous
    if array.filename is None or not contiguous or isinstance(array.base, np.ndarray):
        return None
    order = "C" if array.flags.c_contiguous else "F"
    return str(array.filename), array.dtype, array.offset, array.shape, order


def _of_array(x: Any) -> RowStream:
    shape = x.values.shape if isinstance(x, Table) else x.shape
    n, width = int(shape[0]), int(np.prod(shape[1:]))
    size = chunk_rows(8 * width) * _CHUNKS_PER_PART
    bounds = [(a, min(a + size, n)) for a in range(0, n, size)]
    parts = tuple(_ArrayRows(x, a, b) for a, b in bounds)
    return RowStream(parts, tuple(b - a for a, b in bounds), width)


# ---- Dask ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _DaskPartition(RowPart):
    """A partition of a Dask collection, computed by the process that reads it."""

    collection: Any

    def chunks(self, rows: int) -> Iterator[Any]:
        whole = _computed(self.collection)
        for first in range(0, len(whole), rows):
            yield rows_between(whole, first, min(first + rows, len(whole)))


def _computed(collection: Any) -> Any:
    """The data; of a collection that was persisted on a cluster they come from there."""
    graph = dict(collection.__dask_graph__())
    persisted = any(type(v).__module__.startswith("distributed") for v in graph.values())
    return collection.compute() if persisted else collection.compute(scheduler="synchronous")


def _of_dask_array(x: Any) -> RowStream:
    x = x.rechunk(dict.fromkeys(range(1, x.ndim), -1)) if x.ndim > 1 else x
    if any(isnan(size) for size in x.chunks[0]):
        x = x.compute_chunk_sizes()
    blocks = [x.blocks[i] for i in range(x.numblocks[0])]
    return _of_partitions(blocks, x.chunks[0], int(np.prod(x.shape[1:])))


def _of_dask_frame(x: Any) -> RowStream:
    lengths = _computed(x.map_partitions(len))
    partitions = [x.partitions[i] for i in range(x.npartitions)]
    return _of_partitions(partitions, lengths, len(x.columns) if x.ndim > 1 else 1)


def _of_partitions(partitions: Sequence[Any], lengths: Sequence[Any], width: int) -> RowStream:
    pairs = [(p, int(n)) for p, n in zip(partitions, lengths, strict=True) if n > 0]
    parts = tuple(_DaskPartition(p) for p, _ in pairs)
    return RowStream(parts, tuple(n for _, n in pairs), width)


# ---- Arrow --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ParquetRows(RowPart):
    """Row groups of a Parquet file on a file system of Arrow."""

    path: str
    filesystem: Any
    groups: tuple[int, ...]
    columns: tuple[str, ...]

    def chunks(self, rows: int) -> Iterator[Any]:
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(self.path, filesystem=self.filesystem) as file:
            self._check_columns(file.schema_arrow.names)
            for batch in file.iter_batches(
                batch_size=rows,
                row_groups=list(self.groups),
                columns=list(self.columns),
                use_threads=False,
            ):
                yield batch.select(list(self.columns))

    def _check_columns(self, names: Sequence[str]) -> None:
        """Raise where the file lacks one of the columns."""
        missing = [name for name in self.columns if name not in names]
        if missing:
            raise ValueError(
                f"{PurePath(self.path).name} has no column {missing[0]!r}, and another file of the same data has one: files "
                "of one sample must have the same columns; add it, or name the columns that all of them have"
            )


@dataclass(frozen=True, eq=False)
class _TableRows(RowPart):
    """A table of Arrow in memory."""

    table: Any

    def chunks(self, rows: int) -> Iterator[Any]:
        for first in range(0, self.table.num_rows, rows):
            yield self.table.slice(first, rows)


@dataclass(frozen=True, eq=False)
class _FragmentRows(RowPart):
    """A fragment of an Arrow dataset in another format."""

    fragment: Any
    schema: Any

    def chunks(self, rows: int) -> Iterator[Any]:
        scanner = self.fragment.scanner(
            schema=self.schema, columns=self.schema.names, batch_size=rows, use_threads=False
        )
        return (batch for batch in scanner.to_batches() if batch.num_rows)


def _of_dataset(data: Any) -> RowStream:
    names = tuple(data.schema.names)
    rows = chunk_rows(8 * len(names))
    parts, lengths = [], []
    for fragment in data.get_fragments():
        if hasattr(fragment, "row_groups"):
            for groups, size in runs_of_groups(fragment, rows):
                parts.append(ParquetRows(fragment.path, fragment.filesystem, groups, names))
                lengths.append(size)
        elif size := fragment.count_rows():
            in_file = hasattr(fragment, "path")
            table = None if in_file else fragment.to_table(schema=data.schema)
            parts.append(_FragmentRows(fragment, data.schema) if in_file else _TableRows(table))
            lengths.append(size)
    return RowStream(tuple(parts), tuple(lengths), len(names))


def runs_of_groups(fragment: Any, rows: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Consecutive row groups of a file with at least so many rows together, and how many: the last run may have fewer."""
    run, size = [], 0
    for group in fragment.row_groups:
        if not group.num_rows:
            continue
        run.append(group.id)
        size += group.num_rows
        if size >= rows:
            yield tuple(run), size
            run, size = [], 0
    if run:
        yield tuple(run), size


def _dataset_of(x: Any) -> Any:
    return x.arrow_dataset() if hasattr(x, "arrow_dataset") else x


def _is_dataset(x: Any) -> bool:
    return type(x).__module__.startswith("pyarrow") and hasattr(x, "get_fragments")


def _is_map(x: Any) -> bool:
    return isinstance(x, np.memmap) and x.ndim in (1, 2)


def _is_zarr(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "zarr" and hasattr(x, "chunks")
