"""Metrics of distributions by indicator functions: total variation and Kolmogorov's distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.frames import Table
from mercer.gram.threads import spans
from mercer.info.metric_closed_forms import OrthantIndicator, closed_form
from mercer.info.metric_value import MetricValue, points_of_width, weighted_pair
from mercer.info.sample import read_two
from mercer.kernels.prepare import aligned
from mercer.rkhs.sample_rows import settled

_MAX_CORNERS = 10**10  # about half a minute
_COMPARED = 2**22  # comparisons of coordinates at a time, when corners are observations


def total_variation(x: Any, y: Any) -> MetricValue:
    """Total variation distance: the largest difference of the means of a function between -1 and 1.

    sup |E f(X) - E f(Y)| over |f| <= 1, which is sum_z |P(z) - Q(z)| for samples and int |p - q| for densities,
    between 0 and 2; half of it is the largest difference of the probabilities of a set. MMD is at most
    sup sqrt(k(z, z)) times it. Two samples that share no observation are at the distance 2 whatever
    their distributions are, so for samples it makes sense where observations repeat.

    `.witness` is the function at which the supremum is attained, the sign of P(z) - Q(z).

    Parameters
    ----------
    x, y : samples or Gaussians
        Arrays, tensors, data frames of numbers and categories, `Empirical` with weights. Two `Gaussian` on
        the line: the closed form.

    Examples
    --------
    >>> total_variation([0, 0, 1, 2], [0, 1, 1, 3])  # |2 - 1| + |1 - 2| + 1 + 1, in quarters
    1.0
    """
    known = closed_form("total_variation", x, y)
    if known is not None:
        return known
    first, second = read_two(x, y)
    atoms, which = np.unique(
        np.concatenate([to_numpy(first.values), to_numpy(second.values)]),
        axis=0,
        return_inverse=True,
    )
    signed = np.concatenate([first.masses, -second.masses])
    gaps = np.bincount(which.ravel(), weights=signed, minlength=len(atoms))
    gaps[np.abs(gaps) < 8 * np.finfo(np.float64).eps] = 0.0  # equal shares, up to rounding
    return MetricValue(
        float(np.abs(gaps).sum()), partial(AtomSigns, atoms, np.sign(gaps), first.columns)
    )


def kolmogorov(x: Any, y: Any, *, observed: bool = False) -> MetricValue:
    """Kolmogorov distance: the largest difference of two cumulative distribution functions.

    sup_z |P(X <= z) - P(Y <= z)|, where X <= z in every coordinate. The supremum is attained at a corner whose
    coordinates are coordinates of observations, not all of one and the same: the number of corners is the product of
    the numbers of distinct values of the columns, all of which are compared. On the line that is a sort.

    `.witness` is the function at which the supremum is attained, the indicator of an orthant with a sign.

    Parameters
    ----------
    x, y : samples or Gaussians
        Arrays, tensors, data frames of numbers, `Empirical` with weights. Two `Gaussian` on the line: the
        closed form.
    observed : bool
        True: compare at corners that are observations, O((n + m)^2), a lower bound of the distance, which
        the test `Kolmogorov` uses; for samples in many dimensions.

    Examples
    --------
    >>> kolmogorov([0.0, 1.0, 2.0], [1.5, 2.0, 2.5])
    0.666...
    >>> kolmogorov([[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]])  # the corner is (0, 0)
    0.5
    """
    validate.truth("observed", observed)
    known = closed_form("kolmogorov", x, y)
    if known is not None:
        return known
    first, second = weighted_pair(x, y)
    points = np.concatenate([first.points, second.points])
    signed = np.concatenate([first.masses, -second.masses])
    if points.shape[1] == 1:
        gap, corner = _on_line(points[:, 0], signed)
    elif observed:
        gap, corner = _at_observations(points, signed)
    else:
        gap, corner = _at_all_corners(points, signed)
    return MetricValue(abs(gap), partial(OrthantIndicator, corner, float(np.sign(gap))))


@dataclass(frozen=True, eq=False)
class AtomSigns:
    """The sign of P(z) - Q(z) at the observations, and 0 elsewhere: the witness of the total variation."""

    atoms: np.ndarray  # (k, d), distinct rows
    signs: np.ndarray
    columns: Any = None  # those of a data frame

    def __call__(self, z: Any) -> np.ndarray:
        """The values at points: (n,)."""
        table = settled(z, "z")
        if self.columns is not None and isinstance(table, Table):
            z = aligned(table, self.columns, ("x", "z")).astype(np.float64)
        else:
            z = points_of_width(z, self.atoms.shape[1])
        known = len(self.atoms)
        _, which = np.unique(np.concatenate([self.atoms, z]), axis=0, return_inverse=True)
        signs = np.zeros(len(which), dtype=np.float64)
        signs[which.ravel()[:known]] = self.signs
        return signs[which.ravel()[known:]]


def lower_orthants(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether every coordinate of a point is at most that of a corner: (corners, points), booleans."""
    result = corners[:, None, 0] >= points[None, :, 0]
    for k in range(1, points.shape[1]):
        result &= corners[:, None, k] >= points[None, :, k]
    return result


