"""Renyi's entropy from the length of the minimum spanning tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.config import settings
from mercer.info.estimator import EstimatedIntegrals, Estimator
from mercer.info.information_measures import Integrals
from mercer.info.sample import Sample, fixed_generator, more_points_than

_NEIGHBOURS = (
    16  # edges of each point among which the tree is looked for; doubled until they connect all
)


@dataclass(frozen=True)
class SpanningTree(Estimator):
    """Estimator of Renyi's and Tsallis' entropies of order 0 < a < 1 from a minimum spanning tree.

    The sum of the edge lengths to the power d (1 - a), divided by n^a, tends to a constant times int p^a (Steele 1988;
    Hero and Michel 1999). The constant is that of a uniform sample of the same size on the unit cube. The tree is
    that of the graph of nearest neighbours, which in few dimensions contains it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import Renyi, entropy
    >>> x = np.random.default_rng(0).uniform(0, 2, size=(2000, 2))
    >>> round(entropy(x, Renyi(0.5), estimator=SpanningTree()), 1)  # log 4
    1.4
    """

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        more_points_than(x, 2, "SpanningTree")
        return TreeIntegrals(self, x.host("SpanningTree"))


class TreeIntegrals(EstimatedIntegrals):
    """Integrals of p^a, 0 < a < 1, from edge lengths."""

    def __init__(self, estimator: SpanningTree, points: np.ndarray) -> None:
        super().__init__(estimator)
        self.points = points

    def power(self, a: float, b: float = 0.0) -> float:
        if b != 0 or not 0 < a < 1:
            return super().power(a, b)
        n, d = self.points.shape
        uniform = fixed_generator().uniform(size=(n, d))
        exponent = d * (1 - a)
        lengths = [np.sum(tree_edges(p) ** exponent) for p in (self.points, uniform)]
        return float(lengths[0] / lengths[1])


def tree_edges(points: np.ndarray) -> np.ndarray:
    """Edge lengths of the minimum spanning tree of the neighbour graph: (n - 1,)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial import KDTree

    unique = np.unique(points, axis=0)  # an edge of length zero adds nothing
    n, k = len(unique), _NEIGHBOURS
    while True:
        k = min(k, n - 1)
        near = KDTree(unique).query(unique, k + 1, workers=settings().workers)
        distances, places = np.asarray(near[0]), np.asarray(near[1])
        rows = np.repeat(np.arange(n), k)
        graph = csr_matrix((distances[:, 1:].ravel(), (rows, places[:, 1:].ravel())), (n, n))
        edges = minimum_spanning_tree(graph).data
        if len(edges) == n - 1 or k == n - 1:
            return edges
        k *= 2
