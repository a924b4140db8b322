"""Pairs of points with the smallest total distance: minimum perfect matching by cutting planes.

The linear program over edges needs, beside the degrees, the inequalities of Edmonds (1965): of every odd set of
points, at least one edge leaves. Violated ones are found among the components of a fractional solution, and edges that
were left out are priced by the dual variables, so that few of all pairs enter the program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NEIGHBOURS = 12  # of every point, whose edges begin the program
_ALL_EDGES = 30  # points of which all edges do
_MAX_ROUNDS = 60  # of cuts and prices; about ten suffice
_FRACTION = 1e-6  # below which the share of an edge is rounding
_EDGES_PER_ROUND = 4  # for each point, at most, that prices add at once


def matched_pairs(distances: np.ndarray) -> np.ndarray:
    """Disjoint pairs of an even number of points with the smallest sum of distances: (n / 2, 2).

    Where cuts by components leave fractions, an integer program over the edges at hand decides; the pairs are
    then those of a matching that may be slightly longer than the shortest.
    """
    n = len(distances)
    distances = distances / max(
        float(np.max(distances)), 1e-300
    )  # the solver has absolute tolerances
    edges, odd_sets = _first_edges(distances), []
    shares = np.empty(0)
    for _ in range(_MAX_ROUNDS):
        cuts = _cut_matrix(edges, odd_sets, n)
        shares, prices = _program(distances[edges[:, 0], edges[:, 1]], cuts, n)
        missing = _improving(distances, edges, odd_sets, prices)
        if len(missing):
            edges = np.concatenate([edges, missing])
            continue
        fractional = (shares > _FRACTION) & (shares < 1 - _FRACTION)
        if not np.any(fractional):
            return edges[shares > 0.5]
        fresh = [s for s in _odd_components(edges[shares > _FRACTION], n) if s not in odd_sets]
        if not fresh:
            break
        odd_sets += fresh
    return edges[_integer_program(distances, edges, _cut_matrix(edges, odd_sets, n)) > 0.5]


def _first_edges(distances: np.ndarray) -> np.ndarray:
    """Edges to near neighbours, and pairs along the order of the points, so that there is a matching."""
    n = len(distances)
    k = n - 1 if n <= _ALL_EDGES else min(_NEIGHBOURS, n - 1)
    near = np.argpartition(distances + np.diag(np.full(n, np.inf)), k - 1, axis=1)[:, :k]
    edges = np.stack([np.repeat(np.arange(n), k), near.ravel()], axis=1)
    chain = np.arange(n).reshape(-1, 2)
    return np.unique(np.sort(np.concatenate([edges, chain]), axis=1), axis=0)


def _cut_matrix(edges: np.ndarray, odd_sets: list[frozenset[int]], n: int) -> Any:
    """Which edges touch each point, then which leave each odd set: (n + sets, edges), sparse."""
    from scipy.sparse import csr_array, vstack

    columns = np.arange(len(edges))
    ones = np.ones(2 * len(edges))
    degrees = csr_array((ones, (edges.T.ravel(), np.tile(columns, 2))), shape=(n, len(edges)))
    if not odd_sets:
        return degrees
    inside = _membership(odd_sets, n)
    leaves = inside[:, edges[:, 0]] != inside[:, edges[:, 1]]
    return vstack([degrees, csr_array(leaves.astype(np.float64))], format="csr")


def _membership(odd_sets: list[frozenset[int]], n: int) -> np.ndarray:
    """Whether a point is in a set: (sets, n)."""
    inside = np.zeros((len(odd_sets), n), dtype=bool)
    for row, members in zip(inside, odd_sets, strict=True):
        row[list(members)] = True
    return inside


def _program(costs: np.ndarray, rows: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the edges in the linear program, and its dual variables."""
    from scipy.optimize import linprog

    extra: dict[str, Any] = {}
    if rows.shape[0] > n:
        extra = {"A_ub": -rows[n:], "b_ub": -np.ones(rows.shape[0] - n)}
    solution = linprog(costs, A_eq=rows[:n], b_eq=np.ones(n), bounds=(0, None), **extra)
    prices = solution.eqlin.marginals
    if extra:
        prices = np.concatenate([prices, -solution.ineqlin.marginals])
    return solution.x, prices


def _improving(
    distances: np.ndarray, edges: np.ndarray, odd_sets: list[frozenset[int]], prices: np.ndarray
) -> np.ndarray:
    """Edges outside of the program that would shorten the matching, the best few of each point: (k, 2)."""
    n = len(distances)
    reduced = distances - prices[:n, None] - prices[:n]
    for row, price in zip(_membership(odd_sets, n), prices[n:], strict=True):
        if price > 0:
            reduced -= price * (row[:, None] != row)
    np.fill_diagonal(reduced, np.inf)
    reduced[edges[:, 0], edges[:, 1]] = reduced[edges[:, 1], edges[:, 0]] = np.inf
    k = min(_EDGES_PER_ROUND, n - 1)
    best = np.argpartition(reduced, k - 1, axis=1)[:, :k]
    i, j = np.repeat(np.arange(n), k), best.ravel()
    short = reduced[i, j] < -1e-9 * float(np.max(distances))
    return np.unique(np.sort(np.stack([i[short], j[short]], axis=1), axis=1), axis=0)


def _odd_components(edges: np.ndarray, n: int) -> list[frozenset[int]]:
    """Components of an odd number of points."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    _, labels = connected_components(graph, directed=False)
    sizes = np.bincount(labels)
    odd = np.flatnonzero(sizes % 2)
    return [frozenset(np.flatnonzero(labels == label).tolist()) for label in odd]


def _integer_program(distances: np.ndarray, edges: np.ndarray, rows: Any) -> np.ndarray:
    """Which edges the shortest matching of these edges has."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n = len(distances)
    low: Any = np.ones(rows.shape[0])
    high: Any = np.where(np.arange(rows.shape[0]) < n, 1.0, np.inf)
    costs = distances[edges[:, 0], edges[:, 1]]
    solution = milp(
        costs,
        integrality=np.ones(len(edges)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, low, high),
    )
    return solution.x
