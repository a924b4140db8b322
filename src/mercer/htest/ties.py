"""Ties between resampled statistics: numbers that are equal in mathematics and differ by rounding.

On discrete data many labellings have the same statistic. A permutation test counts a tie as at
least as extreme as what was observed; if rounding decides instead, the p-value depends on the order
of the rows, and it can be far too small. Two steps prevent that. Statistics computed in float32
are checked for near-ties (`coincide`), and computed again in float64 where there are many: on
continuous data there are almost none. What float64 leaves is merged (`merged`) within a tolerance
far below the distance of statistics that differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.backend import Array, count, is_array, is_single, on_gpu, take_rows, to_numpy
from mercer.gram.multi_kernel_forms import PairSums

# Typical rounding error of float32 means over pairs; 0.3 to 11 times eps were measured.
_FLOAT32_NOISE = 2 * float(np.finfo(np.float32).eps)
# Rounding of values to half precision; these errors average out over the pairs.
_FLOAT16_NOISE = 2.0**-9
# Error of a kernel value whose distance came from split half precision.
_GPU_VALUE_NOISE = 64 * float(np.finfo(np.float32).eps)
_FLOAT64_NOISE = 100 * float(np.finfo(np.float64).eps)  # of a kernel value, with its sums
# Relative to the variation of kernel values: distances by matrix products, far from the origin.
_DISTANCE_NOISE = 1e-11
# Labellings of up to 24 points repeat. Float64 costs nothing up to 48 (23 kernels, 999 permutations: 1 ms more of 7),
# and then aggregated evidence, a continuous function of all statistics, has no rounding of float32.
_MAX_POINTS_IN_FLOAT64 = 48
_DISCRETE_SHARE = 0.5  # share of distinct points below which ties are expected
_STATISTICS_CHECKED = 512  # sorted, all gaps of more statistics would be narrow
# Share of gaps: on continuous data of 5,000 points at most a tenth is so narrow.
_NARROW_GAPS = 0.25
# Added to the share that is expected: 5 standard deviations of 511 gaps, and their uneven density.
_NARROW_BY_CHANCE = 0.15
_INNER_SHARE = 0.8  # of sorted statistics, those between the tenths
_MIN_RESOLVED = 4.0  # noises between the tenths; statistics closer to each other are all equal


def coincide(values: np.ndarray, noise: np.ndarray) -> bool:
    """Whether many neighbours among the sorted statistics of a row are closer than their noise.

    Parameters
    ----------
    values : array (k, B)
        The first 512 values of every row are looked at.
    noise : array (k,)
        The rounding errors of a row.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(coincide(rng.integers(0, 9, (1, 99)) + 1e-8 * rng.random((1, 99)), np.array([1e-7])))
    True
    >>> bool(coincide(rng.random((1, 99)), np.array([1e-7])))
    False
    """
    leading = np.sort(values[:, :_STATISTICS_CHECKED], axis=1)
    with np.errstate(invalid="ignore"):  # infinite statistics
        gaps = np.diff(leading, axis=1)
    narrow = np.count_nonzero(gaps <= noise[:, None], axis=1) / gaps.shape[1]
    return bool(np.any(narrow > _narrow_without_ties(leading, noise)))


def _narrow_without_ties(ordered: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The largest share of narrow gaps between continuous statistics: (k,).

    The gaps of many points shrink with the statistics, below the noise of float32 from some 50,000 points
    on. Those of a continuous distribution are exponential; more narrow ones than these are ties.
    """
    low, high = ordered[:, ordered.shape[1] // 10], ordered[:, -1 - ordered.shape[1] // 10]
    with np.errstate(divide="ignore", invalid="ignore"):  # infinite or equal statistics
        gap = (high - low) / (_INNER_SHARE * (ordered.shape[1] - 1))
        expected = -np.expm1(-noise / gap) + _NARROW_BY_CHANCE
    resolved = high - low > _MIN_RESOLVED * noise
    return np.where(resolved, np.maximum(_NARROW_GAPS, expected), _NARROW_GAPS)


class Levels(NamedTuple):
    """Values of which those that differ by rounding were made equal, and their ranks."""

    values: np.ndarray  # (B,)
    ranks: np.ndarray  # (B,), how many values are at least as large as each, itself included


def merged(values: np.ndarray, tolerance: float) -> Levels:
    """Make neighbours that are at most `tolerance` apart equal, and rank what is left.

    Examples
    --------
    >>> found = merged(np.array([3.0, 1.0, 2.0, 2.1]), 0.2)
    >>> found.values.tolist(), found.ranks.tolist()
    ([3.0, 1.0, 2.0, 2.0], [1, 4, 3, 3])
    """
    order = np.argsort(values)
    ordered, places = values[order], np.arange(len(values))
    with np.errstate(invalid="ignore"):  # infinite statistics
        near = (np.diff(ordered) <= tolerance) | (ordered[1:] == ordered[:-1])
    places[1:][near] = 0
    lowest = np.maximum.accumulate(places)  # of the level that each belongs to
    levels, ranks = np.empty_like(values), np.empty_like(places)
    levels[order], ranks[order] = ordered[lowest], len(values) - lowest
    return Levels(levels, ranks)


def single_noise(sums: PairSums, like: Array) -> np.ndarray:
    """Typical rounding errors of means of kernel values that were taken in float32: (kernels,).

    `like` is an array of the dtype and device of the kernel values. Those of float32 have errors of
    their own, which show where a kernel is constant; on a GPU they are rounded to half precision.
    """
    total, gpu = sums.rows.shape[1], on_gpu(like)
    rounded = _FLOAT16_NOISE / total if gpu else 0.0
    each = _GPU_VALUE_NOISE / total if gpu or is_single(like) else 0.0
    return _spread(sums) * (_FLOAT32_NOISE + rounded) + each * np.abs(sums.shift)


def double_noise(sums: PairSums) -> np.ndarray:
    """A bound on the rounding errors of means of kernel values taken in float64: (kernels,)."""
    return _DISTANCE_NOISE * _spread(sums) + _FLOAT64_NOISE * np.abs(sums.shift)


def few_points(points: Any) -> bool:
    """Whether points are so few that float64 costs nothing, or so few of them differ that ties are to be expected."""
    n = count(points)
    if n <= _MAX_POINTS_IN_FLOAT64 or not is_array(points):
        return n <= _MAX_POINTS_IN_FLOAT64
    rows = to_numpy(take_rows(points, slice(0, n, -(-n // _STATISTICS_CHECKED))))
    return len({row.tobytes() for row in rows}) <= _DISCRETE_SHARE * len(rows)


def _spread(sums: PairSums) -> np.ndarray:
    """The root of the mean squared kernel value, less the shift, over pairs i != j: (kernels,)."""
    total = sums.rows.shape[1]
    return np.sqrt(np.maximum(sums.squares, 0.0) / (total * (total - 1)))
