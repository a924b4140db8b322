"""Parquet and NPY files that are too large for the memory limit: samples of numbers that tests read part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.byte_source import gib, label, matching
from mercer.cli.exits import Refused
from mercer.cli.file_parts import CheckedRows, LargeFile, large_file
from mercer.cli.match import FileSample
from mercer.cli.number_style import numbers_among
from mercer.cli.table import INDEX, NumericColumn, Selection, quoted
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.frames import PANDAS_INDEX, Columns, Table
from mercer.gram.stream_sums import ANALYSED_ROWS, analysed_rows, over_parts, picked
from mercer.htest.samples.attribution import Features, feature_differences
from mercer.report.affordable import FLOATS_PER_RANKED_VALUE
from mercer.row_streams import RowPart, RowStream, streamed

_HEAD_ROWS = 1000  # consecutive ones, in which dependence on the row before is looked for
_MIN_ROWS = 2  # of a sample
_COLUMN_ROWS, _COLUMN_VALUES = 50_000, 1_000_000  # of a sample, to compare columns one by one
_MIN_COLUMN_ROWS = 100
_COPIES = 2  # of a sample in memory, at least: columns, and points


@dataclass(frozen=True)
class StreamedSample(FileSample):
    """Sample that is read part by part; its `points` are the first rows, its columns have names and no values."""

    stream: RowStream = field(default=RowStream((), (), 0), repr=False)

    @property
    def original_rows(self) -> bool:
        """Whether row i of a result is row i of the file: it keeps a random subsample."""
        return False

    @property
    def rows(self) -> int:
        """Number of points."""
        return len(self.stream)

    def drawn(self, most: int = ANALYSED_ROWS) -> Any:
        """Some random rows."""
        return picked(self.stream, analysed_rows(self.stream, most), self.name)


def streamed_features(first: StreamedSample, second: StreamedSample, rng: int) -> Features | None:
    """Differences of the columns in random rows, more than a result keeps; None for one, or beyond memory."""
    width = first.stream.width
    affordable = settings().memory // (2 * 8 * FLOATS_PER_RANKED_VALUE * width)
    most = min(_COLUMN_ROWS, max(_COLUMN_VALUES // width, ANALYSED_ROWS), affordable)
    if width < 2 or most < _MIN_COLUMN_ROWS:
        return None
    return feature_differences(first.drawn(most), second.drawn(most), rng=rng)


def streamed_files(
    paths: Sequence[str], selection: Selection, *, streams: bool, drop: bool, notes: list[str]
) -> tuple[FileSample, ...] | None:
    """Parquet and NPY files as streams where they exceed their share of the memory limit; None if they do not.

    With `drop` rows with missing values are left out; if the others fit into that share, they are read. Files that cannot be read part by part, because of labels, times or
    missing values to fill in, or because the test does not (`streams`), are refused if they cannot fit into memory either.
    """
    known = [files for path in paths if (files := _large_files(path, selection)) is not None]
    if len(known) < len(paths):
        return None
    whole = bool(selection.time or selection.categories)  # files are read as a whole
    if streams and _comparable(known) and not whole:
        if streamed(*(RowStream((), s.lengths, len(s.files[0].names)) for s in known)) is None:
            return None
        samples = [_sample(large, selection, drop, notes) for large in known]
        large = streamed(*(sample.stream for sample in samples)) is not None
        return tuple(_with_head(sample) if large else _in_memory(sample) for sample in samples)
    _refuse_beyond_memory(known)
    return None


@dataclass(frozen=True)
class _LargeFiles:
    """The files of a sample; their rows are not read."""

    name: str
    files: tuple[LargeFile, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of rows of every file."""
        return tuple(file.rows for file in self.files)


def _large_files(path: str, selection: Selection) -> _LargeFiles | None:
    """From footers and headers; None where a file is in another format or does not exist."""
    paths = matching(path) if has_magic(path) and not Path(path).exists() else [path]
    files = []
    for one in paths:
        file = large_file(one, selection)
        if file is None:
            return None
        files.append(file)
    return _LargeFiles(label(path), tuple(files)) if files else None


def _comparable(samples: Sequence[_LargeFiles]) -> bool:
    """Whether all files have the same columns, all of numbers and none that counts the rows."""
    files = [file for sample in samples for file in sample.files]
    names = set(files[0].names)
    return (
        not _without_numbers(samples)
        and INDEX not in names
        and all(set(file.names) == names and file.array == files[0].array for file in files)
    )


