"""Score of a Gaussian kernel density estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.config import settings
from mercer.kernels.metric import squared_distances


@dataclass(frozen=True, eq=False)
class GaussianKDE:
    """Kernel density estimate p(x) = sum_j w_j N(x; x_j, LL'), given by its points x_j and L^-1.

    Its score is L^-T (m(z) - z), where z = L^-1 x and m(z) is the mean of the z_j with weights
    w_j exp(-|z - z_j|^2 / 2). It is computed in chunks of rows that fit the memory budget.
    """

    points: np.ndarray  # (N, d)
    weights: np.ndarray  # (N,)
    whitening: np.ndarray  # L^-1, (d, d)

    def score(self, x: np.ndarray) -> np.ndarray:
        """Gradients of log p: (n, d)."""
        mean = self.points.mean(axis=0)
        centers = (self.points - mean) @ self.whitening.T
        z = (np.asarray(x, dtype=np.float64) - mean) @ self.whitening.T
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        out = np.empty_like(z)
        rows = max(settings().memory // (8 * 8 * len(centers)), 1)
        for start in range(0, len(z), rows):
            chunk = z[start : start + rows]
            shares = logs - 0.5 * squared_distances(chunk, centers)
            shares = np.exp(shares - shares.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            out[start : start + rows] = shares @ centers - chunk
        return out @ self.whitening
