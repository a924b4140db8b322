"""The bias of the KSG estimator, measured on a sample whose pairs of coordinates depend on each other as in the data."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from mercer import linalg
from mercer.info.ksg import local_information
from mercer.info.sample import fixed_generator

_SURE = 2.0  # standard errors from which on pairs count as other than Gaussian
_OBSERVATIONS = 1000  # of all surrogates with the pairs of the data together, which are several for small samples
_UNPAIRED = 0.001  # level of the test that a column is correlated with one other only


class Measured(NamedTuple):
    """Mean of the terms of KSG, and the variance of that mean."""

    value: float
    variance: float


def measured(parts: list[Any], k: int, *, conditional: bool = False) -> Measured:
    """KSG on variables (n, d_j)."""
    local = local_information(parts, k, conditional)
    return Measured(float(np.mean(local)), float(np.var(local)) / len(local))


def without_noise(difference: float, variance: float) -> float:
    """A difference, shrunk to zero where it is within its standard error."""
    return float(difference * max(0.0, 1 - variance / max(difference**2, variance)))


def paired_correction(
    x: np.ndarray, y: np.ndarray, gaussian: np.ndarray, information: float, correction: float, k: int
) -> float:  # fmt: skip
    """The correction of KSG on whitened x and y where their pairs of coordinates are not Gaussian.

    `gaussian` is a Gaussian sample with the covariance matrix of (x, y), `information` that of its distribution, and
    `correction` the one measured on it.
    """
    left, right = paired_directions(x.T @ y / len(x), len(x))
    pairs = [
        (x @ left, y @ right),
        (gaussian[:, : len(left)] @ left, gaussian[:, len(left) :] @ right),
    ]
    excess, variance = 0.0, 0.0
    for j in range(left.shape[1]):
        ours, theirs = (measured([z[:, [j]], w[:, [j]]], k) for z, w in pairs)
        excess += ours.value - theirs.value
        variance += ours.variance + theirs.variance
    share = 1 - _SURE**2 * variance / max(excess**2, variance)
    if share <= 0:
        return correction
    rng, copies = fixed_generator(), ceil(_OBSERVATIONS / len(x))
    each = [measured([*independent_pairs(x, y, left, right, rng)], k) for _ in range(copies)]
    value = float(np.mean([copy.value for copy in each]))
    paired = without_noise(information + excess - value, each[0].variance / copies)
    return (1 - share) * correction + share * paired


def paired_directions(covariance: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Orthogonal directions in which whitened x and y are correlated in pairs only: (d_x, m) and (d_y, m).

    Columns, if no other pairs of them are correlated, as where y is x plus noise: their pairs may then be
    independent, whatever their distribution. Otherwise the canonical directions.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.stats import chi2

    pairs = linear_sum_assignment(-(covariance**2))
    strongest = np.argsort(-(covariance[pairs] ** 2))
    pairs = pairs[0][strongest], pairs[1][strongest]
    others = covariance.copy()
    others[pairs] = 0.0
    freedom = others.size - len(pairs[0])
    if n * np.sum(others**2) <= chi2.isf(_UNPAIRED, max(freedom, 1)):
        rows, columns = (np.eye(d)[:, p] for d, p in zip(others.shape, pairs, strict=True))
        return rows, columns
    left, _, right = linalg.svd(covariance)
    return left, right.T


def independent_pairs(
    x: np.ndarray, y: np.ndarray, left: np.ndarray, right: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """x and y with the observations of each pair of coordinates, and of what is left, in an order of its own."""
    z, w = x @ left, y @ right
    rows = np.argsort(z[:, 0], kind="stable")  # the order of the observations must not matter
    rest = (x - z @ left.T)[rng.permuted(rows)], (y - w @ right.T)[rng.permuted(rows)]
    for j in range(z.shape[1]):
        order = rng.permuted(rows)
        z[:, j], w[:, j] = z[order, j], w[order, j]
    return z @ left.T + rest[0], w @ right.T + rest[1]
