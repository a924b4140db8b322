"""Two samples as one pooled sample: checked, joined, weighted, with a kernel; and its labellings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, count, detached, take_rows, to_numpy
from mercer.frames import Columns, Table
from mercer.gram import Gram, PairedWeights, PermutedWeights
from mercer.gram.resampling_weights import Resamples
from mercer.htest.kernel_collection import (
    collection,
    frame_collection,
    frame_low_order,
    low_order,
    object_collection,
    unfolded,
)
from mercer.htest.normal_scores import Centred, NormalScores
from mercer.htest.nulls import Permutation
from mercer.htest.pair_units import varying_numbers
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel, default_of_table
from mercer.kernels.default_objects import joined_objects, kind_of_objects
from mercer.kernels.dot import Linear
from mercer.kernels.prepare import aligned, as_table, bound, prepare, without_frame
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.kernels.wrappers import Scaled, Transformed
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import moved_together, one_sample, taken


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows of two samples that a result keeps, by their positions in each, in order, and the sizes of the samples."""

    first: np.ndarray
    second: np.ndarray
    sizes: tuple[int, int]

    def blocks(self, blocks: tuple[Any, ...]) -> tuple[Any, ...]:
        """Labels of these rows, of those for all rows of both samples."""
        rows = np.concatenate([self.first, self.sizes[0] + self.second])
        return tuple(blocks[i] for i in rows)


@dataclass(frozen=True)
class Pooled:
    """Two samples as one: the first `n` points are the first sample's."""

    given_kernel: Kernel | None  # bound to columns; None: the default of the points
    points: Points
    n: int
    m: int
    weights: np.ndarray | None  # (n + m,), of each observation, when the samples are weighted
    columns: Columns | None
    samples: tuple[Any, Any] | None = None  # as they were handed in
    origin: Array | None = None  # (d,), what was subtracted from the points of both samples
    rows: KeptRows | None = None  # of the samples that were handed in; None: all

    @cached_property
    def kernel(self) -> Kernel:
        """Kernel by which the samples are compared; a test without one computes it when asked for it."""
        return self.given_kernel or median_rbf(self.points, name="x and y")

    @property
    def unmoved(self) -> Points:
        """The points where the user's are: `points` may have been moved together."""
        return self.points if self.origin is None else self.points + self.origin

    @property
    def contrast(self) -> np.ndarray:
        """1/n on the first sample and -1/m on the second, or the weights so signed: (n + m,)."""
        if self.weights is not None:
            return np.repeat([1.0, -1.0], [self.n, self.m]) * self.weights
        return np.concatenate([np.full(self.n, 1 / self.n), np.full(self.m, -1 / self.m)])

    @property
    def gram(self) -> Gram:
        """The Gram matrix of the pooled sample."""
        return Gram(self.kernel, self.points)

    @property
    def first(self) -> Points:
        """The points of the first sample."""
        return take_rows(self.points, slice(0, self.n))

    @property
    def second(self) -> Points:
        """The points of the second sample."""
        return take_rows(self.points, slice(self.n, self.n + self.m))

    def subsample(self, first: np.ndarray, second: np.ndarray) -> Pooled:
        """The observations at these positions of the first and of the second sample, unweighted."""
        samples = None
        if self.samples is not None:
            samples = taken(self.samples[0], first), taken(self.samples[1], second)
        points = taken(self.points, np.concatenate([first, self.n + second]))
        rows = KeptRows(first, second, (self.n, self.m))
        if self.rows is not None:  # positions in the samples that were handed in, not in these
            rows = KeptRows(self.rows.first[first], self.rows.second[second], self.rows.sizes)
        return replace(
            self,
            given_kernel=self.kernel,
            points=points,
            n=len(first),
            m=len(second),
            samples=samples,
            rows=rows,
        )

    def null_of_rows(self, null: Permutation) -> Permutation:
        """The null distribution of all rows of the samples that were handed in, for those that are kept."""
        if self.rows is None or null.blocks is None:
            return null
        return replace(null, blocks=self.rows.blocks(null.blocks))


