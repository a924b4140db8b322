"""Kernels for two samples that are read part by part: chosen as in memory, from some rows and moments of all columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.frames import Columns, Table
from mercer.gram.stream_sums import (
    ColumnMoments,
    affordable_rows,
    column_moments,
    picked,
    rows_at,
    varied_rows,
)
from mercer.htest.kernel_collection import (
    collection,
    collection_of_columns,
    low_order,
    low_order_of_columns,
    scale_rows,
    unfolded,
)
from mercer.htest.samples.pooled_sample import Pooled, pool, stacked_table
from mercer.kernels.bandwidth import median_rbf, subsample_rows
from mercer.kernels.base import Kernel
from mercer.kernels.default import category_factors, default_kernel_of, varying_columns
from mercer.kernels.prepare import bound
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.row_streams import RowStream

_RANKED_ROWS, _RANKED_SEED = 2**16, 0  # whose ranks stand for those of all rows, in normal scores


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Rows of two samples at some positions of the pooled sample, which ascend."""

    streams: tuple[RowStream, RowStream]
    positions: np.ndarray
    both: tuple[Any, Any]  # arrays or tables

    @classmethod
    def picked(cls, streams: tuple[RowStream, RowStream], positions: np.ndarray) -> Self:
        """Read the rows, in one pass over both samples."""
        n = len(streams[0])
        parts = positions[positions < n], positions[positions >= n] - n
        rows = (picked(*args) for args in zip(streams, parts, "xy", strict=True))
        x, y = rows
        return cls(streams, positions, (x, y))

    def at(self, positions: np.ndarray) -> tuple[Any, Any]:
        """The rows of both samples at some of the positions."""
        n, places = len(self.streams[0]), np.searchsorted(self.positions, positions)
        split = np.searchsorted(self.positions, n)
        first, second = places[positions < n], places[positions >= n] - split
        return rows_at(self.both[0], first), rows_at(self.both[1], second)

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The rows of x and then of y at some of the positions, as one array of numbers and codes."""
        x, y = self.at(positions)
        if isinstance(x, Table):
            return to_numpy(stacked_table(x, y).values)
        if not np.any(positions >= len(self.streams[0])):  # y has few rows, and none of these
            return x
        values = validate.points(y, "y")
        validate.same_width(x, values)
        return np.concatenate([x, to_numpy(values)])

    def varied(self, positions: np.ndarray) -> np.ndarray:
        """The rows as one array, or other rows where their numbers are equal: bandwidths are chosen from them."""
        return varied_rows(self.values(positions), self.streams, self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of all rows of both samples, and of columns."""
        return sum(map(len, self.streams)), self.streams[0].width

    @property
    def columns(self) -> Columns | None:
        """The columns of data frames; None for arrays."""
        x = self.both[0]
        return x.columns if isinstance(x, Table) else None

    @cached_property
    def moments(self) -> ColumnMoments:
        """Moments of the columns over all rows, in one more pass."""
        return column_moments(self.streams, self.columns)


class ChosenKernels(NamedTuple):
    """Two subsamples as one, the kernels bound to their columns, and how many of these are of low order."""

    pooled: Pooled
    kernels: tuple[Kernel, ...]
    low_order: int = 0


class KernelRule(ABC):
    """How kernels are chosen for two samples."""

    @abstractmethod
    def positions(self, total: int, width: int) -> np.ndarray:
        """Positions of the rows of the pooled sample that are needed for the choice."""

    @abstractmethod
    def pooled(self, rows: SomeRows, x: Any, y: Any) -> ChosenKernels:
        """The kernels, with the subsamples x and y as one."""


@dataclass(frozen=True)
class OneKernel(KernelRule):
    """The given kernel, or the default one: RBF at the median distance, or `default_kernel` of data frames."""

    kernel: Kernel | None

    def positions(self, total: int, width: int) -> np.ndarray:
        """Positions of the rows whose distances give the bandwidth."""
        if self.kernel is not None:
            return np.empty(0, dtype=np.int64)
        return affordable_rows(subsample_rows(total), width)

    def pooled(self, rows: SomeRows, x: Any, y: Any) -> ChosenKernels:
        """The subsamples with this kernel."""
        pooled = pool(self.kernel or self._default(rows), x, y)
        return ChosenKernels(pooled, (pooled.kernel,))

    def _default(self, rows: SomeRows) -> Kernel:
        sample = rows.varied(self.positions(*rows.shape))
        if rows.columns is None:
            return median_rbf(sample, name="x and y")
        moments = rows.moments
        return default_kernel_of(
            rows.columns, moments.deviations.tolist(), moments.mismatches, sample
        )


