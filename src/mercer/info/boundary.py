"""Intervals of mutual information at its smallest value: zero belongs to them unless a permutation test excludes it.

Information is never negative, but its estimates are about as often below zero as above where variables are
independent, and those of categories and of numbers that repeat have a bias there. An interval around the estimate
alone would exclude zero much too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, sqrt

import numpy as np

from mercer.info.estimator import Estimator
from mercer.info.sample import Sample, fixed_generator, shuffled

_FEW = 5  # permutations after which a value far above all of them is clear
_CLEAR = 12.0  # standard deviations: by Student's t with 4 degrees of freedom 1 in 5,000


def at_boundary(interval: tuple[float, float], value: float, positive: bool) -> tuple[float, float]:
    """The interval for a quantity that is not negative; it starts at zero unless that is excluded.

    `positive` is whether a test of the value zero at half of the error of the interval rejects. So an interval of 95%
    leaves zero out with probability 2.5% at most, if the information is zero, whatever the bias of the estimate. The
    upper end is that around the estimate or around zero, whichever is larger.
    """
    low, high = interval
    return (max(low, 0.0) if positive else 0.0), max(value, 0.0) + (high - low) / 2


def exceeds_permutations(
    estimator: Estimator, samples: Sequence[Sample], value: float, error: float
) -> bool:
    """Whether the information is positive: a permutation test at level `error`, with as few permutations as it allows.

    Ends with the first permutation whose estimate reaches the value, or as soon as the value is clear.
    """
    rng = fixed_generator().spawn(1)[0]  # estimators draw from the parent, for the order of ties
    draws = np.empty(0, dtype=np.float64)
    for count in range(1, ceil(1 / error)):
        moved = [samples[0], *(shuffled(s, rng) for s in samples[1:])]
        draw = estimator.information(moved)
        if draw >= value - 1e-12:
            return False
        draws = np.append(draws, draw)
        if count == _FEW and value > _clear(draws):
            return True
    return True


def _clear(draws: np.ndarray) -> float:
    """A value that no further permutation would reach; infinite where draws coincide and do not show their spread."""
    if len(np.unique(draws)) < len(draws):
        return inf
    spread = float(draws.std(ddof=1)) * sqrt(1 + 1 / len(draws))
    return float(draws.mean()) + _CLEAR * spread
