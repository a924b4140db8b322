"""Regression on the variable that is given: ridge smoothers that predict well, and then smooth less.

What a smoother leaves of E[x | z] and of E[y | z] looks like dependence of x and y given z. The best
prediction leaves too much: it balances this bias against variance. Variance does no harm to a
test whose null distribution knows the smoother, so that bias is made small at its cost.
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

_SPANS = 12  # times the root of the number of observations: directions of a smoother at most
_EXACT = 1e-8  # of the trace, below which the rest of a factor is left out
_NOISE = 1e-8  # of the largest eigenvalue, below which a direction is rounding
_RIDGES = 10.0 ** np.arange(-7.0, 2.01, 0.25)  # tried, in units of the mean eigenvalue
_FREE = 0.5  # share of the observations that a smoother may use up
_HELD = 0.01  # share of its variance that a residual is taken to have, at least


@dataclass(frozen=True)
class Directions:
    """Orthonormal directions in which a kernel on z varies, the constant left out.

    `values` are eigenvalues of HKH / n, `vectors` its eigenvectors: (m,) and (n, m).
    """

    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, matrix: LazyMatrix) -> Directions:
        """Of a Gram matrix; at most 12 sqrt(n) of its columns span them, so that n^2 bounds the work."""
        n = matrix.shape[0]
        most = min(n, _SPANS * isqrt(n))
        try:
            found = cholesky(matrix, tolerance=_EXACT, most=most)
        except MemoryBudgetError as error:
            raise MemoryBudgetError(
                f"the regression on z of {n:,} observations needs too many columns of its kernel "
                f"matrix for a budget of {settings().memory / 2**20:,.0f} MiB: use RCoT(), which "
                "needs few, or raise mercer.config(memory=...)"
            ) from error
        return cls.spanned(to_numpy(found.columns))

    @classmethod
    def spanned(cls, features: np.ndarray) -> Directions:
        """Of K = AA' by the columns of A: (n, r)."""
        a = features.astype(np.float64)
        a = a - a.mean(axis=0)
        values, vectors = linalg.eigh(a.T @ a)
        kept = values > _NOISE * np.max(values, initial=0.0)
        return cls(values[kept] / len(a), a @ (vectors[:, kept] / np.sqrt(values[kept])))

    @property
    def ridges(self) -> np.ndarray:
        """Those that are tried: from nearly a projection to nearly a constant."""
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

    def sides(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B, (n, m + 1) each, with (I - S) K (I - S) = K - AB' - BA' for a symmetric K (n, n)."""
        ones = np.full((len(matrix), 1), len(matrix) ** -0.5, dtype=np.float64)
        a, g = np.concatenate([ones, self.vectors], axis=1), np.append(1.0, self.shares)
        b = (matrix @ a) * g
        b -= a @ (g[:, None] * (a.T @ b)) / 2
        return a, b

    @cached_property
    def own(self) -> np.ndarray:
        """The diagonal of (I - S)^2, the share of its variance that each residual has: (n,)."""
        used = 1 / len(self.vectors) + self.vectors**2 @ (1 - (1 - self.shares) ** 2)
        return np.maximum(1 - used, _HELD)

    @property
    def degrees(self) -> float:
        """The trace of S."""
        return 1 + float(np.sum(self.shares))


def smoother(among: Sequence[Directions], targets: np.ndarray, slack: float) -> Smoother:
    """The smoother of some targets (n, k) whose prediction is the best or nearly so.

    A smoother is ridge regression done twice, the second time on the residuals of the first: it
    leaves (r / (l + r))^2 of a direction with eigenvalue l, so that its bias is of
    higher order (twicing; Newey, Hsieh and Robins 2004). The kernel and the ridge r are those of
    the smallest generalised cross-validation error |(I - S) a|^2 / (1 - tr S / n)^2 (Golub, Heath
    and Wahba 1979), and then r is lowered as long as this error grows by no more than `slack`.
    """
    errors = [_errors(directions, targets) for directions in among]
    best = int(np.argmin([np.min(e) for e in errors]))
    chosen, error = among[best], errors[best]
    least = int(np.argmin(error))
    worse = np.flatnonzero(error[:least] > (1 + slack) * error[least])
    lowest = int(worse[-1]) + 1 if len(worse) else 0
    return Smoother(chosen.vectors, 1 - _left(chosen)[lowest])


def _left(directions: Directions) -> np.ndarray:
    """What every ridge leaves of every direction: (ridges, m)."""
    ridges = directions.ridges[:, None]
    return (ridges / (directions.values + ridges)) ** 2


def _errors(directions: Directions, targets: np.ndarray) -> np.ndarray:
    """Generalised cross-validation errors for every ridge; infinite where too much is used up."""
    n, left = len(targets), _left(directions)
    centred = targets - targets.mean(axis=0)
    along = np.sum((directions.vectors.T @ centred) ** 2, axis=1)
    beside = max(float(np.sum(centred**2) - np.sum(along)), 0.0)
    used = (1 + np.sum(1 - left, axis=1)) / n
    with np.errstate(divide="ignore"):
        errors = (left**2 @ along + beside) / (1 - used) ** 2
    return np.where((used <= _FREE) | (used == np.min(used)), errors, np.inf)
