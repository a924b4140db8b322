"""Published formulas of ITE's estimators, with all pairwise distances; nothing of mercer is used.

Estimates by neighbours differ from those of ITE by a factor that tends to one: mercer removes the bias of n neighbours, ITE
that of infinitely many (`gamma_ratio`). The factor is included here, so that both agree to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log, pi, sqrt

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import digamma

K, ALPHA, BETA = 4, 0.7, 1.2

# ---- nearest neighbours ---------------------------------------------------------------------


def volumes(x: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Volumes of the balls at x_i up to the k-th neighbour in y, or among the other x_j if y is x."""
    d = x.shape[1]
    ordered = np.sort(cdist(x, y), axis=1)
    return pi ** (d / 2) / np.exp(lgamma(d / 2 + 1)) * ordered[:, k - (y is not x)] ** d


def gamma_ratio(m: int, e: float) -> float:
    """Gamma(m + 1 - e) / (Gamma(m + 1) m^-e), which tends to 1: ITE leaves it out."""
    return float(np.exp(lgamma(m + 1 - e) - lgamma(m + 1) + e * log(m)))


def integral(x: np.ndarray, y: np.ndarray, a: float, b: float = 0.0, k: int = K) -> float:
    """int p^a q^b as Poczos and Schneider (2011) estimate it from the points of x."""
    n, m = len(x), len(y)
    terms = (volumes(x, x, k) * (n - 1)) ** (1 - a) * (volumes(x, y, k) * m) ** -b
    constant = 2 * lgamma(k) - lgamma(k - a + 1) - lgamma(k - b)
    if b == 0:
        terms, constant = (
            (volumes(x, x, k) * (n - 1)) ** (1 - a),
            lgamma(k) - lgamma(k - a + 1),
        )
    finite = gamma_ratio(n - 1, a - 1) * (gamma_ratio(m, b) if b else 1.0)
    return float(np.mean(terms)) * np.exp(constant) * finite


def shannon(x: np.ndarray, k: int = K) -> float:
    """Kozachenko and Leonenko; psi(n) where ITE has log(n - 1)."""
    return digamma(len(x)) - digamma(k) + float(np.mean(np.log(volumes(x, x, k))))


def cross(x: np.ndarray, y: np.ndarray, k: int = K) -> float:
    return digamma(len(y) + 1) - digamma(k) + float(np.mean(np.log(volumes(x, y, k))))


def kullback(x: np.ndarray, y: np.ndarray, k: int = K, other: int = K) -> float:
    return cross(x, y, other) - shannon(x, k)


def renyi(x: np.ndarray, a: float = ALPHA) -> float:
    return log(integral(x, x, a)) / (1 - a)


def tsallis(x: np.ndarray, a: float = ALPHA) -> float:
    return (1 - integral(x, x, a)) / (a - 1)


def bregman(x: np.ndarray, y: np.ndarray, a: float = ALPHA) -> float:
    mixed = integral(x, x, a) - a * integral(x, y, 1, a - 1)
    return integral(y, y, a) + mixed / (a - 1)


# ---- entropies on the line, and of graphs ---------------------------------------------------


def vasicek(x: np.ndarray) -> float:
    n, m = len(x), round(sqrt(len(x)))
    s = np.concatenate([np.full(m, x.min()), np.sort(x), np.full(m, x.max())])
    return float(np.mean(np.log(n / (2 * m) * (s[2 * m :] - s[: -2 * m]))))


def phi_spacing(x: np.ndarray, f: Callable, w: Callable) -> float:
    """van Es (1992): mean of f(density of a spacing) times the mean weight of its ends."""
    s, n, m = np.sort(x), len(x), round(sqrt(len(x)))
    terms = [
        f((m / (n + 1)) / (s[i + m] - s[i])) * (w(s[i]) + w(s[i + m])) / 2 for i in range(n - m)
    ]
    return float(np.mean(terms))


def negentropy(x: np.ndarray, b: float, g: Callable, normal: float) -> float:
    """Of the standardized sample (Hyvaerinen 1998)."""
    z = (x - x.mean()) / np.std(x)
    odd = 36 / (8 * sqrt(3) - 9) * np.mean(z * np.exp(-(z**2) / 2)) ** 2
    return float(odd + b * (np.mean(g(z)) - normal) ** 2)


def neighbour_graph(x: np.ndarray, chosen: tuple[int, ...]) -> float:
    """Edge lengths to the power d (1 - a), over their constant for unit density (Pal et al. 2010)."""
    n, d = x.shape
    ordered = np.sort(cdist(x, x), axis=1)
    total = sum(float(np.sum(ordered[:, k] ** (d * (1 - ALPHA)))) for k in chosen)
    ball = pi ** (d / 2) / np.exp(lgamma(d / 2 + 1))
    powers = [lgamma(k + 1 - ALPHA) - lgamma(k) + lgamma(n) - lgamma(n + 1 - ALPHA) for k in chosen]
    constant = float(np.sum(np.exp(powers))) * ball ** (ALPHA - 1)
    return log(total / n / constant) / (1 - ALPHA)


# ---- divergences ----------------------------------------------------------------------------


