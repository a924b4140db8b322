"""Compiled loops over blocks of points: max-norm distances to k-th neighbours, and counts within radii.

Points are sorted into blocks of nearby points with bounding boxes. A query passes by a block whose box is too
far, counts a block whose box is inside the radius, and compares itself with the points of others by a loop over the
points that fills the vector units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram.threads import for_each, spans
from mercer.native import helper, is_quick, native_loop

_BLOCK = 64  # points of a block at most: their distances are eight vectors of eight numbers
_TASK = 256  # queries of a task
# Points from which on a compiled loop is loaded, and up to which comparing all boxes is cheaper than a tree.
_FEWEST, _MOST = 500, 60_000

_DISTANCES = "double* double* double* long* long* double* double* long long long long long long"
_COUNTS = "double* double* double* long* double* long* long long long long long"


def is_blocked(n: int) -> bool:
    """Whether so many points are compared in blocks: there is a compiler, and neither few nor very many."""
    if not _FEWEST <= n <= _MOST:
        return False
    return is_quick(_distance_loop, _DISTANCES) and is_quick(_count_loop, _COUNTS)


@dataclass(frozen=True)
class PointBlocks:
    """Points in an order in which neighbours are near each other, in blocks with bounding boxes."""

    order: np.ndarray  # (n,), rows of the points as they came
    columns: np.ndarray  # (d, n), the points in this order, column by column
    starts: np.ndarray  # (blocks + 1,), first points of the blocks
    boxes: np.ndarray  # (blocks, 2, d), lower and upper corners

    @classmethod
    def of(cls, points: np.ndarray) -> PointBlocks:
        """Halve the points at the median of their widest column until blocks are small."""
        order = np.arange(len(points))
        waiting, starts = [(0, len(points))], []
        while waiting:
            start, stop = waiting.pop()
            if stop - start <= _BLOCK:
                starts.append(start)
                continue
            rows = order[start:stop]
            inside = points[rows]
            widest = int(np.argmax(np.ptp(inside, axis=0)))
            half = (stop - start) // 2
            order[start:stop] = rows[np.argpartition(inside[:, widest], half)]
            waiting += [(start + half, stop), (start, start + half)]
        ordered = points[order]
        lower = np.minimum.reduceat(ordered, starts, axis=0)
        upper = np.maximum.reduceat(ordered, starts, axis=0)
        return cls(
            order,
            np.ascontiguousarray(ordered.T),
            np.array([*starts, len(points)], dtype=np.int64),
            np.ascontiguousarray(np.stack([lower, upper], axis=1)),
        )

    def gaps(self) -> np.ndarray:
        """Smallest distances of points of two blocks, as far as their boxes tell: (blocks, blocks)."""
        lower, upper = self.boxes[:, 0], self.boxes[:, 1]
        gaps = np.zeros((len(lower), len(lower)), dtype=np.float64)
        for low, high in zip(lower.T, upper.T, strict=True):
            np.maximum(gaps, low[:, None] - high[None, :], out=gaps)
            np.maximum(gaps, low[None, :] - high[:, None], out=gaps)
        return gaps


def blocked_distances(points: np.ndarray, k: int) -> np.ndarray:
    """Max-norm distance of each point to its k-th nearest other point: (n,)."""
    blocks = PointBlocks.of(points)
    gaps = blocks.gaps()
    near = np.argsort(gaps, axis=1, kind="stable")
    gaps = np.take_along_axis(gaps, near, axis=1)
    n, d, number = len(points), points.shape[1], len(gaps)
    result = np.empty(n, dtype=np.float64)
    tasks = spans(number, max(_TASK // _BLOCK, 1))
    loop = native_loop(_distance_loop, _DISTANCES)

    def work(rows: slice) -> None:
        scratch = np.empty(_BLOCK + k, dtype=np.float64)
        loop(
            blocks.columns, blocks.boxes, gaps, near, blocks.starts, scratch, result,
            *(rows.start, rows.stop, n, d, number, k),
        )  # fmt: skip

    for_each(work, tasks)
    distances = np.empty(n, dtype=np.float64)
    distances[blocks.order] = result
    return distances


def blocked_counts(points: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Number of other points closer than r_i in the max-norm, where r_i is positive: (n,)."""
    blocks = PointBlocks.of(points)
    n, d, number = len(points), points.shape[1], len(blocks.boxes)
    limits = np.ascontiguousarray(radii[blocks.order])
    result = np.empty(n, dtype=np.int64)
    loop = native_loop(_count_loop, _COUNTS)

    def work(rows: slice) -> None:
        scratch = np.empty(_BLOCK, dtype=np.float64)
        loop(
            blocks.columns, blocks.boxes, limits, blocks.starts, scratch, result,
            *(rows.start, rows.stop, n, d, number),
        )  # fmt: skip

    for_each(work, spans(n, _TASK))
    counts = np.empty(n, dtype=np.int64)
    counts[blocks.order] = result
    return counts - 1


