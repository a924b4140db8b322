"""Kernel thinning: subsamples whose mean embedding is much closer to the sample than a random one."""

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

# Pairs decided between two updates at the other points: tiles of 480 x 480 float64 values take 1.8 MiB,
# which fits in the L2 cache.
_PAIRS_PER_TILE = 240
_FAILURE_PROBABILITY = (
    0.5  # delta of the paper: the bound on the error holds with probability 1 - delta
)


def kernel_thinning(kernel: Kernel | None, x: Any, m: int, *, rng: Any = None) -> np.ndarray:
    """Select `m` rows of x whose mean embedding is close to that of the sample.

    The sample is halved repeatedly: a self-balancing random walk assigns one point of each pair to each
    half, so that both halves have nearly the same mean embedding. The best of all subsamples is then
    refined by exchanging each of its points for the best row of x (Dwivedi & Mackey 2021, algorithm 1:
    KT-SPLIT and KT-SWAP, both with the kernel itself). For smooth kernels, integrals of functions of the
    RKHS have an error of about O(sqrt(log m) / m), compared with O(1 / sqrt(m)) for m random rows. Needs
    O(n^2) kernel values; the memory is O(n) and one tile.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance.
    x : points
    m : int
        At most the number n of rows. Halving needs 2^g m <= n rows, which are evenly spaced in x.
    rng : int, Generator or None

    Returns
    -------
    array (m,)
        Positions of the rows, sorted; a row may occur twice.

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
    subsamples = _split(kernel, points, used, rounds, rng)
    subsamples.append(used[:: 1 << rounds])  # plain thinning, the baseline
    mean = to_numpy(Gram(kernel, points).row_sums()).astype(np.float64) / n
    best = min(subsamples, key=lambda rows: _distance2(kernel, points, rows, mean))
    return np.sort(_swapped(kernel, points, best, mean))


def _distance2(kernel: Kernel, points: Points, rows: np.ndarray, mean: np.ndarray) -> float:
    """Squared distance of the mean embeddings of these rows and of all, up to a constant."""
    within = Gram(kernel, taken(points, rows)).sum() / len(rows) ** 2
    return float(within - 2 * np.mean(mean[rows]))


# ---- KT-SPLIT ---------------------------------------------------------------------------------


def _split(
    kernel: Kernel, points: Points, rows: np.ndarray, rounds: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Split these rows into 2^rounds subsamples (KT-SPLIT)."""
    subsamples, n = [rows], len(rows)
    for j in range(1, rounds + 1):
        risk = _FAILURE_PROBABILITY / n * 2 ** (j - 1) / rounds  # failure probability of each pair
        subsamples = [
            half
            for subsample in subsamples
            for half in _halves(kernel, points, subsample, risk, rng)
        ]
    return subsamples


def _halves(
    kernel: Kernel, points: Points, rows: np.ndarray, risk: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of an even number of rows, with one point of each pair in each.

    The walk keeps f = sum of k(x, .) over the second half minus that over the first close to zero. A
    tile of pairs is decided from its own kernel values, and then f is updated at the later points.
    """
    gram = Gram(kernel, taken(points, rows))
    difference = np.zeros(len(rows), dtype=np.float64)  # f at the points
    swaps, width2 = np.empty(len(rows) // 2, dtype=bool), 0.0
    for pairs in spans(len(swaps), _PAIRS_PER_TILE):
        rows_here = slice(2 * pairs.start, 2 * pairs.stop)
        tile = to_numpy(gram.block(rows_here, rows_here)).astype(np.float64)
        coins = rng.random(pairs.stop - pairs.start)
        swaps[pairs], signs, width2 = _decided(tile, difference[rows_here], coins, width2, risk)
        for later in spans(len(rows), 2 * _PAIRS_PER_TILE, rows_here.stop):
            block = gram.block(later, rows_here)
            difference[later] += to_numpy(block @ array_like(signs, block))
    first = np.arange(0, len(rows), 2) + swaps
    return rows[first], rows[np.arange(0, len(rows), 2) + ~swaps]


def _decided(
    tile: np.ndarray, before: np.ndarray, coins: np.ndarray, width2: float, risk: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Decide which pairs to swap: the swaps, the signs of the points in f, and the new width sigma^2."""
    f, swaps = np.array(before), np.empty(len(coins), dtype=bool)
    signs = np.empty(2 * len(coins), dtype=np.float64)
    for i, coin in enumerate(coins):
        a, b = 2 * i, 2 * i + 1
        norm2 = max(float(tile[a, a] + tile[b, b] - 2 * tile[a, b]), 0.0)
        threshold = max(sqrt(norm2 * width2 * 2 * log(2 / risk)), norm2)
        alpha = float(f[a] - f[b])  # alpha and, below, sigma^2 of the paper
        probability = 0.5 * (1 - alpha / threshold) if threshold > 0 else 0.5
        swaps[i] = coin < probability
        if threshold > 0:
            growth = 1 + (norm2 - 2 * threshold) * width2 / threshold**2
            width2 += norm2 * max(growth, 0.0)
        signs[a], signs[b] = (1.0, -1.0) if swaps[i] else (-1.0, 1.0)
        f += signs[a] * tile[:, a] + signs[b] * tile[:, b]
    return swaps, signs, width2


# ---- KT-SWAP ----------------------------------------------------------------------------------


def _swapped(kernel: Kernel, points: Points, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Exchange each row in turn for the row that brings the mean embeddings closest (KT-SWAP)."""
    rows, m = np.array(rows), len(rows)
    column: Column = columns_of(kernel, points)
    total = to_numpy(Gram(kernel, points, taken(points, rows)).row_sums()).astype(np.float64)
    diagonal = to_numpy(kernel.diag(points)).astype(np.float64)
    for i in range(m):
        total -= column(int(rows[i]))
        rows[i] = int(np.argmin((2 * total + diagonal) / m - 2 * mean))
        total += column(int(rows[i]))
    return rows
