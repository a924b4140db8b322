"""A check by eigenvalues whether a matrix of kernel values is positive semi-definite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import count, take_rows, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare


@dataclass(frozen=True)
class Definiteness:
    """Whether a kernel matrix has no negative eigenvalue, up to rounding; true or false as a condition.

    Attributes
    ----------
    smallest : float
        The smallest eigenvalue of the symmetric part.
    asymmetry : float
        The largest |k(x_i, x_j) - k(x_j, x_i)|.
    tolerance : float
        n eps times the largest |eigenvalue|. Errors of eps k(x, x) in the entries change eigenvalues by
        n eps max k(x, x) at most, and no k(x, x) is larger than the largest eigenvalue.
    n : int
        The number of points.
    """

    smallest: float
    asymmetry: float
    tolerance: float
    n: int

    def __bool__(self) -> bool:
        return self.smallest >= -self.tolerance and self.asymmetry <= self.tolerance


def is_positive_definite(kernel: Kernel, x: Any) -> Definiteness:
    """Whether the matrix k(x_i, x_j) is symmetric and positive semi-definite, up to rounding.

    False proves that the function is not a kernel; True holds for these points only. Values are
    computed from differences of points, not from expanded distances, so that the result does not
    depend on cancellation. Needs memory for 3 n^2 numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.dot import Sigmoid
    >>> from mercer.kernels.radial import RBF
    >>> x = np.array([1.0, 5.0])
    >>> bool(is_positive_definite(RBF(1.0), x)), bool(is_positive_definite(Sigmoid(1.0), x))
    (True, False)
    """
    values, unit = checked_matrix(kernel, x)
    n = len(values)
    asymmetry = float(np.max(np.abs(values - values.T)))
    spectrum = linalg.eigvalsh((values + values.T) / 2)
    tolerance = n * unit * float(np.max(np.abs(spectrum)))
    return Definiteness(float(spectrum[0]), asymmetry, tolerance, n)


def checked_matrix(kernel: Kernel, x: Any) -> tuple[np.ndarray, float]:
    """The matrix k(x_i, x_j), if there is memory for its eigenvalues, and the epsilon of its computation."""
    kernel, points, _ = prepare(kernel, x)
    n = count(points)
    if 3 * 8 * n * n > settings().memory:
        most = int((settings().memory / 24) ** 0.5)
        raise MemoryBudgetError(
            f"the eigenvalues of a {n} x {n} matrix need {3 * 8 * n * n / 2**30:.1f} GiB: "
            f"use at most {most} of the points, or raise mercer.config(memory=...)"
        )
    values, unit = _matrix(kernel, points)
    validate.finite(values, "k(x, x)")
    return values, unit


def _matrix(kernel: Kernel, x: Points) -> tuple[np.ndarray, float]:
    """k(x_i, x_j) in float64, diagonal by diagonal, and the machine epsilon of their computation."""
    n = count(x)
    diagonal = to_numpy(kernel.diag(x))
    values = np.diag(diagonal.astype(np.float64))
    for shift in range(1, n):
        rows = np.arange(n - shift)
        first, last = take_rows(x, slice(0, n - shift)), take_rows(x, slice(shift, n))
        values[rows, rows + shift] = to_numpy(kernel.paired(first, last))
        values[rows + shift, rows] = to_numpy(kernel.paired(last, first))
    return values, float(np.finfo(diagonal.dtype).eps)
