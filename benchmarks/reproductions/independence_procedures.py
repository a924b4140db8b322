"""The procedures of Jitkrittum et al. 2017 with their own settings, as a yardstick.

The paper prints its rejection rates as curves only, so that the rates to reach are made again here,
on the same observations as mercer's. NFSIC with ten locations, learnt on one half of the sample by
normalised gradient steps (200 at most, of length 1 / sqrt(t), from the best of forty random sets at
the best widths of a grid), or random ones at the median distances; HSIC by all pairs with 300
permutations, or by ten random Fourier frequencies or ten landmarks for each variable with draws of
its limit; the randomized dependence coefficient with ten frequencies and 500 permutations. Nothing
of mercer is used.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import chi2, rankdata

J = 10
Pair = tuple[np.ndarray, np.ndarray]


# ---- NFSIC ----------------------------------------------------------------------------------


def nfsic_optimised(whole: Pair, rng: np.random.Generator) -> float:
    """Locations and widths from the first half, the test on the second."""
    n = len(whole[0]) // 2
    train, test = (whole[0][:n], whole[1][:n]), (whole[0][n:], whole[1][n:])
    medians = [_median_distance(z, rng) ** 2 for z in train]
    places = _first_locations(train, medians, rng)
    grid = 2.0 ** np.linspace(-3, 3, 5)
    pairs = [(a * medians[0], b * medians[1]) for a in grid for b in grid]
    widths = max(pairs, key=lambda pair: _statistic(train, places, pair))
    places, widths = _ascend(train, places, widths, medians)
    widths = tuple(
        float(np.clip(w, 0.05 * m, 5e3 * m)) for w, m in zip(widths, medians, strict=True)
    )
    return float(chi2.sf(_statistic(test, places, widths), J))


def nfsic_random(whole: Pair, rng: np.random.Generator) -> float:
    """Locations from a joint Gaussian fitted to all observations, median distances."""
    z = np.hstack(whole)
    values, vectors = np.linalg.eigh(np.cov(z.T) + 1e-3 * np.eye(z.shape[1]))
    drawn = rng.multivariate_normal(z.mean(axis=0), (vectors * values**0.9) @ vectors.T, J)
    drawn = np.clip(drawn, z.min(axis=0), z.max(axis=0))
    places = drawn[:, : whole[0].shape[1]], drawn[:, whole[0].shape[1] :]
    widths = tuple(_median_distance(s, rng) ** 2 for s in whole)
    return float(chi2.sf(_statistic(whole, places, widths), J))


def _first_locations(train: Pair, medians: list[float], rng: np.random.Generator) -> Pair:
    """The best of 20 sets of pairs that were observed together, and of 20 of any pairs."""
    n = len(train[0])
    sets = []
    for together in (True, False):
        for _ in range(20):
            first = rng.choice(n, J, replace=False)
            second = first if together else rng.choice(n, J, replace=False)
            sets.append((train[0][first], train[1][second]))
    widths = (2 * medians[0], 2 * medians[1])
    return max(sets, key=lambda places: _statistic(train, places, widths))


class Gauss:
    """exp(-|x - v|^2 / (2 width2)), centred: (n, J)."""

    def __init__(self, x: np.ndarray, v: np.ndarray, width2: float) -> None:
        self.x, self.v, self.width2 = x, v, width2
        self.r2 = (x**2).sum(axis=1)[:, None] - 2 * x @ v.T + (v**2).sum(axis=1)
        self.z = np.exp(-self.r2 / (2 * width2))
        self.centred = self.z - self.z.mean(axis=0)

    def pull(self, g: np.ndarray) -> tuple[np.ndarray, float]:
        """From the gradient with respect to the centred features to those of v and width2."""
        a = (g - g.mean(axis=0)) * self.z
        slope = (a.T @ self.x - a.sum(axis=0)[:, None] * self.v) / self.width2
        return slope, float(np.sum(a * self.r2)) / (2 * self.width2**2)


def _value(k: Gauss, l: Gauss, ridge: float) -> tuple[float, np.ndarray]:  # noqa: E741
    """n u' (S + ridge I)^-1 u, and its gradient with respect to the products of features."""
    g = k.centred * l.centred
    u = g.mean(axis=0)
    g = g - u
    a = np.linalg.solve(g.T @ g / len(g) + ridge * np.eye(len(u)), u)
    return float(len(g) * u @ a), np.outer(2 * (1 - g @ a), a)


def _statistic(pair: Pair, places: Pair, widths: tuple[float, ...]) -> float:
    sides = [Gauss(*each) for each in zip(pair, places, widths, strict=True)]
    try:
        value = _value(sides[0], sides[1], 0.0)[0]
    except np.linalg.LinAlgError:
        return -np.inf
    return value if np.isfinite(value) else -np.inf


