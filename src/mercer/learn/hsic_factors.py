"""Dependence of many variables on each other: a few columns stand for the Gram matrix of each."""

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
class Factored:
    """Centred factors A_j of Gram matrices: H K_j H ~ A_j A_j', so that tr(K_i H K_j H) = |A_i'A_j|^2.

    A factor has as many columns as its matrix has rank, to a tolerance: some 20 for smooth kernels
    on the line, whatever n is. A pair of variables then costs n r^2 operations, not n^2.
    """

    columns: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, matrices: Iterable[LazyMatrix], *, tolerance: float = 1e-12) -> Factored:
        """Factor matrices one after the other, inside the memory budget."""
        found: list[np.ndarray] = []
        held = 0
        for matrix in matrices:
            a = to_numpy(cholesky(matrix, tolerance=tolerance).columns)
            held += a.nbytes
            if held > settings().memory:
                raise MemoryBudgetError(
                    f"the factors of {len(found) + 1} variables of {len(a)} points take more than "
                    f"the {settings().memory / 2**20:,.0f} MiB of the budget: fit on fewer rows or "
                    "features, or raise mercer.config(memory=...)"
                )
            found.append(a - a.mean(axis=0))
        return cls(tuple(found))

    def product(self, i: int, j: int) -> float:
        """tr(K_i H K_j H)."""
        return float(np.sum((self.columns[i].T @ self.columns[j]) ** 2))

    def cka(self, i: int, j: int) -> float:
        """Centred kernel alignment, tr(K_i H K_j H) / |H K_i H| |H K_j H|; 0 where one is constant."""
        scale = sqrt(self.product(i, i)) * sqrt(self.product(j, j))
        return self.product(i, j) / scale if scale > 0 else 0.0

    def hsic(self) -> np.ndarray:
        """The unbiased HSIC of every two variables, (p, p); of a variable with itself too."""
        p = len(self.columns)
        diagonals = [np.sum(a**2, axis=1) for a in self.columns]  # of H K_j H
        values = np.empty((p, p), dtype=np.float64)
        for i in range(p):
            for j in range(i + 1):
                value = without_diagonals(self.product(i, j), diagonals[i], diagonals[j])
                values[i, j] = values[j, i] = value
        return values


def line_gram(values: np.ndarray) -> Gram:
    """The Gram matrix of numbers (n,): RBF at their median distance, if they differ at all."""
    varies = values.min() < values.max()
    return Gram(RBF(median_bandwidth(values) if varies else 1.0), values)
