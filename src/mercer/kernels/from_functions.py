"""Kernels given by functions of users, such as the kernels of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, detached, is_array, is_numpy, is_symbolic, namespace, transposed
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
        if is_symbolic(x):
            raise TypeError("a function of two arrays gives all pairs, not k(x, x) alone")
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


@dataclass(frozen=True)
class DistanceInduced(ItemwiseKernel):
    """k(x, y) = (d(x, o) + d(y, o) - d(x, y)) / 2, the kernel that a semimetric d of any points induces.

    It is positive definite if, and only if, d is of negative type: distances of Hilbert spaces and their powers up to
    2, geodesic distances of spheres and trees, the edit distances of some spaces but not of all
    (`is_positive_definite` tries it on points). HSIC with two such kernels is a quarter of the squared distance
    covariance in metric spaces, and MMD^2 half of the energy distance, whatever the origin o; the test is
    consistent where d is of strong negative type (Lyons 2013; Sejdinovic et al. 2013).

    Parameters
    ----------
    distance : callable
        d(a, b) of two points, symmetric, 0 for equal ones.
    origin : point
        o; arrays are kept as tuples. Statistics of centred matrices do not depend on it.

    Examples
    --------
    >>> hamming = lambda a, b: sum(s != t for s, t in zip(a, b, strict=True))
    >>> k = DistanceInduced(hamming, "AAA")
    >>> k(["AAA", "AAC", "GGC"])
    array([[0., 0., 0.],
           [0., 1., 1.],
           [0., 1., 3.]])
    """

    distance: Callable[[Any, Any], Any]
    origin: Any

    def __post_init__(self) -> None:
        _require_function(self.distance, "two points")
        if is_numpy(self.origin):
            object.__setattr__(self, "origin", tuple(self.origin.tolist()))  # which can be compared

    def items(self, x: Any, name: str, /) -> list[Any]:
        items = list(x) if is_numpy(x) and x.ndim > 1 else listed(x, name, "objects")
        some = items[:_TRIED_POINTS]
        try:
            values = np.array([[float(self.distance(a, b)) for b in some] for a in some])
            origin = [float(self.distance(a, self.origin)) for a in some]
        except Exception as error:  # whatever the function of the user raises
            raise TypeError(
                f"{name} must hold points of which distance gives a number, also to the origin, but it raised {error!r}"
            ) from error
        if some:
            _require_symmetric(values, self.distance)
            _require_semimetric(values, np.array(origin), name)
        return items

    def view(self, items: list[Any], /) -> list[tuple[Any, float]]:
        """Every point with its distance to the origin."""
        return [(item, float(self.distance(item, self.origin))) for item in items]

    def value(self, a: tuple[Any, float], b: tuple[Any, float], /) -> float:
        return (a[1] + b[1] - float(self.distance(a[0], b[0]))) / 2


def _require_semimetric(values: np.ndarray, origin: np.ndarray, name: str) -> None:
    rounding = _ROUNDING * float(np.max(np.abs(values)))
    if (
        np.any(np.abs(np.diagonal(values)) > rounding)
        or min(values.min(), origin.min()) < -rounding
    ):
        raise ValueError(
            f"{name} must hold points whose distance is 0 where they are equal and never negative, but distance is "
            "not so on the first of them"
        )


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
