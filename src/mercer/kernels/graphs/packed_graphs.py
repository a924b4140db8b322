"""Undirected graphs with labelled nodes, packed into one sparse adjacency matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.kernels.feature_counts import FeatureCounts
from mercer.kernels.graphs.graph_reading import packed_arrays, read_graph
from mercer.kernels.objects import listed
from mercer.kernels.take import Rows


@dataclass(frozen=True, eq=False)
class Graphs(Rows):
    """Graphs packed into arrays: the neighbours of all nodes, graph after graph.

    ``Graphs.of(graphs)`` packs a list of graphs: of networkx, or tuples (adjacency, labels, attributes) of
    which only the first is needed. Adjacency matrices are dense or sparse, symmetric, and not negative;
    a number on the diagonal is a self-loop. Labels are one text or number for each node; without labels all
    nodes have the same. In graphs of networkx, labels are node attributes `label`, weights edge attributes
    `weight`.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> graphs = Graphs.of([(path, "CCO"), (triangle,)])
    >>> len(graphs), graphs.nodes
    (2, array([3, 3]))
    """

    neighbours: np.ndarray  # positions within the graph, those of a node together
    weights: np.ndarray  # of the edge to each neighbour
    ends: np.ndarray  # (nodes + 1,) where the neighbours of each node end
    edges: np.ndarray  # (n + 1,) where the nodes of each graph end
    labels: np.ndarray  # (nodes,) uint64 codes
    attributes: np.ndarray | None = None  # (nodes, d)

    @classmethod
    def of(cls, graphs: Any, name: str = "graphs") -> Graphs:
        """Graphs of a list, checked."""
        if isinstance(graphs, Graphs):
            return graphs
        single = [
            read_graph(g, f"graph {i} of {name}")
            for i, g in enumerate(listed(graphs, name, "graphs"))
        ]
        if not single:
            raise ValueError(f"{name} must have at least one graph, got none")
        widths = {None if g.attributes is None else g.attributes.shape[1] for g in single}
        if len(widths) > 1:
            raise ValueError(f"the graphs of {name} must have attributes of one dimension, or none")
        return cls(*packed_arrays(single))

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, rows: slice, /) -> Graphs:
        return self.taken(np.arange(len(self))[rows])

    def taken(self, rows: np.ndarray, /) -> Graphs:
        if len(rows) and np.all(np.diff(rows) == 1):
            start, stop = self.edges[rows[0]], self.edges[rows[-1] + 1]
            first, last = self.ends[start], self.ends[stop]
            return Graphs(
                self.neighbours[first:last],
                self.weights[first:last],
                self.ends[start : stop + 1] - first,
                self.edges[rows[0] : rows[-1] + 2] - start,
                self.labels[start:stop],
                None if self.attributes is None else self.attributes[start:stop],
            )
        return _concatenated([self.taken(np.array([row])) for row in rows])

    def joined(self, others: Graphs, /) -> Graphs:
        return _concatenated([self, others])

    def widened(self) -> Graphs:
        return self

    @property
    def nodes(self) -> np.ndarray:
        """Number of nodes of each graph: (n,)."""
        return np.diff(self.edges)

    @cached_property
    def owners(self) -> np.ndarray:
        """The graph of each node."""
        return np.repeat(np.arange(len(self)), self.nodes)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Number of neighbours of each node."""
        return np.diff(self.ends)

    @cached_property
    def sources(self) -> np.ndarray:
        """The node, among those of all graphs, from which each entry of `neighbours` goes out."""
        return np.repeat(np.arange(len(self.labels)), self.degrees)

    @cached_property
    def targets(self) -> np.ndarray:
        """The node, among those of all graphs, of each entry of `neighbours`."""
        return self.neighbours + self.edges[:-1][self.owners[self.sources]]

    @cached_property
    def adjacency(self) -> Any:
        """Weights of all edges as one block-diagonal sparse matrix."""
        from scipy import sparse

        size = len(self.labels)
        return sparse.csr_array((self.weights, self.targets, self.ends), shape=(size, size))


class GraphFeatures(FeatureCounts):
    """A kernel <c(x), c(y)> of explicit features of graphs."""

    domain = "labelled undirected graphs"

    def items(self, x: Any, name: str, /) -> Graphs:
        return Graphs.of(x, name)


def _concatenated(graphs: Sequence[Graphs]) -> Graphs:
    """Graphs one after the other."""

    def ends(name: str) -> np.ndarray:
        counts = [np.diff(getattr(g, name)) for g in graphs]
        return (
            np.concatenate([[0], np.cumsum(np.concatenate(counts))])
            if counts
            else np.zeros(1, np.int64)
        )

    attributes = [g.attributes for g in graphs if g.attributes is not None]
    empty = [np.empty(0, dtype=np.int64)]
    return Graphs(
        np.concatenate([g.neighbours for g in graphs] or empty),
        np.concatenate([g.weights for g in graphs] or empty),
        ends("ends"),
        ends("edges"),
        np.concatenate([g.labels for g in graphs] or empty),
        np.concatenate(attributes) if attributes else None,
    )
