"""The Amari index: how far a matrix is from a block permutation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy


def amari_index(matrix: Any, sizes: Sequence[int] | int = 1) -> float:
    """Amari index: distance of G = WA from a block permutation, from 0 (perfect separation) to 1.

    With g_ij = |G_ij| / d_i d_j, the Frobenius norm of the block that source j sends to estimate
    i, and M subspaces of dimensions d_i, it is

        1 / 2M(M-1) [ sum_i (sum_j g_ij / max_j g_ij - 1) + sum_j (sum_i g_ij / max_i g_ij - 1) ],

    about the mean fraction of a source that leaks into the estimate of another. For sizes 1 it is
    the index of Amari, Cichocki and Yang (1996), normalised; for subspaces that of Szabo and Poczos
    (2011, "Nonparametric independent process analysis").

    Parameters
    ----------
    matrix : array (k, k)
        The estimated unmixing matrix times the true mixing matrix, such as
        ``isa.components_ @ mixing``.
    sizes : int or sequence of int
        Dimensions of the subspaces, in order, or one number for all of them.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> amari_index([[0.0, 2.0], [-3.0, 0.0]])
    0.0
    >>> amari_index(np.ones((4, 4)), 2)
    1.0
    """
    g = to_numpy(validate.points(matrix, "matrix")).astype(np.float64)
    k = g.shape[0]
    if g.shape != (k, k):
        raise ValueError(f"matrix must be square, got shape {g.shape}: give W @ A")
    dims = subspace_sizes(sizes, k)
    if sum(dims) != k:
        raise ValueError(f"sizes must add up to the {k} rows of matrix, got {sizes!r}")
    if len(dims) == 1:
        return 0.0
    starts = np.cumsum((0, *dims[:-1]))
    g = g / (np.abs(g).max() or 1.0)
    blocks = np.add.reduceat(np.add.reduceat(g**2, starts, axis=0), starts, axis=1)
    norms = np.sqrt(blocks) / np.outer(dims, dims)
    if not (np.all(norms.max(axis=0) > 0) and np.all(norms.max(axis=1) > 0)):
        raise ValueError("matrix must not have rows or columns of zeros: is it W @ A?")
    spread = [norms.sum(axis=a) / norms.max(axis=a) - 1 for a in (0, 1)]
    return float(np.mean(spread) / (len(dims) - 1))


def subspace_sizes(sizes: Any, k: int) -> tuple[int, ...]:
    """Dimensions of subspaces; one number is repeated up to k, with a smaller remainder."""
    if isinstance(sizes, Sequence | np.ndarray) and not isinstance(sizes, str | bytes):
        if len(sizes) == 0:
            raise ValueError("sizes must name at least one subspace, got none")
        for size in sizes:
            validate.whole("sizes", size)
        return tuple(int(size) for size in sizes)
    validate.whole("sizes", sizes)
    size = min(int(sizes), k)
    return (size,) * (k // size) + ((k % size,) if k % size else ())
