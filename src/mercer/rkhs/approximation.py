"""Linear and best n-term approximation in an orthonormal basis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer import validate
from mercer.backend import Array, EqualByValue, array_like, astype, count, double, to_numpy, zeros
from mercer.kernels.base import Points
from mercer.rkhs.bases import Basis
from mercer.rkhs.quadrature import Quadrature

_VALUES_PER_BLOCK = 2**20  # values of basis functions computed at a time: 8 MiB


@dataclass(frozen=True, eq=False)
class BasisSeries(EqualByValue):
    """Finite expansion f(x) = sum_j coefficients_j b_j(x) in an orthonormal basis.

    By Parseval's identity the L2 norm of f is the Euclidean norm of its coefficients, so the error of
    an approximation is the norm of the omitted coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import HaarBasis, expand
    >>> step = expand(lambda x: np.where(x < 0.25, 3.0, 0.0), HaarBasis(), 64)
    >>> step.best(3)([0.1, 0.9])  # exact with three of the 64 coefficients
    array([3., 0.])
    """

    basis: Basis
    coefficients: np.ndarray

    def __post_init__(self) -> None:
        validate.instance("basis", self.basis, Basis, "a basis, such as FourierBasis()")
        coefficients = to_numpy(validate.vector(self.coefficients, "coefficients"))
        object.__setattr__(self, "coefficients", coefficients)

    def __len__(self) -> int:
        return len(self.coefficients)

    def __repr__(self) -> str:
        return f"Series({self.basis!r}, {len(self)} terms)"

    def __call__(self, x: Points) -> Array:
        """Values f(x_i): (len(x),)."""
        values = self.basis(x, len(self))
        return values @ array_like(self.coefficients, values)

    def linear(self, n: int) -> BasisSeries:
        """First n terms, the best approximation in the span of b_0 ... b_{n-1}."""
        return replace(self, coefficients=self.coefficients[: self._terms(n)])

    def best(self, n: int) -> BasisSeries:
        """Best n-term approximation: the n largest coefficients, of equal ones the first."""
        largest = self._by_size()[: self._terms(n)]
        coefficients = np.zeros_like(self.coefficients)
        coefficients[largest] = self.coefficients[largest]
        return replace(self, coefficients=coefficients)

    def norm(self) -> float:
        """L2 norm, by Parseval's identity."""
        return float(np.linalg.norm(self.coefficients))

    def sobolev_norm(self, s: float) -> float:
        """Sobolev norm sqrt(sum_j (1 + frequency_j^2)^s c_j^2), whose balls are Sobolev ellipsoids.

        For s = 1 it is the root of the integral of f^2 + f'^2 for `FourierBasis` (periodic f) and
        `CosineBasis` (any f), and of f^2 + (x - a)(b - x) f'^2 for `LegendreBasis`. For `HaarBasis` it
        is equivalent to the Sobolev norm if s < 1/2. If it is at most R, the first n terms have an L2
        error of at most R (1 + frequency_n^2)^(-s/2).
        """
        validate.number("s", s)
        sizes = 1 + self.basis.frequencies(len(self)) ** 2
        return float(np.linalg.norm(sizes ** (s / 2) * self.coefficients))

    def linear_errors(self) -> np.ndarray:
        """L2 errors of the first 0, 1, ..., len terms: (len + 1,)."""
        return _tails(self.coefficients)

    def best_errors(self) -> np.ndarray:
        """L2 errors of the best 0, 1, ..., len terms: (len + 1,)."""
        return _tails(self.coefficients[self._by_size()])

    def _by_size(self) -> np.ndarray:
        return np.argsort(-np.abs(self.coefficients), kind="stable")

    def _terms(self, n: int) -> int:
        validate.whole("n", n)
        if n > len(self):
            raise ValueError(f"n must be at most {len(self)}, the number of terms, got {n}")
        return n


def expand(
    function: Callable[[Points], Array],
    basis: Basis,
    n: int,
    *,
    quadrature: Quadrature | None = None,
) -> BasisSeries:
    """First n coefficients c_j = integral of f b_j of a function, as a `Series`.

    Parameters
    ----------
    function : callable
        Function from points (m, d) to one number each, an array (m,) or (m, 1): a `Function`, or a
        function of NumPy arrays.
    basis : Basis
    n : int
        Number of terms.
    quadrature : Quadrature, optional
        Rule for Lebesgue measure on the box of the basis. The default is exact for products of the
        basis functions, and accurate to rounding error for smooth functions. If f has jumps or kinks,
        use a rule whose panels end there, or one with many more nodes.

    Examples
    --------
    >>> from mercer.rkhs import LegendreBasis
    >>> cube = expand(lambda x: x**3, LegendreBasis(-1, 1), 6)
    >>> cube.coefficients.round(6) + 0.0
    array([0.      , 0.489898, 0.      , 0.213809, 0.      , 0.      ])
    >>> cube.norm() ** 2  # the integral of x^6 over [-1, 1]
    0.285714
    """
    validate.instance("basis", basis, Basis, "a basis, such as FourierBasis()")
    validate.whole("n", n)
    rule = basis.quadrature(n) if quadrature is None else quadrature
    validate.instance("quadrature", rule, Quadrature, "a Quadrature")
    weights = rule.weights * one_per_point(function, rule.nodes)
    total = zeros((n,), weights, double(weights))
    step = max(1, _VALUES_PER_BLOCK // n)
    for start in range(0, len(rule), step):
        rows = slice(start, min(start + step, len(rule)))
        total = total + weights[rows] @ astype(basis(rule.nodes[rows, :], n), weights.dtype)
    return BasisSeries(basis, to_numpy(total))


def one_per_point(function: Callable[[Points], Array], x: Points) -> Array:
    """Values of a function at points, which may return (n,) or (n, 1), as an array (n,)."""
    values = validate.real(function(x), "function(x)")
    n, shape = count(x), tuple(values.shape)
    if shape not in ((n,), (n, 1)):
        raise ValueError(f"function must return one number per point, shape ({n},), got {shape}")
    validate.finite(values, "function(x)")
    validate.same_library(x, values, ("x", "function(x)"))
    return astype(values if values.ndim == 1 else values[:, 0], double(values))


def _tails(coefficients: np.ndarray) -> np.ndarray:
    """Norms of c[k:] for k = 0 ... n, summed from the last coefficient."""
    squares = np.cumsum(coefficients[::-1] ** 2)[::-1]
    return np.sqrt(np.append(squares, 0.0))
