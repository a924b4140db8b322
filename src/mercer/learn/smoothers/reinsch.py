"""Cubic smoothing splines of many points on the line, in O(n): banded systems for all values of smoothing.

With gaps h_i between sorted points, the second derivatives g of the spline at the inner points solve

    (R + smoothing Q'Q) g = Q'y,    f = y - smoothing Q g,

where Q (n, n - 2) takes second divided differences and R (n - 2, n - 2) is their Gram matrix
(Reinsch 1967; Green and Silverman 1994, section 2.3). The weights of the kernel are c = Q g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.learn.regression.path import RidgeScores


@dataclass(frozen=True, eq=False)
class Reinsch:
    """The banded system of sorted, distinct points (n,), n >= 5, and numbers (n, q)."""

    points: np.ndarray
    y: np.ndarray

    def scores(self, values: np.ndarray) -> RidgeScores:
        """Leave-one-out and generalised cross-validation of every value of smoothing."""
        n, outputs = self.y.shape
        factor = self._factor(values)
        c = self._differences(factor.solved(self._second(self.y)))  # (n, R, q)
        leverages = self._quadratic(*factor.inverse_bands())  # G_ii of G = Q B^-1 Q', (n, R)
        kept = leverages.sum(axis=0) * values  # tr(I - A)
        errors = np.sum((c / leverages[:, :, None]) ** 2, axis=(0, 2)) / (n * outputs)
        residuals = np.sum(c**2, axis=(0, 2)) * values**2 / (n * outputs)
        return RidgeScores(values, errors, residuals / (kept / n) ** 2, n - kept)

    def coefficients(self, value: float) -> np.ndarray:
        """The weights of the kernel: (n, q)."""
        factor = self._factor(np.asarray([value], dtype=np.float64))
        return self._differences(factor.solved(self._second(self.y)))[:, 0]

    @property
    def _inverse_gaps(self) -> np.ndarray:
        return 1 / np.diff(self.points)

    def _second(self, y: np.ndarray) -> np.ndarray:
        """Q'y: (n - 2, q)."""
        slopes = np.diff(y, axis=0) * self._inverse_gaps[:, None]
        return np.diff(slopes, axis=0)

    def _differences(self, g: np.ndarray) -> np.ndarray:
        """Q g for g (n - 2, R, q): (n, R, q)."""
        a = self._inverse_gaps[:, None, None]
        rows = np.zeros((len(self.points), *g.shape[1:]), dtype=np.float64)
        rows[:-2] += a[:-1] * g
        rows[1:-1] -= (a[:-1] + a[1:]) * g
        rows[2:] += a[1:] * g
        return rows

    def _factor(self, values: np.ndarray) -> _Factor:
        """R + smoothing Q'Q for every value, factored."""
        h, a = np.diff(self.points), self._inverse_gaps
        middle = -(a[:-1] + a[1:])
        own = a[:-1] ** 2 + middle**2 + a[1:] ** 2
        beside = a[1:-1] * (middle[:-1] + middle[1:])
        beyond = a[1:-2] * a[2:-1]
        return _Factor.of(
            (h[:-1] + h[1:])[:, None] / 3 + own[:, None] * values,
            h[1:-1][:, None] / 6 + beside[:, None] * values,
            beyond[:, None] * values,
        )

    def _quadratic(self, own: np.ndarray, beside: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """The diagonal of Q S Q' from three bands of S: (n, R)."""
        a = self._inverse_gaps[:, None]
        left, right = a[:-1], a[1:]  # of a column of Q: its first entry, and its last
        middle = -(left + right)
        total = np.zeros((len(self.points), own.shape[1]), dtype=np.float64)
        total[:-2] += left**2 * own
        total[1:-1] += middle**2 * own
        total[2:] += right**2 * own
        total[1:-2] += 2 * middle[:-1] * left[1:] * beside
        total[2:-1] += 2 * right[:-1] * middle[1:] * beside
        total[2:-2] += 2 * right[:-2] * left[2:] * beyond
        return total


@dataclass(frozen=True, eq=False)
class _Factor:
    """B = L D L' of pentadiagonal matrices (m, m), one for each of R columns of its bands."""

    pivots: np.ndarray  # D, (m, R)
    first: np.ndarray  # one below the diagonal of L, (m - 1, R)
    second: np.ndarray  # two below, (m - 2, R)

    @classmethod
    def of(cls, own: np.ndarray, beside: np.ndarray, beyond: np.ndarray) -> _Factor:
        """From the diagonal and the two bands beside it."""
        d, e, f = own.copy(), beside.copy(), beyond.copy()
        m = len(d)
        for i in range(m):
            if i + 1 < m:
                one = e[i] / d[i]
                d[i + 1] -= one * e[i]
                if i + 2 < m:
                    e[i + 1] -= one * f[i]
                    two = f[i] / d[i]
                    d[i + 2] -= two * f[i]
                    f[i] = two
                e[i] = one
        return cls(d, e, f)

    def solved(self, right: np.ndarray) -> np.ndarray:
        """B^-1 b for every matrix and every column of b (m, q): (m, R, q)."""
        d, e, f = (band[:, :, None] for band in (self.pivots, self.first, self.second))
        m = len(d)
        x = np.repeat(right[:, None, :], d.shape[1], axis=1)
        for i in range(1, m):
            x[i] -= e[i - 1] * x[i - 1]
            if i > 1:
                x[i] -= f[i - 2] * x[i - 2]
        x /= d
        for i in range(m - 2, -1, -1):
            x[i] -= e[i] * x[i + 1]
            if i + 2 < m:
                x[i] -= f[i] * x[i + 2]
        return x

    def inverse_bands(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The diagonal of B^-1 and the two bands beside it (Hutchinson and de Hoog 1985)."""
        own = 1 / self.pivots
        beside, beyond = np.zeros_like(self.first), np.zeros_like(self.second)
        e, f, m = self.first, self.second, len(own)
        for i in range(m - 2, -1, -1):
            beside[i] = -e[i] * own[i + 1]
            if i + 2 < m:
                beside[i] -= f[i] * beside[i + 1]
                beyond[i] = -e[i] * beside[i + 1] - f[i] * own[i + 2]
                own[i] -= f[i] * beyond[i]
            own[i] -= e[i] * beside[i]
        return own, beside, beyond
