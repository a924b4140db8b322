"""Files as samples with the same columns: matched by name, missing values dropped or imputed."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from mercer.cli.exits import Refused
from mercer.cli.file_time import time_remarks
from mercer.cli.missing_cautions import completion_cautions
from mercer.cli.spelling import spelt_alike
from mercer.cli.table import (
    File,
    LabelColumn,
    NumericColumn,
    quoted,
    rows_in_words,
    short,
    was_or_were,
)
from mercer.frames import Columns, Table, category_codes

_MISSING_LABEL = "(missing)"  # imputed for a missing label
_DISTINCT_SHARE = 0.9  # a column with this share of distinct labels holds names, dates or free text
_MIN_ROWS_FOR_SHARE = 20  # in fewer rows most labels may be distinct by chance
_SQUARES = 1e8  # of the largest number: as many as squared distances of rows may sum
_COLUMNS_SHOWN = 8  # of those with missing values: a message stays one line

Column = NumericColumn | LabelColumn


class Missing(StrEnum):
    """Treatment of missing values; without a choice they are refused."""

    DROP = "drop"
    IMPUTE = "impute"


@dataclass(frozen=True)
class FileSample:
    """File ready for a test: its points, and what was done about missing values."""

    name: str
    points: np.ndarray | Table  # (n, d); a `Table` holds category codes
    columns: dict[str, Column]
    array: bool = False
    dropped: int = 0  # rows
    imputed: int = 0  # values
    sorted_by: str | None = None  # the column of times by which rows are sorted
    differenced: bool = False  # whether rows are changes from one row of the file to the next
    grouped: bool = False  # whether it is a level of a column of a file, and has its name
    paired_by: str | None = None  # the key by which row i belongs to row i of the other sample

    @property
    def original_rows(self) -> bool:
        """Whether row i is row i of the file."""
        moved = self.dropped or self.sorted_by or self.differenced or self.grouped or self.paired_by
        return not moved

    def is_constant(self, name: str) -> bool:
        """Whether a column has one value."""
        return _constant([self.columns[name]])

    @property
    def rows(self) -> int:
        """Number of points."""
        return len(next(iter(self.columns.values())).missing())


def matched(
    files: Sequence[File],
    missing: Missing | None,
    notes: list[str],
    min_rows: int = 2,
    *,
    time_option: bool = True,
    cautioned: bool = False,
    against: Sequence[str] = (),
) -> list[FileSample]:
    """Samples with the columns of the first file, in its order; remarks are added to `notes`.

    `time_option`: whether the command has --time, to which a remark may point; `cautioned`: whether a caution of the
    command names columns that grow from row to row, and no remark needs to; `against`: columns that are compared with the
    others only, of which values that are missing together make no dependence.
    """
    first = files[0]
    files = [first, *(_aligned(first, other) for other in files[1:])]
    for file in files:
        refuse_infinite(file)
    incomplete_files = files
    files, dropped, imputed = _completed(files, missing)
    for file in files:
        if file.rows < min_rows:
            raise Refused(
                f"{file.name}: {rows_in_words(file.rows)}; at least {min_rows} are needed"
            )
    notes += completion_cautions(incomplete_files, dropped, imputed, against)
    notes += _remarks(files, dropped, imputed)
    notes += [] if cautioned else time_remarks(files, time_option)
    array = all(file.array for file in files)
    return [
        FileSample(
            file.name,
            _points(file, array),
            file.columns,
            array,
            d,
            i,
            file.sorted_by,
            grouped=file.grouped,
            paired_by=file.paired_by,
        )
        for file, d, i in zip(files, dropped, imputed, strict=True)
    ]


def _completed(
    files: list[File], missing: Missing | None
) -> tuple[list[File], list[int], list[int]]:
    """The files without missing values, and how many rows were dropped and values filled in of each."""
    none = [0] * len(files)
    if not any(incomplete(file).any() for file in files):
        return files, none, none
    if missing is None:
        raise Refused(_missing_values_message(files))
    if missing is Missing.DROP:
        files, dropped = map(list, zip(*(_dropped(file) for file in files), strict=True))
        return files, dropped, none
    files, imputed = _imputed(files)
    return files, none, imputed


def _aligned(first: File, other: File) -> File:
    """`other` with the columns in the order of `first`; refused if names or kinds differ."""
    names = list(first.columns)
    if set(names) != set(other.columns):
        raise Refused(_different_columns_message(first, other))
    for name in names:
        kinds = [_kind(file.columns[name]) for file in (first, other)]
        if kinds[0] != kinds[1]:
            raise Refused(
                f"column {quoted([name])} holds {kinds[0]} in {first.name} and {kinds[1]} in "
                f"{other.name}: correct one of them, or treat both as labels with --categories"
            )
    return replace(other, columns={name: other.columns[name] for name in names})


def _different_columns_message(first: File, other: File) -> str:
    if first.array and other.array:
        counts = len(first.columns), len(other.columns)
        return f"{first.name} has {counts[0]} columns and {other.name} has {counts[1]}"
    only = [
        f"only {file.name} has {quoted(extra)}"
        for file, extra in (
            (first, [c for c in first.columns if c not in other.columns]),
            (other, [c for c in other.columns if c not in first.columns]),
        )
        if extra
    ]
    shared = set(first.columns) & set(other.columns)
    unshared = [name for name in (*first.columns, *other.columns) if name not in shared]
    if misspelt := spelt_alike(unshared, "if they are one column, rename it in one of the files"):
        return f"the columns differ: {'; '.join(only)}; {misspelt}"
    remedy = "select shared columns with --columns" if shared else "no column is in both"
    if not shared and all(file.name.lower().endswith(".txt") for file in (first, other)):
        remedy += "; if each line is a text, not a row of a table, use --text lines"
    return f"the columns differ: {'; '.join(only)}; {remedy}"


def _kind(column: Column) -> str:
    return "numbers" if isinstance(column, NumericColumn) else "labels"


def _points(file: File, array: bool) -> np.ndarray | Table:
    """Points as an array if all files were arrays, else as a table with category codes."""
    columns = list(file.columns.values())
    values = [
        c.values if isinstance(c, NumericColumn) else category_codes(c.levels)[c.codes]
        for c in columns
    ]
    single = all(v.dtype == np.float32 for v in values)
    stacked = np.stack(values, axis=1, dtype=np.float32 if single else np.float64)
    if array:
        return stacked
    labels = {
        float(code): level
        for c in columns
        if isinstance(c, LabelColumn)
        for code, level in zip(category_codes(c.levels), c.levels, strict=True)
    }
    categorical = tuple(isinstance(c, LabelColumn) for c in columns)
    return Table(stacked, Columns(tuple(file.columns), categorical), labels=labels)


# ---- infinite and missing values ----------------------------------------------------------------


def refuse_infinite(file: File) -> None:
    """Refuse infinite values, and those whose squares overflow."""
    for name, column in file.columns.items():
        if isinstance(column, NumericColumn) and np.isinf(column.values).any():
            rows = np.flatnonzero(np.isinf(column.values))
            more = f" (one of {len(rows):,})" if len(rows) > 1 else ""
            raise Refused(
                f"{file.name}, column {quoted([name])}, row {rows[0] + 1:,}: an infinite value{more}: "
                "correct such rows or leave them out"
            )
        if isinstance(column, NumericColumn) and _largest(column) > _limit(column):
            row = int(np.nanargmax(np.abs(column.values)))
            raise Refused(
                f"{file.name}, column {quoted([name])}, row {row + 1:,}: {column.values[row]:.3g}, whose square overflows "
                f"{column.values.dtype}: divide the column by a constant, or leave it out with --exclude"
            )


def _limit(column: NumericColumn) -> float:
    """The largest value whose squares, summed over columns, do not overflow."""
    return math.sqrt(float(np.finfo(column.values.dtype).max) / _SQUARES)


def _largest(column: NumericColumn) -> float:
    """The largest absolute value that is not missing."""
    return float(np.fmax.reduce(np.abs(column.values), initial=0))


def _missing_values_message(files: Sequence[File]) -> str:
    """How many values are missing in which columns, and the two remedies."""
    summaries, affected, total = [], 0, 0
    for file in files:
        counts = {n: int(column.missing().sum()) for n, column in file.columns.items()}
        worst = sorted((n for n in counts if counts[n]), key=lambda n: -counts[n])
        if worst:
            listed = ", ".join(f"{short(n)}: {counts[n]:,}" for n in worst[:_COLUMNS_SHOWN])
            hidden = len(worst) - _COLUMNS_SHOWN
            more = f" and {hidden} more columns" if hidden > 0 else ""
            summaries.append(f"{file.name} has missing values ({listed}{more})")
        affected += int(incomplete(file).sum())
        total += file.rows
    return (
        f"{'; '.join(summaries)}: choose --missing drop to leave out {affected:,} of {total:,} "
        f"rows, or --missing impute to fill in medians and the label {_MISSING_LABEL}"
    )


def incomplete(file: File) -> np.ndarray:
    """Which rows have a missing value: (n,) of bool."""
    return np.any([column.missing() for column in file.columns.values()], axis=0)


def _dropped(file: File) -> tuple[File, int]:
    """The complete rows of the file, and how many were dropped."""
    lacking = incomplete(file)
    if lacking.all():
        raise Refused(
            f"{file.name}: every row has a missing value; select --columns, or use --missing impute"
        )
    columns = {name: column.take(~lacking) for name, column in file.columns.items()}
    return replace(file, columns=columns), int(lacking.sum())


def _imputed(files: Sequence[File]) -> tuple[list[File], list[int]]:
    """The files with missing values filled in, and how many each had.

    Medians are those of all files together, so that the samples stay exchangeable under the null
    hypothesis.
    """
    counts = [int(sum(c.missing().sum() for c in file.columns.values())) for file in files]
    filled: list[dict[str, Column]] = [{} for _ in files]
    for name in files[0].columns:
        incomplete = [file.columns[name] for file in files]
        for columns, column in zip(filled, _filled(incomplete, name), strict=True):
            columns[name] = column
    return [replace(f, columns=c) for f, c in zip(files, filled, strict=True)], counts


def _filled(columns: Sequence[Column], name: str) -> list[Column]:
    """One column of all files, with the pooled median or a label for missing values."""
    numbers = [c.values for c in columns if isinstance(c, NumericColumn)]
    if numbers:
        pooled = np.concatenate(numbers)
        if np.isnan(pooled).all():
            raise Refused(f"column {quoted([name])} has no values at all: leave it out (--columns)")
        median = np.nanmedian(pooled)
        return [NumericColumn(np.where(np.isnan(v), median, v).astype(v.dtype)) for v in numbers]
    labels = [c for c in columns if isinstance(c, LabelColumn)]
    return [
        LabelColumn(np.where(c.codes < 0, len(c.levels), c.codes), (*c.levels, _MISSING_LABEL))
        for c in labels
    ]


# ---- remarks on data that can be used -----------------------------------------------------------


def _remarks(files: Sequence[File], dropped: Sequence[int], imputed: Sequence[int]) -> list[str]:
    """Notes on the data: missing values, constant columns, columns of names."""
    remarks = [note for file in files for note in file.notes]
    for file, d, i in zip(files, dropped, imputed, strict=True):
        if d:
            remarks.append(
                f"{file.name}: {rows_in_words(d)} with missing values {was_or_were(d)} left out"
            )
        if i:
            remarks.append(
                f"{file.name}: {i:,} missing {'value was' if i == 1 else 'values were'} filled in"
            )
    constant = [name for name in files[0].columns if _constant([f.columns[name] for f in files])]
    if len(constant) == len(files[0].columns):
        raise Refused(
            f"nothing to compare: every column ({quoted(constant, 3)}) is constant, with the same "
            f"value in {' and '.join(file.name for file in files)}"
        )
    if constant:
        remarks.append(f"constant columns, which have no influence: {quoted(constant)}")
    for name in files[0].columns:
        columns = [file.columns[name] for file in files]
        labels = [c for c in columns if isinstance(c, LabelColumn)]
        rows = sum(len(c.codes) for c in labels)
        levels = {c.levels[code] for c in labels for code in np.unique(c.codes)}
        if rows >= _MIN_ROWS_FOR_SHARE and len(levels) > _DISTINCT_SHARE * rows:
            remarks.append(_free_text(name))
        elif labels and (alike := spelt_alike(sorted(levels))):
            remarks.append(f"column {quoted([name])}: {alike}")
    return remarks


def _free_text(name: str) -> str:
    """A caution for a column of labels that hardly ever occur twice; without numbers, so that batches share it."""
    column = shlex.quote(name)
    return (
        f"Caution: column {quoted([name])} holds another label in nearly every row (names, dates or free text), and each label "
        "counts as a category of its own: the column tells almost nothing here, whatever it says. Leave it out with --exclude "
        f"{column}; texts are compared by two-sample with --text {column}."
    )


def refuse_constant(
    sample: FileSample, names: Sequence[str] | None = None, remedy: str | None = None
) -> None:
    """Refuse a column, of these or of all, that has one value: nothing depends on it."""
    for name in sample.columns if names is None else names:
        if sample.is_constant(name):
            leave_out = f"leave it out with --exclude {shlex.quote(name)}"
            raise Refused(
                f"{sample.name}, column {quoted([name])}: constant, and a constant is independent of everything: "
                f"{remedy or leave_out}"
            )


def _constant(columns: Sequence[Column]) -> bool:
    """Whether a column has one value in all files."""
    if isinstance(columns[0], NumericColumn):
        pooled = np.concatenate([c.values for c in columns if isinstance(c, NumericColumn)])
        return bool((pooled == pooled[0]).all())
    labels = [c for c in columns if isinstance(c, LabelColumn)]
    return len({c.levels[code] for c in labels for code in np.unique(c.codes)}) == 1
