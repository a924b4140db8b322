"""Principal directions of centred Gram matrices, in which dependence operators are small matrices."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from mercer import linalg
from mercer.backend import Array, array_like, astype, double, namespace
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import Centered, Factor, Gram, LazyMatrix, cholesky
from mercer.kernels import facts

# Trace of the residual, relative to tr(K), below which a low-rank factor is exact up to rounding.
_EXACT_TOLERANCE = 1e-14
_GREATEST_TOLERANCE = 1e-8  # for huge ridges: functions are as accurate as that
# Trace of the residual E over n * ridge at which a factor is exact. Canonical correlations change by
# tr(E) / (n ridge) at most, and canonical functions by that over the gap between correlations: by 1e-8
# for gaps above 0.01.
_RESIDUAL_PER_RIDGE = 1e-10
DENSE_COPIES = 4  # matrices of the size of the Gram matrix while it is decomposed
_TINY = sys.float_info.min
# A factor with more than n / 4 columns takes longer than all eigenvectors of the matrix.
_MIN_ROWS_PER_COLUMN = 4


class PrincipalDirections(NamedTuple):
    """Eigenvectors of K~ = U diag(l^2) U': `vectors` are U, orthonormal (n, r), `lengths` are l (r,)."""

    vectors: Array
    lengths: Array

    def gains(self, ridge: float) -> Any:
        """Shrinkage factor l / sqrt(l^2 + n ridge) of every direction: (r,)."""
        noise = self.vectors.shape[0] * ridge
        return self.lengths / namespace(self.lengths).sqrt(self.lengths**2 + noise)


def principal(centred: LazyMatrix, what: str) -> PrincipalDirections:
    """Principal directions from a low-rank factor where one is exact up to rounding, else from `eigh`.

    `what` is the name of the caller in the message of `MemoryBudgetError`.
    """
    n, xp = centred.shape[0], namespace(centred.like)
    factor = low_rank(centred.matrix) if isinstance(centred, Centered) else None
    if factor is not None:
        return directions_of(factor.columns - xp.mean(factor.columns, axis=0))
    afford_dense(n, what)
    dense = astype(centred.dense(), double(centred.like))
    values, vectors = linalg.eigh(dense)
    return PrincipalDirections(vectors, xp.sqrt(xp.clip(values, 0, None)))


def directions_of(columns: Array) -> PrincipalDirections:
    """Principal directions of K~ = AA' from the columns of A."""
    decomposition = linalg.svd(columns)
    return PrincipalDirections(decomposition[0], decomposition[1])


def low_rank(matrix: LazyMatrix, ridge: float | None = None) -> Factor | None:
    """Low-rank factor K = AA', exact for this ridge; None where it would have too many columns."""
    if not (isinstance(matrix, Gram) and facts(matrix.kernel).positive_definite is True):
        return None
    n = matrix.shape[0]
    max_rank = max(min(n // _MIN_ROWS_PER_COLUMN, settings().memory // (32 * n)), 2)
    factor = cholesky(matrix, tolerance=factor_tolerance(matrix, ridge), most=max_rank + 1)
    return factor if len(factor.pivots) <= max_rank else None


def factor_tolerance(gram: LazyMatrix, ridge: float | None) -> float:
    """Trace of the residual, relative to tr(K), at which a factor is exact for this ridge and larger ones.

    None: exact up to rounding, as a ridge of a millionth of the variance needs it.
    """
    if ridge is None:
        return _EXACT_TOLERANCE
    relative = gram.shape[0] * ridge / max(gram.trace(), _TINY)
    return min(max(_RESIDUAL_PER_RIDGE * relative, _EXACT_TOLERANCE), _GREATEST_TOLERANCE)


def afford_dense(n: int, what: str) -> None:
    """Raise `MemoryBudgetError` if four n x n matrices of float64 exceed the memory budget."""
    if DENSE_COPIES * 8 * n**2 > settings().memory:
        raise MemoryBudgetError(
            f"{what} needs dense matrices of the size of the kernel matrix, {n} x {n}, because that has "
            f"full rank, and the budget is {settings().memory / 2**20:,.0f} MiB: use fewer points or a "
            "smoother kernel, or raise mercer.config(memory=...)"
        )


def crossed(a: Array, b: Array, left: PrincipalDirections, right: PrincipalDirections) -> Any:
    """Matrix diag(a) U'V diag(b) of the operator in both sets of principal directions: (r, s)."""
    xp = namespace(left.vectors)
    product = xp.permute_dims(left.vectors, (1, 0)) @ array_like(right.vectors, left.vectors)
    return a[:, None] * product * b[None, :]
