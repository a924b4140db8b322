"""Centred Gram matrices K~ and their shrinkage K~ (K~ + c I)^-1 as operators, without eigenvectors.

A low-rank factor, K~ = AA', gives K~ (K~ + c I)^-1 = WW' with W = A L^-T and LL' = A'A + c I. For a matrix of
full rank, I - c (K~ + c I)^-1 from its Cholesky factor is many times faster than from its eigenvectors. Both
have a rounding error of eps tr(K~) / c; where c is too small for that, singular vectors are used instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mercer import linalg
from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    is_numpy,
    is_single,
    namespace,
    scalar,
    transposed,
)
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix, cholesky
from mercer.gram.eigen import repeated_product
from mercer.gram.lanczos import largest_eigenvalue
from mercer.gram.positive_definite import add_to_diagonal, factored, inverse_positive, lower_factor
from mercer.kernels import facts
from mercer.rkhs.directions import (
    DENSE_COPIES,
    PrincipalDirections,
    directions_of,
    low_rank,
    principal,
)

# Smallest c, relative to the trace, at which a Cholesky factor is used: the rounding error
# eps tr(K~) / c then stays below 1e-9.
MIN_RELATIVE_RIDGE = 1e-6
_MAX_COLUMNS = 1000  # of a factor that is cut short: those of 20,000 points take 3 s of one core
_FACTOR_COPIES = 6  # two factors, the first of them shrunk, and a copy while the second grows


@dataclass(frozen=True, eq=False)
class Operator(ABC):
    """A symmetric positive semi-definite matrix R (n, n), represented by an array with n rows."""

    array: Array
    residual: float = field(default=0.0, kw_only=True)  # trace of what a factor leaves out of K

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


def largest_covariance(first: LazyMatrix, second: LazyMatrix, what: str) -> float:
    """The square root of the largest eigenvalue of K~L~, of two Gram matrices that are not centred yet.

    From few columns where there is a low-rank factor, else by products with tiles, of which nothing
    is stored: about 30 of them, O(n^2) each. `what` is the name of the caller in the message of
    `MemoryBudgetError`.
    """
    left, right = (_of_few_columns(gram, what) for gram in (first, second))
    if left is not None and right is not None:
        return largest_singular_value(left, right)
    if left is not None:
        return _largest_beside(left, second.centered())
    if right is not None:
        return _largest_beside(right, first.centered())
    like = astype(first.like, double(first.like))
    times, metric = repeated_product(first.centered()), repeated_product(second.centered())
    return largest_eigenvalue(times, like, first.shape[0], metric=metric) ** 0.5


def shrinkages(
    first: LazyMatrix, second: LazyMatrix, ridge: float, what: str, *, formed: bool
) -> tuple[Operator, Operator]:
    """Shrinkage operators K~ (K~ + c I)^-1 of two Gram matrices, not centred yet, with c = n ridge.

    Low-rank where a factor has few columns, or where dense matrices do not fit the memory budget: then
    `residual` is the trace of what is left out. Otherwise from a Cholesky factor of K~ + c I; where
    neither is low-rank, the first is formed as a matrix, and the second if `formed`.
    """
    low = [_low_rank_shrinkage(gram, ridge, what) for gram in (first, second)]
    alone = all(operator is None for operator in low)
    operators = [
        _full_rank_shrinkage(gram, ridge, what, formed=alone and (formed or i == 0))
        if operator is None
        else operator
        for i, (gram, operator) in enumerate(zip((first, second), low, strict=True))
    ]
    return operators[0], operators[1]


def shrinkage_change(residual: float, c: float) -> float:
    """The largest change, in norm, of R = K~ (K~ + c I)^-1 by a positive semi-definite residual of K.

    R grows with K. With X = (K^ + c I)^-1 for a factor K^ and F = X^(1/2) E X^(1/2) for its residual E, the
    difference is c X^(1/2) F (I + F)^-1 X^(1/2), where X <= 1 / c and |F| <= tr(E) / c.
    """
    return residual / (residual + c)


def correlation_bound(correlation: float, changes: Sequence[float]) -> float:
    """Bound on what a canonical correlation of two variables gains if their R change by that much.

    Its square is an eigenvalue of a product of R_1 and R_2, which are at most 1.
    """
    return min((correlation**2 + sum(changes)) ** 0.5 - correlation, max(1 - correlation, 0.0))


def dense_shrinkage(
    centred: LazyMatrix, ridge: float, *, formed: bool = True
) -> DenseOperator | SolvedOperator | None:
    """Shrinkage operator from a Cholesky factor of the dense K~ + c I, as a matrix if `formed`.

    None where c is too small for that.
    """
    matrix = astype(centred.dense(), double(centred.like))
    xp, c = namespace(matrix), centred.shape[0] * ridge
    if c < MIN_RELATIVE_RIDGE * scalar(xp.sum(xp.linalg.diagonal(matrix))):
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


def _of_few_columns(gram: LazyMatrix, what: str) -> LowRankOperator | None:
    """K~ = AA' with few columns, or the positive part of an indefinite matrix; None: use tiles."""
    if not _definite(gram):
        return _by_directions(principal(gram.centered(), what))
    columns = _centred_columns(gram)
    if columns is None and is_single(gram.like):  # tiles would round products to float32
        return _by_directions(principal(gram.centered(), what))
    return None if columns is None else LowRankOperator(columns)


