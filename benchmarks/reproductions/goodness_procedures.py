"""The procedures of Jitkrittum et al. 2017 (a linear-time goodness-of-fit test), as a yardstick.

The paper prints its rejection rates as curves only, so that the rates to reach are made again here,
on the same observations as mercer's. FSSD with five locations and a Gaussian kernel: learnt on a
fifth of the observations by L-BFGS-B (40 steps at most, from draws of a fitted Gaussian at the best
of five widths, variances regularised by 0.01), or random ones at the median distance; its null by
2,000 draws with the covariance of the observed features. The kernel Stein discrepancy of all pairs
with 1,000 random signs, or of n / 2 pairs with a normal null (LKS); and the MMD with as many draws
from the model, a width chosen on a fifth by the ratio of Sutherland et al. 2017, 300 permutations.
Nothing of mercer is used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform
from scipy.stats import norm

J = 5
SHARE = 0.2  # of the observations, to learn from
Score = Callable[[np.ndarray], np.ndarray]


# ---- FSSD -----------------------------------------------------------------------------------


def fssd_optimised(x: np.ndarray, score: Score, rng: np.random.Generator) -> float:
    rows = rng.permutation(len(x))
    n = round(SHARE * len(x))
    train, test = x[rows[:n]], x[rows[n:]]
    v, width2 = _learnt(train, score(train), rng)
    return _fssd(test, score(test), v, width2, rng)


def fssd_random(x: np.ndarray, score: Score, rng: np.random.Generator) -> float:
    return _fssd(x, score(x), _fitted_draws(x, rng), _median_distance(x, rng) ** 2, rng)


def _fssd(
    x: np.ndarray, s: np.ndarray, v: np.ndarray, width2: float, rng: np.random.Generator
) -> float:
    """n times the unbiased statistic against 2,000 draws of its limit."""
    t = _features(x, s, v, width2)[0].reshape(len(x), -1)
    n, total = len(t), t.sum(axis=0)
    observed = (total @ total - np.sum(t * t)) / (n - 1)
    ends = np.maximum(np.linalg.eigvalsh(np.atleast_2d(np.cov(t.T))), 0)
    draws = (rng.standard_normal((2000, len(ends))) ** 2 - 1) @ ends
    return float(np.mean(draws > observed))


def _features(
    x: np.ndarray, s: np.ndarray, v: np.ndarray, width2: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(s(x) k + grad_x k) / sqrt(dJ) (n, J, d), and what its gradient needs."""
    u = x[:, None, :] - v
    r2 = np.sum(u * u, axis=2)
    k = np.exp(-r2 / (2 * width2)) / np.sqrt(v.size)
    w = s[:, None, :] - u / width2
    return k[:, :, None] * w, u, k, w


