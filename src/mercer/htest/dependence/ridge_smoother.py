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

import numpy as np

from mercer import linalg
from mercer.backend import to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import LazyMatrix, cholesky

_COLUMNS_PER_ROOT_N = 12  # at most 12 sqrt(n) columns, so that the work is O(n^2)
_FACTOR_TOLERANCE = 1e-8  # share of the trace that a factor may miss
_EIGENVALUE_TOLERANCE = 1e-8  # share of the largest eigenvalue below which a direction is rounding
_RIDGES = 10.0 ** np.arange(-7.0, 2.01, 0.25)  # candidates, in units of the mean eigenvalue
_MAX_DEGREES_SHARE = 0.5  # of the observations; with more, cross-validation errors are unstable
_MIN_RESIDUAL_SHARE = 0.01  # of its variance in a residual, so that dividing by it stays bounded


@dataclass(frozen=True)
class KernelDirections:
    """Principal directions of a kernel on z: eigenvalues of HKH / n and its eigenvectors, (m,) and (n, m)."""

    values: np.ndarray
    vectors: np.ndarray

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
        return cls.of_factor(to_numpy(factor.columns))

    @classmethod
    def of_factor(cls, features: np.ndarray) -> KernelDirections:
        """The directions of K = AA', from the features A (n, r)."""
        a = features.astype(np.float64)
        a = a - a.mean(axis=0)
        values, vectors = linalg.eigh(a.T @ a)
        significant = values > _EIGENVALUE_TOLERANCE * np.max(values, initial=0.0)
        values, vectors = values[significant], vectors[:, significant]
        return cls(values / len(a), a @ (vectors / np.sqrt(values)))

    @property
    def ridges(self) -> np.ndarray:
        """Candidate ridges, from nearly a projection to nearly a constant."""
        return _RIDGES * float(np.mean(self.values)) if len(self.values) else np.ones(1)


@dataclass(frozen=True)
class Smoother:
    """S = 11'/n + V diag(g) V': fitted values are S a, residuals (I - S) a."""

    vectors: np.ndarray  # (n, m)
    shares: np.ndarray  # g, (m,)

    def residuals(self, a: np.ndarray) -> np.ndarray:
        """(I - S) a: (n, k)."""
        centred = a - a.mean(axis=0)
        centred -= self.vectors @ (self.shares[:, None] * (self.vectors.T @ centred))
        return centred

    def two_sided(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B, (n, m + 1) each, with (I - S) K (I - S) = K - AB' - BA' for a symmetric K (n, n)."""
        constant = np.full((len(matrix), 1), len(matrix) ** -0.5, dtype=np.float64)
        a, g = np.concatenate([constant, self.vectors], axis=1), np.append(1.0, self.shares)
        b = (matrix @ a) * g
        b -= a @ (g[:, None] * (a.T @ b)) / 2
        return a, b

    @cached_property
    def residual_variances(self) -> np.ndarray:
        """The diagonal of (I - S)^2: the variance of each residual for noise of variance one, (n,)."""
        used = 1 / len(self.vectors) + self.vectors**2 @ (1 - (1 - self.shares) ** 2)
        return np.maximum(1 - used, _MIN_RESIDUAL_SHARE)

    @property
    def degrees(self) -> float:
        """Effective degrees of freedom, the trace of S."""
        return 1 + float(np.sum(self.shares))


def smoother(candidates: Sequence[KernelDirections], targets: np.ndarray, slack: float) -> Smoother:
    """The undersmoothed regression of the targets (n, k) on the best of several kernels.

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
    return Smoother(directions.vectors, 1 - _residual_shares(directions)[lowest])


def _residual_shares(directions: KernelDirections) -> np.ndarray:
    """Share of each direction in the residuals, for every ridge: (ridges, m)."""
    ridges = directions.ridges[:, None]
    return (ridges / (directions.values + ridges)) ** 2


def _errors(directions: KernelDirections, targets: np.ndarray) -> np.ndarray:
    """Generalised cross-validation errors for every ridge; infinite beyond n / 2 degrees of freedom."""
    n, shares = len(targets), _residual_shares(directions)
    centred = targets - targets.mean(axis=0)
    along = np.sum((directions.vectors.T @ centred) ** 2, axis=1)
    orthogonal = max(float(np.sum(centred**2) - np.sum(along)), 0.0)
    used = (1 + np.sum(1 - shares, axis=1)) / n
    with np.errstate(divide="ignore"):
        errors = (shares**2 @ along + orthogonal) / (1 - used) ** 2
    return np.where((used <= _MAX_DEGREES_SHARE) | (used == np.min(used)), errors, np.inf)
