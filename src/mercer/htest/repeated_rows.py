"""Observations that occur more than once: the same array twice, overlapping samples, copied rows.

Tests assume independent observations. Copies break that, and the p-value is then too small or
means nothing, so results say where rows look like copies. Equal rows are found by hashing, in one
pass and a sort.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import is_array, on_gpu, to_numpy

_DISTINCT = 0.95  # share of different rows, from which a sample counts as continuous
_SHARED = 0.05  # share of the smaller sample that must occur in the other one
_VALUES = 10  # different rows, below which repetitions are those of discrete data
_CHUNK = 65_536  # rows hashed at a time
_ON_GPU = 100_000  # rows that are fetched from a GPU; more would take longer than some tests


def shared_rows_note(x: Any, y: Any) -> tuple[str, ...]:
    """A note where rows of one sample occur in the other, though the data look continuous."""
    first, second = _hashes(x), _hashes(y)
    if first is None or second is None:
        return ()
    if len(first) == len(second) and np.array_equal(np.sort(first), np.sort(second)):
        return (
            "x and y hold the same rows: if they are one sample handed in twice, there is nothing to test.",
        )
    if min(_distinct(first), _distinct(second)) < _DISTINCT:
        return ()
    small, large = sorted((first, second), key=len)
    shared = int(np.count_nonzero(np.isin(small, large)))
    if shared < max(2, _SHARED * len(small)):
        return ()
    return (
        f"{shared:,} rows occur in both samples, value for value. If they are the same observations, "
        "the samples are not independent and the p-value is not valid: keep each in one sample.",
    )


def copied_rows_note(*variables: Any, name: str = "x") -> tuple[str, ...]:
    """A note where all observations occur equally often, and more than once."""
    hashes = _hashes(*variables)
    if hashes is None:
        return ()
    copies = np.unique(hashes, return_counts=True)[1]
    if len(copies) < _VALUES or copies[0] == 1 or np.any(copies != copies[0]):
        return ()
    times = "twice" if copies[0] == 2 else f"{int(copies[0])} times"
    return (
        f"Every row of {name} occurs {times}. If these are copies and not observations of their "
        "own, the p-value is too small: drop them.",
    )


def same_values_note(x: Any, y: Any) -> tuple[str, ...]:
    """A note where two variables are one: equal in every observation."""
    first, second = _hashes(x), _hashes(y)
    if first is None or second is None or not np.array_equal(first, second):
        return ()
    return ("x and y are equal in every observation: of course they depend on each other.",)


def _distinct(hashes: np.ndarray) -> float:
    return len(np.unique(hashes)) / len(hashes)


def _hashes(*variables: Any) -> np.ndarray | None:
    """A 64-bit number for each observation of all variables together, equal for equal rows: (n,).

    None where observations are not rows of numbers.
    """
    total = None
    for position, points in enumerate(variables):
        if not is_array(points) or points.ndim != 2 or points.shape[1] == 0:
            return None
        if on_gpu(points) and len(points) > _ON_GPU:
            return None
        values, rng = to_numpy(points), np.random.default_rng(position)
        odd = 2 * rng.integers(2**63, size=values.shape[1], dtype=np.uint64) + 1
        chunks = [_hashed(values[i : i + _CHUNK], odd) for i in range(0, len(values), _CHUNK)]
        total = np.concatenate(chunks) + (0 if total is None else total)
    return total


def _hashed(values: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """sum_j odd_j bits_j modulo 2^64, the high bits of a float folded into its low ones."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: -0.0 becomes 0.0
    return ((bits ^ (bits >> np.uint64(32))) * odd).sum(axis=1, dtype=np.uint64)
