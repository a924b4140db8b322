"""Nearest neighbours: distances to the k-th one, and counts within a radius.

On the line points are sorted. In up to twelve columns a k-d tree of SciPy is asked, or, in joint spaces of up to 60,000
points, a compiled loop over blocks of points. Beyond twelve columns all distances are computed in stripes; on a GPU
always, and in joint spaces of few points. Memory is linear in the number of points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from mercer.backend import Array, is_torch, namespace, on_accelerator, to_numpy
from mercer.config import settings
from mercer.gram.threads import in_order, spans
from mercer.info.neighbour_loops import blocked_counts, blocked_distances, is_blocked

# Columns up to which a k-d tree is asked. In ten columns and 10,000 points it took a twentieth of the time of all
# distances; in many more it looks at most of the points.
TREE_COLUMNS = 12
# Points of a joint space up to which all distances are faster than trees: 4 to 8 times with 100 points, alike with 200.
_DENSE_POINTS = 150
# Points from which on a tree is asked by several threads; they start in the time of a thousand queries.
_THREADED_POINTS = 2000
_COUNTING_LEAF = 64  # points of a leaf where many are counted: 0.6 of the time of SciPy's 16
_STRIPE_BYTES = (
    2**23
)  # distances of a stripe; three arrays of this size are in memory for each thread
_GPU_STRIPE_BYTES = 2**28
_TINY = np.nextafter(0.0, 1.0)  # the smallest positive number: only equal points are closer
# Squared distances are rounded to about 1e-15 of the squared norms; smaller ones are those of equal points.
_EQUAL = 1e-13


def kth_distances(x: Array, k: int, y: Array | None = None) -> Array:
    """Euclidean distance of each x_i to its k-th nearest y_j; without y to its k-th nearest other x_j: (n,)."""
    own = y is None
    other = x if y is None else y
    rank = k + own
    if by_stripes(x):
        return _striped_distances(x, other, rank, own)
    if x.shape[1] == 1:
        return _on_line(x[:, 0], other[:, 0], rank)
    points = to_numpy(x)
    return _tree_distances(points, points if y is None else to_numpy(y), rank, 2.0)


def joint_radii_and_counts(
    variables: Sequence[Array], k: int, subsets: Sequence[tuple[int, ...]]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Radius r_i to the k-th neighbour in the joint space, and the points closer than r_i in subspaces.

    The distance of two observations is the largest of the distances of their variables, each in the norm of
    `joint_norm`. Observation i is not counted among its own neighbours, nor are points at the distance r_i,
    unless r_i is zero: then the points equal to it are counted.
    """
    parts, p = [*variables], joint_norm(variables)
    few = int(parts[0].shape[0]) <= _DENSE_POINTS
    if few or by_stripes(namespace(*parts).concat(parts, axis=1)):
        return _striped_counts(parts, k, subsets, p)
    joint = np.concatenate(parts, axis=1)
    blocked = p == np.inf and is_blocked(len(joint))
    radii = blocked_distances(joint, k) if blocked else _tree_distances(joint, joint, k + 1, p)
    limits = np.where(radii > 0, radii, _TINY)
    spaces = (np.concatenate([parts[j] for j in subset], axis=1) for subset in subsets)
    return radii, [counts_below(points, limits) for points in spaces]


