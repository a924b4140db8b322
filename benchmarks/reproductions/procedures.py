"""The procedures of Jitkrittum et al. 2016 and Schrab et al. 2023, as yardsticks.

The first paper prints its rejection rates as curves only, so that the rates to reach are made again here,
on the same samples as mercer's: the search for locations or frequencies by normalised gradient
steps (200 at most, of length step / sqrt(t), from a random set and the best width of a grid), half
of the sample for it, the features of both samples subtracted pair by pair, a chi-square threshold.
The second tells its rates, of samples that are explained in `shared_stream.py`. Nothing of mercer
is used.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import chi2, ncx2, norm

J = 5
Pair = tuple[np.ndarray, np.ndarray]


def me_optimised(train: Pair, test: Pair, rng: np.random.Generator, step: float = 5.0) -> float:
    """The p-value of the ME test with locations and width learnt on `train`."""
    widths2 = _median_distance(train) ** 2 * 2.0 ** np.linspace(-3, 4, 30)
    v = _from_gaussians(train, rng)
    theta = _ascend(Gauss, train, v, _best_width(Gauss, train, v, widths2), step)
    return _pvalue(Gauss, test, *theta)


def me_grid(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """The same with random locations; only the width comes from `train`."""
    widths2 = _median_distance(train) ** 2 * 2.0 ** np.linspace(-5, 5, 40)
    v = _from_gaussians(train, rng)
    return _pvalue(Gauss, test, v, _best_width(Gauss, train, v, widths2))


def scf_optimised(train: Pair, test: Pair, rng: np.random.Generator, step: float = 1.0) -> float:
    """The p-value of the SCF test with frequencies and width learnt on `train`."""
    v = rng.standard_normal((J, train[0].shape[1]))
    widths = _spread(train) * 2.0 ** np.linspace(-4, 3, 20), 2.0 ** np.linspace(-4, 4, 20)
    start = _best_width(Fourier, train, v, np.sort(np.concatenate(widths)))
    return _pvalue(Fourier, test, *_ascend(Fourier, train, v, start, step))


def scf_grid(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """The same with random frequencies; only the width comes from `train`."""
    v = rng.standard_normal((J, train[0].shape[1]))
    widths = _spread(train) * 2.0 ** np.linspace(-4, 4, 20), 2.0 ** np.linspace(-20, 10, 20)
    return _pvalue(
        Fourier, test, v, _best_width(Fourier, train, v, np.sort(np.concatenate(widths)))
    )


# ---- features, and how they change with their parameters ------------------------------------


class Gauss:
    """exp(-|x - v|^2 / (2 width2)): (n, J)."""

    degrees = J

    def __init__(self, x: np.ndarray, v: np.ndarray, width2: float) -> None:
        self.x, self.v, self.width2 = x, v, width2
        self.r2 = _squares(x)[:, None] - x @ (2 * v.T) + _squares(v)
        self.z = np.exp(-self.r2 / (2 * width2))

    def pull(self, g: np.ndarray) -> tuple[np.ndarray, float]:
        """From the gradient with respect to the features to those of v and width2."""
        a = g * self.z
        slope = (a.T @ self.x - a.sum(axis=0)[:, None] * self.v) / self.width2
        return slope, float(np.sum(a * self.r2)) / (2 * self.width2**2)


class Fourier:
    """exp(-|u|^2 / 2) times sines and cosines of u'v, u = x / width: (n, 2J)."""

    degrees = 2 * J

    def __init__(self, x: np.ndarray, v: np.ndarray, width: float) -> None:
        self.x, self.width = x, width
        self.angles, self.u2 = x @ (v.T / width), _squares(x)[:, None] / width**2
        window = np.exp(-self.u2 / 2)
        self.sines, self.cosines = window * np.sin(self.angles), window * np.cos(self.angles)
        self.z = np.concatenate([self.sines, self.cosines], axis=1)

    def pull(self, g: np.ndarray) -> tuple[np.ndarray, float]:
        turn = g[:, :J] * self.cosines - g[:, J:] * self.sines  # with respect to the angles
        width = np.sum(g * self.z * self.u2) - np.sum(turn * self.angles)
        return turn.T @ self.x / self.width, float(width) / self.width


