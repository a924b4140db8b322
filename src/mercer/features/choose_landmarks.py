"""Rules that select landmarks: uniform, k-means++ and ridge leverage scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer import linalg, validate
from mercer.backend import astype, count, double, eps, namespace, to_numpy
from mercer.gram import Gram
from mercer.gram.positive_definite import add_to_diagonal
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken

# Candidates per landmark for the rules that compare points: the cost grows with it in proportion.
_CANDIDATES_PER_LANDMARK = 10


class LandmarkRule(ABC):
    """Rule that selects landmarks from a uniform subsample of the data."""

    @abstractmethod
    def pool(self, number: int, /) -> int:
        """Size of the subsample from which `number` landmarks are selected."""

    @abstractmethod
    def choose(
        self, kernel: Kernel, points: Points, number: int, rng: np.random.Generator, /
    ) -> np.ndarray:
        """Positions of the landmarks among the points, increasing: (number,)."""


@dataclass(frozen=True)
class UniformLandmarks(LandmarkRule):
    """Landmarks drawn uniformly without replacement."""

    def pool(self, number: int, /) -> int:
        return number

    def choose(
        self, kernel: Kernel, points: Points, number: int, rng: np.random.Generator, /
    ) -> np.ndarray:
        n = count(points)
        return np.sort(rng.choice(n, min(number, n), replace=False, shuffle=False))


@dataclass(frozen=True)
class KMeansPlusPlus(LandmarkRule):
    """Landmarks far from each other, by k-means++ seeding (Arthur and Vassilvitskii 2007).

    The next landmark is drawn with probability proportional to the squared distance to the nearest
    landmark so far in the RKHS, k(x, x) + k(l, l) - 2 k(x, l). There are ten candidates per landmark.
    """

    def pool(self, number: int, /) -> int:
        return _CANDIDATES_PER_LANDMARK * number

    def choose(
        self, kernel: Kernel, points: Points, number: int, rng: np.random.Generator, /
    ) -> np.ndarray:
        gram = Gram(kernel, points)
        diagonal = to_numpy(gram.diagonal()).astype(np.float64)
        n = len(diagonal)
        nearest, landmarks = diagonal + diagonal.max(), [int(rng.integers(n))]
        while True:
            last = landmarks[-1]
            column = gram.block(slice(0, n), slice(last, last + 1))[:, 0]
            distance2 = diagonal + diagonal[last] - 2 * to_numpy(column).astype(np.float64)
            nearest = np.minimum(nearest, np.maximum(distance2, 0))
            nearest[landmarks] = 0
            total = nearest.sum()
            distinct = total > n * eps(gram.like) * diagonal.max()
            if len(landmarks) == min(number, n) or not distinct:
                return np.sort(landmarks)  # all other points are copies of landmarks
            landmarks.append(int(rng.choice(n, p=nearest / total)))


@dataclass(frozen=True)
class LeverageScores(LandmarkRule):
    """Landmarks drawn with probability proportional to their ridge leverage scores.

    l_i = (K (K + ridge I)^-1)_ii is the influence of y_i on f(x_i). It is computed for ten candidates
    per landmark and estimated from a uniform subsample S: (k_ii - k_iS (K_SS + ridge I)^-1 k_Si) / ridge
    (Musco and Musco 2017, lemma 6; Rudi et al. 2018, eq. 3). Isolated points are selected more often
    than by `UniformLandmarks`.

    Parameters
    ----------
    ridge : float
        Ridge of the summed loss on the candidates.
    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("ridge", self.ridge)

    def pool(self, number: int, /) -> int:
        return _CANDIDATES_PER_LANDMARK * number

    def choose(
        self, kernel: Kernel, points: Points, number: int, rng: np.random.Generator, /
    ) -> np.ndarray:
        n = count(points)
        if number >= n:
            return np.arange(n)
        scores = self.scores(kernel, points, UniformLandmarks().choose(kernel, points, number, rng))
        return np.sort(rng.choice(n, number, replace=False, p=scores / scores.sum()))

    def scores(self, kernel: Kernel, points: Points, first: np.ndarray) -> np.ndarray:
        """Leverage scores of all points, estimated from those at the positions `first`: (n,)."""
        subsample = taken(points, first)
        matrix = Gram(kernel, subsample).dense()
        matrix = astype(matrix, double(matrix))
        add_to_diagonal(matrix, self.ridge)
        xp = namespace(matrix)
        inverse = linalg.inv(linalg.cholesky(matrix))
        columns = astype(Gram(kernel, subsample, points).dense(), matrix.dtype)  # (|S|, n)
        explained = to_numpy(xp.sum((inverse @ columns) ** 2, axis=0))
        diagonal = to_numpy(Gram(kernel, points).diagonal()).astype(np.float64)
        return np.clip((diagonal - explained) / self.ridge, 1e-12, 1.0)
