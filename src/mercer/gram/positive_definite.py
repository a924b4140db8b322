"""Dense positive definite matrices of any library: solved, inverted and decomposed in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import linalg
from mercer.backend import (
    Array,
    detached,
    device,
    eps,
    is_numpy,
    namespace,
    scalar,
    set_diagonal,
    to_numpy,
)
from mercer.config import settings
from mercer.gram.threads import spans

_MIN_ROWS_FOR_SUBSTITUTION = 4000  # below, LAPACK's substitution takes a few milliseconds
_COLUMNS_OF_SUBSTITUTION = (
    512  # of L at a time: on the diagonal 1 MiB, which one thread solves from its cache
)
_MAX_COLUMNS_SUBSTITUTED = 4  # with more right-hand sides LAPACK reads L less often
# Threads of BLAS spin beside those of the tiles when they have nothing to do, so few are used; 16 took 7 ms for
# 8,000 rows where one took 28. Four were not timed.
_MAX_THREADS_SUBSTITUTED = 4
_MAX_TRIES = 12  # tenfold increases of the diagonal shift, from rounding to about 1e-4 of the trace


def add_to_diagonal(matrix: Array, values: Any) -> None:
    """A + diag(values), in place."""
    set_diagonal(matrix, 0, 0, namespace(matrix).linalg.diagonal(matrix) + values)


def solve_positive(matrix: Array, right: Array) -> Array | None:
    """A^-1 B of (n, n) and (n, k), A overwritten; None where A is not positive definite."""
    if not is_numpy(matrix):
        return _solve_tensor(matrix, right)
    from scipy.linalg.lapack import get_lapack_funcs

    (posv,) = get_lapack_funcs(("posv",), (matrix, right))
    with linalg.threads_for(matrix):
        _, solution, info = posv(matrix.T, right, lower=True, overwrite_a=True)  # .T: Fortran order
    return solution if info == 0 else None


def factored(matrix: Array) -> Callable[[Array], Array] | None:
    """B -> A^-1 B, A overwritten by its factor; None where A is not positive definite."""
    if not is_numpy(matrix):
        lower = _lower(matrix)
        if lower is None:
            return None
        return lambda right: _substituted(lower, right)
    from scipy.linalg import cho_solve
    from scipy.linalg.lapack import get_lapack_funcs

    (potrf,) = get_lapack_funcs(("potrf",), (matrix,))
    with linalg.threads_for(matrix):
        factor, info = potrf(matrix.T, lower=True, overwrite_a=True, clean=False)
    if info != 0:
        return None

    in_blocks = _Substitution(factor) if len(factor) >= _MIN_ROWS_FOR_SUBSTITUTION else None

    def solve(right: Array) -> Array:
        if in_blocks is not None and in_blocks.takes(right):
            with linalg.blas_threads(min(settings().workers, _MAX_THREADS_SUBSTITUTED)):
                return in_blocks(to_numpy(right))
        with linalg.threads_for(factor):
            return cho_solve((factor, True), right, check_finite=False)

    return solve


class _Substitution:
    """B -> (LL')^-1 B for a lower factor L (n, n) in Fortran order and a few columns B.

    LAPACK uses one thread for each column, and copies L on the way. Here products of a block of columns of L with
    vectors, which BLAS computes on all threads, do nearly all of the work.
    """

    def __init__(self, factor: np.ndarray) -> None:
        self._factor, self._spans = factor, spans(len(factor), _COLUMNS_OF_SUBSTITUTION)
        self._diagonal = [np.asfortranarray(factor[b, b]) for b in self._spans]

    def takes(self, right: Array) -> bool:
        """Whether B has few columns of the dtype of the factor."""
        few = right.ndim == 1 or right.shape[1] <= _MAX_COLUMNS_SUBSTITUTED
        return few and right.dtype == self._factor.dtype

    def __call__(self, right: np.ndarray) -> np.ndarray:
        solved = np.array(right, order="F")
        for column in solved[None] if right.ndim == 1 else solved.T:
            self._solve(column)
        return solved

    def _solve(self, x: np.ndarray) -> None:
        """Replace x by (LL')^-1 x."""
        from scipy.linalg.blas import get_blas_funcs

        (trsv,) = get_blas_funcs(("trsv",), (self._factor,))
        for b, diagonal in zip(self._spans, self._diagonal, strict=True):
            x[b] = trsv(diagonal, x[b], lower=1)
            x[b.stop :] -= self._factor[b.stop :, b] @ x[b]
        for b, diagonal in zip(self._spans[::-1], self._diagonal[::-1], strict=True):
            x[b] -= x[b.stop :] @ self._factor[b.stop :, b]
            x[b] = trsv(diagonal, x[b], lower=1, trans=1)


def inverse_positive(matrix: Array) -> Array | None:
    """A^-1, A overwritten; None where A is not positive definite."""
    if not is_numpy(matrix):
        lower = _lower(matrix)
        if lower is None:
            return None
        inverse = inverse_lower(lower)
        return namespace(inverse).permute_dims(inverse, (1, 0)) @ inverse
    from scipy.linalg.lapack import get_lapack_funcs

    potrf, potri = get_lapack_funcs(("potrf", "potri"), (matrix,))
    with linalg.threads_for(matrix):
        factor, info = potrf(matrix.T, lower=True, overwrite_a=True, clean=False)
        if info != 0:
            return None
        inverse, _ = potri(factor, lower=True, overwrite_c=True)
    for j in range(1, inverse.shape[0]):  # potri writes one triangle
        inverse[:j, j] = inverse[j, :j]
    return inverse


def eigenpairs(matrix: Array, precision: float) -> tuple[Any, Any]:
    """Non-negative eigenvalues, and eigenvectors, of a kernel matrix, which is overwritten.

    `precision` is the machine epsilon of the dtype in which its entries were computed. Eigenvalues
    that are negative beyond rounding are refused.
    """
    xp = namespace(matrix)
    if is_numpy(matrix):
        from scipy.linalg import eigh

        driver = "evd" if len(matrix) > 1 else "ev"  # SciPy 1.13 fails for evd of a single row
        with linalg.threads_for(matrix):
            values, vectors = eigh(matrix.T, driver=driver, overwrite_a=True, check_finite=False)
    else:
        values, vectors = linalg.eigh(matrix)
    smallest, greatest = float(values[0]), max(float(values[-1]), 0.0)
    if -smallest > 4 * int(values.shape[0]) * precision * max(greatest, -smallest):
        raise ValueError(
            f"the kernel must be positive definite, but its matrix has an eigenvalue {smallest:.3g} "
            f"(the largest is {greatest:.3g}): use another kernel"
        )
    return xp.clip(values, 0.0, None), vectors


def lower_factor(matrix: Array) -> Array:
    """L with LL' = A + e I, for the smallest e = 10^j eps tr(A) that makes it positive definite."""
    xp = namespace(matrix)
    unit, added = eps(matrix) * scalar(xp.sum(xp.linalg.diagonal(matrix))), 0.0
    shifted = xp.asarray(detached(matrix), copy=True)
    for power in range(_MAX_TRIES):
        add_to_diagonal(shifted, unit * 10.0**power - added)
        added = unit * 10.0**power
        lower = _lower(shifted)
        if lower is not None:
            return lower
    raise ValueError("the kernel must be positive definite, but its matrix is not: use another one")


def inverse_lower(lower: Array) -> Array:
    """L^-1 of a lower triangular matrix."""
    if not is_numpy(lower):
        xp = namespace(lower)
        substitute = getattr(xp.linalg, "solve_triangular", None)  # torch's; not in the standard
        if substitute is None:
            return linalg.inv(lower)
        unit = xp.eye(lower.shape[0], dtype=lower.dtype, device=device(lower))
        return substitute(lower, unit, upper=False)
    from scipy.linalg.lapack import get_lapack_funcs

    (trtri,) = get_lapack_funcs(("trtri",), (lower,))
    with linalg.threads_for(lower):
        inverse, _ = trtri(lower, lower=1)
    return np.tril(inverse)


def _solve_tensor(matrix: Array, right: Array) -> Array | None:
    lower = _lower(matrix)
    return None if lower is None else _substituted(lower, right)


def _substituted(lower: Array, right: Array) -> Array:
    """(LL')^-1 B of a lower triangular tensor, by substitution where its library has it."""
    xp = namespace(lower)
    substitute = getattr(xp.linalg, "solve_triangular", None)  # torch's; not in the standard
    upper = xp.permute_dims(lower, (1, 0))
    if substitute is None:
        inverse = linalg.inv(lower)
        return xp.permute_dims(inverse, (1, 0)) @ (inverse @ right)
    columns = right if right.ndim == 2 else right[:, None]
    solved = substitute(upper, substitute(lower, columns, upper=False), upper=True)
    return solved if right.ndim == 2 else solved[:, 0]


def _lower(matrix: Array) -> Array | None:
    """The Cholesky factor, or None where the matrix is not positive definite."""
    try:
        lower = linalg.cholesky(matrix)
    except (RuntimeError, np.linalg.LinAlgError) as error:  # the first is torch's
        if "positive" not in str(error) and "singular" not in str(error).lower():
            raise
        return None
    return lower if bool(namespace(lower).all(namespace(lower).isfinite(lower))) else None