def _squares(x: np.ndarray) -> np.ndarray:
    """Squared norms of rows, without a copy of x."""
    return np.einsum("ij,ij->i", x, x)


Features = type[Gauss] | type[Fourier]


def _value(z: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
    """n w' (S + ridge I)^-1 w of paired differences (mean w, covariance S), and its gradient."""
    w = z.mean(axis=0)
    centred = z - w
    s = centred.T @ centred / len(z) + ridge * np.eye(len(w))
    a = np.linalg.solve(s, w)
    return float(len(z) * w @ a), 2 * np.outer(1 - centred @ a, a)


def _statistic(features: Features, pair: Pair, v: np.ndarray, width: float) -> float:
    x, y = (features(sample, v, width).z for sample in pair)
    try:
        return _value(x - y, 0.0)[0]
    except np.linalg.LinAlgError:
        return -np.inf


def _pvalue(features: Features, test: Pair, v: np.ndarray, width: float) -> float:
    return float(chi2.sf(_statistic(features, test, v, width), features.degrees))


# ---- the search -----------------------------------------------------------------------------


def _best_width(features: Features, train: Pair, v: np.ndarray, widths: np.ndarray) -> float:
    """The first of the widths with the most power, to three digits."""
    values = np.array([_statistic(features, train, v, width) for width in widths])
    values = np.where(np.isfinite(values) & (values > 0), values, 1e-12)
    powers = ncx2.sf(chi2.isf(0.01, features.degrees), features.degrees, values)
    return float(widths[np.argmax(np.round(powers, 3))])


def _ascend(
    features: Features, train: Pair, v: np.ndarray, width: float, step: float
) -> tuple[np.ndarray, float]:
    """200 steps up the regularised statistic; the root of the width moves too."""
    root, before, used = width**0.5, -np.inf, (v, width)
    for t in range(1, 201):
        x, y = (features(sample, v, root**2) for sample in train)
        value, g = _value(x.z - y.z, 1e-5)
        slope, turn = (a - b for a, b in zip(x.pull(g), y.pull(g), strict=True))
        if not (np.isfinite(slope).all() and np.isfinite(turn)):
            break
        used = v, root**2
        if t > 2 and abs(value - before) <= 1e-3:
            break
        before = value
        v = v + step / t**0.5 * slope / max(np.linalg.norm(slope), 1e-300)
        root += 0.2 / t**0.5 * float(np.clip(2 * root * turn, -1.0, 1.0))
    return used


# ---- where it begins ------------------------------------------------------------------------


def _from_gaussians(train: Pair, rng: np.random.Generator) -> np.ndarray:
    """Half of the locations from a Gaussian fitted to either sample, a little shrunk."""
    drawn = []
    for sample, number in zip(train, (J // 2, J - J // 2), strict=True):
        small = 1e-3 * np.eye(sample.shape[1])
        values, vectors = np.linalg.eigh(np.cov(sample.T) + small)
        covariance = (vectors * values**0.9) @ vectors.T + small
        drawn.append(rng.multivariate_normal(sample.mean(axis=0), covariance, number))
    return np.concatenate(drawn)


def _median_distance(pair: Pair) -> float:
    return float(np.median(pdist(np.concatenate([s[:500] for s in pair]))))


def _spread(pair: Pair) -> float:
    return float(np.mean([s.std(axis=0).mean() for s in pair])) * pair[0].shape[1] ** 0.5


# ---- the two MMD tests ----------------------------------------------------------------------


def linear_mmd(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """The linear-time MMD test; the width with the largest studentised value on `train`."""
    widths = _median_distance(train) * 2.0 ** np.linspace(-1, 4, 40)
    z = [_linear_terms(train, width) for width in widths]
    width = widths[int(np.argmax([t.mean() / t.std() for t in z]))]
    h = _linear_terms(test, width)
    return float(norm.sf(len(h) ** 0.5 * h.mean() / np.mean(h**2) ** 0.5))


def quadratic_mmd(train: Pair, test: Pair, rng: np.random.Generator) -> float:
    """The unbiased MMD with 400 permutations; the width with the largest value on `train`."""
    few = (train[0][:1000], train[1][:1000])  # enough to choose a width
    widths = _median_distance(train) * 2.0 ** (np.linspace(-4, 4, 30) / 2)
    r2 = _squared_distances(np.concatenate(few))
    own = np.repeat([1.0, -1.0], [len(s) for s in few])
    width = widths[int(np.argmax([_forms(r2, w, own[:, None])[0] for w in widths]))]
    labels = np.repeat([1.0, -1.0], [len(s) for s in test])
    drawn = rng.permuted(np.tile(labels, (400, 1)), axis=1)
    forms = _forms(_squared_distances(np.concatenate(test)), width, np.vstack([labels, drawn]).T)
    return float(np.mean(forms[1:] > forms[0]))


def _forms(r2: np.ndarray, width: float, labels: np.ndarray) -> np.ndarray:
    """Unbiased MMD^2 of two samples of one size for every column of labels."""
    k = np.exp(r2 / (-2 * width**2))
    np.fill_diagonal(k, 0)
    n, total = len(k) // 2, k.sum()
    q = np.einsum("ib,ib->b", k @ labels, labels)
    return (total + q) / (2 * n * (n - 1)) - (total - q) / (2 * n * n)


def _squared_distances(z: np.ndarray) -> np.ndarray:
    squares = _squares(z)
    return np.maximum(squares[:, None] - (2 * z) @ z.T + squares, 0)


def _linear_terms(pair: Pair, width: float) -> np.ndarray:
    (a, b), (c, d) = ((s[: len(s) // 2 * 2 : 2], s[1::2]) for s in pair)

    def k(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.exp(-((u - v) ** 2).sum(axis=1) / (2 * width**2))

    return k(a, b) + k(c, d) - k(a, d) - k(b, c)


# ---- the aggregated test --------------------------------------------------------------------


def mmdagg(
    train: Pair, test: Pair, rng: np.random.Generator, draws: int = 500, halvings: int = 100
) -> float:
    """0 if algorithm 1 of Schrab et al. rejects at level 0.05, else 1.

    Five Gaussians exp(-r^2 / s^2), s = 2^-4, ..., 2^0, of equal weight, r in medians of the
    distances of coordinates; `draws` permutations for the quantiles and as many for the level.
    """
    z = np.concatenate(test)
    few = np.concatenate([s[rng.permutation(len(s))[:1000]] for s in test])
    z = z / [np.median(pdist(column[:, None])) for column in few.T]
    labels = np.repeat([1.0, -1.0], [len(s) for s in test])
    drawn = rng.permuted(np.tile(labels, (2 * draws, 1)), axis=1)
    r2, labels = _squared_distances(z), np.vstack([labels, drawn]).T
    forms = np.array([_forms(r2, 2.0**octave / 2**0.5, labels) for octave in range(-4, 1)])
    ordered = np.sort(forms[:, : draws + 1], axis=1)  # the observed one is among them
    low, high = 0.0, float(len(forms))
    for _ in range(halvings):  # for the largest share of the level that a kernel may have
        share = (low + high) / 2
        rejected = np.any(forms[:, draws + 1 :] > _quantiles(ordered, share), axis=0)
        low, high = (share, high) if rejected.mean() <= 0.05 else (low, share)
    return 0.0 if np.any(forms[:, :1] > _quantiles(ordered, low)) else 1.0


def _quantiles(ordered: np.ndarray, share: float) -> np.ndarray:
    """Critical value of every kernel at level share / kernels: (kernels, 1)."""
    kernels, number = ordered.shape
    return ordered[:, int(np.ceil(number * (1 - share / kernels))) - 1][:, None]
