"""HSIC of all pairs of variables from low-rank factors of their Gram matrices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from mercer.backend import to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import Gram, LazyMatrix, cholesky
from mercer.kernels.bandwidth import median_bandwidth
from mercer.kernels.radial import RBF
from mercer.rkhs.measures import without_diagonals


@dataclass(frozen=True)
class HSICFactors:
    """Centred low-rank factors A_j of Gram matrices: H K_j H ~ A_j A_j', so that tr(K_i H K_j H) = |A_i'A_j|^2.

    The number of columns is the numerical rank r of the matrix: about 20 for smooth kernels of one
    variable, for all n. A pair of variables then costs n r^2 operations instead of n^2.
    """

    columns: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, matrices: Iterable[LazyMatrix], *, tolerance: float = 1e-12) -> HSICFactors:
        """Factorise matrices one after the other, within the memory budget."""
        factors: list[np.ndarray] = []
        stored = 0
        for matrix in matrices:
            a = to_numpy(cholesky(matrix, tolerance=tolerance).columns)
            stored += a.nbytes
            if stored > settings().memory:
                raise MemoryBudgetError(
                    f"the factors of {len(factors) + 1} variables with {len(a)} points exceed the memory "
                    f"budget of {settings().memory / 2**20:,.0f} MiB: fit on fewer rows or features, or "
                    "raise mercer.config(memory=...)"
                )
            factors.append(a - a.mean(axis=0))
        return cls(tuple(factors))

    def product(self, i: int, j: int) -> float:
        """tr(K_i H K_j H)."""
        return float(np.sum((self.columns[i].T @ self.columns[j]) ** 2))

    def cka(self, i: int, j: int) -> float:
        """Centred kernel alignment, tr(K_i H K_j H) / |H K_i H| |H K_j H|; 0 where a variable is constant."""
        scale = sqrt(self.product(i, i)) * sqrt(self.product(j, j))
        return self.product(i, j) / scale if scale > 0 else 0.0

    def hsic(self) -> np.ndarray:
        """Unbiased HSIC of all pairs of variables, (p, p), with that of a variable with itself on the diagonal."""
        p = len(self.columns)
        diagonals = [np.sum(a**2, axis=1) for a in self.columns]  # of H K_j H
        values = np.empty((p, p), dtype=np.float64)
        for i in range(p):
            for j in range(i + 1):
                value = without_diagonals(self.product(i, j), diagonals[i], diagonals[j])
                values[i, j] = values[j, i] = value
        return values


def line_gram(values: np.ndarray) -> Gram:
    """Gram matrix of numbers (n,): RBF with their median distance, or 1 where all are equal."""
    varies = values.min() < values.max()
    return Gram(RBF(median_bandwidth(values) if varies else 1.0), values)
