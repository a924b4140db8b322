"""Learners of numbers from bags, each tuned inside the bags it learns from.

All choose their bandwidths and ridge by five folds, the Bayesian one by three. (The leave-one-out error is cheaper, but
with 50 bags it took to bandwidths that are too small: a bag left out alone has neighbours, a new one may not.) A
learner takes a `Split` and a generator and returns `Predicted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from benchmarks.reproductions import deep_sets
from benchmarks.reproductions.distribution_problems import Split
from mercer.backend import to_numpy
from mercer.features import RandomFourier
from mercer.kernels import RBF, Linear
from mercer.kernels.bandwidth import median_bandwidth
from mercer.kernels.base import Kernel
from mercer.kernels.precomputed import Precomputed
from mercer.learn import BayesianDistributionRegressor, KernelRidge, MeanFeatures, RidgePath
from mercer.rkhs import Bags, MeanMap, ShrunkMeanMap

WIDTHS = (0.25, 0.5, 1.0, 2.0)  # times the median distance of points
SECOND = (1.0, 2.0, 4.0)  # times the median distance of embeddings, or of means
LEVEL, FOLDS, LANDMARKS = 0.9, 5, 50
_NORMAL = 1.6448536269514722  # the 95% point of the standard normal distribution
_ALPHAS = np.geomspace(1e-8, 1e4, 25)


@dataclass(frozen=True, eq=False)
class Predicted:
    """What a learner says of the bags it was asked about, and where 90% of the numbers should be."""

    y: np.ndarray
    ends: np.ndarray | None = None  # (n, 2)


Learner = Callable[[Split, np.random.Generator], Predicted]


# ---- averaging ------------------------------------------------------------------------------


def constant(split: Split, _: np.random.Generator) -> Predicted:
    """The mean of what was learnt from."""
    return Predicted(np.full(len(split.test), split.learnt[1].mean()))


def means(split: Split, _: np.random.Generator) -> Predicted:
    """Linear ridge regression on the mean of each bag."""
    (bags, y), (asked, _y) = split.learnt, split.asked
    return Predicted(_ridge().fit(bags.means(), y).predict(asked.means()))


def points(split: Split, _: np.random.Generator) -> Predicted:
    """Linear ridge regression on points, which have the number of their bag; its mean over a bag."""
    (bags, y), (asked, _y) = split.learnt, split.asked
    weights = np.repeat(1 / bags.sizes, bags.sizes)  # a bag counts once
    ridge = RidgeCV(_ALPHAS).fit(bags.values, np.repeat(y, bags.sizes), sample_weight=weights)
    return Predicted(asked.means(ridge.predict(asked.values)[:, None])[:, 0])


def means_kernel(split: Split, _: np.random.Generator) -> Predicted:
    """RBF ridge regression on the mean of each bag."""
    return _best_rbf(split, split.bags.means())


def moments(split: Split, _: np.random.Generator) -> Predicted:
    """RBF ridge regression on means, and on the logarithms of the standard deviations, of all columns."""
    bags = split.bags
    centres = bags.means()
    spread = bags.means((bags.values - np.repeat(centres, bags.sizes, axis=0)) ** 2)
    return _best_rbf(split, np.concatenate([centres, 0.5 * np.log(spread + 1e-6)], axis=1))


def _ridge() -> RidgeCV:
    return RidgeCV(_ALPHAS, cv=KFold(FOLDS, shuffle=True, random_state=0))


def _best_rbf(split: Split, rows: np.ndarray) -> Predicted:
    """RBF ridge regression on vectors, of which columns that are all but constant are left out."""
    some = rows[split.train]
    kept = some.std(axis=0) > 1e-9
    if not kept.any():
        return constant(split, np.random.default_rng(0))
    rows = (rows[:, kept] - some[:, kept].mean(axis=0)) / some[:, kept].std(axis=0)
    width = float(median_bandwidth(rows[split.train]))
    return _best_ridge(split, ((RBF(width * w), rows) for w in SECOND))


# ---- embeddings -----------------------------------------------------------------------------


def merr(split: Split, _: np.random.Generator) -> Predicted:
    """`DistributionRegressor` with `MeanMap`: linear in the embeddings."""
    return _best_ridge(split, _linear(split, shrunk=False))


def merr_rbf(split: Split, _: np.random.Generator) -> Predicted:
    """`DistributionRegressor` with RBF on `MeanMap`."""
    return _best_ridge(split, _second(split, shrunk=False))


def merr_published(split: Split, rng: np.random.Generator) -> Predicted:
    """As in the program of Szabo et al.: one half to learn from, the other to choose by, no intercept, their ridges."""
    y = split.y
    order = rng.permutation(split.train)
    one, other = order[: len(order) // 2], order[len(order) // 2 :]
    best, found = np.inf, np.empty(0)
    for width, ridge in product(point_widths(split), 10.0 ** np.arange(-10, 0)):
        matrix = expected(split, width)
        system = matrix[np.ix_(one, one)] + len(one) * ridge * np.eye(len(one))
        weights = np.linalg.solve(system, y[one])
        error = float(np.mean((matrix[np.ix_(other, one)] @ weights - y[other]) ** 2))
        if error < best:
            best, found = error, matrix[np.ix_(split.test, one)] @ weights
    return Predicted(found)


def shrunk(split: Split, _: np.random.Generator) -> Predicted:
    """`ShrunkMeanMap`."""
    return _best_ridge(split, _linear(split, shrunk=True))


def shrunk_rbf(split: Split, _: np.random.Generator) -> Predicted:
    """RBF on `ShrunkMeanMap`."""
    return _best_ridge(split, _second(split, shrunk=True))


def features(split: Split, rng: np.random.Generator) -> Predicted:
    """Linear ridge regression on `MeanFeatures`: 256 random Fourier features, averaged."""
    state = int(rng.integers(2**31))
    maps = [RandomFourier(RBF(w), 256, random_state=state) for w in point_widths(split)]
    fitted = [MeanFeatures(each).fit(split.learnt[0]) for each in maps]
    return _best_ridge(split, ((Linear(), mean.transform(split.bags)) for mean in fitted))


def bayesian(split: Split, rng: np.random.Generator) -> Predicted:
    """`BayesianDistributionRegressor`, with intervals of 1.64 standard deviations to each side."""
    (bags, y), (asked, _y) = split.learnt, split.asked
    state = int(rng.integers(2**31))
    folds = list(KFold(3, shuffle=True, random_state=state).split(y))

    def machine(width: float, ridge: float) -> BayesianDistributionRegressor:
        return BayesianDistributionRegressor(
            RBF(width), ridge=ridge, landmarks=LANDMARKS, random_state=state
        )

    def error(width: float, ridge: float) -> float:
        return sum(
            np.sum((machine(width, ridge).fit(bags[a], y[a]).predict(bags[b]) - y[b]) ** 2)
            for a, b in folds
        )

    options = list(product(point_widths(split), (1e-3, 1e-1, 10.0)))
    best = min(options, key=lambda o: error(*o))
    mean, sd = machine(*best).fit(bags, y).predict(asked, return_std=True)
    return Predicted(mean, np.stack([mean - _NORMAL * sd, mean + _NORMAL * sd], axis=1))


def networks(split: Split, rng: np.random.Generator) -> Predicted:
    """Deep sets."""
    (bags, y), (asked, _y) = split.learnt, split.asked
    return Predicted(deep_sets.deep_sets(bags, y, asked, rng))


LEARNERS: dict[str, Learner] = {
    "the mean of all": constant,
    "ridge on means": means,
    "ridge on points": points,
    "RBF ridge on means": means_kernel,
    "RBF ridge on means and spreads": moments,
    "MERR, linear": merr,
    "MERR, linear, half to choose by": merr_published,
    "MERR, RBF": merr_rbf,
    "MERR, linear, shrunk": shrunk,
    "MERR, RBF, shrunk": shrunk_rbf,
    "mean features": features,
    "Bayesian": bayesian,
}
if not deep_sets.MISSING:
    LEARNERS["deep sets"] = networks


# ---- one Gram matrix of bags for all that need it -----------------------------------------------


def point_widths(split: Split) -> list[float]:
    """Bandwidths of points, from those that are learnt from."""
    values = to_numpy(split.learnt[0].values)
    step = -(-len(values) // 1000)
    return [float(w) * float(median_bandwidth(values[::step])) for w in WIDTHS]


@lru_cache(maxsize=32)
def expected(split: Split, width: float) -> np.ndarray:
    """`MeanMap` of all bags, and 0 for those pairs of them that nobody learns from: (n, n)."""
    kernel, n = MeanMap(RBF(width)), len(split.y)
    matrix = np.zeros((n, n))
    train, test = split.train, split.test
    known, asked = _there(split.bags[train]), _there(split.bags[test])
    cross = to_numpy(kernel(asked, known))
    matrix[np.ix_(train, train)] = to_numpy(kernel(known))
    matrix[np.ix_(test, train)], matrix[np.ix_(train, test)] = cross, cross.T
    matrix[test, test] = to_numpy(kernel.diag(kernel.accept(asked)))
    return matrix


def _there(bags: Bags) -> Bags:
    """Bags on the GPU, if there is one."""
    if deep_sets.device() == "cpu":
        return bags
    import torch

    return Bags(torch.as_tensor(bags.values, device=deep_sets.device()), bags.offsets)


@lru_cache(maxsize=32)
def shrinkage(split: Split, width: float) -> np.ndarray:
    """The factors of `ShrunkMeanMap` for all bags: (n,)."""
    kernel = ShrunkMeanMap(RBF(width))
    batch = kernel.accept(_there(split.bags))
    return np.sqrt(to_numpy(kernel.diag(batch)) / np.diagonal(expected(split, width)))


def _matrix(split: Split, width: float, shrunk: bool) -> np.ndarray:
    values = expected(split, width)
    if not shrunk:
        return values
    factors = shrinkage(split, width)
    return factors[:, None] * values * factors


def _linear(split: Split, shrunk: bool) -> Iterator[tuple[Kernel, np.ndarray]]:
    at = np.arange(len(split.y), dtype=np.float64)[:, None]
    for width in point_widths(split):
        yield Precomputed(_matrix(split, width, shrunk)), at


def _second(split: Split, shrunk: bool) -> Iterator[tuple[Kernel, np.ndarray]]:
    for inner, at in _linear(split, shrunk):
        assert isinstance(inner, Precomputed)
        scale = distance(inner.matrix[np.ix_(split.train, split.train)])
        for factor in SECOND:
            yield RBF(factor * scale).on(inner), at


def distance(matrix: np.ndarray) -> float:
    """The median distance of embeddings with these inner products."""
    own = np.diagonal(matrix)
    squares = (own[:, None] + own - 2 * matrix)[np.triu_indices(len(matrix), 1)]
    return float(np.sqrt(np.median(squares[squares > 0])))


def _best_ridge(split: Split, options: Iterator[tuple[Kernel, np.ndarray]]) -> Predicted:
    """Kernel ridge regression with the kernel and the ridge that err least on five folds."""
    y = split.learnt[1]
    centre = y.mean()
    errors = {}
    for kernel, rows in options:
        own = rows[split.train]
        matrix = to_numpy(kernel(own))
        ridges = RidgePath().on(float(np.trace(matrix)))
        found = fold_errors(matrix, y - centre, ridges)
        errors[float(found.min())] = kernel, rows, float(ridges[np.argmin(found)])
    kernel, rows, ridge = errors[min(errors)]
    machine = KernelRidge(kernel, ridge, intercept=False).fit(rows[split.train], y - centre)
    asked = rows[split.test]
    ends = centre + to_numpy(machine.predict_interval(asked, level=LEVEL))
    return Predicted(centre + to_numpy(machine.predict(asked)), ends)


def fold_errors(matrix: np.ndarray, y: np.ndarray, ridges: np.ndarray) -> np.ndarray:
    """The mean squared error of kernel ridge regression on folds that it was not learnt from, for all ridges: (R,)."""
    total = np.zeros(len(ridges))
    for rest, left_out in KFold(FOLDS, shuffle=True, random_state=0).split(y):
        values, vectors = np.linalg.eigh(matrix[np.ix_(rest, rest)])
        turned = (vectors.T @ y[rest])[:, None] / (np.maximum(values, 0)[:, None] + ridges)
        found = matrix[np.ix_(left_out, rest)] @ vectors @ turned  # (left out, R)
        total += np.sum((found - y[left_out][:, None]) ** 2, axis=0)
    return total / len(y)
