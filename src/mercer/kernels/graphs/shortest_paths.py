"""Shortest-path kernel, and the distances between nodes that it counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.feature_counts import FeatureTable, feature_table
from mercer.kernels.graphs.packed_graphs import GraphFeatures, Graphs
from mercer.kernels.graphs.path_counts import count_short_paths, path_codes
from mercer.native import is_quick, native_loop

_SIGNATURE = "long* long* long* long* long* long"
_DIGITS = 10  # of weighted distances: sums of weights depend on their order in the last digits


@dataclass(frozen=True)
class ShortestPath(GraphFeatures):
    """Common shortest paths: ordered pairs of nodes with the same labels at the same distance.

    A feature is (label of u, label of v, distance), counted over ordered pairs u != v that a path joins.
    Distances are numbers of edges, or sums of weights where a graph has weights other than 1.

    References
    ----------
    K. M. Borgwardt, H.-P. Kriegel (2005). Shortest-path kernels on graphs. ICDM.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> ShortestPath()([(path,), (triangle,)])
    array([[20., 24.],
           [24., 36.]])
    """

    def view(self, items: Graphs, /) -> FeatureTable:
        table = count_short_paths(items)
        if table is not None:
            return table
        graph, first, last, distances = all_distances(items)
        return feature_table(graph, _codes(items, first, last, distances), None, len(items))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        graph, first, last, distances = all_distances(items)
        distinct, at = np.unique(_codes(items, first, last, distances), return_index=True)
        found = at[np.searchsorted(distinct, codes)]
        start = items.edges[graph[found]]
        rows = zip(
            graph[found], first[found] - start, last[found] - start, distances[found], strict=True
        )
        return [f"distance {d:g}, as nodes {u} and {v} of graph {g}" for g, u, v, d in rows]


def _codes(
    graphs: Graphs, first: np.ndarray, last: np.ndarray, distances: np.ndarray
) -> np.ndarray:
    return path_codes(graphs.labels[first], graphs.labels[last], distances)


def all_distances(graphs: Graphs) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Graph, first node, last node and distance of all ordered pairs of different nodes that are joined."""
    sizes = graphs.nodes
    matrix_edges = np.concatenate([[0], np.cumsum(sizes**2)])
    owners = np.repeat(np.arange(len(graphs)), sizes**2)
    within = np.arange(matrix_edges[-1]) - matrix_edges[owners]
    first = graphs.edges[owners] + within // sizes[owners]
    last = graphs.edges[owners] + within % sizes[owners]
    distances = _distances(graphs, matrix_edges)
    joined = (first != last) & np.isfinite(distances)
    return owners[joined], first[joined], last[joined], distances[joined]


def _distances(graphs: Graphs, matrix_edges: np.ndarray) -> np.ndarray:
    """Distance matrices of all graphs, one after the other; infinite where no path is."""
    from scipy.sparse import csgraph

    weighted = bool(np.any(graphs.weights != 1.0))
    if not weighted and is_quick(_steps, _SIGNATURE):
        steps = np.full(max(matrix_edges[-1], 1), -1, dtype=np.int64)
        queue = np.empty(int(graphs.nodes.max(initial=1)), dtype=np.int64)
        targets = graphs.targets if len(graphs.targets) else np.zeros(1, dtype=np.int64)
        arrays = (
            np.ascontiguousarray(a, dtype=np.int64) for a in (targets, graphs.ends, graphs.edges)
        )
        native_loop(_steps, _SIGNATURE)(*arrays, steps, queue, len(graphs))
        return np.where(steps < 0, np.inf, steps.astype(np.float64))[: matrix_edges[-1]]
    adjacency, blocks = graphs.adjacency, []
    for start, stop in zip(graphs.edges[:-1], graphs.edges[1:], strict=True):
        block = adjacency[start:stop, start:stop]
        block.indices, block.indptr = block.indices.astype(np.int32), block.indptr.astype(np.int32)
        blocks.append(csgraph.shortest_path(block, directed=False, unweighted=not weighted).ravel())
    distances = np.concatenate(blocks)
    return _rounded(distances) if weighted else distances


def _rounded(values: np.ndarray) -> np.ndarray:
    """Positive numbers rounded to `_DIGITS` significant digits."""
    ordinary = np.isfinite(values) & (values > 0)
    powers = np.floor(np.log10(np.where(ordinary, values, 1.0)))
    scale = 10.0 ** (powers - _DIGITS)
    return np.where(ordinary, np.round(np.where(ordinary, values, 1.0) / scale) * scale, values)


def _steps(numba: Any) -> Any:
    """Breadth-first search from every node."""
    carray = numba.carray

    def loop(targets, ends, edges, steps, queue, n):  # pragma: no cover
        graph_ends = carray(edges, n + 1)
        nodes = graph_ends[n]
        node_ends = carray(ends, nodes + 1)
        to = carray(targets, node_ends[nodes] + 1)
        offset = 0
        for g in range(n):
            start, size = graph_ends[g], graph_ends[g + 1] - graph_ends[g]
            matrix = carray(steps, offset + size * size)
            waiting = carray(queue, size)
            for source in range(size):
                row = offset + source * size
                matrix[row + source] = 0
                waiting[0], head, tail = source, 0, 1
                while head < tail:
                    node = waiting[head]
                    head += 1
                    for e in range(node_ends[start + node], node_ends[start + node + 1]):
                        other = to[e] - start
                        if matrix[row + other] < 0:
                            matrix[row + other] = matrix[row + node] + 1
                            waiting[tail] = other
                            tail += 1
            offset += size * size
        return 0

    return loop
