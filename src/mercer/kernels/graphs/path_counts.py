"""Counts of shortest paths by the labels of their ends and their number of edges, in a compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.feature_counts import FeatureTable, chained, numbered_table
from mercer.kernels.feature_loops import counts_compiled, numbered
from mercer.kernels.graphs.packed_graphs import Graphs
from mercer.native import is_quick, native_loop

# targets, ends, edges, labels, scratch for one search, places of keys, results; first and last graph, labels, steps
_SIGNATURE = "long* long* long* long* long* long* long* double* long* long long long long"
_MAX_KEYS = 2**22  # (label, label, distance) that are counted in one array of 32 MiB
_ENTRIES_AT_ONCE = 2**21  # of the table of counts, which take 16 bytes each


def path_codes(first: np.ndarray, last: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Codes of paths, from the codes of the labels of their ends and their lengths."""
    return chained(chained(first, last), distances.astype(np.float64).view(np.uint64))


def count_short_paths(graphs: Graphs) -> FeatureTable | None:
    """The features of `ShortestPath` of graphs without weights; None where there is no compiled loop for them."""
    if not (is_quick(_count_paths, _SIGNATURE) and counts_compiled()):
        return None
    names, labels = numbered(graphs.labels)
    steps = int(graphs.nodes.max())
    keys = len(names) ** 2 * steps
    if keys > _MAX_KEYS or np.any(graphs.weights != 1.0):
        return None
    parts = [_counted(graphs, labels, block, len(names), steps) for block in _blocks(graphs, keys)]
    data, columns = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    ends = np.concatenate([[0], np.cumsum(np.concatenate([part[2] for part in parts]))])
    distinct, numbers = numbered(columns)
    pairs, distances = np.divmod(distinct.astype(np.int64), steps)
    first, last = np.divmod(pairs, len(names))
    return numbered_table(data, numbers, ends, path_codes(names[first], names[last], distances))


def _blocks(graphs: Graphs, keys: int) -> list[tuple[int, int]]:
    """Ranges of graphs with not too many entries together, but at least one graph."""
    sums = np.concatenate([[0], np.cumsum(np.minimum(graphs.nodes**2, keys))])
    blocks, start = [], 0
    while start < len(graphs):
        stop = int(np.searchsorted(sums, sums[start] + _ENTRIES_AT_ONCE, side="right")) - 1
        stop = max(stop, start + 1)
        blocks.append((start, stop))
        start = stop
    return blocks


def _counted(
    graphs: Graphs, labels: np.ndarray, block: tuple[int, int], many: int, steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts and keys of a range of graphs, and how many each graph has."""
    start, stop = block
    keys = many**2 * steps
    room = int(np.sum(np.minimum(graphs.nodes[start:stop] ** 2, keys)))
    columns, data = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.float64)
    sizes, places = np.empty(stop - start, dtype=np.int64), np.full(keys, -1, dtype=np.int64)
    scratch = np.full(2 * steps, -1, dtype=np.int64)
    arrays = graphs.targets, graphs.ends, graphs.edges, labels, scratch, places
    numbers = (np.ascontiguousarray(a, dtype=np.int64) for a in arrays)
    loop = native_loop(_count_paths, _SIGNATURE)
    used = loop(*numbers, columns, data, sizes, start, stop, many, steps)
    return data[:used], columns[:used], sizes


def _count_paths(numba: Any) -> Any:
    """Breadth-first search from every node; `room` has the distances, which are -1 in between, and the queue."""
    carray, search = numba.carray, _search(numba)

    def loop(
        targets, ends, edges, labels, room, places, keys, data, sizes, start, stop, many, steps
    ):  # pragma: no cover
        graph_end = carray(edges, stop + 1)
        nodes = graph_end[stop]
        node_end, label = carray(ends, nodes + 1), carray(labels, nodes)
        to, memory = carray(targets, node_end[nodes]), carray(room, 2 * steps)
        place, size = carray(places, many * many * steps), carray(sizes, stop - start)
        key, count = carray(keys, nodes), carray(data, nodes)
        distance, queue = memory[:steps], memory[steps:]
        used = 0
        for graph in range(start, stop):
            offset, before = graph_end[graph], used
            for source in range(graph_end[graph], graph_end[graph + 1]):
                reached = search(to, node_end, distance, queue, source, offset)
                for i in range(1, reached):
                    pair = label[source] * many + label[queue[i]]
                    code = pair * steps + distance[queue[i] - offset]
                    at = place[code]
                    if at < before:
                        at = used
                        place[code], key[at], count[at] = at, code, 0.0
                        used += 1
                    count[at] += 1.0
                for i in range(reached):
                    distance[queue[i] - offset] = -1
            size[graph - start] = used - before
        return used

    return loop


def _search(numba: Any) -> Any:
    """Function for compiled loops: the nodes that a path joins with a source, in the order of their distances."""

    @numba.njit(inline="always")
    def search(to, node_end, distance, queue, source, offset):  # pragma: no cover
        distance[source - offset] = 0
        queue[0], head, tail = source, 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for e in range(node_end[node], node_end[node + 1]):
                if distance[to[e] - offset] < 0:
                    distance[to[e] - offset] = distance[node - offset] + 1
                    queue[tail] = to[e]
                    tail += 1
        return tail

    return search
