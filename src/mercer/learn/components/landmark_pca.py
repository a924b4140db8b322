"""Principal components in the span of landmarks, from one pass over the points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import linalg
from mercer.backend import to_numpy
from mercer.gram.eigen import signs_of_peaks
from mercer.learn.landmark_features import LandmarkFeatures

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class LandmarkComponents:
    """Components f_j = sum_i w_ij k(l_i, .) of norm 1, in the order of their variances."""

    n: int  # points
    eigenvalues: np.ndarray  # (k,)
    trace: (
        float  # the sum of all eigenvalues of the centred Gram matrix, up to the error of the mean
    )
    weights: np.ndarray  # (m, k)
    offsets: np.ndarray  # (k,): means of f_j over the points


def landmark_components(
    features: LandmarkFeatures, number: int | None, share: float | None
) -> LandmarkComponents:
    """Eigenvectors of the scatter of z = R'k(l, x): with v_j, f_j has the weights R v_j and |f_j| = |v_j| = 1."""
    moments = features.moments()
    n, mean, scatter = moments.n, moments.mean[:-1], moments.scatter[:-1, :-1]
    trace = n * float(moments.mean[-1] - mean @ mean)
    if trace <= n * _EPS * n * float(moments.mean[-1]):
        raise ValueError("X must vary, but the kernel does not distinguish any two of its points")
    values, vectors = linalg.eigh(scatter)
    values, vectors = values[::-1], vectors[:, ::-1]
    k = _rank(values, number, share, trace)
    sampled = (features.of(features.sample)[:, :-1] - mean) @ vectors[:, :k]
    directions = vectors[:, :k] * signs_of_peaks(sampled)
    weights = to_numpy(features.map.root) @ directions
    return LandmarkComponents(n, values[:k], trace, weights, mean @ directions)


def _rank(values: np.ndarray, number: int | None, share: float | None, trace: float) -> int:
    """How many of the eigenvalues are wanted."""
    usable = int(np.sum(values > len(values) * _EPS * values[0]))
    if number is not None and number > usable:
        raise ValueError(
            f"n_components must be at most {usable}, the number of components of these landmarks whose "
            f"variance exceeds rounding error, got {number}: use fewer, or more landmarks"
        )
    if share is None:
        return usable if number is None else number
    reached = np.cumsum(values[:usable])
    enough = np.flatnonzero(reached >= share * trace)
    if not len(enough):
        raise ValueError(
            f"n_components={share:g} of the variance is more than these landmarks explain, "
            f"{reached[-1] / trace:.3g}: use more landmarks, or a number of components"
        )
    return int(enough[0]) + 1
