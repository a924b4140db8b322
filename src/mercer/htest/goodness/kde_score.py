"""The score of a kernel density estimate, whose parts are as many as its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.config import settings
from mercer.kernels.metric import squared_distances


@dataclass(frozen=True, eq=False)
class Smoothed:
    """p(x) = sum_j w_j N(x; x_j, LL'), by its points x_j and the inverse of L.

    Its score is L^-T (m(z) - z), where z = L^-1 x and m(z) is the mean of the z_j with weights
    w_j exp(-|z - z_j|^2 / 2). Some rows at a time, inside the memory budget.
    """

    points: np.ndarray  # (N, d)
    weights: np.ndarray  # (N,)
    whitening: np.ndarray  # L^-1, (d, d)

    def score(self, x: np.ndarray) -> np.ndarray:
        """The gradients of log p: (n, d)."""
        middle = self.points.mean(axis=0)
        own = (self.points - middle) @ self.whitening.T
        z = (np.asarray(x, dtype=np.float64) - middle) @ self.whitening.T
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        out = np.empty_like(z)
        rows = max(settings().memory // (8 * 8 * len(own)), 1)
        for start in range(0, len(z), rows):
            some = z[start : start + rows]
            shares = logs - 0.5 * squared_distances(some, own)
            shares = np.exp(shares - shares.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            out[start : start + rows] = shares @ own - some
        return out @ self.whitening
