"""sum_ij prod_k K^k_(p_k(i) p_k(j)) of several symmetric matrices, each permuted by its own p_k.

Three methods for any permutations. Where all matrices have low rank, K^k = A_k A_k', the sum is the squared
norm of the tensor sum_i a_1 x ... x a_M, O(n r_1 ... r_M). Where all of them fit into the memory budget,
their rows are gathered, O(n^2). Otherwise their tiles are computed again for every permutation.

Circular shifts of one random order need no gathering: `shifted_tensor_sums` computes each entry once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import isqrt, prod
from operator import mul
from typing import Protocol

import numpy as np

from mercer import linalg
from mercer.backend import Array, on_gpu, to_numpy
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix, cholesky
from mercer.gram.device_engine import device_engine
from mercer.gram.shifted_sums import shifted_sums
from mercer.gram.threads import in_order, spans
from mercer.htest.dependence.sums.cyclic_permutations import IndependentShifts, draws_shifts
from mercer.htest.nulls import Permutation
from mercer.kernels import facts
from mercer.rkhs.sample_rows import taken

_ROUNDING = 1e-13  # share of the trace below which the remainder of a factor is rounding
_NEGLIGIBLE_SHARE = 1e-10  # of the trace: far below the differences between permuted statistics
_PRODUCTS_PER_GATHERED_ENTRY = 10  # products of rows of factors in the time of gathering one entry
# Products of rows of factors in the time of one row of a tile, measured on one core; and products that
# take a second for 1,000 permutations of 1,000 rows.
_PRODUCTS_PER_ROW = 2
_MIN_PRODUCTS_FOR_SHIFTS = 15_000
_ROWS_PER_GATHER = 64  # so that gathered rows stay in cache
_PRODUCT_BYTES = 2**19  # of products of rows of factors at a time: they stay in cache
_MIN_NUMBERS_FOR_THREADS = 20_000_000  # with fewer, one thread is as fast as two


FactorGroup = list[tuple[int, np.ndarray]]  # the number of a matrix, and its factor


class PermutedTensor(ABC):
    """sum_ij prod_k K^k_(p_k(i) p_k(j)) for any permutations p_k."""

    @abstractmethod
    def sums(self, orders: Sequence[np.ndarray | None]) -> np.ndarray:
        """The sums for orders (b, n), one array for every matrix, None for the identity: (b,)."""


class PermutableMatrix(Protocol):
    """A symmetric matrix whose observations can be reordered."""

    def matrix(self, order: np.ndarray | None = None, /) -> LazyMatrix:
        """The matrix, or that of the observations in another order."""
        ...

    def factor(self, most: int, /) -> np.ndarray | None:
        """A (n, r) with AA' equal to the matrix up to rounding and r at most `most`; None if there is none."""
        ...


