"""Undersmoothed ridge regression on the conditioning variable.

The bias of a smoother, what it misses of E[x | z] and of E[y | z], looks like dependence of x and y given
z. The smoother that predicts best balances bias against variance, and its bias is too large for a
test. Variance does no harm, because the null distribution takes the smoother into account; so bias is
reduced at the cost of variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Protocol

import numpy as np

from mercer import linalg
from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    namespace,
    ones,
    to_numpy,
    transposed,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import LazyMatrix, cholesky

_COLUMNS_PER_ROOT_N = 12  # at most 12 sqrt(n) columns, so that the work is O(n^2)
_FACTOR_TOLERANCE = 1e-8  # share of the trace that a factor may miss
_EIGENVALUE_TOLERANCE = 1e-8  # share of the largest eigenvalue below which a direction is rounding
_RIDGES = 10.0 ** np.arange(-7.0, 2.01, 0.25)  # candidates, in units of the mean eigenvalue
_MAX_DEGREES_SHARE = 0.5  # of the observations; with more, cross-validation errors are unstable
_MIN_RESIDUAL_SHARE = 0.01  # of its variance in a residual, so that dividing by it stays bounded


class Targets(Protocol):
    """A variable that is regressed on z, by features F (n, k)."""

    @property
    def n(self) -> int:
        """Number of observations."""
        ...

    @property
    def variation(self) -> float:
        """Squared norm of the centred features."""
        ...

    def along(self, basis: SmootherBasis) -> np.ndarray:
        """|v'F|^2 for every vector v of a basis, whose entries sum to 0: (m,)."""
        ...


@dataclass(frozen=True)
class SmootherBasis:
    """Orthonormal vectors V = AR (n, m) by features A (n, r) and R (r, m); without R, V = A.

    For many more observations than features, products with A and R take less time than V does.
    """

    features: Array  # on the device of z
    rotation: Array | None = None

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.features.shape[0])

    @cached_property
    def vectors(self) -> Array:
        """V: (n, m)."""
        return self.features if self.rotation is None else self.features @ self.rotation

    def coefficients(self, a: Array) -> Array:
        """V'a: (m, k)."""
        products = transposed(self.features) @ a
        return products if self.rotation is None else transposed(self.rotation) @ products

    def combined(self, coefficients: Array) -> Array:
        """V c: (n, k)."""
        if self.rotation is None:
            return self.features @ coefficients
        return self.features @ (self.rotation @ coefficients)

    def weighted_squares(self, weights: Array) -> Array:
        """The diagonal of V diag(w) V': (n,)."""
        return self.vectors**2 @ weights


@dataclass(frozen=True)
class KernelDirections:
    """Principal directions of a kernel on z: eigenvalues of HKH / n, (m,), and its eigenvectors."""

    values: np.ndarray
    basis: SmootherBasis

    @classmethod
    def of(cls, matrix: LazyMatrix) -> KernelDirections:
        """The directions of a Gram matrix, from a pivoted Cholesky factor with at most 12 sqrt(n) columns."""
        n = matrix.shape[0]
        max_columns = min(n, _COLUMNS_PER_ROOT_N * isqrt(n))
        try:
            factor = cholesky(matrix, tolerance=_FACTOR_TOLERANCE, most=max_columns)
        except MemoryBudgetError as error:
            raise MemoryBudgetError(
                f"the regression on z of {n:,} observations needs too many columns of its kernel "
                f"matrix for a budget of {settings().memory / 2**20:,.0f} MiB: use RCoT(), which "
                "needs few, or raise mercer.config(memory=...)"
            ) from error
        return cls.of_factor(factor.columns)

    @classmethod
    def of_factor(cls, features: Array) -> KernelDirections:
        """The directions of K = AA', from the features A (n, r)."""
        xp = namespace(features)
        a = astype(features, double(features))
        a = a - xp.mean(a, axis=0)
        if a.shape[1] <= a.shape[0]:
            return cls._of_squares(a, transposed(a) @ a)
        eigenvalues, vectors = linalg.eigh(a @ transposed(a))
        values = to_numpy(eigenvalues)
        first = _first_significant(values)
        return cls(values[first:] / a.shape[0], SmootherBasis(vectors[:, first:]))

    @classmethod
    def nested(cls, features: np.ndarray, widths: Sequence[int]) -> list[KernelDirections]:
        """The directions of the first columns of features with mean 0, for several numbers of columns."""
        squares = features.T @ features if min(widths) <= len(features) else features[:0]
        return [
            cls._of_squares(features[:, :width], squares[:width, :width])
            if width <= len(features)
            else cls.of_factor(features[:, :width])
            for width in widths
        ]

    @classmethod
    def _of_squares(cls, a: Array, squares: Array) -> KernelDirections:
        """The directions of K = AA' from A'A, for features A with mean 0."""
        eigenvalues, vectors = linalg.eigh(squares)
        values = to_numpy(eigenvalues)
        first = _first_significant(values)
        rotation = vectors[:, first:] / namespace(a).sqrt(eigenvalues[first:])
        return cls(values[first:] / a.shape[0], SmootherBasis(a, rotation))

    @property
    def ridges(self) -> np.ndarray:
        """Candidate ridges, from nearly a projection to nearly a constant."""
        return _RIDGES * float(np.mean(self.values)) if len(self.values) else np.ones(1)

    @cached_property
    def residual_shares(self) -> np.ndarray:
        """Share of each direction in the residuals, for every ridge: (ridges, m)."""
        ridges = self.ridges[:, None]
        return (ridges / (self.values + ridges)) ** 2

    @cached_property
    def degrees(self) -> np.ndarray:
        """Effective degrees of freedom for every ridge: (ridges,)."""
        return 1 + np.sum(1 - self.residual_shares, axis=1)


