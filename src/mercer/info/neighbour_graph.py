"""Renyi's entropy from the edge lengths of a graph of nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log, pi

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.info.estimator import EstimatedIntegrals, Estimator, need_moderate_units
from mercer.info.information_measures import Integrals
from mercer.info.neighbours import kth_distances
from mercer.info.sample import Sample, more_points_than


@dataclass(frozen=True)
class NeighbourGraph(Estimator):
    """Estimator of Renyi's and Tsallis' entropies of order 0 < a < 1 from a graph of nearest neighbours.

    Each point has an edge to its k-th nearest neighbour for every k in `neighbours`. The sum of the edge lengths to
    the power d (1 - a), divided by its mean for a uniform density, estimates int p^a (Pal, Poczos and Szepesvari
    2010). Points that repeat have edges of length zero, which add nothing.

    Parameters
    ----------
    neighbours : tuple of int
        Which neighbours have an edge, different from each other.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import Renyi, entropy
    >>> x = np.random.default_rng(0).uniform(0, 2, size=(2000, 2))
    >>> round(entropy(x, Renyi(0.5), estimator=NeighbourGraph()), 1)  # log 4
    1.4
    """

    neighbours: tuple[int, ...] = (1, 2, 3)

    def __post_init__(self) -> None:
        if not isinstance(self.neighbours, tuple) or not self.neighbours:
            raise ValueError(
                f"neighbours must be a tuple of whole numbers, such as (1, 2, 3), got {validate.shown(self.neighbours)}"
            )
        for i, k in enumerate(self.neighbours):
            validate.whole(f"neighbours[{i}]", k)
        if len(set(self.neighbours)) < len(self.neighbours):
            raise ValueError(f"neighbours must be different from each other, got {self.neighbours}")

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        more_points_than(x, max(self.neighbours), repr(self))
        return GraphIntegrals(self, x)


class GraphIntegrals(EstimatedIntegrals):
    """Integrals of p^a, 0 < a < 1, from edge lengths."""

    def __init__(self, estimator: NeighbourGraph, x: Sample) -> None:
        super().__init__(estimator)
        self.x, self.neighbours = x, estimator.neighbours

    def power(self, a: float, b: float = 0.0) -> float:
        if b != 0 or not 0 < a < 1:
            return super().power(a, b)
        points, n, d = self.x.numbers("NeighbourGraph"), len(self.x), self.x.dimension
        lengths = np.stack([to_numpy(kth_distances(points, k)) for k in self.neighbours])
        longest = float(lengths.max())
        if longest == 0:
            raise ValueError(
                f"NeighbourGraph needs continuous data, but all neighbours in {self.x.name} are at distance zero: use "
                "PlugIn() for discrete data"
            )
        ball = d / 2 * log(pi) - lgamma(d / 2 + 1)
        exponent = d * (1 - a)
        total = float(np.mean(np.sum((lengths / longest) ** exponent, axis=0)))
        log_total = log(total) + (1 - a) * ball + exponent * log(longest)
        need_moderate_units(log_total, self.x)
        return exp(log_total) / sum(_uniform_power(k, n, 1 - a) for k in self.neighbours)


def _uniform_power(k: int, n: int, exponent: float) -> float:
    """Mean of B^exponent, B the probability of the ball up to the k-th of n - 1 neighbours: Beta(k, n - k)."""
    return exp(lgamma(k + exponent) - lgamma(k) + lgamma(n) - lgamma(n + exponent))
