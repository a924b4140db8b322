"""The multiscale Laplacian kernel equals the recursion of Kondor and Pan, written with eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from mercer.kernels import RBF, MultiscaleLaplacian, facts
from tests.support.object_zoo import random_graph

GAMMA, ETA = 0.2, 0.3
_rng = np.random.default_rng(0)
ONE, APART = (np.zeros((1, 1)), ["a"]), (np.zeros((3, 3)), ["a", "b", "a"])
GRAPHS = [ONE, APART, *(random_graph(_rng, n) for n in (3, 5, 6))]  # some with self-loops


def laplacian_inverse(adjacency):
    weights = adjacency - np.diag(np.diagonal(adjacency))
    return np.linalg.inv(np.diag(weights.sum(axis=1)) - weights + ETA * np.eye(len(weights)))


def coefficient(a, b, values):
    """Definition 3 of the paper: features from eigenvectors of the joint kernel matrix of all nodes."""
    n = len(a)
    eigenvalues, vectors = np.linalg.eigh(values)
    q = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    s, t = (
        part.T @ laplacian_inverse(m) @ part + GAMMA * np.eye(q.shape[1])
        for m, part in ((a, q[:n]), (b, q[n:]))
    )
    middle = np.linalg.inv((np.linalg.inv(s) + np.linalg.inv(t)) / 2)
    det = np.linalg.det
    return det(middle) ** 0.5 / (det(s) ** 0.25 * det(t) ** 0.25)


def steps(adjacency):
    return scipy.sparse.csgraph.shortest_path(adjacency > 0, unweighted=True)


def brute_force(x, y, levels):
    graphs = [x, y]
    nodes = [(g, v) for g in range(2) for v in range(len(graphs[g][0]))]
    values = np.array(
        [[float(graphs[g][1][v] == graphs[h][1][w]) for h, w in nodes] for g, v in nodes]
    )
    place = {node: i for i, node in enumerate(nodes)}
    for radius in range(1, levels + 1):
        near = [
            [(g, w) for w in np.flatnonzero(steps(graphs[g][0])[v] <= radius)] for g, v in nodes
        ]

        def induced(members):
            rows = [v for _, v in members]
            return graphs[members[0][0]][0][np.ix_(rows, rows)]

        values = np.array(
            [
                [
                    coefficient(
                        induced(a), induced(b), values[np.ix_(*2 * [[place[m] for m in a + b]])]
                    )
                    for b in near
                ]
                for a in near
            ]
        )
    return coefficient(x[0], y[0], values)


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_definition(levels):
    expected = [[brute_force(x, y, levels) for y in GRAPHS] for x in GRAPHS]
    kernel = MultiscaleLaplacian(levels, gamma=GAMMA, eta=ETA)
    # Determinants of nearly singular matrices of the eigenvectors lose a few digits, ours do not.
    assert_allclose(kernel(GRAPHS), expected, rtol=1e-9)


def test_nodes_in_another_order_and_loops():
    adjacency, labels = random_graph(_rng, 7)
    order = _rng.permutation(7)
    twin = adjacency[np.ix_(order, order)], [labels[i] for i in order]
    loops = adjacency + 3 * np.eye(7), labels
    values = MultiscaleLaplacian(3)([(adjacency, labels), twin, loops])
    assert_allclose(values, 1, rtol=1e-12)


def test_attributes_of_nodes():
    """A linear base on indicators of labels is the default; another one needs attributes."""
    graphs = [(a, None, np.array([[s == "a", s == "b"] for s in b], float)) for a, b in GRAPHS]
    kernel = MultiscaleLaplacian(1, base=RBF(1e-3))  # 1 for equal attributes, otherwise 0
    assert_allclose(kernel(graphs), MultiscaleLaplacian(1)(GRAPHS), rtol=1e-12)
    assert facts(kernel).positive_definite
    with pytest.raises(ValueError, match="attributes of nodes"):
        kernel(GRAPHS)
