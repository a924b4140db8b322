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


def largest_eigenvalue(
    times: Callable[[Array], Array],
    like: Array,
    n: int,
    *,
    metric: Callable[[Array], Array] | None = None,
) -> float:
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
    metric : callable or None
        The product of another positive semi-definite operator L with v. The eigenvalue is then that of
        A L, which is symmetric in the inner product u'L v.
    """
    vector = array_like(np.random.default_rng(0).standard_normal((n, 1)), like)
    image = vector if metric is None else metric(vector)
    length = _norm(vector, image)
    if not length > 0:
        return 0.0
    first = vector / length, image / length
    value, residual = _largest_ritz_value(times, metric, *first, min(_MAX_STEPS, n))
    if residual > _TOLERANCE * value and n > _MAX_STEPS:
        warnings.warn(
            f"Lanczos stopped after {_MAX_STEPS} steps with a residual of {residual:.1e} for the "
            f"largest eigenvalue, {value:.6g}",
            NotConverged,
            stacklevel=4,
        )
    return value


def _largest_ritz_value(
    times: Callable[[Array], Array],
    metric: Callable[[Array], Array] | None,
    vector: Array,
    image: Array,
    last_step: int,
) -> tuple[float, float]:
    """The largest eigenvalue in a Krylov space from a vector of length 1 with this image, and its residual."""
    basis, images = [vector], [image]  # images: L times the basis
    diagonal: list[float] = []
    beside: list[float] = []
    value = residual = 0.0
    for step in range(1, last_step + 1):
        vector = times(images[-1])
        diagonal.append(scalar(namespace(vector).sum(vector * images[-1])))
        vector = _orthogonalized(vector, basis, images)
        image = vector if metric is None else metric(vector)
        length = _norm(vector, image)
        invariant = length <= _TOLERANCE * max(diagonal)
        if invariant or step % _CHECK_INTERVAL == 0 or step == last_step:
            value, last = _top(diagonal, beside)
            residual = length * last
            if residual <= _TOLERANCE * value:
                break
        if not length > 0:
            break
        beside.append(length)
        basis.append(vector / length)
        images.append(image / length)
    return value, residual


def _orthogonalized(vector: Array, basis: list[Array], images: list[Array]) -> Array:
    """The vector minus its projection onto the basis, whose images under the metric are given."""
    xp = namespace(vector)
    known, dual = xp.concat(basis, axis=1), xp.concat(images, axis=1)
    for _ in range(2):  # twice, for rounding
        vector = vector - known @ (transposed(dual) @ vector)
    return vector


def _norm(vector: Array, image: Array) -> float:
    """The length of a vector in the metric that gives its image."""
    return max(scalar(namespace(vector).sum(vector * image)), 0.0) ** 0.5


def _top(diagonal: list[float], beside: list[float]) -> tuple[float, float]:
    """The largest eigenvalue of a tridiagonal matrix, and the absolute last entry of its eigenvector."""
    from scipy.linalg import eigh_tridiagonal

    k = len(diagonal)
    values, vectors = eigh_tridiagonal(diagonal, beside, select="i", select_range=(k - 1, k - 1))
    return max(float(values[0]), 0.0), abs(float(vectors[-1, 0]))
