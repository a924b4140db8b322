"""Kernels of the dot product <x, y>: linear, polynomial, Taylor series, and neural ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import pi
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, eps, namespace, ones, root, scalar, to_numpy
from mercer.kernels.base import DotProduct, Kernel, Points
from mercer.kernels.metric import squared_distances, squared_norms

Metric = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Linear(DotProduct):
    """<x, y>, or x'Ay with a symmetric positive semi-definite matrix A, the metric.

    Its embedding of a distribution is the mean: not characteristic, unbounded.
    """

    metric: Metric | None = None

    def __post_init__(self) -> None:
        if self.metric is not None:
            object.__setattr__(self, "metric", _metric(self.metric))

    def profile(self, dot: Array, /) -> Array:
        return dot

    def embed(self, x: Points, /) -> Any:
        return x if self.metric is None else x @ array_like(_factor(self.metric), x)

    @property
    def finite_diagonal(self) -> bool:
        return self.metric is None

    def accept(self, x: Any, name: str = "x") -> Points:
        x = validate.points(x, name)
        if self.metric is None:
            return x
        if x.shape[1] != len(self.metric):
            raise ValueError(
                f"metric must have one row per column of {name}: "
                f"got {len(self.metric)} rows for {x.shape[1]} columns"
            )
        return super().accept(x, name)

    def on(self, inner: Kernel) -> Kernel:
        """`inner` itself: the dot product of its features."""
        validate.instance("inner", inner, Kernel, "a kernel, such as MeanMap(RBF(1.0))")
        return super().on(inner) if self.metric is not None else inner


@dataclass(frozen=True)
class Polynomial(DotProduct):
    """(<x, y> + c)^d with degree d, offset c >= 0: the monomials of degree d, or up to d if c > 0.

    Its embedding of a distribution is the moments up to order d: not characteristic, unbounded.
    """

    degree: int = 3
    offset: float = 1.0

    def __post_init__(self) -> None:
        validate.whole("degree", self.degree)
        validate.non_negative("offset", self.offset)

    def profile(self, dot: Array, /) -> Array:
        return (dot + self.offset) ** self.degree

    def on(self, inner: Kernel) -> Kernel:
        """(k(x, y) + c)^d with k = `inner`: a power of a sum, ``(inner + c) ** d``."""
        validate.instance("inner", inner, Kernel, "a kernel, such as MeanMap(RBF(1.0))")
        return (inner + self.offset if self.offset else inner) ** self.degree


@dataclass(frozen=True)
class ExponentialDot(DotProduct):
    """exp(a <x, y>) with scale a > 0: the Taylor kernel of the coefficients a^n / n!.

    All coefficients are positive, so it is universal and characteristic on every compact set
    (Steinwart 2001); normalized it is RBF(1 / sqrt(a)).
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("scale", self.scale)

    def profile(self, dot: Array, /) -> Array:
        return namespace(dot).exp(self.scale * dot)

    def on(self, inner: Kernel) -> Kernel:
        """exp(a k(x, y)) with k = `inner`: ``inner.exp(a)``."""
        validate.instance("inner", inner, Kernel, "a kernel, such as MeanMap(RBF(1.0))")
        return inner.exp(self.scale)


@dataclass(frozen=True)
class Taylor(DotProduct):
    """sum_n a_n <x, y>^n with the coefficients a_0, a_1, ... >= 0: a Taylor kernel given by its coefficients.

    Kernels of infinite series that are universal on compact sets, all a_n > 0, have names here: `ExponentialDot`,
    a_n = a^n / n!, and `Binomial`. A finite series has finitely many features: the embedding of a
    distribution consists of its moments of the orders n with a_n > 0.

    Examples
    --------
    >>> Taylor((0.0, 1.0, 0.5))([1.0, 2.0])  # xy + (xy)^2 / 2
    array([[ 1.5,  4. ],
           [ 4. , 12. ]])
    """

    coefficients: tuple[float, ...] = (1.0, 1.0)

    def __post_init__(self) -> None:
        values = np.asarray(self.coefficients, dtype=np.float64)
        if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
            raise ValueError(
                f"coefficients must be a sequence of finite numbers, got {self.coefficients!r}"
            )
        if values.min() < 0:
            raise ValueError(
                f"coefficients must not be negative, got {values.min():g} for n = {int(values.argmin())}: the kernel "
                "would not be positive definite in all dimensions"
            )
        object.__setattr__(self, "coefficients", tuple(values.tolist()))

    def profile(self, dot: Array, /) -> Array:
        value = 0 * dot + self.coefficients[-1]
        for coefficient in self.coefficients[-2::-1]:  # Horner's rule
            value = value * dot + coefficient
        return value


