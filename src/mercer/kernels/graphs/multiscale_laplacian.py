"""Multiscale Laplacian kernel: graphs compared by the Laplacians of their neighbourhoods, at growing radii."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, to_numpy
from mercer.kernels.base import Kernel, Points, require_kernels
from mercer.kernels.feature_counts import chained, mixed
from mercer.kernels.graphs.packed_graphs import Graphs
from mercer.kernels.objects import ObjectKernel

_REFINEMENTS = 3  # rounds that tell most nodes of a neighbourhood apart
_NUMBERS_AT_ONCE = 2**21  # of the matrices whose determinants are taken together: 16 MiB


@dataclass(frozen=True)
class MultiscaleLaplacian(ObjectKernel):
    """Multiscale Laplacian graph kernel of Kondor and Pan: neighbourhoods of radius 1, ..., `levels`, then graphs.

    A graph whose nodes have feature vectors, the rows of Q, is represented by the Gaussian N(0, S) with
    S = Q'(L + eta I)^-1 Q + gamma I, where L is the Laplacian of the graph. Two graphs have the Bhattacharyya
    coefficient |S|^(1/4) |T|^(1/4) |(S + T) / 2|^(-1/2) of their Gaussians, which depends on the kernel of the
    features only. Level 0 compares nodes by `base`. Level l compares two nodes by the coefficient of the
    subgraphs induced by all nodes within l steps of each, whose nodes are compared by level l - 1. The graphs
    are compared as a whole by the last level. Values are in (0, 1] and k(x, x) = 1. Self-loops do not change a
    Laplacian, and weights of edges are its entries.

    Parameters
    ----------
    levels : int
        Number of levels below the whole graph; 0 compares the nodes by `base` alone.
    gamma : float
        Smoothing of the features.
    eta : float
        Added to the Laplacians, which are singular.
    base : Kernel or None
        Kernel of the attributes of nodes. None: 1 for equal labels of nodes, else 0.

    References
    ----------
    R. Kondor, H. Pan (2016). The multiscale Laplacian graph kernel. NIPS.

    Examples
    --------
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> MultiscaleLaplacian(1)([(path, "CCO"), (triangle, "CCO"), (path, "OCC")]).round(3)
    array([[1.   , 0.234, 1.   ],
           [0.234, 1.   , 0.234],
           [1.   , 0.234, 1.   ]])
    """

    levels: int
    gamma: float = field(default=0.1, kw_only=True)
    eta: float = field(default=0.1, kw_only=True)
    base: Kernel | None = field(default=None, kw_only=True)
    domain = "labelled undirected graphs"
    expensive = True

    def __post_init__(self) -> None:
        validate.whole("levels", self.levels, 0)
        validate.positive("gamma", self.gamma)
        validate.positive("eta", self.eta)
        if self.base is not None:
            require_kernels(base=self.base)

    def parts(self) -> dict[str, Kernel]:
        return {}  # the points of the base are attributes of nodes, not graphs

    def items(self, x: Any, name: str, /) -> Graphs:
        graphs = Graphs.of(x, name)
        if self.base is not None and graphs.attributes is None:
            raise ValueError(
                f"{name} must have attributes of nodes, which base compares: give graphs as (adjacency, labels, "
                "attributes), or leave out base"
            )
        return graphs

    def view(self, items: Graphs, /) -> Graphs:
        return items

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        if y is x:
            pairs = np.triu_indices(len(left))
            values = self._values(left, *pairs)
            out = np.empty((len(left), len(left)), dtype=np.float64)
            out[pairs] = out[pairs[::-1]] = values
            return out
        right = self.viewed(y)
        i, j = np.indices((len(left), len(right))).reshape(2, -1)
        return self._values(left.joined(right), i, len(left) + j).reshape(len(left), len(right))

    def paired(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        i = np.arange(len(left))
        return self._values(left.joined(right), i, len(left) + i)

    def diag(self, x: Points, /) -> Array:
        return np.ones(len(x), dtype=np.float64)

    def _values(self, graphs: Graphs, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The kernel of pairs of graphs, by their positions."""
        kinds, values = self._base_values(graphs)
        for radius in range(1, self.levels + 1):
            subgraphs, kinds = _neighbourhoods(graphs, kinds, radius, self.eta)
            pairs = np.triu_indices(len(subgraphs))
            upper = self._coefficients(subgraphs, values, *pairs)
            values = np.empty((len(subgraphs), len(subgraphs)), dtype=np.float64)
            values[pairs] = values[pairs[::-1]] = upper
        wholes = [
            _Subgraph.of(_dense(graphs, i), kinds[graphs.edges[i] : graphs.edges[i + 1]], self.eta)
            for i in range(len(graphs))
        ]
        return self._coefficients(wholes, values, first, second)

    def _base_values(self, graphs: Graphs) -> tuple[np.ndarray, np.ndarray]:
        """Kind of each node, and the base kernel of all pairs of kinds."""
        if self.base is None:
            labels, kinds = np.unique(graphs.labels, return_inverse=True)
            return kinds, np.eye(len(labels), dtype=np.float64)
        rows, kinds = np.unique(np.asarray(graphs.attributes), axis=0, return_inverse=True)
        points = self.base.accept(rows)
        return kinds.ravel(), to_numpy(self.base.pairwise(points, points)).astype(np.float64)

    def _coefficients(
        self, subgraphs: list[_Subgraph], values: np.ndarray, first: np.ndarray, second: np.ndarray
    ) -> np.ndarray:
        """Bhattacharyya coefficients of pairs of subgraphs whose kinds of nodes have these kernel values.

        With F = R Q and R'R = (L + eta I)^-1, log |S| = log |I + F F' / gamma| + const, and likewise for
        (S + T) / 2 with the rows of both graphs. Rows of zeros, which make all matrices equally large, do not
        change a determinant of I + F F'.
        """
        sizes = np.array([len(s.kinds) for s in subgraphs])
        own = np.concatenate(
            [
                _log_determinants([[s] for s in block], values, self.gamma, int(width))
                for block, width in _blocks(subgraphs, sizes)
            ]
        )
        totals = sizes[first] + sizes[second]
        order = np.argsort(totals, kind="stable")
        out = np.empty(len(first), dtype=np.float64)
        start = 0
        while start < len(order):
            many = max(_NUMBERS_AT_ONCE // int(totals[order[start]]) ** 2, 1)
            rows = order[start : start + many]
            pairs = [[subgraphs[first[r]], subgraphs[second[r]]] for r in rows]
            width = int(totals[rows].max())
            both = _log_determinants(pairs, values, 2 * self.gamma, width)
            out[rows] = (own[first[rows]] + own[second[rows]]) / 4 - both / 2
            start += len(rows)
        return np.exp(np.minimum(out, 0.0))


@dataclass(frozen=True, eq=False)
class _Subgraph:
    """Kinds of the nodes of a graph, and a root R of the regularised inverse Laplacian: R'R = (L + eta I)^-1."""

    kinds: np.ndarray  # (m,)
    root: np.ndarray  # (m, m)

    @classmethod
    def of(cls, adjacency: np.ndarray, kinds: np.ndarray, eta: float) -> _Subgraph:
        laplacian = np.diag(adjacency.sum(axis=1)) - adjacency + eta * np.eye(len(adjacency))
        return cls(kinds, linalg.inv(linalg.cholesky(laplacian)))


def _log_determinants(
    groups: list[list[_Subgraph]], values: np.ndarray, scale: float, width: int
) -> np.ndarray:
    """log |I + F F' / scale| for the nodes of each group of subgraphs: (groups,)."""
    roots = np.zeros((len(groups), width, width), dtype=np.float64)
    kinds = np.zeros((len(groups), width), dtype=np.int64)
    for g, group in enumerate(groups):
        start = 0
        for subgraph in group:
            stop = start + len(subgraph.kinds)
            roots[g, start:stop, start:stop] = subgraph.root
            kinds[g, start:stop] = subgraph.kinds
            start = stop
    products = roots @ values[kinds[:, :, None], kinds[:, None, :]] @ roots.transpose(0, 2, 1)
    return linalg.slogdet(np.eye(width) + products / scale)[1]


def _blocks(
    subgraphs: list[_Subgraph], sizes: np.ndarray
) -> Iterator[tuple[list[_Subgraph], np.int64]]:
    """Runs of subgraphs whose matrices, padded to the largest of the run, are held together."""
    start, widest = 0, int(sizes.max())
    many = max(_NUMBERS_AT_ONCE // widest**2, 1)
    while start < len(subgraphs):
        stop = start + many
        yield subgraphs[start:stop], sizes[start:stop].max()
        start = stop


def _dense(graphs: Graphs, i: int) -> np.ndarray:
    """Adjacency matrix of a graph without self-loops, which do not change its Laplacian: (m, m)."""
    adjacency = graphs[i : i + 1].adjacency.toarray()
    np.fill_diagonal(adjacency, 0.0)
    return adjacency


def _neighbourhoods(
    graphs: Graphs, kinds: np.ndarray, radius: int, eta: float
) -> tuple[list[_Subgraph], np.ndarray]:
    """Different neighbourhoods of nodes, and which of them each node has.

    Nodes of a neighbourhood are sorted by distance and refined labels, so that most isomorphic ones become equal;
    those that do not are computed twice, with the same values.
    """
    from scipy.sparse.csgraph import shortest_path

    known: dict[bytes, int] = {}
    subgraphs: list[_Subgraph] = []
    which = np.empty(len(kinds), dtype=np.int64)
    for i in range(len(graphs)):
        offset, adjacency = graphs.edges[i], _dense(graphs, i)
        steps = shortest_path(adjacency > 0, unweighted=True, directed=False)
        for v in range(len(adjacency)):
            near = np.flatnonzero(steps[v] <= radius)
            induced = adjacency[np.ix_(near, near)]
            order = np.lexsort(
                (_refined(induced, kinds[offset + near], steps[v, near]), steps[v, near])
            )
            induced, inside = induced[np.ix_(order, order)], kinds[offset + near[order]]
            key = inside.tobytes() + b"|" + induced.tobytes()
            if key not in known:
                known[key] = len(subgraphs)
                subgraphs.append(_Subgraph.of(induced, inside, eta))
            which[offset + v] = known[key]
    return subgraphs, which


def _refined(adjacency: np.ndarray, kinds: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Codes of nodes that do not depend on their order, from kinds, distances and those of neighbours."""
    codes = chained(mixed(kinds.astype(np.uint64)), steps.astype(np.uint64))
    joined_by = (adjacency > 0).astype(np.uint64)
    for _ in range(_REFINEMENTS):
        codes = chained(codes, joined_by @ mixed(codes))
    return codes
