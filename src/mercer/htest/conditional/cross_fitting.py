"""Residuals of an estimator of the user, each predicted without its own fold."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from mercer.htest.conditional.basis import NumericTable
from mercer.htest.conditional.regression import SmoothedResiduals, fitted_on_part, standard

_FOLDS = 10
_SEED = 0  # of the folds, so that a test gives the same p-value again


def cross_fitted(estimator: Any, table: NumericTable, target: np.ndarray) -> SmoothedResiduals:
    """Residuals of a target (n,) of variance one, after prediction from z in folds.

    What mercer's own regression can still predict of them is taken for bias.
    """
    z = table.indicators()
    n = len(target)
    values = np.empty(n, dtype=np.float64)
    order = np.random.default_rng(_SEED).permutation(n)
    for fold in np.array_split(order, min(_FOLDS, n)):
        rest = np.setdiff1d(order, fold)
        fitted = deepcopy(estimator).fit(z[rest], target[rest])
        predicted = np.asarray(fitted.predict(z[fold]), dtype=np.float64)
        values[fold] = target[fold] - predicted.reshape(len(fold))
    everything = np.ones(n, dtype=bool)
    left = np.std(values) * fitted_on_part(table, standard(values), everything)
    return SmoothedResiduals(
        values,
        vectors=np.zeros((n, 0), dtype=np.float64),
        shares=np.zeros(0, dtype=np.float64),
        bias=left**2,
        sparse=np.zeros(n, dtype=np.float64),
        noise=float(np.mean(values**2)),
        hidden=0.0,
    )
