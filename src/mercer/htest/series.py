"""Observations that depend on those before them: how far a series remembers, and blocks of signs.

The kernel autocorrelation at lag h is mean_i K~_i(i+h) / mean_i K~_ii: what the features of the
observations, around their mean, have in common with those h steps later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.gram import LazyMatrix
from mercer.htest.dependence.diagonals import diagonals

_FORGOTTEN = 0.05  # autocorrelation below which a series does not remember
_LAGS = 256  # looked at, at most
_STEPS = 8  # lengths of the memory that make a block: see `block_length`
FEWEST = 8  # blocks of a series: 2^7 different signs


def lag_means(matrix: LazyMatrix) -> np.ndarray:
    """mean_i K_i(i+h) from lag h = 0 on, for a quarter of the observations and 256 lags at most."""
    n = matrix.shape[0]
    lags = max(min(n // 4, _LAGS), 1)
    values = diagonals(matrix, slice(0, lags))  # (n, lags), round the corner
    return np.array([values[: n - h, h].mean() for h in range(lags)], dtype=np.float64)


def autocorrelations(matrix: LazyMatrix) -> np.ndarray:
    """Of a centred kernel matrix whose rows are in the order of time, from lag 0 on.

    Examples
    --------
    >>> from mercer.gram import Gram
    >>> from mercer.kernels import Linear
    >>> x = np.random.default_rng(0).normal(size=(1000, 1))
    >>> np.abs(autocorrelations(Gram(Linear(), x).centered()))[:3].round(1).tolist()
    [1.0, 0.0, 0.0]
    """
    return relative(lag_means(matrix))


def relative(means: np.ndarray) -> np.ndarray:
    """Divided by that at lag 0; 0 where all observations are equal to the kernel."""
    return means / means[0] if means[0] > 0 else np.zeros_like(means)


def memory(correlations: np.ndarray) -> int:
    """The first lag at which the autocorrelation is below 0.05: 1 for independent observations."""
    below = np.flatnonzero(correlations < _FORGOTTEN)
    return max(int(below[0]) if len(below) else len(correlations), 1)


def block_length(parts: Sequence[np.ndarray], n: int, fewest: int = FEWEST) -> int:
    """Observations that share a sign: 1 + 8 (m - 1), with m the memory, in `fewest` blocks at least.

    `parts` are autocorrelations of independent parts of a statistic: those of their product are
    the products. Signs of blocks lose the covariances across their borders, about a share
    of (2 / block) sum_h h r_h / (1 + 2 sum_h r_h) of the variance: below 10% for autoregressions.

    Examples
    --------
    >>> block_length([0.5 ** np.arange(50)], n=500)
    33
    >>> block_length([0.5 ** np.arange(50), 0.5 ** np.arange(50)], n=500)
    17
    """
    together = np.prod([part[: min(map(len, parts))] for part in parts], axis=0)
    return min(1 + _STEPS * (memory(together) - 1), max(n // fewest, 1))
