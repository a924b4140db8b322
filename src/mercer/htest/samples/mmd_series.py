"""Wild bootstrap of two time series: labels are permuted in blocks, or contrasts rotated among slow cosines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.backend import array_like, to_numpy
from mercer.config import settings
from mercer.errors import NoRule
from mercer.gram import PermutedWeights
from mercer.htest.nulls import WildBootstrap
from mercer.htest.samples.pooled_sample import Pooled
from mercer.htest.slow_contrasts import SlowContrasts, SlowForms, contrasted, refusal, wanders


def block_forms(pooled: Pooled, null: WildBootstrap, seed: int) -> np.ndarray:
    """w'Kw for w = 1/n' on the blocks with sign + and -1/m' on the others: (B,).

    Both samples are cut into blocks, and as many blocks have the sign + as the first sample has.
    The wild bootstrap of Chwialkowski, Sejdinovic and Gretton (2014) draws the signs of the two
    samples by themselves and subtracts their means, which rejected far too often in small
    samples; with signs that change places, what was observed is one of the draws.
    """
    if pooled.weights is not None:
        raise NoRule("WildBootstrap() needs samples without weights: use Permutation()")
    gram = pooled.gram
    forms = [
        to_numpy(gram.quad(array_like(w, gram.like))).astype(np.float64)
        for w in block_weights((pooled.n, pooled.m), null, seed)
    ]
    return np.concatenate(forms)


def block_weights(sizes: tuple[int, int], null: WildBootstrap, seed: int) -> Iterator[np.ndarray]:
    """Weights 1/n' of blocks with sign + and -1/m' of the others, some draws at a time: (n + m, b)."""
    of, labels = _blocks(sizes, null, seed)
    width = max(settings().memory // (64 * len(of)), 1)
    for start in range(0, null.resamples, width):
        chunk = labels.columns(slice(start, min(start + width, null.resamples)), _FLOAT64_LIKE)
        plus = chunk.rows(slice(0, labels.shape[0]))[of] > 0  # (n + m, b)
        size = plus.sum(axis=0)
        yield np.where(plus, 1 / size, -1 / (len(of) - size))


def slow_forms_of(pooled: Pooled) -> SlowForms:
    """The squared mean discrepancy, and its values at the slowest cosines of both series."""
    if pooled.weights is not None:
        raise NoRule("WildBootstrap() needs samples without weights: use Permutation()")
    forms = contrasted(pooled.gram, SlowContrasts.of(pooled.contrast, (pooled.n, pooled.m)))
    for name, share in zip("xy", forms.wandering, strict=True):
        if wanders(share):
            raise refusal(name, share)
    return forms.scaled(float(pooled.contrast @ pooled.contrast))


_FLOAT64_LIKE = np.empty(0, dtype=np.float64)


def _blocks(
    sizes: tuple[int, int], null: WildBootstrap, seed: int
) -> tuple[np.ndarray, PermutedWeights]:
    """The block of every observation (n + m,), and random signs of the blocks."""
    block = null.block or 1
    first, second = (np.arange(size) // block for size in sizes)
    block_labels = np.repeat([1.0, -1.0], [first[-1] + 1, second[-1] + 1])
    signs = PermutedWeights(block_labels, null.resamples, rng=seed)
    return np.concatenate([first, first[-1] + 1 + second]), signs
