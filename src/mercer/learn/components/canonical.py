"""Regularised canonical correlation analysis of explicit features, for two or more views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, pairwise

import numpy as np

from mercer import linalg
from mercer.learn.components.leading import leading_eigenpairs, leading_singular

_EPS = float(np.finfo(np.float64).eps)
# Smallest n * ridge, relative to the largest trace of the centred products A'A, at which these products
# are used: their rounding error, eps times the trace, then changes correlations by less than 1e-9.
_MIN_RELATIVE_RIDGE = 4e-7
_BLOCK_BYTES = 2**23  # of gathered rows: a few of them fit into a cache beside the products

Products = dict[tuple[int, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Moments:
    """Number of rows of the features A_i of several views, their sums, and A_i'A_j for i <= j."""

    n: int
    sums: tuple[np.ndarray, ...]
    products: Products

    @classmethod
    def of(cls, features: Sequence[np.ndarray], rows: np.ndarray | None = None) -> Moments:
        """Moments of all rows, or of the rows with these indices."""
        if rows is None:
            return cls._of_block(features)
        total = cls._of_block([f[:0] for f in features])
        for block in row_blocks(features, rows):
            total = total + cls._of_block(block)
        return total

    @classmethod
    def _of_block(cls, features: Sequence[np.ndarray]) -> Moments:
        pairs = combinations_with_replacement(range(len(features)), 2)
        products = {(i, j): features[i].T @ features[j] for i, j in pairs}
        return cls(len(features[0]), tuple(f.sum(axis=0) for f in features), products)

    def __add__(self, other: Moments) -> Moments:
        sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        products = {key: self.products[key] + other.products[key] for key in self.products}
        return Moments(self.n + other.n, sums, products)

    def __sub__(self, other: Moments) -> Moments:
        sums = tuple(a - b for a, b in zip(self.sums, other.sums, strict=True))
        products = {key: self.products[key] - other.products[key] for key in self.products}
        return Moments(self.n - other.n, sums, products)

    def centred(self, i: int, j: int) -> np.ndarray:
        """A_i'A_j of features less their means."""
        return self.products[i, j] - np.outer(self.sums[i], self.sums[j]) / self.n

    def suffice(self, ridge: float) -> bool:
        """Whether canonical correlations at this ridge are accurate if computed from products."""
        traces = [np.trace(self.products[i, i]) for i in range(len(self.sums))]
        return self.n * ridge >= _MIN_RELATIVE_RIDGE * max(traces)


@dataclass(frozen=True, eq=False)
class Canonical:
    """Weights (r_i, k) on the centred features of each view, and the k correlations in decreasing order."""

    correlations: np.ndarray
    weights: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A'A = V diag(l^2) V' of centred features A: `squares` are l^2 (q,), `vectors` are V (r, q)."""

    squares: np.ndarray
    vectors: np.ndarray
    rank: int  # number of squares beyond rounding


@dataclass(frozen=True, eq=False)
class Crossing:
    """Spectra of several views of n points and V_i'A_i'A_j V_j for i < j, computed once for all ridges."""

    n: int
    spectra: tuple[Spectrum, ...]
    products: Products

    @classmethod
    def of_moments(cls, moments: Moments) -> Crossing:
        """By eigenvectors of the products A'A, which squares the rounding error."""
        views = range(len(moments.sums))
        spectra = []
        for i in views:
            squares, vectors = linalg.eigh(moments.centred(i, i))
            rounding = len(squares) * _EPS * float(np.trace(moments.products[i, i]))
            spectra.append(
                Spectrum(np.clip(squares, 0.0, None), vectors, int(np.sum(squares > rounding)))
            )
        products = {
            (i, j): spectra[i].vectors.T @ moments.centred(i, j) @ spectra[j].vectors
            for i, j in combinations(views, 2)
        }
        return cls(moments.n, tuple(spectra), products)

    @classmethod
    def of_features(cls, features: Sequence[np.ndarray]) -> Crossing:
        """By singular vectors of the features: accurate for every ridge, and slower.

        The triangle R of [A_1, ..., A_M] = QR has the same products and as many rows as columns.
        """
        n = len(features[0])
        centred = [f - f.mean(axis=0) for f in features]
        limits = [max(f.shape) * _EPS * np.abs(f).max(initial=0.0) * f.size**0.5 for f in features]
        if n > sum(f.shape[1] for f in features):
            triangle = linalg.qr_r(np.hstack(centred))
            centred = np.split(triangle, np.cumsum([f.shape[1] for f in features])[:-1], axis=1)
        lefts, spectra = [], []
        for a, limit in zip(centred, limits, strict=True):
            left, lengths, right = linalg.svd(a)
            rank = int(np.sum(lengths > limit))
            lefts.append(left[:, :rank] * lengths[:rank])
            spectra.append(Spectrum(lengths[:rank] ** 2, right[:rank].T, rank))
        products = {(i, j): lefts[i].T @ lefts[j] for i, j in combinations(range(len(lefts)), 2)}
        return cls(n, tuple(spectra), products)

    @property
    def rank(self) -> int:
        """Number of directions that vary in every view."""
        return min(spectrum.rank for spectrum in self.spectra)

    def canonical(self, number: int, ridge: float) -> Canonical:
        """Leading canonical variates for one ridge; their signs are arbitrary.

        With g = 1 / sqrt(l^2 + n ridge) for every view, blocks of the cross-covariance operator are
        diag(g_i) V_i'A_i'A_j V_j diag(g_j).
        """
        gains = [1 / np.sqrt(s.squares + self.n * ridge) for s in self.spectra]
        blocks = {
            (i, j): gains[i][:, None] * product * gains[j]
            for (i, j), product in self.products.items()
        }
        values, vectors = canonical_vectors(blocks, [len(g) for g in gains], number)
        weights = tuple(
            s.vectors @ (v * (self.n**0.5 * g)[:, None])
            for s, v, g in zip(self.spectra, vectors, gains, strict=True)
        )
        return Canonical(values, weights)


