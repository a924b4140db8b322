"""Random Fourier frequencies of kernels, their phases, and the memory check for features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.backend import count, take_rows, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError, NoRule
from mercer.gram.threads import spans
from mercer.htest.feature_tests import is_real
from mercer.kernels.base import Points
from mercer.kernels.spectral_density import sample_frequencies
from mercer.rkhs.paired_samples import Variable

_ROWS_PER_CHUNK = 16384  # observations: a few MiB for the usual number of features


def frequencies(variable: Variable, number: int, rng: np.random.Generator) -> np.ndarray | None:
    """Draws from the spectral density of the variable's kernel, (number, d); None where it has none."""
    if not is_real(variable.points):
        return None
    try:
        return sample_frequencies(variable.kernel, number, variable.points.shape[1], rng=rng)
    except NoRule:
        return None


def phases(points: Points, omega: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Phases w'x in chunks of observations: their slice, and the phases (rows, number) in float64."""
    for rows in spans(count(points), _ROWS_PER_CHUNK):
        yield rows, to_numpy(take_rows(points, rows)).astype(np.float64) @ omega.T


def check_affordable(n: int, number: int, what: str, copies: int) -> None:
    """Raise MemoryBudgetError where `copies` of `number` features exceed the memory budget."""
    needed = copies * 8 * n * number
    if needed > settings().memory:
        raise MemoryBudgetError(
            f"{number} features of {n:,} observations need {needed / 2**20:,.0f} MiB, and the budget "
            f"is {settings().memory / 2**20:,.0f} MiB: use fewer {what}, or raise it by "
            "mercer.config(memory=...)"
        )
