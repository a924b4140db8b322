"""Gaussian distribution: density, score and sampling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, pi
from numbers import Real
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, namespace, to_numpy
from mercer.rkhs.densities import Density

# Allowed asymmetry of a covariance matrix, relative to its largest entry: well above rounding error.
_ROUNDING = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Density):
    """Normal distribution N(m, C) on R^d.

    log p(x) = -(x - m)' C^-1 (x - m) / 2 - log det(2 pi C) / 2, and the score, its gradient, is
    C^-1 (m - x).

    Parameters
    ----------
    mean : number or array (d,)
        The mean; a number for a distribution on the line.
    cov : number, array (d,) or array (d, d)
        One variance for all coordinates, the variance of each, or the covariance matrix. Variances, not
        standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> p = Gaussian([0.0, 1.0], [1.0, 4.0])
    >>> p
    Gaussian(2 dimensions)
    >>> p.log_density(np.array([[0.0, 1.0]]))  # -log(2 pi) - log(2)
    array([-2.5310...])
    >>> p.score(np.array([[1.0, 3.0]]))
    array([[-1. , -0.5]])
    >>> p.sample(3, rng=0).shape
    (3, 2)
    """

    mean: Any  # numbers or a vector; kept as an array (d,)
    cov: Any  # numbers, a vector or a matrix; kept as an array (d,) or (d, d)

    def __post_init__(self) -> None:
        mean = as_vector("mean", self.mean)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "cov", _covariance(self.cov, len(mean)))

    def __repr__(self) -> str:
        if self.dimension == 1:
            return f"Gaussian({float(self.mean[0]):g}, {float(self.cov.ravel()[0]):g})"
        return f"Gaussian({self.dimension} dimensions)"

    @classmethod
    def fit(cls, x: Any) -> Gaussian:
        """Maximum likelihood fit: the mean and the covariance matrix of the points.

        Examples
        --------
        >>> Gaussian.fit([1.0, 2.0, 6.0])
        Gaussian(3, 4.66667)
        """
        points = to_numpy(validate.points(x, "x")).astype(np.float64)
        if len(points) <= points.shape[1]:
            raise ValueError(
                f"x needs more points than columns for a covariance matrix, got {len(points)} points "
                f"of {points.shape[1]} columns"
            )
        mean = points.mean(axis=0)
        centred = points - mean
        try:
            return cls(mean, centred.T @ centred / len(points))
        except ValueError as error:
            raise ValueError(f"x does not determine a Gaussian: {error}") from None

    @property
    def dimension(self) -> int:
        """The d of R^d."""
        return len(self.mean)

    def log_density(self, x: Any) -> Array:
        """Log-density log p(x_i): (n,)."""
        x = self._points(x)
        z = self._whitened(x)
        return -0.5 * namespace(z).sum(z * z, axis=1) - self._log_normaliser

    def score(self, x: Any) -> Array:
        """Score C^-1 (m - x_i): (n, d)."""
        x = self._points(x)
        whitening = array_like(self._whitening, x)
        z = self._whitened(x)
        return -(z * whitening if whitening.ndim == 1 else z @ whitening)

    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """Draw `n` points: (n, d)."""
        validate.whole("n", n)
        z = validate.generator(rng).standard_normal((n, self.dimension))
        return self.mean + (z * self._root if self._root.ndim == 1 else z @ self._root.T)

    # ---- private ----------------------------------------------------------------------

    @cached_property
    def _root(self) -> np.ndarray:
        """Cholesky factor L with C = LL', or the standard deviations of a diagonal C."""
        return np.sqrt(self.cov) if self.cov.ndim == 1 else linalg.cholesky(self.cov)

    @cached_property
    def _whitening(self) -> np.ndarray:
        """Whitening matrix L^-1: (d, d), or (d,) for a diagonal C."""
        if self._root.ndim == 1:
            return 1 / self._root
        from scipy.linalg import solve_triangular

        return solve_triangular(self._root, np.eye(self.dimension), lower=True)

    @cached_property
    def _log_normaliser(self) -> float:
        """Log-normaliser log det(2 pi C) / 2."""
        roots = self._root if self._root.ndim == 1 else np.diagonal(self._root)
        return self.dimension * log(2 * pi) / 2 + float(np.sum(np.log(roots)))

    def _whitened(self, x: Array) -> Array:
        """Whitened points L^-1 (x_i - m): (n, d)."""
        centred, whitening = x - array_like(self.mean, x), array_like(self._whitening, x)
        if whitening.ndim == 1:
            return centred * whitening
        return centred @ namespace(x).permute_dims(whitening, (1, 0))