def _on_line(values: np.ndarray, signed: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest gap of two cumulative distributions on the line, and where."""
    order = np.argsort(values, kind="stable")
    gaps, values = np.cumsum(signed[order]), values[order]
    last = np.append(values[1:] != values[:-1], True)  # of equal values
    gaps, values = gaps[last], values[last]
    gaps[-1] = 0.0  # both are 1 there, up to rounding
    best = int(np.argmax(np.abs(gaps)))
    return float(gaps[best]), values[best : best + 1]


def _at_observations(points: np.ndarray, signed: np.ndarray) -> tuple[float, np.ndarray]:
    gaps = np.empty(len(points), dtype=np.float64)
    for rows in spans(len(points), max(_COMPARED // len(points), 1)):
        gaps[rows] = lower_orthants(points, points[rows]) @ signed
    best = int(np.argmax(np.abs(gaps)))
    return float(gaps[best]), points[best]


def _at_all_corners(points: np.ndarray, signed: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest gap over all corners: sweep the first coordinate, and keep the gaps of the others.

    An observation with the ranks r adds its weight to the gaps at all corners whose ranks are at least r.
    """
    values, ranks = zip(
        *(np.unique(column, return_inverse=True) for column in points.T), strict=True
    )
    shape = tuple(len(v) for v in values)
    _affordable(shape)
    gaps = np.zeros(shape[1:], dtype=np.float64)
    order = np.argsort(ranks[0], kind="stable")
    rows = np.stack(ranks[1:], axis=1)[order].tolist()
    weights, first = signed[order], ranks[0][order]
    ends = np.append(np.flatnonzero(np.diff(first)), len(first) - 1)
    gap, corner, start = 0.0, (0, 0), 0
    for rank, end in enumerate(ends):
        for k in range(start, end + 1):
            gaps[tuple(slice(r, None) for r in rows[k])] += weights[k]
        start = end + 1
        for at in (int(np.argmax(gaps)), int(np.argmin(gaps))):
            if abs(gaps.flat[at]) > abs(gap):
                gap, corner = float(gaps.flat[at]), (rank, at)
    indices = (corner[0], *np.unravel_index(corner[1], gaps.shape))
    return gap, np.array([v[i] for v, i in zip(values, indices, strict=True)])


def _affordable(shape: tuple[int, ...]) -> None:
    """Raise where the corners are too many to be compared, or their gaps exceed the memory budget."""
    hint = "pass observed=True to compare at the observations only"
    if prod(shape) > _MAX_CORNERS:
        raise ValueError(
            f"kolmogorov compares at {prod(shape):,} corners, the product of the numbers of distinct "
            f"values {shape}, more than {_MAX_CORNERS:,}: {hint}"
        )
    needed, budget = 8 * prod(shape[1:]), settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"kolmogorov needs {needed / 2**20:,.0f} MiB for the gaps at all corners, and the budget is "
            f"{budget / 2**20:,.0f} MiB: {hint}, or raise mercer.config(memory=...)"
        )
