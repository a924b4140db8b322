"""Centred Gram matrices K~ and their shrinkage K~ (K~ + c I)^-1 as operators, without eigenvectors.

A factor of few columns, K~ = AA', gives K~ (K~ + c I)^-1 = WW' with W = A L^-T, LL' = A'A + c I. A matrix of
full rank has I - c (K~ + c I)^-1 by its Cholesky factor, many times faster than by its eigenvectors. Both
lose eps tr(K~) / c by rounding: where c is so small that this counts, singular vectors are taken.
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
from mercer.rkhs.directions import Directions, afford_dense, low_rank, principal

_SAFE = 1e-6  # of the trace: the least c for which rounding errors stay below 1e-9


class Operator(ABC):
    """A symmetric positive semi-definite matrix R (n, n)."""

    like: Array  # an array of the library, device and dtype of its products
    n: int

    @abstractmethod
    def times(self, v: Array) -> Array:
        """R v for columns v: (n, k)."""


@dataclass(frozen=True, eq=False)
class Rooted(Operator):
    """R = WW' with W (n, r)."""

    root: Array

    @property
    def like(self) -> Array:  # type: ignore[override]
        """W."""
        return self.root

    @property
    def n(self) -> int:  # type: ignore[override]
        """The number of points."""
        return int(self.root.shape[0])

    def times(self, v: Array) -> Array:
        """W (W'v)."""
        return self.root @ (transposed(self.root) @ v)


@dataclass(frozen=True, eq=False)
class Applied(Operator):
    """R by its products."""

    product: Callable[[Array], Array]
    like: Array
    n: int

    def times(self, v: Array) -> Array:
        """R v."""
        return self.product(v)


@dataclass(frozen=True, eq=False)
class Whole(Operator):
    """R as a dense matrix."""

    matrix: Array

    @property
    def like(self) -> Array:  # type: ignore[override]
        """R."""
        return self.matrix

    @property
    def n(self) -> int:  # type: ignore[override]
        """The number of points."""
        return int(self.matrix.shape[0])

    def times(self, v: Array) -> Array:
        """R v."""
        return self.matrix @ v


def centred_operator(centred: LazyMatrix, what: str) -> Operator:
    """K~ itself."""
    if not _definite(centred):
        return _by_directions(principal(centred, what))
    columns = _centred_columns(centred)
    if columns is not None:
        return Rooted(columns)
    afford_dense(centred.shape[0], what)
    return Whole(astype(centred.dense(), double(centred.like)))


def shrinkage(centred: LazyMatrix, ridge: float, what: str, *, dense: bool = False) -> Operator:
    """K~ (K~ + c I)^-1 with c = n ridge; where a Cholesky factor gives it, as a matrix only if `dense`."""
    n = centred.shape[0]
    c = n * ridge
    if not (_definite(centred) and c >= _SAFE * centred.trace()):
        return _by_directions(principal(centred, what), ridge)
    columns = _centred_columns(centred)
    if columns is not None:
        return Rooted(_shrunk_root(columns, c))
    afford_dense(n, what)
    matrix = astype(centred.dense(), double(centred.like))
    add_to_diagonal(matrix, c)
    found = _inverted(matrix, c) if dense else _solved(matrix, c)
    return _by_directions(principal(centred, what), ridge) if found is None else found


def largest_singular_value(left: Operator, right: Operator) -> float:
    """The square root of the largest eigenvalue of the product RS of two operators.

    With S = WW' it is that of W'RW, which is symmetric; R is left as it is.
    """
    if isinstance(left, Rooted) and isinstance(right, Rooted):
        product = transposed(left.root) @ array_like(right.root, left.root)
        xp = namespace(product)
        return scalar(xp.max(linalg.svdvals(product)))
    split, other = (right, left) if isinstance(right, Rooted) else (left, right)
    if isinstance(split, Applied):
        split, other = other, split
    root = split.root if isinstance(split, Rooted) else lower_factor(split.like)
    across = transposed(root)
    return largest_eigenvalue(lambda v: across @ other.times(root @ v), root, root.shape[1]) ** 0.5


def trace_of_product(left: Operator, right: Operator) -> float:
    """tr(RS) of two operators, one of which at least is a matrix or has a root."""
    if isinstance(left, Whole) and isinstance(right, Whole):
        product = left.matrix * array_like(right.matrix, left.matrix)
        return scalar(namespace(product).sum(product))
    rooted, other = (left, right) if isinstance(left, Rooted) else (right, left)
    root = rooted.like
    if isinstance(other, Rooted):
        product = transposed(root) @ array_like(other.root, root)
        return scalar(namespace(product).sum(product**2))
    return scalar(namespace(root).sum(root * other.times(root)))


def _definite(centred: LazyMatrix) -> bool:
    """Whether the kernel is known to have no negative eigenvalues."""
    inner = centred.matrix if isinstance(centred, Centered) else centred
    return isinstance(inner, Gram) and facts(inner.kernel).positive_definite is True


def _centred_columns(centred: LazyMatrix) -> Array | None:
    """A with K~ = AA' to rounding, where there is one of few columns; else None."""
    found = low_rank(centred.matrix) if isinstance(centred, Centered) else None
    if found is None:
        return None
    return found.columns - namespace(found.columns).mean(found.columns, axis=0)


def _by_directions(directions: Directions, ridge: float | None = None) -> Rooted:
    """K~, or its shrinkage, by principal directions."""
    gains = directions.lengths if ridge is None else directions.gains(ridge)
    return Rooted(directions.vectors * gains)


def _shrunk_root(a: Array, c: float) -> Array:
    """W = A L^-T with LL' = A'A + c I."""
    inner = transposed(a) @ a
    add_to_diagonal(inner, c)
    if is_numpy(a):
        from scipy.linalg import solve_triangular

        lower = linalg.cholesky(inner)
        return solve_triangular(lower, a.T, lower=True, check_finite=False).T
    return a @ transposed(linalg.inv(linalg.cholesky(inner)))


def _solved(matrix: Array, c: float) -> Applied | None:
    """I - c (K~ + c I)^-1 as an operator, from K~ + c I, which is overwritten."""
    solve, like, n = factored(matrix), matrix, int(matrix.shape[0])
    return None if solve is None else Applied(lambda v: v - c * solve(v), like, n)


def _inverted(matrix: Array, c: float) -> Whole | None:
    """I - c (K~ + c I)^-1 as a matrix, from K~ + c I, which is overwritten."""
    inverse = inverse_positive(matrix)
    if inverse is None:
        return None
    inverse *= -c
    add_to_diagonal(inverse, 1.0)
    return Whole(inverse)