def as_vector(name: str, value: Any) -> np.ndarray:
    """Number or vector as a new vector of float64: (d,)."""
    if isinstance(value, Real):
        validate.number(name, value)
        return np.array([float(value)], dtype=np.float64)
    array = to_numpy(validate.real(value, name))
    _check_finite(name, array)
    return np.array(to_numpy(validate.vector(array, name)), dtype=np.float64)


def _check_finite(name: str, parameter: np.ndarray) -> None:
    """Raise a ValueError for NaN or infinite parameters; unlike for data, no row is named."""
    bad = np.argwhere(~np.isfinite(parameter))
    if len(bad):
        at = tuple(bad[0].tolist())
        raise ValueError(
            f"{name} has NaN or infinite values ({parameter[at]} at "
            f"{at[0] if len(at) == 1 else at}): drop missing observations before estimating it"
        )


def _covariance(cov: Any, d: int) -> np.ndarray:
    """Checked variances (d,), or a symmetric positive definite covariance matrix (d, d)."""
    if isinstance(cov, Real):
        validate.positive("cov", cov)
        return np.full(d, float(cov), dtype=np.float64)
    checked = validate.real(cov, "cov")
    _check_finite("cov", to_numpy(checked))
    matrix = np.array(to_numpy(validate.finite(checked, "cov")), dtype=np.float64)
    if matrix.shape not in ((d,), (d, d)):
        raise ValueError(
            f"cov must be a number, {d} variances or a matrix ({d}, {d}), because the mean has "
            f"{d} numbers; got shape {matrix.shape}"
        )
    variances = matrix if matrix.ndim == 1 else np.diagonal(matrix)
    if 0 < variances.min() < 1 / validate.EXTREME or variances.max() > validate.EXTREME:
        raise ValueError(
            f"cov must have variances between {1 / validate.EXTREME:g} and {validate.EXTREME:g}, "
            f"got values from {variances.min():.3g} to {variances.max():.3g}: rescale the data first"
        )
    if matrix.ndim == 2:
        return _symmetrised(matrix)
    if matrix.min() <= 0:
        raise ValueError(
            f"cov must have positive variances, got {matrix.min():g} for coordinate "
            f"{int(matrix.argmin())}: for a distribution without variance use Dirac"
        )
    return matrix


def _symmetrised(cov: np.ndarray) -> np.ndarray:
    """Covariance matrix made exactly symmetric, after checks of symmetry and definiteness."""
    if np.max(np.abs(cov - cov.T)) > _ROUNDING * np.max(np.abs(cov)):
        raise ValueError("cov must be symmetric: pass (cov + cov.T) / 2 if it should be")
    cov = (cov + cov.T) / 2
    scale = np.sqrt(np.maximum(np.diagonal(cov), 0.0))
    scale[scale == 0] = 1.0
    smallest = linalg.eigvalsh(cov / scale / scale[:, None])[0]  # independent of the units
    if smallest <= len(cov) * np.finfo(np.float64).eps:
        raise ValueError(
            f"cov must be positive definite, but its smallest eigenvalue is "
            f"{float(linalg.eigvalsh(cov)[0]):.3g}: drop linearly dependent columns, or "
            "add a small number to the diagonal, such as cov + 1e-6 * np.eye(d)"
        )
    return cov
