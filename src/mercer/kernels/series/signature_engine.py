"""Signature kernels of all pairs of series by dynamic programming on inner products of increments."""

from __future__ import annotations

from math import ceil

import numpy as np

from mercer.backend import to_numpy
from mercer.kernels.base import Kernel
from mercer.kernels.series.goursat_loops import ORDERS, largest_step, last_corner
from mercer.kernels.series.lane_blocks import LANES, fill_by_blocks
from mercer.kernels.series.series_data import Series


def signature_kernel(x: Series, y: Series, base: Kernel | None, level: int | None) -> np.ndarray:
    """<S(x_i), S(y_j)> up to a level (None: of all levels) of paths, lifted by a base kernel if there is one: (n, m)."""
    order = np.argsort(y.lengths, kind="stable")
    blocks = [_Block(y, order[k : k + LANES], base) for k in range(0, len(y), LANES)]

    def row(i: int, first: int) -> np.ndarray:
        points = _at_least_two(x[i])
        step = _largest_step(points, base)
        values = [block.values(points, step, level) for block in blocks[first:]]
        return np.concatenate(values)

    return fill_by_blocks(len(x), order, row, symmetric=x is y)


def largest_increment(series: Series, base: Kernel | None) -> float:
    """Largest norm of an increment of all paths."""
    return max(_largest_step(_at_least_two(points), base) for points in series)


class _Block:
    """Eight series, padded with their last points, which changes no signature."""

    def __init__(self, series: Series, chosen: np.ndarray, base: Kernel | None) -> None:
        self.base, self.count = base, len(chosen)
        parts = [_at_least_two(series[int(i)]) for i in chosen]
        self.length = max(len(part) for part in parts)
        self.points = np.empty((self.length, LANES, series.channels), dtype=np.float64)
        for lane in range(LANES):
            part = parts[min(lane, len(parts) - 1)]
            self.points[: len(part), lane] = part
            self.points[len(part) :, lane] = part[-1]
        self.step = max(_largest_step(part, base) for part in parts)

    def values(self, points: np.ndarray, step: float, level: int | None) -> np.ndarray:
        """The kernel of one path with the paths of the block: (count,)."""
        increments = self._increments(points)
        if level is not None:
            return _up_to(increments, level)[: self.count]
        pieces = max(1, ceil(max(step, self.step) / largest_step(ORDERS[-1])))
        if pieces > 1:  # long increments are cut, which changes no path
            increments = increments.repeat(pieces, axis=0).repeat(pieces, axis=1) / pieces**2
        longest = max(step, self.step) / pieces
        order = next((k for k in ORDERS if largest_step(k) >= longest), ORDERS[-1])
        return last_corner(increments, order)[: self.count]

    def _increments(self, points: np.ndarray) -> np.ndarray:
        """Inner products of the increments of one path with those of the block: (rows, columns, 8)."""
        if self.base is None:
            left, right = np.diff(points, axis=0), np.diff(self.points, axis=0)
            flat = left @ right.reshape(-1, points.shape[1]).T
            return flat.reshape(len(left), len(right), LANES)
        grid = to_numpy(self.base.pairwise(points, self.points.reshape(-1, points.shape[1])))
        grid = grid.reshape(len(points), self.length, LANES)
        return np.diff(np.diff(grid, axis=0), axis=1)


def _at_least_two(points: np.ndarray) -> np.ndarray:
    """The path; a single point stays where it is."""
    return points if len(points) > 1 else np.repeat(points, 2, axis=0)


def _largest_step(points: np.ndarray, base: Kernel | None) -> float:
    """Largest norm of an increment of the path."""
    if base is None:
        return float(np.linalg.norm(np.diff(points, axis=0), axis=1).max())
    diagonal = to_numpy(base.diag(points))
    squares = diagonal[1:] + diagonal[:-1] - 2 * to_numpy(base.paired(points[1:], points[:-1]))
    rounding = 4 * np.finfo(np.float64).eps * float(diagonal.max())
    return float(np.sqrt(max(squares.max(), 0.0) + rounding))


def _up_to(increments: np.ndarray, level: int) -> np.ndarray:
    """The kernel up to a level from inner products of increments (rows, columns, m): (m,).

    A term of level m has increments i_1 <= ... <= i_m of one path and j_1 <= ... <= j_m of the other, weighted
    by 1 / (multiplicities)!. ``ends[p][q]`` are the sums of terms that end with increment i taken p + 1 times and
    increment j taken q + 1 times (Kiraly & Oberhauser 2019, algorithm 6).
    """
    total = np.ones(increments.shape[2], dtype=np.float64)
    ends = [[increments]]
    total += increments.sum(axis=(0, 1))
    for m in range(1, level):
        rows = [np.sum(row, axis=0) for row in ends]  # any multiplicity of j
        columns = [np.sum([ends[p][q] for p in range(m)], axis=0) for q in range(m)]
        everything = np.sum(rows, axis=0)
        following = [[increments * _before(_before(everything, 0), 1)]]
        following[0] += [increments * _before(columns[q], 0) / (q + 2) for q in range(m)]
        for p in range(m):
            start = increments * _before(rows[p], 1) / (p + 2)
            factor = [increments / ((p + 2) * (q + 2)) for q in range(m)]
            following.append([start, *(factor[q] * ends[p][q] for q in range(m))])
        ends = following
        total += sum(sum(part.sum(axis=(0, 1)) for part in row) for row in ends)
    return total


def _before(values: np.ndarray, axis: int) -> np.ndarray:
    """Sums over all earlier positions along an axis."""
    return np.cumsum(values, axis=axis) - values
