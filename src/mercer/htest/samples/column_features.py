"""One column as explicit features of its kernel, K = ZZ': sums over points then cost N, not N^2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.gram import Gram, cholesky
from mercer.kernels.bandwidth import median_bandwidth, usable
from mercer.kernels.base import Kernel
from mercer.kernels.discrete import Delta
from mercer.kernels.radial import RBF

_VALUES_FOR_BANDWIDTH = 300  # their median distance is within a few percent of that of all values
_MAX_FEATURES = 64  # of a column; about a dozen give an RBF matrix on the line to rounding
_MAX_RESIDUAL = 1e-8  # share of the trace that the features may miss


@dataclass(frozen=True)
class Embedded:
    """A column with its kernel and its features (N, r)."""

    kernel: Kernel
    features: np.ndarray


def embedded(values: np.ndarray, categorical: bool) -> Embedded:
    """A column of numbers or of category codes.

    Numbers have the RBF at their median distance, and features of a partial Cholesky
    decomposition: about a dozen give K to rounding. Categories have [x = y] and an indicator for
    each; beyond 63 of them, those that are rare are taken as one.
    """
    if categorical:
        return Embedded(Delta(), _indicators(values))
    values = values.astype(np.float64)
    levels, place = np.unique(values, return_inverse=True)
    if len(levels) == 1:
        return Embedded(RBF(1.0), np.ones((len(values), 1)))
    kernel = RBF(_bandwidth(values, levels))
    factor = cholesky(Gram(kernel, levels[:, None]), tolerance=_MAX_RESIDUAL, most=_MAX_FEATURES)
    return Embedded(kernel, factor.columns[place])


def _bandwidth(values: np.ndarray, levels: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    subsample = (
        values
        if len(values) <= _VALUES_FOR_BANDWIDTH
        else rng.choice(values, _VALUES_FOR_BANDWIDTH, replace=False)
    )
    if np.all(subsample == subsample[0]):
        subsample = (
            levels
            if len(levels) <= _VALUES_FOR_BANDWIDTH
            else rng.choice(levels, _VALUES_FOR_BANDWIDTH, replace=False)
        )
    return usable(median_bandwidth(subsample), subsample, "a column of x and y")


def _indicators(codes: np.ndarray) -> np.ndarray:
    """One column for each of the most frequent levels, and one for the others together."""
    _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    level = np.minimum(rank[place], _MAX_FEATURES - 1)
    return (level[:, None] == np.arange(min(len(counts), _MAX_FEATURES))).astype(np.float64)
