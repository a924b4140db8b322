"""sum_ij prod_k K^k_(p_k(i) p_k(j)) of several symmetric matrices, the rows of each in an order of its own.

Three roads. Where all matrices have factors of few columns, K^k = A_k A_k', it is the squared norm
of the tensor sum_i a_1 x ... x a_M, O(n r_1 ... r_M). Where all of them fit into the memory budget,
rows of them are gathered, O(n^2). Else they are made again, tile by tile, for every order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import mul
from typing import Protocol

import numpy as np

from mercer import linalg
from mercer.backend import to_numpy
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix, cholesky
from mercer.gram.threads import in_order, spans
from mercer.kernels import facts
from mercer.rkhs.sample_rows import taken

_EXACT = 1e-13  # of the trace, below which the rest of a factor is rounding
_RATIO = 10  # products of rows of factors in the time that one entry is gathered
_ROWS = 64  # gathered at a time, so that they stay in cache
_HELD = 2**21  # bytes of products of rows of factors at a time
_MANY = 20_000_000  # numbers below which one thread is as fast as two


Half = list[tuple[int, np.ndarray]]  # factors, and of which matrix


class Products(ABC):
    """sum_ij prod_k K^k_(p_k(i) p_k(j)) for any orders p."""

    @abstractmethod
    def sums(self, orders: Sequence[np.ndarray | None]) -> np.ndarray:
        """Of orders (b, n), one array for every matrix; None leaves that one as it is: (b,)."""


class Part(Protocol):
    """One of the matrices."""

    def matrix(self, order: np.ndarray | None = None, /) -> LazyMatrix:
        """It, or that of the observations in another order."""
        ...

    def factor(self, most: int, /) -> np.ndarray | None:
        """A (n, r) with AA' equal to it to rounding and r at most `most`, if there is one."""
        ...