def _first_significant(values: np.ndarray) -> int:
    """The place of the first of increasing eigenvalues that is not rounding."""
    significant = values > _EIGENVALUE_TOLERANCE * np.max(values, initial=0.0)
    return len(values) - int(np.count_nonzero(significant))


@dataclass(frozen=True)
class Smoother:
    """S = 11'/n + V diag(g) V': fitted values are S a, residuals (I - S) a."""

    basis: SmootherBasis  # V
    shares: np.ndarray  # g, (m,)

    def residuals(self, a: Array) -> Array:
        """(I - S) a: (n, k)."""
        centred = a - namespace(a).mean(a, axis=0)
        shares = array_like(self.shares, a)
        centred -= self.basis.combined(shares[:, None] * self.basis.coefficients(centred))
        return centred

    def two_sided(self, matrix: Array) -> tuple[Array, Array]:
        """A and B, (n, m + 1) each, with (I - S) K (I - S) = K - AB' - BA' for a symmetric K (n, n)."""
        n = matrix.shape[0]
        vectors = self.basis.vectors
        a = namespace(matrix).concat([n**-0.5 * ones((n, 1), vectors), vectors], axis=1)
        g = array_like(np.append(1.0, self.shares), matrix)
        b = (matrix @ a) * g
        b -= a @ (g[:, None] * (transposed(a) @ b)) / 2
        return a, b

    @cached_property
    def residual_variances(self) -> Array:
        """The diagonal of (I - S)^2: the variance of each residual for noise of variance one, (n,)."""
        squares = array_like(1 - (1 - self.shares) ** 2, self.basis.features)
        used = 1 / self.basis.n + self.basis.weighted_squares(squares)
        return namespace(used).clip(1 - used, _MIN_RESIDUAL_SHARE, None)

    @property
    def degrees(self) -> float:
        """Effective degrees of freedom, the trace of S."""
        return 1 + float(np.sum(self.shares))


def smoother(candidates: Sequence[KernelDirections], targets: Targets, slack: float) -> Smoother:
    """The undersmoothed regression of the targets on the best of several kernels.

    Ridge regression is applied twice, the second time to the residuals of the first: the residual
    keeps a share (r / (l + r))^2 of a direction with eigenvalue l, so that the bias is of higher
    order (twicing; Newey, Hsieh and Robins 2004). The kernel and the ridge r minimise the
    generalised cross-validation error |(I - S) a|^2 / (1 - tr S / n)^2 (Golub, Heath and Wahba 1979);
    then r is lowered as long as this error grows by no more than `slack`.
    """
    errors = [_errors(directions, targets) for directions in candidates]
    best = int(np.argmin([np.min(e) for e in errors]))
    directions, error = candidates[best], errors[best]
    minimum = int(np.argmin(error))
    worse = np.flatnonzero(error[:minimum] > (1 + slack) * error[minimum])
    lowest = int(worse[-1]) + 1 if len(worse) else 0
    return Smoother(directions.basis, 1 - directions.residual_shares[lowest])


def _errors(directions: KernelDirections, targets: Targets) -> np.ndarray:
    """Generalised cross-validation errors for every ridge; infinite beyond n / 2 degrees of freedom."""
    shares, along = directions.residual_shares, targets.along(directions.basis)
    orthogonal = max(targets.variation - float(np.sum(along)), 0.0)
    used = directions.degrees / targets.n
    with np.errstate(divide="ignore"):
        errors = (shares**2 @ along + orthogonal) / (1 - used) ** 2
    return np.where((used <= _MAX_DEGREES_SHARE) | (used == np.min(used)), errors, np.inf)
