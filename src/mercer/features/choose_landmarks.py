"""Which points become landmarks: any, far apart from each other, or those that matter most."""

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

_POOL = 10  # points looked at for each landmark, by the rules that look


class LandmarkRule(ABC):
    """How landmarks are chosen from points that were drawn uniformly from the data."""

    @abstractmethod
    def pool(self, number: int, /) -> int:
        """How many points to draw for so many landmarks."""

    @abstractmethod
    def choose(
        self, kernel: Kernel, points: Points, number: int, rng: np.random.Generator, /
    ) -> np.ndarray:
        """Positions of the landmarks among the points, in rising order: (number,)."""


@dataclass(frozen=True)
class UniformLandmarks(LandmarkRule):
    """Every point is as likely as any other."""

    def pool(self, number: int, /) -> int:
        return number

    def choose(
        self, kernel: Kernel, points: Points, number: int, rng: np.random.Generator, /
    ) -> np.ndarray:
        n = count(points)
        return np.sort(rng.choice(n, min(number, n), replace=False, shuffle=False))


@dataclass(frozen=True)
class KMeansPlusPlus(LandmarkRule):
    """Points far apart from each other, as k-means++ begins (Arthur and Vassilvitskii 2007).

    The next landmark is drawn in proportion to the squared distance to the nearest one so far, in
    the RKHS: k(x, x) + k(l, l) - 2 k(x, l). Looks at ten points for each landmark.
    """

    def pool(self, number: int, /) -> int:
        return _POOL * number

    def choose(
        self, kernel: Kernel, points: Points, number: int, rng: np.random.Generator, /
    ) -> np.ndarray:
        gram = Gram(kernel, points)
        own = to_numpy(gram.diagonal()).astype(np.float64)
        n, near, chosen = len(own), own + own.max(), [int(rng.integers(len(own)))]
        while True:
            last = chosen[-1]
            column = gram.block(slice(0, n), slice(last, last + 1))[:, 0]
            apart = own + own[last] - 2 * to_numpy(column).astype(np.float64)
            near = np.minimum(near, np.maximum(apart, 0))
            near[chosen] = 0
            left = near.sum()
            if len(chosen) == min(number, n) or not left > n * eps(gram.like) * own.max():
                return np.sort(chosen)  # what is left are copies
            chosen.append(int(rng.choice(n, p=near / left)))


@dataclass(frozen=True)
class LeverageScores(LandmarkRule):
    """Points in proportion to their ridge leverage, the influence of y_i on f(x_i).

    l_i = (K (K + ridge I)^-1)_ii, here of ten points for each landmark and estimated from a first,
    uniform draw S of landmarks: (k_ii - k_iS (K_SS + ridge I)^-1 k_Si) / ridge (Musco and Musco
    2017, lemma 6; Rudi et al. 2018, eq. 3). Rare points count more than under `UniformLandmarks`.

    Parameters
    ----------
    ridge : float
        Of the summed loss on the points looked at.
    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("ridge", self.ridge)

    def pool(self, number: int, /) -> int:
        return _POOL * number

    def choose(
        self, kernel: Kernel, points: Points, number: int, rng: np.random.Generator, /
    ) -> np.ndarray:
        n = count(points)
        if number >= n:
            return np.arange(n)
        scores = self.scores(kernel, points, UniformLandmarks().choose(kernel, points, number, rng))
        return np.sort(rng.choice(n, number, replace=False, p=scores / scores.sum()))

    def scores(self, kernel: Kernel, points: Points, first: np.ndarray) -> np.ndarray:
        """Estimates of the leverage of every point from those at the positions `first`: (n,)."""
        some = taken(points, first)
        own = Gram(kernel, some).dense()
        own = astype(own, double(own))
        add_to_diagonal(own, self.ridge)
        xp = namespace(own)
        inverse = linalg.inv(linalg.cholesky(own))
        columns = astype(Gram(kernel, some, points).dense(), own.dtype)  # (|S|, n)
        explained = to_numpy(xp.sum((inverse @ columns) ** 2, axis=0))
        diagonal = to_numpy(Gram(kernel, points).diagonal()).astype(np.float64)
        return np.clip((diagonal - explained) / self.ridge, 1e-12, 1.0)