@dataclass(frozen=True)
class OwnUnits(KernelRule):
    """A kernel of the numbers of data frames divided by their standard deviations; of arrays as they are."""

    kernel: Kernel

    def positions(self, total: int, width: int) -> np.ndarray:
        """No rows: standard deviations are those of all rows."""
        return np.empty(0, dtype=np.int64)

    def pooled(self, rows: SomeRows, x: Any, y: Any) -> ChosenKernels:
        """The subsamples with the kernel in these units."""
        kernel, columns = self.kernel, rows.columns
        if columns is not None:
            kernel = bound(kernel, columns) if any(columns.categorical) else self._scaled(rows)
        pooled = pool(kernel, x, y)
        return ChosenKernels(pooled, (pooled.kernel,))

    def _scaled(self, rows: SomeRows) -> Kernel:
        assert rows.columns is not None  # data frames
        values = np.empty((0, len(rows.columns.names)))
        numbers = varying_columns(rows.columns, rows.moments.deviations.tolist(), values)
        return self.kernel if numbers is None else numbers.kernel(self.kernel)


@dataclass(frozen=True)
class SeveralKernels(KernelRule):
    """The given kernels, or those that cover the scales of the samples; perhaps after kernels of low order.

    Normal scores of the latter have the ranks of random rows, which are drawn without a look at the labels.
    """

    kernels: Sequence[Kernel] | None
    low_order: bool = False

    def positions(self, total: int, width: int) -> np.ndarray:
        """Positions of the rows whose distances give the scales, and of rows whose ranks give scores."""
        if self.kernels is not None:
            return np.empty(0, dtype=np.int64)
        scales = affordable_rows(scale_rows(total), width)
        return np.union1d(scales, self._ranked(total, width)) if self.low_order else scales

    def pooled(self, rows: SomeRows, x: Any, y: Any) -> ChosenKernels:
        """The subsamples with these kernels."""
        if self.kernels is not None:
            return _pooled_by(self.kernels, x, y)
        scales = rows.varied(affordable_rows(scale_rows(rows.shape[0]), rows.shape[1]))
        ranked = rows.values(self._ranked(*rows.shape)) if self.low_order else None
        if rows.columns is None:
            return self._of_arrays(scales, ranked, x, y)
        columns, moments = rows.columns, rows.moments
        numbers = varying_columns(columns, moments.deviations.tolist(), scales)
        kernels = collection_of_columns(
            numbers, partial(category_factors, columns, moments.mismatches)
        )
        first = () if ranked is None else low_order_of_columns(columns, numbers, ranked)
        pooled, kernels, _ = _pooled_by((*first, *kernels), x, y)
        return ChosenKernels(replace(pooled, given_kernel=kernels[-1]), kernels, len(first))

    def _of_arrays(
        self, scales: np.ndarray, ranked: np.ndarray | None, x: Any, y: Any
    ) -> ChosenKernels:
        pooled = pool(VECTOR_KERNEL, x, y)
        move = lambda v: v if pooled.origin is None else v - to_numpy(pooled.origin)  # noqa: E731
        kernels = collection(move(scales))
        first = () if ranked is None else low_order(move(ranked))
        pooled = replace(pooled, given_kernel=kernels[len(kernels) // 4])
        return ChosenKernels(pooled, (*first, *kernels), len(first))

    @staticmethod
    def _ranked(total: int, width: int) -> np.ndarray:
        if total <= _RANKED_ROWS:
            return affordable_rows(np.arange(total), width)
        rng = np.random.default_rng(_RANKED_SEED)
        rows = np.sort(rng.choice(total, _RANKED_ROWS, replace=False, shuffle=False))
        return affordable_rows(rows, width)


def _pooled_by(kernels: Sequence[Kernel], x: Any, y: Any) -> ChosenKernels:
    pooled = pool(reduce(add, kernels), x, y)
    bound_kernels = unfolded(pooled.kernel, len(kernels))
    return ChosenKernels(replace(pooled, given_kernel=bound_kernels[0]), bound_kernels)
