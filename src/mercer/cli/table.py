"""A file as columns: numbers with NaN where one is missing, or labels with -1 where one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.cli.byte_source import gib
from mercer.cli.exits import Refused, one_line
from mercer.config import settings
from mercer.errors import MemoryBudgetError

WIDEST = 100_000  # columns; a file with more is almost always a table lying on its side
_BYTES = 8
_WHOLE = 2**53  # float64 holds every integer up to here


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; NaN where one is missing."""

    values: np.ndarray  # (n,) of float32 or float64

    def missing(self) -> np.ndarray:
        """Which rows have none: (n,) of bool."""
        return np.isnan(self.values)

    def take(self, rows: np.ndarray) -> Numbers:
        """These rows only."""
        return Numbers(self.values[rows])


@dataclass(frozen=True)
class Labels:
    """A column of categories; code -1 where one is missing."""

    codes: np.ndarray  # (n,) of int64, positions in `levels`
    levels: tuple[str, ...]

    def missing(self) -> np.ndarray:
        """Which rows have none: (n,) of bool."""
        return self.codes < 0

    def take(self, rows: np.ndarray) -> Labels:
        """These rows only."""
        return Labels(self.codes[rows], self.levels)


@dataclass(frozen=True)
class File:
    """What a file holds; `array` when its columns came without names, in one unit."""

    name: str
    columns: dict[str, Numbers | Labels]
    array: bool = False
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())).missing())


@dataclass(frozen=True)
class Wanted:
    """Which columns to read, and which of them hold categories; no columns named: all."""

    columns: tuple[str, ...] = ()
    categories: frozenset[str] = frozenset()

    def positions(self, names: Sequence[str], file: str) -> list[int]:
        """Where the wanted columns are among `names`, in the order of the file."""
        absent = [c for c in (*self.columns, *sorted(self.categories)) if c not in names]
        if absent:
            raise Refused(f"{file}: no column {quoted(absent)}; it has {quoted(names)}")
        chosen = [i for i, n in enumerate(names) if not self.columns or n in self.columns]
        if len(chosen) > WIDEST:
            raise Refused(
                f"{file}: {len(chosen):,} columns, at most {WIDEST:,} are read; rows are points: "
                "is it lying on its side? choose with --columns"
            )
        return chosen


def named(names: Sequence[str], wanted: Wanted, file: str) -> list[str]:
    """The header, refused where a wanted column has no name or one that another has too."""
    names = [one_line(name) for name in names]
    if len(names) == len(set(names)) and "" not in names:
        return list(names)
    counts: dict[str, int] = {}
    for i, name in enumerate(names, 1):
        counts[name] = counts.get(name, 0) + 1
        if name == "" and not wanted.columns:
            raise Refused(
                f"{file}: column {i} has no name (a row index?); write the file without it, "
                "or choose with --columns"
            )
        if counts[name] > 1 and (not wanted.columns or name in wanted.columns):
            raise Refused(f"{file}: column {i} has the name of another, {quoted([name])}")
    return list(names)


def affordable(rows: int, columns: int, file: str, share: float = 1.0, beside: int = 0) -> None:
    """Refuse a table that is over the memory limit; `share` of it was looked at so far."""
    limit, needed = settings().memory, rows * columns * _BYTES + beside
    if needed > limit:
        total = f"at least {gib(needed)}" if share >= 1 else f"about {gib(needed / share)}"
        raise MemoryBudgetError(
            f"{file} needs {total} of memory for {columns:,} columns, the limit is {gib(limit)}: "
            f"{limit // (columns * _BYTES):,} rows fit; give fewer rows, choose --columns, "
            "or raise --memory"
        )


def labels_of(values: Sequence[str | None]) -> Labels:
    """Labels as codes, numbered in the order in which they first occur."""
    levels: dict[str, int] = {}
    codes = [-1 if v is None else levels.setdefault(v, len(levels)) for v in values]
    return Labels(np.array(codes, dtype=np.int64), tuple(levels))


def refuse_rounding(values: np.ndarray, column: str, file: str, before: int = 0) -> None:
    """Refuse integers that float64 would round; `before` is the number of rows before these."""
    if not values.size or -_WHOLE <= values.min() <= values.max() <= _WHOLE:
        return
    row = int(np.argmax(np.abs(values.astype(np.float64))))
    raise Refused(
        f"{file}, column {quoted([column])}, row {before + row + 1:,}: {values[row]} is beyond 2^53, "
        "float64 would round it; if it is a name, use --categories, else subtract a constant"
    )


def unfit_type(column: str, file: str, kind: str) -> Refused:
    """The refusal of a column whose values are neither numbers nor text."""
    return Refused(
        f"{file}, column {quoted([column])}: values of type {short(kind, 80)}; turn them into "
        "numbers or text, or choose other columns with --columns"
    )


def quoted(names: Sequence[str], most: int = 8) -> str:
    """Names for a message: some of them, short."""
    shown = [repr(short(name)) for name in names[:most]]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown) + more


def short(text: str, most: int = 40) -> str:
    """A text that fits into a line."""
    text = one_line(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
