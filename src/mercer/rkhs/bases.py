"""Orthonormal bases of L2 on intervals, and their tensor products on boxes."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, namespace, ones, scalar
from mercer.kernels.base import Points
from mercer.rkhs.quadrature import Quadrature, interval


class Basis(ABC):
    """Orthonormal basis b_0, b_1, ... of L2 on a box: the integral of b_i b_j is 1 if i = j, else 0.

    `basis(x, n)` is the array (len(x), n) of the first n functions at the points x.
    """

    @property
    @abstractmethod
    def box(self) -> tuple[tuple[float, float], ...]:
        """Interval of each coordinate."""

    @abstractmethod
    def evaluate(self, x: Points, n: int, /) -> Array:
        """Values of b_0 ... b_{n-1} at checked points (m, d): (m, n)."""

    @abstractmethod
    def frequencies(self, n: int) -> np.ndarray:
        """Frequencies of b_0 ... b_{n-1}, 0 for the constant and non-decreasing: (n,)."""

    @abstractmethod
    def quadrature(self, n: int) -> Quadrature:
        """Rule that integrates products of two of the first n functions up to rounding error."""

    def __call__(self, x: Points, n: int) -> Array:
        validate.whole("n", n)
        x = validate.points(x)
        if x.shape[1] != len(self.box):
            raise ValueError(
                f"x must have {len(self.box)} columns for this basis, got {x.shape[1]}"
            )
        xp = namespace(x)
        for column, (a, b) in enumerate(self.box):
            low, high = scalar(xp.min(x[:, column])), scalar(xp.max(x[:, column]))
            if low < a or high > b:
                raise ValueError(
                    f"x must lie in [{a:g}, {b:g}], got values from {low:g} to {high:g}: "
                    "construct the basis on the interval of the data"
                )
        return self.evaluate(x, n)


class IntervalBasis(Basis):
    """Basis of L2[a, b] rescaled from one of L2[0, 1], whose formula is `unit`."""

    a: float
    b: float

    def __post_init__(self) -> None:
        interval(self.a, self.b)

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        return ((self.a, self.b),)

    @property
    def length(self) -> float:
        """Length b - a of the interval."""
        return self.b - self.a

    @abstractmethod
    def unit(self, t: Array, n: int) -> list[Array]:
        """First n functions of the basis of L2[0, 1] at t in [0, 1]: n arrays (m,)."""

    def evaluate(self, x: Points, n: int, /) -> Array:
        xp = namespace(x)
        t = xp.clip((x[:, 0] - self.a) / self.length, 0.0, 1.0)
        return xp.stack(self.unit(t, n), axis=1) / sqrt(self.length)


@dataclass(frozen=True)
class FourierBasis(IntervalBasis):
    """Fourier basis 1, sqrt2 cos(2 pi t), sqrt2 sin(2 pi t), sqrt2 cos(4 pi t), ...; t = (x - a) / (b - a).

    The smoother a periodic function, the faster its n-term error decreases. A function that is not
    periodic has a jump at the ends, and an error of order n^(-1/2).

    Examples
    --------
    >>> FourierBasis()([0.0, 0.25], 3).round(6)
    array([[1.      , 1.414214, 0.      ],
           [1.      , 0.      , 1.414214]])
    """

    a: float = 0.0
    b: float = 1.0

    def unit(self, t: Array, n: int) -> list[Array]:
        xp = namespace(t)
        functions = [ones(t.shape, t)]
        for k in range(1, n // 2 + 1):
            angle = 2 * pi * k * t
            functions += [sqrt(2) * xp.cos(angle), sqrt(2) * xp.sin(angle)]
        return functions[:n]

    def frequencies(self, n: int) -> np.ndarray:
        """Frequencies 2 pi ceil(j / 2) / (b - a), whose squares are the eigenvalues of -f''."""
        return 2 * pi / self.length * ((np.arange(n) + 1) // 2).astype(np.float64)

    def quadrature(self, n: int) -> Quadrature:
        return Quadrature.legendre(self.a, self.b, 16, panels=n)


@dataclass(frozen=True)
class CosineBasis(IntervalBasis):
    """Cosine basis 1, sqrt2 cos(pi t), sqrt2 cos(2 pi t), ...; t = (x - a) / (b - a).

    Does not assume periodicity: a smooth function has an n-term error of order n^(-3/2), and a smaller
    one if its odd derivatives vanish at the ends.

    Examples
    --------
    >>> CosineBasis()([0.0, 1.0], 3)
    array([[ 1.        ,  1.41421356,  1.41421356],
           [ 1.        , -1.41421356,  1.41421356]])
    """

    a: float = 0.0
    b: float = 1.0

    def unit(self, t: Array, n: int) -> list[Array]:
        xp = namespace(t)
        return [ones(t.shape, t)] + [sqrt(2) * xp.cos(pi * j * t) for j in range(1, n)]

    def frequencies(self, n: int) -> np.ndarray:
        """Frequencies pi j / (b - a), whose squares are the eigenvalues of -f'' with f' = 0 at the ends."""
        return pi / self.length * np.arange(n, dtype=np.float64)

    def quadrature(self, n: int) -> Quadrature:
        return Quadrature.legendre(self.a, self.b, 16, panels=n)


