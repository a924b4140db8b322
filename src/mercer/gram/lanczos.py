"""The largest eigenvalue of a symmetric positive semi-definite operator, by the Lanczos method."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from mercer.backend import Array, array_like, namespace, scalar, transposed
from mercer.errors import NotConverged

_MAX_STEPS = 500  # products with the operator
_CHECK_INTERVAL = 5  # steps between estimates of the eigenvalue, which take O(step^2) operations
_TOLERANCE = 1e-9  # of the residual, relative to the eigenvalue


def largest_eigenvalue(times: Callable[[Array], Array], like: Array, n: int) -> float:
    """The largest eigenvalue of a symmetric positive semi-definite operator on R^n.

    Lanczos iteration with full orthogonalisation (Golub and Van Loan 2013, section 10.1) until the
    residual is below 1e-9 of the eigenvalue, whose error is then of the order of the squared residual
    over the spectral gap; stops after 500 steps with a warning.

    Parameters
    ----------
    times : callable
        The product with v (n, 1), in the dtype of `like`.
    like : array
        An array of the library, device and dtype of the vectors.
    n : int
    """
    xp = namespace(like)
    vector = array_like(np.random.default_rng(0).standard_normal((n, 1)), like)
    basis = [vector / _norm(vector)]
    diagonal: list[float] = []
    beside: list[float] = []
    value = error = 0.0
    for step in range(1, min(_MAX_STEPS, n) + 1):
        vector, known = times(basis[-1]), xp.concat(basis, axis=1)
        diagonal.append(scalar(xp.sum(vector * basis[-1])))
        for _ in range(2):  # twice, for rounding
            vector = vector - known @ (transposed(known) @ vector)
        length = _norm(vector)
        if (
            step % _CHECK_INTERVAL == 0
            or length <= _TOLERANCE * max(diagonal)
            or step == min(_MAX_STEPS, n)
        ):
            value, last = _top(diagonal, beside)
            error = length * last
            if error <= _TOLERANCE * value:
                return value
        if not length > 0:
            return value
        beside.append(length)
        basis.append(vector / length)
    if n > _MAX_STEPS:
        warnings.warn(
            f"Lanczos stopped after {_MAX_STEPS} steps with a residual of {error:.1e} for the largest "
            f"eigenvalue, {value:.6g}",
            NotConverged,
            stacklevel=4,
        )
    return value


def _norm(vector: Array) -> float:
    return scalar(namespace(vector).sum(vector**2)) ** 0.5


def _top(diagonal: list[float], beside: list[float]) -> tuple[float, float]:
    """The largest eigenvalue of a tridiagonal matrix, and the absolute last entry of its eigenvector."""
    from scipy.linalg import eigh_tridiagonal

    k = len(diagonal)
    values, vectors = eigh_tridiagonal(diagonal, beside, select="i", select_range=(k - 1, k - 1))
    return max(float(values[0]), 0.0), abs(float(vectors[-1, 0]))
