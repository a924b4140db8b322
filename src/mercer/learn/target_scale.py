"""Location and spread of a target: weighted median, mean and median absolute deviations."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

_HALF_TOLERANCE = 1e-12  # relative: half of the weight is reached up to rounding
_MEAN_TO_SD = sqrt(pi / 2)  # standard deviation over mean absolute deviation of a normal variable
_MEDIAN_TO_SD = (
    1.4826022185056018  # standard deviation over median absolute deviation of a normal variable
)


def weighted_median(y: np.ndarray, weights: np.ndarray) -> float:
    """Weighted median of numbers (n,) with weights (n,).

    A weight of 2 stands for two copies, and the median of -y is minus the median of y: where half of the
    weight is reached exactly, the median is midway to the next number.
    """
    order = np.argsort(y, kind="stable")
    below, half = np.cumsum(weights[order]), np.sum(weights) / 2
    low = int(np.searchsorted(below, half - _HALF_TOLERANCE * half))
    high = int(np.searchsorted(below, half + _HALF_TOLERANCE * half, side="right"))
    last = len(y) - 1
    return float((y[order[min(low, last)]] + y[order[min(high, last)]]) / 2)


def spread(y: np.ndarray, weights: np.ndarray) -> float:
    """Mean absolute deviation from the median, scaled to estimate the standard deviation of normal data.

    The scale of losses that are proportional to the error: the loss of the best constant. 0 where all
    numbers are equal.
    """
    off = np.abs(y - weighted_median(y, weights))
    return _MEAN_TO_SD * float(np.sum(off * weights) / np.sum(weights))


def robust_spread(y: np.ndarray, weights: np.ndarray) -> float:
    """Median absolute deviation, scaled as `spread` is, but robust against outliers.

    Equals `spread` where more than half of the numbers are equal.
    """
    off = np.abs(y - weighted_median(y, weights))
    return _MEDIAN_TO_SD * weighted_median(off, weights) or spread(y, weights)
