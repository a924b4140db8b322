"""Centred Gram matrices K~ and their shrinkage K~ (K~ + c I)^-1 as operators, without eigenvectors.

A low-rank factor, K~ = AA', gives K~ (K~ + c I)^-1 = WW' with W = A L^-T and LL' = A'A + c I. For a matrix of
full rank, I - c (K~ + c I)^-1 from its Cholesky factor is many times faster than from its eigenvectors. Both
have a rounding error of eps tr(K~) / c; where c is too small for that, singular vectors are used instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from mercer import linalg
from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    is_numpy,
    namespace,
    scalar,
    transposed,
)
from mercer.gram import Centered, Gram, LazyMatrix
from mercer.gram.lanczos import largest_eigenvalue
from mercer.gram.positive_definite import add_to_diagonal, factored, inverse_positive, lower_factor
from mercer.kernels import facts
from mercer.rkhs.directions import (
    PrincipalDirections,
    afford_dense,
    directions_of,
    low_rank,
    principal,
)

# Smallest c, relative to the trace, at which a Cholesky factor is used: the rounding error
# eps tr(K~) / c then stays below 1e-9.
_MIN_RELATIVE_RIDGE = 1e-6


@dataclass(frozen=True, eq=False)
class Operator(ABC):
    """A symmetric positive semi-definite matrix R (n, n), represented by an array with n rows."""

    array: Array

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.array.shape[0])

    @abstractmethod
    def times(self, v: Array) -> Array:
        """R v for columns v: (n, k)."""


@dataclass(frozen=True, eq=False)
class LowRankOperator(Operator):
    """R = WW', where the array is W (n, r)."""

    def times(self, v: Array) -> Array:
        """W (W'v)."""
        return self.array @ (transposed(self.array) @ v)


@dataclass(frozen=True, eq=False)
class DenseOperator(Operator):
    """R itself, as a dense array."""

    def times(self, v: Array) -> Array:
        """R v."""
        return self.array @ v


@dataclass(frozen=True, eq=False)
class SolvedOperator(Operator):
    """R = I - c M^-1, where the array is the Cholesky factor of M and `solve` applies M^-1."""

    solve: Callable[[Array], Array]
    c: float

    def times(self, v: Array) -> Array:
        """v - c M^-1 v."""
        return v - self.c * self.solve(v)


def centred_operator(centred: LazyMatrix, what: str) -> Operator:
    """Centred Gram matrix K~ as an operator, low-rank where its factor is.

    `what` is the name of the caller in the message of `MemoryBudgetError`.
    """
    if not _definite(centred):
        return _by_directions(principal(centred, what))
    columns = _centred_columns(centred)
    if columns is not None:
        return LowRankOperator(columns)
    afford_dense(centred.shape[0], what)
    return DenseOperator(astype(centred.dense(), double(centred.like)))


def shrinkage(centred: LazyMatrix, ridge: float, what: str, *, dense: bool = False) -> Operator:
    """Shrinkage operator K~ (K~ + c I)^-1 with c = n ridge.

    Where it comes from a Cholesky factor of K~ + c I, it is formed as a matrix only if `dense`.
    """
    if not _definite(centred):
        return _by_directions(principal(centred, what), ridge)
    n = centred.shape[0]
    columns = _centred_columns(centred)
    if columns is not None:
        if n * ridge >= _MIN_RELATIVE_RIDGE * scalar(namespace(columns).sum(columns**2)):
            return LowRankOperator(_shrunk_root(columns, n * ridge))
        return _by_directions(directions_of(columns), ridge)
    afford_dense(n, what)
    operator = dense_shrinkage(centred, ridge, formed=dense)
    return _by_directions(principal(centred, what), ridge) if operator is None else operator


