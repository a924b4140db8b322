"""The bias of the KSG estimator, measured on a sample whose pairs of columns depend on each other as in the data."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from mercer.info.ksg import local_information
from mercer.info.sample import fixed_generator

_SURE = 2.0  # standard errors from which on pairs count as other than Gaussian
_ALIKE = 2.0  # how often the difference of KSG on data and surrogate fits into what the surrogate changes
_OBSERVATIONS = 1000  # of all surrogates of pairs together, which are several for small samples
_UNPAIRED = 0.001  # level of the test that a column is correlated with one other only


class MeanInformation(NamedTuple):
    """Mean of the terms of KSG, and the variance of that mean."""

    value: float
    variance: float


def measured(parts: list[Any], k: int, *, conditional: bool = False) -> MeanInformation:
    """KSG on variables (n, d_j)."""
    local = local_information(parts, k, conditional)
    return MeanInformation(float(np.mean(local)), float(np.var(local)) / len(local))


def without_noise(difference: float, variance: float) -> float:
    """A difference, shrunk to zero where it is within its standard error."""
    return float(difference * max(0.0, 1 - variance / max(difference**2, variance)))


def paired_correction(
    value: float, x: np.ndarray, y: np.ndarray, gaussian: np.ndarray, information: float, correction: float, k: int
) -> float:  # fmt: skip
    """The correction of the `value` of KSG on whitened x and y where their pairs of columns are not Gaussian.

    `gaussian` is a Gaussian sample with the covariance matrix of (x, y), `information` that of its distribution, and
    `correction` the one measured on it.
    """
    pairs = matched_columns(x.T @ y / len(x), len(x))
    if pairs is None:
        return correction
    excess, variance, width = 0.0, 0.0, x.shape[1]
    for i, j in zip(*pairs, strict=True):
        ours = measured([x[:, [i]], y[:, [j]]], k)
        theirs = measured([gaussian[:, [i]], gaussian[:, [width + j]]], k)
        excess += ours.value - theirs.value
        variance += ours.variance + theirs.variance
    share = 1 - _SURE**2 * variance / max(excess**2, variance)
    if share <= 0:
        return correction
    rng, copies = fixed_generator(), ceil(_OBSERVATIONS / len(x))
    each = [measured([*independent_pairs(x, y, pairs, rng)], k) for _ in range(copies)]
    surrogate = float(np.mean([copy.value for copy in each]))
    paired = without_noise(information + excess - surrogate, each[0].variance / copies)
    unlike, change = _ALIKE * (value - surrogate), paired - correction
    share *= max(0.0, 1 - unlike**2 / max(change**2, unlike**2, np.finfo(np.float64).tiny))
    return correction + share * change


def matched_columns(covariance: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Columns of whitened x and y that are correlated in pairs, the strongest first; None if others are, too.

    Such pairs, as where y is x plus noise, may be independent of each other, whatever their distribution.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.stats import chi2

    rows, columns = linear_sum_assignment(-(covariance**2))
    others = covariance.copy()
    others[rows, columns] = 0.0
    if n * np.sum(others**2) > chi2.isf(_UNPAIRED, others.size - len(rows)):
        return None
    strongest = np.argsort(-(covariance[rows, columns] ** 2))
    return rows[strongest], columns[strongest]


def independent_pairs(
    x: np.ndarray, y: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """x and y with the observations of each pair of columns, and of all columns that are left, in an order of its own."""
    rows = np.argsort(
        x[:, pairs[0][0]], kind="stable"
    )  # the order of the observations must not matter
    z, w = x[rng.permuted(rows)], y[rng.permuted(rows)]
    for i, j in zip(*pairs, strict=True):
        order = rng.permuted(rows)
        z[:, i], w[:, j] = x[order, i], y[order, j]
    return z, w
