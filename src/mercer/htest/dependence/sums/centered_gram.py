"""Centred Gram matrices K~ = HKH of one variable: low-rank, by tiles, or distances of numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, sqrt

import numpy as np

from mercer import linalg
from mercer.backend import count, on_gpu, to_numpy
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix, LowRank, cholesky, top_eigenpairs
from mercer.gram.lazy import Centered
from mercer.htest.dependence.leading_cubes import leading_cubes
from mercer.kernels import Energy, facts
from mercer.rkhs.distance_covariance_1d import CentredDistances, centred_cube_trace
from mercer.rkhs.paired_samples import Variable
from mercer.rkhs.sample_rows import taken

_ROUNDING = 1e-14  # share of the trace below which the remainder of a factor is float64 rounding
_MAX_COLUMNS_ON_GPU = 64  # with longer factors all diagonals together are faster on a GPU
_FACTOR_COPIES = 8  # of a factor in memory at the same time: transforms, products, temporaries
_ROWS_FOR_NORM = (
    512  # of the subsample on which |K~| is estimated, which only scales a rounding tolerance
)
_DISTANCE = Energy()


class CenteredGram(ABC):
    """The centred Gram matrix K~ of one variable."""

    variable: Variable

    @cached_property
    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """The diagonal of K~, float64: (n,)."""

    @cached_property
    @abstractmethod
    def squared_norm(self) -> float:
        """Squared Frobenius norm of K~."""

    @cached_property
    @abstractmethod
    def cube_trace(self) -> float:
        """tr K~^3, the sum of the cubed eigenvalues."""

    @cached_property
    @abstractmethod
    def norm(self) -> float:
        """Frobenius norm of K~, perhaps estimated on a subsample."""

    @abstractmethod
    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """K~, or that of the observations in another order."""

    @abstractmethod
    def eigenvalues(self, rank: int) -> np.ndarray:
        """The `rank` largest eigenvalues of K~, in decreasing order."""


@dataclass(frozen=True)
class LowRankGram(CenteredGram):
    """K~ = AA' up to rounding; the columns of A are uncorrelated and have increasing norms."""

    variable: Variable
    columns: np.ndarray  # (n, r)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """|a_i|^2: (n,)."""
        return np.einsum("ir,ir->i", self.columns, self.columns)

    @cached_property
    def squared_norm(self) -> float:
        """Sum of the squared eigenvalues."""
        return float(np.sum(self.eigenvalues(self.columns.shape[1]) ** 2))

    @cached_property
    def cube_trace(self) -> float:
        """Sum of the cubed eigenvalues."""
        return float(np.sum(self.eigenvalues(self.columns.shape[1]) ** 3))

    @cached_property
    def norm(self) -> float:
        """Frobenius norm of K~."""
        return sqrt(self.squared_norm)

    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """AA'."""
        columns = self.columns if order is None else self.columns[order]
        constant = columns.shape[1] == 0  # the variable does not vary
        return LowRank(np.zeros((len(columns), 1), dtype=np.float64) if constant else columns)

    def eigenvalues(self, rank: int) -> np.ndarray:
        """Squared norms of the columns."""
        return np.sum(self.columns**2, axis=0)[::-1][:rank]


