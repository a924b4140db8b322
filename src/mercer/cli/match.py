"""Files as samples of one table: columns matched by name, kinds compared, missing values dealt with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from mercer.cli.exits import Refused
from mercer.cli.table import File, Labels, Numbers, quoted, short
from mercer.frames import Columns, Table, category_codes

_NONE = "(missing)"  # the level that stands for a missing label when these are imputed
_NAMES = 0.9  # a column of labels with so many different ones is one of names or dates
_FEW = 20  # rows under which that says nothing


class Missing(StrEnum):
    """What to do about missing values; nothing is done unless it is chosen."""

    DROP = "drop"
    IMPUTE = "impute"


@dataclass(frozen=True)
class Sample:
    """A file ready for a test."""

    name: str
    points: Any  # an array (n, d), or a `Table` with category codes
    columns: dict[str, Numbers | Labels]
    array: bool = False
    dropped: int = 0  # rows
    imputed: int = 0  # values

    @property
    def rows(self) -> int:
        """The number of points."""
        return len(next(iter(self.columns.values())).missing())


def matched(
    files: Sequence[File], missing: Missing | None, notes: list[str], least: int = 2
) -> list[Sample]:
    """The files with the columns of the first, in its order."""
    first = files[0]
    files = [first, *(_aligned(first, other) for other in files[1:])]
    for file in files:
        _refuse_infinite(file)
    dropped, imputed = [0] * len(files), [0] * len(files)
    if any(held.missing().any() for file in files for held in file.columns.values()):
        if missing is None:
            raise Refused(_missing_words(files))
        if missing is Missing.DROP:
            files, dropped = map(list, zip(*(_dropped(file) for file in files), strict=True))
        else:
            files, imputed = _imputed(files)
    for file in files:
        if file.rows < least:
            raise Refused(f"{file.name}: {file.rows} rows; at least {least} are needed")
    notes += _remarks(files, dropped, imputed)
    array = all(file.array for file in files)
    return [
        Sample(file.name, _points(file, array), file.columns, array, d, i)
        for file, d, i in zip(files, dropped, imputed, strict=True)
    ]


def _aligned(first: File, other: File) -> File:
    here, there = list(first.columns), list(other.columns)
    if set(here) != set(there):
        if first.array and other.array:
            raise Refused(f"{first.name} has {len(here)} columns and {other.name} has {len(there)}")
        only = [
            f"{file.name} alone has {quoted(extra)}"
            for file, extra in (
                (first, [c for c in here if c not in other.columns]),
                (other, [c for c in there if c not in first.columns]),
            )
            if extra
        ]
        common = "choose common ones with --columns" if set(here) & set(there) else "none is common"
        raise Refused(f"the columns differ: {'; '.join(only)}; {common}")
    for name in here:
        kinds = [_kind(file.columns[name]) for file in (first, other)]
        if kinds[0] != kinds[1]:
            raise Refused(
                f"column {quoted([name])} holds {kinds[0]} in {first.name} and {kinds[1]} in "
                f"{other.name}; mend one, or read both as labels with --categories"
            )
    return replace(other, columns={name: other.columns[name] for name in here})


def _kind(held: Numbers | Labels) -> str:
    return "numbers" if isinstance(held, Numbers) else "labels"


def _points(file: File, array: bool) -> Any:
    """An array where the files were arrays, else a table that the library's door knows."""
    values = [
        held.values if isinstance(held, Numbers) else category_codes(held.levels)[held.codes]
        for held in file.columns.values()
    ]
    single = all(v.dtype == np.float32 for v in values)
    stacked = np.stack(values, axis=1, dtype=np.float32 if single else np.float64)
    if array:
        return stacked
    categories = [held for held in file.columns.values() if isinstance(held, Labels)]
    labels = {
        float(code): level
        for held in categories
        for code, level in zip(category_codes(held.levels), held.levels, strict=True)
    }
    categorical = tuple(isinstance(held, Labels) for held in file.columns.values())
    return Table(stacked, Columns(tuple(file.columns), categorical), labels=labels)


# ---- what is refused, and what is said ----------------------------------------------------------


def _refuse_infinite(file: File) -> None:
    for name, held in file.columns.items():
        if isinstance(held, Numbers) and np.isinf(held.values).any():
            rows = np.flatnonzero(np.isinf(held.values))
            raise Refused(
                f"{file.name}, column {quoted([name])}, row {rows[0] + 1:,}: an infinite value "
                f"(one of {len(rows):,}); mend or leave out these rows"
            )


