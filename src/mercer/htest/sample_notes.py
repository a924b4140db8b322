"""Notes on p-values of few or repeated observations, and the smallest p-value that is attainable.

A permutation test compares the observed statistic with those of other labellings. Where only ten
labellings have different statistics, no p-value is below 1/10, however many resamples are drawn.

Tests assume independent observations. Copies break that, and the p-value is then too small or means
nothing, so results say where rows look like copies. Equal rows are found by hashing, in one pass and a
sort.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import exp, lgamma, log
from typing import Any

import numpy as np

from mercer.backend import is_array, on_gpu, to_numpy
from mercer.htest.nulls import Judgement, Null, Permutation
from mercer.rkhs.sample_rows import is_plain

_USUAL_LEVEL = 0.05  # the level that notes name


def attainable_note(distinct: float, resamples: int, what: str) -> tuple[str, ...]:
    """A note, where `exp(distinct)` rearrangements rather than the resamples limit the p-value."""
    if resamples == 0 or distinct >= log(resamples + 1):
        return ()
    number = round(exp(distinct))
    note = f"With so few observations there are {number} different {what}, so no p-value below about {1 / number:.2g} can be attained"
    if 1 / number > _USUAL_LEVEL:
        note += f": no result is significant at level {_USUAL_LEVEL:g}, however clear it is"
    return (f"{note}.",)


def subsample_note(size: int) -> str:
    """Note on a sample that was read part by part, of which the result keeps some rows."""
    return (
        "The p-value is that of all rows, which were read part by part; effect and witness are those of "
        f"{size:,} random rows."
    )


def raised_to_attainable(judgement: Judgement, distinct: float) -> Judgement:
    """A p-value of `Gamma` or `Spectrum`, not below the smallest one of the permutations they replace."""
    return judgement._replace(pvalue=max(judgement.pvalue, exp(-distinct)))


def log_labellings(sizes: Sequence[int], null: Null | None) -> float:
    """log of the number of labellings of pooled samples whose statistics can differ.

    Where two samples are of equal size, exchanging them does not change a statistic.
    """
    if isinstance(null, Permutation) and null.paired:
        return (sizes[0] - 1) * log(2)
    if isinstance(null, Permutation) and null.blocks is not None:
        return _within_blocks(sizes, null.blocks)
    total = lgamma(sum(sizes) + 1) - sum(lgamma(n + 1) for n in sizes)
    return total - sum(lgamma(copies + 1) for copies in Counter(sizes).values())


def log_pairings(size: int, variables: int, null: Null | None) -> float:
    """log of the number of ways to pair the observations of one variable with those of the others."""
    if isinstance(null, Permutation) and null.blocks is not None:
        log_orders = sum(lgamma(n + 1) for n in Counter(null.blocks).values())
    else:
        log_orders = lgamma(size + 1)
    return (variables - 1) * log_orders


def log_signs(blocks: int) -> float:
    """log of the number of sign vectors whose forms s'Ks can differ: s and -s give the same."""
    return (blocks - 1) * log(2)


def _within_blocks(sizes: Sequence[int], blocks: Sequence[Any]) -> float:
    """log of the number of labellings that permute within blocks."""
    total, start = 0.0, 0
    parts = []
    for n in sizes:
        parts.append(Counter(blocks[start : start + n]))
        start += n
    for label in set(blocks):
        counts = [sizes_by_label[label] for sizes_by_label in parts]
        total += lgamma(sum(counts) + 1) - sum(lgamma(n + 1) for n in counts)
    return total


# ---- repeated rows ------------------------------------------------------------------------------

_CONTINUOUS_SHARE = 0.95  # share of distinct rows from which a sample counts as continuous
_SUSPICIOUS_OVERLAP = 0.05  # share of the smaller sample that also occurs in the other one
_MIN_DISTINCT_ROWS = 10  # with fewer, repetitions are those of discrete data
_ROWS_PER_HASH = 65_536  # rows hashed at a time
_MIN_COPIES_COMPARED = 25  # expected number of copied rows that are looked at: exp(-25) is 1e-11
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads values over all numbers
_MAX_ROWS_FROM_GPU = 100_000  # copying more to the host would take longer than some tests


def sample_rows_notes(x: Any, y: Any) -> tuple[str, ...]:
    """Notes where rows of two samples look like copies: of each other, or within a sample."""
    if _column_differs(x, y):
        return ()
    first, second = _hashes(x), _hashes(y)
    if first is None or second is None:
        return (*copied_rows_note(x), *copied_rows_note(y, name="y"))
    if _all_different(np.concatenate([first, second])):
        return ()
    return (*_shared(first, second), *_copied(first, "x"), *_copied(second, "y"))


