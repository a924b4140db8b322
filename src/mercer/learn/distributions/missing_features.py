"""Observations with missing values as Gaussian distributions of what they may have been."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer import linalg, validate
from mercer.features.kernel_estimator import VersionedEstimator
from mercer.learn.numeric_columns import numeric
from mercer.rkhs import Gaussian

# Variance of a known coordinate, in variances of its column: a Gaussian needs a positive one, and the expected
# RBF of a distribution changes by about as much, relatively.
_KNOWN_VARIANCE = 1e-10


class ConditionalGaussians(TransformerMixin, VersionedEstimator):
    """Rows with missing values (NaN) as Gaussians: the conditional distribution given the values that are there.

    A multivariate normal distribution is fitted to the incomplete data by expectation-maximisation. A row x with the
    missing coordinates m and the others o becomes N(mu_m + S_mo S_oo^-1 (x_o - mu_o), S_mm - S_mo S_oo^-1 S_om) in
    m, and stays x_o in o. With `SupportMeasureMachine` on top this is the support vector machine with expected
    kernels for missing variables: a value that is uncertain counts for less than one that was imputed well.

    Parameters
    ----------
    ridge : float
        Added to the variances, as a fraction of them, so that collinear columns do no harm.
    tol : float
        Change of the mean and of the covariance matrix, in units of the columns' standard deviations, at which the
        iteration ends.
    max_iter : int

    Attributes
    ----------
    mean_ : array (d,)
    covariance_ : array (d, d)
    n_iter_ : int
    n_features_in_

    References
    ----------
    A. J. Smola, S. V. N. Vishwanathan, T. Hofmann (2005). Kernel methods for missing variables. AISTATS.
    H. S. Anderson, M. R. Gupta (2011). Expected kernel for missing features in support vector machines. IEEE
    Statistical Signal Processing Workshop.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], size=5000)
    >>> x[::3, 1] = np.nan
    >>> p = ConditionalGaussians().fit(x).transform([[1.0, np.nan]])[0]
    >>> p.mean.round(1), p.cov.diagonal().round(2)  # 0.8, and 1 - 0.8^2
    (array([1. , 0.8]), array([0.  , 0.36]))
    """

    def __init__(self, *, ridge: float = 1e-6, tol: float = 1e-6, max_iter: int = 500) -> None:
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None) -> Self:
        """Mean and covariance matrix of incomplete normal data, by expectation-maximisation."""
        validate.positive("ridge", self.ridge)
        validate.positive("tol", self.tol)
        validate.whole("max_iter", self.max_iter)
        x = self._checked(X, reset=True)
        empty = np.flatnonzero(np.all(np.isnan(x), axis=0))
        if len(empty):
            raise ValueError(f"column {int(empty[0])} of X has no values at all: drop it")
        mean, scale = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        z = (x - mean) / scale
        patterns = _patterns(z)
        shift, matrix = np.zeros(x.shape[1]), np.eye(x.shape[1])
        self.n_iter_ = 0
        change = np.inf
        while change > self.tol and self.n_iter_ < self.max_iter:
            after = self._step(z, patterns, shift, matrix)
            change = max(np.max(np.abs(after[0] - shift)), np.max(np.abs(after[1] - matrix)))
            (shift, matrix), self.n_iter_ = after, self.n_iter_ + 1
        self.mean_ = mean + scale * shift
        self.covariance_ = matrix * scale * scale[:, None]
        return self

    def transform(self, X: Any) -> Any:
        """Distributions of the rows: vectors where nothing is missing, else `Gaussian`.

        The array itself where no row has missing values.
        """
        check_is_fitted(self)
        x = self._checked(X, reset=False)
        if not np.isnan(x).any():
            return x
        variances = np.diagonal(self.covariance_)
        distributions: list[Any] = list(x)
        for missing, rows in _patterns(x):
            if not missing.any():
                continue
            means, cov = _conditional(x[rows], missing, self.mean_, self.covariance_)
            full = np.diag(_KNOWN_VARIANCE * variances)
            full[np.ix_(missing, missing)] += cov
            for row, mean in zip(rows, means, strict=True):
                distributions[row] = Gaussian(mean, full)
        return distributions

    def _step(
        self, z: np.ndarray, patterns: list[Any], mean: np.ndarray, cov: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """One step of expectation-maximisation: the mean and the covariance matrix after it."""
        filled = z.copy()
        extra = np.zeros_like(cov)
        for missing, rows in patterns:
            filled[rows], uncertain = _conditional(z[rows], missing, mean, cov)
            extra[np.ix_(missing, missing)] += len(rows) * uncertain
        after = filled.mean(axis=0)
        centred = filled - after
        cov = (centred.T @ centred + extra) / len(z)
        return after, cov + self.ridge * np.eye(len(cov))

    def _checked(self, X: Any, *, reset: bool) -> np.ndarray:
        x: Any = validate_data(
            self, numeric(X), reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return x

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _patterns(x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Patterns of missing columns (d,), and the numbers of the rows that have each."""
    masks, codes = np.unique(np.isnan(x), axis=0, return_inverse=True)
    return [(mask, np.flatnonzero(codes.ravel() == i)) for i, mask in enumerate(masks)]


def _conditional(
    x: np.ndarray, missing: np.ndarray, mean: np.ndarray, cov: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the conditional means in the missing columns, and the conditional covariance of these."""
    there = ~missing
    filled = x.copy()
    if not there.any():
        filled[:] = mean
        return filled, cov
    within = cov[np.ix_(missing, there)]
    gains = linalg.solve(cov[np.ix_(there, there)], within.T).T
    filled[:, missing] = mean[missing] + (x[:, there] - mean[there]) @ gains.T
    uncertain = cov[np.ix_(missing, missing)] - gains @ within.T
    return filled, (uncertain + uncertain.T) / 2
