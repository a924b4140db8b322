"""Kernels on persistence diagrams: sums over pairs of points, sliced Wasserstein and Fisher distances."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import pi

import numpy as np

import mercer
from mercer import validate
from mercer.backend import Array
from mercer.kernels.base import Points
from mercer.kernels.diagrams.diagram_loops import (
    fisher_chords,
    fisher_compiled,
    pair_sums,
    row_blocks,
    sums_compiled,
)
from mercer.kernels.diagrams.diagram_points import DiagramKernel, sums_of_pairs
from mercer.kernels.diagrams.sliced_distance import mean_sliced_distance, sliced_distance
from mercer.kernels.sets.element_pairs import PointSets

_VALUES_AT_ONCE = 2**20  # pairs of points: 8 MiB


class _PairSum(DiagramKernel):
    """A sum over all pairs of points of two diagrams."""

    @abstractmethod
    def values(self, p: np.ndarray, q: np.ndarray, /) -> np.ndarray:
        """The terms of all pairs of points: (rows of p, rows of q)."""

    @abstractmethod
    def _compiled(self, x: PointSets, y: PointSets, /) -> np.ndarray:
        """The sums of all pairs of diagrams, by a compiled loop: (n, m)."""

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        right = left if y is x else self.viewed(y)
        if sums_compiled():
            return self._compiled(left, right)
        out = np.empty((len(left), len(right)), dtype=np.float64)

        def fill(rows: slice) -> None:
            block = left[rows]
            values = self.values(block.points, right.points)
            out[rows] = sums_of_pairs(values, block.edges, right.edges)

        mercer.gram.for_each(fill, row_blocks(left, len(right.points), _VALUES_AT_ONCE))
        return out

    def paired(self, x: Points, y: Points, /) -> Array:
        pairs = zip(_diagrams(self.viewed(x)), _diagrams(self.viewed(y)), strict=True)
        return np.array([float(self.values(p, q).sum()) for p, q in pairs], dtype=np.float64)


@dataclass(frozen=True)
class PersistenceScaleSpace(_PairSum):
    """Scale space kernel: 1 / (8 pi s) sum_pq exp(-|p - q|^2 / 8 s) - exp(-|p - q'|^2 / 8 s); s = `sigma`.

    q' is q mirrored at the diagonal, so that points on the diagonal count for nothing. The kernel is the inner
    product of two solutions of the heat equation with the diagrams as initial values.

    References
    ----------
    J. Reininghaus, S. Huber, U. Bauer, R. Kwitt (2015). A stable multi-scale kernel for topological machine
    learning. CVPR, 4741-4748.

    Examples
    --------
    >>> import numpy as np
    >>> circle, points = np.array([[0.2, 1.5]]), np.array([[0.1, 0.2], [0.1, 0.3]])
    >>> PersistenceScaleSpace(0.5)([circle, points])
    array([[0.0453..., 0.0100...],
           [0.0100..., 0.0035...]])
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("sigma", self.sigma)

    def values(self, p: np.ndarray, q: np.ndarray, /) -> np.ndarray:
        near = np.exp(-_squared_distances(p, q) / (8 * self.sigma))
        # |p - q'|^2 - |p - q|^2 is twice the product of the persistences
        mirrored = -np.expm1(-np.outer(_persistence(p), _persistence(q)) / (4 * self.sigma))
        return near * mirrored / (8 * pi * self.sigma)

    def _compiled(self, x: PointSets, y: PointSets, /) -> np.ndarray:
        marks = _persistence(x.points), _persistence(y.points)
        sums = pair_sums(x, y, marks, 1 / (8 * self.sigma), 1 / (4 * self.sigma))
        return sums / (8 * pi * self.sigma)


@dataclass(frozen=True)
class PersistenceWeightedGaussian(_PairSum):
    """Weighted Gaussian kernel: sum_pq w(p) w(q) exp(-|p - q|^2 / 2 s^2), w = arctan(C persistence^p).

    Parameters
    ----------
    bandwidth : float
        The s of the Gaussian.
    C, p : float
        Points of small persistence, which noise creates, weigh C persistence^p; those of large persistence pi / 2.

    References
    ----------
    G. Kusano, K. Fukumizu, Y. Hiraoka (2016). Persistence weighted Gaussian kernel for topological data analysis.
    ICML, 2004-2013.

    Examples
    --------
    >>> import numpy as np
    >>> PersistenceWeightedGaussian(1.0)([np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])])
    array([[0.6168..., 0.5274...],
           [0.5274..., 1.2257...]])
    """

    bandwidth: float = 1.0
    C: float = 1.0
    p: float = 1.0

    def __post_init__(self) -> None:
        for name in ("bandwidth", "C", "p"):
            validate.positive(name, getattr(self, name))

    def values(self, p: np.ndarray, q: np.ndarray, /) -> np.ndarray:
        near = np.exp(-_squared_distances(p, q) / (2 * self.bandwidth**2))
        return near * self._weights(p)[:, None] * self._weights(q)[None, :]

    def _compiled(self, x: PointSets, y: PointSets, /) -> np.ndarray:
        marks = self._weights(x.points), self._weights(y.points)
        return pair_sums(x, y, marks, 1 / (2 * self.bandwidth**2), 0.0)

    def _weights(self, points: np.ndarray) -> np.ndarray:
        return np.arctan(self.C * _persistence(points) ** self.p)


class _DistanceKernel(DiagramKernel):
    """A function of a distance of two diagrams."""

    @abstractmethod
    def value(self, p: np.ndarray, q: np.ndarray, /) -> float:
        """k of two diagrams."""

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left, symmetric = _diagrams(self.viewed(x)), y is x
        right = left if symmetric else _diagrams(self.viewed(y))
        out = np.empty((len(left), len(right)), dtype=np.float64)

        def fill(i: int) -> None:
            for j in range(i if symmetric else 0, len(right)):
                out[i, j] = self.value(left[i], right[j])

        mercer.gram.for_each(fill, range(len(left)))
        if symmetric:
            lower = np.tril_indices(len(left), -1)
            out[lower] = out.T[lower]
        return out

    def paired(self, x: Points, y: Points, /) -> Array:
        pairs = zip(_diagrams(self.viewed(x)), _diagrams(self.viewed(y)), strict=True)
        return np.array([self.value(p, q) for p, q in pairs], dtype=np.float64)

    def diag(self, x: Points, /) -> Array:
        return np.ones(len(self.viewed(x)), dtype=np.float64)


@dataclass(frozen=True)
class PersistenceSlicedWasserstein(_DistanceKernel):
    """exp(-D(F, G) / 2 s^2) with the sliced Wasserstein distance D of two diagrams; s = `bandwidth`.

    D is the mean over all directions of the transport cost on the line between the projections of F with the
    diagonal points of G, and of G with the diagonal points of F. As a function of signed counts it is an L1 distance,
    so that the kernel is positive definite.

    Parameters
    ----------
    bandwidth : float
    directions : int or None
        Number of equally spaced directions of an approximation. None: the exact mean over all directions.

    References
    ----------
    M. Carriere, M. Cuturi, S. Oudot (2017). Sliced Wasserstein kernel for persistence diagrams. ICML, 664-673.

    Examples
    --------
    >>> import numpy as np
    >>> PersistenceSlicedWasserstein(1.0)([np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])])
    array([[1.    , 0.6723...],
           [0.6723..., 1.    ]])
    """

    bandwidth: float = 1.0
    directions: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)
        if self.directions is not None:
            validate.whole("directions", self.directions)

    def value(self, p: np.ndarray, q: np.ndarray, /) -> float:
        if self.directions is None:
            distance = sliced_distance(p, q)
        else:
            distance = mean_sliced_distance(p, q, self.directions)
        return float(np.exp(-distance / (2 * self.bandwidth**2)))


