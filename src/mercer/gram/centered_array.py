"""Centred Gram matrices of few points as arrays: computed once, where tiles would be computed for each sum."""

from __future__ import annotations

import numpy as np

from mercer.backend import is_numpy
from mercer.config import settings
from mercer.gram.lazy import LazyMatrix

_MAX_POINTS = 2000  # their matrix takes 32 MB; beyond, tiles on all threads are as fast


def fits_array(matrix: LazyMatrix) -> bool:
    """Whether a square float64 matrix on the host is small enough for `centered_array`."""
    n = matrix.shape[0]
    small = n <= _MAX_POINTS and 8 * n**2 <= settings().memory // 8
    return small and is_numpy(matrix.like) and matrix.like.dtype == np.float64


def centered_array(matrix: LazyMatrix) -> np.ndarray:
    """HKH with H = I - 11'/n, of a symmetric K: (n, n).

    Examples
    --------
    >>> from mercer.gram.combine import Dense
    >>> centered_array(Dense(np.array([[2.0, 0.0], [0.0, 2.0]])))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    array = np.array(matrix.dense(), dtype=np.float64)
    means = array @ np.ones(len(array)) / len(array)  # exact where all entries are equal
    array -= (means - means.mean())[:, None]
    array -= means
    return array
