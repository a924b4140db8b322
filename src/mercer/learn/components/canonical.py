"""Regularised canonical correlation analysis of explicit features, for two or more views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from mercer import linalg
from mercer.learn.components.leading import leading_eigenpairs, leading_singular
from mercer.rkhs.directions import PrincipalDirections, crossed

_EPS = float(np.finfo(np.float64).eps)
_MIN_GRAM_RATIO = (
    0.5  # features per point from which eigenvectors of the Gram matrix are faster than an SVD
)
_MAX_SVD_POINTS = 300  # up to here the Gram matrix gains nothing


@dataclass(frozen=True, eq=False)
class Centred:
    """Centred features (n, r) as U diag(l) V', without directions of rounding size."""

    mean: np.ndarray
    directions: PrincipalDirections  # U, l
    turn: np.ndarray  # V, (r, q)

    @classmethod
    def of(cls, features: np.ndarray) -> Centred:
        """Decompose by SVD, or by eigenvectors of the Gram matrix where there are many columns.

        The latter is several times faster. Its squared lengths are accurate to rounding of the largest
        one, which is also the accuracy of the Cholesky factor that such features come from.
        """
        mean = features.mean(axis=0)
        n, r = features.shape
        if r > _MIN_GRAM_RATIO * n and n > _MAX_SVD_POINTS:
            return cls._by_gram(mean, features - mean)
        u, lengths, right = linalg.svd(features - mean)
        scale = float(np.abs(features).max(initial=0.0)) * np.sqrt(features.size)
        rank = int(np.sum(lengths > max(features.shape) * _EPS * scale))
        return cls(mean, PrincipalDirections(u[:, :rank], lengths[:rank]), right[:rank].T)

    @classmethod
    def _by_gram(cls, mean: np.ndarray, centred: np.ndarray) -> Centred:
        values, vectors = linalg.eigh(centred @ centred.T)
        nonzero = values > len(centred) * _EPS * values[-1]
        lengths, u = np.sqrt(values[nonzero])[::-1], vectors[:, nonzero][:, ::-1]
        return cls(mean, PrincipalDirections(u, lengths), (centred.T @ u) / lengths)

    @property
    def rank(self) -> int:
        """Number of directions that vary."""
        return len(self.directions.lengths)

    def weights(self, block: np.ndarray, ridge: float) -> np.ndarray:
        """W (r, k) such that (features - mean) W = sqrt(n) U diag(gains) block."""
        u, lengths = self.directions
        n = len(u)
        return self.turn @ (block * np.sqrt(n / (lengths**2 + n * ridge))[:, None])


@dataclass(frozen=True, eq=False)
class Canonical:
    """Weights (r_i, k) on the centred features of each view, and the k correlations in decreasing order."""

    correlations: np.ndarray
    weights: tuple[np.ndarray, ...]


class Crossing:
    """Cross products of several views of the same points, computed once for all ridges."""

    def __init__(self, views: Sequence[Centred]) -> None:
        self.views = tuple(views)
        self._crossed = {
            (i, j): crossed(np.ones(a.rank), np.ones(b.rank), a.directions, b.directions)
            for (i, a), (j, b) in combinations(enumerate(self.views), 2)
        }

    def canonical(self, number: int, ridge: float) -> Canonical:
        """Leading canonical variates for one ridge.

        For two views they are the singular vectors of diag(g) U'V diag(h), with the gains g and h.
        For M views, the eigenvectors of the matrix with such blocks off the diagonal and ones on it;
        an eigenvalue is 1 + (M - 1) r, with the correlation r (Bach and Jordan 2002, section 3.2).
        """
        gains = [view.directions.gains(ridge) for view in self.views]
        if len(self.views) == 2:
            values, blocks = _of_two(gains, self._crossed[0, 1], number)
        else:
            values, blocks = _of_many(gains, self._crossed, number)
        signs = self._signs(blocks[0] * gains[0][:, None])
        weights = (v.weights(b * signs, ridge) for v, b in zip(self.views, blocks, strict=True))
        return Canonical(np.clip(values, 0.0, 1.0), tuple(weights))

    def _signs(self, block: np.ndarray) -> np.ndarray:
        """Signs that make the largest score of the first view positive."""
        scores = self.views[0].directions.vectors @ block
        return np.where(scores[np.abs(scores).argmax(axis=0), range(block.shape[1])] < 0, -1.0, 1.0)


def correlation(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Correlations of the columns of several views, the mean over pairs of views: (k,).

    0 where a column does not vary.
    """
    unit = []
    for z in scores:
        centred = z - z.mean(axis=0)
        length = np.linalg.norm(centred, axis=0)
        unit.append(centred / np.where(length > 0, length, 1.0))
    pairs = [np.sum(a * b, axis=0) for a, b in combinations(unit, 2)]
    return np.mean(pairs, axis=0)


def _of_two(
    gains: Sequence[np.ndarray], product: np.ndarray, number: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    first, values, second = leading_singular(gains[0][:, None] * product * gains[1], number)
    return values, [first, second]


def _of_many(
    gains: Sequence[np.ndarray], products: dict[tuple[int, int], np.ndarray], number: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    ends = np.cumsum([0, *(len(g) for g in gains)])
    spans = [slice(a, b) for a, b in pairwise(ends)]
    matrix = np.eye(ends[-1], dtype=np.float64)
    for (i, j), product in products.items():
        block = gains[i][:, None] * product * gains[j]
        matrix[spans[i], spans[j]], matrix[spans[j], spans[i]] = block, block.T
    values, vectors = leading_eigenpairs(matrix, number)
    views = len(gains)
    vectors = vectors * np.sqrt(views)  # of two views: each of length 1
    return (values - 1) / (views - 1), [vectors[span] for span in spans]
