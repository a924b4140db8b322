"""Statistic of `NFSIC`: covariances of kernel features at pairs of locations, observed and permuted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from mercer import linalg
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.threads import in_order, spans
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations, permutations
from mercer.htest.nulls import Permutation

_EIGENVALUE_TOLERANCE = 1e-9  # share of the largest eigenvalue below which a direction is constant
_FEATURE_TOLERANCE = 1e-14  # share of the largest norm below which a feature is constant
MIN_RIDGE = (
    1e-10  # of the variance under independence, so that constant directions can be divided by
)
# Statistics above it, for each observation, may have variances that are rounding. Without a ridge features have
# variance one, and the relative rounding of a statistic T is about 1e-16 T / n.
_MAX_FOR_SOLVE = 1e6
_VARIANCE_ROUNDING = 1e-13  # of the largest variance, below which a variance is rounding of zero
_STATISTIC_TOLERANCE = 1e-7  # relative rounding, from directions of small variance
_TILE_NUMBERS = 2**17  # of a tile: it stays in cache
_COVARIANCE_COPIES = 3  # of the covariances of all permutations in memory at the same time
_MIN_NUMBERS_FOR_THREADS = 2_000_000  # with fewer, one thread is as fast as two


class FeatureCovariances(NamedTuple):
    """Covariances u of pairs of features, and S, n times the covariance of u; leading axes are permutations."""

    u: np.ndarray  # (..., J)
    s: np.ndarray  # (..., J, J)


class FeatureCovarianceEvidence(ABC):
    """A statistic n u' (S + ridge I)^-1 u of covariances u of n pairs of features, with the covariance S of u."""

    n: int
    ridge: float
    rank: int

    @property
    @abstractmethod
    def _observed_covariances(self) -> FeatureCovariances:
        """Covariances of the observed pairs."""

    @property
    @abstractmethod
    def effective_observations(self) -> float:
        """The smallest effective number of observations of a feature."""

    @property
    def degrees(self) -> int:
        """The number of directions that vary; with rank 0 the statistic is 0, and p is 1."""
        return max(self.rank, 1)

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return float(self._values(self._observed_covariances))

    def chi_square(self) -> tuple[float, int]:
        """The statistic and its degrees of freedom."""
        return self.observed, self.degrees

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and the weights of its limiting sum of chi-squares under independence."""
        values = np.maximum(linalg.eigvalsh(self._observed_covariances.s)[::-1], 0.0)
        weights = values / (values + self.ridge)
        return self.observed, weights[:rank], float(weights[rank:].sum())

    def _values(self, covariances: FeatureCovariances) -> np.ndarray:
        u, n = covariances.u, self.n
        if self.rank == 0:
            return np.zeros(u.shape[:-1], dtype=np.float64)
        regularized = covariances.s + self.ridge * np.eye(self.rank, dtype=np.float64)
        solved = linalg.solve(regularized, u[..., None])[..., 0]
        forms = np.sum(u * solved, axis=-1)
        degenerate = forms > _MAX_FOR_SOLVE
        if degenerate.any():
            forms = np.array(forms)
            forms[degenerate] = _degenerate_forms(
                u[degenerate], covariances.s[degenerate], self.ridge
            )
        return n * (n / (n - 1)) ** 2 * forms  # with the unbiased u


class FSICEvidence(FeatureCovarianceEvidence):
    """n u' (S + ridge I)^-1 u, asymptotically chi-square under independence.

    u_j is the unbiased covariance of k(x, v_j) and l(y, w_j), S the covariance of the products
    g_ij = (k(x_i, v_j) - mean) (l(y_i, w_j) - mean): Jitkrittum et al. 2017.

    Without a ridge, features are first rotated and scaled to combinations that are uncorrelated and of
    variance one over all n^2 pairs (x_a, y_b), which changes the rounding only. Constant directions
    (equal locations, discrete data) are dropped, and `degrees` counts the others. All this is
    invariant under permutations.
    """

    def __init__(self, k: np.ndarray, l: np.ndarray, ridge: float) -> None:  # noqa: E741
        k, l = k - k.mean(axis=0), l - l.mean(axis=0)  # noqa: E741
        self.n = len(k)
        if ridge > 0:
            self.k, self.l, self.ridge = k, l, ridge
            self.rotation = np.eye(k.shape[1], dtype=np.float64)
        else:
            self.k, self.l, self.rotation = _uncorrelated(k, l)
            self.ridge = MIN_RIDGE
        self.rank = self.rotation.shape[1]

    @cached_property
    def effective_observations(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The smallest effective number of observations of a feature: n over the kurtosis of a product.

        Over all pairs (x_a, y_b) a product of features has the kurtosis of k times that of l. Where it is
        large, few observations near the locations dominate, and covariances are not normal.
        """
        variances = [np.mean(z**2, axis=0) for z in (self.k, self.l)]
        varies = np.logical_and(*(variance > 0 for variance in variances))
        if not varies.any():
            return float(self.n)
        kurtosis = [
            np.mean(z[:, varies] ** 4, axis=0) / variance[varies] ** 2
            for z, variance in zip((self.k, self.l), variances, strict=True)
        ]
        return self.n / float(np.max(kurtosis[0] * kurtosis[1]))

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics of the permutations of y from `columns` on; column 0 is the observed one.

        Within blocks, those in `columns`, one by one; otherwise all from `columns.start` on, because
        circular shifts are computed together.
        """
        if null.blocks is None:
            return self._cyclic(null, seed)[columns.start :]
        values = [np.empty(0, dtype=np.float64)]
        for order in permutations(self.n, null, columns, seed):
            tasks = spans(len(order), max(_TILE_NUMBERS // max(self.k.size, 1), 1))
            parallel = order.size * self.k.shape[1] > _MIN_NUMBERS_FOR_THREADS
            work = partial(self._of_orders, order)
            values.extend(in_order(work, tasks, parallel=parallel, shown=False))
        return np.concatenate(values)

    def _of_orders(self, order: np.ndarray, batch: slice) -> np.ndarray:
        """The statistics of some of the permutations, the rows of `order`."""
        return self._values(self._permuted(order[batch]))

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return _STATISTIC_TOLERANCE * (1 + self.observed)

    def _cyclic(self, null: Permutation, seed: int) -> np.ndarray:
        """The statistics of all permutations of a null without blocks, by Fourier transforms.

        Sums of g and gg' over permuted pairs are cross-correlations, of k with l and of products of
        two columns of k with those of l.
        """
        k, l, cyclic = self.k.T, self.l.T, CyclicPermutations(self.n, null, seed)  # noqa: E741
        b, width = len(cyclic.positions), len(k)
        _check_memory(b, width)
        u = np.empty((b, width), dtype=np.float64)
        s = np.empty((b, width, width), dtype=np.float64)
        for i in range(width):
            u[:, i] = cyclic.cross_correlations(k[i, None], l[i, None])[0, 0]
            for j in range(i + 1):
                pair = k[i, None] * k[j], l[i, None] * l[j]
                s[:, i, j] = s[:, j, i] = cyclic.cross_correlations(*pair)[0, 0]
        return self._values(self._rotated(u, s))

    @cached_property
    def _observed_covariances(self) -> FeatureCovariances:  # pyright: ignore[reportIncompatibleMethodOverride]
        g = self.k * self.l
        return self._rotated(g.sum(axis=0), g.T @ g)

    def _permuted(self, order: np.ndarray) -> FeatureCovariances:
        """The covariances for orders (b, n) of y, from sums of g and of gg' over the observations."""
        b, width = len(order), self.k.shape[1]
        u = np.zeros((b, width), dtype=np.float64)
        s = np.zeros((b, width, width), dtype=np.float64)
        for span in spans(self.n, max(_TILE_NUMBERS // max(b * width, 1), 1)):
            g = self.l.take(order[:, span], axis=0)  # (b, span, J)
            g *= self.k[span]
            u += g.sum(axis=1)
            s += np.matmul(g.transpose(0, 2, 1), g)
        return self._rotated(u, s)

    def _rotated(self, u: np.ndarray, s: np.ndarray) -> FeatureCovariances:
        """Covariances of the rotated features, from sums over the unrotated ones."""
        u = u @ self.rotation / self.n
        s = self.rotation.T @ (s / self.n) @ self.rotation
        return FeatureCovariances(u, s - u[..., :, None] * u[..., None, :])


def _degenerate_forms(u: np.ndarray, s: np.ndarray, ridge: float) -> np.ndarray:
    """u' (S + ridge I)^-1 u where u is not zero in directions of variance zero: the ridge alone is below it.

    Rounding of S in such a direction would be a share of the ridge, so that equal statistics would differ.
    """
    variances, directions = linalg.eigh(s)
    constant = variances <= _VARIANCE_ROUNDING * variances[..., -1:]
    along = np.matmul(u[..., None, :], directions)[..., 0, :]
    return np.sum(along**2 / (np.where(constant, 0.0, variances) + ridge), axis=-1)


def _check_memory(resamples: int, features: int) -> None:
    needed = _COVARIANCE_COPIES * 8 * resamples * features**2
    if needed > settings().memory:
        raise MemoryBudgetError(
            f"{resamples:,} covariances of {features:,} features need {needed / 2**20:,.0f} MiB, and the "
            f"budget is {settings().memory / 2**20:,.0f} MiB: use fewer locations or permutations, or "
            "raise it by mercer.config(memory=...)"
        )


def _uncorrelated(k: np.ndarray, l: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # noqa: E741
    """Features of variance one, and the combinations of their products that are not constant: (J, r)."""
    norms = [np.sqrt(np.mean(z**2, axis=0)) for z in (k, l)]
    varies = both_vary(*norms)
    k, l = (z[:, varies] / norm[varies] for z, norm in zip((k, l), norms, strict=True))  # noqa: E741
    return k, l, rotation_of((k.T @ k) * (l.T @ l) / len(k) ** 2)


def both_vary(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which pairs of features vary in both variables, given their root mean squares."""
    return np.logical_and(
        *(norm > _FEATURE_TOLERANCE * np.max(norm, initial=0.0) for norm in (first, second))
    )


def rotation_of(product: np.ndarray) -> np.ndarray:
    """Uncorrelated combinations of products of features, given the mean of gg' over all pairs (x_a, y_b): (J, r)."""
    values, vectors = linalg.eigh(product)
    significant = values > _EIGENVALUE_TOLERANCE * np.max(values, initial=0.0)
    return vectors[:, significant] / np.sqrt(values[significant])
