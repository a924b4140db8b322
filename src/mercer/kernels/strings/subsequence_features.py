"""Weights of all subsequences of a length: compiled, or in NumPy for all strings at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.feature_counts import FeatureTable
from mercer.kernels.strings.packed_text import PackedText
from mercer.native import is_quick, native_loop

_SIGNATURE = "long* long* double* double* long long double long"


def subsequence_features(text: PackedText, decay: float, length: int) -> FeatureTable:
    """phi_u(x) = sum of decay^span over the places of u in x, for all u of a length over the letters used.

    Within a string, after each character, the sums over the places so far of every shorter u, discounted to
    the present position, give those that end at the next character.
    """
    from scipy import sparse

    letters, which = text.alphabet
    n, size = len(text.lengths), max(len(letters), 1)
    weights = np.zeros((n, size**length), dtype=np.float64)
    which = np.ascontiguousarray(which, dtype=np.int64)
    if is_quick(_weights, _SIGNATURE):
        scratch = np.empty(sum(size**p for p in range(1, length)) + 1, dtype=np.float64)
        padded = which if len(which) else np.zeros(1, dtype=np.int64)
        loop = native_loop(_weights, _SIGNATURE)
        loop(padded, text.edges.astype(np.int64), weights, scratch, n, size, decay, length)
    else:
        _weights_in_numpy(which, text.edges, weights, size, decay, length)
    words = _words(letters, length)
    codes = PackedText(words.ravel(), np.array([0, words.size])).codes(
        np.arange(len(words), dtype=np.int64) * length, length
    )
    used = np.flatnonzero(weights.any(axis=0))
    order = used[np.argsort(codes[used])]
    return FeatureTable(sparse.csr_array(weights[:, order]), codes[order])


def _words(letters: np.ndarray, length: int) -> np.ndarray:
    """All words of a length, numbered in base `len(letters)`, the last letter being the first digit: (size^length, length)."""
    if len(letters) == 0:
        return np.zeros((1, length), dtype=np.uint32)
    numbers = np.arange(len(letters) ** length)
    places = len(letters) ** np.arange(length)
    return letters[numbers[:, None] // places % len(letters)]


def _weights_in_numpy(
    which: np.ndarray, edges: np.ndarray, weights: np.ndarray, size: int, decay: float, length: int
) -> None:
    """The loop of `_weights`, for all strings that have a next character at once."""
    lengths, n = np.diff(edges), len(weights)
    open_sums = [np.zeros((n, size**p), dtype=np.float64) for p in range(1, length)]
    for t in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > t)
        letter = which[edges[rows] + t]
        for p in range(length, 0, -1):
            before = open_sums[p - 2][rows] if p > 1 else np.ones((len(rows), 1), dtype=np.float64)
            target = weights if p == length else open_sums[p - 1]
            ends = target.reshape(n, size, -1)
            ends[rows, letter] += before if p < length else decay * before
        for sums in open_sums:
            sums[rows] *= decay


def _weights(numba: Any) -> Any:
    carray = numba.carray

    def loop(which, edges, out, scratch, n, size, decay, length):  # pragma: no cover
        ends = carray(edges, n + 1)
        letters = carray(which, ends[n] + 1)
        words = size**length
        shorter = 0
        for p in range(1, length):
            shorter += size**p
        sums = carray(scratch, shorter + 1)  # of lengths 1, 2, ..., one after the other
        weights = carray(out, (n, words))
        for a in range(n):
            for u in range(shorter):
                sums[u] = 0.0
            for t in range(ends[a], ends[a + 1]):
                letter = letters[t]
                start, width = (
                    shorter,
                    words // size,
                )  # of the sums of the words without their last letter
                for p in range(length, 1, -1):
                    start -= width
                    if p == length:
                        for u in range(width):
                            weights[a, letter * width + u] += decay * sums[start + u]
                    else:
                        for u in range(width):
                            sums[start + width + letter * width + u] += sums[start + u]
                    width //= size
                if length == 1:
                    weights[a, letter] += decay
                else:
                    sums[letter] += 1.0
                    for u in range(shorter):
                        sums[u] *= decay
        return 0

    return loop