def crossing(
    features: Sequence[np.ndarray], ridge: float, total: Moments, rows: np.ndarray | None = None
) -> Crossing:
    """The crossing of these rows (None: of all), accurate for this ridge and larger ones.

    `total` are the moments of all rows; moments of the rows come from those of the other rows where
    these are fewer.
    """
    if not total.suffice(ridge):
        return Crossing.of_features(features if rows is None else [f[rows] for f in features])
    if rows is None:
        return Crossing.of_moments(total)
    others = np.ones(total.n, dtype=bool)
    others[rows] = False
    excluded = np.flatnonzero(others)
    if len(excluded) + len(rows) == total.n and len(excluded) < len(rows):
        return Crossing.of_moments(total - Moments.of(features, excluded))
    return Crossing.of_moments(Moments.of(features, rows))


def canonical_vectors(
    blocks: Products, sizes: Sequence[int], number: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Correlations and vectors (r_i, k) of every view from blocks F_i'F_j of the regularised operator.

    For two views they are singular values and vectors. For M views, eigenvectors of the matrix with
    such blocks off the diagonal and ones on it; an eigenvalue is 1 + (M - 1) r, with the correlation r
    (Bach and Jordan 2002, section 3.2), and the squared lengths of a view's vectors add up to M.
    """
    if len(sizes) == 2:
        first, values, second = leading_singular(blocks[0, 1], number)
        return np.clip(values, 0.0, 1.0), [first, second]
    ends = np.cumsum([0, *sizes])
    spans = [slice(a, b) for a, b in pairwise(ends)]
    matrix = np.eye(ends[-1], dtype=np.float64)
    for (i, j), block in blocks.items():
        matrix[spans[i], spans[j]], matrix[spans[j], spans[i]] = block, block.T
    values, vectors = leading_eigenpairs(matrix, number)
    views = len(sizes)
    vectors = vectors * np.sqrt(views)  # of two views: each of length 1
    return np.clip((values - 1) / (views - 1), 0.0, 1.0), [vectors[span] for span in spans]


def row_blocks(features: Sequence[np.ndarray], rows: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Rows of the features of every view, a block of bounded size at a time."""
    width = max(sum(f.shape[1] for f in features), 1)
    step = max(_BLOCK_BYTES // (8 * width), 64)
    for start in range(0, len(rows), step):
        # Cholesky factors are stored by columns: rows are taken from one column after the other
        yield [np.take(f.T, rows[start : start + step], axis=1).T for f in features]


def signs_of(scores: np.ndarray) -> np.ndarray:
    """Signs (k,) that make the largest score (n, k) of every column positive."""
    peaks = scores[np.abs(scores).argmax(axis=0), range(scores.shape[1])]
    return np.where(peaks < 0, -1.0, 1.0)


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
