"""Permutations of variables that are read part by part: circular shifts inside of blocks of a random order.

Permutations that move rows inside of blocks need pairs of blocks only, two at a time. All b shifts of blocks of b rows
are a group, so that the p-value is exact (`CyclicPermutations`); in a random order they mix rows from everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from mercer.gram.block_shifts import block_rows
from mercer.gram.shuffled_rows import ShuffledRows, check_order_fits
from mercer.gram.threads import spans
from mercer.htest.dependence.streamed_variables import StreamedVariables
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.htest.nulls import Null, Permutation

Sums = TypeVar("Sums")


def has_block_shifts(null: Null) -> bool:
    """Whether a null draws permutations of all rows, which shifts inside of blocks can be."""
    return isinstance(null, Permutation) and null.blocks is None


class ShiftedStatistic(Protocol):
    """A statistic of two variables, from sums over all rows."""

    @property
    def observed(self) -> float:
        """The statistic of the observed pairing."""
        ...

    @property
    def tolerance(self) -> float:
        """Largest difference by rounding between equal values."""
        ...

    def permuted(self, cyclic: CyclicPermutations) -> np.ndarray:
        """The statistics of all permutations: (b,)."""
        ...


class BlockShiftEvidence(ABC, Generic[Sums]):
    """A statistic of two variables in parts, for the observed pairing and for shifts inside of blocks."""

    bytes_per_row: int  # of what is in memory of all rows, beside their orders
    bytes_per_order: int  # of a random order, and of what is in that order

    def __init__(self, both: StreamedVariables) -> None:
        self.n, self.both = len(both), both

    @property
    def observed(self) -> float:
        """The statistic."""
        return self._latest.observed

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics of all permutations from `columns.start` on; column 0 is the observed one."""
        block = block_rows(self.n, null.resamples + 1, self._most_block_rows())
        self._check_memory(-(-(null.resamples + 1) // block))
        cyclic = CyclicPermutations(self.n, null, seed, block)
        self._statistic = self._in_orders(cyclic.coset_orders, block)
        return self._statistic.permuted(cyclic)[columns.start :]

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return self._latest.tolerance

    # ---- private ------------------------------------------------------------------------

    _statistic: ShiftedStatistic | None = None  # of the latest pass

    @property
    def _latest(self) -> ShiftedStatistic:
        if self._statistic is None:
            self._check_memory(1)
            self._statistic = self._in_orders([np.arange(self.n)], None)
        return self._statistic

    def _check_memory(self, orders: int) -> None:
        """Raise where so many orders of the rows, and what is in memory of each row, exceed their share of the budget."""
        needed = self.bytes_per_row + self.bytes_per_order * orders
        check_order_fits(self.n, needed, "use NFSIC(), which reads rows in any order")

    def _in_orders(self, orders: Sequence[np.ndarray], block: int | None) -> ShiftedStatistic:
        """The statistic from passes over rows in files: those of x in the first order, those of y in each of them."""
        strips, passes = spans(self.n, self._strip_rows(block)), []
        with self.both.shuffled(0, orders[0], strips) as x:
            for order in orders:
                with self.both.shuffled(1, order, strips) as y:
                    passes.append(self._sums((x, y), strips, block))
        return self._of_passes(passes, orders[0])

    @abstractmethod
    def _most_block_rows(self) -> int:
        """Rows of the largest block that memory allows."""

    @abstractmethod
    def _strip_rows(self, block: int | None) -> int:
        """Rows of the strips that are read at once."""

    @abstractmethod
    def _sums(
        self,
        points: tuple[ShuffledRows, ShuffledRows],
        strips: Sequence[slice],
        block: int | None,
    ) -> Sums:
        """Sums over the rows in these orders."""

    @abstractmethod
    def _of_passes(self, passes: Sequence[Sums], order: np.ndarray) -> ShiftedStatistic:
        """The statistic from the sums of all passes, the first of which has rows of both variables in that order."""
