"""Platt scaling: probabilities as a sigmoid of decision values, fitted by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

_MAX_NEWTON_STEPS = 100  # as in LIBSVM
_RIDGE = 1e-12  # added to the Hessian, as in LIBSVM


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
        x = values / scale
        slope, offset = 0.0, log((above + 1) / (below + 1))

        def loss(slope: float, offset: float) -> float:
            t = slope * x + offset
            return float(weights @ (np.logaddexp(0, t) - target * t))

        current = loss(slope, offset)
        for _ in range(_MAX_NEWTON_STEPS):
            p = _logistic(slope * x + offset)
            residual, curvature = weights * (p - target), weights * p * (1 - p)
            gradient = float(x @ residual), float(residual.sum())
            if max(map(abs, gradient)) <= 1e-10 * len(values):
                break
            step = _newton_step(x, curvature, gradient)
            decrease = 1e-4 * (gradient[0] * step[0] + gradient[1] * step[1])
            length = 1.0
            while length > 1e-10:
                trial = loss(slope - length * step[0], offset - length * step[1])
                if trial <= current - length * decrease:
                    break
                length /= 2
            else:
                break
            slope, offset = slope - length * step[0], offset - length * step[1]
            current = trial
        return cls(slope / scale, offset)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return _logistic(self.slope * values + self.offset)


def _newton_step(
    x: np.ndarray, curvature: np.ndarray, gradient: tuple[float, float]
) -> tuple[float, float]:
    """The solution of Hs = gradient, H the sum of curvature (x, 1)(x, 1)' and a ridge."""
    weighted = curvature * x
    a, b, c = float(weighted @ x) + _RIDGE, float(weighted.sum()), float(curvature.sum()) + _RIDGE
    determinant = a * c - b * b
    g, h = gradient
    return (c * g - b * h) / determinant, (a * h - b * g) / determinant


def _logistic(t: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-t)) without overflow."""
    return np.exp(-np.logaddexp(0, -t))
