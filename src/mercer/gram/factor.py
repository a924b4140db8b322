"""Factors of positive semi-definite matrices: K = AA' to rounding where K has low rank."""

from __future__ import annotations

from dataclasses import dataclass

from mercer import validate
from mercer.backend import Array, astype, double, eps, namespace, scalar, zeros
from mercer.gram.lazy import LazyMatrix

_NOISE = 32  # rounding errors of an entry, below which what is left of the trace is noise
_FIRST = 64  # columns for which there is room at first; doubled when they are full


@dataclass(frozen=True)
class Factor:
    """K ~ AA': `columns` is A, (n, r); `pivots` are the points that span it.

    `residual` is the trace of K - AA', which is positive semi-definite: it bounds every entry of
    the difference, and its norm.
    """

    columns: Array
    pivots: tuple[int, ...]
    residual: float


def cholesky(matrix: LazyMatrix, *, tolerance: float = 1e-12, most: int | None = None) -> Factor:
    """The pivoted Cholesky factor of a positive semi-definite matrix, from a few of its columns.

    Takes the column of the largest remaining diagonal entry until the remaining trace is below
    `tolerance` times the trace, or there are `most` columns: r columns of the matrix are made
    and O(n r^2) operations done (Fine and Scheinberg 2001). Smooth kernels on few
    dimensions have few columns that count: about 20 for a Gaussian kernel on the line at the median
    distance, whatever n is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Gram, cholesky
    >>> from mercer.kernels import RBF
    >>> x = np.random.default_rng(0).normal(size=(500, 1))
    >>> factor = cholesky(Gram(RBF(1.0), x))
    >>> factor.columns.shape[1] < 30
    True
    >>> a = factor.columns
    >>> bool(np.max(np.abs(a @ a.T - RBF(1.0)(x))) < 1e-11)
    True
    """
    matrix._need_square("cholesky")
    validate.between("tolerance", tolerance, 0.0, 1.0)
    n = matrix.shape[0]
    if most is not None:
        validate.whole("most", most)
    most = n if most is None else min(most, n)
    left = astype(matrix.diagonal(), double(matrix.like))
    xp = namespace(left)
    enough = max(tolerance, _NOISE * eps(matrix.like)) * scalar(xp.sum(left))
    rows = zeros((min(_FIRST, most), n), left)  # A', whose rows are contiguous
    pivots: list[int] = []
    while len(pivots) < most and scalar(xp.sum(left)) > enough:
        p, r = int(xp.argmax(left)), len(pivots)
        if r == rows.shape[0]:
            rows = xp.concat([rows, zeros((min(r, most - r), n), left)])
        column = astype(matrix.block(slice(0, n), slice(p, p + 1))[:, 0], left.dtype)
        column = column - rows[:r, p] @ rows[:r, :] if r else column
        rows[r, :] = column / scalar(left[p]) ** 0.5
        left = xp.clip(left - rows[r, :] ** 2, 0, None)
        left[p] = 0.0
        pivots.append(p)
    columns = xp.permute_dims(rows[: len(pivots), :], (1, 0))
    return Factor(columns, tuple(pivots), scalar(xp.sum(left)))