def dense_shrinkage(
    centred: LazyMatrix, ridge: float, *, formed: bool = True
) -> DenseOperator | SolvedOperator | None:
    """Shrinkage operator from a Cholesky factor of the dense K~ + c I, as a matrix if `formed`.

    None where c is too small for that.
    """
    matrix = astype(centred.dense(), double(centred.like))
    xp, c = namespace(matrix), centred.shape[0] * ridge
    if c < _MIN_RELATIVE_RIDGE * scalar(xp.sum(xp.linalg.diagonal(matrix))):
        return None
    add_to_diagonal(matrix, c)
    return _inverted(matrix, c) if formed else _solved(matrix, c)


def largest_singular_value(left: Operator, right: Operator) -> float:
    """The square root of the largest eigenvalue of the product RS of two operators.

    With S = WW' it is the largest eigenvalue of the symmetric W'RW; only S is factored.
    """
    if isinstance(left, LowRankOperator) and isinstance(right, LowRankOperator):
        product = transposed(left.array) @ array_like(right.array, left.array)
        xp = namespace(product)
        return scalar(xp.max(linalg.svdvals(product)))
    split, other = (right, left) if isinstance(right, LowRankOperator) else (left, right)
    if isinstance(split, SolvedOperator):
        split, other = other, split
    root = split.array if isinstance(split, LowRankOperator) else lower_factor(split.array)
    across = transposed(root)
    return largest_eigenvalue(lambda v: across @ other.times(root @ v), root, root.shape[1]) ** 0.5


def trace_of_product(left: Operator, right: Operator) -> float:
    """tr(RS) of two operators that are low-rank or dense."""
    if isinstance(left, DenseOperator) and isinstance(right, DenseOperator):
        product = left.array * array_like(right.array, left.array)
        return scalar(namespace(product).sum(product))
    factored_side, other = (left, right) if isinstance(left, LowRankOperator) else (right, left)
    root = factored_side.array
    if isinstance(other, LowRankOperator):
        product = transposed(root) @ array_like(other.array, root)
        return scalar(namespace(product).sum(product**2))
    return scalar(namespace(root).sum(root * other.times(root)))


def _definite(centred: LazyMatrix) -> bool:
    """Whether the kernel is known to be positive definite."""
    inner = centred.matrix if isinstance(centred, Centered) else centred
    return isinstance(inner, Gram) and facts(inner.kernel).positive_definite is True


def _centred_columns(centred: LazyMatrix) -> Array | None:
    """A with K~ = AA' up to rounding and few columns; None where there is no such factor."""
    factor = low_rank(centred.matrix) if isinstance(centred, Centered) else None
    if factor is None:
        return None
    return factor.columns - namespace(factor.columns).mean(factor.columns, axis=0)


def _by_directions(directions: PrincipalDirections, ridge: float | None = None) -> LowRankOperator:
    """K~, or with a ridge its shrinkage operator, from principal directions."""
    gains = directions.lengths if ridge is None else directions.gains(ridge)
    return LowRankOperator(directions.vectors * gains)


def _shrunk_root(a: Array, c: float) -> Array:
    """W = A L^-T with LL' = A'A + c I."""
    inner = transposed(a) @ a
    add_to_diagonal(inner, c)
    if is_numpy(a):
        from scipy.linalg import solve_triangular

        lower = linalg.cholesky(inner)
        return solve_triangular(lower, a.T, lower=True, check_finite=False).T
    return a @ transposed(linalg.inv(linalg.cholesky(inner)))


def _solved(matrix: Array, c: float) -> SolvedOperator | None:
    """I - c (K~ + c I)^-1 by solves, from K~ + c I, which is overwritten."""
    solve = factored(matrix)
    return None if solve is None else SolvedOperator(matrix, solve, c)


def _inverted(matrix: Array, c: float) -> DenseOperator | None:
    """I - c (K~ + c I)^-1 as a matrix, from K~ + c I, which is overwritten."""
    inverse = inverse_positive(matrix)
    if inverse is None:
        return None
    inverse *= -c
    add_to_diagonal(inverse, 1.0)
    return DenseOperator(inverse)
