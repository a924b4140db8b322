"""Trees of labelled nodes as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.feature_counts import chained, label_codes, mixed
from mercer.kernels.objects import listed
from mercer.kernels.take import Rows

_MAX_NODES = 10**6  # of a tree: more are taken for a tree that contains itself


@dataclass(frozen=True, eq=False)
class PackedTrees(Rows):
    """Trees with their nodes in post-order, children before parents, one tree after the other."""

    labels: np.ndarray  # (nodes,) uint64 codes
    children: np.ndarray  # positions of children within their tree, those of a node together
    child_edges: np.ndarray  # (nodes + 1,) where the children of each node end
    edges: np.ndarray  # (n + 1,) where each tree ends

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, rows: slice, /) -> PackedTrees:
        return self.taken(np.arange(len(self))[rows])

    def taken(self, rows: np.ndarray, /) -> PackedTrees:
        if len(rows) and np.all(np.diff(rows) == 1):  # a run of trees
            start, stop = self.edges[rows[0]], self.edges[rows[-1] + 1]
            first, last = self.child_edges[start], self.child_edges[stop]
            return PackedTrees(
                self.labels[start:stop],
                self.children[first:last],
                self.child_edges[start : stop + 1] - first,
                self.edges[rows[0] : rows[-1] + 2] - start,
            )
        parts = [self.taken(np.array([row])) for row in rows]
        empty = np.empty(0, dtype=np.int64)
        none = PackedTrees(
            empty.astype(np.uint64), empty, np.zeros(1, np.int64), np.zeros(1, np.int64)
        )
        for part in parts:
            none = none.joined(part)
        return none

    def joined(self, others: PackedTrees, /) -> PackedTrees:
        return PackedTrees(
            np.concatenate([self.labels, others.labels]),
            np.concatenate([self.children, others.children]),
            np.concatenate([self.child_edges, self.child_edges[-1] + others.child_edges[1:]]),
            np.concatenate([self.edges, self.edges[-1] + others.edges[1:]]),
        )

    def widened(self) -> PackedTrees:
        return self

    @cached_property
    def owners(self) -> np.ndarray:
        """The tree of each node."""
        return np.repeat(np.arange(len(self)), np.diff(self.edges))

    @cached_property
    def degrees(self) -> np.ndarray:
        """Number of children of each node."""
        return np.diff(self.child_edges)

    @cached_property
    def child_nodes(self) -> np.ndarray:
        """Positions of children among the nodes of all trees."""
        return self.children + np.repeat(self.edges[self.owners], self.degrees)

    @cached_property
    def productions(self) -> np.ndarray:
        """Code of the label of each node with those of its children, in order; 0 for leaves."""
        codes = self.folded(self.labels, np.arange(len(self.labels)))
        return np.where(self.degrees > 0, codes, np.uint64(0))

    def folded(self, of_nodes: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Codes of the labels of some nodes, each followed by the codes of its children, in order."""
        codes, degrees = mixed(self.labels[nodes]), self.degrees[nodes]
        for step in range(int(degrees.max(initial=0))):
            more = np.flatnonzero(degrees > step)
            children = self.child_nodes[self.child_edges[nodes[more]] + step]
            codes[more] = chained(codes[more], of_nodes[children])
        return codes

    @cached_property
    def heights(self) -> np.ndarray:
        """Number of edges from each node down to its farthest leaf."""
        heights = [0] * len(self.labels)
        ends, below = self.child_edges.tolist(), self.child_nodes.tolist()
        for node in np.flatnonzero(self.degrees).tolist():  # children come before parents
            heights[node] = 1 + max(heights[c] for c in below[ends[node] : ends[node + 1]])
        return np.array(heights, dtype=np.int64)


def packed(trees: Sequence[Any]) -> PackedTrees:
    """Checked trees as arrays."""
    labels, children, child_edges, edges = [], [], [0], [0]
    for tree in trees:
        start = len(labels)
        for label, positions in post_order(tree):
            labels.append(label)
            children.extend(positions)
            child_edges.append(len(children))
        edges.append(edges[-1] + len(labels) - start)
    return PackedTrees(
        label_codes(labels),
        np.array(children, dtype=np.int64),
        np.array(child_edges, dtype=np.int64),
        np.array(edges, dtype=np.int64),
    )


def checked_trees(x: Any, name: str) -> list[Any]:
    """Trees (label, children), where a leaf may also be its label."""
    trees = listed(x, name, "trees (label, children)")
    for i, tree in enumerate(trees):
        _check(tree, f"tree {i} of {name}")
    return trees


def _check(tree: Any, name: str) -> None:
    """Refuse what is no tree: no labels, or nodes that contain themselves."""
    waiting, on_path, nodes = [(tree, False)], set(), 0
    while waiting:
        node, leaving = waiting.pop()
        if leaving:
            on_path.discard(id(node))
            continue
        nodes += 1
        label, children = _node(node, name)
        if not isinstance(label, str | int | float | tuple) or label != label:
            raise TypeError(
                f"{name} must have text or numbers as labels, got {validate.shown(label)}"
            )
        if id(node) in on_path or nodes > _MAX_NODES:
            raise ValueError(f"{name} contains itself: a tree must have no cycle")
        if children:
            on_path.add(id(node))
            waiting.append((node, True))
            waiting.extend((child, False) for child in children)


def _node(node: Any, name: str = "x") -> tuple[Any, Sequence[Any]]:
    """Label and children of a node."""
    if isinstance(node, str | int | float):
        return node, ()
    if isinstance(node, list | tuple) and len(node) in (1, 2):
        children: Any = node[1] if len(node) == 2 else ()
        if isinstance(children, list | tuple):
            return node[0], children
    raise TypeError(
        f"{name} must be a tree (label, children) with a list of children, got {validate.shown(node)}: "
        "give a leaf as its label"
    )


def post_order(tree: Any) -> list[tuple[Any, list[int]]]:
    """Label and positions of the children of each node, children first."""
    nodes: list[tuple[Any, list[int]]] = []
    waiting: list[tuple[Any, Sequence[Any], list[int]]] = [(*_node(tree), [])]
    while waiting:
        label, children, positions = waiting[-1]
        if len(positions) < len(children):
            waiting.append((*_node(children[len(positions)]), []))
            continue
        waiting.pop()
        nodes.append((label, positions))
        if waiting:
            waiting[-1][2].append(len(nodes) - 1)
    return nodes
