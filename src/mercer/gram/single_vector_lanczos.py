"""The largest eigenvalues of a symmetric array by Lanczos iteration from a single vector.

A Krylov space of one vector contains a single eigenvector of each eigenvalue, and needs far fewer products
than that of a block. Eigenvalues outside of it are bounded by the trace and the Frobenius norm of the matrix: pairs
are returned only where no eigenvalue as large as theirs can have been missed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mercer import linalg

_STEPS_BETWEEN_LOOKS = 4  # at the Ritz values, which take half the time of a step of 200 rows
_TOLERANCE = 1e-12  # of residuals, relative to the largest eigenvalue
_BREAKDOWN = 1e-13  # of a vector's length: the subspace is invariant, as for a matrix of low rank
_HOPELESS = 1.2  # of the bound over the smallest eigenvalue: few more steps will not bring it down
_BY_POSITION = 2  # LAPACK's dstemr: eigenvalues of these positions
_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of the squared Frobenius norm


@dataclass(frozen=True)
class SpectralMoments:
    """Order, trace and squared Frobenius norm of a symmetric matrix, and the error of the norm by rounding."""

    order: int
    trace: float
    squares: float
    rounding: float

    @classmethod
    def of(cls, array: np.ndarray, row_means: np.ndarray | None) -> SpectralMoments:
        """Those of K, or of HKH in the space orthogonal to 1, given the row means of K."""
        n = len(array)
        flat = array.ravel()
        trace, squares = float(np.trace(array)), float(flat @ flat)
        rounding = _ROUNDING * squares
        if row_means is None:
            return cls(n, trace, squares, rounding)
        mean = float(np.mean(row_means))
        squares += n * (n * mean**2 - 2 * float(row_means @ row_means))
        return cls(n - 1, trace - n * mean, squares, rounding)

    def largest_outside(self, diagonal: np.ndarray, beside: np.ndarray) -> float:
        """Upper bound on the eigenvalues whose vectors are orthogonal to a Krylov space.

        By the trace and the squares that its tridiagonal matrix leaves (Wolkowicz and Styan 1980).
        """
        number = self.order - len(diagonal)
        mean = (self.trace - float(diagonal.sum())) / number
        squares = self.squares - float(diagonal @ diagonal) - 2 * float(beside @ beside)
        return mean + max(squares + self.rounding - number * mean**2, 0.0) ** 0.5


def single_vector_lanczos(
    array: np.ndarray, row_means: np.ndarray | None, k: int, max_steps: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest eigenvalues of K in decreasing order, and eigenvectors (n, k); None where it does not find them.

    Those of HKH, H = I - 11'/n, where the row means of K are given. Full orthogonalisation (Golub and Van Loan 2013,
    section 10.3), until residuals are below 1e-12 of the largest eigenvalue. It finds nothing for a matrix
    of low rank, for multiple eigenvalues, and where more than `max_steps` would be needed.
    """
    basis = np.empty((max_steps, len(array)), dtype=np.float64)  # rows are basis vectors
    diagonal, beside = np.empty((2, max_steps), dtype=np.float64)
    vector = np.random.default_rng(0).standard_normal(len(array))
    centred, symv = row_means is not None, _routines()[0]
    vector = vector - vector.mean() if centred else vector
    length, moments = math.sqrt(vector @ vector), None
    with linalg.threads_for(array):
        for step in range(1, max_steps + 1):
            np.divide(vector, length, out=basis[step - 1])
            vector = symv(1.0, array.T, basis[step - 1])  # .T: Fortran order
            diagonal[step - 1], length = _orthogonalised(vector, basis[:step], centred=centred)
            beside[step - 1] = length
            invariant = not length > _BREAKDOWN * max(abs(diagonal[0]), beside[0])
            if not invariant and (step < 2 * k or step % _STEPS_BETWEEN_LOOKS):
                continue
            pairs, hope = _ritz_pairs(diagonal[:step], beside[:step], k), True
            if pairs is not None:
                moments = moments or SpectralMoments.of(array, row_means)
                bound = moments.largest_outside(diagonal[:step], beside[:step])
                if bound < pairs[0][-1]:
                    return pairs[0], basis[:step].T @ pairs[1]
                hope = bound < _HOPELESS * pairs[0][-1]
            if invariant or not hope:
                return None
    return None


def _orthogonalised(vector: np.ndarray, basis: np.ndarray, *, centred: bool) -> tuple[float, float]:
    """Make a vector orthogonal to the rows of a basis, and to 1 where it is `centred`, in place.

    Returns its component along the last row, and its new length. Rounding errors along 1 would grow with each step.
    """
    components = basis @ vector
    vector -= components @ basis
    if centred:
        vector -= vector.sum() / len(vector)
    vector -= (basis @ vector) @ basis  # twice, for rounding
    return components[-1], math.sqrt(vector @ vector)


def _ritz_pairs(
    diagonal: np.ndarray, beside: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest Ritz values in decreasing order, and vectors (steps, k) in the basis; None before convergence."""
    steps = len(diagonal)
    if steps < k or not math.isfinite(beside[-1]):
        return None
    count, values, vectors, failed = _routines()[1](
        diagonal, beside.copy(), _BY_POSITION, 0.0, 0.0, steps - k + 1, steps
    )
    largest = values[k - 1]
    residual = beside[-1] * float(np.abs(vectors[-1, :k]).max())
    if failed or count < k or not residual <= _TOLERANCE * largest:
        return None
    return values[:k][::-1], vectors[:, :k][:, ::-1]


@cache
def _routines() -> tuple[Any, Any]:
    """Product of a symmetric matrix with a vector, and eigenpairs of tridiagonal matrices: imported once."""
    from scipy.linalg.blas import get_blas_funcs
    from scipy.linalg.lapack import get_lapack_funcs

    return get_blas_funcs("symv", dtype=np.float64), get_lapack_funcs("stemr", dtype=np.float64)