@dataclass(frozen=True)
class UncenteredGram:
    """A Gram matrix that is not centred."""

    gram: Gram

    def matrix(self, order: np.ndarray | None = None, /) -> LazyMatrix:
        """The Gram matrix of the points in another order."""
        gram = self.gram
        return gram if order is None else Gram(gram.kernel, taken(gram.x, order))

    def factor(self, most: int, /) -> np.ndarray | None:
        """A factor by pivoted Cholesky, reduced to its principal directions, which are fewer."""
        if not facts(self.gram.kernel).positive_definite:
            return None
        max_pivots = min(most + most // 2, self.gram.shape[0]) + 1
        factor = cholesky(self.gram, tolerance=_ROUNDING, most=max_pivots)
        if len(factor.pivots) == max_pivots:
            return None
        if not factor.pivots:  # all points are where the kernel is 0
            return np.zeros((self.gram.shape[0], 1), dtype=np.float64)
        columns = _principal(to_numpy(factor.columns).astype(np.float64), _ROUNDING)
        return columns if columns.shape[1] <= most else None


def _principal(a: np.ndarray, tolerance: float) -> np.ndarray:
    """The principal directions A V of AA', without the smallest, whose share of the trace is `tolerance`."""
    values, vectors = linalg.eigh(a.T @ a)  # increasing
    negligible = np.cumsum(np.maximum(values, 0.0)) <= tolerance * float(values.sum())
    return np.ascontiguousarray(a @ vectors[:, ~negligible])


def permuted_tensor(matrices: Sequence[PermutableMatrix]) -> PermutedTensor:
    """The sums by the fastest method that the memory budget allows."""
    n = matrices[0].matrix().shape[0]
    most = _PRODUCTS_PER_GATHERED_ENTRY * n * (len(matrices) - 1)
    factors = _factors(matrices, most, n // 4)
    if factors is not None:
        return LowRankTensor(factors, matrices[0].matrix().like)
    if 2 * 8 * n**2 * len(matrices) <= settings().memory:
        dense = [to_numpy(m.matrix().dense()).astype(np.float64, copy=False) for m in matrices]
        return DenseTensor(dense)
    return TiledTensor(tuple(matrices))


def tensor_faster_than_shifts(matrices: Sequence[PermutableMatrix]) -> LowRankTensor | None:
    """The sums by factors, where these take less time for any permutations than the tiles for shifts.

    A factor may miss a share of 1e-10 of its trace: no sum over n^2 pairs changes by more than n^2 times that
    share and the largest product of diagonal entries. The factor of a variable does not depend on the
    others, so the same statistic is computed from all permutations, and the test stays exact.
    """
    n, like = matrices[0].matrix().shape[0], matrices[0].matrix().like
    most = max(_MIN_PRODUCTS_FOR_SHIFTS, _PRODUCTS_PER_ROW * n)
    factors = _factors(matrices, most, isqrt(most))  # longer ones are not worth computing
    if factors is None:
        return None
    return LowRankTensor([_principal(a, _NEGLIGIBLE_SHARE) for a in factors], like)


def shifted_tensor_sums(
    matrices: Sequence[PermutableMatrix], shifts: IndependentShifts
) -> np.ndarray:
    """The sums with all matrices but the first shifted: (b,)."""
    first, *others = (m.matrix(shifts.base) for m in matrices)
    return shifted_sums(first, others, shifts.values)


class TensorEvidence(ABC):
    """Evidence whose permuted statistics are sums of products of permuted matrices."""

    n: int

    @cached_property
    @abstractmethod
    def _matrices(self) -> Sequence[PermutableMatrix]:
        """One matrix for each variable."""

    def _tensor_for(self, null: Permutation) -> PermutedTensor | None:
        """The sums for permutations drawn one by one; None where shifts are drawn."""
        return self._short_tensor if draws_shifts(self.n, null) else self._tensor

    @cached_property
    def _short_tensor(self) -> PermutedTensor | None:
        return tensor_faster_than_shifts(self._matrices)

    @cached_property
    def _tensor(self) -> PermutedTensor:
        return permuted_tensor(self._matrices)


def _factors(
    matrices: Sequence[PermutableMatrix], most: int, widest: int
) -> list[np.ndarray] | None:
    """The factors of all matrices; None if one exceeds `widest`, or the product of widths `most`."""
    factors: list[np.ndarray] = []
    n = matrices[0].matrix().shape[0]
    max_width = min(widest, settings().memory // (32 * n * len(matrices)))
    for matrix in matrices:
        width = min(most // max(prod(a.shape[1] for a in factors), 1), max_width)
        factor = matrix.factor(width) if width else None
        if factor is None:
            return None
        factors.append(factor)
    return factors


@dataclass(frozen=True)
class LowRankTensor(PermutedTensor):
    """Squared norms of sum_i a_1(p_1(i)) x ... x a_M(p_M(i)), for matrices of low rank."""

    factors: Sequence[np.ndarray]
    like: Array  # on the device that does the work

    def sums(self, orders: Sequence[np.ndarray | None]) -> np.ndarray:
        """The sums, by one matrix product for each permutation."""
        if on_gpu(self.like):
            return device_engine().tensor_norms(self.factors, orders, self.like.device)
        number = next(len(order) for order in orders if order is not None)
        n, entries = len(self.factors[0]), prod(a.shape[1] for a in self.factors)
        work = _TensorNorm(self._groups(), orders)
        parallel = number * n * entries > _MIN_NUMBERS_FOR_THREADS
        return np.array(list(in_order(work, range(number), parallel=parallel)))

    def _groups(self) -> tuple[FactorGroup, FactorGroup]:
        """The factors in two groups of about equal products of widths."""
        first: FactorGroup = []
        second: FactorGroup = []
        for k, a in sorted(enumerate(self.factors), key=lambda ka: -ka[1].shape[1]):
            shorter = min(first, second, key=lambda group: (_width(group), len(group)))
            shorter.append((k, a))
        return first, second


@dataclass(frozen=True)
class _TensorNorm:
    """|Z'W|^2 for permutation b; the rows of Z and W are products of the rows of two groups of factors."""

    groups: tuple[FactorGroup, FactorGroup]
    orders: Sequence[np.ndarray | None]

    def __call__(self, b: int) -> float:
        widths = [_width(group) for group in self.groups]
        n = len(self.groups[0][0][1])
        total = np.zeros(widths, dtype=np.float64)
        for rows in spans(n, max(_PRODUCT_BYTES // (8 * sum(widths)), 1)):
            z, w = (self._rows(group, b, rows) for group in self.groups)
            total += z.T @ w
        return float(np.einsum("rs,rs->", total, total))

    def _rows(self, group: FactorGroup, b: int, rows: slice) -> np.ndarray:
        """a_1(p(i)) x a_2(p(i)) x ... for i in `rows`, flattened: (rows, product of widths)."""
        factors = []
        for k, a in group:
            order = self.orders[k]
            factors.append(a[rows] if order is None else a.take(order[b, rows], axis=0))
        return reduce(lambda z, a: (z[:, :, None] * a[:, None, :]).reshape(len(z), -1), factors)


def _width(group: FactorGroup) -> int:
    """The product of the widths of the factors."""
    return prod(a.shape[1] for _, a in group)


@dataclass(frozen=True)
class DenseTensor(PermutedTensor):
    """Sums over gathered rows of matrices that are in memory."""

    matrices: Sequence[np.ndarray]

    def sums(self, orders: Sequence[np.ndarray | None]) -> np.ndarray:
        """The sums, one permutation after the other."""
        number = next(len(order) for order in orders if order is not None)
        n = len(self.matrices[0])
        work = _GatheredRows(self.matrices, orders)
        parallel = number * n**2 > _MIN_NUMBERS_FOR_THREADS
        return np.array(list(in_order(work, range(number), parallel=parallel)))


@dataclass(frozen=True)
class _GatheredRows:
    """The sum of permutation b over the pairs i <= j, those with i < j counted twice."""

    matrices: Sequence[np.ndarray]
    orders: Sequence[np.ndarray | None]

    def __call__(self, b: int) -> float:
        n, total = len(self.matrices[0]), 0.0
        # allocated once: allocating memory for every tile costs more than computing the tile
        buffer = np.empty((3, _ROWS_PER_GATHER * n), dtype=np.float64)
        for rows in spans(n, _ROWS_PER_GATHER):
            shape = rows.stop - rows.start, n - rows.start
            tile, other = (r[: shape[0] * shape[1]].reshape(shape) for r in buffer[:2])
            stripe = buffer[2, : shape[0] * n].reshape(shape[0], n)
            self._gather(0, b, rows, stripe, tile)
            for k in range(1, len(self.matrices)):
                self._gather(k, b, rows, stripe, other)
                tile *= other
            height = shape[0]
            square = tile[:, :height]  # on the diagonal
            total += float(square.sum()) + 2 * float(tile[:, height:].sum())
        return total

    def _gather(self, k: int, b: int, rows: slice, stripe: np.ndarray, out: np.ndarray) -> None:
        """Rows of K^k in its order, from their first diagonal entry on."""
        matrix, order = self.matrices[k], self.orders[k]
        if order is None:
            out[:] = matrix[rows, rows.start :]
            return
        # "clip" writes into `out` at once; orders are never out of bounds
        np.take(matrix, order[b, rows], axis=0, out=stripe, mode="clip")
        np.take(stripe, order[b, rows.start :], axis=1, out=out, mode="clip")


@dataclass(frozen=True)
class TiledTensor(PermutedTensor):
    """Sums over tiles that are computed again for every permutation."""

    matrices: tuple[PermutableMatrix, ...]

    def sums(self, orders: Sequence[np.ndarray | None]) -> np.ndarray:
        """The sums, one permutation after the other."""
        number = next(len(order) for order in orders if order is not None)
        return np.array([self._sum(orders, b) for b in range(number)])

    def _sum(self, orders: Sequence[np.ndarray | None], b: int) -> float:
        pairs = zip(self.matrices, orders, strict=True)
        return reduce(mul, (m.matrix(None if o is None else o[b]) for m, o in pairs)).sum()