def joint_widths_and_counts(
    variables: Sequence[Array], k: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Points within the box of the k nearest neighbours, by variable, and which boxes have a width of zero.

    The box around observation i is, in each variable, as wide as the farthest of its k neighbours; points on
    its boundary are counted.
    """
    from scipy.spatial import KDTree

    parts = [to_numpy(v) for v in variables]
    joint = np.concatenate(parts, axis=1)
    _, neighbours = KDTree(joint).query(joint, k + 1, p=np.inf, workers=_threads(joint))
    counts, empty = [], np.zeros(len(joint), dtype=bool)
    for points in parts:
        differences = np.abs(points[neighbours] - points[:, None, :])  # (n, k + 1, d)
        widths = differences.max(axis=(1, 2))
        counts.append(counts_below(points, np.nextafter(widths, np.inf)))
        empty |= widths == 0
    return counts, empty


def counts_below(x: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Number of other points x_j with max-norm |x_j - x_i| < r_i; zero where r_i is zero: (n,)."""
    if x.shape[1] == 1:
        return _counts_on_line(x[:, 0], radii)
    if is_blocked(len(x)):
        return np.maximum(blocked_counts(x, radii), 0)
    from scipy.spatial import KDTree

    tree = KDTree(x, leafsize=_COUNTING_LEAF)
    order = tree.indices
    inside = tree.query_ball_point(
        x[order],
        np.nextafter(radii[order], 0),
        p=np.inf,
        workers=_threads(x),
        return_length=True,
    )
    counts = np.empty(len(x), dtype=np.int64)
    counts[order] = inside
    return np.maximum(counts - 1, 0)


def joint_norm(variables: Sequence[Array]) -> float:
    """Norm within each variable: the largest coordinate in few columns, else Euclidean, for matrix products."""
    return np.inf if sum(int(v.shape[1]) for v in variables) <= TREE_COLUMNS else 2.0


def by_stripes(x: Array) -> bool:
    """Whether all distances are computed: in many columns, and for tensors on a GPU."""
    return on_accelerator(x) or x.shape[1] > TREE_COLUMNS


def _tree_distances(x: np.ndarray, y: np.ndarray, rank: int, p: float) -> np.ndarray:
    """Distance of each x_i to its rank-th nearest y_j in the norm p: (n,)."""
    from scipy.spatial import KDTree

    tree = KDTree(y)
    # Points that are close to each other are asked for one after the other: half the time of random order.
    order = tree.indices if y is x else KDTree(x).indices
    near = tree.query(x[order], k=[rank], p=p, workers=_threads(x))  # pyright: ignore[reportArgumentType]
    distances = np.empty(len(x), dtype=np.float64)
    distances[order] = np.asarray(near[0])[:, 0]
    return distances


def _threads(queries: np.ndarray) -> int:
    """Threads that ask a tree for these points."""
    return settings().workers if len(queries) >= _THREADED_POINTS else 1


# ---- on the line --------------------------------------------------------------------------------


def _on_line(x: np.ndarray, y: np.ndarray, rank: int) -> np.ndarray:
    """Distance of each x_i to the rank-th nearest of the numbers y: (n,)."""
    ordered = np.sort(y)
    places = np.searchsorted(ordered, x)
    padded = np.concatenate([np.full(rank, -np.inf), ordered, np.full(rank, np.inf)])
    nearest = np.full(len(x), np.inf)
    # The rank nearest numbers are consecutive: the best window minimises its farther end.
    for below in range(rank + 1):
        left = x - padded[places + rank - below] if below else np.zeros_like(x)
        right = padded[places + 2 * rank - below - 1] - x if below < rank else np.zeros_like(x)
        np.minimum(nearest, np.maximum(left, right), out=nearest)
    return nearest


def _counts_on_line(x: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Number of other x_j with |x_j - x_i| < r_i: (n,)."""
    ordered = np.sort(x)
    upper = _exact_place(ordered, x, radii, np.searchsorted(ordered, x + radii))
    lower = len(x) - _exact_place(
        -ordered[::-1], -x, radii, len(x) - np.searchsorted(ordered, x - radii, side="right")
    )
    return np.maximum(upper - lower - 1, 0)


def _exact_place(
    ordered: np.ndarray, x: np.ndarray, radii: np.ndarray, place: np.ndarray
) -> np.ndarray:
    """Number of values v with v - x < r; the place of x + r, which was rounded, is corrected."""
    padded = np.concatenate([[-np.inf], ordered, [np.inf]])
    while True:
        too_far = (padded[place] - x >= radii) & (place > 0)
        inside = padded[place + 1] - x < radii
        if not (too_far.any() or inside.any()):
            return place
        place = place + np.where(inside, 1, np.where(too_far, -1, 0))


# ---- all distances, in stripes ------------------------------------------------------------------


def distance_stripe(x: Array, y: Array, p: float) -> Array:
    """Distances of the rows of x and y in the norm p: differences in few columns, else products. (n, m)"""
    xp = namespace(x, y)
    if x.shape[1] <= TREE_COLUMNS:
        differences = (xp.abs(x[:, j][:, None] - y[:, j][None, :]) for j in range(x.shape[1]))
        if p == 2 and x.shape[1] > 1:
            return xp.sqrt(reduce(lambda total, d: total + d * d, differences, 0.0))
        return reduce(xp.maximum, differences)
    square, norms = x @ y.T, xp.sum(y * y, axis=1)
    square *= -2
    square += xp.sum(x * x, axis=1)[:, None]
    square += norms[None, :]
    square[square < _EQUAL * norms[None, :]] = 0.0
    return xp.sqrt(square)


def kth_smallest(values: Array, k: int) -> Any:
    """k-th smallest value of every row: (n,)."""
    if is_torch(values):
        return values.topk(k, dim=1, largest=False).values[:, k - 1]  # pyright: ignore
    return np.partition(to_numpy(values), k - 1, axis=1)[:, k - 1]


def _striped_distances(x: Array, y: Array, rank: int, own: bool) -> np.ndarray:
    """As `kth_distances`, from all distances."""
    centre = namespace(x).mean(x, axis=0)
    x, y = x - centre, y - centre

    def stripe(rows: slice) -> Any:
        distances = distance_stripe(x[rows, :], y, 2.0)
        if own:
            _clear_diagonal(distances, rows)
        return kth_smallest(distances, rank)

    return to_numpy(_all_stripes(stripe, x, int(y.shape[0])))


def _striped_counts(
    parts: Sequence[Array], k: int, subsets: Sequence[tuple[int, ...]], p: float
) -> tuple[np.ndarray, list[np.ndarray]]:
    """As `joint_radii_and_counts`, from all distances."""
    xp = namespace(*parts)
    centred = [v - xp.mean(v, axis=0) if v.shape[1] > TREE_COLUMNS else v for v in parts]

    def stripe(rows: slice) -> Any:
        each = [distance_stripe(v[rows, :], v, p) for v in centred]
        for distances in each:
            _clear_diagonal(distances, rows)
        radii = kth_smallest(reduce(xp.maximum, each), k + 1)
        limits = xp.where(radii > 0, radii, xp.full_like(radii, _TINY))
        columns = [radii]
        for subset in subsets:
            inside = reduce(xp.maximum, [each[j] for j in subset]) < limits[:, None]
            columns.append(xp.astype(xp.sum(inside, axis=1), radii.dtype))
        return xp.stack(columns, axis=1)

    table = to_numpy(_all_stripes(stripe, parts[0], int(parts[0].shape[0])))
    radii = table[:, 0]
    return radii, [np.maximum(table[:, 1 + j] - 1, 0.0) for j in range(len(subsets))]


def _clear_diagonal(distances: Array, rows: slice) -> None:
    """Distance zero of every point to itself, which products round."""
    block: Any = distances[:, rows]
    if is_torch(block):
        block.fill_diagonal_(0.0)
    else:
        np.fill_diagonal(block, 0.0)


def _all_stripes(work: Callable[[slice], Any], x: Array, columns: int) -> Any:
    gpu = on_accelerator(x)
    size = max((_GPU_STRIPE_BYTES if gpu else _STRIPE_BYTES) // (8 * columns), 1)
    tasks = spans(int(x.shape[0]), size)
    answers = [*in_order(work, tasks, parallel=not gpu, what="comparing points")]
    return namespace(answers[0]).concat(answers)
