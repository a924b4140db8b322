"""How well a classifier tells observations from draws of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import Array, count, to_numpy
from mercer.frames import Columns
from mercer.htest.goodness.against_draws import drawn, sampler_of
from mercer.htest.out_of_fold import most_rows
from mercer.htest.separation_auc import Separation, separation
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.logdensity import Scores

_MIN_DRAWS = 500  # draws cost little, and few of them would widen the interval
_SEED = 0  # of the draws: the same model and observations give the same number
_MOST_DECIMALS = 8  # of numbers that people write down; others have all the digits of float64


def separation_from_model(model: Any, points: Array, columns: Columns | None) -> Separation | None:
    """Separation of observations (n, d) from as many draws, at least 500; None if the model has no sampler.

    Draws are rounded to the decimals of the observations: rounding is no misfit, and the tests do not see it either.
    """
    if isinstance(model, Scores):
        return None
    try:
        sampler_of(model)
    except (TypeError, ValueError):
        return None
    n = count(points)
    draws = drawn(model, int(np.clip(n, _MIN_DRAWS, most_rows(None))), np.random.default_rng(_SEED))
    observed = to_numpy(points).astype(np.float64)
    rounded = [
        draws[:, j] if decimals is None else np.round(draws[:, j], decimals)
        for j, decimals in enumerate(map(_decimals, observed.T))
    ]
    both = np.concatenate([observed, np.column_stack(rounded)])
    return separation(both, (n, len(draws)), columns, VECTOR_KERNEL)


def _decimals(column: np.ndarray) -> int | None:
    """The number of decimals with which a column is written; None where float64 has no room for more."""
    largest = float(np.max(np.abs(column)))
    for decimals in range(_MOST_DECIMALS + 1):
        if np.all(np.abs(column - np.round(column, decimals)) <= 1e-12 * largest):
            return decimals
    return None