@dataclass(frozen=True)
class Binomial(DotProduct):
    """(1 - <x, y>)^-a on the open unit ball |x| < 1, with exponent a > 0.

    The Taylor kernel of the coefficients binom(-a, n) (-1)^n > 0: universal and characteristic on
    every compact subset of the ball.
    """

    exponent: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("exponent", self.exponent)

    def profile(self, dot: Array, /) -> Array:
        return (1 - dot) ** -self.exponent

    def accept(self, x: Any, name: str = "x") -> Points:
        x = validate.points(x, name)
        longest = scalar(namespace(x).max(squared_norms(x)))
        if not longest < 1 - 4 * (1 + x.shape[1]) * eps(x):  # so that 1 - <x, y> > 0 as computed
            raise ValueError(
                f"{name} must lie inside the unit ball, got points as long as {longest**0.5:g}: "
                "divide the data by a constant first"
            )
        return super().accept(x, name)


@dataclass(frozen=True)
class Sigmoid(DotProduct):
    """tanh(a <x, y> + b) with scale a and offset b: **not** positive definite.

    It has no feature map, so no embedding, no MMD and no reproducing space; it is here because
    support vector machines of the nineties used it. `ArcCosine` is the neural kernel that is one.
    """

    scale: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        validate.positive("scale", self.scale)
        validate.number("offset", self.offset)

    def profile(self, dot: Array, /) -> Array:
        return namespace(dot).tanh(self.scale * dot + self.offset)


@dataclass(frozen=True)
class ArcCosine(Kernel):
    """|x|^n |y|^n J_n(t) / pi with t the angle between x and y and n the degree, 0, 1 or 2.

    The infinitely wide layer of units max(0, <w, x>)^n with Gaussian weights (Cho & Saul 2009,
    eq. 3-7): J_0 = pi - t, J_1 = sin t + (pi - t) cos t, J_2 = 3 sin t cos t +
    (pi - t)(1 + 2 cos^2 t). The zero vector is taken as orthogonal to all others.
    """

    degree: int = 1

    def __post_init__(self) -> None:
        validate.whole("degree", self.degree, 0)
        if self.degree > 2:
            raise ValueError(f"degree must be 0, 1 or 2, got {self.degree!r}")

    def accept(self, x: Any, name: str = "x") -> Points:
        x = validate.points(x, name)
        validate.representable(lambda norms2: 3 * norms2**self.degree, squared_norms(x), name)
        return x

    def pairwise(self, x: Points, y: Points, /) -> Array:
        u, long = _direction(x)
        v, wide = (u, long) if y is x else _direction(y)
        angle = _angle(squared_distances(u, v), squared_distances(u, -v))
        return self._arc(angle) * (long**self.degree)[:, None] * (wide**self.degree)[None, :]

    def paired(self, x: Points, y: Points, /) -> Array:
        (u, long), (v, wide) = _direction(x), _direction(y)
        angle = _angle(squared_norms(u - v), squared_norms(u + v))
        return self._arc(angle) * (long * wide) ** self.degree

    def _arc(self, t: Array) -> Array:
        """J_n(t) / pi."""
        xp = namespace(t)
        if self.degree == 0:
            return 1 - t / pi
        sin, cos = xp.sin(t), xp.cos(t)
        if self.degree == 1:
            return (sin + (pi - t) * cos) / pi
        return (3 * sin * cos + (pi - t) * (1 + 2 * cos**2)) / pi


def _direction(x: Array) -> tuple[Array, Array]:
    """Unit vectors (n, d), 0 for 0, and lengths (n,)."""
    length = root(squared_norms(x))
    safe = namespace(x).where(length > 0, length, ones((), x))
    return x / safe[:, None], length


def _angle(apart2: Array, sum2: Array) -> Array:
    """The angle of unit vectors from |u - v|^2 and |u + v|^2: unlike arccos exact near 0 and pi."""
    return 2 * namespace(apart2).atan2(root(apart2), root(sum2))


def _metric(metric: Sequence[Sequence[float]] | np.ndarray) -> Metric:
    """The matrix as nested tuples, or an error that says why it is no metric."""
    matrix = validate.finite(validate.matrix(validate.real(metric, "metric"), "metric"), "metric")
    matrix = to_numpy(matrix).astype(np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"metric must be a square matrix, got shape {matrix.shape}")
    size = float(np.max(np.abs(matrix)))
    if np.max(np.abs(matrix - matrix.T)) > 1e-10 * size:
        raise ValueError("metric must be symmetric: use (A + A.T) / 2")
    least = float(linalg.eigvalsh(matrix)[0])
    if least < -1e-10 * size:
        raise ValueError(
            f"metric must be positive semi-definite, got an eigenvalue {least:g}: "
            "x'Ax is a squared norm and never negative"
        )
    return tuple(tuple(float(v) for v in row) for row in matrix)


@lru_cache(maxsize=32)
def _factor(metric: Metric) -> np.ndarray:
    """L with LL' = metric."""
    values, vectors = linalg.eigh(np.asarray(metric, dtype=np.float64))
    return vectors * np.sqrt(np.clip(values, 0, None))
