"""One variable on its way into products of centred Gram matrices: a factor, tiles, or numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, sqrt

import numpy as np

from mercer import linalg
from mercer.backend import on_gpu, to_numpy
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix, LowRank, cholesky, top_eigenpairs
from mercer.gram.lazy import Centered
from mercer.htest.dependence.null_spectrum import cubes
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.sums.distance_covariance_1d import distance_rows
from mercer.kernels import Energy, facts
from mercer.rkhs.sample_rows import taken

_EXACT = 1e-14  # of the trace, below which the rest of a factor is rounding
_SHORT = 64  # columns of a factor on a GPU
_COPIES = 8  # of a factor, at the same time
_TOP = 50  # eigenvalues that tell the skewness
_SOME = 512  # observations that tell the size of a matrix


class Side(ABC):
    """The centred Gram matrix K~ of one variable."""

    variable: Variable

    @cached_property
    @abstractmethod
    def own(self) -> np.ndarray:
        """The diagonal of K~, float64: (n,)."""

    @cached_property
    @abstractmethod
    def squares(self) -> float:
        """The sum of the squared entries of K~."""

    @cached_property
    @abstractmethod
    def cubes(self) -> float:
        """The sum of the cubes of the eigenvalues of K~."""

    @cached_property
    @abstractmethod
    def size(self) -> float:
        """About the root of that."""

    @abstractmethod
    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """K~, or that of the observations in another order."""

    @abstractmethod
    def eigenvalues(self, rank: int) -> np.ndarray:
        """The largest eigenvalues of K~, falling, `rank` of them at most."""


@dataclass(frozen=True)
class Spanned(Side):
    """K~ = AA' to rounding; the columns of A are uncorrelated, and the shortest come first."""

    variable: Variable
    columns: np.ndarray  # (n, r)

    @cached_property
    def own(self) -> np.ndarray:
        """|a_i|^2: (n,)."""
        return np.einsum("ir,ir->i", self.columns, self.columns)

    @cached_property
    def squares(self) -> float:
        """The sum of the squared eigenvalues."""
        return float(np.sum(self.eigenvalues(self.columns.shape[1]) ** 2))

    @cached_property
    def cubes(self) -> float:
        """The sum of the cubed eigenvalues."""
        return float(np.sum(self.eigenvalues(self.columns.shape[1]) ** 3))

    @cached_property
    def size(self) -> float:
        """|K~|."""
        return sqrt(self.squares)

    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """AA'."""
        columns = self.columns if order is None else self.columns[order]
        none = columns.shape[1] == 0  # nothing varies
        return LowRank(np.zeros((len(columns), 1), dtype=np.float64) if none else columns)

    def eigenvalues(self, rank: int) -> np.ndarray:
        """The squared lengths of the columns."""
        return np.sum(self.columns**2, axis=0)[::-1][:rank]


class OfTiles(Side):
    """K~ of any rank, of which tiles are made when they are needed."""

    @cached_property
    @abstractmethod
    def centered(self) -> Centered:
        """K~ with its means."""

    @cached_property
    def own(self) -> np.ndarray:
        """The diagonal of K~."""
        return to_numpy(self.centered.diagonal()).astype(np.float64)

    @cached_property
    def squares(self) -> float:
        """By one pass over the tiles."""
        return self.centered.inner(self.centered)

    @cached_property
    def cubes(self) -> float:
        """Of the largest eigenvalues, and of the others as if they were equal."""
        return cubes(self.eigenvalues(_TOP), float(self.own.sum()), self.squares)

    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """K~; in another order the means are those that are known."""
        known = self.centered
        if order is None:
            return known
        means = taken(known.row_means, order)
        return Centered(self._reordered(order), means, means, known.mean)

    @abstractmethod
    def _reordered(self, order: np.ndarray) -> LazyMatrix:
        """The matrix before it is centred, of the observations in another order."""

    def eigenvalues(self, rank: int) -> np.ndarray:
        """By `top_eigenpairs`."""
        values = top_eigenpairs(self.centered, min(rank, len(self.own)))[0]
        return np.maximum(to_numpy(values).astype(np.float64), 0.0)


