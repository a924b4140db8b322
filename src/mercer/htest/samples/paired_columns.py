"""Columns of samples whose rows are pairs: statistics that see changes of means as well as any others.

The kernel of a column is made for differences between rows, which are often much larger than changes within pairs: most of
its features then add noise to a change that one feature, the value itself, would show.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.frames import Table
from mercer.htest.pair_units import root_mean_square_changes
from mercer.htest.samples.column_features import Embedded
from mercer.kernels.dot import Linear

# Of standardized statistics of labellings that are equal: sums of features are in float32.
TIE = 1e-4


def columns_as_values(first: Table, second: Table) -> Iterator[Embedded]:
    """Each column of both samples together with the linear kernel, in units of its changes within pairs."""
    values = np.concatenate([first.values, second.values]).astype(np.float64)
    for column, size in zip(values.T, root_mean_square_changes(values).tolist(), strict=True):
        scaled = (column - column.mean()) / (size if size > 0 else 1.0)
        yield Embedded(Linear(), scaled[:, None])


def joined(
    values: np.ndarray, of_means: np.ndarray, first: Table, second: Table, weights: np.ndarray
) -> np.ndarray:
    """The larger of two statistics, standardized over all labellings: (d, B + 1).

    Columns of categories have their own statistic alone, and those that are the same in both rows of every pair 0
    everywhere: swaps change nothing there, and the rounding of sums in another order would decide the p-value.
    """
    categorical = np.array(first.columns.categorical)  # (d,)
    scores, scores_of_means = _standardized(values), _standardized(of_means)
    larger = np.where(categorical[:, None], scores, np.maximum(scores, scores_of_means))
    changed = np.any(first.values != second.values, axis=0) | np.any(weights != weights[0])  # (d,)
    return np.where(changed[:, None], larger, 0.0)


def _standardized(values: np.ndarray) -> np.ndarray:
    """Rows less their mean, over their standard deviation."""
    centred = values - values.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    return centred / np.where(deviation > 0, deviation, 1.0)
