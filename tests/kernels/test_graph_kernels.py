"""Graph kernels equal their definitions, do not depend on the order of nodes, and refuse what is no graph."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from numpy.testing import assert_allclose

from mercer.kernels import (
    Exponential,
    Graphlets,
    Graphs,
    OptimalAssignmentWL,
    Propagation,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
)
from mercer.kernels.graphs import shortest_paths
from tests.support.object_zoo import random_graph

_rng = np.random.default_rng(0)
ONE, LOOP = (np.zeros((1, 1)), ["a"]), (np.ones((1, 1)), ["b"])
GRAPHS = [ONE, LOOP, *(random_graph(_rng, n) for n in (4, 5, 6, 7))]  # some are not connected
_lengths = _rng.random((7, 7)) + 0.5
WEIGHTED = [(a * (_lengths + _lengths.T).round(3)[: len(a), : len(a)], b) for a, b in GRAPHS]


def refined(graph, rounds):
    adjacency, labels = graph[0], list(graph[1])
    counts = Counter()
    for h in range(rounds + 1):
        counts.update((h, label) for label in labels)
        neighbours = [[labels[v] for v in np.flatnonzero(row)] for row in adjacency]
        labels = [
            (own, tuple(sorted(n, key=repr))) for own, n in zip(labels, neighbours, strict=True)
        ]
    return counts


def distances(graph):
    adjacency, labels = graph
    n = len(labels)
    d = np.where(adjacency > 0, adjacency, np.inf)
    np.fill_diagonal(d, 0)
    for k in range(n):  # Floyd and Warshall
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1])
    pairs = permutations(range(n), 2)
    return Counter((labels[i], labels[j], round(d[i, j], 8)) for i, j in pairs if d[i, j] < np.inf)


def graphlets(graph, size):
    adjacency = (graph[0] > 0).astype(int)
    upper = np.triu_indices(size, 1)

    def kind(nodes):
        return min(tuple(adjacency[np.ix_(p, p)][upper]) for p in permutations(nodes))

    return Counter(kind(nodes) for nodes in combinations(range(len(adjacency)), size))


def walks(x, y, decay, exponential):
    (a, labels), (b, others) = x, y
    pairs = [(i, j) for i, s in enumerate(labels) for j, t in enumerate(others) if s == t]
    product = np.array([[a[i, k] * b[j, m] for k, m in pairs] for i, j in pairs])
    if not pairs:
        return 0.0
    if exponential:
        return scipy.linalg.expm(decay * product).sum()
    return np.linalg.inv(np.eye(len(pairs)) - decay * product).sum()


def dot(a, b):
    return sum(n * b[u] for u, n in a.items())


def smaller(a, b):
    return sum(min(n, b[u]) for u, n in a.items())


CASES = {
    "WL": (WeisfeilerLehman(3), lambda g: refined(g, 3), dot),
    "assignment": (OptimalAssignmentWL(2), lambda g: refined(g, 2), smaller),
    "paths": (ShortestPath(), distances, dot),
    "3 nodes": (Graphlets(3), lambda g: graphlets(g, 3), dot),
    "4 nodes": (Graphlets(4), lambda g: graphlets(g, 4), dot),
    "5 nodes": (Graphlets(5), lambda g: graphlets(g, 5), dot),
    "walks": (RandomWalk(0.02), lambda g: g, lambda a, b: walks(a, b, 0.02, False)),
    "exponential": (
        RandomWalk(0.1, kind=Exponential()), lambda g: g, lambda a, b: walks(a, b, 0.1, True),
    ),
}  # fmt: skip


def assert_definition(name, graphs):
    kernel, features, product = CASES[name]
    counts = [features(g) for g in graphs]
    expected = np.array([[product(a, b) for b in counts] for a in counts], dtype=float)
    scale = 1e-12 * max(1.0, expected.max())
    assert_allclose(kernel(graphs), expected, rtol=0, atol=scale)
    assert_allclose(kernel(graphs[:3], graphs[3:]), expected[:3, 3:], rtol=0, atol=scale)


@pytest.mark.parametrize("name", CASES)
def test_definition(name):
    assert_definition(name, GRAPHS)


def test_shortest_paths_by_scipy_and_with_weights(monkeypatch):
    assert_definition("paths", WEIGHTED)
    monkeypatch.setattr(shortest_paths, "is_quick", lambda *_: False)
    assert_definition("paths", GRAPHS)


@pytest.mark.parametrize(
    "kernel", [*(case[0] for case in CASES.values()), Propagation(3)], ids=[*CASES, "propagation"]
)
def test_the_order_of_nodes_does_not_matter(kernel):
    rng = np.random.default_rng(1)
    orders = [rng.permutation(len(labels)) for _, labels in GRAPHS]
    moved = [(a[np.ix_(p, p)], [b[i] for i in p]) for (a, b), p in zip(GRAPHS, orders, strict=True)]
    assert_allclose(kernel(moved), kernel(GRAPHS), rtol=1e-12)


def test_propagation_counts_nodes_in_bins():
    """With no steps and wide enough labels apart, bins are labels; means of attributes stay in wide bins."""
    labels = WeisfeilerLehman(0)(GRAPHS)
    assert_allclose(Propagation(0, width=1e-6)(GRAPHS), labels)
    with_attributes = [(a, b, np.ones((len(b), 2))) for a, b in GRAPHS]
    sizes = np.array([len(b) for _, b in GRAPHS])
    assert_allclose(Propagation(2)(with_attributes), 3 * np.outer(sizes, sizes))


def test_graphs_come_as_they_are():
    """Networkx, sparse matrices, tuples and the packed container give the same values."""
    networkx = pytest.importorskip("networkx")
    path = networkx.path_graph(4)
    for node, label in zip(path, "CCOC", strict=True):
        path.nodes[node]["label"] = label
    adjacency = networkx.to_numpy_array(path)
    k = ShortestPath()
    graphs = [path, (adjacency, "CCOC"), (scipy.sparse.coo_matrix(adjacency), list("CCOC"))]
    values = k([*graphs, (adjacency.tolist(), np.array(list("CCOC")))])
    assert np.all(values == values[0, 0])
    assert_allclose(k(Graphs.of(graphs)), values[:3, :3])
    assert_allclose(k(Graphs.of(graphs)[1:]), values[:2, :2])
    assert k([(adjacency,)], [path])[0, 0] == 0  # no label is another label
    with pytest.raises(ValueError, match="directed"):
        k([networkx.path_graph(3, create_using=networkx.DiGraph)])


def test_refused():
    edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    for wrong, words in (
        ((-edge,), "negative weights"),
        ((np.triu(edge),), "symmetric"),
        ((edge[:1],), "square"),
        ((edge, "a"), "one label for each"),
        ((edge, [None, "a"]), "text or numbers"),
        ((edge * np.nan,), "NaN"),
        ((edge, "ab", np.ones(3)), "attributes"),
        (None, "must be a graph"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            WeisfeilerLehman(1)([(edge,), wrong])
    with pytest.raises(ValueError, match="decay must be less"):
        RandomWalk(2.0)([(edge,)])
    with pytest.raises(TypeError, match="kind must be"):
        RandomWalk(2.0, kind="geometric")
    with pytest.raises(ValueError, match="3, 4 or 5"):
        Graphlets(6)
