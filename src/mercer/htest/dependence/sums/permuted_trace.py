"""tr(K~ P L~ P') of two centred Gram matrices for many permutations P, by the quickest road.

Permutations come as orders, one by one, or in turns (see `turns`): all n moves of one order at once,
which Fourier transforms give in O(n^2 log n) from the diagonals of the matrices (see `diagonals`).
Where both matrices have low rank, K~ = AA' and L~ = BB', it is |A'PB|^2, and the moves of one order
cost r s cross-correlations of columns, O(r s n log n).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.backend import on_gpu, to_numpy
from mercer.config import settings
from mercer.gram import LazyMatrix
from mercer.gram.combine import Dense
from mercer.gram.threads import in_order, spans
from mercer.htest.dependence.sums.centered_gram import Line, Side, Spanned
from mercer.htest.dependence.sums.cyclic_permutations import Turns
from mercer.htest.dependence.sums.diagonals import correlations, together
from mercer.htest.dependence.sums.distance_covariance_1d import distance_sums, seconds_for
from mercer.htest.dependence.sums.permuted_dense import permuted_sums
from mercer.htest.dependence.sums.permuted_low_rank import permuted_norms
from mercer.kernels.base import Points

_MANY = 1000  # observations from which on threads pay
_TOGETHER = 16  # columns that are transformed at a time
_DIAGONALS = 1.5e-8  # seconds for a pair of observations, by diagonals


class Product(ABC):
    """tr(K~ P L~ P') of two variables."""

    @cached_property
    @abstractmethod
    def observed(self) -> float:
        """Of the order as it is."""

    @abstractmethod
    def drawn(self, turns: Turns) -> np.ndarray:
        """Of the permutations that were drawn in turns: (b,)."""

    @abstractmethod
    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """Of any permutations, the rows of `orders`: (b,)."""


def product(first: Side, second: Side) -> Product:
    """By factors or numbers where both sides have them, else by all diagonals."""
    if isinstance(first, Spanned) and isinstance(second, Spanned):
        return Factored(first.columns, second.columns, first.variable.points)
    banded = Banded(first, second)
    if isinstance(first, Line) and isinstance(second, Line):
        return Lined(first, second, banded)
    return banded


@dataclass(frozen=True)
class Factored(Product):
    """Of K~ = AA' and L~ = BB': |A'PB|^2."""

    a: np.ndarray  # (n, r)
    b: np.ndarray  # (n, s)
    points: Points  # where they are, the work is done

    @cached_property
    def observed(self) -> float:
        """|A'B|^2."""
        return float(np.sum((self.a.T @ self.b) ** 2))

    def drawn(self, turns: Turns) -> np.ndarray:
        """By cross-correlations of the columns."""
        n, values = len(turns.base), turns.empty()
        if on_gpu(self.points):
            from mercer.gram.cuda.circular_correlation import squared_correlations

            for row, other in zip(values, turns.others, strict=True):
                row[:] = squared_correlations(self.a[turns.base], self.b[other], self.points.device)
            return values.ravel()[turns.places]
        left = np.conj(np.fft.rfft(self.a[turns.base], axis=0))  # (f, r)
        for row, other in zip(values, turns.others, strict=True):
            work = _Columns(left, np.fft.rfft(self.b[other], axis=0), n)
            row[:] = sum(in_order(work, range(left.shape[1]), parallel=n > _MANY, shown=False))
        return values.ravel()[turns.places]

    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """By matrix products."""
        return permuted_norms(self.a, self.b, orders)


@dataclass(frozen=True)
class _Columns:
    """j -> the squared cross-correlations of column j of A with all columns of B, summed: (n,)."""

    left: np.ndarray
    right: np.ndarray
    n: int

    def __call__(self, j: int) -> np.ndarray:
        total = np.zeros(self.n, dtype=np.float64)
        for some in spans(self.right.shape[1], _TOGETHER):
            crossed = np.fft.irfft(self.left[:, j, None] * self.right[:, some], self.n, axis=0)
            total += np.einsum("is,is->i", crossed, crossed)  # (n, s) -> (n,)
        return total


@dataclass(frozen=True)
class Banded(Product):
    """Of matrices of any rank, a few diagonals at a time; a stripe of rows at a time for any orders."""

    first: Side
    second: Side

    @cached_property
    def observed(self) -> float:
        """sum_ij K~_ij L~_ij."""
        return self.first.matrix().inner(self.second.matrix())

    def drawn(self, turns: Turns) -> np.ndarray:
        """By cross-correlations of the diagonals."""
        return banded([self.first], [self.second], turns)[0, 0]

    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """One by one."""
        return permuted_sums(self.first.matrix(), self.second.matrix(), orders)


def banded(firsts: Sequence[Side], seconds: Sequence[Side], turns: Turns) -> np.ndarray:
    """tr(K~ P L~ P') of every K~ with every L~, for the permutations in `turns`: (k, l, b)."""
    n, cosets = len(turns.base), len(turns.others)
    lefts = [side.matrix(turns.base) for side in firsts]
    if cosets > 1 and 8 * n**2 * (len(firsts) + len(seconds)) <= settings().memory // 2:
        lefts = [Dense(to_numpy(matrix.dense())) for matrix in lefts]
        held = [to_numpy(side.matrix().dense()) for side in seconds]
        rights = [Reordered(array, other) for array in held for other in turns.others]
    else:
        rights = [side.matrix(other) for side in seconds for other in turns.others]
    height = min(len(lefts), max(together(n) // 2, 1))
    step = max(together(n) - height, 1)
    values = np.empty((len(lefts), len(rights), n), dtype=np.float64)
    for some in spans(len(lefts), height):
        for others in spans(len(rights), step):
            values[some, others] = correlations(lefts[some], rights[others])
    return values.reshape(len(firsts), len(seconds), -1)[:, :, turns.places]


@dataclass(frozen=True, repr=False)
class Reordered(LazyMatrix):
    """A symmetric matrix that is held, of the same observations in another order."""

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
        """Yes."""
        return True

    def block(self, rows: slice, columns: slice, /) -> np.ndarray:
        """The block, gathered."""
        return self.array[self.order[rows, None], self.order[columns]]


@dataclass(frozen=True)
class Lined(Product):
    """Of the energy kernel on numbers: distance covariances, in O(n log n) each where that is quicker."""

    first: Line
    second: Line
    banded: Banded

    @cached_property
    def observed(self) -> float:
        """By one sort."""
        return float(self.permuted(np.arange(len(self.first.numbers))[None, :])[0])

    def drawn(self, turns: Turns) -> np.ndarray:
        """By diagonals, or one by one."""
        n, number = len(turns.base), len(turns.places)
        if seconds_for(n, number) > _DIAGONALS * n**2 * len(turns.others):
            return self.banded.drawn(turns)
        parts = [
            self.permuted(turns.orders(some))
            for some in spans(number, max(settings().memory // (64 * n), 1))
        ]
        return np.concatenate(parts)

    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """sum_ij D~_ij E~_p(i)p(j) / 4 from sums over the distances D and E and over their rows."""
        x, y, n = self.first, self.second, orders.shape[1]
        total = x.rows.sum() * y.rows.sum() / n**2
        crossed = np.array([x.rows @ y.rows[order] for order in orders])
        return (distance_sums(x.numbers, y.numbers, orders) - 2 * crossed / n + total) / 4