@dataclass(frozen=True)
class PersistenceFisher(_DistanceKernel):
    """exp(-t d(F, G)) with the Fisher distance d of two smoothed diagrams; t = `decay`.

    F with the diagonal points of G, and G with those of F, are smoothed by a Gaussian of width `bandwidth` at all of
    these points and normalised there; d = arccos sum sqrt(f g). The points depend on the pair, so that the
    function is not positive definite in general.

    References
    ----------
    T. Le, M. Yamada (2018). Persistence Fisher kernel. NeurIPS, 10028-10039.

    Examples
    --------
    >>> import numpy as np
    >>> PersistenceFisher(1.0)([np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])])
    array([[1.    , 0.8...],
           [0.8..., 1.    ]])
    """

    bandwidth: float = 1.0
    decay: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)
        validate.positive("decay", self.decay)

    def value(self, p: np.ndarray, q: np.ndarray, /) -> float:
        first = np.concatenate([p, on_diagonal(q)])
        second = np.concatenate([q, on_diagonal(p)])
        if not len(first):
            return 1.0
        everywhere = np.concatenate([first, second])
        f, g = self._smoothed(everywhere, first), self._smoothed(everywhere, second)
        chord = np.linalg.norm(np.sqrt(f) - np.sqrt(g))  # arccos is inaccurate near 1
        return float(self._of_chords(np.asarray(chord)))

    def pairwise(self, x: Points, y: Points, /) -> Array:
        if not fisher_compiled():
            return super().pairwise(x, y)
        left = self.viewed(x)
        right = left if y is x else self.viewed(y)
        chords = fisher_chords(left, right, 1 / (2 * self.bandwidth**2))
        empty = ~np.diff(left.edges).astype(bool), ~np.diff(right.edges).astype(bool)
        chords[np.ix_(*empty)] = 0.0
        return self._of_chords(chords)

    def _of_chords(self, chords: np.ndarray) -> np.ndarray:
        return np.exp(-2 * self.decay * np.arcsin(np.minimum(chords / 2, 1.0)))

    def _smoothed(self, at: np.ndarray, points: np.ndarray) -> np.ndarray:
        density = np.exp(-_squared_distances(at, points) / (2 * self.bandwidth**2)).sum(axis=1)
        return density / density.sum()


def on_diagonal(points: np.ndarray) -> np.ndarray:
    """The nearest points of the diagonal: (m, 2)."""
    return np.repeat(points.mean(axis=1, keepdims=True), 2, axis=1)


def _squared_distances(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """|p - q|^2 of all pairs, from differences, which are exact near each other."""
    birth, death = (p[:, None, c] - q[None, :, c] for c in (0, 1))
    return birth * birth + death * death


def _persistence(points: np.ndarray) -> np.ndarray:
    return points[:, 1] - points[:, 0]


def _diagrams(view: PointSets) -> list[np.ndarray]:
    return [view.points[a:b] for a, b in zip(view.edges[:-1], view.edges[1:], strict=True)]
