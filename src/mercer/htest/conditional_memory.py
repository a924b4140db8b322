"""The refusal of conditional tests that would exceed the memory budget."""

from __future__ import annotations

from mercer.config import settings
from mercer.errors import MemoryBudgetError


def need_memory(what: str, needed: int, instead: str = "use RCoT(), which needs less") -> None:
    """Raise `MemoryBudgetError` where `what` needs more bytes than the budget has."""
    if needed > settings().memory:
        raise MemoryBudgetError(
            f"{what} needs {needed / 2**20:,.0f} MiB, and the budget is "
            f"{settings().memory / 2**20:,.0f} MiB: {instead}, or raise the budget with "
            "mercer.config(memory=...)"
        )


def need_matrices(name: str, n: int, copies: int) -> None:
    """Raise `MemoryBudgetError` where so many n x n matrices do not fit into the budget."""
    need_memory(f"{name} of {n:,} observations", copies * 8 * n**2)