def _ascend(
    train: Pair, places: Pair, widths: tuple[float, ...], medians: list[float]
) -> tuple[Pair, tuple[float, ...]]:
    """200 steps up the regularised statistic; the roots of the widths move too."""
    places, roots = [*places], [w**0.5 for w in widths]
    most = [float(np.min(z.std(axis=0))) / 2 for z in train]
    before, used = -np.inf, (tuple(places), tuple(r**2 for r in roots))
    for t in range(1, 201):
        k, l = (Gauss(z, v, r**2) for z, v, r in zip(train, places, roots, strict=True))  # noqa: E741
        value, g = _value(k, l, 1e-6)
        slopes = k.pull(g * l.centred), l.pull(g * k.centred)
        if not all(np.isfinite(s).all() and np.isfinite(turn) for s, turn in slopes):
            break
        used = tuple(places), tuple(r**2 for r in roots)
        if t > 4 and abs(value - before) <= 1e-4:
            break
        before = value
        for i, (slope, turn) in enumerate(slopes):
            places[i] = places[i] + slope / max(np.linalg.norm(slope), 1e-300) / t**0.5
            step = float(np.clip(2 * roots[i] * turn, -most[i], most[i])) / t**0.5
            bounds = (1e-3 * medians[i]) ** 0.5, (5e3 * medians[i]) ** 0.5
            roots[i] = float(np.clip(roots[i] + step, *bounds))
    return used  # type: ignore[return-value]


# ---- HSIC -----------------------------------------------------------------------------------


def hsic_quadratic(whole: Pair, rng: np.random.Generator) -> float:
    """All pairs, median distances, 300 permutations; by factors where these are exact to 1e-8."""
    a, b = (_factor(z, _median_distance(z, rng)) for z in whole)
    a = a - a.mean(axis=0)
    observed = np.sum((a.T @ b) ** 2)
    draws = [np.sum((a.T @ b[rng.permutation(len(b))]) ** 2) for _ in range(300)]
    return float(np.mean(np.array(draws) > observed))


def hsic_fourier(whole: Pair, rng: np.random.Generator) -> float:
    """Ten frequencies for each variable."""
    return _spectral(*(_fourier(z, _median_distance(z, rng), rng) for z in whole), rng)


def hsic_nystrom(whole: Pair, rng: np.random.Generator) -> float:
    """Ten landmarks for each variable."""
    return _spectral(*(_nystrom(z, _median_distance(z, rng), rng) for z in whole), rng)


def _spectral(a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> float:
    """n |cross-covariance|^2 against 2,000 draws of sums of products of eigenvalues."""
    a, b, n = a - a.mean(axis=0), b - b.mean(axis=0), len(a)
    observed = np.sum((a.T @ b / n) ** 2) * n
    ends = [np.maximum(np.linalg.eigvalsh(z.T @ z / n), 0) for z in (a, b)]
    weights = np.outer(*ends).ravel()
    return float(np.mean(rng.chisquare(1, (2000, len(weights))) @ weights > observed))


def _fourier(z: np.ndarray, width: float, rng: np.random.Generator) -> np.ndarray:
    phase = z @ rng.standard_normal((z.shape[1], 10)) / width
    return np.hstack([np.cos(phase), np.sin(phase)]) / 10**0.5


def _nystrom(z: np.ndarray, width: float, rng: np.random.Generator) -> np.ndarray:
    some = z[rng.choice(len(z), 10, replace=False)]
    values, vectors = np.linalg.eigh(_gauss(some, some, width))
    root = (vectors / np.sqrt(np.maximum(values, 0) + 1e-6)) @ vectors.T
    return _gauss(z, some, width) @ root


def _factor(z: np.ndarray, width: float) -> np.ndarray:
    """Columns of the Gram matrix, the largest rest first, made orthogonal: K = AA'."""
    left, columns = np.ones(len(z)), np.empty((len(z), 0))
    while left.sum() > 1e-8 * len(z) and columns.shape[1] < len(z):
        p = int(np.argmax(left))
        column = _gauss(z, z[[p]], width)[:, 0] - columns @ columns[p]
        columns = np.hstack([columns, column[:, None] / left[p] ** 0.5])
        left = np.maximum(left - columns[:, -1] ** 2, 0)
        left[p] = 0
    return columns


# ---- the randomized dependence coefficient ----------------------------------------------------


def rdc(whole: Pair, rng: np.random.Generator) -> float:
    """The largest canonical correlation of ten frequencies of the ranks, 500 permutations."""
    ranks = [rankdata(z, axis=0) / len(z) for z in whole]
    a, b = (_whitened(_fourier(z, _median_distance(z, rng), rng)) for z in ranks)
    observed = np.linalg.norm(a.T @ b, 2)
    draws = [np.linalg.norm(a.T @ b[rng.permutation(len(b))], 2) for _ in range(500)]
    return float(np.mean(np.array(draws) > observed))


def _whitened(z: np.ndarray) -> np.ndarray:
    u, s, _ = np.linalg.svd(z - z.mean(axis=0), full_matrices=False)
    return u[:, s > 1e-5 * s[0]]


def _gauss(x: np.ndarray, y: np.ndarray, width: float) -> np.ndarray:
    r2 = (x**2).sum(axis=1)[:, None] - 2 * x @ y.T + (y**2).sum(axis=1)
    return np.exp(-np.maximum(r2, 0) / (2 * width**2))


def _median_distance(z: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.median(pdist(z[rng.permutation(len(z))[:1000]])))
