"""The two-sample permutation test by others: dense NumPy, and hyppo."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def dense_mmd(
    x: np.ndarray, y: np.ndarray, g: float, resamples: int, dtype: str
) -> tuple[float, float]:
    """Unbiased MMD^2 for samples of one size, and its permutation p-value: K once, K @ W once."""
    n, rng = len(x), np.random.default_rng(0)
    z = np.concatenate([x, y]).astype(dtype)
    squares = np.einsum("ij,ij->i", z, z)
    k = z @ (2 * g * z.T)
    k -= g * squares[:, None]
    k -= g * squares
    np.exp(k, out=k)
    np.fill_diagonal(k, 0)
    w = np.empty((resamples + 1, 2 * n), dtype)
    w[:] = np.repeat([1, -1], n)
    rng.permuted(w[1:], axis=1, out=w[1:])
    forms = np.einsum("ib,bi->b", k @ w.T, w)
    total = k.sum(dtype=np.float64)
    found = (total + forms) / (2 * n * (n - 1)) - (total - forms) / (2 * n * n)
    return float(found[0]), float((1 + np.sum(found[1:] >= found[0])) / (1 + resamples))


def hyppo_mmd() -> Callable[[np.ndarray, np.ndarray, int], Any]:
    """hyppo's MMD test with so many permutations, on one core."""
    from hyppo.ksample import MMD

    def test(x: np.ndarray, y: np.ndarray, reps: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # few resamples, as asked
            return MMD().test(x, y, reps=reps, workers=1, auto=False, random_state=0)

    return test