class LazyCenteredGram(CenteredGram):
    """K~ of any rank, whose tiles are computed when they are needed."""

    @cached_property
    @abstractmethod
    def centered(self) -> Centered:
        """K~ with its row means."""

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K~, float64: (n,)."""
        return to_numpy(self.centered.diagonal()).astype(np.float64)

    @cached_property
    def squared_norm(self) -> float:
        """Squared Frobenius norm, by one pass over the tiles."""
        return self.centered.inner(self.centered)

    @cached_property
    def cube_trace(self) -> float:
        """Sum of the cubes of the largest eigenvalues, and of the others as if they were equal."""
        return leading_cubes(self.centered, float(self.diagonal.sum()), self.squared_norm)

    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """K~; in another order it is centred with the row means in that order."""
        centered = self.centered
        if order is None:
            return centered
        means = taken(centered.row_means, order)
        return Centered(self._reordered(order), means, means, centered.mean)

    @abstractmethod
    def _reordered(self, order: np.ndarray) -> LazyMatrix:
        """The matrix before centring, of the observations in another order."""

    def eigenvalues(self, rank: int) -> np.ndarray:
        """The largest eigenvalues, by `top_eigenpairs`."""
        values = top_eigenpairs(self.centered, min(rank, len(self.diagonal)))[0]
        return np.maximum(to_numpy(values).astype(np.float64), 0.0)


@dataclass(frozen=True)
class TiledGram(LazyCenteredGram):
    """K~ of the kernel of one variable, by tiles."""

    variable: Variable

    @cached_property
    def centered(self) -> Centered:
        """HKH."""
        return Centered.of(self.variable.gram)

    @cached_property
    def norm(self) -> float:
        """Frobenius norm of K~, estimated on a subsample."""
        n = len(self.diagonal)
        subsample = np.arange(0, n, -(-n // _ROWS_FOR_NORM))
        tile = to_numpy(self.matrix(subsample).dense()).astype(np.float64)
        squares = np.sum(tile**2) - np.sum(np.diag(tile) ** 2)
        pairs = max(len(subsample) * (len(subsample) - 1), 1)
        return sqrt(float(squares) * n * (n - 1) / pairs + float(self.diagonal @ self.diagonal))

    def _reordered(self, order: np.ndarray) -> LazyMatrix:
        return Gram(self.variable.kernel, taken(self.variable.points, order))


@dataclass(frozen=True)
class Distance1D(CenteredGram):
    """K~ = -HDH / 2 with D_ij = |x_i - x_j|: the energy kernel on numbers."""

    variable: Variable
    tiled: TiledGram

    @cached_property
    def distances(self) -> CentredDistances:
        """K~ of the numbers, float64."""
        x = to_numpy(self.variable.points)[:, 0].astype(np.float64)
        return CentredDistances(x - x.mean())

    @property
    def numbers(self) -> np.ndarray:
        """x less its mean, float64: (n,)."""
        return self.distances.numbers

    @property
    def row_sums(self) -> np.ndarray:
        """Row sums of D: (n,)."""
        return self.distances.row_sums

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K~: (n,)."""
        return self.distances.diagonal()

    @cached_property
    def squared_norm(self) -> float:
        """|HDH|^2 / 4."""
        return self.distances.inner(self.distances)

    @cached_property
    def cube_trace(self) -> float:
        """tr K~^3, exactly."""
        return centred_cube_trace(self.numbers)

    @cached_property
    def norm(self) -> float:
        """Frobenius norm of K~."""
        return sqrt(max(self.squared_norm, 0.0))

    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """K~ by tiles."""
        return self.tiled.matrix(order)

    def eigenvalues(self, rank: int) -> np.ndarray:
        """The largest eigenvalues, from tiles."""
        return self.tiled.eigenvalues(rank)


def centered_grams(x: Variable, y: Variable) -> tuple[CenteredGram, CenteredGram]:
    """K~ and L~ of two variables, low-rank where products of factors are faster than those of tiles.

    Products of factors with r and s columns take r s transforms, those of tiles n: so r s < n.
    """
    n = count(x.points)
    max_rank = max(isqrt(n), 2)
    if on_gpu(x.points):
        max_rank = min(max_rank, _MAX_COLUMNS_ON_GPU)
        return centered_gram(x, max_rank), centered_gram(y, max_rank)
    first, second = centered_gram(x, max_rank), centered_gram(y, max_rank)
    if isinstance(second, LowRankGram) and isinstance(first, TiledGram):
        first = centered_gram(x, n // max(second.columns.shape[1], 1))
    elif isinstance(first, LowRankGram) and isinstance(second, TiledGram):
        second = centered_gram(y, n // max(first.columns.shape[1], 1))
    return first, second


def centered_gram(variable: Variable, max_rank: int) -> CenteredGram:
    """K~, low-rank if a factor with at most `max_rank` columns equals it up to rounding."""
    if on_line(variable):
        return Distance1D(variable, TiledGram(variable))
    if not facts(variable.kernel).positive_definite:
        return TiledGram(variable)
    gram = variable.gram
    affordable = settings().memory // (_FACTOR_COPIES * 8 * gram.shape[0])
    max_rank = max(min(max_rank, affordable), 1)
    factor = cholesky(gram, tolerance=_ROUNDING, most=max_rank + 1)
    if len(factor.pivots) > max_rank:
        return TiledGram(variable)
    return low_rank_gram(variable, to_numpy(factor.columns).astype(np.float64))


def on_line(variable: Variable) -> bool:
    """Whether a variable are numbers with distances as their kernel."""
    return variable.kernel == _DISTANCE and variable.width == 1


def low_rank_gram(variable: Variable, a: np.ndarray) -> LowRankGram:
    """K~ of K = AA': A is centred, its columns are made uncorrelated, those of rounding dropped."""
    a = a - a.mean(axis=0)
    if a.shape[1] > a.shape[0]:  # more columns than observations
        a = np.asarray(linalg.qr_r(a.T)).T  # with the same AA'
    values, vectors = linalg.eigh(a.T @ a)
    significant = values > _ROUNDING / 10 * np.max(values, initial=0.0)
    return LowRankGram(variable, a @ vectors[:, significant])