def _distance_loop(numba: Any) -> Callable[..., int]:
    def loop(points, boxes, gaps, near, starts, scratch, result, first, last, n, d, number, k):
        x = numba.carray(points, (d, n))
        box = numba.carray(boxes, (number, 2, d))
        gap = numba.carray(gaps, (number, number))
        order = numba.carray(near, (number, number))
        begin = numba.carray(starts, (number + 1,))
        room = numba.carray(scratch, (_BLOCK + k,))
        out = numba.carray(result, (n,))
        distance, best = room[:_BLOCK], room[_BLOCK:]
        for b in range(first, last):
            for i in range(begin[b], begin[b + 1]):
                best[:] = np.inf
                for place in range(number):
                    if gap[b, place] >= best[k - 1]:
                        break
                    c = order[b, place]
                    far = 0.0
                    for j in range(d):
                        far = max(far, box[c, 0, j] - x[j, i], x[j, i] - box[c, 1, j])
                    if far >= best[k - 1]:
                        continue
                    start, size = begin[c], begin[c + 1] - begin[c]
                    _fill(distance, x, i, start, size, d)
                    if c == b:
                        distance[i - start] = np.inf
                    least = np.inf
                    for m in range(size):
                        least = min(least, distance[m])
                    if least >= best[k - 1]:
                        continue
                    _keep(best, distance, size, k)
                out[i] = best[k - 1]
        return 0

    _fill, _keep = _filled(numba), smallest_kept(numba)
    return loop


def _count_loop(numba: Any) -> Callable[..., int]:
    def loop(points, boxes, limits, starts, scratch, result, first, last, n, d, number):
        x = numba.carray(points, (d, n))
        box = numba.carray(boxes, (number, 2, d))
        radius = numba.carray(limits, (n,))
        begin = numba.carray(starts, (number + 1,))
        distance = numba.carray(scratch, (_BLOCK,))
        out = numba.carray(result, (n,))
        for i in range(first, last):
            total, limit = 0, radius[i]
            for c in range(number):
                nearest, farthest = 0.0, 0.0
                for j in range(d):
                    below, above = box[c, 0, j] - x[j, i], x[j, i] - box[c, 1, j]
                    nearest = max(nearest, below, above)
                    farthest = max(farthest, -below, -above)
                if nearest >= limit:
                    continue
                start, size = begin[c], begin[c + 1] - begin[c]
                if farthest < limit:
                    total += size
                    continue
                _fill(distance, x, i, start, size, d)
                for m in range(size):
                    total += distance[m] < limit
            out[i] = total
        return 0

    _fill = _filled(numba)
    return loop


def _filled(numba: Any) -> Any:
    """Write the distances of point i to the points of a block."""

    @helper(numba)
    def fill(distance, x, i, start, size, d):
        for m in range(size):
            distance[m] = abs(x[0, start + m] - x[0, i])
        for j in range(1, d):
            here = x[j, i]
            for m in range(size):
                distance[m] = max(distance[m], abs(x[j, start + m] - here))

    return fill


def smallest_kept(numba: Any) -> Any:
    """Insert distances into the k smallest ones, which are in increasing order."""

    @helper(numba)
    def keep(best, distance, size, k):
        for m in range(size):
            value = distance[m]
            if value < best[k - 1]:
                slot = k - 1
                while slot > 0 and best[slot - 1] > value:
                    best[slot] = best[slot - 1]
                    slot -= 1
                best[slot] = value

    return keep
