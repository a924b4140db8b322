"""Platt scaling: probabilities as a sigmoid of decision values, fitted by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import linalg

_MAX_NEWTON_STEPS = 100  # as in LIBSVM


@dataclass(frozen=True)
class PlattSigmoid:
    """P(positive | value) = 1 / (1 + exp(-slope value - offset))."""

    slope: float
    offset: float

    @classmethod
    def fit(cls, values: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> PlattSigmoid:
        """Maximum likelihood for targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2) (Platt 1999, eq. 1).

        These targets, instead of 1 and 0, avoid probabilities of 0 and 1 for separated classes.
        Newton's method with halved steps (Lin, Lin and Weng 2007, algorithm 1), on values scaled to
        at most 1.
        """
        above, below = float(weights[positive].sum()), float(weights[~positive].sum())
        target = np.where(positive, (above + 1) / (above + 2), 1 / (below + 2))
        scale = max(float(np.abs(values).max()), np.finfo(np.float64).tiny)
        x = np.stack([values / scale, np.ones(len(values))], axis=1)
        theta = np.array([0.0, np.log((above + 1) / (below + 1))])

        def loss(theta: np.ndarray) -> float:
            t = x @ theta
            return float(weights @ (np.logaddexp(0, t) - target * t))

        current = loss(theta)
        for _ in range(_MAX_NEWTON_STEPS):
            p = _logistic(x @ theta)
            gradient = x.T @ (weights * (p - target))
            if np.abs(gradient).max() <= 1e-10 * len(values):
                break
            hessian = x.T @ (x * (weights * p * (1 - p))[:, None]) + 1e-12 * np.eye(2)
            step = linalg.solve(hessian, gradient)
            length = 1.0
            while (
                length > 1e-10
                and loss(theta - length * step) > current - 1e-4 * length * gradient @ step
            ):
                length /= 2
            if length <= 1e-10:
                break
            theta = theta - length * step
            current = loss(theta)
        return cls(float(theta[0]) / scale, float(theta[1]))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return _logistic(self.slope * values + self.offset)


def _logistic(t: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-t)) without overflow."""
    return np.exp(-np.logaddexp(0, -t))