def _learnt(x: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Locations and the squared width where the criterion is largest."""
    v, median2 = _fitted_draws(x, rng), _median_distance(x, rng) ** 2
    widths = median2 * 2.0 ** np.linspace(-3, 3, 5)
    start = min(widths, key=lambda w2: criterion(np.append(v.ravel(), w2**0.5), x, s)[0])
    spread = x.std(axis=0)
    low, high = x.min(axis=0) - 10 * spread, x.max(axis=0) + 10 * spread
    bounds = [*zip(np.tile(low, J), np.tile(high, J), strict=True), (0.1**0.5, 1e2)]
    begin = np.append(v.ravel(), np.clip(start**0.5, *bounds[-1]))
    options = {"maxiter": 40, "ftol": 1e-4, "gtol": 1e-6}
    found = minimize(
        criterion, begin, args=(x, s), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return found.x[:-1].reshape(v.shape), float(found.x[-1] ** 2)


def criterion(theta: np.ndarray, x: np.ndarray, s: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus FSSD^2 / sqrt(variance + 0.01), and its gradient in locations and the root of the width."""
    v, root = theta[:-1].reshape(-1, x.shape[1]), theta[-1]
    width2 = root**2
    made, u, k, w = _features(x, s, v, width2)
    value, of_t = _ratio(made.reshape(len(x), -1))
    g = of_t.reshape(made.shape)
    along = np.sum(g * w, axis=2) * k  # d value / d log k
    flow = np.einsum("ij,ijk->jk", along, u) + np.einsum("ij,ijk->jk", k, g)
    r2 = np.sum(u * u, axis=2)
    turn = np.sum(along * r2) / 2 + np.sum(k * np.sum(g * u, axis=2))
    return -value, -np.append((flow / width2).ravel(), turn / width2**2 * 2 * root)


def _ratio(t: np.ndarray) -> tuple[float, np.ndarray]:
    """The ratio of features (n, D), and its gradient in them."""
    n, mean = len(t), t.mean(axis=0)
    top = (n * mean @ mean - np.mean(np.sum(t * t, axis=1))) / (n - 1)
    of_top = 2 * (n * mean - t) / (n * (n - 1))
    c, m2 = t @ mean, float(mean @ mean)
    variance = 4 * float(np.mean(c * c)) - 4 * m2**2 + 1e-2
    of_variance = 8 * (c[:, None] * mean + (c @ t) / n - 2 * m2 * mean) / n
    deviation = variance**0.5
    return float(top / deviation), (of_top - top * of_variance / (2 * variance)) / deviation


def _fitted_draws(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    cov = np.atleast_2d(np.cov(x.T)) + 1e-6 * np.eye(x.shape[1])
    return rng.multivariate_normal(x.mean(axis=0), cov, J)


# ---- kernel Stein discrepancies -----------------------------------------------------------------


def ksd_quadratic(x: np.ndarray, score: Score, rng: np.random.Generator) -> float:
    """All pairs, the median distance, 1,000 draws of random signs."""
    h = stein_matrix(x, score(x), _median_distance(x, rng) ** 2)
    signs = 2.0 * rng.integers(0, 2, (len(x), 1000)) - 1
    draws = np.sum(signs * (h @ signs), axis=0)
    return float(np.mean(draws > h.sum()))


def ksd_linear(x: np.ndarray, score: Score, rng: np.random.Generator) -> float:
    """The i-th of one half with the i-th of the other; a normal null with the mean of squares."""
    m, width2 = len(x) // 2, _median_distance(x, rng) ** 2
    a, b = x[:m], x[m : 2 * m]
    s, t, u = score(a), score(b), a - b
    r2, d = np.sum(u * u, axis=1), x.shape[1]
    k = np.exp(-r2 / (2 * width2))
    steps = (np.sum((s - t) * u, axis=1) + d - r2 / width2) / width2
    h = k * (np.sum(s * t, axis=1) + steps)
    return float(norm.sf(m**0.5 * h.mean() / np.sqrt(np.mean(h * h))))


def stein_matrix(x: np.ndarray, s: np.ndarray, width2: float) -> np.ndarray:
    """The Stein kernel of a Gaussian kernel at all pairs."""
    r2 = squareform(pdist(x, "sqeuclidean"))
    own = np.sum(s * x, axis=1)
    cross = s @ x.T  # (s_i - s_j)'(x_i - x_j) from these
    steps = own[:, None] + own[None, :] - cross - cross.T
    d = x.shape[1]
    return np.exp(-r2 / (2 * width2)) * (s @ s.T + (steps + d - r2 / width2) / width2)


# ---- draws from the model -------------------------------------------------------------------


def mmd_optimised(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> float:
    """Against draws y from the model; the best of thirty widths on a fifth, 300 permutations."""
    n = round(SHARE * len(x))
    train = np.concatenate([x[:n], y[:n]])
    r2 = squareform(pdist(train, "sqeuclidean"))
    widths = np.median(r2[np.triu_indices(2 * n, 1)]) * 2.0 ** np.linspace(-3, 3, 30)
    width2 = max(widths, key=lambda w2: _mmd_ratio(np.exp(-r2 / (2 * w2)), n))
    test, m = np.concatenate([x[n:], y[n:]]), len(x) - n
    k = np.exp(-squareform(pdist(test, "sqeuclidean")) / (2 * width2))
    np.fill_diagonal(k, 0)
    side = np.repeat([1.0, -1.0], m)
    columns = np.stack([side, *(rng.permutation(side) for _ in range(300))], axis=1)
    forms = np.sum(columns * (k @ columns), axis=0)
    return float(np.mean(forms[1:] > forms[0]))


def _mmd_ratio(k: np.ndarray, n: int) -> float:
    """The unbiased MMD^2 by the root of its variance and 0.001."""
    h = k[:n, :n] + k[n:, n:] - k[:n, n:] - k[:n, n:].T
    np.fill_diagonal(h, 0)
    rows = h.sum(axis=1)
    mean = rows.sum() / (n * (n - 1))
    variance = 4 * max(float(np.sum(rows**2)) / n**3 - (rows.sum() / n**2) ** 2, 0.0)
    return float(mean / (variance + 1e-3) ** 0.5)


def _median_distance(x: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.median(pdist(x[rng.permutation(len(x))[:1000]])))
