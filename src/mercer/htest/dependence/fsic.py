"""Covariances of kernel features at pairs of locations, for the observations and for permuted ones."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from mercer import linalg
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.threads import in_order, spans
from mercer.htest.dependence.sums.cyclic_permutations import Turns
from mercer.htest.dependence.sums.permuted_low_rank import permutations
from mercer.htest.nulls import Permutation

_RANK = 1e-9  # share of the largest eigenvalue below which a direction does not vary
_RIDGE = 1e-10  # of the variance under independence, so that what does not vary can be divided by
_TIE = 1e-7  # of a statistic: what rounding makes of directions that hardly vary
_TILE = 2**17  # numbers of a tile: it stays in cache
_COPIES = 3  # of the covariances of all permutations, at the same time
_MANY = 2_000_000  # numbers in all, below which one thread is as fast as two


class Covariances(NamedTuple):
    """Covariances u of the features, pair by pair, and S, n times the covariance of u.

    Leading axes are orders of y.
    """

    u: np.ndarray  # (..., J)
    s: np.ndarray  # (..., J, J)


class FSICEvidence:
    """n u' (S + ridge I)^-1 u, a chi-square if the variables are independent.

    u_j is the unbiased covariance of k(x, v_j) and l(y, w_j), S the covariance of the products
    g_ij = (k(x_i, v_j) - mean) (l(y_i, w_j) - mean): Jitkrittum et al. 2017.

    Without a ridge features are first turned into combinations that are uncorrelated and of variance
    one over all n^2 pairs (x_a, y_b), which changes nothing but the rounding. Directions that do
    not vary there are left out (equal locations, discrete data), and `degrees` counts those that
    remain. Permutations leave all this as it is.
    """

    def __init__(self, k: np.ndarray, l: np.ndarray, ridge: float) -> None:  # noqa: E741
        k, l = k - k.mean(axis=0), l - l.mean(axis=0)  # noqa: E741
        self.n = len(k)
        if ridge > 0:
            self.k, self.l, self.ridge = k, l, ridge
            self.turn = np.eye(k.shape[1], dtype=np.float64)
        else:
            self.k, self.l, self.turn = _uncorrelated(k, l)
            self.ridge = _RIDGE
        self.rank = self.turn.shape[1]
        self.degrees = max(self.rank, 1)  # where nothing varies the statistic is 0, and p is 1

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return float(self._values(self._own))

    @cached_property
    def near(self) -> float:
        """Upon how many observations the statistic rests, at the least: n over the kurtosis of a product.

        Over all pairs (x_a, y_b) a product of features has the kurtosis of k times that of l. Where it is
        large few observations near the locations decide, and covariances are not normal.
        """
        sizes = [np.mean(z**2, axis=0) for z in (self.k, self.l)]
        varies = np.logical_and(*(size > 0 for size in sizes))
        if not varies.any():
            return float(self.n)
        heavy = [
            np.mean(z[:, varies] ** 4, axis=0) / size[varies] ** 2
            for z, size in zip((self.k, self.l), sizes, strict=True)
        ]
        return self.n / float(np.max(heavy[0] * heavy[1]))

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of y in some other orders; column 0 is the observed one.

        Within blocks one by one; else in turns, all moves of one order by Fourier transforms.
        """
        if null.blocks is None:
            return self._in_turns(null, seed)[columns]
        parts = [np.empty(0, dtype=np.float64)]
        for order in permutations(self.n, null, columns, seed):
            tasks = spans(len(order), max(_TILE // max(self.k.size, 1), 1))
            many = order.size * self.k.shape[1] > _MANY
            work = lambda some, order=order: self._values(self._of(order[some]))  # noqa: E731
            parts.extend(in_order(work, tasks, parallel=many, shown=False))
        return np.concatenate(parts)

    def chi_square(self) -> tuple[float, int]:
        """The statistic and its degrees of freedom."""
        return self.observed, self.degrees

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and the weights of the chi-squares it is a sum of under independence."""
        values = np.maximum(linalg.eigvalsh(self._own.s)[::-1], 0.0)
        weights = values / (values + self.ridge)
        return self.observed, weights[:rank], float(weights[rank:].sum())

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return _TIE * (1 + self.observed)

    _drawn: tuple[Permutation, int, np.ndarray] | None = None

    def _in_turns(self, null: Permutation, seed: int) -> np.ndarray:
        """The statistics of all permutations of a null without blocks: they come together.

        Sums of g and gg' over permuted pairs are correlations, of k with l and of products of two
        columns of k with those of l.
        """
        if self._drawn is None or self._drawn[:2] != (null, seed):
            k, l, turns = self.k.T, self.l.T, Turns(self.n, null, seed)  # noqa: E741
            b, width = len(turns.places), len(k)
            _afford(b, width)
            u = np.empty((b, width), dtype=np.float64)
            s = np.empty((b, width, width), dtype=np.float64)
            for i in range(width):
                u[:, i] = turns.crossed(k[i, None], l[i, None])[0, 0]
                for j in range(i + 1):
                    pair = k[i, None] * k[j], l[i, None] * l[j]
                    s[:, i, j] = s[:, j, i] = turns.crossed(*pair)[0, 0]
            self._drawn = (null, seed, self._values(self._turned(u, s)))
        return self._drawn[2]

    @cached_property
    def _own(self) -> Covariances:
        g = self.k * self.l
        return self._turned(g.sum(axis=0), g.T @ g)

    def _of(self, order: np.ndarray) -> Covariances:
        """Of some orders of y, from sums of g and of gg' over the observations."""
        b, width = len(order), self.k.shape[1]
        u = np.zeros((b, width), dtype=np.float64)
        s = np.zeros((b, width, width), dtype=np.float64)
        for part in spans(self.n, max(_TILE // max(b * width, 1), 1)):
            g = self.l.take(order[:, part], axis=0)  # (b, part, J)
            g *= self.k[part]
            u += g.sum(axis=1)
            s += np.matmul(g.transpose(0, 2, 1), g)
        return self._turned(u, s)

    def _turned(self, u: np.ndarray, s: np.ndarray) -> Covariances:
        """Means and covariances of the turned features, from sums of those before."""
        u = u @ self.turn / self.n
        s = self.turn.T @ (s / self.n) @ self.turn
        return Covariances(u, s - u[..., :, None] * u[..., None, :])

    def _values(self, found: Covariances) -> np.ndarray:
        u, n = found.u, self.n
        if self.rank == 0:
            return np.zeros(u.shape[:-1], dtype=np.float64)
        moved = found.s + self.ridge * np.eye(self.rank, dtype=np.float64)
        solved = linalg.solve(moved, u[..., None])[..., 0]
        return n * (n / (n - 1)) ** 2 * np.sum(u * solved, axis=-1)  # u without its bias


def _afford(resamples: int, features: int) -> None:
    needed = _COPIES * 8 * resamples * features**2
    if needed > settings().memory:
        raise MemoryBudgetError(
            f"{resamples:,} covariances of {features:,} features need {needed / 2**20:,.0f} MiB, and the "
            f"budget is {settings().memory / 2**20:,.0f} MiB: use fewer locations or permutations, or "
            "raise it by mercer.config(memory=...)"
        )


def _uncorrelated(k: np.ndarray, l: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # noqa: E741
    """Features of variance one, and the combinations of their products that vary: (J, r)."""
    sizes = [np.sqrt(np.mean(z**2, axis=0)) for z in (k, l)]
    varies = np.logical_and(*(size > 1e-14 * np.max(size, initial=0.0) for size in sizes))
    k, l = (z[:, varies] / size[varies] for z, size in zip((k, l), sizes, strict=True))  # noqa: E741
    product = (k.T @ k) * (l.T @ l) / len(k) ** 2  # mean over all pairs (a, b) of g_ab g_ab'
    values, vectors = linalg.eigh(product)
    kept = values > _RANK * np.max(values, initial=0.0)
    return k, l, vectors[:, kept] / np.sqrt(values[kept])
