"""The median distance of points by selection among their squared distances, which are never all sorted."""

from __future__ import annotations

from functools import cache

import numpy as np

ROWS_PER_BLOCK = 128  # points whose distances to all others are in memory at a time
_ROWS = 64  # of a block that is searched: with 2,000 columns it stays in the level-2 cache
# Pairs whose quantiles enclose the median: an eighth of all, within these limits.
_MIN_SAMPLED, _MAX_SAMPLED = 2048, 16_384
_STANDARD_ERRORS = 5  # of the sampled quantiles on each side of the median
_ROUNDINGS = 8  # that bound, for each column, the error of an expanded squared distance
_MAX_ERROR_SHARE = 0.01  # of the median: with larger errors nearly all pairs may be the middle one
_MAX_DIFFERENCES = 2**20  # numbers in the differences of the pairs near the median, 8 MB


def scaled(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Points around the first one, exactly 0 where they equal it, at most 1; and the scale."""
    points = points - points[:1]
    scale = float(np.max(np.abs(points))) or 1.0
    return points / scale, scale


def upper_triangle(squares: np.ndarray) -> np.ndarray:
    """Entries i < j of some rows of a matrix, given from the diagonal on."""
    rows = len(squares)
    mask = ~_up_to_diagonal(ROWS_PER_BLOCK)[:rows, :rows]
    return np.concatenate([squares[:, :rows][mask], squares[:, rows:].ravel()])


def selected_median(points: np.ndarray) -> float | None:
    """The median of |x_i - x_j|, i < j; None where ties or near-equal points need all distances.

    `points` are (n, d), float64 and n >= 2. Squared distances in float32, or in float64 where outliers make
    these too coarse, find the pairs near the middle; the distances of these pairs are then
    computed from their differences.
    """
    points, scale = scaled(points)
    for dtype in (np.float32, np.float64):
        middle = _Search(points, dtype).middle()
        if middle is not None:
            return float(np.mean(np.sqrt(middle) * scale)) if middle[0] > 0 else None
    return None


class _Search:
    """Squared distances of all pairs, by blocks: products of augmented points, or differences of numbers."""

    def __init__(self, points: np.ndarray, dtype: type[np.floating]) -> None:
        self.points, self.line = points, points.shape[1] == 1
        centred = points - points.mean(axis=0)
        norms = np.vecdot(centred, centred)[:, None]
        self.left = self.right = centred.astype(dtype)  # (n, columns)
        if not self.line:  # u_i'v_j = |x_i - x_j|^2
            ones = np.ones_like(norms)
            self.left = np.concatenate([-2 * centred, norms, ones], axis=1).astype(dtype)
            self.right = np.concatenate([centred, ones, norms], axis=1).astype(dtype)
        unit = float(np.finfo(dtype).eps) / 2
        self.error = _ROUNDINGS * (points.shape[1] + 2) * unit * float(np.max(norms))

    def middle(self) -> np.ndarray | None:
        """The two squared distances of the middle ranks, from differences; None if it is not clear which.

        Ranking approximate values moves them by `error` at most. So the middle ones are among the
        pairs whose approximate values are within twice that of the approximate middle.
        """
        n = len(self.points)
        pairs = n * (n - 1) // 2
        ranks = np.array([(pairs - 1) // 2, pairs // 2])
        low, high = self._bracket()
        if not self.error < _MAX_ERROR_SHARE * high:
            return None
        below, places, values = self._between(low, high)
        first, second = ranks - below
        if first < 0 or second >= len(values):
            return None
        ordered = np.partition(values, first)
        start = ordered[first] - 2 * self.error
        stop = np.min(ordered[second:]) + 2 * self.error
        near = np.flatnonzero((values >= start) & (values <= stop))
        if start < low or stop > high or len(near) * self.points.shape[1] > _MAX_DIFFERENCES:
            return None
        rows, columns = np.divmod(places[near], n)
        differences = self.points[rows] - self.points[columns]
        exact = np.sort(np.vecdot(differences, differences))
        return exact[ranks - below - np.count_nonzero(values < start)]

    def _between(self, low: float, high: float) -> tuple[int, np.ndarray, np.ndarray]:
        """The number of values below `low`; those up to `high`, with their pairs as i n + j."""
        n = len(self.left)
        columns = np.ascontiguousarray(self.right.T)
        # one memory for all blocks: fresh pages would take as long as the products
        squares = np.empty(_ROWS * n, dtype=self.left.dtype)
        under, inside = np.empty((2, _ROWS * n), dtype=bool)
        below, places, values = 0, [], []
        for start in range(0, n, _ROWS):
            rows, width = self.left[start : start + _ROWS], n - start
            size = len(rows) * width
            block = squares[:size].reshape(len(rows), width)
            if self.line:
                np.subtract(rows, columns[:, start:], out=block)
                np.multiply(block, block, out=block)
            else:
                np.matmul(rows, columns[:, start:], out=block)
            block[:, : len(rows)][_up_to_diagonal(_ROWS)[: len(rows), : len(rows)]] = np.inf
            np.less(squares[:size], low, out=under[:size])
            np.less_equal(squares[:size], high, out=inside[:size])
            below += int(np.count_nonzero(under[:size]))
            np.not_equal(under[:size], inside[:size], out=inside[:size])
            chosen = np.flatnonzero(inside[:size])
            values.append(squares[chosen])
            chosen += start * (n + 1) + chosen // width * start
            places.append(chosen)
        return below, np.concatenate(places), np.concatenate(values)

    def _bracket(self) -> tuple[float, float]:
        """Numbers that enclose the median: quantiles of the squared distances of pairs (i, i + lag).

        Every point belongs to equally many of these pairs.
        """
        n = len(self.left)
        number = min(max(n**2 // 16, _MIN_SAMPLED), _MAX_SAMPLED)
        lags = np.random.default_rng(0).integers(1, n, size=-(-number // n))
        around = np.concatenate([self.right, self.right])
        sample = np.empty((len(lags), n), dtype=self.left.dtype)
        for lag, values in zip(lags, sample, strict=True):
            others = around[lag : lag + n]
            if self.line:
                np.square(self.left[:, 0] - others[:, 0], out=values)
            else:
                np.vecdot(self.left, others, out=values)
        reach = _STANDARD_ERRORS / (2 * np.sqrt(sample.size))
        places = [int((0.5 - reach) * sample.size), int((0.5 + reach) * sample.size)]
        low, high = np.partition(sample.ravel(), places)[places]
        return float(low) - 4 * self.error, float(high) + 4 * self.error  # ties stay inside


@cache
def _up_to_diagonal(size: int) -> np.ndarray:
    return np.tril(np.ones((size, size), dtype=bool))