def _missing_words(files: Sequence[File]) -> str:
    """One line: how many values are missing in which columns, and the two ways out."""
    parts, lost, total = [], 0, 0
    for file in files:
        counts = {n: int(held.missing().sum()) for n, held in file.columns.items()}
        worst = sorted((n for n in counts if counts[n]), key=lambda n: -counts[n])
        if worst:
            told = ", ".join(f"{short(n)}: {counts[n]:,}" for n in worst[:8])
            more = f" and {len(worst) - 8} more columns" if len(worst) > 8 else ""
            parts.append(f"{file.name} has missing values ({told}{more})")
        lost += int(_incomplete(file).sum())
        total += file.rows
    return (
        f"{'; '.join(parts)}: choose --missing drop to leave out {lost:,} of {total:,} rows, or "
        "--missing impute to fill in medians and a label of their own"
    )


def _incomplete(file: File) -> np.ndarray:
    return np.any([held.missing() for held in file.columns.values()], axis=0)


def _dropped(file: File) -> tuple[File, int]:
    gone = _incomplete(file)
    if gone.all():
        raise Refused(f"{file.name}: every row has a missing value; choose --columns or impute")
    kept = {name: held.take(~gone) for name, held in file.columns.items()}
    return replace(file, columns=kept), int(gone.sum())


def _imputed(files: Sequence[File]) -> tuple[list[File], list[int]]:
    """Medians of all files together, so that under the null hypothesis no file is favoured."""
    counts = [int(sum(h.missing().sum() for h in file.columns.values())) for file in files]
    filled: list[dict[str, Numbers | Labels]] = [{} for _ in files]
    for name in files[0].columns:
        held = [file.columns[name] for file in files]
        for columns, column in zip(filled, _filled(held, name), strict=True):
            columns[name] = column
    return [replace(f, columns=c) for f, c in zip(files, filled, strict=True)], counts


def _filled(held: Sequence[Numbers | Labels], name: str) -> list[Numbers | Labels]:
    numbers = [h.values for h in held if isinstance(h, Numbers)]
    if numbers:
        pooled = np.concatenate(numbers)
        if np.isnan(pooled).all():
            raise Refused(f"column {quoted([name])} has no values at all; leave it out (--columns)")
        middle = np.nanmedian(pooled)
        return [Numbers(np.where(np.isnan(v), middle, v).astype(v.dtype)) for v in numbers]
    labels = [h for h in held if isinstance(h, Labels)]
    return [
        Labels(np.where(h.codes < 0, len(h.levels), h.codes), (*h.levels, _NONE)) for h in labels
    ]


def _remarks(files: Sequence[File], dropped: Sequence[int], imputed: Sequence[int]) -> list[str]:
    """What the user should know about the data, though it can be used."""
    said = [note for file in files for note in file.notes]
    for file, d, i in zip(files, dropped, imputed, strict=True):
        if d:
            said.append(f"{file.name}: {d:,} rows with missing values were left out")
        if i:
            said.append(f"{file.name}: {i:,} missing values were filled in")
    constant = [name for name in files[0].columns if _constant([f.columns[name] for f in files])]
    if len(constant) == len(files[0].columns):
        raise Refused(
            f"nothing to compare: every column ({quoted(constant, 3)}) is constant, and the same in "
            f"{' and '.join(file.name for file in files)}"
        )
    if constant:
        said.append(f"constant, so without influence: {quoted(constant)}")
    for name in files[0].columns:
        held = [file.columns[name] for file in files]
        labels = [h for h in held if isinstance(h, Labels)]
        levels, rows = len({v for h in labels for v in h.levels}), sum(len(h.codes) for h in labels)
        if rows >= _FEW and levels > _NAMES * rows:
            said.append(
                f"column {quoted([name])} has {levels:,} different labels in {rows:,} rows: names, "
                "dates or free text say little here, consider leaving it out with --columns"
            )
    return said


def _constant(held: Sequence[Numbers | Labels]) -> bool:
    if isinstance(held[0], Numbers):
        pooled = np.concatenate([h.values for h in held if isinstance(h, Numbers)])
        return bool((pooled == pooled[0]).all())
    seen = {h.levels[c] for h in held if isinstance(h, Labels) for c in np.unique(h.codes)}
    return len(seen) == 1
