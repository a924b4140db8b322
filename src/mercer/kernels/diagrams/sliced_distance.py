"""Sliced Wasserstein distance of persistence diagrams: exact, or on some directions.

On a line, the transport cost is the integral of |signed number of points below|, where points of F and diagonal
points of G count +1, those of G and diagonal points of F count -1. A point a at z_a enters it with the coefficient
|S_a| - |S_a + sign_a|, S_a being the signed number below a, and S_a changes where the direction is orthogonal to
a - b for another point b.
"""

from __future__ import annotations

from math import pi

import numpy as np


def sliced_distance(p: np.ndarray, q: np.ndarray) -> float:
    """Mean over all directions of the transport cost, exact but for rounding: O(m^2 log m)."""
    points, signs = _signed(p, q)
    if not len(points):
        return 0.0
    gaps = points[None, :, :] - points[:, None, :]  # b - a: (m, m, 2)
    same = np.all(gaps == 0, axis=2)
    # b is below a where <b - a, (cos t, sin t)> < 0; on (-pi/2, pi/2) the sign changes once, at tan t = -dx / dy
    dx, dy = gaps[:, :, 0], gaps[:, :, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        angles = np.where(dy == 0, pi / 2, np.arctan(-dx / dy))
    begins_below = np.where(dy == 0, dx < 0, dy > 0)  # at t = -pi/2 the projection is -dy
    order = np.arange(len(points))
    begins_below = np.where(same, order[None, :] < order[:, None], begins_below)
    steps = np.where(same | (dy == 0), 0.0, np.where(begins_below, -1.0, 1.0)) * signs[None, :]
    places = np.argsort(angles, axis=1)
    sorted_angles = np.take_along_axis(angles, places, axis=1)
    counts = (begins_below * signs[None, :]).sum(axis=1, keepdims=True)
    counts = np.concatenate(
        [counts, counts + np.cumsum(np.take_along_axis(steps, places, axis=1), axis=1)], axis=1
    )
    edge = np.full((len(points), 1), pi / 2)
    ends = np.concatenate([-edge, sorted_angles, edge], axis=1)
    # the integral of x cos t + y sin t is x sin t - y cos t
    integral = points[:, :1] * np.sin(ends) - points[:, 1:] * np.cos(ends)
    coefficients = np.abs(counts) - np.abs(counts + signs[:, None])
    return max(float(np.sum(coefficients * np.diff(integral, axis=1))) / pi, 0.0)


def mean_sliced_distance(p: np.ndarray, q: np.ndarray, directions: int) -> float:
    """Mean transport cost on equally spaced directions of a half circle."""
    points, signs = _signed(p, q)
    if not len(points):
        return 0.0
    angles = -pi / 2 + pi * (np.arange(directions) + 0.5) / directions
    lines = points @ np.stack([np.cos(angles), np.sin(angles)])  # (m, directions)
    first, second = np.sort(lines[signs > 0], axis=0), np.sort(lines[signs < 0], axis=0)
    return float(np.abs(first - second).sum() / directions)


def _signed(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All points of both sides, and their signs."""
    middle = [np.repeat(x.mean(axis=1, keepdims=True), 2, axis=1) for x in (p, q)]
    signs = np.repeat([1.0, 1.0, -1.0, -1.0], [len(p), len(q), len(q), len(p)])
    return np.concatenate([p, middle[1], q, middle[0]]), signs
