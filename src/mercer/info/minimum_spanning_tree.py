"""Euclidean minimum spanning trees of points, by Prim's algorithm in O(n^2) time and O(n) memory."""

from __future__ import annotations

import numpy as np


def spanning_trees(points: np.ndarray, trees: int = 1) -> np.ndarray:
    """Edges of the minimum spanning tree, then of the one without these edges, and so on: (k (n - 1), 2).

    Repeated points are joined by edges of length 0. A tree that must do without the edges of those before may not exist;
    then there are fewer edges.
    """
    n = len(points)
    excluded: list[list[int]] = [[] for _ in range(n)]
    edges: list[tuple[int, int]] = []
    points = points - points.mean(axis=0)
    norms = np.einsum("ij,ij->i", points, points)
    for _ in range(trees):
        tree = _prim(points, norms, excluded)
        for i, j in tree:
            excluded[i].append(j)
            excluded[j].append(i)
        edges += tree
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def _prim(
    points: np.ndarray, norms: np.ndarray, excluded: list[list[int]]
) -> list[tuple[int, int]]:
    """Edges of one tree: the nearest point outside joins the point of the tree that it is nearest to."""
    n, current = len(points), 0
    squared = np.full(n, np.inf)  # distance of each point outside to the tree
    nearest = np.zeros(n, dtype=np.int64)
    outside = np.ones(n, dtype=bool)
    outside[0] = False
    tree: list[tuple[int, int]] = []
    for _ in range(n - 1):
        to_current = np.maximum(norms + (norms[current] - 2 * (points @ points[current])), 0.0)
        to_current[excluded[current]] = np.inf
        closer = outside & (to_current < squared)
        squared[closer], nearest[closer] = to_current[closer], current
        reachable = np.where(outside, squared, np.inf)
        current = int(np.argmin(reachable))
        if not np.isfinite(reachable[current]):
            break  # the edges of earlier trees separate the points
        outside[current] = False
        tree.append((int(nearest[current]), current))
    return tree
