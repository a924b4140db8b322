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


def separation_from_model(model: Any, points: Array, columns: Columns | None) -> Separation | None:
    """Separation of observations (n, d) from as many draws, at least 500; None if the model has no sampler."""
    if isinstance(model, Scores):
        return None
    try:
        sampler_of(model)
    except (TypeError, ValueError):
        return None
    n = count(points)
    draws = drawn(model, int(np.clip(n, _MIN_DRAWS, most_rows(None))), np.random.default_rng(_SEED))
    both = np.concatenate([to_numpy(points).astype(np.float64), draws])
    return separation(both, (n, len(draws)), columns, VECTOR_KERNEL)
