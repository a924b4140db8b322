"""Graphlet kernel: counts of small induced subgraphs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.feature_counts import FeatureTable, feature_table, mixed
from mercer.kernels.graphs.packed_graphs import GraphFeatures, Graphs

_SIZES = range(3, 6)
_CHUNK = 100_000  # subsets of nodes looked at together


@dataclass(frozen=True)
class Graphlets(GraphFeatures):
    """Counts of the induced subgraphs of `size` nodes, up to isomorphism: <counts of x, counts of y>.

    Graphlets of three nodes differ by their number of edges. Labels, weights and self-loops do not matter.
    All subsets of nodes are enumerated: n^size / size! for a graph of n nodes.

    References
    ----------
    N. Shervashidze, S. V. N. Vishwanathan, T. Petri, K. Mehlhorn, K. M. Borgwardt (2009). Efficient
    graphlet kernels for large graph comparison. AISTATS.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> Graphlets(3)([(path,), (triangle,)])
    array([[1., 0.],
           [0., 1.]])
    """

    size: int

    def __post_init__(self) -> None:
        validate.whole("size", self.size)
        if self.size not in _SIZES:
            raise ValueError(f"size must be 3, 4 or 5 nodes, got {self.size}")

    def view(self, items: Graphs, /) -> FeatureTable:
        rows, codes, counts = [], [], []
        for i in range(len(items)):
            kinds, numbers = np.unique(self._kinds(items[i : i + 1]), return_counts=True)
            rows.append(np.full(len(kinds), i))
            codes.append(kinds)
            counts.append(numbers.astype(np.float64))
        columns = (np.concatenate(parts) for parts in (rows, codes, counts))
        owners, kinds, numbers = columns
        return feature_table(owners, mixed(kinds), numbers, len(items))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        names: dict[int, str] = {}
        for i in range(len(items)):
            for kind in np.unique(self._kinds(items[i : i + 1])):
                code = int(mixed(np.array([kind]))[0])
                digits = [
                    int(kind) // (self.size + 1) ** j % (self.size + 1) for j in range(self.size)
                ]
                names.setdefault(
                    code, f"{self.size} nodes of degrees {sorted(digits, reverse=True)}"
                )
        return [names[int(code)] for code in codes]

    def _kinds(self, graph: Graphs) -> np.ndarray:
        """A number for the isomorphism class of the subgraph on each subset of nodes.

        Sorted degrees, with the number of triangles, differ for all graphs of up to five nodes.
        """
        adjacent = graph.adjacency.toarray() > 0
        np.fill_diagonal(adjacent, False)
        subsets = np.array(list(combinations(range(len(adjacent)), self.size)), dtype=np.int64)
        kinds = [np.empty(0, dtype=np.uint64)]
        for start in range(0, len(subsets), _CHUNK):
            part = subsets[start : start + _CHUNK]
            inside = adjacent[part[:, :, None], part[:, None, :]].astype(np.int64)
            degrees = np.sort(inside.sum(axis=2), axis=1)
            triangles = np.trace(inside @ inside @ inside, axis1=1, axis2=2) // 6
            base = self.size + 1
            number = degrees @ base ** np.arange(self.size) + triangles * base**self.size
            kinds.append(number.astype(np.uint64))
        return np.concatenate(kinds)
