"""Distributions that repeat or share their points: every inner product is computed once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.backend import Array, array_like, is_array, namespace, transposed
from mercer.config import settings
from mercer.gram.bag_sums import Segments
from mercer.kernels.base import Kernel
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.embeddings.as_batch import batch_of, diracs
from mercer.rkhs.embeddings.batch import (
    AtomBlock,
    DistributionBatch,
    DistributionRows,
    inner_products,
    paired_products,
)

# Rows of a block whose diagonal is wanted: of k x k products only k are used, so blocks stay small.
_ROWS_PER_DIAGONAL_BLOCK = 64


@dataclass(frozen=True, eq=False)
class Linked(DistributionRows):
    """Distributions that are linear combinations of those in the batch `base`."""

    base: DistributionBatch

    @abstractmethod
    def spread(self, values: Array, /) -> Array:
        """Values of these distributions from those of the base, by linearity: (n, k) from (b, k)."""

    def joined(self, others: DistributionRows) -> DistributionRows:
        return _joined(self, others)

    def preceded_by(self, first: DistributionBatch) -> DistributionRows:
        return _joined(first, self)

    def widened(self) -> Self:
        wide = self.base.widened()
        return self if wide is self.base else replace(self, base=wide)


@dataclass(frozen=True, eq=False)
class Repeated(Linked):
    """The distributions of `base` at the positions `index`: (n,)."""

    index: np.ndarray

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: slice) -> Repeated:
        return self.taken(np.arange(len(self))[rows])

    def taken(self, rows: np.ndarray) -> Repeated:
        """The distributions at these positions, with only those of the base that they need."""
        needed, index = np.unique(self.index[rows], return_inverse=True)
        all_needed = len(needed) == len(self.base)
        return Repeated(self.base if all_needed else self.base.taken(needed), index)

    def spread(self, values: Array, /) -> Array:
        xp = namespace(values)
        return xp.take(values, array_like(self.index, values, xp.int64), axis=0)


@dataclass(frozen=True, eq=False)
class Histograms(Linked):
    """Probabilities `table` (n, b) of the points of the base, such as the words of a code book."""

    table: np.ndarray

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: slice) -> Histograms:
        return Histograms(self.base, self.table[rows])

    def taken(self, rows: np.ndarray) -> Histograms:
        """The histograms at these positions."""
        return Histograms(self.base, self.table[rows])

    def spread(self, values: Array, /) -> Array:
        return array_like(self.table, values) @ values


def linked(kernel: Kernel, x: Any, name: str = "x") -> DistributionRows:
    """Distributions as a `DistributionBatch`, or as `Linked` where items of a list are the same object."""
    if isinstance(x, DistributionRows):
        return x
    if not isinstance(x, list | tuple):
        return batch_of(kernel, x, name)
    first, index = _distinct(x)
    if len(first) <= len(x) // 2:
        base = batch_of(kernel, [x[i] for i in first], name, places=first)
        return Repeated(base, index)
    return _histograms(kernel, x, name) or batch_of(kernel, x, name)


def _distinct(x: Sequence[Any]) -> tuple[list[int], np.ndarray]:
    """First position of every distinct object, and for each item the number of its object."""
    seen: dict[int, int] = {}
    index = np.fromiter((seen.setdefault(id(item), len(seen)) for item in x), np.int64, len(x))
    return np.unique(index, return_index=True)[1].tolist(), index


def _histograms(kernel: Kernel, x: Sequence[Any], name: str) -> Histograms | None:
    """Samples that share one array of points, as histograms; None where they do not."""
    if len(x) < 2 or not all(isinstance(p, Empirical) and p.points is x[0].points for p in x):
        return None
    if not (is_array(x[0].points) or isinstance(x[0].points, list | tuple)):  # a frame, say
        return None
    n = len(x[0])
    if 8 * n * len(x) > settings().memory // 4:
        return None
    table = np.stack([np.full(n, 1 / n) if p.weights is None else p.weights for p in x])
    return Histograms(diracs(kernel, x[0].points, name), table)


# ---- joining ------------------------------------------------------------------------------


def _joined(x: DistributionRows, y: DistributionRows) -> DistributionRows:
    """The distributions of x, then those of y; what each of them shares is still computed once."""
    if isinstance(x, Histograms) and isinstance(y, Histograms) and _same_words(x, y):
        return Histograms(x.base, np.concatenate([x.table, y.table]))
    x, y = _without_tables(x), _without_tables(y)
    if isinstance(x, DistributionBatch) and isinstance(y, DistributionBatch):
        return y.preceded_by(x)
    (first, index), (second, others) = _base_and_index(x), _base_and_index(y)
    positions = np.concatenate([index, others + len(first)])
    return Repeated(second.preceded_by(first), positions)


def _same_words(x: Histograms, y: Histograms) -> bool:
    words, others = (h.base.parts[0].atoms for h in (x, y))
    if words is others:
        return True
    arrays = isinstance(words, np.ndarray) and isinstance(others, np.ndarray)
    return arrays and np.array_equal(words, others)


def _without_tables(x: DistributionRows) -> DistributionRows:
    """Histograms as weighted samples of the words with positive probability; others unchanged."""
    if not isinstance(x, Histograms):
        return x
    owners, words = np.nonzero(x.table)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(x)))])
    atoms = x.base.taken(words).parts[0].atoms
    segments = Segments(offsets, x.table[owners, words])
    return DistributionBatch(len(x), (AtomBlock(atoms, np.arange(len(x)), segments),))


def _base_and_index(x: DistributionRows) -> tuple[DistributionBatch, np.ndarray]:
    if isinstance(x, Repeated):
        return x.base, x.index
    assert isinstance(x, DistributionBatch)
    return x, np.arange(len(x))


# ---- inner products -----------------------------------------------------------------------


def linked_products(kernel: Kernel, x: DistributionRows, y: DistributionRows) -> Array:
    """Inner products E k(X_i, Y_j) of the mean embeddings of all pairs: (n, m)."""
    values = inner_products(kernel, _base(x), _base(y))
    if isinstance(x, Linked):
        values = x.spread(values)
    return transposed(y.spread(transposed(values))) if isinstance(y, Linked) else values


def linked_pairs(kernel: Kernel, x: DistributionRows, y: DistributionRows) -> Array:
    """Inner products E k(X_i, Y_i) of the mean embeddings at the same position: (n,)."""
    if isinstance(x, DistributionBatch) and isinstance(y, DistributionBatch):
        return paired_products(kernel, x, y)
    if x is y and isinstance(x, Repeated):
        return x.spread(paired_products(kernel, x.base, x.base)[:, None])[:, 0]
    if x is y and isinstance(x, Histograms):
        half = x.spread(inner_products(kernel, x.base, x.base))
        return namespace(half).sum(half * array_like(x.table, half), axis=1)
    diagonals = []
    for first in range(0, len(x), _ROWS_PER_DIAGONAL_BLOCK):
        rows = slice(first, first + _ROWS_PER_DIAGONAL_BLOCK)
        block = linked_products(kernel, x[rows], y[rows])
        diagonals.append(namespace(block).linalg.diagonal(block))
    return namespace(diagonals[0]).concat(diagonals)


def _base(x: DistributionRows) -> DistributionBatch:
    if isinstance(x, Linked):
        return x.base
    assert isinstance(x, DistributionBatch)
    return x