@dataclass(frozen=True)
class LegendreBasis(IntervalBasis):
    """Legendre basis sqrt(2j + 1) P_j(2t - 1), the orthonormal polynomials; t = (x - a) / (b - a).

    Spectral convergence for smooth functions, periodic or not.

    Examples
    --------
    >>> LegendreBasis(-1, 1)([-1.0, 0.0, 1.0], 2)
    array([[ 0.70710678, -1.22474487],
           [ 0.70710678,  0.        ],
           [ 0.70710678,  1.22474487]])
    """

    a: float = 0.0
    b: float = 1.0

    def unit(self, t: Array, n: int) -> list[Array]:
        z = 2 * t - 1
        p = [ones(t.shape, t), z]
        for j in range(1, n - 1):  # (j + 1) P_{j+1} = (2j + 1) z P_j - j P_{j-1}
            p.append(((2 * j + 1) * z * p[j] - j * p[j - 1]) / (j + 1))
        return [sqrt(2 * j + 1) * p[j] for j in range(n)]

    def frequencies(self, n: int) -> np.ndarray:
        """Frequencies sqrt(j (j + 1)), whose squares are the eigenvalues of -((x - a)(b - x) f')'."""
        j = np.arange(n, dtype=np.float64)
        return np.sqrt(j * (j + 1))

    def quadrature(self, n: int) -> Quadrature:
        return Quadrature.legendre(self.a, self.b, 2 * n + 32)


@dataclass(frozen=True)
class HaarBasis(IntervalBasis):
    """Haar basis: 1, then 2^(l/2) psi(2^l t - k) as function 2^l + k, for l = 0, 1, ... and k < 2^l.

    psi is 1 on [0, 1/2), -1 on [1/2, 1) and 0 elsewhere; t = (x - a) / (b - a). Pieces are closed at
    the left; the last one of each level includes b. Suited to functions with jumps, which have few
    large coefficients, by best n-term approximation.

    Examples
    --------
    >>> HaarBasis()([0.1, 0.3, 0.6], 4)
    array([[ 1.        ,  1.        ,  1.41421356,  0.        ],
           [ 1.        ,  1.        , -1.41421356,  0.        ],
           [ 1.        , -1.        ,  0.        ,  1.41421356]])
    """

    a: float = 0.0
    b: float = 1.0

    def unit(self, t: Array, n: int) -> list[Array]:
        xp = namespace(t)
        functions = [ones(t.shape, t)]
        for place in range(1, n):
            level = place.bit_length() - 1
            pieces = 2 ** (level + 1)  # half-pieces of the level
            half = xp.clip(xp.floor(t * pieces), 0, pieces - 1) - 2 * (place - 2**level)
            up, down = xp.astype(half == 0, t.dtype), xp.astype(half == 1, t.dtype)
            functions.append(2 ** (level / 2) * (up - down))
        return functions

    def frequencies(self, n: int) -> np.ndarray:
        """Frequencies 2^l / (b - a) at level l, 0 for the constant."""
        levels = [2.0 ** (j.bit_length() - 1) if j else 0.0 for j in range(n)]
        return np.array(levels, dtype=np.float64) / self.length

    def quadrature(self, n: int) -> Quadrature:
        return Quadrature.legendre(self.a, self.b, 8, panels=2 ** int(n).bit_length())


