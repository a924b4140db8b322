"""Mercer expansions: eigenvalues and eigenfunctions of the integral operator of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, astype, count, eps, namespace, scalar, to_numpy
from mercer.frames import Columns
from mercer.gram import Gram, LazyMatrix, LowRank, top_eigenpairs
from mercer.kernels.base import Kernel, Points
from mercer.kernels.dot import Linear
from mercer.kernels.prepare import bound_to, read
from mercer.rkhs.function import Function
from mercer.rkhs.quadrature import Quadrature


@dataclass(frozen=True, eq=False, repr=False)
class MercerExpansion:
    """First terms of the Mercer expansion k(x, y) = sum_j lambda_j phi_j(x) phi_j(y).

    The phi_j are orthonormal in L2 of the measure; sqrt(lambda_j) phi_j are orthonormal in the
    RKHS.

    Attributes
    ----------
    eigenvalues : array (rank,)
        Decreasing, positive.
    eigenfunctions : Function
        All of them: `eigenfunctions(x)` is (len(x), rank), ``eigenfunctions[j]`` is one.
    trace : float
        The integral of k(x, x), which is the sum of *all* eigenvalues.
    """

    eigenvalues: Array
    eigenfunctions: Function
    trace: float

    def __repr__(self) -> str:
        share = 1 - self.tail / self.trace
        return (
            f"MercerExpansion({self.eigenfunctions.kernel!r}, rank {count(self.eigenvalues)}, "
            f"{share:.4%} of the trace)"
        )

    @property
    def tail(self) -> float:
        """Sum of the omitted eigenvalues, the integral of k(x, x) - sum_j lambda_j phi_j(x)^2."""
        return max(self.trace - scalar(namespace(self.eigenvalues).sum(self.eigenvalues)), 0.0)

    @property
    def kernel(self) -> Kernel:
        """Truncated kernel, the sum of these terms: `expansion.kernel(x, y)` is its matrix."""
        return Linear().transformed(self.features)

    def features(self, x: Any) -> Array:
        """Mercer features F_ij = sqrt(lambda_j) phi_j(x_i), with F F' close to k(x, x): (n, rank)."""
        values = self.eigenfunctions(x)
        return values * astype(namespace(values).sqrt(self.eigenvalues), values.dtype)


def mercer_expansion(kernel: Kernel, measure: Quadrature | Any, rank: int) -> MercerExpansion:
    """Largest eigenvalues and eigenfunctions of (T f)(x) = integral of k(x, y) f(y) under a measure.

    Nystrom's method: with nodes x_i and weights w_i of the measure, the eigenpairs (lambda, u) of
    sqrt(w_i) k(x_i, x_j) sqrt(w_j) give phi(x) = sum_i sqrt(w_i) u_i k(x_i, x) / lambda, defined
    everywhere (Rasmussen & Williams 2006, sec. 4.3.2).

    Parameters
    ----------
    kernel : Kernel
    measure : Quadrature, or points
        A quadrature rule, such as ``Quadrature.legendre(0, 1, 100)``, or a sample from the measure,
        with weights 1/n. With a rule, the eigenpairs converge as fast as the rule does (fast for smooth
        kernels once nodes are closer together than the bandwidth, as n^-2 for Brownian motion); with a
        sample as n^(-1/2), the leading ones first. An eigenfunction is accurate only if its eigenvalue
        is well separated and larger than the error of the rule.
    rank : int
        Number of terms. Eigenvalues below rounding error have no eigenfunctions; if `rank` includes
        them, the error says how many there are.

    Notes
    -----
    The sign of an eigenfunction is arbitrary; here its integral is positive or, where that vanishes,
    its largest value times weight.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Brownian
    >>> motion = mercer_expansion(Brownian(), Quadrature.legendre(0, 1, 200), 3)
    >>> (1 / (np.pi**2 * motion.eigenvalues)).round(2)  # (j - 1/2)^2
    array([0.25, 2.25, 6.25])
    >>> (motion.eigenfunctions([0.5]) / np.sqrt(2)).round(3)  # sin((j - 1/2) pi / 2)
    array([[ 0.707,  0.707, -0.707]])
    """
    validate.whole("rank", rank)
    nodes, columns, weights = _mass(kernel, measure)
    n = count(nodes)
    if rank > n:
        raise ValueError(f"rank must be at most {n}, the number of points, got {rank}")
    gram = Gram(bound_to(kernel, columns), nodes)
    mass = np.full(n, 1 / n, np.float64) if weights is None else to_numpy(weights)
    values, vectors = _eigenpairs(gram, None if weights is None else mass, rank)
    coefficients = np.sqrt(mass)[:, None] * vectors / values
    coefficients = coefficients * _signs(np.sqrt(mass)[:, None] * vectors)
    functions = Function(kernel, nodes, coefficients, columns)
    trace = float(mass @ to_numpy(gram.diagonal()))
    return MercerExpansion(array_like(values, functions.weights), functions, trace)


def _mass(kernel: Kernel, measure: Any) -> tuple[Points, Columns | None, Array | None]:
    """Nodes, the names of their columns if any, and weights, None where all are 1/n."""
    if isinstance(measure, Quadrature):
        nodes, _ = read(kernel, measure.nodes, None, "measure")
        return nodes, None, measure.weights
    return *read(kernel, measure, None, "measure"), None


def _eigenpairs(gram: Gram, weights: np.ndarray | None, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenpairs of sqrt(w_i) K_ij sqrt(w_j), as NumPy arrays of float64."""
    n = gram.shape[0]
    matrix: LazyMatrix = gram
    if weights is not None:
        matrix = gram * LowRank(array_like(np.sqrt(weights)[:, None], gram.like))
    values, vectors = (to_numpy(a).astype(np.float64) for a in top_eigenpairs(matrix, rank))
    usable = int(np.sum(values > n * eps(gram.like) * values[0]))
    if usable < rank:
        raise ValueError(
            f"only {usable} eigenvalues of this kernel under this measure are above rounding "
            f"error, got rank {rank}: use a rank of at most {usable}"
        )
    return values if weights is not None else values / n, vectors


def _signs(integrand: np.ndarray) -> np.ndarray:
    """Signs that make each integral positive or, where it vanishes, the largest entry."""
    integrals = integrand.sum(axis=0)
    largest = np.take_along_axis(integrand, np.abs(integrand).argmax(axis=0)[None, :], axis=0)[0]
    vanishes = np.abs(integrals) < 1e-6 * np.abs(integrand).sum(axis=0)
    return np.where(np.where(vanishes, largest, integrals) < 0, -1.0, 1.0)
