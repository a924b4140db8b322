"""Proxies of power and their gradients, through features to locations, frequencies and bandwidth.

A proxy is a function of the difference of the mean features and of its covariance; its gradient
goes to the features (`proxy`), and from there to the parameters (a feature map's `pull`). Both are
products of matrices with as many rows as there are points: linear in n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any, Protocol

import numpy as np

from mercer.htest.samples.moments import moments

Power = Callable[[np.ndarray, np.ndarray, float], tuple[float, np.ndarray, np.ndarray]]
_THRESHOLD = 3.0  # in deviations: sums of few chi-squares exceed it in 1% or 2% of samples


@dataclass(frozen=True)
class Training:
    """Two samples to learn from, centred and in units of their own scale."""

    points: np.ndarray  # (n + m, d)
    n: int
    weights: np.ndarray  # (n + m,), adding up to one in each sample
    center: np.ndarray  # (d,)
    unit: np.ndarray  # (d,), what a step of one is in the user's numbers

    def halves(self, most: int, rng: np.random.Generator) -> tuple[Training, Training]:
        """Two parts without common points, with at most so many of each sample."""
        first, second = [], []
        for start, stop in ((0, self.n), (self.n, len(self.points))):
            rows = rng.permutation(stop - start)[: 2 * most] + start
            first.append(np.sort(rows[: len(rows) // 2]))
            second.append(np.sort(rows[len(rows) // 2 :]))
        return self._part(first), self._part(second)

    def _part(self, rows: list[np.ndarray]) -> Training:
        weights = [np.maximum(self.weights[r], 1e-300) for r in rows]
        shares = np.concatenate([w / w.sum() for w in weights])
        points = self.points[np.concatenate(rows)]
        return Training(points, len(rows[0]), shares, self.center, self.unit)

    def back(self, points: np.ndarray) -> np.ndarray:
        """Points in the user's numbers."""
        return points * self.unit + self.center


class FeatureMap(Protocol):
    """Features of the points of a training set, and the way of a gradient back."""

    def push(self, theta: np.ndarray) -> tuple[np.ndarray, Any]:
        """Features (N, p) at these parameters, and what `pull` needs to know."""
        ...

    def pull(self, gradient: np.ndarray, known: Any) -> np.ndarray:
        """The gradient with respect to the parameters, from that with respect to the features."""
        ...


# ---- proxies of power ---------------------------------------------------------------------------


def normalized_power(
    delta: np.ndarray, covariance: np.ndarray, ridge: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """delta' (S + ridge)^-1 delta, and its derivatives by delta and S (Jitkrittum et al. 2016)."""
    solved = np.linalg.solve(covariance + ridge * np.eye(len(delta)), delta)
    return float(delta @ solved), 2 * solved, -np.outer(solved, solved)


def squared_power(
    delta: np.ndarray, covariance: np.ndarray, ridge: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """By how many deviations the unbiased |delta|^2 passes its threshold, and the derivatives.

    (|delta|^2 - tr S - q F) / sqrt(4 delta' R delta + F^2), S being the covariance of delta, R = S +
    ridge and F^2 = 2 tr R^2 the variance under the null hypothesis; the denominator is the deviation
    under the alternative, whose first term is that of Jitkrittum et al. 2018, prop. 2. They leave q
    F out, which is small where n is large; where it is not, the most deviations from nothing are
    had at locations with much noise, and not with the most power.
    """
    moved = covariance + ridge * np.eye(len(delta))
    spread = moved @ delta
    null = sqrt(2 * float(np.sum(moved**2)))
    variance = 4 * float(delta @ spread) + null**2
    deviation = sqrt(variance)
    ratio = (float(delta @ delta - np.trace(covariance)) - _THRESHOLD * null) / deviation
    by_delta = 2 * delta / deviation - 4 * ratio / variance * spread
    by_covariance = -(np.eye(len(delta)) + 2 * _THRESHOLD / null * moved) / deviation
    by_covariance -= 2 * ratio / variance * (np.outer(delta, delta) + moved)
    return ratio, by_delta, by_covariance


def difference(z: np.ndarray, data: Training) -> tuple[np.ndarray, np.ndarray, float]:
    """Difference of the mean features, its covariance, and 1/n + 1/m."""
    first, second = slice(0, data.n), slice(data.n, len(z))
    mean_x, covariance_x = moments(z[first], data.weights[first])
    mean_y, covariance_y = moments(z[second], data.weights[second])
    return mean_x - mean_y, covariance_x + covariance_y, float(data.weights @ data.weights)


def proxy(power: Power, z: np.ndarray, data: Training, ridge: float) -> tuple[float, np.ndarray]:
    """The proxy of features z (N, p), and its gradient with respect to each of them."""
    delta, covariance, scale = difference(z, data)
    value, by_delta, by_covariance = power(delta, covariance, ridge * scale)
    gradient = np.empty_like(z)
    for rows, sign in ((slice(0, data.n), 1.0), (slice(data.n, len(z)), -1.0)):
        w = data.weights[rows]
        apart = w[:, None] ** 2 * (z[rows] - w @ z[rows])
        apart -= np.outer(w, apart.sum(axis=0))
        rest = 1 - float(w @ w)
        gradient[rows] = apart @ (2 / (rest if rest > 0 else 1.0) * by_covariance)
        gradient[rows] += np.outer(sign * w, by_delta)
    return value, gradient


# ---- feature maps -------------------------------------------------------------------------------


class FourierMap:
    """exp(-|x|^2 / 2 s^2) (sin(x'w_j / s), cos(x'w_j / s)): the w_j, row by row, and log s."""

    def __init__(self, points: np.ndarray) -> None:
        self.points = points
        self.norms = np.sum(points**2, axis=1)[:, None]

    def push(self, theta: np.ndarray) -> tuple[np.ndarray, Any]:
        """Smoothed sines, then cosines: (N, 2J)."""
        w, rate = theta[:-1].reshape(-1, self.points.shape[1]), float(np.exp(-theta[-1]))
        phase = rate * (self.points @ w.T)
        norms = rate**2 * self.norms
        window = np.exp(-norms / 2)
        sine, cosine = window * np.sin(phase), window * np.cos(phase)
        return np.concatenate([sine, cosine], axis=1), (rate, phase, norms, sine, cosine)

    def pull(self, gradient: np.ndarray, known: Any) -> np.ndarray:
        """The phase is divided by s, and so is x in the window."""
        rate, phase, norms, sine, cosine = known
        half = phase.shape[1]
        by_sine, by_cosine = gradient[:, :half], gradient[:, half:]
        flow = by_sine * cosine - by_cosine * sine
        by_w = rate * (flow.T @ self.points)
        by_log = np.sum(norms * (by_sine * sine + by_cosine * cosine)) - np.sum(flow * phase)
        return np.append(by_w.ravel(), float(by_log))