@dataclass(frozen=True, init=False)
class TensorBasis(Basis):
    """Tensor product basis b_i(x_1) b_j(x_2) ... of bases of intervals, on the box of these.

    Functions are ordered by |frequency|^2, ties by the order of their factors, so the first n of them
    fill a ball of frequencies and no direction is preferred. `indices(n)` are the factors.

    Examples
    --------
    >>> basis = TensorBasis(CosineBasis(), CosineBasis())
    >>> basis.indices(4).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> basis([[0.0, 0.0]], 4)
    array([[1.        , 1.41421356, 1.41421356, 2.        ]])
    """

    bases: tuple[Basis, ...]

    def __init__(self, *bases: Basis) -> None:
        if not bases:
            raise ValueError("TensorBasis needs at least one basis")
        for i, basis in enumerate(bases):
            validate.instance(f"bases[{i}]", basis, Basis, "a basis, such as FourierBasis()")
        object.__setattr__(self, "bases", bases)

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        return tuple(side for basis in self.bases for side in basis.box)

    def indices(self, n: int) -> np.ndarray:
        """Index of the function of each factor in the first n products: (n, number of bases)."""
        validate.whole("n", n)
        squares = [basis.frequencies(n + 1) ** 2 for basis in self.bases]
        start = (0,) * len(self.bases)
        heap: list[tuple[float, tuple[int, ...]]] = [(0.0, start)]
        seen: set[tuple[int, ...]] = {start}
        ordered: list[tuple[int, ...]] = []
        while len(ordered) < n:  # best-first search from (0, ..., 0)
            index = heapq.heappop(heap)[1]
            ordered.append(index)
            for k in range(len(index)):
                after = (*index[:k], index[k] + 1, *index[k + 1 :])
                if after not in seen:
                    seen.add(after)
                    norm2 = sum(s[i] for s, i in zip(squares, after, strict=True))
                    heapq.heappush(
                        heap, (float(f"{norm2:.12g}"), after)
                    )  # rounded, so that ties are exact
        return np.array(ordered, dtype=np.int64)

    def frequencies(self, n: int) -> np.ndarray:
        """Euclidean norms of the frequencies of the factors: (n,)."""
        parts = zip(self.bases, self.indices(n).T, strict=True)
        return np.sqrt(sum(basis.frequencies(n)[places] ** 2 for basis, places in parts))

    def evaluate(self, x: Points, n: int, /) -> Array:
        indices = self.indices(n)
        xp, start = namespace(x), 0
        product = ones((x.shape[0], n), x)
        for basis, places in zip(self.bases, indices.T, strict=True):
            width = len(basis.box)
            values = basis.evaluate(x[:, start : start + width], int(places.max()) + 1)
            product = product * xp.take(values, array_like(places, x, dtype=xp.int64), axis=1)
            start += width
        return product

    def quadrature(self, n: int) -> Quadrature:
        sizes = self.indices(n).max(axis=0) + 1
        rules = [b.quadrature(int(size)) for b, size in zip(self.bases, sizes, strict=True)]
        return Quadrature.tensor(*rules)
