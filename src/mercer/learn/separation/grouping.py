"""Grouping of variables by their dependence, into groups of given sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_RANDOM_STARTS = 20  # beside the greedy one
_MIN_RELATIVE_GAIN = 1e-12  # of an exchange, relative to the largest dependence: stops at rounding


def grouped(
    dependence: np.ndarray, sizes: Sequence[int], *, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Groups of the given sizes with the smallest dependence between them that was found.

    Equivalently, with the largest dependence inside groups. Groups are filled greedily, the largest
    first, and then improved by exchanges of pairs (Kernighan and Lin 1970); the same is done from random
    groups, and the best result is used. Exact for clearly separated groups, otherwise a local optimum.

    Examples
    --------
    >>> d = np.array([[0, 1, 5, 0], [1, 0, 0, 4], [5, 0, 0, 1], [0, 4, 1, 0]], dtype=float)
    >>> [g.tolist() for g in grouped(d, (2, 2), rng=np.random.default_rng(0))]
    [[0, 2], [1, 3]]
    """
    d = dependence - np.diag(np.diag(dependence))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    starts = [_greedy(d, sizes), *(rng.permutation(labels) for _ in range(_RANDOM_STARTS))]
    best = max(
        (_exchanged(d, start) for start in starts), key=lambda labelling: _inside(d, labelling)
    )
    groups = [np.flatnonzero(best == m) for m in range(len(sizes))]
    first = {size: iter(sorted((g for g in groups if len(g) == size), key=min)) for size in sizes}
    return tuple(next(first[size]) for size in sizes)


def _greedy(d: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Greedy labels: each group starts with the most dependent variable and adds the most dependent on it."""
    labels = np.full(len(d), -1)
    for m in np.argsort(sizes, kind="stable")[::-1]:
        free = np.flatnonzero(labels < 0)
        inner = d[np.ix_(free, free)]
        members = [free[int(np.argmax(inner.max(axis=1, initial=0.0)))]]
        while len(members) < sizes[m]:
            free = np.setdiff1d(free, members)
            members.append(free[int(np.argmax(d[free][:, members].sum(axis=1)))])
        labels[members] = m
    return labels


def _exchanged(d: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Exchange the two members of different groups with the largest gain, until there is none."""
    labels, least = labels.copy(), _MIN_RELATIVE_GAIN * max(np.abs(d).max(), 1e-300)
    while True:
        on_groups = d @ (labels[:, None] == np.arange(labels.max() + 1))  # dependence on each group
        on_other = on_groups[:, labels]  # of i on the group of j
        on_own = np.diag(on_other)
        gain = on_other + on_other.T - on_own[:, None] - on_own[None, :] - 2 * d
        gain[labels[:, None] == labels[None, :]] = 0.0
        i, j = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[i, j] <= least:
            return labels
        labels[[i, j]] = labels[[j, i]]


def _inside(d: np.ndarray, labels: np.ndarray) -> float:
    return float(d[labels[:, None] == labels[None, :]].sum())
