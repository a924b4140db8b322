"""Directions of the edges of a causal graph that independences determine: colliders and Meek's rules.

A graph of d variables is a Boolean matrix `marks`: `marks[i, j]` and not `marks[j, i]` is the arrow i -> j, both
are an edge without a direction.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

Collider = tuple[int, int, int]  # i -> k <- j as (i, k, j)


def pattern_of(dag: np.ndarray) -> np.ndarray:
    """CPDAG of a directed acyclic graph: the edges and directions shared by all graphs with its independences.

    Examples
    --------
    >>> chain, collider = np.zeros((3, 3), dtype=bool), np.zeros((3, 3), dtype=bool)
    >>> chain[0, 1] = chain[1, 2] = collider[0, 1] = collider[2, 1] = True
    >>> int(pattern_of(chain).sum()), int(pattern_of(collider).sum())  # 2 edges: without and with directions
    (4, 2)
    """
    adjacent = dag | dag.T
    colliders = [
        (i, k, j)
        for k in range(len(dag))
        for i, j in combinations(np.flatnonzero(dag[:, k]).tolist(), 2)
        if not adjacent[i, j]
    ]
    return oriented(adjacent, colliders)[0]


def oriented(adjacent: np.ndarray, colliders: Iterable[Collider]) -> tuple[np.ndarray, int]:
    """Arrows of the colliders, then those that follow by Meek's rules; and how many colliders were in conflict.

    A collider that would turn an arrow of an earlier one is left out, so the surest come first.
    """
    marks, conflicts = adjacent.copy(), 0
    for i, k, j in colliders:
        if not (marks[i, k] and marks[j, k]):
            conflicts += 1
            continue
        marks[k, i] = marks[k, j] = False
    return _completed(marks), conflicts


def _completed(marks: np.ndarray) -> np.ndarray:
    """Meek's rules 1 to 3, until none applies; without background knowledge they are complete (Meek 1995)."""
    marks, changed = marks.copy(), True
    while changed:
        changed = False
        for a, b in zip(*np.nonzero(marks & marks.T), strict=True):
            if marks[a, b] and marks[b, a] and _follows(marks, int(a), int(b)):
                marks[b, a], changed = False, True
    return marks


def _follows(marks: np.ndarray, a: int, b: int) -> bool:
    """Whether a - b must be a -> b: otherwise there were a new collider or a cycle."""
    arrows, lines = marks & ~marks.T, marks & marks.T
    adjacent = marks | marks.T
    if np.any(arrows[:, a] & ~adjacent[:, b]):  # rule 1: c -> a - b, c and b not adjacent
        return True
    if np.any(arrows[a, :] & arrows[:, b]):  # rule 2: a -> c -> b
        return True
    middles = np.flatnonzero(lines[a, :] & arrows[:, b]).tolist()  # rule 3: a - c -> b, a - d -> b
    return any(not adjacent[c, d] for c, d in combinations(middles, 2))


def d_separated(dag: np.ndarray, i: int, j: int, given: Iterable[int]) -> bool:
    """Whether i and j are d-separated by `given`: not connected in the moral graph of their ancestors."""
    given = set(given)
    relevant = ancestors(dag, {i, j} | given)
    moral = np.zeros_like(dag)
    for k in relevant:
        parents = [p for p in np.flatnonzero(dag[:, k]).tolist() if p in relevant]
        for p in parents:
            moral[p, k] = moral[k, p] = True
        for p, q in combinations(parents, 2):
            moral[p, q] = moral[q, p] = True
    reached, stack = {i}, [i]
    while stack:
        for k in np.flatnonzero(moral[stack.pop()]).tolist():
            if k not in reached and k not in given:
                reached.add(k)
                stack.append(k)
    return j not in reached


def ancestors(dag: np.ndarray, nodes: Iterable[int]) -> set[int]:
    """The nodes and all their ancestors."""
    reached = set(nodes)
    stack = list(reached)
    while stack:
        for parent in np.flatnonzero(dag[:, stack.pop()]).tolist():
            if parent not in reached:
                reached.add(parent)
                stack.append(parent)
    return reached
