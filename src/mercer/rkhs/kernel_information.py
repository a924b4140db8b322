"""Kernel generalized variance and kernel mutual information: all canonical correlations as one number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, astype, double, namespace, scalar, transposed
from mercer.gram import Gram, LazyMatrix
from mercer.gram.lanczos import largest_eigenvalue
from mercer.gram.positive_definite import lower_factor
from mercer.kernels.base import Kernel
from mercer.rkhs.directions import afford_dense, low_rank
from mercer.rkhs.paired_samples import paired_points
from mercer.rkhs.regularized_gram import (
    DenseOperator,
    LowRankOperator,
    Operator,
    correlation_bound,
    largest_singular_value,
    shrinkages,
)
from mercer.rkhs.sample_rows import recentred


class Regularization(ABC):
    """How variances of functions are regularised in canonical correlations."""

    @abstractmethod
    def _correlations(self, first: Array, second: Array) -> Array:
        """Canonical correlations from roots W, V of the shrinkage operators WW' and VV'."""

    @abstractmethod
    def _largest(self, first: Operator, second: Operator) -> float:
        """The largest of them, from the shrinkage operators."""

    @abstractmethod
    def _bound(self, value: float, changes: Sequence[float]) -> float:
        """What the largest gains at most if the operators change by that much."""


@dataclass(frozen=True)
class NormPenalty(Regularization):
    """Var f + ridge |f|^2: the matrix K~^2 + n ridge K~ in place of K~^2 (Fukumizu, Bach and Gretton 2007).

    The correlations are the singular values of R_x^(1/2) R_y^(1/2) with R = K~ (K~ + n ridge I)^-1.
    """

    def _correlations(self, first: Array, second: Array) -> Array:
        return linalg.svdvals(transposed(first) @ array_like(second, first))

    def _largest(self, first: Operator, second: Operator) -> float:
        return largest_singular_value(first, second)

    def _bound(self, value: float, changes: Sequence[float]) -> float:
        return correlation_bound(value, changes)


@dataclass(frozen=True)
class SquaredShift(Regularization):
    """The matrix (K~ + c I)^2 with c = n ridge in place of K~^2 (Bach and Jordan 2002, section 3.2, where c = n kappa / 2).

    It agrees with `NormPenalty` at twice the ridge up to the term c^2. The correlations are the singular values of
    R_x R_y, so they are smaller.
    """

    def _correlations(self, first: Array, second: Array) -> Array:
        second = array_like(second, first)
        left = _upper_root(transposed(first) @ first)
        right = _upper_root(transposed(second) @ second)
        return linalg.svdvals(left @ (transposed(first) @ second) @ transposed(right))

    def _largest(self, first: Operator, second: Operator) -> float:
        """The square root of the largest eigenvalue of R_x^2 R_y^2."""
        times, metric = ((lambda v, r=r: r.times(r.times(v))) for r in (first, second))
        return largest_eigenvalue(times, first.array, first.n, metric=metric) ** 0.5

    def _bound(self, value: float, changes: Sequence[float]) -> float:
        """R_x and R_y are at most 1, so that their product changes by the sum."""
        return min(sum(changes), max(1 - value, 0.0))


def check_ridge(ridge: float, regularization: Regularization) -> None:
    """Refuse a ridge that is not positive and what is no regularization."""
    validate.positive("ridge", ridge)
    validate.instance(
        "regularization", regularization, Regularization, "NormPenalty() or SquaredShift()"
    )


def kernel_generalized_variance(
    kernel_x: Kernel | None,
    kernel_y: Kernel | None,
    x: Any,
    y: Any,
    *,
    ridge: float,
    regularization: Regularization = NormPenalty(),
) -> float:
    """Kernel generalized variance (KGV) -1/2 sum log(1 - r_i^2) over all kernel canonical correlations r_i.

    The mutual information that Gaussian variables with these canonical correlations would have (Bach and Jordan 2002);
    zero if and only if all of them are zero. `kcca` is the largest correlation, and `nocco` the sum of the squares
    with `NormPenalty`.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable.
    x, y : points
        Paired samples of the same size.
    ridge : float
        Ridge of the averaged loss, as in `kcca`.
    regularization : NormPenalty or SquaredShift

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> independent = kernel_generalized_variance(None, None, x, rng.normal(size=300), ridge=0.01)
    >>> kernel_generalized_variance(None, None, x, x**2, ridge=0.01) > 5 * independent
    True
    """
    check_ridge(ridge, regularization)
    grams = _grams(kernel_x, kernel_y, x, y, "kernel_generalized_variance")
    first, second = shrinkages(*grams, ridge, "kernel_generalized_variance", formed=True)
    return _information(regularization._correlations(_root(first), _root(second)) ** 2)


def kernel_mutual_information(
    kernel_x: Kernel | None, kernel_y: Kernel | None, x: Any, y: Any
) -> float:
    """Kernel mutual information (KMI) -1/2 log det(I - K~L~ / (a b)), without a ridge.

    a and b are the smallest row sums of K and L, n times the smallest Parzen density at an observation up to the
    normalisation of the kernel. It bounds the mutual information of the Parzen estimates near
    independence (Gretton, Herbrich, Smola, Bousquet and Schoelkopf 2005, section 4.3), and is infinite where the
    bound is void: far from independence, and where an observation lies far from all others. The
    eigenvalues of K~L~ are those that `coco` takes the largest of and `hsic` the sum of.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        With non-negative values. None: RBF at the median distance of that variable.
    x, y : points
        Paired samples of the same size.

    Examples
    --------
    >>> import numpy as np
    >>> x, noise = np.random.default_rng(0).uniform(size=(2, 300))
    >>> kernel_mutual_information(None, None, x, noise)
    0.00...
    >>> kernel_mutual_information(None, None, x, (x - 0.5) ** 2)
    0.24...
    """
    grams = _grams(kernel_x, kernel_y, x, y, "kernel_mutual_information")
    smallest = [scalar(namespace(s).min(s)) for s in (gram.row_sums() for gram in grams)]
    if min(smallest) <= 0:
        raise ValueError(
            "kernel_mutual_information needs kernels with positive row sums, which are densities: use RBF"
        )
    first, second = (_centred_root(gram, "kernel_mutual_information") for gram in grams)
    values = linalg.svdvals(transposed(first) @ array_like(second, first)) ** 2
    return _information(values / (smallest[0] * smallest[1]))


# ---- private ------------------------------------------------------------------------------


def _information(squares: Array) -> float:
    """-1/2 sum log(1 - r^2); infinite where an r is not below one."""
    xp = namespace(squares)
    if scalar(xp.max(squares)) >= 1:
        return inf
    return max(-0.5 * scalar(xp.sum(xp.log1p(-squares))), 0.0)


def _grams(
    kernel_x: Kernel | None, kernel_y: Kernel | None, x: Any, y: Any, what: str
) -> tuple[LazyMatrix, LazyMatrix]:
    """Lazy Gram matrices K and L of both variables."""
    first, second = (
        Gram(kernel, *recentred(kernel, points))
        for kernel, points in paired_points((kernel_x, kernel_y), (x, y), least=2, what=what)
    )
    return first, second


def _root(operator: Operator) -> Array:
    """W with WW' = R."""
    if isinstance(operator, LowRankOperator):
        return operator.array
    if isinstance(operator, DenseOperator):
        return lower_factor(operator.array)
    like = operator.array
    return lower_factor(operator.times(array_like(np.eye(operator.n, dtype=np.float64), like)))


def _centred_root(gram: LazyMatrix, what: str) -> Array:
    """A with AA' = K~: (n, r)."""
    factor = low_rank(gram)
    if factor is None:
        afford_dense(gram.shape[0], what)
        matrix = gram.centered().dense()
        return lower_factor(astype(matrix, double(matrix)))
    return factor.columns - namespace(factor.columns).mean(factor.columns, axis=0)


def _upper_root(matrix: Array) -> Array:
    """U with U'U = A of a positive semi-definite matrix."""
    values, vectors = linalg.eigh(matrix)
    xp = namespace(values)
    zero = xp.zeros_like(values)
    return transposed(vectors * xp.sqrt(xp.where(values > 0, values, zero)))
