"""Sums over pairs of nodes of two trees, for all pairs of trees: compiled, or in Python.

C(a, b) of two nodes depends on C of their children, which come before them in post-order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.kernels.trees.packed_trees import PackedTrees
from mercer.native import helper, is_quick, native_loop

_TREES = "long* long* long* long*"
_SIGNATURE = f"{_TREES} {_TREES} double* double* double* long long long long double double"


def subset_tree_sums(x: PackedTrees, y: PackedTrees, decay: float) -> np.ndarray:
    """Sum of C(a, b) = [same production] decay prod (1 + C(children)): (n, m)."""

    def formula(below: np.ndarray) -> float:
        return decay * float(np.prod(1 + np.diagonal(below)))

    return _all_pairs(_subset, formula, x, y, x.productions, y.productions, (decay, 0.0))


def partial_tree_sums(x: PackedTrees, y: PackedTrees, decay: float, height: float) -> np.ndarray:
    """Sum of C(a, b) = [same label] height (decay^2 + weighted subsequences of children): (n, m)."""

    def formula(below: np.ndarray) -> float:
        cells = np.zeros_like(below)
        for i, j in np.ndindex(*below.shape):
            gaps = decay ** (i - np.arange(i)[:, None] + j - np.arange(j)[None, :])
            cells[i, j] = below[i, j] * (1 + float(np.sum(gaps * cells[:i, :j])))
        return height * (decay**2 + float(cells.sum()))

    return _all_pairs(_partial, formula, x, y, x.labels, y.labels, (decay, height))


def _all_pairs(
    build: Any,
    formula: Callable[[np.ndarray], float],
    x: PackedTrees,
    y: PackedTrees,
    x_kinds: np.ndarray,
    y_kinds: np.ndarray,
    decays: tuple[float, float],
) -> np.ndarray:
    """A value for each pair of trees; nodes of kind 0 have no pairs."""
    same = x is y
    out = np.zeros((len(x), len(y)), dtype=np.float64)
    if is_quick(build, _SIGNATURE):
        nodes = [int(np.diff(t.edges).max(initial=0)) for t in (x, y)]
        widest = int(y.degrees.max(initial=0))
        values = np.empty(nodes[0] * nodes[1] + 1, dtype=np.float64)
        scratch = np.empty(widest + 2, dtype=np.float64)
        arrays = (*_arrays(x, x_kinds), *_arrays(y, y_kinds))
        loop = native_loop(build, _SIGNATURE)
        loop(*arrays, out, values, scratch, len(x), len(y), len(scratch), int(same), *decays)
    else:
        for i in range(len(x)):
            for j in range(i + 1 if same else len(y)):
                out[i, j] = _one_pair(formula, x, y, x_kinds, y_kinds, i, j)
    return np.tril(out) + np.tril(out, -1).T if same else out


def _one_pair(
    formula: Callable[[np.ndarray], float],
    x: PackedTrees,
    y: PackedTrees,
    x_kinds: np.ndarray,
    y_kinds: np.ndarray,
    i: int,
    j: int,
) -> float:
    """The sum over pairs of nodes of two trees."""
    rows, columns = range(*x.edges[i : i + 2]), range(*y.edges[j : j + 2])
    values = np.zeros((len(rows), len(columns)), dtype=np.float64)
    for a, row in enumerate(rows):
        for b in np.flatnonzero(y_kinds[columns.start : columns.stop] == x_kinds[row]):
            if x_kinds[row]:
                column = columns[int(b)]
                left = x.children[x.child_edges[row] : x.child_edges[row + 1]]
                right = y.children[y.child_edges[column] : y.child_edges[column + 1]]
                values[a, b] = formula(values[np.ix_(left, right)])
    return float(values.sum())


def _arrays(trees: PackedTrees, kinds: np.ndarray) -> tuple[np.ndarray, ...]:
    children = trees.children if len(trees.children) else np.zeros(1, dtype=np.int64)
    arrays = kinds.view(np.int64), children, trees.child_edges, trees.edges
    return tuple(np.ascontiguousarray(a) for a in arrays)


# ---- compiled -----------------------------------------------------------------------------------


def _subset(numba: Any) -> Any:
    return _over_pairs(numba.carray, helper(numba)(_subset_value))


def _partial(numba: Any) -> Any:
    return _over_pairs(numba.carray, helper(numba)(_partial_value))


def _over_pairs(carray: Any, value: Any) -> Any:
    """The loop over pairs of trees and of their nodes; `value` is C of two nodes of one kind."""

    def loop(  # pragma: no cover
        x_kinds, x_children, x_ends, x_edges, y_kinds, y_children, y_ends, y_edges,
        out, memory, scratch, n, m, room, same, decay, height,
    ):  # fmt: skip
        trees, others, result = carray(x_edges, n + 1), carray(y_edges, m + 1), carray(out, (n, m))
        kinds, their_kinds = carray(x_kinds, trees[n] + 1), carray(y_kinds, others[m] + 1)
        ends, their_ends = carray(x_ends, trees[n] + 1), carray(y_ends, others[m] + 1)
        below = carray(x_children, ends[trees[n]] + 1)
        their_below = carray(y_children, their_ends[others[m]] + 1)
        sums = carray(scratch, room)
        for i in range(n):
            for j in range(i + 1 if same else m):
                values = carray(memory, (trees[i + 1] - trees[i], others[j + 1] - others[j]))
                total = 0.0
                for a in range(values.shape[0]):
                    node = trees[i] + a
                    left = below[ends[node] : ends[node + 1]]
                    for b in range(values.shape[1]):
                        other = others[j] + b
                        values[a, b] = 0.0
                        if kinds[node] == their_kinds[other] and kinds[node] != 0:
                            right = their_below[their_ends[other] : their_ends[other + 1]]
                            values[a, b] = value(values, left, right, sums, decay, height)
                        total += values[a, b]
                result[i, j] = total
        return 0

    return loop


def _subset_value(values, left, right, sums, decay, height):  # pragma: no cover
    """Decay times the product over children of 1 + C."""
    value = decay
    for c in range(left.size):
        value *= 1.0 + values[left[c], right[c]]
    return value


def _partial_value(values, left, right, sums, decay, height):  # pragma: no cover
    """Height times decay^2 and the weighted subsequences of children; `sums` are discounted ones so far."""
    sums[: right.size + 1] = 0.0
    value = decay * decay
    for c in range(left.size):
        row, before = 0.0, 0.0  # of this child; discounted sums before it
        for d in range(right.size):
            cell = values[left[c], right[d]] * (1.0 + decay * decay * before)
            before = sums[d + 1]
            row = decay * row + cell
            sums[d + 1] = decay * sums[d + 1] + row
            value += cell
    return height * value
