"""K-means on features of landmarks: Lloyd iterations by passes over points that are read part by part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.gram.stream_sums import over_parts
from mercer.learn.landmark_features import LandmarkFeatures
from mercer.row_streams import RowPart

# Decrease of the sum of squared distances in a pass, relative to it, below which the clusters count as settled: of
# millions of points a few change sides for hundreds of passes.
_MIN_DECREASE = 1e-7


@dataclass(frozen=True, eq=False)
class LandmarkClusters:
    """Labels (n,), centres in the space of features (C, r), the sum of squared distances, and passes."""

    labels: np.ndarray
    centres: np.ndarray
    inertia: float
    rounds: int
    settled: bool


def landmark_clusters(
    features: LandmarkFeatures, start: np.ndarray, max_iter: int, nearest: Nearest
) -> LandmarkClusters:
    """Lloyd iterations from labels of the sampled points; a cluster that loses all points keeps its centre.

    `nearest(distances, diagonal, norms)` are the closest centres.
    """
    centres = _means(features.of(features.sample)[:, :-1], start)
    labels, inertia = np.empty(0, dtype=np.int32), np.inf
    rounds = 0
    while True:
        rounds += 1
        before, last = labels, inertia
        labels, inertia, counts, sums = _pass(features, centres, nearest)
        settled = np.array_equal(labels, before) or last - inertia <= _MIN_DECREASE * inertia
        if settled or rounds == max_iter:
            return LandmarkClusters(labels, centres, inertia, rounds, settled)
        filled = counts > 0
        centres = np.where(filled[:, None], sums / np.maximum(counts, 1)[:, None], centres)


Nearest = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
Sums = tuple[np.ndarray, float, np.ndarray, np.ndarray]


def _means(z: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.stack([z[labels == c].mean(axis=0) for c in range(labels.max() + 1)])


def _pass(features: LandmarkFeatures, centres: np.ndarray, nearest: Nearest) -> Sums:
    """Labels of all points, their squared distances to the centres summed, and sizes and sums of clusters."""
    work = _Assignment(features, centres, nearest)
    labels, inertia = [], 0.0
    counts, sums = np.zeros(len(centres)), np.zeros_like(centres)
    for here, distance, size, total in over_parts(
        work, features.stream.parts, features.bytes_per_row
    ):
        labels.append(here)
        inertia, counts, sums = inertia + distance, counts + size, sums + total
    return np.concatenate(labels), inertia, counts, sums


@dataclass(frozen=True, eq=False)
class _Assignment:
    """part -> labels of its points, and sums over them."""

    features: LandmarkFeatures
    centres: np.ndarray
    nearest: Nearest

    def __call__(self, part: RowPart) -> Sums:
        norms = np.einsum("cr,cr->c", self.centres, self.centres)
        labels, inertia = [], 0.0
        counts, sums = np.zeros(len(norms)), np.zeros_like(self.centres)
        for rows in self.features.chunks(part):
            z, diagonal = rows[:, :-1], rows[:, -1]
            distances = np.maximum(diagonal[:, None] - 2 * (z @ self.centres.T) + norms, 0.0)
            closest = self.nearest(distances, diagonal, norms)
            labels.append(closest.astype(np.int32))
            inertia += float(np.take_along_axis(distances, closest[:, None], axis=1).sum())
            member = np.eye(len(norms))[closest]
            counts, sums = counts + member.sum(axis=0), sums + member.T @ z
        return np.concatenate(labels), inertia, counts, sums
