"""Bandwidths from data: the median distance, and a grid around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, namespace, to_numpy
from mercer.kernels.metric import squared_distances
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import RBF

_EXACT = 2000  # points whose 2 million distances are all taken: 16 MB
_ROWS = 128  # of them whose distances to all others are taken at a time
_SEED = 0  # draws the points when there are more and no rng


def median_bandwidth(x: Any, *, rng: int | np.random.Generator | None = None) -> float:
    """The median of the Euclidean distances |x_i - x_j|, i < j: a first guess at the bandwidth.

    Exact for up to 2,000 points. Of more points 2,000 are drawn without replacement; with
    ``rng=None`` the draw is always the same, so that equal data have equal bandwidths.
    Where more than half of the distances are 0 (discrete data), the median of the positive ones
    is returned. Multiplying the data by a constant multiplies the bandwidth by it. In high
    dimensions distances concentrate and the median is close to all of them; where the difference
    sits on a smaller scale than the data, use `bandwidth_grid`.

    Parameters
    ----------
    x : array, tensor, data frame or nested list of numbers, (n, d)
        The points; in a two-sample problem the pooled sample.
    rng : int, Generator or None
        Draws the points when there are more than 2,000.

    Returns
    -------
    float

    Examples
    --------
    >>> median_bandwidth([0.0, 1.0, 3.0])  # distances 1, 2, 3
    2.0
    >>> median_bandwidth([0, 0, 0, 0, 1])  # six distances are 0, four are 1
    1.0
    """
    return _median(pair_distances(x, rng=rng))


def bandwidth_grid(
    x: Any, number: int = 5, *, rng: int | np.random.Generator | None = None
) -> tuple[float, ...]:
    """Bandwidths in geometric progression that cover the scales of the data, smallest first.

    From half the 5% quantile to twice the 95% quantile of the positive distances, as in tests
    aggregated over bandwidths (Schrab et al. 2023, MMDAgg). One bandwidth is the median.

    Parameters
    ----------
    x : array, tensor, data frame or nested list of numbers, (n, d)
    number : int
        How many bandwidths.
    rng : int, Generator or None
        As in `median_bandwidth`.

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> bandwidth_grid([0.0, 1.0, 2.0, 4.0, 8.0], number=3)
    (0.5, 2.74..., 15.0...)
    """
    validate.whole("number", number)
    distances = pair_distances(x, rng=rng)
    if number == 1:
        return (_median(distances),)
    positive = distances if distances.min() > 0 else distances[distances > 0]
    low, high = np.quantile(positive, (0.05, 0.95), overwrite_input=True)
    return tuple(float(b) for b in np.geomspace(low / 2, high * 2, number))


def median_rbf(x: Any, *, name: str = "x", rng: int | np.random.Generator | None = None) -> RBF:
    """RBF at the median distance of `x`, which messages call `name`."""
    points = _numbers(x, name)
    return RBF(usable(_median(pair_distances(points, name=name, rng=rng)), points, name))


def usable(bandwidth: float, points: Array, name: str, *, squared: bool = True) -> float:
    """The bandwidth chosen from the points `name`, if their dtype can divide by it, or its square."""
    least = float(namespace(points).finfo(points.dtype).smallest_normal)
    within = 1 / validate.EXTREME <= bandwidth <= validate.EXTREME
    if not (within and least <= (bandwidth**2 if squared else bandwidth)):
        raise ValueError(
            f"points of {name} are about {bandwidth:.3g} apart, beyond the range of "
            f"{points.dtype}: divide the data by a constant first"
        )
    return bandwidth


def pair_distances(
    x: Any, *, name: str = "x", rng: int | np.random.Generator | None = None
) -> np.ndarray:
    """|x_i - x_j| for i < j, not all of them 0, of at most 2,000 points: (n (n - 1) / 2,)."""
    points = _numbers(x, name)
    if points.shape[0] < 2:
        raise ValueError(f"{name} needs at least two points for a bandwidth: give it as a number")
    distances = _distances(_drawn(points, rng))
    if distances.max() == 0:  # of all points, or only of those that were drawn?
        distinct = np.unique(to_numpy(points), axis=0)
        if len(distinct) == 1:
            raise ValueError(
                f"all points of {name} are equal, so that their distances say nothing about a "
                "bandwidth: give it as a number, such as RBF(1.0)"
            )
        distances = _distances(_drawn(distinct, rng))
    return distances


def _numbers(x: Any, name: str) -> Array:
    """`x` as points, of whatever library; a data frame must not hold categories."""
    data = as_table(x, name)
    if data is not None and any(data.columns.categorical):
        label = data.columns.names[data.columns.categorical.index(True)]
        raise TypeError(
            f"column {label!r} of {name} holds categories, between which there is no distance: "
            "leave it out, or use default_kernel(frame)"
        )
    return validate.points(x if data is None else data.values, name)


def _drawn(points: Array, rng: int | np.random.Generator | None) -> np.ndarray:
    """At most `_EXACT` of the points, in float64 on the host."""
    n = points.shape[0]
    if n > _EXACT:
        draw = validate.generator(_SEED if rng is None else rng)
        rows = np.sort(draw.choice(n, _EXACT, replace=False, shuffle=False))
        xp = namespace(points)
        points = xp.take(points, array_like(rows, points, dtype=xp.int64), axis=0)
    return to_numpy(points).astype(np.float64)


def _distances(points: np.ndarray) -> np.ndarray:
    """|x_i - x_j| for i < j, whatever the unit and the origin of the points."""
    points = points - points[:1]  # exactly 0 where points are equal
    scale = float(np.max(np.abs(points))) or 1.0
    points = points / scale
    n, end = len(points), 0
    distances = np.empty(n * (n - 1) // 2, dtype=np.float64)
    for start in range(0, n, _ROWS):
        r2 = squared_distances(points[start : start + _ROWS], points[start:])
        for i, row in enumerate(r2):
            begin, end = end, end + len(row) - i - 1
            distances[begin:end] = row[i + 1 :]
    np.sqrt(distances, out=distances)
    distances *= scale
    return distances


def _median(distances: np.ndarray) -> float:
    """The median, of the positive distances where that of all is 0; reorders them."""
    median = float(np.median(distances, overwrite_input=True))
    return median or float(np.median(distances[distances > 0]))
