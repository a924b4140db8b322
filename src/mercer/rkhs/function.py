"""Functions of a reproducing kernel Hilbert space, f(x) = sum_i w_i k(x_i, x)."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from math import sqrt
from numbers import Real
from typing import Any

from mercer import validate
from mercer.backend import Array, astype, count, double, namespace, scalar, take_rows
from mercer.frames import Columns
from mercer.gram import Gram
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import bound_to, prepare, read
from mercer.rkhs.gradients import gradients
from mercer.rkhs.sample_rows import joined


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """Element f(x) = sum_i w_i k(x_i, x) of the RKHS of the kernel k.

    Functions of one kernel form a vector space (``f + g``, ``f - g``, ``2 * f``, ``-f``,
    ``f / 3``, ``sum([f, g])``) with the inner product <f, g> = sum_ij w_i v_j k(x_i, y_j). The
    reproducing property is f(x) = <f, k(x, .)>, where k(x, .) is ``Function(k, x, [1.0])``. Values,
    inner products and norms are sums over tiles; the Gram matrix is never formed.

    Parameters
    ----------
    kernel : Kernel
    points : points
        The x_i: an array (n, d), a data frame, or any other points of the kernel.
    weights : array (n,) or (n, k)
        The w_i. A matrix defines k functions with the same points, one per column; ``f[j]`` is the
        j-th of them.
    columns : Columns, optional
        Names of the columns of the points, by default those of a data frame. A function with names may
        be evaluated at frames with their columns in any order.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> f = Function(RBF(1.0), [0.0, 1.0], [1.0, -1.0])
    >>> f([0.0, 0.5, 1.0])
    array([ 0.39346934,  0.        , -0.39346934])
    >>> bump = Function(RBF(1.0), [0.0], [1.0])
    >>> f.inner(bump), (f - f).norm()  # f(0), by the reproducing property
    (0.39346934, 0.0)
    """

    kernel: Kernel
    points: Points
    weights: Array
    columns: Columns | None = None

    __array_ufunc__ = None  # numpy numbers leave `number * function` to the function

    def __post_init__(self) -> None:
        points, columns = read(self.kernel, self.points, self.columns, "points")
        like = bound_to(self.kernel, columns).diag(take_rows(points, slice(0, 1)))
        weights = validate.vectors(self.weights, count(points), like, "weights")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "weights", weights)

    @classmethod
    def of_checked(
        cls, kernel: Kernel, points: Points, weights: Array, columns: Columns | None
    ) -> Function:
        """The function of points and weights that were checked before, which are not checked again."""
        function = cls.__new__(cls)
        values = {"kernel": kernel, "points": points, "weights": weights, "columns": columns}
        for name, value in values.items():
            object.__setattr__(function, name, value)
        return function

    def __repr__(self) -> str:
        several = f"{self.weights.shape[1]} functions, " if self.weights.ndim == 2 else ""
        return f"Function({self.kernel!r}, {several}{count(self.points)} points)"

    def __call__(self, x: Any) -> Array:
        """Values f(x_i): (len(x),), or (len(x), k) for k functions."""
        if self.columns is not None:
            x, _ = read(self.kernel, x, self.columns, "x")
        return Gram(self._bound, x, self.points) @ self.weights

    def gradient(self, x: Any) -> Array:
        """Gradients of one function at points: (len(x), d).

        For smooth kernels of distances or dot products and combinations of these. `NoRule` for others.

        Examples
        --------
        >>> from mercer.kernels import RBF
        >>> f = Function(RBF(1.0), [0.0], [1.0])
        >>> f.gradient([1.0])
        array([[-0.60653066]])
        """
        if self.columns is not None:
            x, _ = read(self.kernel, x, self.columns, "x")
        kernel, at, points = prepare(self._bound, x, self.points)
        return gradients(kernel, at, points, self.weights)

    def __getitem__(self, j: Any) -> Function:
        """The j-th of k functions; a slice gives several."""
        if self.weights.ndim == 1:
            raise TypeError(
                "this is a single function: only functions with weights (n, k) can be indexed"
            )
        return replace(self, weights=self.weights[:, j])

    # ---- geometry ---------------------------------------------------------------------

    def inner(self, other: Function) -> Any:
        """Inner product <f, g> = w'Kv: a number, or an array (k,), (l,) or (k, l) for several functions."""
        validate.instance("other", other, Function, "a Function")
        other = self._matched(other)
        product = astype(self._gram(other) @ other.weights, double(self.weights))
        weights = astype(self.weights, double(self.weights))
        if self.weights.ndim == 2:
            weights = namespace(weights).permute_dims(weights, (1, 0))
        value = weights @ product
        return scalar(value) if value.ndim == 0 else value

    def norm2(self) -> Any:
        """Squared norm |f|^2 = w'Kw, never negative: a number, or an array (k,) for k functions."""
        value = self._gram(self).quad(self.weights)
        if self.weights.ndim == 2:
            return namespace(value).clip(value, 0.0, None)
        return max(scalar(value), 0.0)

    def norm(self) -> Any:
        """Norm |f|: a number, or an array (k,) for k functions."""
        value = self.norm2()
        return namespace(value).sqrt(value) if self.weights.ndim == 2 else sqrt(value)

    # ---- algebra ----------------------------------------------------------------------

    def __add__(self, other: Any) -> Function:
        if isinstance(other, Real) and other == 0:
            return self  # so that sum([f, g]) works
        if not isinstance(other, Function):
            return NotImplemented
        other = self._matched(other)
        mine, theirs = self.weights.shape[1:], other.weights.shape[1:]
        if mine != theirs:
            raise ValueError(
                f"sums need the same number of functions on both sides, got weights of shapes "
                f"{tuple(self.weights.shape)} and {tuple(other.weights.shape)}"
            )
        if other.points is self.points:
            return replace(self, weights=self.weights + other.weights)
        xp = namespace(self.weights, other.weights)
        weights = xp.concat([self.weights, other.weights])
        return replace(self, points=joined(self.points, other.points), weights=weights)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Function:
        if isinstance(factor, Function):
            raise TypeError(
                "a product of two functions is not in this RKHS; for <f, g> use f.inner(g)"
            )
        if not isinstance(factor, Real):
            return NotImplemented
        validate.number("a factor", factor)
        return replace(self, weights=self.weights * float(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Function:
        if not isinstance(divisor, Real):
            return NotImplemented
        if divisor == 0:
            raise ValueError(
                "a function cannot be divided by zero: the divisor must be another number"
            )
        return self * (1 / float(divisor))

    def __neg__(self) -> Function:
        return self * -1.0

    def __sub__(self, other: Any) -> Function:
        return self + -other if isinstance(other, Function | Real) else NotImplemented

    # ---- plotting ---------------------------------------------------------------------

    def plot(self, ax: Any = None) -> Any:
        """Plot the function, as a line on R or as a map on R^2; returns the Axes."""
        # mercer.plot is a higher layer with an optional dependency, so it is imported by name on demand.
        return importlib.import_module("mercer.plot").plot_function(self, ax=ax)

    # ---- private ----------------------------------------------------------------------

    @property
    def _bound(self) -> Kernel:
        return bound_to(self.kernel, self.columns)

    def _gram(self, other: Function) -> Gram:
        return Gram(self._bound, self.points, None if other.points is self.points else other.points)

    def _matched(self, other: Function) -> Function:
        """`other` with its columns in the order of this function's; both must have the same kernel."""
        if self.kernel != other.kernel:
            raise ValueError(
                f"both functions must have the same kernel, got {self.kernel!r} "
                f"and {other.kernel!r}"
            )
        if self.columns is None or other.columns is None or self.columns == other.columns:
            return other
        if len(self.columns.names) == len(other.columns.names) == 1:
            return other  # one column needs no name
        if set(self.columns.names) != set(other.columns.names):
            only = set(self.columns.names) ^ set(other.columns.names)
            raise ValueError(f"both functions need the same columns; only one has {sorted(only)}")
        order = [other.columns.index(name) for name in self.columns.names]
        return replace(other, points=other.points[:, order], columns=other.columns.take(order))
