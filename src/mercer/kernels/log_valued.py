"""Kernels whose values overflow or underflow, and so are computed as logarithms."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mercer.kernels.base import Kernel, Points


class LogValued(Kernel):
    """A positive kernel computed as log k, such as a sum over all alignments of two long series.

    ``.normalized()`` works with the logarithms and is always finite. The values themselves can exceed the range
    of float64.
    """

    @abstractmethod
    def log_pairwise(self, x: Points, y: Points, /) -> np.ndarray:
        """log k(x_i, y_j) for all pairs, -inf where k = 0: (n, m)."""

    @abstractmethod
    def log_paired(self, x: Points, y: Points, /) -> np.ndarray:
        """log k(x_i, y_i) for matching pairs: (n,)."""

    @abstractmethod
    def log_diag(self, x: Points, /) -> np.ndarray:
        """log k(x_i, x_i): (n,)."""

    def pairwise(self, x: Points, y: Points, /) -> np.ndarray:
        return np.exp(self.log_pairwise(x, y))

    def paired(self, x: Points, y: Points, /) -> np.ndarray:
        return np.exp(self.log_paired(x, y))

    def diag(self, x: Points, /) -> np.ndarray:
        return np.exp(self.log_diag(x))


def normalized_pairwise(kernel: LogValued, x: Points, y: Points) -> np.ndarray:
    """k(x, y) / sqrt(k(x, x) k(y, y)) for all pairs, 0 where k(x, x) = 0: (n, m)."""
    x_norms = _norms(kernel.log_diag(x))
    y_norms = x_norms if y is x else _norms(kernel.log_diag(y))
    return np.exp(kernel.log_pairwise(x, y) - x_norms[:, None] - y_norms[None, :])


def normalized_paired(kernel: LogValued, x: Points, y: Points) -> np.ndarray:
    """k(x, y) / sqrt(k(x, x) k(y, y)) for matching pairs, 0 where k(x, x) = 0: (n,)."""
    norms = _norms(kernel.log_diag(x)) + _norms(kernel.log_diag(y))
    return np.exp(kernel.log_paired(x, y) - norms)


def _norms(logs: np.ndarray) -> np.ndarray:
    """Logarithms of the norms; 0 where the norm is 0, so that the value stays 0."""
    return np.where(np.isneginf(logs), 0.0, logs / 2)
