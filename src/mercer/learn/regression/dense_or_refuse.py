"""Dense Gram matrices for solvers that need them, within the memory budget."""

from __future__ import annotations

from mercer.backend import Array, astype, double
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import LazyMatrix


def affordable(matrix: LazyMatrix, copies: float) -> bool:
    """Whether the memory budget allows `copies` of the matrix in float64."""
    return 8 * copies * matrix.shape[0] ** 2 <= settings().memory


def dense_within_budget(matrix: LazyMatrix, copies: float, what: str, instead: str) -> Array:
    """The matrix in float64, if the budget allows `copies` of it."""
    n, budget = matrix.shape[0], settings().memory
    needed = 8 * copies * n * n
    if not affordable(matrix, copies):
        raise MemoryBudgetError(
            f"{what} of {n:,} points needs {needed / 2**20:,.0f} MiB, but the budget is "
            f"{budget / 2**20:,.0f} MiB: {instead}, or raise mercer.config(memory=...)"
        )
    return astype(matrix.dense(), double(matrix.like))