@dataclass(frozen=True)
class Whole:
    """A Gram matrix as it is, not centred."""

    gram: Gram

    def matrix(self, order: np.ndarray | None = None, /) -> LazyMatrix:
        """That of the points in another order."""
        gram = self.gram
        return gram if order is None else Gram(gram.kernel, taken(gram.x, order))

    def factor(self, most: int, /) -> np.ndarray | None:
        """By pivoted Cholesky, and then by its principal directions, which are fewer."""
        if not facts(self.gram.kernel).positive_definite:
            return None
        tried = min(most + most // 2, self.gram.shape[0]) + 1
        found = cholesky(self.gram, tolerance=_EXACT, most=tried)
        if len(found.pivots) == tried:
            return None
        if not found.pivots:  # all points are where the kernel is 0
            return np.zeros((self.gram.shape[0], 1), dtype=np.float64)
        columns = _compressed(to_numpy(found.columns).astype(np.float64))
        return columns if columns.shape[1] <= most else None


def _compressed(a: np.ndarray) -> np.ndarray:
    """The principal directions A V of AA', without the least ones, whose trace together is rounding."""
    values, vectors = linalg.eigh(a.T @ a)  # rising
    left_out = np.cumsum(np.maximum(values, 0.0)) <= _EXACT * float(values.sum())
    return np.ascontiguousarray(a @ vectors[:, ~left_out])


def products(parts: Sequence[Part]) -> Products:
    """By the quickest road that the budget allows."""
    n = parts[0].matrix().shape[0]
    factors = _factors(parts, _RATIO * n * (len(parts) - 1))
    if factors is not None:
        return Factored(factors)
    if 2 * 8 * n**2 * len(parts) <= settings().memory:
        return Held([to_numpy(p.matrix().dense()).astype(np.float64, copy=False) for p in parts])
    return Tiled(tuple(parts))


def _factors(parts: Sequence[Part], most: int) -> list[np.ndarray] | None:
    """The factors of all matrices; None if the product of their widths is beyond `most`."""
    found: list[np.ndarray] = []
    n = parts[0].matrix().shape[0]
    widest = min(n // 4, settings().memory // (32 * n * len(parts)))
    for part in parts:
        left = min(most // max(prod(a.shape[1] for a in found), 1), widest)
        factor = part.factor(left) if left else None
        if factor is None:
            return None
        found.append(factor)
    return found


@dataclass(frozen=True)
class Factored(Products):
    """The squared norms of sum_i a_1(p_1(i)) x ... x a_M(p_M(i))."""

    factors: Sequence[np.ndarray]

    def sums(self, orders: Sequence[np.ndarray | None]) -> np.ndarray:
        """One order after the other, by one matrix product each."""
        number = next(len(order) for order in orders if order is not None)
        n, many = len(self.factors[0]), prod(a.shape[1] for a in self.factors)
        work = _Norm(self._halves(), orders)
        parallel = number * n * many > _MANY
        return np.array(list(in_order(work, range(number), parallel=parallel)))

    def _halves(self) -> tuple[Half, Half]:
        """The factors in two groups whose widths multiply to about the same."""
        first: Half = []
        second: Half = []
        for k, a in sorted(enumerate(self.factors), key=lambda ka: -ka[1].shape[1]):
            shorter = min(first, second, key=lambda half: (_width(half), len(half)))
            shorter.append((k, a))
        return first, second


@dataclass(frozen=True)
class _Norm:
    """b -> |Z'W|^2, the rows of Z and W being the products of the rows of two groups of factors."""

    halves: tuple[Half, Half]
    orders: Sequence[np.ndarray | None]

    def __call__(self, b: int) -> float:
        widths = [_width(half) for half in self.halves]
        n = len(self.halves[0][0][1])
        total = np.zeros(widths, dtype=np.float64)
        for rows in spans(n, max(_HELD // (8 * sum(widths)), 1)):
            left, right = (self._rows(half, b, rows) for half in self.halves)
            total += left.T @ right
        return float(np.einsum("rs,rs->", total, total))

    def _rows(self, half: Half, b: int, rows: slice) -> np.ndarray:
        """a_1(p(i)) x a_2(p(i)) x ... of some i, flat: (rows, widths multiplied)."""
        parts = []
        for k, a in half:
            order = self.orders[k]
            parts.append(a[rows] if order is None else a.take(order[b, rows], axis=0))
        return reduce(lambda z, a: (z[:, :, None] * a[:, None, :]).reshape(len(z), -1), parts)


def _width(half: Half) -> int:
    """How many products of one row of each factor there are."""
    return prod(a.shape[1] for _, a in half)


@dataclass(frozen=True)
class Held(Products):
    """By rows of matrices that are held, gathered in their orders."""

    matrices: Sequence[np.ndarray]

    def sums(self, orders: Sequence[np.ndarray | None]) -> np.ndarray:
        """One order after the other."""
        number = next(len(order) for order in orders if order is not None)
        n = len(self.matrices[0])
        work = _Gather(self.matrices, orders)
        parallel = number * n**2 > _MANY
        return np.array(list(in_order(work, range(number), parallel=parallel)))


@dataclass(frozen=True)
class _Gather:
    """b -> the sum over the pairs i <= j, those with i < j twice."""

    matrices: Sequence[np.ndarray]
    orders: Sequence[np.ndarray | None]

    def __call__(self, b: int) -> float:
        n, total = len(self.matrices[0]), 0.0
        room = np.empty(
            (3, _ROWS * n), dtype=np.float64
        )  # once: new memory for tiles costs more than tiles
        for rows in spans(n, _ROWS):
            shape = rows.stop - rows.start, n - rows.start
            tile, other = (r[: shape[0] * shape[1]].reshape(shape) for r in room[:2])
            stripe = room[2, : shape[0] * n].reshape(shape[0], n)
            self._gather(0, b, rows, stripe, tile)
            for k in range(1, len(self.matrices)):
                self._gather(k, b, rows, stripe, other)
                tile *= other
            height = shape[0]
            square = tile[:, :height]  # on the diagonal
            total += float(square.sum()) + 2 * float(tile[:, height:].sum())
        return total

    def _gather(self, k: int, b: int, rows: slice, stripe: np.ndarray, out: np.ndarray) -> None:
        """Some rows of K^k in its order, from their diagonal on."""
        matrix, order = self.matrices[k], self.orders[k]
        if order is None:
            out[:] = matrix[rows, rows.start :]
            return
        # "clip" writes into `out` at once; orders are never out of bounds
        np.take(matrix, order[b, rows], axis=0, out=stripe, mode="clip")
        np.take(stripe, order[b, rows.start :], axis=1, out=out, mode="clip")


@dataclass(frozen=True)
class Tiled(Products):
    """By tiles that are made again for every order."""

    parts: tuple[Part, ...]

    def sums(self, orders: Sequence[np.ndarray | None]) -> np.ndarray:
        """One order after the other."""
        number = next(len(order) for order in orders if order is not None)
        return np.array([self._sum(orders, b) for b in range(number)])

    def _sum(self, orders: Sequence[np.ndarray | None], b: int) -> float:
        pairs = zip(self.parts, orders, strict=True)
        return reduce(mul, (p.matrix(None if o is None else o[b]) for p, o in pairs)).sum()
