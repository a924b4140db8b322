"""Rows of a sample in another order: temporary files of consecutive places in that order, read one at a time.

Tests that need a random order of rows which are anywhere in the files of a sample read these once, in their own order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.config import settings
from mercer.errors import MemoryBudgetError

_MAX_ROWS = 2**31 - 1  # places are int32


@dataclass(frozen=True, eq=False)
class ShuffledRows:
    """The rows of a sample in a new order, in files: one for each piece of consecutive places."""

    stem: Path
    row: np.dtype  # of a row in the files: its place, and its values

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.row["values"].shape[0])

    def piece(self, number: int) -> np.ndarray:
        """The rows of a piece in the new order: (places, d)."""
        rows = np.fromfile(_file(self.stem, number), self.row)
        return rows["values"][np.argsort(rows["place"])]


@dataclass(frozen=True, eq=False)
class PiecesInMemory:
    """Pieces of several samples."""

    rows: list[tuple[np.ndarray, ...]]

    def read(self) -> list[tuple[np.ndarray, ...]]:
        """Rows of every sample, for each piece."""
        return self.rows


@dataclass(frozen=True, eq=False)
class Pieces:
    """The same pieces of several samples, read where they are needed.

    To other processes, which may be on machines that do not have the files, they travel as rows.
    """

    samples: tuple[ShuffledRows, ...]
    numbers: tuple[int, ...]

    def read(self) -> list[tuple[np.ndarray, ...]]:
        """Rows of every sample, for each piece."""
        return [tuple(rows.piece(number) for rows in self.samples) for number in self.numbers]

    def __reduce__(self) -> Any:
        return PiecesInMemory, (self.read(),)


def shuffled_rows(
    chunks: Iterable[np.ndarray], order: np.ndarray, starts: Sequence[int], stem: Path
) -> ShuffledRows:
    """Write the rows of a sample, which come in chunks (b, d), into files that begin with `stem`.

    `order` (n,) are the positions of the rows in the new order, and `starts` the places at which its pieces begin.
    """
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    row, first = np.dtype([]), 0
    for values in chunks:
        if first == 0:
            row = np.dtype([("place", np.int32), ("values", values.dtype, values.shape[1:])])
        rows = np.empty(len(values), dtype=row)
        rows["place"], rows["values"] = places[first : first + len(values)], values
        first += len(values)
        _append(stem, rows, np.searchsorted(starts, rows["place"], side="right") - 1)
    return ShuffledRows(stem, row)


def check_order_fits(n: int, bytes_per_row: int, advice: str) -> None:
    """Raise where the random order of n rows, and what else is held for each row, take more than half of the budget."""
    needed = bytes_per_row * n
    if needed > settings().memory // 2 or n > _MAX_ROWS:
        raise MemoryBudgetError(
            f"the random order of {n:,} rows would take {needed / 2**20:,.0f} MiB, more than half of the memory "
            f"budget: {advice}, or raise mercer.config(memory=...)"
        )


def _append(stem: Path, rows: np.ndarray, pieces: np.ndarray) -> None:
    """Add rows to the files of their pieces."""
    turn = np.argsort(pieces, kind="stable")
    numbers, cuts = np.unique(pieces[turn], return_index=True)
    for number, here in zip(numbers.tolist(), np.split(turn, cuts[1:]), strict=True):
        with open(_file(stem, number), "ab") as file:
            rows[here].tofile(file)


def _file(stem: Path, piece: int) -> Path:
    return stem.with_name(f"{stem.name}.{piece}")
