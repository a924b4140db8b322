"""HSIC of variables that are read part by part, from sums over pairs of blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.backend import to_numpy
from mercer.gram.block_shifts import ProductSums, most_block_rows, product_sums, strip_rows
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import scales_of
from mercer.gram.shuffled_rows import ShuffledRows
from mercer.htest.dependence.block_shift_evidence import BlockShiftEvidence
from mercer.htest.dependence.hsic_statistic import hsic_values, mean_tolerance
from mercer.htest.dependence.streamed_variables import StreamedVariables
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.rkhs.paired_samples import Variable


class StreamedHSIC(BlockShiftEvidence[ProductSums]):
    """HSIC of two variables in parts."""

    bytes_per_row, bytes_per_order = 96, 32  # row sums and diagonals, and their transforms

    def __init__(self, both: StreamedVariables, unbiased: bool) -> None:
        super().__init__(both)
        self.unbiased = unbiased
        x, y = both.variables
        self._kernels, self._means = (x.kernel, y.kernel), (_mean_value(x), _mean_value(y))

    def _most_block_rows(self) -> int:
        return most_block_rows(self.both.width)

    def _strip_rows(self, block: int | None) -> int:
        return strip_rows(block, self.both.width)

    def _sums(
        self,
        points: tuple[ShuffledRows, ShuffledRows],
        strips: Sequence[slice],
        block: int | None,
    ) -> ProductSums:
        return product_sums(self._kernels, self._means, points, strips, block)

    def _of_passes(self, passes: Sequence[ProductSums], order: np.ndarray) -> CentredSums:
        sums = passes[0]
        rows, diagonals = np.empty_like(sums.rows), np.empty_like(sums.diagonals)
        rows[:, order], diagonals[:, order] = sums.rows, sums.diagonals
        shifted = np.concatenate([each.shifted for each in passes])
        ordered = replace(sums, rows=rows, diagonals=diagonals, shifted=shifted)
        return CentredSums(ordered, self.unbiased)


@dataclass(frozen=True, eq=False)
class CentredSums:
    """HSIC from sums over pairs of K and L less a constant each, with rows in their own order.

    With the row sums r and s of K and L less their means, and the means k and l of all entries,
    tr(K~ P L~ P') = sum_ij K_ij L_p(i)p(j) - 2/n sum_i r_i s_p(i) - n^2 k l.
    """

    sums: ProductSums
    unbiased: bool

    @property
    def observed(self) -> float:
        """HSIC of the observed pairing."""
        (first, second), (a, b) = self._rows, self._diagonals
        trace = self._trace(np.array([self.sums.product]), first @ second)
        crossed = np.array([a @ b]) if self.unbiased else None
        return float(hsic_values(trace, crossed, (a, b))[0])

    @property
    def tolerance(self) -> float:
        """Largest difference by rounding between equal values."""
        n = self.sums.rows.shape[1]
        return mean_tolerance(n, float(np.sqrt(np.prod(self.sums.squares))) / n**2)

    def permuted(self, cyclic: CyclicPermutations) -> np.ndarray:
        """The statistics of all permutations: (b,)."""
        first, second = self._rows[:, None]
        crossed = cyclic.cross_correlations(first, second)[0, 0]
        traces = self._trace(self.sums.shifted[cyclic.positions], crossed)
        a, b = self._diagonals[:, None]
        diagonals = cyclic.cross_correlations(a, b)[0, 0] if self.unbiased else None
        return hsic_values(traces, diagonals, (a[0], b[0]))

    def _trace(self, products: np.ndarray, crossed: np.ndarray) -> np.ndarray:
        """tr(K~ P L~ P') from sum_ij K_ij L_p(i)p(j) and sum_i r_i s_p(i)."""
        rows = self.sums.rows
        return products - 2 / rows.shape[1] * crossed - float(np.prod(rows.mean(axis=1)))

    @cached_property
    def _rows(self) -> np.ndarray:
        """Row sums less their means: (2, n)."""
        return self.sums.rows - self.sums.rows.mean(axis=1, keepdims=True)

    @cached_property
    def _diagonals(self) -> np.ndarray:
        """Diagonals of K~ and L~: (2, n)."""
        means = self.sums.rows / self.sums.rows.shape[1]
        return self.sums.diagonals - 2 * means + means.mean(axis=1, keepdims=True)


def _mean_value(variable: Variable) -> float:
    """About the mean of the kernel over pairs of the subsample."""
    return float(scales_of(Family([variable.kernel], to_numpy(variable.points)))[0][0])
