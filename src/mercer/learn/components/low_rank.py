"""All eigenpairs of centred kernel matrices of low numerical rank, from pivoted Cholesky factors."""

from __future__ import annotations

from math import inf, log

import numpy as np

from mercer import linalg
from mercer.backend import is_numpy, is_single
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix, cholesky
from mercer.gram.eigen import signs_of_peaks
from mercer.kernels import facts

_ROUNDING = 1e-14  # share of the trace below which the remainder of a factor is float64 rounding
_MIN_ROWS = 600  # below, LAPACK decomposes the matrix as fast as a factor is computed
_TRIAL_COLUMNS = 16  # of a first factor, which tells how fast the remainder falls
# Overestimate by that first factor that is allowed; in the plane it is 3 times at n = 1,000, about 4 at 2,000.
_EARLY_SLACK = 3
_TRIAL_SHARE = 16  # of the rows: columns of a second factor
_MAX_RANK_SHARE = 3  # of the rows: with more columns the decomposition of the matrix is as fast
_FACTOR_COPIES = 5  # of a factor in memory at the same time


def all_eigenpairs(gram: Gram) -> tuple[np.ndarray, np.ndarray] | None:
    """Eigenvalues in decreasing order, and eigenvectors (n, r), of HKH for K of numerical rank r.

    With K = AA' and the QR decomposition HA = QR they are those of RR', rotated by Q: as accurate as
    LAPACK on HKH, whose rounding error is of the same size as what the factor leaves out. None where
    the rank is not low, the matrix is not float64 in NumPy, or the kernel is not known to be positive
    definite.
    """
    n = gram.shape[0]
    if n < _MIN_ROWS or not is_numpy(gram.like) or is_single(gram.like):
        return None
    if not facts(gram.kernel).positive_definite:
        return None
    most = min(n // _MAX_RANK_SHARE, settings().memory // (_FACTOR_COPIES * 8 * n))
    if most < _TRIAL_COLUMNS or _predicted_rank(gram, _TRIAL_COLUMNS) > _EARLY_SLACK * most:
        return None
    if _predicted_rank(gram, min(n // _TRIAL_SHARE, most)) > most:
        return None
    factor = cholesky(gram, tolerance=_ROUNDING, most=most)
    if len(factor.pivots) == most:
        return None
    columns = np.asarray(factor.columns)
    q, r = linalg.qr(columns - columns.mean(axis=0))
    values, vectors = linalg.eigh(r @ r.T)
    leading = q @ vectors[:, ::-1]
    return values[::-1], leading * signs_of_peaks(leading)


def _predicted_rank(gram: LazyMatrix, trial: int) -> float:
    """Columns of a factor that leaves rounding only, predicted from one of `trial` columns.

    The remainder of smooth kernels falls like exp(-c r) with the columns r on the line, like
    exp(-c sqrt(r)) in the plane and more slowly in higher dimensions; the exponent 2/3 lies between the
    first two.
    """
    total = float(np.sum(np.asarray(gram.diagonal(), dtype=np.float64)))
    share = cholesky(gram, tolerance=_ROUNDING, most=trial).residual / total
    if not 0 < share < 1:
        return trial if share <= 0 else inf
    return trial * max(log(_ROUNDING) / log(share), 1.0) ** 1.5
