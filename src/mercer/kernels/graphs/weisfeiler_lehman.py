"""Weisfeiler-Lehman kernels: labels of nodes, refined by those of their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels import feature_loops
from mercer.kernels.feature_counts import (
    FeatureTable,
    chained,
    counted_table,
    feature_table,
    mixed,
)
from mercer.kernels.feature_loops import counts_compiled, hash_mixer, numbered
from mercer.kernels.graphs.packed_graphs import GraphFeatures, Graphs
from mercer.native import is_quick, native_loop

_REFINING = "long* long* long* long* long* long long"
_SOURCES = (feature_loops.__file__,)


@dataclass(frozen=True)
class WeisfeilerLehman(GraphFeatures):
    """Common refined labels: sum over h = 0, ..., `iterations` of <label counts of x, label counts of y>.

    The labels of round h + 1 are those of round h together with the multiset of the labels of all
    neighbours. A self-loop makes a node its own neighbour; weights of edges do not matter.

    References
    ----------
    N. Shervashidze, P. Schweitzer, E. J. van Leeuwen, K. Mehlhorn, K. M. Borgwardt (2011).
    Weisfeiler-Lehman graph kernels. JMLR 12, 2539-2561.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> WeisfeilerLehman(1)([(path,), (triangle,)])
    array([[14., 12.],
           [12., 18.]])
    """

    iterations: int

    def __post_init__(self) -> None:
        validate.whole("iterations", self.iterations, 0)

    def view(self, items: Graphs, /) -> FeatureTable:
        rounds = self.iterations + 1
        if is_quick(_refine, _REFINING, _SOURCES) and counts_compiled():
            codes, numbers = numbered(_refined_codes(items, rounds))
            return counted_table(numbers, items.edges * rounds, None, codes)
        codes = np.concatenate(list(refined_labels(items, self.iterations)))
        return feature_table(np.tile(items.owners, rounds), codes, None, len(items))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        return describe_labels(items, codes, self.iterations)


@dataclass(frozen=True)
class OptimalAssignmentWL(GraphFeatures):
    """Optimal assignment of nodes by their refined labels: sum over labels of the smaller of two counts.

    The best assignment of the nodes of x to those of y, where two nodes are worth the number of rounds
    h = 0, ..., `iterations` in which their labels are equal (see `WeisfeilerLehman`).

    References
    ----------
    N. M. Kriege, P.-L. Giscard, R. C. Wilson (2016). On valid optimal assignment kernels and applications
    to graph classification. NeurIPS 29.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> OptimalAssignmentWL(1)([(path,), (triangle,)])
    array([[6., 4.],
           [4., 6.]])
    """

    iterations: int

    def __post_init__(self) -> None:
        validate.whole("iterations", self.iterations, 0)

    def view(self, items: Graphs, /) -> FeatureTable:
        table = WeisfeilerLehman(self.iterations).view(items)
        counts = table.counts.data.astype(np.int64)
        rows = np.repeat(np.arange(len(items)), np.diff(table.counts.indptr))
        # min(a, b) = sum over i of [i < a] [i < b]: a feature for the first, second, ... node of a label
        numbers = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        codes = chained(
            np.repeat(table.vocabulary[table.counts.indices], counts), numbers.astype(np.uint64)
        )
        return feature_table(np.repeat(rows, counts), codes, None, len(items))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        most = int(items.nodes.max())
        labels = np.unique(np.concatenate(list(refined_labels(items, self.iterations))))
        names: dict[int, str] = {}
        for number in range(most):
            here = chained(labels, np.full(len(labels), number, dtype=np.uint64))
            for at in np.flatnonzero(np.isin(here, codes)):
                (name,) = describe_labels(items, labels[at : at + 1], self.iterations)
                names[int(here[at])] = f"{name}, at least {number + 1} times"
        return [names[int(code)] for code in codes]


def refined_labels(graphs: Graphs, iterations: int) -> Iterator[np.ndarray]:
    """Codes of the labels of all nodes in each round; the sum of mixed codes is that of a multiset."""
    labels = mixed(graphs.labels)
    yield labels
    for _ in range(iterations):
        sums = np.zeros(len(labels), dtype=np.uint64)
        full = np.flatnonzero(graphs.degrees)
        if len(full):
            of_neighbours = mixed(labels)[graphs.targets]
            sums[full] = np.add.reduceat(of_neighbours, graphs.ends[full])
        labels = chained(labels, sums)
        yield labels


def _refined_codes(graphs: Graphs, rounds: int) -> np.ndarray:
    """The same codes from a compiled loop, those of each node together: (nodes * rounds,)."""
    nodes = len(graphs.labels)
    codes, sums = np.empty(nodes * rounds, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    loop = native_loop(_refine, _REFINING, _SOURCES)
    loop(graphs.targets, graphs.ends, graphs.labels, sums, codes, nodes, rounds)
    return codes.view(np.uint64)


def describe_labels(graphs: Graphs, codes: np.ndarray, iterations: int) -> list[str]:
    """A node that has each label: its graph and number, and the round."""
    names: dict[int, str] = {}
    for step, labels in enumerate(refined_labels(graphs, iterations)):
        distinct, first = np.unique(labels, return_index=True)
        for code in np.intersect1d(distinct, codes):
            node = int(first[np.searchsorted(distinct, code)])
            graph = int(graphs.owners[node])
            place = node - int(graphs.edges[graph])
            around = f"neighbourhood of radius {step} around" if step else "label of"
            names[int(code)] = f"{around} node {place} of graph {graph}"
    return [names[int(code)] for code in codes]


def _refine(numba: Any) -> Any:
    carray, (mix, multiplier) = numba.carray, hash_mixer(numba)

    def loop(targets, ends, labels, sums, codes, nodes, rounds):  # pragma: no cover
        end, label, mixed_labels = (
            carray(ends, nodes + 1),
            carray(labels, nodes),
            carray(sums, nodes),
        )
        to, out = carray(targets, end[nodes]), carray(codes, nodes * rounds)
        for node in range(nodes):
            out[node * rounds] = mix(label[node])
        for step in range(1, rounds):
            for node in range(nodes):
                mixed_labels[node] = mix(out[node * rounds + step - 1])
            for node in range(nodes):
                total = mixed_labels[node] * multiplier
                for e in range(end[node], end[node + 1]):
                    total += mixed_labels[to[e]]
                out[node * rounds + step] = mix(total)
        return 0

    return loop