def _largest_beside(columns: LowRankOperator, centred: LazyMatrix) -> float:
    """The same from W of a low-rank operator WW', and products with tiles of the other matrix."""
    times, root = repeated_product(centred), array_like(columns.array, centred.like)
    across = transposed(root)
    return largest_eigenvalue(lambda v: across @ times(root @ v), root, root.shape[1]) ** 0.5


def _low_rank_shrinkage(gram: LazyMatrix, ridge: float, what: str) -> LowRankOperator | None:
    """The shrinkage operator by a low-rank factor, cut short where dense matrices do not fit."""
    if not _definite(gram):
        return _by_directions(principal(gram.centered(), what), ridge)
    residual, columns = 0.0, _centred_columns(gram, ridge)
    n = gram.shape[0]
    if columns is None:
        if DENSE_COPIES * 8 * n**2 <= settings().memory:
            return None
        residual, columns = _leading_columns(gram)
    if n * ridge >= MIN_RELATIVE_RIDGE * scalar(namespace(columns).sum(columns**2)):
        return LowRankOperator(_shrunk_root(columns, n * ridge), residual=residual)
    return _by_directions(directions_of(columns), ridge, residual)


def _full_rank_shrinkage(gram: LazyMatrix, ridge: float, what: str, *, formed: bool) -> Operator:
    centred = gram.centered()
    operator = dense_shrinkage(centred, ridge, formed=formed)
    return _by_directions(principal(centred, what), ridge) if operator is None else operator


def _leading_columns(gram: LazyMatrix) -> tuple[float, Array]:
    """Trace of the residual and centred columns of the largest factor that fits."""
    fits = settings().memory // (8 * _FACTOR_COPIES * gram.shape[0])
    factor = cholesky(gram, most=max(min(_MAX_COLUMNS, fits), 2))
    xp = namespace(factor.columns)
    return factor.residual, factor.columns - xp.mean(factor.columns, axis=0)


def _definite(gram: LazyMatrix) -> bool:
    """Whether the kernel is known to be positive definite."""
    return isinstance(gram, Gram) and facts(gram.kernel).positive_definite is True


def _centred_columns(gram: LazyMatrix, ridge: float | None = None) -> Array | None:
    """A with K~ = AA', exact for the ridge, and few columns; None where there is no such factor."""
    factor = low_rank(gram, ridge)
    if factor is None:
        return None
    return factor.columns - namespace(factor.columns).mean(factor.columns, axis=0)


def _by_directions(
    directions: PrincipalDirections, ridge: float | None = None, residual: float = 0.0
) -> LowRankOperator:
    """K~, or with a ridge its shrinkage operator, from principal directions."""
    gains = directions.lengths if ridge is None else directions.gains(ridge)
    return LowRankOperator(directions.vectors * gains, residual=residual)


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
