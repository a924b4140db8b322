"""Regularised canonical correlation of explicit features, of two views or more: small dense problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from mercer import linalg
from mercer.learn.components.leading import leading_eigenpairs, leading_singular
from mercer.rkhs.directions import PrincipalDirections, crossed

_EPS = float(np.finfo(np.float64).eps)
_MANY = 0.5  # of n: features from which on a Gram matrix is the quicker road
_SMALL = 300  # points up to which nothing is gained


@dataclass(frozen=True, eq=False)
class Centred:
    """Features (n, r) less their means: U diag(l) V', directions that are rounding left out."""

    mean: np.ndarray
    directions: PrincipalDirections  # U, l
    turn: np.ndarray  # V, (r, q)

    @classmethod
    def of(cls, features: np.ndarray) -> Centred:
        """By a singular value decomposition; by eigenvectors of the Gram matrix where columns are many.

        The second is several times faster. It knows squared lengths up to rounding of the largest one, and
        so did the factor of the Gram matrix from which as many features as points come.
        """
        mean = features.mean(axis=0)
        n, r = features.shape
        if r > _MANY * n and n > _SMALL:
            return cls._by_gram(mean, features - mean)
        u, lengths, turned = linalg.svd(features - mean)
        scale = float(np.abs(features).max(initial=0.0)) * np.sqrt(features.size)
        kept = int(np.sum(lengths > max(features.shape) * _EPS * scale))
        return cls(mean, PrincipalDirections(u[:, :kept], lengths[:kept]), turned[:kept].T)

    @classmethod
    def _by_gram(cls, mean: np.ndarray, moved: np.ndarray) -> Centred:
        values, vectors = linalg.eigh(moved @ moved.T)
        kept = values > len(moved) * _EPS * values[-1]
        lengths, u = np.sqrt(values[kept])[::-1], vectors[:, kept][:, ::-1]
        return cls(mean, PrincipalDirections(u, lengths), (moved.T @ u) / lengths)

    @property
    def rank(self) -> int:
        """How many directions vary."""
        return len(self.directions.lengths)

    def weights(self, block: np.ndarray, ridge: float) -> np.ndarray:
        """W (r, k) such that (features - mean) W = sqrt(n) U diag(gains) block."""
        u, lengths = self.directions
        n = len(u)
        return self.turn @ (block * np.sqrt(n / (lengths**2 + n * ridge))[:, None])


@dataclass(frozen=True, eq=False)
class Canonical:
    """Weights (r_i, k) on the centred features of each view, and the k correlations, falling."""

    correlations: np.ndarray
    weights: tuple[np.ndarray, ...]


class Crossing:
    """Several views of the same points, crossed once for all ridges."""

    def __init__(self, views: Sequence[Centred]) -> None:
        self.views = tuple(views)
        self._crossed = {
            (i, j): crossed(np.ones(a.rank), np.ones(b.rank), a.directions, b.directions)
            for (i, a), (j, b) in combinations(enumerate(self.views), 2)
        }

    def canonical(self, number: int, ridge: float) -> Canonical:
        """The leading canonical variates at one ridge.

        Of two views they are the singular vectors of diag(g) U'V diag(h), with the gains g and h.
        Of M views, the eigenvectors of the matrix with such blocks beside the diagonal and ones on
        it; an eigenvalue is 1 + (M - 1) r, with the correlation r (Bach and Jordan 2002, section 3.2).
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
        """Those that make the largest score of the first view positive."""
        scores = self.views[0].directions.vectors @ block
        return np.where(scores[np.abs(scores).argmax(axis=0), range(block.shape[1])] < 0, -1.0, 1.0)


def correlation(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Correlations of the columns of several views, the mean over pairs of views: (k,).

    0 where a column does not vary.
    """
    unit = []
    for z in scores:
        moved = z - z.mean(axis=0)
        length = np.linalg.norm(moved, axis=0)
        unit.append(moved / np.where(length > 0, length, 1.0))
    pairs = [np.sum(a * b, axis=0) for a, b in combinations(unit, 2)]
    return np.mean(pairs, axis=0)


def _of_two(
    gains: Sequence[np.ndarray], product: np.ndarray, number: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    left, values, right = leading_singular(gains[0][:, None] * product * gains[1], number)
    return values, [left, right]


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
    many = len(gains)
    vectors = vectors * np.sqrt(many)  # of two views: each of length 1
    return (values - 1) / (many - 1), [vectors[span] for span in spans]