@dataclass(frozen=True)
class Tiled(OfTiles):
    """K~ of one variable, by its kernel."""

    variable: Variable

    @cached_property
    def centered(self) -> Centered:
        """HKH."""
        return Centered.of(self.variable.gram)

    @cached_property
    def size(self) -> float:
        """|K~| as some observations, evenly spread, let expect it."""
        n = len(self.own)
        some = np.arange(0, n, -(-n // _SOME))
        tile = to_numpy(self.matrix(some).dense()).astype(np.float64)
        squares = np.sum(tile**2) - np.sum(np.diag(tile) ** 2)
        pairs = max(len(some) * (len(some) - 1), 1)
        return sqrt(float(squares) * n * (n - 1) / pairs + float(self.own @ self.own))

    def _reordered(self, order: np.ndarray) -> LazyMatrix:
        return Gram(self.variable.kernel, taken(self.variable.points, order))


@dataclass(frozen=True)
class Line(Side):
    """K~ = -HDH / 2 with D_ij = |x_i - x_j|: the energy kernel on numbers."""

    variable: Variable
    tiled: Tiled

    @cached_property
    def numbers(self) -> np.ndarray:
        """x around its mean, float64: (n,)."""
        x = to_numpy(self.variable.points)[:, 0].astype(np.float64)
        return x - x.mean()

    @cached_property
    def rows(self) -> np.ndarray:
        """The row sums of D: (n,)."""
        return distance_rows(self.numbers)

    @cached_property
    def own(self) -> np.ndarray:
        """The diagonal of K~: (n,)."""
        n = len(self.rows)
        return self.rows / n - self.rows.sum() / (2 * n**2)

    @cached_property
    def squares(self) -> float:
        """|D|^2 = 2 n sum_i x_i^2, and less for its means."""
        n, x, rows = len(self.rows), self.numbers, self.rows
        return (2 * n * (x @ x) - 2 * (rows @ rows) / n + (rows.sum() / n) ** 2) / 4

    @cached_property
    def cubes(self) -> float:
        """By tiles."""
        return self.tiled.cubes

    @cached_property
    def size(self) -> float:
        """|K~|."""
        return sqrt(max(self.squares, 0.0))

    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """By tiles."""
        return self.tiled.matrix(order)

    def eigenvalues(self, rank: int) -> np.ndarray:
        """By tiles."""
        return self.tiled.eigenvalues(rank)


def sides(x: Variable, y: Variable) -> tuple[Side, Side]:
    """Both variables, by factors where these are short enough to be the quicker road.

    Products of factors of r and s columns take r s transforms, those of tiles n: so r s < n.
    """
    n = x.gram.shape[0]
    few = max(isqrt(n), 2)
    if on_gpu(x.points):  # where a long factor takes longer than all diagonals
        few = min(few, _SHORT)
        return side(x, few), side(y, few)
    first, second = side(x, few), side(y, few)
    if isinstance(second, Spanned) and isinstance(first, Tiled):
        first = side(x, n // max(second.columns.shape[1], 1))
    elif isinstance(first, Spanned) and isinstance(second, Tiled):
        second = side(y, n // max(first.columns.shape[1], 1))
    return first, second


def side(variable: Variable, most: int) -> Side:
    """By a factor of `most` columns, if so many are enough for K~ = AA' to rounding."""
    if variable.kernel == Energy() and variable.width == 1:
        return Line(variable, Tiled(variable))
    if not facts(variable.kernel).positive_definite:
        return Tiled(variable)
    gram = variable.gram
    most = max(min(most, settings().memory // (_COPIES * 8 * gram.shape[0])), 1)
    found = cholesky(gram, tolerance=_EXACT, most=most + 1)
    if len(found.pivots) > most:
        return Tiled(variable)
    return spanned(variable, to_numpy(found.columns).astype(np.float64))


def spanned(variable: Variable, a: np.ndarray) -> Spanned:
    """The side K~ of K = AA': A centred, its columns uncorrelated, without those of rounding."""
    a = a - a.mean(axis=0)
    if a.shape[1] > a.shape[0]:  # more columns than observations
        a = np.asarray(linalg.qr_r(a.T)).T  # AA' stays
    values, vectors = linalg.eigh(a.T @ a)
    kept = values > _EXACT / 10 * np.max(values, initial=0.0)
    return Spanned(variable, a @ vectors[:, kept])
