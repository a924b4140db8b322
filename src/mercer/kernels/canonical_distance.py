"""Distance of points in feature space."""

from __future__ import annotations

from typing import Any

from mercer.backend import Array, eps, namespace, transposed
from mercer.kernels.base import Kernel
from mercer.kernels.dense_matrix import dense_matrix
from mercer.kernels.prepare import prepare

_ROUNDING = 8  # eps of k(x, x) + k(y, y) within which differences of kernel values are rounding


def canonical_distance(kernel: Kernel, x: Any, y: Any = None) -> Array:
    """Distances d_k(x_i, y_j) = |k(x_i, .) - k(y_j, .)| = sqrt(k(x, x) + k(y, y) - 2 k(x, y)): (n, m).

    The canonical metric of the kernel: a function f of its space is Lipschitz with constant |f|,
    |f(x) - f(y)| <= |f| d_k(x, y). It is a metric where the kernel separates points, else a pseudo-metric. Squared
    distances are exact to about eps k(x, x); smaller ones count as 0.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> canonical_distance(Linear(), [[0.0, 0.0]], [[3.0, 4.0]])  # the Euclidean distance
    array([[5.]])
    >>> canonical_distance(RBF(1.0), [0.0], [100.0])  # at most sqrt(2)
    array([[1.41421356]])
    """
    kernel, first, second = prepare(kernel, x, y)
    other = first if second is None else second
    values = dense_matrix(kernel, first, other)
    values = values if second is not None else (values + transposed(values)) / 2
    sizes = kernel.diag(first)[:, None] + kernel.diag(other)[None, :]
    squared = sizes - 2 * values
    xp = namespace(squared)
    return xp.sqrt(
        xp.where(squared > _ROUNDING * eps(squared) * sizes, squared, xp.zeros_like(squared))
    )
