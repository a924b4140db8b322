"""Undirected graphs with labelled nodes, packed into one sparse adjacency matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_array, to_numpy
from mercer.kernels.feature_counts import FeatureCounts, label_codes
from mercer.kernels.objects import listed
from mercer.kernels.take import Rows

_ROUNDING = 1e-9  # relative difference up to which a weight is the same in both directions


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
            _read(g, f"graph {i} of {name}") for i, g in enumerate(listed(graphs, name, "graphs"))
        ]
        if not single:
            raise ValueError(f"{name} must have at least one graph, got none")
        widths = {None if g.attributes is None else g.attributes.shape[1] for g in single}
        if len(widths) > 1:
            raise ValueError(f"the graphs of {name} must have attributes of one dimension, or none")
        return _concatenated(single)

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


# ---- reading ------------------------------------------------------------------------------------


def _read(graph: Any, name: str) -> Graphs:
    """One graph."""
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return (
            _from_networkx(graph, name)
            if hasattr(graph, "is_directed")
            else _from_edges(graph, name)
        )
    if isinstance(graph, tuple) and 1 <= len(graph) <= 3:
        parts = (*graph, None, None)[:3]
        return _from_arrays(parts[0], parts[1], parts[2], name)
    if is_array(graph) or hasattr(graph, "tocsr"):
        return _from_arrays(graph, None, None, name)
    raise TypeError(
        f"{name} must be a graph of networkx or a tuple (adjacency, labels, attributes), got "
        f"{validate.shown(graph)}: use (adjacency,) for a graph without labels"
    )


def _from_networkx(graph: Any, name: str) -> Graphs:
    if graph.is_directed():
        raise ValueError(f"{name} is directed: use its to_undirected()")
    order = {node: i for i, node in enumerate(graph.nodes)}
    edges = [(order[u], order[v], data.get("weight", 1.0)) for u, v, data in graph.edges(data=True)]
    matrix = np.zeros((len(order), len(order)), dtype=np.float64)
    for u, v, weight in edges:
        matrix[u, v] = matrix[v, u] = _weight(weight, name)
    labels = [data.get("label") for _, data in graph.nodes(data=True)]
    return _from_arrays(matrix, labels if any(v is not None for v in labels) else None, None, name)


def _from_edges(graph: Any, name: str) -> Graphs:
    """A graph with labels `nodes` (n,) and pairs of nodes `edges` (m, 2), as `mercer.datasets` has them."""
    labels = [tuple(row) for row in np.asarray(graph.nodes).reshape(len(graph.nodes), -1).tolist()]
    matrix = np.zeros((len(graph.nodes), len(graph.nodes)), dtype=np.float64)
    first, last = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2).T
    matrix[first, last] = matrix[last, first] = 1.0
    return _from_arrays(matrix, labels, None, name)


def _weight(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must have numbers as weights of edges, got {validate.shown(value)}"
        ) from None


def _from_arrays(adjacency: Any, labels: Any, attributes: Any, name: str) -> Graphs:
    from scipy import sparse

    if hasattr(adjacency, "tocsr"):
        matrix = adjacency
    else:
        matrix = to_numpy(validate.real(adjacency, f"adjacency of {name}"))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(
            f"{name} must have a square adjacency matrix of at least one node, got shape {matrix.shape}"
        )
    csr = sparse.csr_array(matrix, dtype=np.float64)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    _check_weights(csr, name)
    n = matrix.shape[0]
    return Graphs(
        csr.indices.astype(np.int64),
        csr.data,
        csr.indptr.astype(np.int64),
        np.array([0, n]),
        _label_codes(labels, n, name),
        _attributes(attributes, n, name),
    )


def _check_weights(csr: Any, name: str) -> None:
    if not np.all(np.isfinite(csr.data)):
        raise ValueError(f"{name} has NaN or infinite weights of edges: drop those edges")
    if csr.nnz and csr.data.min() < 0:
        raise ValueError(f"{name} has negative weights of edges: use weights that are not negative")
    difference = abs(csr - csr.T)
    if difference.nnz and difference.max() > _ROUNDING * csr.max():
        raise ValueError(
            f"{name} must have a symmetric adjacency matrix: graphs are undirected; use A + A.T"
        )


def _label_codes(labels: Any, n: int, name: str) -> np.ndarray:
    if labels is None:
        return np.zeros(n, dtype=np.uint64)
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    if not isinstance(values, list | tuple | str) or len(values) != n:
        raise ValueError(f"{name} must have one label for each of its {n} nodes")
    for label in values:
        if not isinstance(label, str | int | float | bool | tuple) or label != label:
            raise TypeError(
                f"{name} must have text or numbers as labels of nodes, got {validate.shown(label)}"
            )
    return label_codes(list(values))


def _attributes(attributes: Any, n: int, name: str) -> np.ndarray | None:
    if attributes is None:
        return None
    values = to_numpy(validate.points(attributes, f"attributes of {name}")).astype(np.float64)
    if len(values) != n:
        raise ValueError(f"{name} must have attributes of each of its {n} nodes, got {len(values)}")
    return values
