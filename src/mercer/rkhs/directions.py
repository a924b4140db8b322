"""Principal directions of centred Gram matrices, on which measures of dependence are small matrices."""

from __future__ import annotations

from typing import NamedTuple

from mercer import linalg
from mercer.backend import Array, array_like, astype, double, namespace
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import Centered, Factor, Gram, LazyMatrix, cholesky
from mercer.kernels import facts

_EXACT = 1e-14  # of the trace, below which the rest of a factor is rounding
_PART = 4  # of n: a factor with more than n / 4 columns is slower than all eigenvectors


class Directions(NamedTuple):
    """K~ = U diag(l^2) U': `vectors` are U, orthonormal (n, r), and `lengths` are l (r,)."""

    vectors: Array
    lengths: Array

    def gains(self, ridge: float) -> Array:
        """l / sqrt(l^2 + n ridge): what the regularised operator leaves of every direction."""
        noise = self.vectors.shape[0] * ridge
        return self.lengths / namespace(self.lengths).sqrt(self.lengths**2 + noise)


def principal(centred: LazyMatrix, what: str) -> Directions:
    """By a factor of few columns where one is exact to rounding, else by all eigenvectors."""
    n, xp = centred.shape[0], namespace(centred.like)
    found = low_rank(centred.matrix) if isinstance(centred, Centered) else None
    if found is not None:
        a = found.columns - xp.mean(found.columns, axis=0)
        parts = linalg.svd(a)
        return Directions(parts[0], parts[1])
    afford_dense(n, what)
    held = astype(centred.dense(), double(centred.like))
    values, vectors = linalg.eigh(held)
    return Directions(vectors, xp.sqrt(xp.clip(values, 0, None)))


def low_rank(matrix: LazyMatrix) -> Factor | None:
    """A factor K = AA', exact to rounding, where there is one of few columns; else None."""
    if not (isinstance(matrix, Gram) and facts(matrix.kernel).positive_definite is True):
        return None
    n = matrix.shape[0]
    most = max(min(n // _PART, settings().memory // (32 * n)), 2)
    found = cholesky(matrix, tolerance=_EXACT, most=most + 1)
    return found if len(found.pivots) <= most else None


def afford_dense(n: int, what: str) -> None:
    """Refuse what would hold matrices of n x n numbers beyond the budget."""
    if 4 * 8 * n**2 > settings().memory:
        raise MemoryBudgetError(
            f"{what} needs dense matrices of the size of the kernel matrix, {n} x {n}, as that is of "
            f"full rank, and the budget is {settings().memory / 2**20:,.0f} MiB: use fewer points or a "
            "smoother kernel, or raise mercer.config(memory=...)"
        )


def crossed(a: Array, b: Array, left: Directions, right: Directions) -> Array:
    """diag(a) U'V diag(b), whose singular values are those of the operator: (r, s)."""
    xp = namespace(left.vectors)
    product = xp.permute_dims(left.vectors, (1, 0)) @ array_like(right.vectors, left.vectors)
    return a[:, None] * product * b[None, :]
