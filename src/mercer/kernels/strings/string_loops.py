"""Sums over pairs of equal characters of two strings, for all pairs of strings: compiled, or in NumPy.

A cell (i, j) of two strings s and t counts where s[i] = t[j]. The loops differ in what a cell takes from
the cells before it: the diagonal neighbour, or all cells with smaller i and j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.native import helper, is_quick, native_loop

_SIGNATURE = "long* long* long* long* double* double* long long long long double long"

Strings = Sequence[np.ndarray]  # character codes of each string


def subsequence_sums(x: Strings, y: Strings, decay: float, length: int) -> np.ndarray:
    """Sum of decay^(span in s + span in t) over common subsequences of a length: (n, m)."""

    def formula(s: np.ndarray, t: np.ndarray) -> float:
        equal = (s[:, None] == t[None, :]) * decay**2
        cells = equal.astype(np.float64)
        for _ in range(length - 1):
            before = np.zeros_like(cells)
            before[1:, 1:] = _discounted(cells, decay)[:-1, :-1]
            cells = equal * before
        return float(cells.sum())

    return _all_pairs(_subsequences, formula, x, y, decay, length)


def substring_sums(x: Strings, y: Strings, decay: float, longest: int) -> np.ndarray:
    """Sum of decay^length over common substrings of at most a length: (n, m)."""

    def formula(s: np.ndarray, t: np.ndarray) -> float:
        value, runs = 0.0, np.zeros(len(t) + 1, dtype=np.int64)
        weights = np.cumsum([0.0, *(decay ** np.arange(1, min(len(s), len(t)) + 1))])
        for letter in s:
            runs[1:] = np.where(t == letter, runs[:-1] + 1, 0)
            value += float(weights[np.minimum(runs[1:], longest)].sum())
        return value

    return _all_pairs(_substrings, formula, x, y, decay, longest)


def all_subsequence_sums(x: Strings, y: Strings) -> np.ndarray:
    """Number of pairs of equal subsequences, the empty one among them: (n, m)."""

    def formula(s: np.ndarray, t: np.ndarray) -> float:
        sums = np.zeros(len(t) + 1, dtype=np.float64)  # of all cells in rows so far, by columns
        for letter in s:
            sums[1:] += np.where(t == letter, 1.0 + np.cumsum(sums)[:-1], 0.0)
        return 1.0 + float(sums.sum())

    return _all_pairs(_all_subsequences, formula, x, y, 1.0, 0)


def _discounted(cells: np.ndarray, decay: float) -> np.ndarray:
    """Sum over i' <= i, j' <= j of decay^(i - i' + j - j') cells[i', j']."""
    from scipy.signal import lfilter

    rows: Any = lfilter([1.0], [1.0, -decay], cells, axis=0)
    columns: Any = lfilter([1.0], [1.0, -decay], rows, axis=1)
    return columns


def _all_pairs(
    build: Any,
    formula: Callable[[np.ndarray, np.ndarray], float],
    x: Strings,
    y: Strings,
    decay: float,
    length: int,
) -> np.ndarray:
    """A value for each pair of strings; for one sample half of them are computed."""
    same = x is y
    out = np.zeros((len(x), len(y)), dtype=np.float64)
    if is_quick(build, _SIGNATURE):
        loop = native_loop(build, _SIGNATURE)
        widest = max((len(t) for t in y), default=0)
        scratch = np.empty(max(length, 1) * (widest + 2), dtype=np.float64)
        packed = (*_packed(x), *(_packed(y)))
        loop(*packed, out, scratch, len(x), len(y), len(scratch), int(same), decay, length)
    else:
        for i, s in enumerate(x):
            for j, t in enumerate(y[: i + 1] if same else y):
                out[i, j] = formula(s, t)
    return np.tril(out) + np.tril(out, -1).T if same else out


def _packed(texts: Strings) -> tuple[np.ndarray, np.ndarray]:
    edges = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
    letters = np.concatenate(texts).astype(np.int64) if texts else np.empty(0, dtype=np.int64)
    return letters if len(letters) else np.zeros(1, dtype=np.int64), edges


# ---- compiled -----------------------------------------------------------------------------------


def _subsequences(numba: Any) -> Any:
    return _over_pairs(numba.carray, helper(numba)(_subsequence_sum))


def _substrings(numba: Any) -> Any:
    return _over_pairs(numba.carray, helper(numba)(_substring_sum))


def _all_subsequences(numba: Any) -> Any:
    return _over_pairs(numba.carray, helper(numba)(_all_subsequence_sum))


def _over_pairs(carray: Any, value: Any) -> Any:
    """The loop over pairs of strings; `value` is the sum of one pair."""

    def loop(  # pragma: no cover
        x_letters, x_edges, y_letters, y_edges, out, scratch, n, m, room, same, decay, length
    ):
        x_ends, y_ends = carray(x_edges, n + 1), carray(y_edges, m + 1)
        x, y = carray(x_letters, x_ends[n] + 1), carray(y_letters, y_ends[m] + 1)
        values, memory = carray(out, (n, m)), carray(scratch, room)
        for a in range(n):
            for b in range(a + 1 if same else m):
                s, t = x[x_ends[a] : x_ends[a + 1]], y[y_ends[b] : y_ends[b + 1]]
                values[a, b] = value(s, t, memory, decay, length)
        return 0

    return loop


def _subsequence_sum(s, t, memory, decay, length):  # pragma: no cover
    """`memory` has a row for each length p + 1: discounted sums of its cells up to column j, at j + 1."""
    width, total = t.size + 1, 0.0
    memory[: length * width] = 0.0
    for i in range(s.size):
        for p in range(length - 1, -1, -1):
            row = 0.0
            for j in range(t.size):
                row *= decay
                if s[i] == t[j]:
                    cell = decay * decay * (memory[(p - 1) * width + j] if p > 0 else 1.0)
                    row += cell
                    if p == length - 1:
                        total += cell
                memory[p * width + j + 1] = decay * memory[p * width + j + 1] + row
    return total


def _substring_sum(s, t, memory, decay, length):  # pragma: no cover
    """`memory` has the length of the common substring that ends in each cell of the row."""
    total = 0.0
    memory[: t.size + 1] = 0.0
    for i in range(s.size):
        for j in range(t.size, 0, -1):
            if s[i] == t[j - 1]:
                memory[j] = memory[j - 1] + 1.0
                weight = 1.0
                for _ in range(min(int(memory[j]), length)):
                    weight *= decay
                    total += weight
            else:
                memory[j] = 0.0
    return total


def _all_subsequence_sum(s, t, memory, decay, length):  # pragma: no cover
    """`memory` has the sum of the cells of each column, in all rows so far."""
    memory[: t.size] = 0.0
    for i in range(s.size):
        before = 1.0
        for j in range(t.size):
            earlier = memory[j]
            if s[i] == t[j]:
                memory[j] += before
            before += earlier
    total = 1.0
    for j in range(t.size):
        total += memory[j]
    return total
