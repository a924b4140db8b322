"""Probabilities from decision values: a sigmoid whose two numbers are fitted by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import linalg

_ROUNDS = 100


@dataclass(frozen=True)
class Sigmoid:
    """P(positive | value) = 1 / (1 + exp(-slope value - offset))."""

    slope: float
    offset: float

    @classmethod
    def fitted(cls, values: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Sigmoid:
        """The likeliest sigmoid for targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2) (Platt 1999, eq. 1).

        These targets, instead of 1 and 0, keep it from being certain where the classes are
        separated. Newton's method with halved steps (Lin, Lin and Weng 2007, algorithm 1); the
        values are divided by their size before.
        """
        above, below = float(weights[positive].sum()), float(weights[~positive].sum())
        target = np.where(positive, (above + 1) / (above + 2), 1 / (below + 2))
        scale = max(float(np.abs(values).max()), np.finfo(np.float64).tiny)
        x = np.stack([values / scale, np.ones(len(values))], axis=1)
        theta = np.array([0.0, np.log((above + 1) / (below + 1))])

        def loss(theta: np.ndarray) -> float:
            t = x @ theta
            return float(weights @ (np.logaddexp(0, t) - target * t))

        now = loss(theta)
        for _ in range(_ROUNDS):
            p = _logistic(x @ theta)
            gradient = x.T @ (weights * (p - target))
            if np.abs(gradient).max() <= 1e-10 * len(values):
                break
            hessian = x.T @ (x * (weights * p * (1 - p))[:, None]) + 1e-12 * np.eye(2)
            step = linalg.solve(hessian, gradient)
            size = 1.0
            while size > 1e-10 and loss(theta - size * step) > now - 1e-4 * size * gradient @ step:
                size /= 2
            if size <= 1e-10:
                break
            theta = theta - size * step
            now = loss(theta)
        return cls(float(theta[0]) / scale, float(theta[1]))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return _logistic(self.slope * values + self.offset)


def _logistic(t: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -t))
