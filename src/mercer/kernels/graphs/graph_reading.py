"""Reading of graphs: each one as a list of entries of its adjacency matrix, checked together with all others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_array, to_numpy
from mercer.kernels.feature_counts import label_codes

_ROUNDING = 1e-9  # relative difference up to which a weight is the same in both directions
_MAX_DENSE_ENTRIES = 2**24  # of matrices that are searched together, in a copy of 128 MiB
_PLAIN_LABELS = frozenset({str, int, bool})  # every value of these types is a label


@dataclass(frozen=True)
class GraphEntries:
    """One graph: the entries of its adjacency matrix in any order, of equal ones the last counts."""

    name: str  # in messages
    size: int
    labels: Any  # one for each node, or None
    attributes: np.ndarray | None
    dense: np.ndarray | None  # the matrix, whose entries are then not listed
    rows: Any = ()
    columns: Any = ()
    weights: Any = ()

    def listed(self) -> GraphEntries:
        """The graph with its entries listed."""
        if self.dense is None:
            return self
        rows, columns = np.nonzero(self.dense)
        weights = self.dense[rows, columns]
        return replace(self, dense=None, rows=rows, columns=columns, weights=weights)


def read_graph(graph: Any, name: str) -> GraphEntries:
    """One graph of networkx, of `mercer.datasets`, or a tuple (adjacency, labels, attributes)."""
    if isinstance(graph, tuple) and 1 <= len(graph) <= 3:
        parts = (*graph, None, None)[:3]
        return _from_arrays(parts[0], parts[1], parts[2], name)
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return (
            _from_networkx(graph, name)
            if hasattr(graph, "is_directed")
            else _from_edges(graph, name)
        )
    if is_array(graph) or hasattr(graph, "tocsr"):
        return _from_arrays(graph, None, None, name)
    raise TypeError(
        f"{name} must be a graph of networkx or a tuple (adjacency, labels, attributes), got "
        f"{validate.shown(graph)}: use (adjacency,) for a graph without labels"
    )


def _from_networkx(graph: Any, name: str) -> GraphEntries:
    if graph.is_directed():
        raise ValueError(f"{name} is directed: use its to_undirected()")
    order = {node: i for i, node in enumerate(graph.nodes)}
    edges = [
        (order[u], order[v], _weight(data.get("weight", 1.0), name))
        for u, v, data in graph.edges(data=True)
    ]
    labels = [data.get("label") for _, data in graph.nodes(data=True)]
    pairs = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    weights = np.array([edge[2] for edge in edges], dtype=np.float64)
    known = labels if any(label is not None for label in labels) else None
    return _undirected(name, len(order), pairs, weights, known)


def _from_edges(graph: Any, name: str) -> GraphEntries:
    """A graph with labels `nodes` (n,) and pairs of nodes `edges` (m, 2), as `mercer.datasets` has them."""
    size = len(graph.nodes)
    labels = [tuple(row) for row in np.asarray(graph.nodes).reshape(size, -1).tolist()]
    pairs = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    return _undirected(name, size, pairs, np.ones(len(pairs), dtype=np.float64), labels)


def _undirected(
    name: str, size: int, pairs: np.ndarray, weights: np.ndarray, labels: Any
) -> GraphEntries:
    """A graph from its edges, each in one direction or in both."""
    _at_least_one_node(name, (size, size))
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
    both = np.concatenate([weights, weights])
    return GraphEntries(name, size, labels, None, None, rows, columns, both)


def _weight(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must have numbers as weights of edges, got {validate.shown(value)}"
        ) from None


def _from_arrays(adjacency: Any, labels: Any, attributes: Any, name: str) -> GraphEntries:
    sparse = hasattr(adjacency, "tocsr")
    if sparse or (type(adjacency) is np.ndarray and adjacency.dtype.kind in "fiub"):
        matrix: Any = adjacency
    else:
        matrix = to_numpy(validate.real(adjacency, f"adjacency of {name}"))
    _at_least_one_node(name, matrix.shape)
    size = matrix.shape[0]
    known = None if attributes is None else _attributes(attributes, size, name)
    if not sparse:
        return GraphEntries(name, size, labels, known, matrix)
    csr = matrix.tocsr(copy=True)
    csr.sum_duplicates()
    rows = np.repeat(np.arange(size), np.diff(csr.indptr))
    return GraphEntries(name, size, labels, known, None, rows, csr.indices, csr.data)


def _at_least_one_node(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(
            f"{name} must have a square adjacency matrix of at least one node, got shape {shape}"
        )


def _attributes(attributes: Any, n: int, name: str) -> np.ndarray:
    values = to_numpy(validate.points(attributes, f"attributes of {name}")).astype(np.float64)
    if len(values) != n:
        raise ValueError(f"{name} must have attributes of each of its {n} nodes, got {len(values)}")
    return values


# ---- all graphs together ------------------------------------------------------------------------


def packed_arrays(graphs: list[GraphEntries]) -> tuple[Any, ...]:
    """Neighbours, weights, ends, edges, labels and attributes of `Graphs`, checked."""
    edges = np.concatenate([[0], np.cumsum([g.size for g in graphs])]).astype(np.int64)
    owners, rows, columns, weights = _entries(graphs, edges)
    keys = rows * edges[-1] + columns
    if np.any(keys[1:] <= keys[:-1]):
        order = np.argsort(keys, kind="stable")
        order = order[np.append(np.diff(keys[order]) > 0, True)]  # the last of equal ones
        rows, columns, weights, owners = rows[order], columns[order], weights[order], owners[order]
    if not weights.all():
        entries = np.flatnonzero(weights)
        rows, columns, weights, owners = (a[entries] for a in (rows, columns, weights, owners))
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=edges[-1]))])
    _check_weights(graphs, owners, weights)
    _check_symmetry(graphs, edges, weights, columns, ends)
    attributes = [g.attributes for g in graphs if g.attributes is not None]
    together = np.concatenate(attributes) if attributes else None
    return columns - edges[owners], weights, ends, edges, _label_codes(graphs, edges), together


def _entries(graphs: list[GraphEntries], edges: np.ndarray) -> tuple[np.ndarray, ...]:
    """Graph, row, column and weight of all entries; nodes are numbered through all graphs."""
    sizes = np.diff(edges)
    matrix_edges = np.concatenate([[0], np.cumsum(sizes**2)])
    matrices = [g.dense for g in graphs if g.dense is not None]
    if len(matrices) == len(graphs) and matrix_edges[-1] <= _MAX_DENSE_ENTRIES:
        flat = np.concatenate([matrix.ravel() for matrix in matrices])
        places = np.flatnonzero(flat)
        owners = np.repeat(np.arange(len(graphs)), np.diff(np.searchsorted(places, matrix_edges)))
        rows, columns = np.divmod(places - matrix_edges[owners], sizes[owners])
        weights = flat[places]
    else:
        graphs = [graph.listed() for graph in graphs]
        owners = np.repeat(np.arange(len(graphs)), [len(g.rows) for g in graphs])
        rows, columns = (
            np.concatenate([getattr(g, side) for g in graphs]).astype(np.int64)
            for side in ("rows", "columns")
        )
        weights = np.concatenate([g.weights for g in graphs])
    start = edges[owners]
    return owners, rows + start, columns + start, weights.astype(np.float64)


def _check_weights(graphs: list[GraphEntries], owners: np.ndarray, weights: np.ndarray) -> None:
    infinite = np.flatnonzero(~np.isfinite(weights))
    if len(infinite):
        name = graphs[owners[infinite[0]]].name
        raise ValueError(f"{name} has NaN or infinite weights of edges: drop those edges")
    negative = np.flatnonzero(weights < 0)
    if len(negative):
        name = graphs[owners[negative[0]]].name
        raise ValueError(f"{name} has negative weights of edges: use weights that are not negative")


def _check_symmetry(
    graphs: list[GraphEntries],
    edges: np.ndarray,
    weights: np.ndarray,
    columns: np.ndarray,
    ends: np.ndarray,
) -> None:
    from scipy import sparse

    matrix = sparse.csr_array((weights, columns, ends), shape=(edges[-1], edges[-1]))
    turned = matrix.tocsc()  # sorted by columns
    same = np.array_equal(turned.indices, columns) and np.array_equal(turned.indptr, ends)
    if same and np.array_equal(turned.data, weights):
        return
    for graph, start, stop in zip(graphs, edges[:-1], edges[1:], strict=True):
        block = matrix[start:stop, start:stop]
        difference = abs(block - block.T)
        if difference.nnz and difference.max() > _ROUNDING * block.max():
            raise ValueError(
                f"{graph.name} must have a symmetric adjacency matrix: graphs are undirected; use A + A.T"
            )


def _label_codes(graphs: list[GraphEntries], edges: np.ndarray) -> np.ndarray:
    """Codes of the labels of all nodes; those of graphs without labels are 0: (nodes,)."""
    codes = np.zeros(edges[-1], dtype=np.uint64)
    labelled = [i for i, graph in enumerate(graphs) if graph.labels is not None]
    lists = [_label_list(graphs[i]) for i in labelled]
    if not lists:
        return codes
    everything = list(chain.from_iterable(lists))
    if not set(map(type, everything)) <= _PLAIN_LABELS:
        for i, labels in zip(labelled, lists, strict=True):
            _check_labels(labels, graphs[i].name)
    if len(labelled) == len(graphs):
        return label_codes(everything)
    nodes = np.concatenate([np.arange(edges[i], edges[i + 1]) for i in labelled])
    codes[nodes] = label_codes(everything)
    return codes


def _label_list(graph: GraphEntries) -> Any:
    labels = graph.labels
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    if not isinstance(values, list | tuple | str) or len(values) != graph.size:
        raise ValueError(f"{graph.name} must have one label for each of its {graph.size} nodes")
    return values


def _check_labels(labels: Any, name: str) -> None:
    for label in labels:
        if not isinstance(label, str | int | float | bool | tuple) or label != label:
            raise TypeError(
                f"{name} must have text or numbers as labels of nodes, got {validate.shown(label)}"
            )
