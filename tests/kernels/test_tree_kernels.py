"""Tree kernels equal their recursive definitions; cycles and what are no trees are refused."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import PartialTree, SubsetTree, Subtree
from mercer.kernels.trees import node_pairs
from tests.support.object_zoo import random_tree

_rng = np.random.default_rng(1)
LONG = ("a", ["b", "b", "c", ("b", ["c"])])
TREES = ["a", LONG, ("a", LONG[1][1:]), *(random_tree(_rng) for _ in range(5))]


def node(tree):
    return (tree, []) if isinstance(tree, str) else tree


def nodes(tree):
    yield node(tree)
    for child in node(tree)[1]:
        yield from nodes(child)


def subset_trees(a, b, decay):
    (x, below), (y, others) = node(a), node(b)
    labels = [[node(c)[0] for c in children] for children in (below, others)]
    if not below or x != y or labels[0] != labels[1]:
        return 0.0
    return decay * prod(1 + subset_trees(*pair, decay) for pair in zip(below, others, strict=True))


def partial_trees(a, b, decay, height):
    (x, below), (y, others) = node(a), node(b)
    if x != y:
        return 0.0
    value = decay**2
    for p in range(1, min(len(below), len(others)) + 1):
        for i in combinations(range(len(below)), p):
            for j in combinations(range(len(others)), p):
                matched = zip(i, j, strict=True)
                value += decay ** (i[-1] - i[0] + j[-1] - j[0]) * prod(
                    partial_trees(below[s], others[t], decay, height) for s, t in matched
                )
    return height * value


def whole(tree):
    label, children = node(tree)
    return label, tuple(map(whole, children))


def inner(tree):
    return 1 + sum(map(inner, tree[1])) if tree[1] else 0


def same_subtrees(a, b, decay):
    return decay ** inner(whole(a)) if whole(a) == whole(b) and node(a)[1] else 0.0


CASES = {
    "subset": (SubsetTree(0.7), lambda a, b: subset_trees(a, b, 0.7)),
    "complete": (Subtree(0.7), lambda a, b: same_subtrees(a, b, 0.7)),
    "partial": (PartialTree(0.7, height_decay=0.6), lambda a, b: partial_trees(a, b, 0.7, 0.6)),
    "partial, one decay": (PartialTree(0.8), lambda a, b: partial_trees(a, b, 0.8, 0.8)),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_definition(name, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(node_pairs, "is_quick", lambda *_: False)
    kernel, of_nodes = CASES[name]
    expected = [
        [sum(of_nodes(a, b) for a in nodes(s) for b in nodes(t)) for t in TREES] for s in TREES
    ]
    assert_allclose(kernel(TREES), expected, rtol=1e-12, atol=1e-14)
    assert_allclose(
        kernel(TREES[:3], TREES[3:]), np.array(expected)[:3, 3:], rtol=1e-12, atol=1e-14
    )


def test_subtrees_are_written_in_brackets():
    kernel, tree = Subtree(0.5), ("a", ["b", ("c", ["d"])])
    table = kernel.features([tree])
    assert set(kernel.describe([tree], table.vocabulary)) == {"(a b (c d))", "(c d)"}


def test_a_deep_tree_needs_no_deep_stack():
    tree = "leaf"
    for _ in range(3000):
        tree = ("n", [tree])
    assert Subtree(1.0)([tree])[0, 0] == 3000


def test_refused():
    cycle = ("a", [])
    cycle[1].append(cycle)
    shared = ("b", ["c"])
    assert Subtree(1.0)([("a", [shared, shared])])[0, 0] == 5  # a node in two places is no cycle
    for wrong, words in (
        (cycle, "contains itself"),
        (("a", "b"), r"tree \(label, children\)"),
        ((None, []), "labels"),
        (None, r"tree \(label, children\)"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            SubsetTree(0.5)([wrong])