def copied_rows_note(*variables: Any, name: str = "x") -> tuple[str, ...]:
    """A note where all observations occur equally often, and more than once."""
    if _column_differs(variables[0]):
        return ()
    hashes = _hashes(*variables)
    return () if hashes is None else _copied(hashes, name)


def same_values_note(x: Any, y: Any) -> tuple[str, ...]:
    """A note where two variables are one: equal in every observation."""
    first, second = _rows(x), _rows(y)
    if first is None or second is None or not np.array_equal(first, second):
        return ()
    return ("x and y are equal in every observation: of course they depend on each other.",)


def _shared(first: np.ndarray, second: np.ndarray) -> tuple[str, ...]:
    """A note where rows of one sample occur in the other, though the data look continuous."""
    if len(first) == len(second) and np.array_equal(np.sort(first), np.sort(second)):
        return (
            "x and y hold the same rows: if they are one sample handed in twice, there is nothing to test.",
        )
    if min(_distinct(first), _distinct(second)) < _CONTINUOUS_SHARE:
        return ()
    small, large = sorted((first, second), key=len)
    shared = int(np.count_nonzero(np.isin(small, large)))
    if shared < max(2, _SUSPICIOUS_OVERLAP * len(small)):
        return ()
    return (
        f"{shared:,} rows occur in both samples, value for value. If they are the same observations, "
        "the samples are not independent and the p-value is not valid: keep each in one sample.",
    )


def _copied(hashes: np.ndarray, name: str) -> tuple[str, ...]:
    """A note where all rows occur equally often, and more than once."""
    if _all_different(hashes):
        return ()
    copies = np.unique(hashes, return_counts=True)[1]
    if len(copies) < _MIN_DISTINCT_ROWS or copies[0] == 1 or np.any(copies != copies[0]):
        return ()
    times = "twice" if copies[0] == 2 else f"{int(copies[0])} times"
    return (
        f"Every row of {name} occurs {times}. If these are copies and not observations of their "
        "own, the p-value is too small: drop them.",
    )


def _all_different(values: np.ndarray) -> bool:
    """Whether no number occurs twice."""
    ordered = np.sort(values)
    return not (ordered[1:] == ordered[:-1]).any()


def _column_differs(*samples: Any) -> bool:
    """Whether the first column rules out the copies that notes are about; it takes far less than hashing rows.

    It does where no value occurs twice. If there are many values, a share of them is compared, chosen by the values, so
    that copies are chosen together: every row of a sample that consists of copies has one among them,
    and of `_SUSPICIOUS_OVERLAP` of the rows about `_MIN_COPIES_COMPARED`, none with probability
    exp(-_MIN_COPIES_COMPARED).
    """
    for x in samples:
        if not (is_plain(x) and x.shape[1] > 0):
            return False
    column = np.concatenate([x[:, 0] for x in samples])
    share = int(_SUSPICIOUS_OVERLAP * min(map(len, samples)) / _MIN_COPIES_COMPARED)
    if share > 1:
        bits = (column + 0.0).view(np.uint64)  # -0.0 becomes 0.0
        column = column[bits * _ODD < np.uint64(2**64 // share)]
    return len(column) > 0 and _all_different(column)


def _distinct(hashes: np.ndarray) -> float:
    return len(np.unique(hashes)) / len(hashes)


def _hashes(*variables: Any) -> np.ndarray | None:
    """A 64-bit number for each observation of all variables together, equal for equal rows: (n,).

    None where observations are not rows of numbers.
    """
    total = None
    for position, points in enumerate(variables):
        values = _rows(points)
        if values is None:
            return None
        odd = _odd_numbers(position, values.shape[1])
        chunks = [
            _hashed(values[i : i + _ROWS_PER_HASH], odd)
            for i in range(0, len(values), _ROWS_PER_HASH)
        ]
        total = np.concatenate(chunks) + (0 if total is None else total)
    return total


def _rows(points: Any) -> np.ndarray | None:
    """Rows of numbers on the host; None for other observations, and for too many on a GPU."""
    if not is_array(points) or points.ndim != 2 or points.shape[1] == 0:
        return None
    if on_gpu(points) and len(points) > _MAX_ROWS_FROM_GPU:
        return None
    return to_numpy(points)


@cache
def _odd_numbers(position: int, number: int) -> np.ndarray:
    """Random odd 64-bit numbers, always the same: (number,)."""
    rng = np.random.default_rng(position)
    return 2 * rng.integers(2**63, size=number, dtype=np.uint64) + 1


def _hashed(values: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """sum_j odd_j bits_j modulo 2^64, the high bits of a float folded into its low ones."""
    bits = np.add(values, 0.0, dtype=np.float64, order="C").view(np.uint64)  # -0.0 becomes 0.0
    return (bits ^ (bits >> np.uint64(32))) @ odd
