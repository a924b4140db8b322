"""Serial dependence: memory of a series by kernel autocorrelations, and random signs of blocks.

The lag means of a kernel matrix K~ are mean_i K~_i(i+h): what the features of the observations have in
common with those h steps later. Divided by that at lag 0 they are the kernel autocorrelations.
"""

from __future__ import annotations

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import LazyMatrix, SignWeights
from mercer.gram.circular_correlation import diagonals
from mercer.gram.threads import spans
from mercer.htest.nulls import WildBootstrap

_NEGLIGIBLE_AUTOCORRELATION = 0.05  # the memory of a series ends at the first lag below it
_MAX_LAGS = 256  # longest memory that is looked for
_DIAGONALS_PER_CHUNK = 64  # diagonals held at a time


def lag_means(matrix: LazyMatrix) -> np.ndarray:
    """mean_i K_i(i+h) for h = 0, ..., n - 1, of a symmetric matrix in the order of time: (n,).

    One pass over half of the matrix, a few diagonals at a time.
    """
    n = matrix.shape[0]
    sums = np.zeros(n, dtype=np.float64)
    for chunk in spans(n // 2 + 1, _DIAGONALS_PER_CHUNK):
        values = diagonals(matrix, chunk)  # (n, d), round the corner
        for d, column in zip(range(chunk.start, chunk.stop), values.T, strict=True):
            sums[d] = column[: n - d].sum()
            if d and 2 * d != n:
                sums[n - d] = column[n - d :].sum()
    return sums / np.arange(n, 0, -1)


def first_lag_means(matrix: LazyMatrix, lags: int) -> np.ndarray:
    """mean_i K_i(i+h) for h = 0, ..., lags - 1, at most half of the observations: (lags,)."""
    n = matrix.shape[0]
    parts = []
    for chunk in spans(min(lags, n // 2), _DIAGONALS_PER_CHUNK):
        values = diagonals(matrix, chunk)
        parts += [values[: n - h, i].mean() for i, h in enumerate(range(chunk.start, chunk.stop))]
    return np.array(parts, dtype=np.float64)


def memory(means: np.ndarray) -> int:
    """The first lag at which the kernel autocorrelation is below 0.05: 1 for independent observations.

    At most a quarter of the observations.

    Examples
    --------
    >>> from mercer.gram import Gram
    >>> from mercer.kernels import Linear
    >>> x = np.random.default_rng(0).normal(size=(1000, 1))
    >>> means = lag_means(Gram(Linear(), x).centered())
    >>> memory(means)
    1
    """
    lags = max(min(len(means) // 4, _MAX_LAGS), 1)
    below = np.flatnonzero(means[:lags] < _NEGLIGIBLE_AUTOCORRELATION * max(means[0], 0.0))
    return max(int(below[0]) if len(below) else lags, 1) if means[0] > 0 else 1


def signed_forms(
    matrix: LazyMatrix, means: np.ndarray, observed: float, null: WildBootstrap, seed: int
) -> tuple[float, np.ndarray]:
    """mean_ij H_ij, and mean_ij w_i w_j H_ij for random signs w of blocks.

    The wild bootstrap of a degenerate V-statistic, for observations that depend on those before
    them (Chwialkowski, Sejdinovic and Gretton 2014, V_b1): what was observed is the form at w = 1,
    and the test one of randomisation. With signs less their mean (V_b2) it rejects too often.

    Two things make the observed one larger than signs make the others, also where the null
    hypothesis holds: neighbours on both sides of a border of blocks, and means that were taken
    from the data. Both are pairs of observations in different blocks, whose H_ij is on average
    `means`, the lag means under the null hypothesis; so their sum is subtracted from what was
    observed. In many dimensions, where statistics vary little, it is what keeps the level.
    """
    n, block = matrix.shape[0], null.block or 1
    signs = SignWeights(n, null.resamples, scale=1 / n, block=block, rng=seed)
    forms = to_numpy(matrix.quad(signs)).astype(np.float64)
    return observed - across_blocks(means, block), forms


def across_blocks(means: np.ndarray, block: int) -> float:
    """sum of means_|i-j| over the pairs i, j that are in different blocks, divided by n^2."""
    n = len(means)
    lags = np.arange(1, n)
    full_blocks, last_block = divmod(n, block)
    within = full_blocks * np.maximum(block - lags, 0) + np.maximum(last_block - lags, 0)
    return 2 * float((n - lags - within) @ means[1:]) / n**2
