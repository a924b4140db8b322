"""The permutation test of independence by others: dense NumPy, and hyppo."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def dense_hsic(
    x: np.ndarray, y: np.ndarray, gx: float, gy: float, resamples: int
) -> tuple[float, float]:
    """tr(KHLH) / n^2 and its permutation p-value: both matrices once, one of them centred, a loop."""
    rng, n = np.random.default_rng(0), len(x)
    k, other = _gaussian(x, gx), _gaussian(y, gy)
    k -= k.mean(axis=0)
    k -= k.mean(axis=1)[:, None]
    found = np.empty(resamples + 1, dtype=np.float64)
    for b in range(resamples + 1):
        p = rng.permutation(n) if b else np.arange(n)
        found[b] = (k * other[np.ix_(p, p)]).sum() / n**2
    return float(found[0]), float((1 + np.sum(found[1:] >= found[0])) / (1 + resamples))


def hyppo_hsic() -> Callable[[np.ndarray, np.ndarray, int], Any]:
    """hyppo's HSIC test with so many permutations, on one core."""
    from hyppo.independence import Hsic

    def test(x: np.ndarray, y: np.ndarray, reps: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # few resamples, as asked
            return Hsic().test(x, y, reps=reps, workers=1, auto=False, random_state=0)

    return test


def _gaussian(x: np.ndarray, g: float) -> np.ndarray:
    squares = np.einsum("ij,ij->i", x, x)
    k = x @ (2 * g * x.T)
    k -= g * squares[:, None]
    k -= g * squares
    return np.exp(k, out=k)