def density_ratio(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """p / q at the points of y, from round(sqrt(n)) neighbours at least, without the correction of K."""
    k = int(np.ceil(sqrt(min(len(x), len(y)))))
    return (len(y) - 1) * volumes(y, y, k) / (len(x) * volumes(y, x, k))


def jensen_shannon(x: np.ndarray, y: np.ndarray) -> float:
    r, s = density_ratio(x, y), density_ratio(y, x)
    return float(np.mean(-np.log((1 + r) / 2)) + np.mean(-np.log((1 + s) / 2))) / 2


def mmd(x: np.ndarray, y: np.ndarray, width: float, *, unbiased: bool) -> float:
    """Squared, by the three means of kernel matrices."""
    k, l, m = (gauss(a, b, width) for a, b in ((x, x), (y, y), (x, y)))
    if unbiased:
        return without_diagonal(k) + without_diagonal(l) - 2 * float(m.mean())
    return float(k.mean() + l.mean() - 2 * m.mean())


def gauss(x: np.ndarray, y: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-cdist(x, y, "sqeuclidean") / (2 * width**2))


def without_diagonal(k: np.ndarray) -> float:
    n = len(k)
    return float(k.sum() - np.trace(k)) / (n * (n - 1))


def online(x: np.ndarray, y: np.ndarray, width: float) -> float:
    """Mean over pairs of consecutive observations (Gretton et al. 2012, lemma 14)."""
    total = 0.0
    for i in range(0, len(x), 2):
        a, b, c, d = x[i], x[i + 1], y[i], y[i + 1]
        k = [
            np.exp(-np.sum((u - v) ** 2) / (2 * width**2))
            for u, v in ((a, b), (c, d), (a, d), (b, c))
        ]
        total += k[0] + k[1] - k[2] - k[3]
    return total / (len(x) // 2)


def energy_distance(x: np.ndarray, y: np.ndarray) -> float:
    return float(2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean())


def tsallis_difference(x: np.ndarray, y: np.ndarray, joined: np.ndarray) -> float:
    """Jensen-Tsallis q-difference H(m) - 2^-q (H(p) + H(r)) of Martins et al. (2009)."""
    return tsallis(joined) - 2**-ALPHA * (tsallis(x) + tsallis(y))


def log_q_of_2(q: float) -> float:
    return (2 ** (1 - q) - 1) / (1 - q)


# ---- dependence -----------------------------------------------------------------------------


def centred(k: np.ndarray) -> np.ndarray:
    return k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean()


def joint_dependence(grams: list[np.ndarray]) -> float:
    """Squared distance of the joint embedding from the product of three (Sejdinovic et al. 2013)."""
    k, l, m = grams
    means = np.prod([g.mean(axis=1) for g in grams], axis=0)
    return float(np.mean(k * l * m) + k.mean() * l.mean() * m.mean() - 2 * np.mean(means))


def distance_covariance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(centred(cdist(x, x)) * centred(cdist(y, y)))) ** 0.5


def canonical_correlations(k: np.ndarray, l: np.ndarray, ridge: float) -> np.ndarray:
    """Singular values of R_k R_l, R = K~ (K~ + n ridge I)^-1 (Bach and Jordan 2002)."""
    n = len(k)
    first, second = (
        np.linalg.solve(m + n * ridge * np.eye(n), m) for m in (centred(k), centred(l))
    )
    return np.linalg.svd(first @ second, compute_uv=False)


def spearman(u: np.ndarray, kind: int) -> float:
    """Of ranks divided by n (Schmid and Schmidt 2007), observation by observation."""
    n, d = u.shape
    if kind == 4:
        pairs = [(i, j) for i in range(d) for j in range(i)]
        return float(np.mean([12 * np.mean((1 - u[:, i]) * (1 - u[:, j])) - 3 for i, j in pairs]))
    h = (d + 1) / (2**d - (d + 1))
    sums = [sum(float(np.prod(1 - row)) for row in u), sum(float(np.prod(row)) for row in u)]
    lower, upper = (h * (2**d * s / n - 1) for s in sums)
    return {1: lower, 2: upper, 3: (lower + upper) / 2}[kind]


def spearman_tail(u: np.ndarray, p: float, *, upper: bool) -> float:
    """Conditional version in a tail of the share p (Schmid and Schmidt 2007)."""
    n, d = u.shape
    total = 0.0
    for row in u:
        sides = [1 - max(v, 1 - p) for v in row] if upper else [max(p - v, 0.0) for v in row]
        total += float(np.prod(sides))
    if upper:
        free, same = (p * (2 - p) / 2) ** d, p**d * (d + 1 - p * d) / (d + 1)
    else:
        free, same = (p**2 / 2) ** d, p ** (d + 1) / (d + 1)
    return (total / n - free) / (same - free)


def blomqvist(u: np.ndarray) -> float:
    d = u.shape[1]
    same = float(np.mean([np.all(row <= 0.5) or np.all(row > 0.5) for row in u]))
    h = 2 ** (d - 1) / (2 ** (d - 1) - 1)
    return h * (same - 2.0 ** (1 - d))


def hoeffding(u: np.ndarray) -> float:
    """The root of int (C - product)^2 over that of variables of the same order, without corrections of finite samples."""
    n, d = u.shape
    joint = sum(float(np.prod(1 - np.maximum(a, b))) for a in u for b in u) / n**2
    cross_term = float(np.mean(np.prod(1 - u**2, axis=1))) / 2 ** (d - 1)
    divisor = 2 / ((d + 1) * (d + 2)) + 1 / 3**d
    product = 1.0
    for i in range(1, d + 1):
        product *= i + 0.5
    divisor -= np.exp(lgamma(d + 1)) / (2**d * 0.5 * product)
    return sqrt((joint - cross_term + 1 / 3**d) / divisor)