def _without_numbers(samples: Sequence[_LargeFiles]) -> list[str]:
    """Names of the columns that hold something else than numbers."""
    others = (name for s in samples for file in s.files for name in file.without_numbers)
    return list(dict.fromkeys(others))


def _sample(
    large: _LargeFiles, selection: Selection, drop: bool, notes: list[str]
) -> StreamedSample:
    every, array = large.files[0].names, large.files[0].array
    index = [n for n in every if PANDAS_INDEX.fullmatch(n) and n not in selection.columns]
    names = tuple(n for n in every if n not in index) or every
    if len(names) < len(every):
        notes.append(f"{large.name}: the row index of pandas, {quoted(index)}, was left out")
    absent = numbers_among(selection.text.given_words) if selection.text is not None else ()
    parts: list[RowPart] = []
    lengths: list[int] = []
    for file in large.files:
        for part, size in file.parts(names):
            parts.append(CheckedRows(part, label(file.path), names, array, drop, tuple(absent)))
            lengths.append(size)
    stream = RowStream(tuple(parts), tuple(lengths), len(names))
    dropped = 0
    if drop:
        stream = _complete(stream)
        dropped = sum(lengths) - len(stream)
    if dropped:
        notes.append(f"{large.name}: {dropped:,} rows with missing values were left out")
    if len(stream) < _MIN_ROWS:
        raise Refused(
            f"{large.name}: {len(stream):,} rows without missing values; at least {_MIN_ROWS} are needed: select "
            "--columns"
        )
    columns: dict[str, Any] = {name: NumericColumn(np.empty(0)) for name in names}
    empty = np.empty((0, len(names)))
    points = empty if array else Table(empty, Columns(names, (False,) * len(names)))
    return StreamedSample(large.name, points, columns, array, dropped, stream=stream)


def _complete(stream: RowStream) -> RowStream:
    """The stream with the lengths of its parts without the rows that are left out, which one pass counts."""
    counts = list(over_parts(_Counting(stream.chunk_rows), stream.parts, 8 * stream.width))
    kept = [(part, n) for part, n in zip(stream.parts, counts, strict=True) if n]
    parts, lengths = zip(*kept, strict=True) if kept else ((), ())
    return replace(stream, parts=parts, lengths=lengths)


@dataclass(frozen=True)
class _Counting:
    """part -> how many of its rows are complete."""

    rows: int

    def __call__(self, part: CheckedRows) -> int:
        return sum(len(chunk) for chunk in part.chunks(self.rows))


def _with_head(sample: StreamedSample) -> StreamedSample:
    """The sample with its first rows as points."""
    head = np.arange(min(_HEAD_ROWS, sample.rows))
    return replace(sample, points=picked(sample.stream, head, sample.name))


def _in_memory(sample: StreamedSample) -> FileSample:
    """The sample with all of its rows, which are few."""
    points = picked(sample.stream, np.arange(sample.rows), sample.name)
    values = points.values if isinstance(points, Table) else points
    columns: dict[str, Any] = {
        name: NumericColumn(values[:, j]) for j, name in enumerate(sample.columns)
    }
    return FileSample(sample.name, points, columns, sample.array, sample.dropped)


def _refuse_beyond_memory(samples: Sequence[_LargeFiles]) -> None:
    limit = settings().memory
    needed = sum(8 * _COPIES * sum(s.lengths) * len(s.files[0].names) for s in samples)
    if needed > limit:
        names = " and ".join(sample.name for sample in samples)
        need = "need" if samples[1:] else "needs"
        others = _without_numbers(samples)
        labels = f"; {quoted(others)} hold{'' if others[1:] else 's'} no numbers" if others else ""
        raise MemoryBudgetError(
            f"{names} {need} at least {gib(needed)} of memory for this comparison, the limit is {gib(limit)}: select "
            "--columns, raise --memory, or compare two files of numbers by a test that reads them part by part (the "
            "default test, or --test me, scf, ume, linear, block, mmd, mmdagg, energy, mmdfuse or maxmmd; with --missing "
            f"drop or without --missing, and without --categories, --by, --paired, --time, --series{labels})"
        )
