"""Files whose observations are texts or series: a text column, JSON lines, long tables, a file for each series."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mercer.cli.byte_source import label, matching, natural, opened
from mercer.cli.exits import Refused, one_line
from mercer.cli.groups import Grouping
from mercer.cli.match import Missing
from mercer.cli.read import read, transcoded
from mercer.cli.table import (
    File,
    LabelColumn,
    NumericColumn,
    Selection,
    quoted,
    rows_in_words,
    short,
    was_or_were,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.kernels.series.series_data import Series

_JSON_LINES = (".jsonl", ".ndjson")
_PLAIN_TEXT = (".txt",)
_PACKED = (".gz", ".bz2", ".xz", ".zip")
_PLACE = ""  # name of the column of row numbers; columns of tables have other names
_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True)
class ObjectSample:
    """Texts or series of a file, and what each is called there."""

    name: str
    points: Any  # a list of str, or Series
    labels: tuple[str, ...]  # "row 3", "line 3", or the name of a series
    dropped: int = 0
    notes: tuple[str, ...] = ()
    grouped: bool = False  # whether it is a level of a column of a file, and has its name
    differenced: ClassVar[bool] = False  # as of a `FileSample`; there are no differences of objects
    paired_by: ClassVar[str | None] = None  # and no pairs

    @property
    def rows(self) -> int:
        """Number of texts or series."""
        return len(self.points)

    @property
    def kind(self) -> str:
        """Texts or series."""
        return "series" if isinstance(self.points, Series) else "texts"


def is_json_lines(path: str) -> bool:
    """Whether a file is called one of JSON lines, perhaps compressed."""
    return _unpacked(path).endswith(_JSON_LINES)


def is_plain_text(path: str) -> bool:
    """Whether a file is called one of text, perhaps compressed."""
    return _unpacked(path).endswith(_PLAIN_TEXT)


def _unpacked(path: str) -> str:
    """The name in small letters, without the ending of a compressed file."""
    name = path.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name


# ---- texts ----------------------------------------------------------------------------------


def text_sample(
    path: str, column: str, selection: Selection, missing: Missing | None
) -> ObjectSample:
    """Texts of one column of a table."""
    wanted = replace(selection, columns=(column,), categories=frozenset([column]))
    return _texts(_with_places(read(path, wanted)), column, missing)


def grouped_text_samples(
    path: str, column: str, selection: Selection, grouping: Grouping, missing: Missing | None
) -> tuple[ObjectSample, ObjectSample]:
    """Texts of one column of a table, of the two levels of another column."""
    wanted = replace(selection, columns=(column,), categories=frozenset([column]))
    file = _with_places(read(path, grouping.selected(wanted)))
    first, second = (_texts(group, column, missing) for group in grouping.samples(file))
    return replace(first, grouped=True), replace(second, grouped=True)


def _with_places(file: File) -> File:
    """The file with the numbers of its rows, which stay with the rows of a group."""
    return replace(
        file,
        columns={**file.columns, _PLACE: NumericColumn(np.arange(file.rows, dtype=np.float64))},
    )


def _texts(file: File, column: str, missing: Missing | None) -> ObjectSample:
    texts, places = file.columns[column], file.columns[_PLACE]
    if not isinstance(texts, LabelColumn) or not isinstance(places, NumericColumn):
        raise Refused(f"{file.name}, column {quoted([column])}: numbers, not text")
    values = [None if code < 0 else texts.levels[code] for code in texts.codes]
    names = [f"row {int(i) + 1:,}" for i in places.values]
    return _complete(file.name, values, names, missing, file.notes)


def plain_lines_sample(path: str, encoding: str | None) -> ObjectSample:
    """Texts of a file that has one in each line; empty lines are none."""
    lines = ((i, line.strip()) for i, line in enumerate(_lines(path, encoding), 1))
    texts = {f"line {number:,}": text for number, text in lines if text}
    return _complete(label(path), [*texts.values()], [*texts], None, ())


def json_lines_sample(
    path: str, field: str | None, encoding: str | None, missing: Missing | None
) -> ObjectSample:
    """Texts or series of JSON lines: strings, lists of numbers, or objects with one of them in `field`."""
    values, names = [], []
    file = label(path)
    for number, line in enumerate(_lines(path, encoding), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as problem:
            raise Refused(f"{file}, line {number:,}: not JSON ({one_line(str(problem))})") from None
        values.append(_field(value, field, f"{file}, line {number:,}"))
        names.append(f"line {number:,}")
    sample = _complete(file, values, names, missing, ())
    kinds = {str: "text", list: "a list"}
    first = type(sample.points[0])
    for value, name in zip(sample.points, sample.labels, strict=True):
        if type(value) not in kinds:
            raise Refused(
                f"{file}, {name}: {short(json.dumps(value), _SHOWN)} is neither text nor a series; each line must "
                "be a string, or a list of numbers, or an object with one in the field of --text"
            )
        if type(value) is not first:
            raise Refused(
                f"{file}, {name}: {kinds[type(value)]} among lines with {kinds[first]}: all lines must be of one kind"
            )
    return sample if first is str else _series_of_lines(sample)


def _lines(path: str, encoding: str | None) -> Iterator[str]:
    """Lines of a text file."""
    with opened(path) as source, transcoded(source, encoding) as utf8:
        if utf8.size > settings().memory:
            raise MemoryBudgetError(f"{utf8.name} exceeds the memory limit: raise --memory")
        for number, line in enumerate(utf8.file, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise Refused(
                    f"{utf8.name}, line {number:,}: not UTF-8; name the encoding with --encoding"
                ) from None


def _field(value: Any, field: str | None, place: str) -> Any:
    """The value of a line, or of one of its fields."""
    if not isinstance(value, dict):
        if field is not None and value is not None:
            raise Refused(f"{place}: not a JSON object, and so without the field {quoted([field])}")
        return value
    if field is None:
        raise Refused(
            f"{place}: an object with the fields {quoted(list(value), 5)}: say which holds the text with --text"
        )
    if field not in value:
        raise Refused(f"{place}: no field {quoted([field])}; it has {quoted(list(value), 5)}")
    return value[field]


def _series_of_lines(sample: ObjectSample) -> ObjectSample:
    series = []
    for value, name in zip(sample.points, sample.labels, strict=True):
        try:
            series.append(Series.of([np.asarray(value, dtype=np.float64)], "x")[0])
        except (ValueError, TypeError):
            raise Refused(
                f"{sample.name}, {name}: {short(json.dumps(value), _SHOWN)} is no series: use a list of finite "
                "numbers, or of lists of as many numbers at each time"
            ) from None
    return replace(sample, points=_packed(sample.name, series, sample.labels))


def _complete(
    name: str,
    values: Sequence[Any],
    labels: Sequence[str],
    missing: Missing | None,
    notes: Sequence[str],
) -> ObjectSample:
    """The values that are not missing; they are refused unless --missing drop was given."""
    places = [i for i, value in enumerate(values) if value is not None]
    dropped = len(values) - len(places)
    if dropped and missing is not Missing.DROP:
        first = next(i for i, value in enumerate(values) if value is None)
        raise Refused(
            f"{name} has {dropped:,} missing {'value' if dropped == 1 else 'values'}, the first at {labels[first]}: choose "
            "--missing drop to leave such rows out"
        )
    if len(places) < 2:
        raise Refused(f"{name}: {len(places)} observations; at least 2 are needed")
    remarks = (
        [f"{name}: {rows_in_words(dropped)} with missing values {was_or_were(dropped)} left out"]
        if dropped
        else []
    )
    kept = tuple(labels[i] for i in places)
    return ObjectSample(name, [values[i] for i in places], kept, dropped, (*notes, *remarks))


# ---- series ---------------------------------------------------------------------------------


def long_table_sample(path: str, columns: Sequence[str], selection: Selection) -> ObjectSample:
    """Series of a long table: columns that name the series, the time, and the channels (none: all others)."""
    group, time, *channels = columns
    wanted = replace(
        selection,
        columns=(group, *channels) if channels else (),
        categories=frozenset([group]),
        time=time,
    )
    file = read(path, wanted)
    owners = file.columns[group]
    if not isinstance(owners, LabelColumn) or (owners.codes < 0).any():
        raise Refused(
            f"{file.name}, column {quoted([group])}: a row without the name of its series"
        )
    values = _channels(file, group)
    series = [values[owners.codes == i] for i in range(len(owners.levels))]
    if len(series) < 2:
        raise Refused(
            f"{file.name}: all rows belong to one series, {quoted(owners.levels)}; at least 2 are needed"
        )
    notes = tuple(note for note in file.notes if "order" not in note)
    return ObjectSample(
        file.name, _packed(file.name, series, owners.levels), owners.levels, 0, notes
    )


def files_sample(path: str, selection: Selection) -> ObjectSample:
    """One series for each file of a folder or of a pattern: rows in the order of time, columns as channels."""
    folder = Path(path)
    if folder.is_dir():
        files = (str(p) for p in folder.iterdir() if p.is_file() and p.name[0] != ".")
        names = sorted(files, key=natural)
    else:
        names = matching(path) if has_magic(path) else [path]
    if len(names) < 2:
        raise Refused(
            f"{label(path)}: {len(names)} files; name a folder or a pattern with at least 2 files, a series each"
        )
    files = [read(name, selection) for name in names]
    for file in files[1:]:
        if set(file.columns) != set(files[0].columns):
            different = sorted(set(file.columns) ^ set(files[0].columns))
            raise Refused(
                f"{file.name} and {files[0].name} have different columns ({quoted(different)}): name those to "
                "compare with --columns"
            )
    labels = tuple(Path(name).name for name in names)
    order = list(files[0].columns)
    series = [_channels(replace(f, columns={c: f.columns[c] for c in order})) for f in files]
    notes = tuple(dict.fromkeys(note for file in files for note in file.notes))
    return ObjectSample(label(path), _packed(label(path), series, labels), labels, 0, notes)


def _channels(file: File, group: str | None = None) -> np.ndarray:
    """The numeric columns of a file, with finite values: (rows, channels)."""
    values = []
    for name, column in file.columns.items():
        if name == group:
            continue
        if not isinstance(column, NumericColumn):
            raise Refused(f"{file.name}, column {quoted([name])}: text, where series need numbers")
        bad = np.flatnonzero(~np.isfinite(column.values))
        if len(bad):
            owners = None if group is None else file.columns[group]
            place = f"row {bad[0] + 1:,}"
            if isinstance(owners, LabelColumn):  # rows are sorted by time
                place = f"series {quoted([owners.levels[owners.codes[bad[0]]]])}"
            raise Refused(
                f"{file.name}, column {quoted([name])}, {place}: a missing or infinite value (one of "
                f"{len(bad):,}): series need a value at each time; drop or fill in such rows first"
            )
        values.append(column.values.astype(np.float64))
    if not values:
        raise Refused(f"{file.name}: no column of values beside the names and times")
    return np.stack(values, axis=1)


def _packed(name: str, series: Sequence[np.ndarray], labels: Sequence[str]) -> Series:
    """Series of one file as one container; they have equally many channels."""
    for one, called in zip(series, labels, strict=True):
        if one.shape[1] != series[0].shape[1]:
            raise Refused(
                f"{name}, {called}: {one.shape[1]} channels, but {labels[0]} has {series[0].shape[1]}"
            )
    return Series.of(list(series), name)
