"""Random walk kernel: common walks of two graphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array
from mercer.kernels.base import Points
from mercer.kernels.graphs.packed_graphs import Graphs
from mercer.kernels.objects import ObjectKernel
from mercer.kernels.radial import Exponential

_MAX_STEPS = 100_000
_RELATIVE = 1e-16  # a term below this part of the sum ends the series


@dataclass(frozen=True)
class Geometric:
    """Weights decay^k of walks of k steps: the sum is a resolvent of the product graph."""

    def ratio(self, step: int, /) -> float:
        """The weight of `step` steps, as a multiple of decay times that of one step less."""
        return 1.0


@dataclass(frozen=True)
class Factorial:
    """Weights decay^k / k! of walks of k steps: the sum is an exponential of the product graph."""

    def ratio(self, step: int, /) -> float:
        """The weight of `step` steps, as a multiple of decay times that of one step less."""
        return 1.0 / step


@dataclass(frozen=True)
class RandomWalk(ObjectKernel):
    """Common walks: sum over k of weight_k times the number of pairs of walks of k steps with equal labels.

    Walks go over pairs of nodes, one of each graph, that have equal labels: with M the adjacency matrix
    of these pairs, whose entries are products of weights, k(x, y) = 1' sum_k weight_k M^k 1. The weights are
    decay^k (`Geometric`) or decay^k / k! (`Factorial`, for which `Exponential()` may be given). Geometric
    weights need decay times the squared largest eigenvalue of each graph below 1.

    References
    ----------
    T. Gärtner, P. Flach, S. Wrobel (2003). On graph kernels: hardness results and efficient alternatives.
    COLT. S. V. N. Vishwanathan, N. N. Schraudolph, R. Kondor, K. M. Borgwardt (2010). Graph kernels. JMLR 11.

    Examples
    --------
    >>> edge = [[0, 1], [1, 0]]
    >>> RandomWalk(0.5)([(edge,), (edge, "CO")]).round(3)  # 4 (1 + 0.5 + 0.25 + ...)
    array([[8., 0.],
           [0., 4.]])
    """

    decay: float
    kind: Any = field(default=Geometric(), kw_only=True)
    domain = "labelled undirected graphs"
    expensive = True

    def __post_init__(self) -> None:
        validate.positive("decay", self.decay)
        if isinstance(self.kind, Exponential):
            object.__setattr__(self, "kind", Factorial())
        if not isinstance(self.kind, Geometric | Factorial):
            raise TypeError(
                f"kind must be Geometric() or Exponential(), got {validate.shown(self.kind)}"
            )

    def items(self, x: Any, name: str, /) -> Graphs:
        graphs = Graphs.of(x, name)
        if isinstance(self.kind, Geometric):
            for i in range(len(graphs)):
                block = graphs[i : i + 1].adjacency.toarray()
                radius = float(np.abs(linalg.eigvalsh(block)).max())
                if self.decay * radius**2 >= 1:
                    raise ValueError(
                        f"graph {i} of {name} has the eigenvalue {radius:.4g}, so that decay must be less "
                        f"than {radius**-2:.3g}, got {self.decay}: use that, or kind=Exponential()"
                    )
        return graphs

    def view(self, items: Graphs, /) -> Graphs:
        return items

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        rows = [self._row(left[i : i + 1], right) for i in range(len(left))]
        values = np.stack(rows)
        return (values + values.T) / 2 if y is x else values

    def paired(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        values = [self._row(left[i : i + 1], right[i : i + 1])[0] for i in range(len(left))]
        return np.array(values, dtype=np.float64)

    def _row(self, graph: Graphs, others: Graphs) -> np.ndarray:
        """Values of one graph with many: a series of matrices (nodes, nodes of all others)."""
        equal = (graph.labels[:, None] == others.labels[None, :]).astype(np.float64)
        adjacency, their_adjacency = graph.adjacency, others.adjacency
        term, total = equal, equal.sum(axis=0)
        for step in range(1, _MAX_STEPS):
            walked = (their_adjacency @ (adjacency @ term).T).T
            term = self.decay * self.kind.ratio(step) * equal * walked
            added = term.sum(axis=0)
            total = total + added
            if not np.all(np.isfinite(added)) or added.max() <= _RELATIVE * total.max():
                break
        return np.add.reduceat(total, others.edges[:-1])
