"""The median distance of points by selection among their squared distances, which are never all sorted."""

from __future__ import annotations

from functools import cache

import numpy as np

from mercer.kernels.metric import squared_distances

ROWS_PER_BLOCK = 128  # points whose distances to all others are in memory at a time
_ROWS = 64  # of a block that is searched: with 2,000 columns it stays in the level-2 cache
# Pairs whose quantiles enclose the median: an eighth of all, within these limits.
_MIN_SAMPLED, _MAX_SAMPLED = 2048, 16_384
_STANDARD_ERRORS = 6  # of the sampled quantiles on each side of the median
# Expanded squares below this share of the largest squared norm lose more than half of their digits.
_ACCURATE = 1e-6
_TIE = 1e-10  # relative difference of squared distances that are equal up to rounding


def scaled(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Points around the first one, exactly 0 where they equal it, at most 1; and the scale."""
    points = points - points[:1]
    scale = float(np.max(np.abs(points))) or 1.0
    return points / scale, scale


def upper_triangle(squares: np.ndarray) -> np.ndarray:
    """Entries i < j of some rows of a matrix, given from the diagonal on."""
    rows = len(squares)
    mask = _above_diagonal(ROWS_PER_BLOCK)[:rows, :rows]
    return np.concatenate([squares[:, :rows][mask], squares[:, rows:].ravel()])


def selected_median(points: np.ndarray) -> float | None:
    """The median of |x_i - x_j|, i < j; None where ties or near-equal points need all distances.

    `points` are (n, d), float64 and n >= 2. Expanded squared distances find the pairs in the middle;
    the distances of these pairs are then computed accurately.
    """
    points, scale = scaled(points)
    n = len(points)
    pairs = n * (n - 1) // 2
    ranks = np.array([(pairs - 1) // 2, pairs // 2])
    line = points.shape[1] == 1
    search = _Search(*((points, points) if line else _augmented(points)), line)
    middle = search.ranked(ranks)
    if middle is None:
        return None
    if not line:
        largest = float(np.max(search.right[:, -1]))
        if not middle[0] > _ACCURATE * largest:
            return None
        accurate = {value: _accurate(points, *search.pair(value)) for value in set(middle)}
        middle = np.array([accurate[value] for value in middle])
    return float(np.mean(np.sqrt(middle) * scale))


class _Search:
    """Squared distances of all pairs, by blocks: products of augmented points, or differences of numbers."""

    def __init__(self, left: np.ndarray, right: np.ndarray, line: bool) -> None:
        self.left, self.right, self.line = left, right, line
        self._between: list[np.ndarray] = []  # candidates, filled by `ranked`

    def block(self, start: int) -> np.ndarray:
        """|x_i - x_j|^2 for `_ROWS` points i and all j from `start` on."""
        rows, columns = self.left[start : start + _ROWS], self.right[start:]
        return (rows - columns.T) ** 2 if self.line else rows @ columns.T

    def ranked(self, ranks: np.ndarray) -> np.ndarray | None:
        """Squared distances of these ranks; None where others equal them up to rounding."""
        low, high = self._bracket()
        below = 0
        for start in range(0, len(self.left), _ROWS):
            squares = self.block(start)
            rows = len(squares)
            inside = squares[:, :rows][_above_diagonal(_ROWS)[:rows, :rows]]
            for values in (inside, squares[:, rows:]):
                below += int(np.count_nonzero(values < low))
                self._between.append(values[(values >= low) & (values <= high)])
        candidates, places = np.concatenate(self._between), ranks - below
        if places[0] < 0 or places[1] >= len(candidates):
            return None
        middle = np.partition(candidates, places)[places]
        if self.line:  # ties of numbers are exact
            return middle if middle[0] > 0 else None
        width = _TIE * middle[1]
        near = (candidates >= middle[0] - width) & (candidates <= middle[1] + width)
        return middle if np.count_nonzero(near) <= len(np.unique(places)) else None

    def pair(self, value: float) -> tuple[int, int]:
        """The pair of points with this squared distance."""
        number = next(i for i, values in enumerate(self._between) if np.any(values == value))
        start = number // 2 * _ROWS  # two arrays for each block
        rows, columns = np.nonzero(np.triu(self.block(start) == value, 1))
        return start + int(rows[0]), start + int(columns[0])

    def _bracket(self) -> tuple[float, float]:
        """Quantiles of the squared distances of pairs (i, i + lag) that enclose their median."""
        n = len(self.left)
        rows, number = np.arange(n), min(max(n**2 // 16, _MIN_SAMPLED), _MAX_SAMPLED)
        lags = np.random.default_rng(0).integers(1, n, size=-(-number // n))
        others = (self.right[(rows + lag) % n] for lag in lags)
        paired = [
            (self.left - y)[:, 0] ** 2 if self.line else np.vecdot(self.left, y) for y in others
        ]
        sample = np.concatenate(paired)
        reach = _STANDARD_ERRORS / (2 * np.sqrt(len(sample)))
        places = [int((0.5 - reach) * len(sample)), int((0.5 + reach) * len(sample))]
        low, high = np.partition(sample, places)[places]
        return float(low), float(high)


def _augmented(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows u_i and v_j with u_i'v_j = |x_i - x_j|^2; the last column of v holds |x_j|^2."""
    points = points - points.mean(axis=0)
    norms = np.vecdot(points, points)[:, None]
    ones = np.ones_like(norms)
    return (
        np.concatenate([-2 * points, norms, ones], axis=1),
        np.concatenate([points, ones, norms], axis=1),
    )


def _accurate(points: np.ndarray, i: int, j: int) -> float:
    """|x_i - x_j|^2 as in the block of all squared distances that contains it."""
    start = i - i % ROWS_PER_BLOCK
    block = squared_distances(points[start : start + ROWS_PER_BLOCK], points[start:])
    return float(block[i - start, j - start])


@cache
def _above_diagonal(size: int) -> np.ndarray:
    return np.triu(np.ones((size, size), dtype=bool), 1)
