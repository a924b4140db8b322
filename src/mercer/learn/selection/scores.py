"""Unbiased HSIC of a target with sets of features that differ by one feature, in one pass.

With the U-centred matrix U of the target, the statistic of Song et al. (2012, eq. 5) is linear in
the matrix of the features,

    HSIC(S) = sum_ij k(x_i^S, x_j^S) U_ij / n(n - 3),

so that all the sets of a round share the tiles of U; and for kernels of the distance they share
those of |x_i^S - x_j^S|^2, to which one feature adds (x_ij - x_kj)^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from mercer import validate
from mercer.backend import Array, astype, double, namespace, scalar, set_diagonal, zeros
from mercer.gram import Gram, LazyMatrix
from mercer.gram.lazy import Changed
from mercer.gram.threads import in_order, spans
from mercer.kernels import RBF, Kernel, radial_form
from mercer.kernels.metric import squared_distances


@dataclass(frozen=True)
class SetScores:
    """Unbiased HSIC of sets of columns of `features` (n, p) with a target, given U-centred.

    A kernel left None is RBF(sqrt(d) / 2) on sets of d features. Where their variances are 1, the mean
    squared distance is 2d: the bandwidth is about a third of the usual one, at which interactions
    and even functions of features weigh more, and linear dependence is seen as well.
    """

    features: np.ndarray
    target: UCentered
    kernel: Kernel | None = None

    def of(self, columns: Sequence[int]) -> float:
        """HSIC of one set; 0 for no columns, as their kernel is constant."""
        if len(columns) == 0:
            return 0.0
        gram = Gram(self.kernel_of(len(columns)), self.features[:, list(columns)])
        return gram.inner(self.target) / self._pairs

    def without(self, columns: Sequence[int]) -> np.ndarray:
        """HSIC of the set less one of its columns, for each of them: (len(columns),)."""
        sets = [[c for c in columns if c != dropped] for dropped in columns]
        return self._of_neighbours(columns, columns, sets, -1.0)

    def with_each(self, columns: Sequence[int], others: Sequence[int]) -> np.ndarray:
        """HSIC of the set and one more column, for each of the others: (len(others),)."""
        return self._of_neighbours(columns, others, [[*columns, added] for added in others], 1.0)

    def kernel_of(self, size: int) -> Kernel:
        """The kernel on sets of so many columns."""
        return RBF(sqrt(size) / 2) if self.kernel is None else self.kernel

    @property
    def _pairs(self) -> int:
        n = len(self.features)
        return n * (n - 3)

    def _of_neighbours(
        self, base: Sequence[int], candidates: Sequence[int], sets: Sequence[list[int]], sign: float
    ) -> np.ndarray:
        form = radial_form(self.kernel_of(len(sets[0]))) if sets and sets[0] else None
        if form is None:
            return np.array([self.of(s) for s in sets], dtype=np.float64)
        shared = self.features[:, list(base)]
        changed = np.ascontiguousarray(self.features[:, list(candidates)].T)
        work = _OnePass(form.profile, shared, changed, sign, self.target)
        tiles = range(len(spans(len(shared))))
        return sum(in_order(work, tiles, parallel=True), np.zeros(len(sets))) / self._pairs


@dataclass(frozen=True)
class MeasureScores:
    """Dependence of sets of columns of `features` (n, p) and a target (n,) by any measure, one call for each set."""

    features: np.ndarray
    target: np.ndarray
    measure: Callable[[np.ndarray, np.ndarray], float]

    def of(self, columns: Sequence[int]) -> float:
        """Dependence of one set; 0 for no columns."""
        if len(columns) == 0:
            return 0.0
        value = self.measure(self.features[:, list(columns)], self.target)
        validate.number("the value of measure", value)
        return float(value)

    def without(self, columns: Sequence[int]) -> np.ndarray:
        """Dependence of the set less one of its columns, for each of them: (len(columns),)."""
        return np.array([self.of([c for c in columns if c != dropped]) for dropped in columns])

    def with_each(self, columns: Sequence[int], others: Sequence[int]) -> np.ndarray:
        """Dependence of the set and one more column, for each of the others: (len(others),)."""
        return np.array([self.of([*columns, added]) for added in others])


@dataclass(frozen=True)
class _OnePass:
    """i -> what rows i add to sum_ij f(|x_i - x_j|^2 +- (z_i - z_j)^2) U_ij, for each z."""

    profile: Callable[[Array], Array]
    shared: np.ndarray  # x: (n, d)
    changed: np.ndarray  # z: (candidates, n)
    sign: float
    target: UCentered

    def __call__(self, i: int) -> np.ndarray:
        n = len(self.shared)
        rows = spans(n)[i]
        total = np.zeros(len(self.changed), dtype=np.float64)
        for columns in spans(n, first=rows.start):
            twice = 1.0 if columns == rows else 2.0
            weights = twice * self.target.block(rows, columns)
            r2 = self._distances(rows, columns)
            for k, z in enumerate(self.changed):
                distances2 = z[rows][:, None] - z[columns][None, :]
                distances2 *= distances2
                distances2 *= self.sign
                distances2 += r2
                np.maximum(distances2, 0.0, out=distances2)
                total[k] += np.vdot(self.profile(distances2), weights)
        return total

    def _distances(self, rows: slice, columns: slice) -> np.ndarray:
        if self.shared.shape[1] == 0:
            return np.zeros((rows.stop - rows.start, columns.stop - columns.start), np.float64)
        return squared_distances(self.shared[rows], self.shared[columns], self.profile)


@dataclass(frozen=True, repr=False)
class UCentered(Changed):
    """L_ij - r_i / (n-2) - r_j / (n-2) + t / (n-1)(n-2) off the diagonal, and 0 on it.

    r_i and t are the sums of the rows and of all entries, without the diagonal; n must be at
    least 4. A projection: the inner product of L with another U-centred matrix is that of both
    U-centred (Szekely and Rizzo 2014, section 3).
    """

    matrix: LazyMatrix
    row_shares: Array  # r_i / (n - 2)
    share: float  # t / (n - 1)(n - 2)

    @classmethod
    def of(cls, matrix: LazyMatrix) -> UCentered:
        """U-centre a symmetric matrix; one pass over its tiles."""
        n = matrix.shape[0]
        rows = matrix.row_sums() - astype(matrix.diagonal(), double(matrix.like))
        total = scalar(namespace(rows).sum(rows))
        return cls(matrix, rows / (n - 2), total / ((n - 1) * (n - 2)))

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The U-centred block."""
        tile = self.matrix.block(rows, columns)
        tile -= astype(self.row_shares[rows] - self.share, tile.dtype)[:, None]
        tile -= astype(self.row_shares[columns], tile.dtype)[None, :]
        first, last = max(rows.start, columns.start), min(rows.stop, columns.stop)
        if first < last:
            none = zeros((last - first,), tile)
            set_diagonal(tile, first - rows.start, first - columns.start, none)
        return tile

    def diagonal(self) -> Array:
        """Zeros: (n,)."""
        return zeros((self.shape[0],), self.like)
