"""tr(K~ P L~ P') of two centred Gram matrices for many permutations P, by the fastest method.

Permutations are given as orders, or as `CyclicPermutations`: all n circular shifts of one order at once,
for which Fourier transforms of the diagonals of both matrices take O(n^2 log n). Where both matrices
have low rank, K~ = AA' and L~ = BB', the trace is |A'PB|^2, and the shifts of one order cost r s
cross-correlations of columns, O(r s n log n).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.backend import to_numpy
from mercer.config import settings
from mercer.gram import LazyMatrix
from mercer.gram.circular_correlation import (
    circular_correlations,
    matrices_per_pass,
    squared_correlations,
)
from mercer.gram.combine import Dense
from mercer.gram.threads import spans
from mercer.htest.dependence.sums.centered_gram import CenteredGram, Distance1D, LowRankGram
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.htest.dependence.sums.dense_gram import DenseGram
from mercer.htest.dependence.sums.permuted_dense import permuted_sums
from mercer.htest.dependence.sums.permuted_low_rank import permuted_norms
from mercer.kernels.base import Points
from mercer.rkhs.distance_covariance_1d import centred_products, distance_sums, seconds_for

_SECONDS_PER_PAIR = 1.5e-8  # measured, for a pair of observations and one coset, by diagonals


class PermutedTrace(ABC):
    """tr(K~ P L~ P') of two variables."""

    @cached_property
    @abstractmethod
    def observed(self) -> float:
        """tr(K~ L~)."""

    @abstractmethod
    def cyclic(self, permutations: CyclicPermutations) -> np.ndarray:
        """The traces of cosets of circular shifts: (b,)."""

    @abstractmethod
    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """The traces of any permutations, the rows of `orders`: (b,)."""


def permuted_trace(first: CenteredGram, second: CenteredGram) -> PermutedTrace:
    """By factors where both matrices have low rank, by sorting for two distances, else by diagonals."""
    if isinstance(first, LowRankGram) and isinstance(second, LowRankGram):
        return LowRankTrace(first.columns, second.columns, first.variable.points)
    by_diagonals = DiagonalTrace(first, second)
    if isinstance(first, Distance1D) and isinstance(second, Distance1D):
        return Distance1DTrace(first, second, by_diagonals)
    return by_diagonals


@dataclass(frozen=True)
class LowRankTrace(PermutedTrace):
    """|A'PB|^2 of K~ = AA' and L~ = BB'."""

    a: np.ndarray  # (n, r)
    b: np.ndarray  # (n, s)
    points: Points  # on the device that does the work

    @cached_property
    def observed(self) -> float:
        """|A'B|^2."""
        return float(np.sum((self.a.T @ self.b) ** 2))

    def cyclic(self, permutations: CyclicPermutations) -> np.ndarray:
        """The traces by cross-correlations of the columns."""
        shuffled = [self.b[order] for order in permutations.coset_orders]
        values = squared_correlations(self.a[permutations.base], shuffled, self.points)
        return values.ravel()[permutations.positions]

    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """The traces by matrix products."""
        return permuted_norms(self.a, self.b, orders)


@dataclass(frozen=True)
class DiagonalTrace(PermutedTrace):
    """Matrices of any rank: by a few diagonals at a time, or by stripes of rows for any orders."""

    first: CenteredGram
    second: CenteredGram

    @cached_property
    def observed(self) -> float:
        """sum_ij K~_ij L~_ij."""
        if isinstance(self.first, DenseGram) and isinstance(self.second, DenseGram):
            return float(np.vdot(self.first.array, self.second.array))
        return self.first.matrix().inner(self.second.matrix())

    def cyclic(self, permutations: CyclicPermutations) -> np.ndarray:
        """The traces by cross-correlations of the diagonals."""
        return cyclic_traces([self.first], [self.second], permutations)[0, 0]

    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """The traces, one permutation after the other."""
        return permuted_sums(self.first.matrix(), self.second.matrix(), orders)


def cyclic_traces(
    firsts: Sequence[CenteredGram],
    seconds: Sequence[CenteredGram],
    permutations: CyclicPermutations,
) -> np.ndarray:
    """tr(K~ P L~ P') of every K~ with every L~, for cosets of circular shifts: (k, l, b)."""
    n, orders = len(permutations.base), permutations.coset_orders
    lefts = [gram.matrix(permutations.base) for gram in firsts]
    if len(orders) > 1 and 8 * n**2 * (len(firsts) + len(seconds)) <= settings().memory // 2:
        lefts = [Dense(to_numpy(matrix.dense())) for matrix in lefts]
        arrays = [to_numpy(gram.matrix().dense()) for gram in seconds]
        rights = [ReorderedDense(array, order) for array in arrays for order in orders]
    else:
        rights = [gram.matrix(order) for gram in seconds for order in orders]
    height = min(len(lefts), max(matrices_per_pass(n) // 2, 1))
    step = max(matrices_per_pass(n) - height, 1)
    values = np.empty((len(lefts), len(rights), n), dtype=np.float64)
    for rows in spans(len(lefts), height):
        for columns in spans(len(rights), step):
            values[rows, columns] = circular_correlations(lefts[rows], rights[columns])
    return values.reshape(len(firsts), len(seconds), -1)[:, :, permutations.positions]


@dataclass(frozen=True, repr=False)
class ReorderedDense(LazyMatrix):
    """A dense symmetric matrix with its observations in another order."""

    array: np.ndarray
    order: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def like(self) -> np.ndarray:
        """An array of its dtype."""
        return self.array[:1, 0]

    @property
    def symmetric(self) -> bool:
        """Always True."""
        return True

    def block(self, rows: slice, columns: slice, /) -> np.ndarray:
        """The block, gathered from the dense matrix."""
        return self.array[self.order[rows, None], self.order[columns]]


@dataclass(frozen=True)
class Distance1DTrace(PermutedTrace):
    """Distance covariances of numbers, in O(n log n) each where that is faster than diagonals."""

    first: Distance1D
    second: Distance1D
    by_diagonals: DiagonalTrace

    @cached_property
    def observed(self) -> float:
        """tr(K~ L~), by sorting."""
        return self.first.distances.inner(self.second.distances)

    def cyclic(self, permutations: CyclicPermutations) -> np.ndarray:
        """The traces by diagonals, or one by one."""
        n, number = len(permutations.base), len(permutations.positions)
        cosets = len(permutations.coset_orders)
        if seconds_for(n, number) > _SECONDS_PER_PAIR * n**2 * cosets:
            return self.by_diagonals.cyclic(permutations)
        chunks = spans(number, max(settings().memory // (64 * n), 1))
        return np.concatenate([self.permuted(permutations.orders(chunk)) for chunk in chunks])

    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """sum_ij D~_ij E~_p(i)p(j) / 4 from sums over the distances D and E and over their rows."""
        x, y = self.first, self.second
        crossed = np.array([x.row_sums @ y.row_sums[order] for order in orders])
        products = distance_sums(x.numbers, y.numbers, orders)
        return centred_products(products, crossed, x.row_sums, y.row_sums)
