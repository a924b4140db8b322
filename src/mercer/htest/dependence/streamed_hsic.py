"""HSIC of variables that are read part by part, and its permutations: shifts inside of blocks of a random order.

Permutations that move rows inside of blocks need pairs of blocks only, two at a time. All b shifts of blocks of b rows
are a group, so that the p-value is exact (`CyclicPermutations`); in a random order they mix rows from everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.backend import to_numpy
from mercer.gram.block_shifts import ProductSums, block_rows, product_sums, strip_rows
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import scales_of
from mercer.gram.shuffled_rows import check_order_fits
from mercer.gram.threads import spans
from mercer.htest.dependence.hsic_statistic import hsic_values, mean_tolerance
from mercer.htest.dependence.streamed_variables import StreamedVariables
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.htest.nulls import Permutation
from mercer.rkhs.paired_samples import Variable

_BYTES_PER_ROW = 96  # of row sums, diagonals and places
_BYTES_PER_ORDER = (
    32  # for each row, too: a random order, and row sums in that order and transformed
)


class StreamedHSIC:
    """HSIC of two variables in parts, for the observed pairing and for shifts inside of blocks."""

    def __init__(self, both: StreamedVariables, unbiased: bool) -> None:
        self.n, self.unbiased, self._both = len(both), unbiased, both

    @property
    def observed(self) -> float:
        """The statistic."""
        if self._sums is None:
            self._sums = self._passes([np.arange(self.n)], None)
        sums = self._sums
        first, second = sums.diagonals
        crossed = np.array([first @ second]) if self.unbiased else None
        return float(hsic_values(np.array([sums.trace]), crossed, (first, second))[0])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics of all permutations from `columns.start` on; column 0 is the observed one."""
        block = block_rows(self.n, null.resamples + 1, self._both.width)
        needed = _BYTES_PER_ROW + _BYTES_PER_ORDER * -(-(null.resamples + 1) // block)
        check_order_fits(self.n, needed, "use NFSIC(), which reads rows in any order")
        cyclic = CyclicPermutations(self.n, null, seed, block)
        sums = self._sums = self._passes(cyclic.coset_orders, block)
        first, second = sums.diagonals
        crossed = None
        if self.unbiased:
            crossed = cyclic.cross_correlations(first[None, :], second[None, :])[0, 0]
        return hsic_values(sums.traces(cyclic), crossed, (first, second))[columns.start :]

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        magnitude = 0.0 if self._sums is None else self._sums.product_of_norms
        return mean_tolerance(self.n, magnitude / self.n**2)

    # ---- private ------------------------------------------------------------------------

    _sums: _CentredSums | None = None  # of the latest pass

    def _passes(self, orders: Sequence[np.ndarray], block: int | None) -> _CentredSums:
        """Sums over pairs, with the first variable in the first order, and the second one in each of them."""
        both, first = self._both, orders[0]
        x, y = both.variables
        constants = _mean_value(x), _mean_value(y)
        strips = spans(self.n, strip_rows(block, both.width))
        passes = []
        with both.shuffled(0, first, strips) as points:
            for order in orders:
                with both.shuffled(1, order, strips) as others:
                    pair = points, others
                    passes.append(
                        product_sums((x.kernel, y.kernel), constants, pair, strips, block)
                    )
        rows, diagonals = np.empty_like(passes[0].rows), np.empty_like(passes[0].diagonals)
        rows[:, first], diagonals[:, first] = passes[0].rows, passes[0].diagonals
        shifted = None if block is None else np.concatenate([p.shifted for p in passes])
        sums = replace(passes[0], rows=rows, diagonals=diagonals, shifted=shifted)
        return _CentredSums(sums)


@dataclass(frozen=True, eq=False)
class _CentredSums:
    """Sums over pairs of the centred matrices K~ and L~, from those of K and L less a constant each.

    tr(K~ P L~ P') = sum_ij K_ij L_p(i)p(j) - 2/n sum_i r_i s_p(i) - n^2 k l, with the row sums r and s of K and L less
    their means, and the means k and l of all entries.
    """

    sums: ProductSums  # rows in the order of the files

    @property
    def trace(self) -> float:
        """tr(K~ L~)."""
        first, second = self._centred_rows
        return self.sums.product - 2 / len(first) * float(first @ second) - self._constant

    def traces(self, cyclic: CyclicPermutations) -> np.ndarray:
        """tr(K~ P L~ P') of all permutations."""
        assert self.sums.shifted is not None
        first, second = self._centred_rows
        crossed = cyclic.cross_correlations(first[None, :], second[None, :])[0, 0]
        shifted = self.sums.shifted[cyclic.positions]
        return shifted - 2 / len(first) * crossed - self._constant

    @cached_property
    def diagonals(self) -> np.ndarray:
        """Diagonals of K~ and L~: (2, n)."""
        rows = self.sums.rows
        means = rows / rows.shape[1]
        return self.sums.diagonals - 2 * means + means.mean(axis=1, keepdims=True)

    @property
    def product_of_norms(self) -> float:
        """|K| |L|, which bounds the sums over pairs."""
        return float(np.sqrt(np.prod(self.sums.squares)))

    @cached_property
    def _centred_rows(self) -> np.ndarray:
        return self.sums.rows - self.sums.rows.mean(axis=1, keepdims=True)

    @property
    def _constant(self) -> float:
        return float(np.prod(self.sums.rows.mean(axis=1)))


def _mean_value(variable: Variable) -> float:
    """About the mean of the kernel over pairs of the subsample."""
    return float(scales_of(Family([variable.kernel], to_numpy(variable.points)))[0][0])
