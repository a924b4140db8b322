"""Gaussian mixtures fitted by expectation-maximisation (Dempster et al. 1977)."""

from __future__ import annotations

import warnings
from math import log, pi

import numpy as np

from mercer import linalg
from mercer.errors import NotConverged
from mercer.kernels.metric import squared_distances

# Added to the covariances, relative to the variance of each column: keeps a component from collapsing
# to a point, and is far below any spread of interest.
_COVARIANCE_RIDGE = 1e-6
_MAX_EM_STEPS = 1000  # usual fits converge within 100
_MIN_GAIN = (
    0.01  # of the log-likelihood per step, small compared with its sampling error, which is over 1
)
_MAX_LLOYD_STEPS = 20  # of k-means for the initial clustering, which EM then refines


def gaussian_parts(
    points: np.ndarray, parts: int, starts: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (k,), means (k, d) and covariances (k, d, d) of the likeliest fit of several starts."""
    center, scale = _location_and_scale(points, parts)
    z = (points - center) / scale
    fits = [_fitted(z, _clustered(z, parts, rng)) for _ in range(starts)]
    _, weights, means, covariances = max(fits, key=lambda fit: fit[0])
    return weights, center + scale * means, covariances * scale * scale[:, None]


def refitted_parts(
    points: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and covariances fitted to the points, from these as the only start."""
    center, scale = _location_and_scale(points, len(weights))
    z, outer = (points - center) / scale, scale * scale[:, None]
    start = weights, (means - center) / scale, covariances / outer
    _, weights, means, covariances = _fitted(z, _expected(z, *start)[1])
    return weights, center + scale * means, covariances * outer


def _location_and_scale(points: np.ndarray, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of the columns; raises where a mixture cannot be fitted."""
    n, d = points.shape
    if n < parts * (d + 1):
        raise ValueError(
            f"x needs at least {parts * (d + 1)} points, {d + 1} for each of {parts} components, got {n}"
        )
    scale = points.std(axis=0)
    if not np.all(scale > 0):
        raise ValueError("x must vary in every column: drop the constant columns")
    return points.mean(axis=0), scale


# ---- expectation-maximisation on standardized columns -----------------------------------------

_Fit = tuple[
    float, np.ndarray, np.ndarray, np.ndarray
]  # log-likelihood, weights, means, covariances


def _fitted(z: np.ndarray, shares: np.ndarray) -> _Fit:
    """EM steps from initial responsibilities (n, k) until the log-likelihood gains almost nothing."""
    before, total = -np.inf, 0.0
    fit = _maximised(z, shares)
    for _ in range(_MAX_EM_STEPS):
        total, shares = _expected(z, *fit)
        if total - before < _MIN_GAIN:
            return total, *fit
        before, fit = total, _maximised(z, shares)
    warnings.warn(
        f"the likelihood of {shares.shape[1]} components still grows after {_MAX_EM_STEPS} steps: fewer "
        "components may fit as well",
        NotConverged,
        stacklevel=3,
    )
    return total, *fit


def _maximised(z: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M step: weights (k,), means (k, d) and covariances (k, d, d) given responsibilities (n, k)."""
    d = z.shape[1]
    mass = shares.sum(axis=0) + 1e-12
    means = shares.T @ z / mass[:, None]
    covariances = np.empty((len(mass), d, d), dtype=np.float64)
    for k, mean in enumerate(means):
        centred = z - mean
        covariances[k] = (shares[:, k, None] * centred).T @ centred / mass[k]
    covariances += _COVARIANCE_RIDGE * np.eye(d, dtype=np.float64)
    return mass / mass.sum(), means, covariances


def _expected(
    z: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> tuple[float, np.ndarray]:
    """E step: the log-likelihood, and responsibilities (n, k) of the components for the points."""
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
    """Memberships (n, k) of a k-means clustering with k-means++ seeding."""
    centres = z[rng.integers(len(z))][None, :]
    nearest = squared_distances(z, centres)[:, 0]
    while len(centres) < parts:
        total = float(nearest.sum())
        row = rng.choice(len(z), p=nearest / total) if total > 0 else rng.integers(len(z))
        centres = np.concatenate([centres, z[row][None, :]])
        nearest = np.minimum(nearest, squared_distances(z, z[row][None, :])[:, 0])
    members = np.zeros((len(z), parts), dtype=np.float64)
    for _ in range(_MAX_LLOYD_STEPS):
        owner = np.argmin(squared_distances(z, centres), axis=1)
        members = np.eye(parts, dtype=np.float64)[owner]
        sizes = members.sum(axis=0)[:, None]
        updated = np.where(sizes > 0, members.T @ z / np.maximum(sizes, 1.0), centres)
        if np.array_equal(updated, centres):
            break
        centres = updated
    return members
