"""Gaussians of two classes, and machines with five embedding kernels and three level-2 kernels on top of them.

One repetition of Table 2 of Muandet, Fukumizu, Dinuzzo and Schölkopf 2012, section 5.1; `measure_table.py` makes
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
SPREADS = {"printed": 0.5, "widened": 2.23}  # of the means in a class: v of their covariance v I

PRICES = [2.0**p for p in range(-3, 8)]  # C
GAMMAS = [10.0**p for p in range(-3, 3)]  # exp(-gamma |x - y|^2 / 2)
DEGREES = [2, 3, 4, 5, 6]
STEPS = 50_000  # of one machine, at most


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
class Found:
    """What a pair of kernels came to: its accuracy on new Gaussians, and what the folds chose."""

    accuracy: float  # in percent
    price: float
    embedding: str
    level: str
    finished: bool  # whether the chosen machine converged

    @property
    def chosen(self) -> str:
        return f"{self.price:g}/{self.embedding}/{self.level}"


def repetition(
    study: Study, seed: int, cells: Iterable[Pair] = CELLS, spread: float | None = None
) -> dict[Pair, Found]:
    """Every pair of kernels on the same Gaussians; one search for each embedding kernel."""
    rng = np.random.default_rng(seed)
    v = SPREADS[study.setting] if spread is None else spread
    train, test = gaussians(study.train, v, rng), gaussians(study.test, v, rng)
    wanted = list(cells)
    found: dict[Pair, Found] = {}
    for embedding in dict.fromkeys(e for e, _ in wanted):
        candidates = [
            _Candidate(level, text, top, kernel)
            for text, inner in EMBEDDINGS[embedding].items()
            for e, level in wanted
            if e == embedding
            for top, kernel in LEVELS[level](inner).items()
        ]
        found |= {
            (embedding, level): one
            for level, one in _searched(candidates, train, test, study.folds, seed).items()
        }
    return found


@dataclass(frozen=True)
class _Candidate:
    """A kernel, the level-2 kernel it has, and the parameters of embedding and level-2 kernel."""

    level: str
    embedding: str
    top: str
    kernel: Kernel


def _searched(
    candidates: list[_Candidate], train: Any, test: Any, folds: int, seed: int
) -> dict[str, Found]:
    """The best parameters by the folds for each level-2 kernel, refitted; the search shares matrices."""
    from sklearn.model_selection import StratifiedKFold

    grid = {"C": PRICES, "kernel": [c.kernel for c in candidates]}
    machine = SupportMeasureMachine(candidates[0].kernel, max_iter=STEPS)
    folder = StratifiedKFold(folds, shuffle=True, random_state=seed)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # told of the machines that were chosen
        search = KernelSearchCV(machine, grid, cv=folder, refit=False).fit(*train)
        scores = search.cv_results_["mean_test_score"].reshape(len(PRICES), len(candidates))
        for level in dict.fromkeys(c.level for c in candidates):
            own = [i for i, c in enumerate(candidates) if c.level == level]
            place, which = np.unravel_index(np.argmax(scores[:, own]), (len(PRICES), len(own)))
            best, price = candidates[own[which]], PRICES[place]
            chosen = SupportMeasureMachine(best.kernel, price, max_iter=STEPS).fit(*train)
            accuracy, finished = 100 * chosen.score(*test), bool(chosen.gap_ <= chosen.tol)
            found[level] = Found(accuracy, price, best.embedding, best.top, finished)
    return found
