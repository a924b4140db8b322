"""Tree kernels: common complete subtrees, subset trees and partial trees."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array
from mercer.kernels.base import Points
from mercer.kernels.feature_counts import FeatureCounts, FeatureTable, feature_table
from mercer.kernels.objects import ObjectKernel
from mercer.kernels.trees.node_pairs import partial_tree_sums, subset_tree_sums
from mercer.kernels.trees.packed_trees import PackedTrees, checked_trees, packed, post_order


@dataclass(frozen=True)
class Subtree(FeatureCounts):
    """Common complete subtrees: sum over subtrees t of decay^(inner nodes of t) count_t(x) count_t(y).

    A subtree is a node with all of its descendants, in order; leaves alone do not count. Points are trees
    (label, children), with a list of children; a leaf may be given as its label.

    References
    ----------
    S. V. N. Vishwanathan, A. J. Smola (2003). Fast kernels for string and tree matching. NeurIPS 15.

    Examples
    --------
    >>> np_ = ("NP", ["the", "dog"])
    >>> Subtree(0.5)([("S", [np_, ("VP", ["runs"])]), np_])
    array([[1.125, 0.5  ],
           [0.5  , 0.5  ]])
    """

    decay: float
    domain = "labelled ordered trees"

    def __post_init__(self) -> None:
        decay_of_nodes("decay", self.decay)

    def items(self, x: Any, name: str, /) -> list[Any]:
        return checked_trees(x, name)

    def view(self, items: list[Any], /) -> FeatureTable:
        trees = packed(items)
        codes, inner = _subtrees(trees)
        nodes = np.flatnonzero(inner > 0)
        values = self.decay ** (inner[nodes] / 2)
        return feature_table(trees.owners[nodes], codes[nodes], values, len(trees))

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        names: dict[int, str] = {}
        for item in items:
            trees = packed([item])
            own, _ = _subtrees(trees)
            for node in np.flatnonzero(np.isin(own, codes)):
                names.setdefault(int(own[node]), _written(item, int(node)))
        return [names[int(code)] for code in codes]


class _OfNodePairs(ObjectKernel):
    """A kernel that is a sum over pairs of nodes of two trees."""

    domain = "labelled ordered trees"
    expensive = True

    @abstractmethod
    def sums(self, x: PackedTrees, y: PackedTrees, /) -> np.ndarray:
        """k(x_i, y_j) for all pairs."""

    def items(self, x: Any, name: str, /) -> list[Any]:
        return checked_trees(x, name)

    def view(self, items: list[Any], /) -> PackedTrees:
        return packed(items)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        return self.sums(left, left if y is x else self.viewed(y))

    def paired(self, x: Points, y: Points, /) -> Array:
        a, b = self.viewed(x), self.viewed(y)
        values = [self.sums(a[i : i + 1], b[i : i + 1])[0, 0] for i in range(len(a))]
        return np.array(values, dtype=np.float64)


@dataclass(frozen=True)
class SubsetTree(_OfNodePairs):
    """Common subset trees: parts of a tree in which each node has all of its children or none.

    k(x, y) = sum over nodes a of x and b of y of C(a, b); C is 0 unless a and b have the same production
    (their label with the labels of their children, in order), and otherwise decay times the product over
    children of 1 + C. Leaves have no production.

    References
    ----------
    M. Collins, N. Duffy (2001). Convolution kernels for natural language. NeurIPS 14.

    Examples
    --------
    >>> np_ = ("NP", [("D", ["the"]), ("N", ["dog"])])
    >>> SubsetTree(1.0)([np_, ("NP", [("D", ["a"]), ("N", ["dog"])])])
    array([[6., 3.],
           [3., 6.]])
    """

    decay: float

    def __post_init__(self) -> None:
        decay_of_nodes("decay", self.decay)

    def sums(self, x: PackedTrees, y: PackedTrees, /) -> np.ndarray:
        return subset_tree_sums(x, y, self.decay)


@dataclass(frozen=True)
class PartialTree(_OfNodePairs):
    """Common partial trees: a node with any subsequence of its children, and so on.

    k(x, y) = sum over nodes a of x and b of y of C(a, b); C is 0 unless the labels are equal, and otherwise
    m (l^2 + sum over subsequences I, J of equal length of the children of a and b of l^(d(I) + d(J)) times
    the product of C over matching children), d(I) = last - first place, l = `decay`, m = `height_decay`.

    Parameters
    ----------
    decay : float
        Factor for every place that a sequence of children spans; 1, the default, counts every partial tree alike.
    height_decay : float or None
        Factor for every node; None: `decay`.

    References
    ----------
    A. Moschitti (2006). Efficient convolution kernels for dependency and constituent syntactic trees. ECML.

    Examples
    --------
    >>> PartialTree()([("a", ["b", "c"]), ("a", ["c"])])
    array([[6., 3.],
           [3., 3.]])
    """

    decay: float = 1.0
    height_decay: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        decay_of_nodes("decay", self.decay)
        if self.height_decay is not None:
            decay_of_nodes("height_decay", self.height_decay)

    def sums(self, x: PackedTrees, y: PackedTrees, /) -> np.ndarray:
        height = self.decay if self.height_decay is None else self.height_decay
        return partial_tree_sums(x, y, self.decay, height)


def decay_of_nodes(name: str, decay: Any) -> None:
    """Require a number above 0 and at most 1."""
    validate.positive(name, decay)
    if decay > 1:
        raise ValueError(f"{name} must be above 0 and at most 1, got {decay!r}")


def _subtrees(trees: PackedTrees) -> tuple[np.ndarray, np.ndarray]:
    """Code of the subtree below each node, and its number of inner nodes."""
    codes = trees.labels.copy()
    order = np.argsort(trees.heights, kind="stable")
    levels = np.searchsorted(trees.heights[order], np.arange(trees.heights.max(initial=0) + 2))
    for start, stop in pairwise(levels[1:]):
        nodes = order[start:stop]
        codes[nodes] = trees.folded(codes, nodes)
    ends, below, counts = trees.child_edges.tolist(), trees.child_nodes.tolist(), [0] * len(codes)
    for node in np.flatnonzero(trees.degrees).tolist():
        counts[node] = 1 + sum(counts[c] for c in below[ends[node] : ends[node + 1]])
    return codes, np.array(counts, dtype=np.int64)


def _written(tree: Any, position: int) -> str:
    """The subtree at a position in post-order, in brackets."""
    nodes = post_order(tree)
    texts: list[str] = []
    for label, children in nodes[: position + 1]:
        inside = " ".join(texts[child] for child in children)
        texts.append(f"({label} {inside})" if inside else str(label))
    return texts[position]
