"""The unit of a target: its location and spread, robust and with weights."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

_TIE = 1e-12  # of the total weight: a half that is reached up to rounding
_MEAN = sqrt(pi / 2)  # standard deviations of a normal variable in its mean absolute deviation
_MEDIAN = 1.4826022185056018  # and in its median absolute deviation


def weighted_median(y: np.ndarray, weights: np.ndarray) -> float:
    """The median of numbers (n,) that count by their weights (n,).

    Weights of 2 are two copies, and the median of -y is minus that of y: where half of the weight
    is reached exactly, the median is midway to the next number.
    """
    order = np.argsort(y, kind="stable")
    below, half = np.cumsum(weights[order]), np.sum(weights) / 2
    low = int(np.searchsorted(below, half - _TIE * half))
    high = int(np.searchsorted(below, half + _TIE * half, side="right"))
    last = len(y) - 1
    return float((y[order[min(low, last)]] + y[order[min(high, last)]]) / 2)


def spread(y: np.ndarray, weights: np.ndarray) -> float:
    """The mean absolute deviation from the median, in units in which it is 1 for a standard normal.

    The scale of losses that are proportional to the error: the loss of the best constant. 0 for
    numbers that are all equal.
    """
    off = np.abs(y - weighted_median(y, weights))
    return _MEAN * float(np.sum(off * weights) / np.sum(weights))


def robust_spread(y: np.ndarray, weights: np.ndarray) -> float:
    """The median absolute deviation from the median, in the same units: outliers do not count.

    `spread` where more than half of the numbers are equal.
    """
    off = np.abs(y - weighted_median(y, weights))
    return _MEDIAN * weighted_median(off, weights) or spread(y, weights)