def pool(kernel: Kernel | None, x: Any, y: Any, least: int = 2, *, paired: bool = False) -> Pooled:
    """Check and join two samples; a kernel left None is chosen from the pooled sample.

    Paired: columns of data frames have the units of `pair_units`.
    """
    weights = [s.weights if isinstance(s, Empirical) else None for s in (x, y)]
    x, y = (s.points if isinstance(s, Empirical) else s for s in (x, y))
    if kernel is None and (objects := _joined_objects(x, y)) is not None:
        kernel = default_kernel(objects)
    x, y = without_frame(kernel, x, "x"), without_frame(kernel, y, "y")
    frame = as_table(x, "x")
    first = kernel or (VECTOR_KERNEL if frame is None else _default_of_frames(frame, y, paired))
    used, a, b = prepare(first, x, y)
    a, b = detached(a), detached(b)
    for name, sample in (("x", a), ("y", b)):
        if count(sample) < least:
            raise ValueError(f"{name} must have at least {least} points, got {count(sample)}")
    points, origin = moved_together(used, a, b)
    if kernel is None and frame is None:
        used = median_rbf(points, name="x and y")
    columns = frame.columns if frame else None
    n, m = count(a), count(b)
    samples = tuple(p if isinstance(s, memoryview) else s for s, p in ((x, a), (y, b)))
    return Pooled(
        used, points, n, m, _weights(weights, (n, m)), columns, (samples[0], samples[1]), origin
    )


