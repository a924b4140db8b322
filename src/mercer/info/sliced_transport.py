"""Sliced Wasserstein distance: transport of projections on random lines, at the speed of sorting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer import validate
from mercer.config import settings
from mercer.gram.threads import in_order, spans
from mercer.info.line_sort import sort_rows
from mercer.info.line_transport import SortedSample, line_potential, power_cost
from mercer.info.metric_closed_forms import are_gaussian, closed_form, projected
from mercer.info.metric_value import MetricValue, WeightedPoints, points_of_width, weighted_pair
from mercer.rkhs.gaussian import Gaussian

_DIRECTIONS_PER_PRODUCT = 8  # so that the points are read from memory once for several directions


def sliced_wasserstein(
    x: Any, y: Any, p: float = 2.0, *, projections: Any = 100, rng: Any = None
) -> MetricValue:
    """Sliced Wasserstein distance (mean over directions t of W_p^p(t'X, t'Y))^(1/p).

    A metric of distributions on R^d (Bonneel et al. 2015) that sees, as W_p does, mass and how far it
    moves, in O(n log n) for each direction; samples may have different sizes and weights. Unlike that of W_p, the
    error of the empirical distance does not grow with the dimension. The mean over random directions has a
    standard error of O(1 / sqrt(projections)).

    `.witness` is the mean over directions of the potentials of the projections (see `wasserstein`); for p = 1 the
    distance is mean f(x) - mean f(y).

    Parameters
    ----------
    x, y : samples or Gaussians
        Arrays, tensors, data frames of numbers, `Empirical` with weights. Two `Gaussian`: the closed forms of their
        projections, with p = 1 or 2.
    p : float
        At least 1.
    projections : int or array (directions, d)
        A number: so many directions, uniform on the sphere. An array: these directions, scaled to length one.
    rng : int, Generator or None
        Draws the directions.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.random.default_rng(0).normal(size=(2, 500, 10))
    >>> sliced_wasserstein(x, y + 1.0, projections=500, rng=0)  # about |shift| / sqrt(10)
    1.0...
    """
    validate.number("p", p)
    if p < 1:
        raise ValueError(f"p must be at least 1, got {p!r}: smaller powers give no metric")
    if are_gaussian("sliced_wasserstein", x, y, float(p)):
        return _between_gaussians(x, y, float(p), _directions(projections, x.dimension, rng))
    first, second = weighted_pair(x, y)
    directions = _directions(projections, first.points.shape[1], rng)
    work = partial(_costs, first, second, float(p))
    tasks = [directions[rows] for rows in spans(len(directions), _DIRECTIONS_PER_PRODUCT)]
    size = 2 * 8 * _DIRECTIONS_PER_PRODUCT * (len(first.points) + len(second.points))
    if size > settings().memory // 2:
        tasks = [direction[None] for direction in directions]
        size //= _DIRECTIONS_PER_PRODUCT
    costs = np.concatenate(
        list(in_order(work, tasks, parallel=True, held=size, what="sorting projections"))
    )
    value = float(np.mean(costs)) ** (1 / p)
    return MetricValue(value, partial(_mean_potential, first, second, float(p), directions))


@dataclass(frozen=True, eq=False)
class SlicedPotential:
    """Mean over directions of potentials of projections: f(z) = mean_t f_t(t'z)."""

    directions: np.ndarray  # (k, d)
    potentials: tuple[Any, ...]

    def __call__(self, z: Any) -> np.ndarray:
        """The values at points: (n,)."""
        z = points_of_width(z, self.directions.shape[1])
        total = np.zeros(len(z), dtype=np.float64)
        for direction, potential in zip(self.directions, self.potentials, strict=True):
            total += potential.at(z @ direction)
        return total / len(self.directions)


@dataclass(frozen=True)
class _OnLine:
    """A function of points on the line, called with numbers."""

    potential: Any

    def at(self, t: np.ndarray) -> np.ndarray:
        return self.potential(t[:, None])


def _between_gaussians(x: Gaussian, y: Gaussian, p: float, directions: np.ndarray) -> MetricValue:
    """Sliced distance from the distances of the projections t'X, which are Gaussian."""
    distances: list[Any] = [
        closed_form("wasserstein", projected(x, t), projected(y, t), p) for t in directions
    ]
    value = float(np.mean(np.array(distances, dtype=np.float64) ** p)) ** (1 / p)

    return MetricValue(value, partial(_of_gaussians, directions, distances))


def _of_gaussians(directions: np.ndarray, distances: list[Any]) -> SlicedPotential:
    return SlicedPotential(directions, tuple(_OnLine(d.witness) for d in distances))


def _directions(projections: Any, d: int, rng: Any) -> np.ndarray:
    """Directions of length one: (k, d)."""
    if np.ndim(projections) == 0:
        validate.whole("projections", projections)
        directions = validate.generator(rng).standard_normal((int(projections), d))
    else:
        directions = points_of_width(projections, d)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    if lengths.min() == 0:
        raise ValueError("projections must be directions, got a row of zeros")
    return directions / lengths


def _costs(x: WeightedPoints, y: WeightedPoints, p: float, directions: np.ndarray) -> np.ndarray:
    """W_p^p of the projections on some directions: (k,)."""
    pairs = zip(_projected(x, directions), _projected(y, directions), strict=True)
    return np.array([power_cost(a, b, p) for a, b in pairs])


def _projected(sample: WeightedPoints, directions: np.ndarray) -> list[SortedSample]:
    """The sorted projections of a sample on some directions."""
    values = directions @ sample.points.T  # (k, n), a row for each direction
    if sample.weights is None:
        sort_rows(values)
        return [SortedSample(row, None) for row in values]
    return [SortedSample.of(WeightedPoints(row[:, None], sample.weights)) for row in values]


def _mean_potential(
    x: WeightedPoints, y: WeightedPoints, p: float, directions: np.ndarray
) -> SlicedPotential:
    """The potentials of all directions, which keep the sorted projections."""
    pairs = zip(_projected(x, directions), _projected(y, directions), strict=True)
    potentials = tuple(line_potential(a, b, p) for a, b in pairs)
    return SlicedPotential(directions, potentials)
