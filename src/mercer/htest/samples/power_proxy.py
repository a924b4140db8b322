"""Proxies of power and their gradients, through features to locations, frequencies and bandwidth.

A proxy is a function of the difference of the mean features and of its covariance; its gradient
goes to the features (`proxy`), and from there to the parameters (a feature map's `pull`). Both are
products of matrices with as many rows as there are points: linear in n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, Protocol

import numpy as np

from mercer import linalg
from mercer.backend import Array, array_like, namespace, to_numpy
from mercer.htest.samples.mean_difference import moments
from mercer.kernels.metric import squared_norms
from mercer.kernels.take import taken

Power = Callable[[np.ndarray, np.ndarray, float], tuple[float, np.ndarray, np.ndarray]]
_THRESHOLD_DEVIATIONS = 3.0  # sums of few chi-squares exceed it in 1% or 2% of samples


@dataclass(frozen=True)
class Training:
    """Two samples to learn from, centred and in units of their own scale."""

    points: Array  # (n + m, d), of the host or of a GPU
    n: int
    weights: np.ndarray  # (n + m,), adding up to one in each sample
    center: np.ndarray  # (d,)
    unit: np.ndarray  # (d,), what a step of one is in the user's numbers

    def halves(self, most: int, rng: np.random.Generator) -> tuple[Training, Training]:
        """Two disjoint halves, with at most `most` points of each sample."""
        first, second = [], []
        for start, stop in ((0, self.n), (self.n, len(self.points))):
            rows = rng.permutation(stop - start)[: 2 * most] + start
            first.append(np.sort(rows[: len(rows) // 2]))
            second.append(np.sort(rows[len(rows) // 2 :]))
        return self._part(first), self._part(second)

    @cached_property
    def shares(self) -> Array:
        """The weights, where the points are."""
        return array_like(self.weights, self.points)

    def _part(self, rows: list[np.ndarray]) -> Training:
        """Some of the points, on the host."""
        weights = [np.maximum(self.weights[r], 1e-300) for r in rows]
        shares = np.concatenate([w / w.sum() for w in weights])
        points = to_numpy(taken(self.points, np.concatenate(rows)))
        return Training(points, len(rows[0]), shares, self.center, self.unit)

    def back(self, points: np.ndarray) -> np.ndarray:
        """Points in the user's numbers."""
        return points * self.unit + self.center


class DifferentiableFeatures(Protocol):
    """Features of the points of a training set, with back-propagation of gradients."""

    def push(self, theta: np.ndarray) -> tuple[Any, Any]:
        """Features (N, p) at these parameters, and intermediate values for `pull`."""
        ...

    def pull(self, gradient: Array, known: Any) -> np.ndarray:
        """The gradient with respect to the parameters, from that with respect to the features."""
        ...


# ---- proxies of power ---------------------------------------------------------------------------


def normalized_power(
    delta: np.ndarray, covariance: np.ndarray, ridge: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """delta' (S + ridge)^-1 delta, and its derivatives by delta and S (Jitkrittum et al. 2016)."""
    solved = linalg.solve(covariance + ridge * np.eye(len(delta)), delta)
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
    regularized = covariance + ridge * np.eye(len(delta))
    spread = regularized @ delta
    null = sqrt(2 * float(np.sum(regularized**2)))
    variance = 4 * float(delta @ spread) + null**2
    deviation = sqrt(variance)
    ratio = (float(delta @ delta - np.trace(covariance)) - _THRESHOLD_DEVIATIONS * null) / deviation
    by_delta = 2 * delta / deviation - 4 * ratio / variance * spread
    by_covariance = (
        -(np.eye(len(delta)) + 2 * _THRESHOLD_DEVIATIONS / null * regularized) / deviation
    )
    by_covariance -= 2 * ratio / variance * (np.outer(delta, delta) + regularized)
    return ratio, by_delta, by_covariance


def difference(z: Array, data: Training) -> tuple[np.ndarray, np.ndarray, float]:
    """Difference of the mean features, its covariance, and 1/n + 1/m."""
    first, second = slice(0, data.n), slice(data.n, len(z))
    mean_x, covariance_x = moments(z[first], data.shares[first])
    mean_y, covariance_y = moments(z[second], data.shares[second])
    delta, covariance = to_numpy(mean_x - mean_y), to_numpy(covariance_x + covariance_y)
    return delta, covariance, float(data.weights @ data.weights)


def proxy(power: Power, z: Array, data: Training, ridge: float) -> tuple[float, Array]:
    """The proxy of features z (N, p), and its gradient with respect to each of them."""
    delta, covariance, scale = difference(z, data)
    value, by_delta, by_covariance = power(delta, covariance, ridge * scale)
    gradient, xp = [], namespace(z)
    for rows, sign in ((slice(0, data.n), 1.0), (slice(data.n, len(z)), -1.0)):
        w = data.shares[rows]
        apart = w[:, None] ** 2 * (z[rows] - w @ z[rows])
        apart -= w[:, None] * xp.sum(apart, axis=0)
        correction = 1 - float(w @ w)
        by_features = apart @ array_like(
            2 / (correction if correction > 0 else 1.0) * by_covariance, z
        )
        gradient.append(by_features + sign * w[:, None] * array_like(by_delta, z))
    return value, xp.concat(gradient)


# ---- feature maps -------------------------------------------------------------------------------


class FrequencyFeatures:
    """exp(-|x|^2 / 2 s^2) (sin(x'w_j / s), cos(x'w_j / s)): the w_j, row by row, and log s."""

    def __init__(self, points: Array) -> None:
        self.points = points
        self.norms = squared_norms(points)[:, None]

    def push(self, theta: np.ndarray) -> tuple[Any, Any]:
        """Smoothed sines, then cosines, where the points are: (N, 2J)."""
        xp, rate = namespace(self.points), float(np.exp(-theta[-1]))
        w = array_like(theta[:-1].reshape(-1, self.points.shape[1]), self.points)
        phase = rate * (self.points @ w.T)
        norms = rate**2 * self.norms
        window = xp.exp(-norms / 2)
        sine, cosine = window * xp.sin(phase), window * xp.cos(phase)
        return xp.concat([sine, cosine], axis=1), (rate, phase, norms, sine, cosine)

    def pull(self, gradient: Array, known: Any) -> np.ndarray:
        """The phase is divided by s, and so is x in the window."""
        rate, phase, norms, sine, cosine = known
        half = phase.shape[1]
        by_sine, by_cosine = gradient[:, :half], gradient[:, half:]
        flow = by_sine * cosine - by_cosine * sine
        by_w, xp = rate * (flow.T @ self.points), namespace(flow)
        by_log = xp.sum(norms * (by_sine * sine + by_cosine * cosine)) - xp.sum(flow * phase)
        return np.append(to_numpy(by_w).ravel(), float(by_log))
