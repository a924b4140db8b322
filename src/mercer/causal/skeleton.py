"""Skeleton of a causal graph: pairs that no other variables make independent (PC-stable)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mercer.causal.orientation import Collider

PValue = Callable[[int, int, tuple[int, ...]], float]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Edges without directions, what separates the other pairs, and the tests behind both.

    `pvalues[i, j]` is the largest p-value of the pair over all conditioning sets: a valid p-value, though a
    conservative one, of the hypothesis that some set separates the pair.
    """

    adjacent: np.ndarray  # (d, d)
    separators: dict[tuple[int, int], tuple[int, ...]]
    pvalues: np.ndarray  # (d, d), NaN on the diagonal
    tests: int

    def colliders(self) -> list[Collider]:
        """i -> k <- j where i and j are not adjacent and k does not separate them, the surest pair first."""
        triples = [
            (i, k, j)
            for (i, j), between in self.separators.items()
            for k in range(len(self.adjacent))
            if self.adjacent[i, k] and self.adjacent[j, k] and k not in between
        ]
        return sorted(triples, key=lambda t: (-self.pvalues[t[0], t[2]], t))


def stable_skeleton(d: int, pvalue: PValue, level: float, most_given: int | None) -> Skeleton:
    """PC-stable (Colombo and Maathuis 2014): pairs are separated by sets of growing size.

    Conditioning sets are of neighbours at the start of each size, so that the answer does not depend on the order of
    the variables. Where several sets of one size separate a pair, the one with the largest p-value is kept.
    """
    adjacent = ~np.eye(d, dtype=bool)
    largest = np.where(np.eye(d, dtype=bool), np.nan, 0.0)
    separators: dict[tuple[int, int], tuple[int, ...]] = {}
    size, tests = 0, 0
    while size <= (d - 2 if most_given is None else most_given):
        fixed, candidates = adjacent.copy(), 0
        for i, j in combinations(range(d), 2):
            if not adjacent[i, j]:
                continue
            sets = _conditioning_sets(fixed, i, j, size)
            candidates += len(sets)
            for between in sets:
                tests += 1
                p = pvalue(i, j, between)
                if p > largest[i, j]:
                    largest[i, j] = largest[j, i] = p
                    if p > level:
                        separators[i, j] = between
                if p > level:
                    adjacent[i, j] = adjacent[j, i] = False
        if candidates == 0:
            break
        size += 1
    return Skeleton(adjacent, separators, largest, tests)


def _conditioning_sets(adjacent: np.ndarray, i: int, j: int, size: int) -> list[tuple[int, ...]]:
    """Sets of `size` neighbours of i or of j, each once."""
    sets: dict[tuple[int, ...], None] = {}
    for node, other in ((i, j), (j, i)):
        neighbours = [k for k in np.flatnonzero(adjacent[node]).tolist() if k != other]
        sets |= dict.fromkeys(combinations(neighbours, size))
    return list(sets)
