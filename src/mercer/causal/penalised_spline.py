"""Regression of numbers on one variable by a penalised cubic spline, or by group means where it takes few values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer import linalg

_MAX_GROUPS = 20  # distinct values up to which their means are the regression
_KNOTS = 14  # inside, at quantiles; more do not change what a penalty leaves
_PENALTIES = np.geomspace(1e-6, 10.0, 12)  # in units of the largest eigenvalue

Smoother = Callable[[np.ndarray], np.ndarray]


def spline_smoother(x: np.ndarray) -> Smoother:
    """Function that maps values t_i at x_i to fitted means E[t | x_i].

    Ridge regression on a cubic spline basis, the penalty by generalised cross-validation; group means where x
    takes at most 20 values.
    """
    values, codes = np.unique(x, return_inverse=True)
    if len(values) <= _MAX_GROUPS:
        counts = np.bincount(codes)
        return lambda t: (np.bincount(codes, t) / counts)[codes]
    s = standardized(x)
    knots = np.quantile(s, np.linspace(0.03, 0.97, _KNOTS))
    basis = np.column_stack([s, s**2, s**3, *(np.maximum(s - k, 0) ** 3 for k in knots)])
    basis -= basis.mean(axis=0)
    basis /= np.maximum(basis.std(axis=0), 1e-12)
    squares, vectors = linalg.eigh(basis.T @ basis)
    positive = squares > 1e-10 * squares[-1]
    columns = basis @ (vectors[:, positive] / np.sqrt(squares[positive]))  # orthonormal
    shares = squares[positive] / (squares[positive] + _PENALTIES[:, None] * squares[-1])  # (p, k)

    def smooth(t: np.ndarray) -> np.ndarray:
        mean = t.mean()
        coefficients = columns.T @ (t - mean)
        total = np.sum((t - mean) ** 2)
        errors = total - (2 * shares - shares**2) @ coefficients**2
        scores = errors / (1 - (1 + shares.sum(axis=1)) / len(t)) ** 2
        return mean + columns @ (shares[np.argmin(scores)] * coefficients)

    return smooth


def standardized(values: np.ndarray, negligible: float = 0.0) -> np.ndarray:
    """Values of mean zero and variance one; zeros where their standard deviation is at most `negligible`."""
    peak = float(np.max(np.abs(values), initial=0.0))
    scaled = values / peak if peak > 0 else np.zeros_like(values)  # so that squares do not overflow
    centred = scaled - scaled.mean()
    size = float(np.std(centred))
    return centred / size if size > 0 and size * peak > negligible else np.zeros_like(centred)
