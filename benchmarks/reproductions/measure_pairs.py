"""Gaussians of two classes, and machines with five embedding kernels and three level-2 kernels on top of them.

One repetition of Table 2 of Muandet, Fukumizu, Dinuzzo and Schölkopf 2012, section 6.1; `measure_table.py` makes
the table of many.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mercer.errors import NotConverged
from mercer.kernels import RBF, Linear, Polynomial
from mercer.kernels.base import Kernel
from mercer.learn import KernelSearchCV, SupportMeasureMachine
from mercer.rkhs import Gaussian, MeanMap

DIMENSION, DEGREES_OF_FREEDOM = 10, 10
CENTRES, SCALES = (1.0, 2.0), (0.6, 1.2)  # of the classes: of means, and of covariances
SPREADS = {"printed": 0.5, "widened": 2.14}  # of the means in a class: v of their covariance v I

PRICES = [2.0**p for p in range(-3, 8)]  # C
GAMMAS = [10.0**p for p in range(-3, 3)]  # exp(-gamma |x - y|^2 / 2)
DEGREES = [2, 3, 4, 5, 6]
STEPS = 50_000  # at most, of a machine that begins where that of the next smaller C ended


# ---- kernels --------------------------------------------------------------------------------


def _rbf(gamma: float) -> RBF:
    return RBF(gamma**-0.5)


def _each(values: Iterable[float], make: Callable[[Any], Kernel]) -> dict[str, Kernel]:
    return {f"{value:g}": make(value) for value in values}


# Kernels by the parameter that the folds choose: gamma, or the degree.
EMBEDDINGS: dict[str, dict[str, Kernel]] = {
    "LIN": {"": MeanMap(Linear())},
    "POLY2": {"": MeanMap(Polynomial(2))},
    "POLY3": {"": MeanMap(Polynomial(3))},
    "RBF": _each(GAMMAS, lambda g: MeanMap(_rbf(g))),
    "NRBF": _each(GAMMAS, lambda g: MeanMap(_rbf(g)).normalized()),
}
LEVELS: dict[str, Callable[[Kernel], dict[str, Kernel]]] = {
    "LIN": lambda k: {"": Linear().on(k)},
    "POLY": lambda k: _each(DEGREES, lambda d: Polynomial(d).on(k)),
    "RBF": lambda k: _each(GAMMAS, lambda g: _rbf(g).on(k)),
}
Pair = tuple[str, str]  # an embedding kernel and a level-2 kernel
CELLS: list[Pair] = list(product(EMBEDDINGS, LEVELS))

# ---- one repetition -------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """How the means spread, how many Gaussians of each class are learnt from and predicted, and the folds."""

    setting: str
    train: int = 500
    test: int = 100
    folds: int = 10

    @classmethod
    def named(cls, key: str) -> Study:
        """The study of a cell of the record."""
        setting, *sizes = key.split("/")
        return cls(setting, *map(int, sizes))

    @property
    def key(self) -> str:
        return f"{self.setting}/{self.train}/{self.test}/{self.folds}"


def gaussians(n: int, spread: float, rng: np.random.Generator) -> tuple[list[Gaussian], np.ndarray]:
    """n of each class, and their labels."""
    from scipy.stats import wishart

    drawn: list[Gaussian] = []
    for centre, scale in zip(CENTRES, SCALES, strict=True):
        means = centre + spread**0.5 * rng.standard_normal((n, DIMENSION))
        law: Any = wishart(DEGREES_OF_FREEDOM, scale * np.eye(DIMENSION))
        covs = law.rvs(n, random_state=rng).reshape(n, DIMENSION, DIMENSION)
        drawn += [Gaussian(m, c) for m, c in zip(means, covs, strict=True)]
    return drawn, np.repeat([0, 1], n)


@dataclass(frozen=True)
class Candidate:
    """A pair of kernels with their parameters, and the kernel of distributions that they make."""

    pair: Pair
    parameters: Pair
    kernel: Kernel


@dataclass(frozen=True)
class Found:
    """What the folds choose for every pair of kernels, and the accuracies on new Gaussians in percent."""

    accuracies: dict[Pair, float]
    chosen: dict[Pair, str]
    unfinished: int  # machines with the chosen kernels, of all C


def candidates(pairs: Iterable[Pair]) -> list[Candidate]:
    """All kernels of some pairs."""
    return [
        Candidate((embedding, level), (low, high), kernel)
        for embedding, level in pairs
        for low, inner in EMBEDDINGS[embedding].items()
        for high, kernel in LEVELS[level](inner).items()
    ]


def repetition(
    study: Study, seed: int, pairs: Iterable[Pair] = CELLS, spread: float | None = None
) -> Found:
    """Every pair of kernels on the same Gaussians: one search for the parameters of all of them."""
    from sklearn.model_selection import StratifiedKFold

    rng = np.random.default_rng(seed)
    v = SPREADS[study.setting] if spread is None else spread
    (x, y), (new, labels) = gaussians(study.train, v, rng), gaussians(study.test, v, rng)
    tried = candidates(pairs)
    folds = StratifiedKFold(study.folds, shuffle=True, random_state=seed)
    scores, _ = _scored([c.kernel for c in tried], folds, x, y)
    best = _best(tried, scores)
    everything = [(np.arange(len(x)), np.arange(len(x), len(x) + len(new)))]
    together = x + new, np.concatenate([y, labels])
    reached, unfinished = _scored([c.kernel for c, _ in best], everything, *together)
    return Found(
        {c.pair: 100 * float(reached[at, i]) for i, (c, at) in enumerate(best)},
        {c.pair: f"{PRICES[at]:g}/{'/'.join(c.parameters)}" for c, at in best},
        unfinished,
    )


def _scored(
    kernels: list[Kernel], folds: Any, x: list[Gaussian], y: np.ndarray
) -> tuple[np.ndarray, int]:
    """Mean accuracies over the folds (C, kernel), and how many machines did not converge.

    Machines are solved along rising C, also the chosen ones: of polynomials of large numbers one that begins with
    a large C is far from its optimum after millions of steps.
    """
    machine = SupportMeasureMachine(kernels[0], max_iter=STEPS)
    grid = {"C": PRICES, "kernel": kernels}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", NotConverged)
        search = KernelSearchCV(machine, grid, cv=folds, refit=False).fit(x, y)
    for one in told:
        if not issubclass(one.category, NotConverged):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    unfinished = sum(issubclass(one.category, NotConverged) for one in told)
    scores = search.cv_results_["mean_test_score"]
    return scores.reshape(len(PRICES), len(kernels)), unfinished


def _best(tried: list[Candidate], scores: np.ndarray) -> list[tuple[Candidate, int]]:
    """The kernel of the largest score (C, kernel) for every pair, and the place of C; the first of equals."""
    found = []
    for pair in dict.fromkeys(c.pair for c in tried):
        own = [i for i, c in enumerate(tried) if c.pair == pair]
        at, which = np.unravel_index(np.argmax(scores[:, own]), (len(PRICES), len(own)))
        found.append((tried[own[which]], int(at)))
    return found
