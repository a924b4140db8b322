"""Bandwidths from data: the median distance, and a grid around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    namespace,
    on_accelerator,
    to_numpy,
)
from mercer.kernels.median_distance import (
    ROWS_PER_BLOCK,
    scaled,
    selected_median,
    upper_triangle,
)
from mercer.kernels.metric import squared_distances
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import RBF

_MAX_POINTS = 2000  # their 2 million distances take 16 MB; more points are subsampled
_MAX_ALL_DISTANCES = 128  # points up to which all distances are selected from as fast
_SEED = 0  # of the subsample when there is no rng


def median_bandwidth(x: Any, *, rng: int | np.random.Generator | None = None) -> float:
    """The median of the Euclidean distances |x_i - x_j|, i < j: a first guess at the bandwidth.

    Exact for up to 2,000 points; larger samples are subsampled to 2,000 without replacement, with
    ``rng=None`` always in the same way, so that equal data have equal bandwidths.
    Where more than half of the distances are 0 (discrete data), the median of the positive ones
    is returned. Multiplying the data by a constant multiplies the bandwidth by it. In high
    dimension distances concentrate around the median; where samples differ on a smaller scale than
    that of the data, use `bandwidth_grid`.

    Parameters
    ----------
    x : array, tensor, data frame or nested list of numbers, (n, d)
        The points; in a two-sample problem the pooled sample.
    rng : int, Generator or None
        Draws the subsample when there are more than 2,000 points.

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
    return _median_distance(_several(x, "x"), "x", rng)


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
        The number of bandwidths.
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
    """RBF at the median distance of `x`; messages refer to `x` by `name`."""
    points = _several(x, name)
    return RBF(usable(_median_distance(points, name, rng), points, name))


def usable(bandwidth: float, points: Array, name: str, *, squared: bool = True) -> float:
    """The bandwidth, if the dtype of the points can divide by it (or by its square); else an error."""
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
    """|x_i - x_j| for i < j, of at most 2,000 points and not all 0: (n (n - 1) / 2,)."""
    return _all_distances(_several(x, name), name, rng)


def _all_distances(points: Array, name: str, rng: int | np.random.Generator | None) -> np.ndarray:
    """`pair_distances` of checked points."""
    distances = _distances(_subsample(points, rng))
    if distances.max() == 0:  # of all points, or only of the subsample?
        distinct = np.unique(to_numpy(points), axis=0)
        if len(distinct) == 1:
            raise ValueError(
                f"all points of {name} are equal, so their distances give no bandwidth: "
                "give one, such as RBF(1.0)"
            )
        distances = _distances(_subsample(distinct, rng))
    return distances


def _median_distance(points: Array, name: str, rng: int | np.random.Generator | None) -> float:
    """The median of the distances; those of points on a GPU are sorted there, in a hundredth of the time."""
    if on_accelerator(points):
        xp, near = namespace(points), _chosen(points, rng)
        near = astype(near, double(near)) - astype(near[:1, ...], double(near))
        r2 = squared_distances(near, near)
        n = int(r2.shape[0])
        upper = xp.triu(xp.ones_like(r2), k=1) > 0
        distances = xp.sqrt(xp.sort(r2[upper]))
        median = float(distances[(n * (n - 1) // 2 - 1) // 2] + distances[n * (n - 1) // 4]) / 2
        if median > 0 and np.isfinite(median):
            return median
    drawn_once = isinstance(rng, np.random.Generator) and points.shape[0] > _MAX_POINTS
    few = points.shape[0] <= _MAX_ALL_DISTANCES
    median = None if few or drawn_once else selected_median(_subsample(points, rng))
    return _median(_all_distances(points, name, rng)) if median is None else median


def _numbers(x: Any, name: str) -> Array:
    """`x` as points of any array library; a data frame must not hold categories."""
    data = as_table(x, name)
    if data is not None and any(data.columns.categorical):
        label = data.columns.names[data.columns.categorical.index(True)]
        raise TypeError(
            f"column {label!r} of {name} holds categories, between which there is no distance: "
            "leave it out, or use default_kernel(frame)"
        )
    return validate.points(x if data is None else data.values, name)


def _several(x: Any, name: str) -> Array:
    """`x` as at least two points."""
    points = _numbers(x, name)
    if points.shape[0] < 2:
        raise ValueError(f"{name} needs at least two points for a bandwidth: give it as a number")
    return points


def _subsample(points: Array, rng: int | np.random.Generator | None) -> np.ndarray:
    """A subsample of at most `_MAX_POINTS` points, in float64 on the host."""
    return to_numpy(_chosen(points, rng)).astype(np.float64)


def _chosen(points: Array, rng: int | np.random.Generator | None) -> Array:
    """A subsample of at most `_MAX_POINTS` points."""
    n = int(points.shape[0])
    if n > _MAX_POINTS:
        rows, xp = subsample_rows(n, rng), namespace(points)
        points = xp.take(points, array_like(rows, points, dtype=xp.int64), axis=0)
    return points


def subsample_rows(n: int, rng: int | np.random.Generator | None = None) -> np.ndarray:
    """Positions of the points whose distances give the bandwidth of n points."""
    if n <= _MAX_POINTS:
        return np.arange(n)
    draw = validate.generator(_SEED if rng is None else rng)
    return np.sort(draw.choice(n, _MAX_POINTS, replace=False, shuffle=False))


def _distances(points: np.ndarray) -> np.ndarray:
    """|x_i - x_j| for i < j, without overflow or loss of accuracy far from the origin."""
    points, scale = scaled(points)
    blocks = [
        upper_triangle(squared_distances(points[start : start + ROWS_PER_BLOCK], points[start:]))
        for start in range(0, len(points), ROWS_PER_BLOCK)
    ]
    distances = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    np.sqrt(distances, out=distances)
    distances *= scale
    return distances


def _median(distances: np.ndarray) -> float:
    """The median, or that of the positive distances where it is 0; reorders them."""
    median = float(np.median(distances, overwrite_input=True))
    return median or float(np.median(distances[distances > 0]))
