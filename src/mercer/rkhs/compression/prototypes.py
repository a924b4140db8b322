"""Prototypes and criticisms of a sample: points that represent it, and points that these represent badly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.rkhs.compression.greedy_selection import Column, checked_points, columns_of

_LEAST_SHARE = 1e-9  # of k(x, x), below which a criticism is a combination of those before it


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Rows of a sample that represent it, and rows that they represent badly.

    Attributes
    ----------
    prototypes : array (m,)
        Positions of the prototypes in the order of selection: the first 10 are the result for m = 10.
    criticisms : array (c,)
        Positions of the criticisms in the order of selection.
    witness : array (n,)
        Witness mean_i k(x_i, .) - mean_j k(p_j, .) of sample and prototypes at every row: positive where the
        prototypes have too little mass, negative where they have too much.
    mmd2 : array (m,)
        Squared maximum mean discrepancy of the sample and the first 1, 2, ..., m prototypes.
    """

    prototypes: np.ndarray
    criticisms: np.ndarray
    witness: np.ndarray
    mmd2: np.ndarray


def prototypes(kernel: Kernel | None, x: Any, m: int, *, criticisms: int = 0) -> Prototypes:
    """Select `m` prototypes and some criticisms of a sample (MMD-critic).

    Prototypes minimise, one after the other, MMD^2 of the sample and the prototypes so far; no row is selected
    twice. Criticisms maximise sum_c |w(x_c)| + log det K_cc with the witness w: rows that the prototypes represent badly and that
    differ from each other (Kim, Khanna and Koyejo 2016). Needs O(n (m + c)) kernel values beside the n^2 of
    the row sums, and O(n) memory for each of the criticisms.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of x.
    x : points
    m : int
        Number of prototypes.
    criticisms : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> x = np.r_[np.linspace(-0.1, 0.1, 20), np.linspace(4.9, 5.1, 20), [9.0]]
    >>> chosen = prototypes(RBF(0.5), x, 2, criticisms=1)
    >>> sorted(x[chosen.prototypes].round().tolist()), x[chosen.criticisms]
    ([0.0, 5.0], array([9.]))
    """
    validate.whole("m", m)
    validate.whole("criticisms", criticisms, 0)
    kernel, points = checked_points(kernel, x, median_rbf)
    n = count(points)
    if m + criticisms > n:
        raise ValueError(
            f"m and criticisms must be at most {n} together, the number of points, got {m} and {criticisms}"
        )
    mean = to_numpy(Gram(kernel, points).row_sums()).astype(np.float64) / n
    diagonal = to_numpy(kernel.diag(points)).astype(np.float64)
    column = columns_of(kernel, points)
    rows, mmd2, witness = _prototype_rows(column, mean, diagonal, m)
    critical = _criticism_rows(column, diagonal, np.abs(witness), set(rows.tolist()), criticisms)
    return Prototypes(rows, critical, witness, mmd2)


def _prototype_rows(
    column: Column, mean: np.ndarray, diagonal: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Greedy minimisation of MMD^2 = |mu|^2 - 2/t sum_j mu(p_j) + 1/t^2 sum_jl k(p_j, p_l)."""
    sums = np.zeros(len(mean), dtype=np.float64)  # sum_j k(p_j, .)
    rows, values = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.float64)
    total, inner, free = float(mean.mean()), 0.0, np.ones(len(mean), dtype=bool)
    linear = 0.0
    for t in range(1, m + 1):
        candidates = (inner + 2 * sums + diagonal) / t**2 - 2 * (linear + mean) / t
        best = int(np.argmin(np.where(free, candidates, np.inf)))
        rows[t - 1], values[t - 1], free[best] = best, max(total + candidates[best], 0.0), False
        inner, linear = inner + 2 * sums[best] + diagonal[best], linear + mean[best]
        sums += column(best)
    return rows, values, mean - sums / m


def _criticism_rows(
    column: Column, diagonal: np.ndarray, size: np.ndarray, taken: set[int], number: int
) -> np.ndarray:
    """Greedy maximisation of sum |w| + log det K: a row adds |w| plus the log of its variance given the others."""
    variances, factors = diagonal.copy(), np.empty((number, len(diagonal)), dtype=np.float64)
    free = np.ones(len(diagonal), dtype=bool)
    free[list(taken)] = False
    rows = np.empty(number, dtype=np.int64)
    for t in range(number):
        floor = _LEAST_SHARE * np.maximum(diagonal, np.finfo(np.float64).tiny)
        gain = size + np.log(np.maximum(variances, floor))
        best = int(np.argmax(np.where(free, gain, -np.inf)))
        rows[t], free[best] = best, False
        pivot = np.sqrt(max(variances[best], floor[best]))
        factors[t] = (column(best) - factors[:t].T @ factors[:t, best]) / pivot
        variances = np.maximum(variances - factors[t] ** 2, 0.0)
    return rows
