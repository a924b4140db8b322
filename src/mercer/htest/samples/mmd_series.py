"""Wild bootstrap of two time series: labels are permuted in blocks."""

from __future__ import annotations

import numpy as np

from mercer.backend import array_like, take_rows, to_numpy
from mercer.config import settings
from mercer.errors import NoRule
from mercer.gram import Gram, PermutedWeights
from mercer.htest.nulls import WildBootstrap
from mercer.htest.samples.pooled_sample import Pooled
from mercer.htest.serial_dependence import block_length, lag_means

_MEMORIES_PER_BLOCK = 8  # long blocks: pairs across their borders are lost
_MIN_BLOCKS = 5  # of the shorter sample: with as many of the other, 252 different labellings


def block_forms(pooled: Pooled, null: WildBootstrap, seed: int) -> np.ndarray:
    """w'Kw for w = 1/n' on the blocks with sign + and -1/m' on the others: (B,).

    Both samples are cut into blocks, and as many blocks have the sign + as the first sample has.
    The wild bootstrap of Chwialkowski, Sejdinovic and Gretton (2014) draws the signs of the two
    samples by themselves and subtracts their means, which rejected far too often in small
    samples; with signs that change places, what was observed is one of the draws.
    """
    if pooled.weights is not None:
        raise NoRule("WildBootstrap() needs samples without weights: use Permutation()")
    gram, of, labels = pooled.gram, *_blocks(pooled, null, seed)
    width = max(settings().memory // (64 * len(of)), 1)
    forms = []
    for start in range(0, null.resamples, width):
        chunk = labels.columns(slice(start, min(start + width, null.resamples)), _FLOAT64_LIKE)
        plus = chunk.rows(slice(0, labels.shape[0]))[of] > 0  # (n + m, b)
        size = plus.sum(axis=0)
        w = np.where(plus, 1 / size, -1 / (len(of) - size))
        forms.append(to_numpy(gram.quad(array_like(w, gram.like))).astype(np.float64))
    return np.concatenate(forms)


def pooled_block(pooled: Pooled) -> int:
    """Number of consecutive observations that should share a sign, by the memory of both samples."""
    first, second = (
        lag_means(Gram(pooled.kernel, take_rows(pooled.points, rows)).centered())
        for rows in (slice(0, pooled.n), slice(pooled.n, None))
    )
    lags, n, m = min(len(first), len(second)), pooled.n, pooled.m
    mean = (n * first[:lags] + m * second[:lags]) / (n + m)
    return block_length(mean, lags, steps=_MEMORIES_PER_BLOCK, fewest=_MIN_BLOCKS)


_FLOAT64_LIKE = np.empty(0, dtype=np.float64)


def _blocks(pooled: Pooled, null: WildBootstrap, seed: int) -> tuple[np.ndarray, PermutedWeights]:
    """The block of every observation (n + m,), and random signs of the blocks."""
    block = null.block or 1
    first, second = np.arange(pooled.n) // block, np.arange(pooled.m) // block
    block_labels = np.repeat([1.0, -1.0], [first[-1] + 1, second[-1] + 1])
    signs = PermutedWeights(block_labels, null.resamples, rng=seed)
    return np.concatenate([first, first[-1] + 1 + second]), signs
