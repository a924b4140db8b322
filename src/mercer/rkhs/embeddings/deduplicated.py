"""Distributions that come more than once, or rest on the same points: nothing is computed twice."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.backend import Array, array_like, is_array, namespace, transposed
from mercer.config import settings
from mercer.kernels.base import Kernel
from mercer.kernels.take import Rows
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.embeddings.batch import Batch, batch_of, diracs, inner_products, paired_products

_AT_ONCE = 64  # rows of a matrix of which the diagonal is wanted


@dataclass(frozen=True, eq=False)
class Linked(Rows):
    """Distributions made of others, which are the `base`."""

    base: Batch

    @abstractmethod
    def spread(self, values: Array, /) -> Array:
        """The rows that belong to these distributions, from those of the base: (n, k) from (b, k)."""

    def joined(self, others: Any) -> Any:
        """These distributions, then others."""
        from mercer.rkhs.embeddings.joining import join

        return join(self, others)

    def widened(self) -> Self:
        """The same distributions, the points of samples in float64."""
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
        """The distributions at these positions; of the base, what they need."""
        kept, index = np.unique(self.index[rows], return_inverse=True)
        whole = len(kept) == len(self.base)
        return Repeated(self.base if whole else self.base.taken(kept), index)

    def spread(self, values: Array, /) -> Array:
        xp = namespace(values)
        return xp.take(values, array_like(self.index, values, xp.int64), axis=0)


@dataclass(frozen=True, eq=False)
class Histograms(Linked):
    """Probabilities `table` (n, b) of the points that are the base."""

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


def linked(kernel: Kernel, x: Any, name: str = "x") -> Batch | Linked:
    """Whatever stands for distributions: `Linked` where objects of a list are the same ones."""
    if isinstance(x, Batch | Linked):
        return x
    if not isinstance(x, list | tuple):
        return batch_of(kernel, x, name)
    found, index = _distinct(x)
    if len(found) <= len(x) // 2:
        base = batch_of(kernel, [x[i] for i in found], name, places=found)
        return Repeated(base, index)
    return _histograms(kernel, x, name) or batch_of(kernel, x, name)


def _distinct(x: Sequence[Any]) -> tuple[list[int], np.ndarray]:
    """The first place of every object, and which of them each item is."""
    seen: dict[int, int] = {}
    index = np.fromiter((seen.setdefault(id(one), len(seen)) for one in x), np.int64, len(x))
    return np.unique(index, return_index=True)[1].tolist(), index


def _histograms(kernel: Kernel, x: Sequence[Any], name: str) -> Histograms | None:
    """Samples that have one array of points in common, such as the words of a code book."""
    if len(x) < 2 or not all(isinstance(one, Empirical) and one.points is x[0].points for one in x):
        return None
    if not (is_array(x[0].points) or isinstance(x[0].points, list | tuple)):  # a frame, say
        return None
    n = len(x[0])
    if 8 * n * len(x) > settings().memory // 4:
        return None
    table = np.stack([np.full(n, 1 / n) if one.weights is None else one.weights for one in x])
    return Histograms(diracs(kernel, x[0].points, name), table)


# ---- inner products -----------------------------------------------------------------------


def linked_products(kernel: Kernel, x: Batch | Linked, y: Batch | Linked) -> Array:
    """E k(X_i, Y_j) of all pairs: (n, m)."""
    values = inner_products(kernel, _base(x), _base(y))
    if isinstance(x, Linked):
        values = x.spread(values)
    return transposed(y.spread(transposed(values))) if isinstance(y, Linked) else values


def linked_pairs(kernel: Kernel, x: Batch | Linked, y: Batch | Linked) -> Array:
    """E k(X_i, Y_i): (n,)."""
    if isinstance(x, Batch) and isinstance(y, Batch):
        return paired_products(kernel, x, y)
    if x is y and isinstance(x, Repeated):
        return x.spread(paired_products(kernel, x.base, x.base)[:, None])[:, 0]
    if x is y and isinstance(x, Histograms):
        half = x.spread(inner_products(kernel, x.base, x.base))
        return namespace(half).sum(half * array_like(x.table, half), axis=1)
    parts = []
    for first in range(0, len(x), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        block = linked_products(kernel, x[some], y[some])
        parts.append(namespace(block).linalg.diagonal(block))
    return namespace(parts[0]).concat(parts)


def _base(x: Batch | Linked) -> Batch:
    return x.base if isinstance(x, Linked) else x
