"""Kernels given by functions of users, such as the kernels of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, detached, is_array, is_numpy, namespace, transposed
from mercer.kernels.base import Kernel, Points
from mercer.kernels.objects import ItemwiseKernel, listed

_TRIED_POINTS = 8  # on which a function is tried before it is used
_PAIRED_BLOCK = 16  # rows whose matrix is computed for its diagonal: few calls, little waste
_ROUNDING = 1e-6  # asymmetry that is taken for rounding, relative to the largest value


@dataclass(frozen=True)
class FromCallable(Kernel):
    """k(x_i, y_j) = function(x, y)[i, j] for a function of two arrays (n, d) and (m, d).

    The kernels of ``sklearn.gaussian_process.kernels`` and the functions of ``sklearn.metrics.pairwise`` are such
    functions. Whether it is positive semi-definite is left to its author; its symmetry is tried on a few
    points. The function is given tiles, of arrays of the library that the data came in, and must return
    an array of it. A function of two single points is wrapped by `FromPairs`.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> k = FromCallable(lambda x, y: np.exp(-np.abs(x - y.T)))
    >>> k([0.0, 1.0]).round(2)
    array([[1.  , 0.37],
           [0.37, 1.  ]])
    >>> from sklearn.gaussian_process import kernels
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> bool(np.allclose(FromCallable(kernels.RBF(2.0))(x), RBF(2.0)(x)))
    True
    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        _require_function(self.function, "two arrays (n, d) and (m, d)")

    def accept(self, x: Any, name: str = "x") -> Points:
        points = validate.points(x, name)
        some = points[: min(_TRIED_POINTS, points.shape[0]), :]
        with np.errstate(all="ignore"):  # values that are not finite are refused later, by name
            _require_symmetric(detached(self.pairwise(some, some)), self.function)
        return points

    def pairwise(self, x: Points, y: Points, /) -> Array:
        values = self.function(x, y)
        shape = (x.shape[0], y.shape[0])
        if not is_array(values) or is_numpy(values) != is_numpy(x) or tuple(values.shape) != shape:
            raise TypeError(
                f"function must return an array {shape} for arrays {tuple(x.shape)} and {tuple(y.shape)}, "
                f"of the same library, got {validate.shown(values)}: for a function of two points "
                "use FromPairs(function)"
            )
        return values

    def paired(self, x: Points, y: Points, /) -> Array:
        xp = namespace(x, y)
        n = x.shape[0]
        rows = [slice(i, min(i + _PAIRED_BLOCK, n)) for i in range(0, n, _PAIRED_BLOCK)]
        blocks = [self.pairwise(x[r, :], y[r, :]) for r in rows]
        return xp.concat([xp.linalg.diagonal(block) for block in blocks])


@dataclass(frozen=True)
class FromPairs(ItemwiseKernel):
    """k(x, y) = function(x, y) for a function of two points, which may be rows of numbers or any objects.

    Every value is a call of Python, about a microsecond or more: for arrays of numbers a function of whole arrays,
    wrapped by `FromCallable`, is much faster. Whether the function is positive semi-definite is left to its author; it
    must be symmetric, and only one of k(x, y) and k(y, x) is computed in a matrix of the same points.

    Examples
    --------
    >>> k = FromPairs(lambda a, b: len(set(a) & set(b)))  # letters in common
    >>> k(["mercer", "kernel"])
    array([[4., 2.],
           [2., 5.]])
    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        _require_function(self.function, "two points")

    def items(self, x: Any, name: str, /) -> list[Any]:
        items = list(x) if is_numpy(x) and x.ndim > 1 else listed(x, name, "objects")
        some = items[:_TRIED_POINTS]
        try:
            values = np.array([[self.value(a, b) for b in some] for a in some], dtype=np.float64)
        except Exception as error:  # whatever the function of the user raises
            raise TypeError(
                f"{name} must hold points of which function gives a number, but it raised {error!r}: "
                "for a function of two arrays use FromCallable(function)"
            ) from error
        if some:
            _require_symmetric(values, self.function)
        return items

    def view(self, items: list[Any], /) -> list[Any]:
        return items

    def value(self, a: Any, b: Any, /) -> float:
        return float(self.function(a, b))


def _require_function(function: Any, arguments: str) -> None:
    if isinstance(function, type) or not callable(function):
        raise TypeError(
            f"function must be a function of {arguments}, got {validate.shown(function)}"
        )


def _require_symmetric(values: Any, function: Any) -> None:
    xp = namespace(values)
    gap = float(xp.max(xp.abs(values - transposed(values))))
    if gap > _ROUNDING * float(xp.max(xp.abs(values))):
        raise ValueError(
            f"function must be symmetric, function(x, y) = function(y, x), but {function!r} differs by "
            f"{gap:.3g} on the first points"
        )
