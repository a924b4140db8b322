"""Mixtures of Gaussians fitted to points by expectation and maximisation (Dempster et al. 1977)."""

from __future__ import annotations

import warnings
from math import log, pi

import numpy as np

from mercer import linalg
from mercer.errors import NotConverged
from mercer.kernels.metric import squared_distances

_RIDGE = 1e-6  # of the variance of each column, added to the covariances of parts
_STEPS = 1000
_GAIN = 0.01  # of the log-likelihood in a step, below which steps end
_LLOYD = 20  # steps of k-means before the first one


def gaussian_parts(
    points: np.ndarray, parts: int, starts: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (k,), means (k, d) and covariances (k, d, d) of a mixture, of the likeliest start."""
    n, d = points.shape
    if n < parts * (d + 1):
        raise ValueError(
            f"x needs at least {parts * (d + 1)} points, {d + 1} for each of {parts} parts, got {n}"
        )
    middle, unit = points.mean(axis=0), points.std(axis=0)
    if not np.all(unit > 0):
        raise ValueError("x must vary in every column: leave out those that are constant")
    z = (points - middle) / unit
    found = [_climbed(z, _clustered(z, parts, rng)) for _ in range(starts)]
    _, weights, means, covariances = max(found, key=lambda fit: fit[0])
    return weights, middle + unit * means, covariances * unit * unit[:, None]


# ---- expectation and maximisation, in standard deviations of the columns ---------------------

_Fit = tuple[
    float, np.ndarray, np.ndarray, np.ndarray
]  # log-likelihood, weights, means, covariances


def _climbed(z: np.ndarray, shares: np.ndarray) -> _Fit:
    """Steps from first shares (n, k) of the parts in the points, until they gain next to nothing."""
    before, total = -np.inf, 0.0
    fit = _maximised(z, shares)
    for _ in range(_STEPS):
        total, shares = _expected(z, *fit)
        if total - before < _GAIN:
            return total, *fit
        before, fit = total, _maximised(z, shares)
    warnings.warn(
        f"the likelihood of {shares.shape[1]} parts still grows after {_STEPS} steps: fewer parts "
        "may fit as well",
        NotConverged,
        stacklevel=3,
    )
    return total, *fit


def _maximised(z: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (k,), means (k, d) and covariances (k, d, d) of largest likelihood."""
    d = z.shape[1]
    mass = shares.sum(axis=0) + 1e-12
    means = shares.T @ z / mass[:, None]
    covariances = np.empty((len(mass), d, d), dtype=np.float64)
    for k, mean in enumerate(means):
        moved = z - mean
        covariances[k] = (shares[:, k, None] * moved).T @ moved / mass[k]
    covariances += _RIDGE * np.eye(d, dtype=np.float64)
    return mass / mass.sum(), means, covariances


def _expected(
    z: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> tuple[float, np.ndarray]:
    """The log-likelihood, and the probabilities (n, k) that a point comes from a part."""
    roots = linalg.cholesky(covariances)
    inverses = linalg.inv(roots)
    logs = np.empty((len(z), len(weights)), dtype=np.float64)
    for k, (mean, root, inverse) in enumerate(zip(means, roots, inverses, strict=True)):
        white = (z - mean) @ inverse.T
        normaliser = z.shape[1] * log(2 * pi) / 2 + float(np.sum(np.log(np.diagonal(root))))
        logs[:, k] = log(weights[k]) - normaliser - 0.5 * np.einsum("nd,nd->n", white, white)
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    sums = shares.sum(axis=1, keepdims=True)
    return float(np.sum(top + np.log(sums))), shares / sums


def _clustered(z: np.ndarray, parts: int, rng: np.random.Generator) -> np.ndarray:
    """Memberships (n, k) of a k-means clustering whose centres begin far apart (k-means++)."""
    centres = z[rng.integers(len(z))][None, :]
    nearest = squared_distances(z, centres)[:, 0]
    while len(centres) < parts:
        total = float(nearest.sum())
        row = rng.choice(len(z), p=nearest / total) if total > 0 else rng.integers(len(z))
        centres = np.concatenate([centres, z[row][None, :]])
        nearest = np.minimum(nearest, squared_distances(z, z[row][None, :])[:, 0])
    members = np.zeros((len(z), parts), dtype=np.float64)
    for _ in range(_LLOYD):
        owner = np.argmin(squared_distances(z, centres), axis=1)
        members = np.eye(parts, dtype=np.float64)[owner]
        sizes = members.sum(axis=0)[:, None]
        moved = np.where(sizes > 0, members.T @ z / np.maximum(sizes, 1.0), centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return members
