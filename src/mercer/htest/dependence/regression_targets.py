"""Variables that are regressed on another one, and their residuals: by features, or by a Gram matrix.

A kernel K = FF' of low rank is regressed through its features F, (n, k). Where k comes close to n the Gram
matrix is cheaper: the residuals E = (I - S) F of a smoother S enter through EE' = (I - S) K (I - S) only.
Arrays may be those of NumPy or of torch, on the device of the variable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.backend import Array, namespace, scalar, to_numpy, transposed
from mercer.gram import Dense, LazyMatrix, LowRank
from mercer.gram.threads import side, spans
from mercer.htest.dependence.ridge_smoother import Smoother, SmootherBasis


class Residuals(ABC):
    """Residuals E of a variable after smoothing."""

    smoother: Smoother
    share: float  # of the variance of the variable that remains

    @abstractmethod
    def inner(self, rows: slice, columns: slice) -> Array:
        """A block of EE'."""

    @abstractmethod
    def gram(self) -> LazyMatrix:
        """EE'."""

    @cached_property
    def noise_scale(self) -> Array:
        """Factors that rescale E to the variance of the noise before the regression (HC2): (n,)."""
        variances = self.smoother.residual_variances
        return 1 / namespace(variances).sqrt(variances)


@dataclass(frozen=True)
class FeatureResiduals(Residuals):
    """E itself."""

    smoother: Smoother
    values: Array  # (n, k)
    share: float

    @cached_property
    def noise(self) -> Array:
        """E rescaled to the variance of the noise: (n, k)."""
        return self.values * self.noise_scale[:, None]

    def inner(self, rows: slice, columns: slice) -> Array:
        """A block of EE'."""
        return self.values[rows, :] @ transposed(self.values[columns, :])

    def gram(self) -> LazyMatrix:
        """EE'."""
        return LowRank(self.values)


@dataclass(frozen=True)
class GramResiduals(Residuals):
    """EE' for features that are not known."""

    smoother: Smoother
    matrix: Array  # (n, n)
    share: float

    def inner(self, rows: slice, columns: slice) -> Array:
        """A block of EE'."""
        return self.matrix[rows, columns]

    def gram(self) -> LazyMatrix:
        """EE'."""
        return Dense(self.matrix)


@dataclass(frozen=True)
class FeatureTargets:
    """A variable with features F."""

    features: Array  # (n, k)

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.features.shape[0])

    @cached_property
    def _centred(self) -> Array:
        return self.features - namespace(self.features).mean(self.features, axis=0)

    @property
    def variation(self) -> float:
        """Squared norm of the centred features."""
        return scalar(namespace(self.features).sum(self._centred**2))

    def along(self, basis: SmootherBasis) -> np.ndarray:
        """Row sums of (V'F)^2."""
        products = basis.coefficients(self._centred)
        return to_numpy(namespace(products).sum(products**2, axis=1))

    def residuals(self, smoother: Smoother) -> FeatureResiduals:
        """(I - S) F."""
        values = smoother.residuals(self.features)
        remaining = scalar(namespace(values).sum(values**2))
        return FeatureResiduals(smoother, values, _share(remaining, self.variation))


@dataclass(frozen=True)
class GramTargets:
    """A variable with a Gram matrix K."""

    matrix: Array  # (n, n)

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.matrix.shape[0])

    @property
    def variation(self) -> float:
        """tr HKH."""
        return _trace(self.matrix) - scalar(namespace(self.matrix).sum(self.matrix)) / self.n

    def along(self, basis: SmootherBasis) -> np.ndarray:
        """The diagonal of V'KV."""
        vectors = basis.vectors
        xp = namespace(vectors)
        return to_numpy(xp.sum(vectors * (self.matrix @ vectors), axis=0))

    def residuals(self, smoother: Smoother) -> GramResiduals:
        """(I - S) K (I - S)."""
        matrix = namespace(self.matrix).asarray(self.matrix, copy=True)
        a, b = smoother.two_sided(matrix)
        for rows in spans(self.n, side(matrix)):
            for columns in spans(self.n, side(matrix), first=rows.start):
                tile = matrix[rows, columns]
                tile -= a[rows, :] @ transposed(b[columns, :])
                tile -= b[rows, :] @ transposed(a[columns, :])
                mirrored = transposed(tile)
                matrix[columns, rows] = (mirrored + tile) / 2 if rows == columns else mirrored
        return GramResiduals(smoother, matrix, _share(_trace(matrix), self.variation))


def _trace(matrix: Array) -> float:
    xp = namespace(matrix)
    return scalar(xp.sum(xp.linalg.diagonal(matrix)))


def _share(remaining: float, variation: float) -> float:
    return remaining / variation if variation > 0 else 0.0
