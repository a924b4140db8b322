"""Kernels on fuzzy sets, whose elements belong to them by degrees between 0 and 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, count, to_numpy
from mercer.kernels.base import Kernel, Points, require_kernels
from mercer.kernels.feature_counts import FeatureTable, feature_table, label_codes
from mercer.kernels.objects import ItemwiseKernel, ObjectKernel, listed
from mercer.kernels.sets.common_elements import check_element
from mercer.kernels.sets.element_pairs import Convolution, PointSets, elements_of
from mercer.kernels.take import Rows

_MAX_NUMBERS = 2**22  # of degrees compared at a time: 32 MiB


class TNorm(ABC):
    """Triangular norm T: the degree to which an element belongs to the intersection of two fuzzy sets."""

    @abstractmethod
    def value(self, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        """T of degrees in [0, 1], elementwise."""


@dataclass(frozen=True)
class MinimumNorm(TNorm):
    """T(a, b) = min(a, b), Zadeh's intersection."""

    def value(self, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return np.minimum(a, b)


@dataclass(frozen=True)
class ProductNorm(TNorm):
    """T(a, b) = a b."""

    def value(self, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return a * b


class _OfFuzzySets(ObjectKernel):
    """A kernel from the degrees of the elements of two fuzzy sets, given as mappings from elements to degrees."""

    norm: TNorm
    domain = "fuzzy sets"
    expensive = True

    @abstractmethod
    def reduced(self, degrees: np.ndarray, /) -> np.ndarray:
        """The value from the degrees of all elements in the intersection, along the last axis."""

    def __post_init__(self) -> None:
        validate.instance("norm", self.norm, TNorm, "MinimumNorm() or ProductNorm()")

    def items(self, x: Any, name: str, /) -> list[dict[Any, float]]:
        return [_fuzzy_set(item, i, name) for i, item in enumerate(listed(x, name, "fuzzy sets"))]

    def view(self, items: list[dict[Any, float]], /) -> FeatureTable:
        rows = np.repeat(np.arange(len(items)), [len(s) for s in items])
        elements = [e for item in items for e in item]
        degrees = np.array([d for item in items for d in item.values()], dtype=np.float64)
        return feature_table(rows, label_codes(elements), degrees, len(items))

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left, right = (t.counts.toarray() for t in self.viewed(x).aligned(self.viewed(y)))
        out = np.empty((len(left), len(right)), dtype=np.float64)
        many = max(_MAX_NUMBERS // max(right.size, 1), 1)
        for start in range(0, len(left), many):
            block = left[start : start + many]
            out[start : start + many] = self.reduced(self.norm.value(block[:, None], right[None]))
        return out

    def paired(self, x: Points, y: Points, /) -> Array:
        left, right = (t.counts.toarray() for t in self.viewed(x).aligned(self.viewed(y)))
        return self.reduced(self.norm.value(left, right))


@dataclass(frozen=True)
class FuzzyIntersection(_OfFuzzySets):
    """Size of the intersection of fuzzy sets: the sum over elements e of T(X(e), Y(e)).

    Fuzzy sets are mappings from elements (numbers, text or tuples) to degrees in [0, 1]; elements that are left
    out have the degree 0. With degrees of 1 only, this is `SetIntersection`. Both norms make it positive definite.

    References
    ----------
    J. Guevara, R. Hirata, S. Canu (2017). Cross product kernels for fuzzy set similarity. FUZZ-IEEE.

    Examples
    --------
    >>> FuzzyIntersection()([{"warm": 0.8, "hot": 0.3}, {"warm": 0.5}])
    array([[1.1, 0.5],
           [0.5, 0.5]])
    """

    norm: TNorm = MinimumNorm()

    def reduced(self, degrees: np.ndarray, /) -> np.ndarray:
        return degrees.sum(axis=-1)


@dataclass(frozen=True)
class Nonsingleton(_OfFuzzySets):
    """Height of the intersection of fuzzy sets: the largest T(X(e), Y(e)) over elements e.

    This is the degree to which a non-singleton input of a fuzzy system fires a rule. It is not positive definite:
    with the sets {a}, {b} and {a, b} it has the determinant -1. Fuzzy sets are as for `FuzzyIntersection`.

    References
    ----------
    J. Guevara, R. Hirata, S. Canu (2014). Positive definite kernel functions on fuzzy sets. FUZZ-IEEE.

    Examples
    --------
    >>> Nonsingleton()([{"warm": 0.8, "hot": 0.3}, {"warm": 0.5}])
    array([[0.8, 0.5],
           [0.5, 0.5]])
    """

    norm: TNorm = MinimumNorm()

    def reduced(self, degrees: np.ndarray, /) -> np.ndarray:
        return degrees.max(axis=-1, initial=0.0)


@dataclass(frozen=True)
class GaussianNonsingleton(ItemwiseKernel):
    """Height of the product of Gaussian membership functions: exp(-sum_j (m_j - n_j)^2 / 2 (s_j^2 + t_j^2)).

    A point is a pair (centre, width) of vectors (d,): a fuzzy vector with the memberships
    exp(-(z_j - m_j)^2 / 2 s_j^2), whose widths are positive. Where all points have the same widths it is a Gaussian
    kernel; for different widths it is not positive definite.

    References
    ----------
    J. Guevara, R. Hirata, S. Canu (2013). Kernel functions in Takagi-Sugeno-Kang fuzzy system with nonsingleton
    fuzzy input. FUZZ-IEEE.

    Examples
    --------
    >>> GaussianNonsingleton()([([0.0], [1.0]), ([1.0], [1.0])]).round(3)
    array([[1.   , 0.779],
           [0.779, 1.   ]])
    """

    domain = "vectors with Gaussian membership functions"

    def items(self, x: Any, name: str, /) -> list[np.ndarray]:
        vectors = [
            _fuzzy_vector(v, i, name)
            for i, v in enumerate(listed(x, name, "pairs (centre, width)"))
        ]
        if len({v.shape for v in vectors}) > 1:
            raise ValueError(f"all fuzzy vectors of {name} must have the same dimension")
        return vectors

    def view(self, items: list[np.ndarray], /) -> np.ndarray:
        return np.stack(items).reshape(len(items), -1)

    def value(self, a: np.ndarray, b: np.ndarray, /) -> float:
        (m, s), (n, t) = a.reshape(2, -1), b.reshape(2, -1)
        return float(np.exp(-np.sum((m - n) ** 2 / (s**2 + t**2)) / 2))


@dataclass(frozen=True, eq=False)
class WeightedSets(Rows):
    """Sets of points, and the degree of each point."""

    sets: PointSets
    degrees: np.ndarray  # (N,)

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, rows: slice, /) -> WeightedSets:
        return self.taken(np.arange(len(self))[rows])

    def taken(self, rows: np.ndarray, /) -> WeightedSets:
        edges = self.sets.edges
        places = [np.arange(int(edges[i]), int(edges[i + 1])) for i in rows]
        order = np.concatenate(places) if places else np.empty(0, dtype=np.int64)
        return WeightedSets(self.sets.taken(rows), self.degrees[order])

    def joined(self, others: WeightedSets, /) -> WeightedSets:
        degrees = np.concatenate([self.degrees, others.degrees])
        return WeightedSets(self.sets.joined(others.sets), degrees)

    def aligned(self, others: WeightedSets, /) -> tuple[WeightedSets, WeightedSets]:
        a, b = self.sets.aligned(others.sets)
        return WeightedSets(a, self.degrees), WeightedSets(b, others.degrees)

    def widened(self) -> WeightedSets:
        return self


@dataclass(frozen=True)
class FuzzyCrossProduct(ObjectKernel):
    """Cross product kernel of fuzzy sets: the sum over elements a of X and b of Y of base(a, b) X(a) Y(b).

    Elements that are similar but not equal count too, unlike for `FuzzyIntersection`. A fuzzy set is a mapping
    from elements to degrees in [0, 1], or a pair (points, degrees) of an array (m, d), or a list of objects, and a
    vector (m,). The value with the empty set is 0. Positive definite where the base is.

    References
    ----------
    J. Guevara, R. Hirata, S. Canu (2017). Cross product kernels for fuzzy set similarity. FUZZ-IEEE.

    Examples
    --------
    >>> from mercer.kernels.radial import RBF
    >>> FuzzyCrossProduct(RBF(1.0))([{0.0: 1.0, 1.0: 0.5}, {0.0: 1.0}]).round(3)
    array([[1.857, 1.303],
           [1.303, 1.   ]])
    """

    base: Kernel
    domain = "fuzzy sets of points"
    expensive = True

    def __post_init__(self) -> None:
        require_kernels(base=self.base)

    def items(self, x: Any, name: str, /) -> list[tuple[Any, np.ndarray]]:
        return [_fuzzy_points(s, i, name) for i, s in enumerate(listed(x, name, "fuzzy sets"))]

    def view(self, items: list[tuple[Any, np.ndarray]], /) -> WeightedSets:
        sets = Convolution(self.base).view([points for points, _ in items])
        return WeightedSets(sets, np.concatenate([degrees for _, degrees in items]))

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        out = np.zeros((len(left), len(right)), dtype=np.float64)
        many = max(_MAX_NUMBERS // max(len(right.degrees) * _typical_size(left), 1), 1)
        for start in range(0, len(left), many):
            out[start : start + many] = self._sums(left[start : start + many], right)
        return (out + out.T) / 2 if y is x else out

    def paired(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        values = [self._sums(left[i : i + 1], right[i : i + 1])[0, 0] for i in range(len(left))]
        return np.array(values, dtype=np.float64)

    def _sums(self, a: WeightedSets, b: WeightedSets) -> np.ndarray:
        if not len(a.degrees) or not len(b.degrees):
            return np.zeros((len(a), len(b)), dtype=np.float64)
        values = to_numpy(self.base.pairwise(a.sets.points, b.sets.points))
        weighted = a.degrees[:, None] * values * b.degrees[None, :]
        return Convolution(self.base).reduced(weighted, a.sets.edges, b.sets.edges)


def _typical_size(sets: WeightedSets) -> int:
    return max(len(sets.degrees) // max(len(sets), 1), 1)


# ---- reading ------------------------------------------------------------------------------------


def _fuzzy_set(item: Any, i: int, name: str) -> dict[Any, float]:
    """One fuzzy set on elements that have codes."""
    if not isinstance(item, Mapping):
        raise TypeError(
            f"{name} must hold fuzzy sets, got {validate.shown(item)} at position {i}: use a mapping from elements "
            "to degrees, such as {'warm': 0.8}"
        )
    for element in item:
        check_element(element, i, name)
    degrees = _degrees(list(item.values()), i, name)
    return {e: float(d) for e, d in zip(item, degrees, strict=True) if d > 0}


def _fuzzy_points(item: Any, i: int, name: str) -> tuple[Any, np.ndarray]:
    """Points and degrees of one fuzzy set."""
    if isinstance(item, Mapping):
        item = list(item), list(item.values())
    if not isinstance(item, tuple) or len(item) != 2:
        raise TypeError(
            f"{name} must hold fuzzy sets, got {validate.shown(item)} at position {i}: use pairs (points, degrees), "
            "or mappings from elements to degrees"
        )
    points, degrees = elements_of(item[0], i, name), _degrees(item[1], i, name)
    if count(points) != len(degrees):
        raise ValueError(
            f"the fuzzy set at position {i} of {name} must have as many degrees as points, got {len(degrees)} and "
            f"{count(points)}"
        )
    return points, degrees


def _degrees(values: Any, i: int, name: str) -> np.ndarray:
    if isinstance(values, list | tuple) and not values:
        return np.empty(0, dtype=np.float64)
    degrees = to_numpy(validate.real(values, f"degrees of set {i} of {name}")).astype(np.float64)
    if degrees.ndim != 1 or not np.all((degrees >= 0) & (degrees <= 1)):
        raise ValueError(
            f"the fuzzy set at position {i} of {name} must have degrees between 0 and 1"
        )
    return degrees


def _fuzzy_vector(item: Any, i: int, name: str) -> np.ndarray:
    """Centre and width of one fuzzy vector: (2, d)."""
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise TypeError(
            f"{name} must hold pairs (centre, width), got {validate.shown(item)} at position {i}"
        )
    what = f"centre and width at position {i} of {name}"
    centre, width = (to_numpy(validate.points(np.atleast_1d(v), what)).astype(float) for v in item)
    if centre.shape != width.shape or centre.shape[1] > 1 or np.any(width <= 0):
        raise ValueError(f"the {what} must be vectors of one length, the width positive")
    return np.stack([centre.ravel(), width.ravel()])
