"""The Gaussian distribution: density, score, draws."""

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

_ROUNDING = 1e-8  # how far a covariance matrix may be from its transpose


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Density):
    """The normal distribution N(m, C) on R^d.

    log p(x) = -(x - m)' C^-1 (x - m) / 2 - log det(2 pi C) / 2, and the score, its gradient, is
    C^-1 (m - x).

    Parameters
    ----------
    mean : number or array (d,)
        A number is the mean of a distribution on the line.
    cov : number, array (d,) or array (d, d)
        The variance of every coordinate, the variances of each, or the covariance matrix. Variances,
        not standard deviations.

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
        """The Gaussian that makes points most likely: their mean and covariance matrix.

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
        moved = points - mean
        try:
            return cls(mean, moved.T @ moved / len(points))
        except ValueError as error:
            raise ValueError(f"x does not determine a Gaussian: {error}") from None

    @property
    def dimension(self) -> int:
        """The d of R^d."""
        return len(self.mean)

    def log_density(self, x: Any) -> Array:
        """log p(x_i): (n,)."""
        x = self._points(x)
        z = self._whitened(x)
        return -0.5 * namespace(z).sum(z * z, axis=1) - self._log_normaliser

    def score(self, x: Any) -> Array:
        """C^-1 (m - x_i): (n, d)."""
        x = self._points(x)
        whitening = array_like(self._whitening, x)
        z = self._whitened(x)
        return -(z * whitening if whitening.ndim == 1 else z @ whitening)

    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """`n` draws: (n, d)."""
        validate.whole("n", n)
        z = validate.generator(rng).standard_normal((n, self.dimension))
        return self.mean + (z * self._root if self._root.ndim == 1 else z @ self._root.T)

    # ---- private ----------------------------------------------------------------------

    @cached_property
    def _root(self) -> np.ndarray:
        """Cholesky's L with C = LL', or the standard deviations."""
        return np.sqrt(self.cov) if self.cov.ndim == 1 else linalg.cholesky(self.cov)

    @cached_property
    def _whitening(self) -> np.ndarray:
        """L^-1: (d, d), or (d,) for a diagonal."""
        if self._root.ndim == 1:
            return 1 / self._root
        from scipy.linalg import solve_triangular

        return solve_triangular(self._root, np.eye(self.dimension), lower=True)

    @cached_property
    def _log_normaliser(self) -> float:
        """log det(2 pi C) / 2."""
        roots = self._root if self._root.ndim == 1 else np.diagonal(self._root)
        return self.dimension * log(2 * pi) / 2 + float(np.sum(np.log(roots)))

    def _whitened(self, x: Array) -> Array:
        """L^-1 (x_i - m): (n, d)."""
        moved, whitening = x - array_like(self.mean, x), array_like(self._whitening, x)
        if whitening.ndim == 1:
            return moved * whitening
        return moved @ namespace(x).permute_dims(whitening, (1, 0))


def as_vector(name: str, value: Any) -> np.ndarray:
    """A number or a vector as a vector of float64, a copy."""
    if isinstance(value, Real):
        validate.number(name, value)
        return np.array([float(value)], dtype=np.float64)
    found = to_numpy(validate.real(value, name))
    _without_nan(name, found)
    return np.array(to_numpy(validate.vector(found, name)), dtype=np.float64)


def _without_nan(name: str, found: np.ndarray) -> None:
    """Numbers of a distribution that are all there: no row of data is to blame."""
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        at = tuple(bad[0].tolist())
        raise ValueError(
            f"{name} has NaN or infinite values ({found[at]} at {at[0] if len(at) == 1 else at}): "
            "leave out missing observations where it is estimated"
        )


def _covariance(cov: Any, d: int) -> np.ndarray:
    """Variances (d,), or a covariance matrix (d, d) that is symmetric and positive definite."""
    if isinstance(cov, Real):
        validate.positive("cov", cov)
        return np.full(d, float(cov), dtype=np.float64)
    given = validate.real(cov, "cov")
    _without_nan("cov", to_numpy(given))
    found = np.array(to_numpy(validate.finite(given, "cov")), dtype=np.float64)
    if found.shape not in ((d,), (d, d)):
        raise ValueError(
            f"cov must be a number, {d} variances or a matrix ({d}, {d}), as the mean has "
            f"{d} numbers; got shape {found.shape}"
        )
    variances = found if found.ndim == 1 else np.diagonal(found)
    if 0 < variances.min() < 1 / validate.EXTREME or variances.max() > validate.EXTREME:
        raise ValueError(
            f"cov must have variances between {1 / validate.EXTREME:g} and {validate.EXTREME:g}, "
            f"got some from {variances.min():.3g} to {variances.max():.3g}: divide the data by a "
            "constant first"
        )
    if found.ndim == 2:
        return _definite(found)
    if found.min() <= 0:
        raise ValueError(
            f"cov must have positive variances, got {found.min():g} for coordinate "
            f"{int(found.argmin())}: a point without variance is a Dirac"
        )
    return found


def _definite(cov: np.ndarray) -> np.ndarray:
    """A covariance matrix, made exactly symmetric."""
    if np.max(np.abs(cov - cov.T)) > _ROUNDING * np.max(np.abs(cov)):
        raise ValueError("cov must be a symmetric matrix: take (cov + cov.T) / 2 if it should be")
    cov = (cov + cov.T) / 2
    scale = np.sqrt(np.maximum(np.diagonal(cov), 0.0))
    scale[scale == 0] = 1.0
    least = linalg.eigvalsh(cov / scale / scale[:, None])[0]  # whatever the units of the columns
    if least <= len(cov) * np.finfo(np.float64).eps:
        raise ValueError(
            f"cov must be positive definite, and its smallest eigenvalue is "
            f"{float(linalg.eigvalsh(cov)[0]):.3g}: leave out columns that others determine, or "
            "add a small number to the diagonal, such as cov + 1e-6 * np.eye(d)"
        )
    return cov
