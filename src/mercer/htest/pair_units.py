"""Units of columns whose rows are pairs: changes within pairs, and not differences between them, are of interest.

Swapping the rows of pairs, as paired permutations do, leaves these units as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.frames import Table
from mercer.htest.normal_scores import NormalScores
from mercer.kernels.default import VaryingColumns, varying

_LEAST = 0.01  # of a standard deviation: smaller units would leave nothing else to be seen


def root_mean_square_changes(values: np.ndarray) -> np.ndarray:
    """Of each column within pairs, whose first rows come first, and then the second ones: (d,)."""
    first, second = np.split(values.astype(np.float64), 2)
    return np.sqrt(np.mean((second - first) ** 2, axis=0))


def change_factors(values: np.ndarray) -> np.ndarray:
    """What standardized columns are multiplied by for changes within pairs of mean square 1: (d,).

    Columns that never change keep their unit.
    """
    change = root_mean_square_changes(values)
    return np.where(change > 0, 1 / np.maximum(change, _LEAST), 1.0)


def varying_numbers(data: Table, paired: bool) -> VaryingColumns | None:
    """The numbers of two samples over their standard deviations, or over the changes within pairs; None: there are none."""
    numbers = varying(data)
    if numbers is None or not paired:
        return numbers
    factors = change_factors(numbers.values)
    together = zip(numbers.factors, factors.tolist(), strict=True)
    return VaryingColumns(
        numbers.names, tuple(a * b for a, b in together), numbers.values * factors
    )


def scores_of_pairs(values: np.ndarray) -> NormalScores:
    """Normal scores over their changes within pairs."""
    scores = NormalScores.of(values)
    factors = change_factors(np.asarray(scores(values)))
    heights = zip(scores.heights, factors.tolist(), strict=True)
    return replace(scores, heights=tuple(h * factor for h, factor in heights))