def pool_for(
    kernels: Sequence[Kernel] | None, x: Any, y: Any, *, paired: bool = False
) -> tuple[Pooled, tuple[Kernel, ...]]:
    """Two samples as one, and the kernels bound to their columns; None: a collection that fits."""
    if kernels is None:
        defaults = _default_collections(x, y, paired)
        if defaults is None:
            pooled = pool(VECTOR_KERNEL, x, y)
            kernels = collection(pooled.points)
            return replace(pooled, given_kernel=kernels[len(kernels) // 4]), kernels
        kernels = defaults[1]
    pooled = pool(reduce(add, kernels), x, y)
    bound_kernels = unfolded(pooled.kernel, len(kernels))
    return replace(pooled, given_kernel=bound_kernels[0]), bound_kernels


def pool_with_low_order(
    x: Any, y: Any, *, paired: bool = False
) -> tuple[Pooled, tuple[Kernel, ...], int]:
    """Two samples as one, kernels of low order and then those of all scales, and how many the first are."""
    defaults = _default_collections(x, y, paired)
    if defaults is None:
        pooled = pool(VECTOR_KERNEL, x, y)
        scales = collection(pooled.points)
        first = low_order(pooled.points, paired and pooled.n == pooled.m)
        return replace(pooled, given_kernel=scales[len(scales) // 4]), (*first, *scales), len(first)
    first, scales = defaults
    pooled = pool(reduce(add, (*first, *scales)), x, y)
    kernels = unfolded(pooled.kernel, len(first) + len(scales))
    return replace(pooled, given_kernel=kernels[-1]), kernels, len(first)


def _default_of_frames(first: Table, y: Any, paired: bool) -> Kernel:
    """`default_kernel` of the rows of both samples."""
    table, paired = _stacked(first, y, paired)
    return default_of_table(table, varying_numbers(table, paired))


def _stacked(first: Table, y: Any, paired: bool) -> tuple[Table, bool]:
    """The rows of both samples, and whether they are pairs: samples of two sizes are refused with their labels."""
    table = stacked_table(first, y)
    return table, paired and len(table) == 2 * len(first)


def _default_collections(
    x: Any, y: Any, paired: bool
) -> tuple[tuple[Kernel, ...], tuple[Kernel, ...]] | None:
    """Kernels of low order and of all scales for data frames and objects; None for vectors."""
    x, y = (s.points if isinstance(s, Empirical) else s for s in (x, y))
    frame = as_table(x, "x")
    if frame is None:
        return object_collection(_joined_objects(x, y))
    table, paired = _stacked(frame, y, paired)
    return frame_low_order(table, paired), frame_collection(table, paired=paired)


def by_kernel(pooled: Pooled, kernel: Kernel) -> Pooled:
    """The pooled sample with one of the kernels of a collection, in the coordinates of the user.

    Normal scores were made of points that may have been moved, and are moved back with them; values of a
    linear kernel are centred there.
    """
    if pooled.origin is None:
        return replace(pooled, given_kernel=kernel)
    if isinstance(kernel.kernel if isinstance(kernel, Scaled) else kernel, Linear):
        moved = kernel.transformed(Centred(to_numpy(pooled.origin)))
    elif isinstance(kernel, Transformed) and isinstance(kernel.function, NormalScores):
        moved = kernel.kernel.transformed(kernel.function.moved(pooled.origin))
    else:
        return replace(pooled, given_kernel=kernel)
    return replace(pooled, given_kernel=moved, points=pooled.unmoved, origin=None)


def in_own_units(kernel: Kernel, x: Any, y: Any, *, paired: bool = False) -> Kernel:
    """For data frames: the kernel of their numbers divided by standard deviations; else as it is.

    Paired: in the units of `pair_units`.
    """
    x, y = (s.points if isinstance(s, Empirical) else s for s in (x, y))
    frame = as_table(x, "x")
    if frame is None:
        return kernel
    if any(frame.columns.categorical):
        return bound(kernel, frame.columns)  # which says that it takes no categories
    numbers = varying_numbers(*_stacked(frame, y, paired))
    return kernel if numbers is None else numbers.kernel(kernel)


def two_samples(x: Any, y: Any) -> tuple[Any, Any]:
    """Two samples whose rows can be taken: tables, arrays, or sequences of objects, both of a kind.

    An array beside a table has its columns; a table beside an array is its numbers.
    """
    x, y = one_sample(x, "x"), one_sample(y, "y")
    if isinstance(x, Table) and not isinstance(y, Table):
        return x, Table(plain_numbers(x, y), x.columns)
    return x, validate.points(y, "y") if isinstance(y, Table) and not isinstance(x, Table) else y


def plain_numbers(first: Table, y: Any) -> Any:
    """Numbers without names that meet a table: as many columns, and no categories among its own."""
    if any(first.columns.categorical):
        raise TypeError("x has columns of categories, by name: y must be a data frame too")
    values = validate.points(y, "y")
    validate.same_library(first.values, values)
    validate.same_width(first.values, values)
    return values


def stacked_table(first: Table, y: Any) -> Table:
    """The rows of both samples as one table."""
    other = as_table(y, "y")
    values = plain_numbers(first, y) if other is None else aligned(other, first.columns)
    return Table(np.concatenate([first.values, values]), first.columns)


def _joined_objects(x: Any, y: Any) -> Any:
    """Both samples as one where they are strings, graphs or series; None where neither is."""
    if kind_of_objects(x) is None and kind_of_objects(y) is None:
        return None
    return joined_objects([x, y], ["x", "y"])


def _weights(given: Sequence[Any], sizes: tuple[int, int]) -> np.ndarray | None:
    """Weights of the pooled observations, if one of the samples has any."""
    if all(w is None for w in given):
        return None
    parts = [
        np.full(n, 1 / n, np.float64) if w is None else to_numpy(w)
        for w, n in zip(given, sizes, strict=True)
    ]
    validate.finite(np.concatenate(parts), "weights")
    return np.concatenate(parts)


# ---- labellings ---------------------------------------------------------------------------------


def labellings(n: int, m: int, null: Permutation, seed: int) -> Resamples:
    """Labels +1 and -1 of the pooled sample as the null permutes them; column 0 is the observed one."""
    check_null(null, n, m)
    if not null.paired:
        labels = np.repeat([1.0, -1.0], [n, m])
        return PermutedWeights(
            labels, null.resamples + 1, rng=seed, blocks=null.blocks, keep_first=True
        )
    return PairedWeights(n, null.resamples + 1, rng=seed, keep_first=True)


def check_null(null: Permutation, n: int, m: int) -> None:
    """Pairs of samples of one size; blocks with a label for each observation, one of them with observations of both samples."""
    if null.paired and n != m:
        raise ValueError(
            f"x and y must have the same size where they are paired, got {n} and {m}: drop what "
            "has no partner, or leave out paired=True"
        )
    blocks = null.blocks
    if blocks is None:
        return
    if len(blocks) != n + m:
        raise ValueError(
            f"blocks must have {n + m} labels, one for each of the {n} observations of x and then "
            f"one for each of the {m} of y, got {len(blocks)}"
        )
    if set(blocks[:n]).isdisjoint(blocks[n:]):
        raise ValueError(
            "blocks must have labels that x and y share: no block has observations of both, so "
            "that there is nothing to permute"
        )


def within(columns: slice, chunks: Any) -> Iterator[slice]:
    """The parts of `columns` that fall into each chunk."""
    for chunk in chunks:
        start, stop = max(chunk.start, columns.start), min(chunk.stop, columns.stop)
        if start < stop:
            yield slice(start, stop)


def loss(first: np.ndarray, both: np.ndarray) -> np.ndarray:
    """sum_i w_i^2 over two samples, in each of which the weights w add up to one: (B,).

    `first` are the sums of weights and of squared weights over the first sample, (2, B), `both`
    those over all observations, (2, 1). The variance of a difference of weighted means is in
    proportion to it; for equal weights it is 1/n + 1/m.
    """
    second = both - first
    with np.errstate(divide="ignore", invalid="ignore"):
        return first[1] / first[0] ** 2 + second[1] / second[0] ** 2
