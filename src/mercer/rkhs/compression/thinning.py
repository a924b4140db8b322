"""Kernel thinning: halves of a sample whose mean embeddings agree far better than those of random ones."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, count, to_numpy
from mercer.gram import Gram
from mercer.gram.threads import spans
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.compression.greedy_selection import Column, checked_points, columns_of
from mercer.rkhs.sample_rows import taken

_PAIRS = 240  # that are decided between two passes over the others
_FAILURE = 0.5  # the probability with which the bound may fail


def kernel_thinning(kernel: Kernel | None, x: Any, m: int, *, rng: Any = None) -> np.ndarray:
    """The rows of x, `m` of them, whose mean embedding is close to that of all.

    The sample is halved again and again: of each pair of points one goes to either half, as a
    random walk that balances itself decides, so that the halves have the same mean embedding; of all
    parts the best is taken, and each of its points is exchanged for the best of all (Dwivedi & Mackey
    2021, algorithm 1: KT-SPLIT and KT-SWAP, with the kernel itself in both). Integrals of functions of the
    RKHS are right to O(sqrt(log m) / m) or so for smooth kernels, and those of m random rows to
    O(1 / sqrt(m)). O(n^2) kernel values; the memory is O(n) and one tile.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance.
    x : points
    m : int
        At most the number n of rows. Halves make powers of two: of 2^g m <= n rows, spread evenly.
    rng : int, Generator or None

    Returns
    -------
    array (m,)
        Positions of the rows, sorted; a row may come twice.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import mmd2
    >>> x = np.random.default_rng(0).normal(size=(1024, 2))
    >>> rows = kernel_thinning(RBF(1.0), x, 32, rng=0)
    >>> few, random = (mmd2(RBF(1.0), x, s, unbiased=False) for s in (x[rows], x[:32]))
    >>> few < random / 10
    True
    """
    kernel, points = checked_points(kernel, x, median_rbf)
    n = count(points)
    validate.whole("m", m)
    if m > n:
        raise ValueError(f"m must be at most {n}, the number of points, got {m}")
    rng = validate.generator(rng)
    rounds = int(np.log2(n / m))
    used = np.floor(np.arange(m << rounds) * (n / (m << rounds))).astype(np.int64)
    parts = _split(kernel, points, used, rounds, rng)
    parts.append(used[:: 1 << rounds])  # the plain way
    mean = to_numpy(Gram(kernel, points).row_sums()).astype(np.float64) / n
    best = min(parts, key=lambda rows: _distance2(kernel, points, rows, mean))
    return np.sort(_swapped(kernel, points, best, mean))


def _distance2(kernel: Kernel, points: Points, rows: np.ndarray, mean: np.ndarray) -> float:
    """The squared distance of the mean embeddings of some rows and of all, up to a constant."""
    within = Gram(kernel, taken(points, rows)).sum() / len(rows) ** 2
    return float(within - 2 * np.mean(mean[rows]))


# ---- KT-SPLIT ---------------------------------------------------------------------------------


def _split(
    kernel: Kernel, points: Points, rows: np.ndarray, rounds: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """2^rounds parts of these rows."""
    parts, n = [rows], len(rows)
    for j in range(1, rounds + 1):
        risk = _FAILURE / n * 2 ** (j - 1) / rounds  # of each pair
        parts = [half for part in parts for half in _halves(kernel, points, part, risk, rng)]
    return parts


def _halves(
    kernel: Kernel, points: Points, rows: np.ndarray, risk: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of an even number of rows, of each pair one.

    What is balanced is f = sum of k(x, .) over the second half less that over the first. Some pairs
    at a time are decided with their own kernel values, then f is brought up to date at the others.
    """
    gram = Gram(kernel, taken(points, rows))
    difference = np.zeros(len(rows), dtype=np.float64)  # f at the points
    swaps, width2 = np.empty(len(rows) // 2, dtype=bool), 0.0
    for pairs in spans(len(swaps), _PAIRS):
        some = slice(2 * pairs.start, 2 * pairs.stop)
        tile = to_numpy(gram.block(some, some)).astype(np.float64)
        coins = rng.random(pairs.stop - pairs.start)
        swaps[pairs], signs, width2 = _decided(tile, difference[some], coins, width2, risk)
        for later in spans(len(rows), 2 * _PAIRS, some.stop):
            block = gram.block(later, some)
            difference[later] += to_numpy(block @ array_like(signs, block))
    first = np.arange(0, len(rows), 2) + swaps
    return rows[first], rows[np.arange(0, len(rows), 2) + ~swaps]


def _decided(
    tile: np.ndarray, before: np.ndarray, coins: np.ndarray, width2: float, risk: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Which pairs are swapped, the signs with which their points enter f, and the new width."""
    f, swaps = np.array(before), np.empty(len(coins), dtype=bool)
    signs = np.empty(2 * len(coins), dtype=np.float64)
    for i, coin in enumerate(coins):
        a, b = 2 * i, 2 * i + 1
        size2 = max(float(tile[a, a] + tile[b, b] - 2 * tile[a, b]), 0.0)
        threshold = max(sqrt(size2 * width2 * 2 * log(2 / risk)), size2)
        lean = float(f[a] - f[b])  # alpha of the paper
        chance = 0.5 * (1 - lean / threshold) if threshold > 0 else 0.5
        swaps[i] = coin < chance
        if threshold > 0:
            grown = 1 + (size2 - 2 * threshold) * width2 / threshold**2
            width2 += size2 * max(grown, 0.0)
        signs[a], signs[b] = (1.0, -1.0) if swaps[i] else (-1.0, 1.0)
        f += signs[a] * tile[:, a] + signs[b] * tile[:, b]
    return swaps, signs, width2


# ---- KT-SWAP ----------------------------------------------------------------------------------


def _swapped(kernel: Kernel, points: Points, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Each row in turn exchanged for the one that brings the mean embeddings closest together."""
    rows, m = np.array(rows), len(rows)
    column: Column = columns_of(kernel, points)
    total = to_numpy(Gram(kernel, points, taken(points, rows)).row_sums()).astype(np.float64)
    own = to_numpy(kernel.diag(points)).astype(np.float64)
    for i in range(m):
        total -= column(int(rows[i]))
        rows[i] = int(np.argmin((2 * total + own) / m - 2 * mean))
        total += column(int(rows[i]))
    return rows
