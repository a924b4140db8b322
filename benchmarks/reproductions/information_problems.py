"""Samples whose entropy, divergence or mutual information is known, and the estimators that are tried on them.

A distribution in d dimensions has independent coordinates. The mixture of two Gaussians has its centres at -2 and 2 on
the first axis. Every estimator says whether its error has to vanish: that of an approximation near Gaussians does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import e, log, pi, sqrt
from typing import Any

import numpy as np
import pandas as pd

from mercer.info import (
    KDE,
    KNN,
    KSG,
    NSB,
    AdaptivePartition,
    ChaoShen,
    Correa,
    Ebrahimi,
    Edgeworth,
    Estimator,
    Grassberger,
    MaximumEntropy,
    MillerMadow,
    MixedKSG,
    Parametric,
    PlugIn,
    Renyi,
    Spacing,
    SpanningTree,
    VanEs,
    Vasicek,
    divergence,
    entropy,
    mutual_information,
)

Samples = tuple[Any, ...]
DIMENSIONS = (1, 2, 5)
HALF = Renyi(0.5)
SHARES, OTHER_SHARES = np.arange(1, 9) / 36, np.full(8, 1 / 8)
SPACINGS: tuple[Estimator, ...] = (Spacing(), Vasicek(), Ebrahimi(), VanEs(), Correa())
PLUG_INS = tuple(PlugIn(c) for c in (None, MillerMadow(), Grassberger(), ChaoShen(), NSB()))


@dataclass(frozen=True)
class Problem:
    """A quantity of samples with its true value, and estimators of it (None: the default)."""

    quantity: Callable[..., float]
    draw: Callable[[int, np.random.Generator], Samples]
    truth: float
    estimators: tuple[Estimator | None, ...]
    options: dict[str, Any] = field(default_factory=dict)
    approximations: tuple[Estimator, ...] = ()  # whose error need not vanish

    def error(self, estimator: Estimator | None, n: int, rng: np.random.Generator) -> float:
        """Estimate minus true value, of samples of size n."""
        value = self.quantity(*self.draw(n, rng), estimator=estimator, **self.options)
        return float(value) - self.truth


# ---- distributions --------------------------------------------------------------------------

GRID = np.linspace(-15.0, 15.0, 30_001)
NORMAL_ENTROPY = log(2 * pi * e) / 2


def mixture_density(x: np.ndarray, variance: float = 1.0) -> np.ndarray:
    """Two Gaussians on the line at -2 and 2, with equal shares."""
    bumps = [np.exp(-((x - centre) ** 2) / (2 * variance)) for centre in (-2.0, 2.0)]
    return sum(bumps) / (2 * sqrt(2 * pi * variance))


def mixture_entropy(variance: float = 1.0) -> float:
    """Shannon's entropy by the sum over a grid, exact to rounding for such smooth densities."""
    p = mixture_density(GRID, variance)
    return float(-np.sum(p * np.log(p)) * (GRID[1] - GRID[0]))


def mixture_half() -> float:
    """Renyi's entropy of order 1/2: twice the logarithm of the integral of the root of the density."""
    return 2 * log(np.sum(np.sqrt(mixture_density(GRID))) * (GRID[1] - GRID[0]))


def two_groups(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """A sample of the mixture."""
    x = rng.standard_normal((n, d))
    x[:, 0] += rng.choice([-2.0, 2.0], n)
    return x


@dataclass(frozen=True)
class Law:
    """A sampler of (n, d) points, and both entropies in d dimensions."""

    sample: Callable[[int, int, np.random.Generator], np.ndarray]
    shannon: Callable[[int], float]
    half: Callable[[int], float]


LAWS = {
    "Gaussian": Law(
        lambda n, d, rng: rng.standard_normal((n, d)),
        lambda d: d * NORMAL_ENTROPY,
        lambda d: d * log(8 * pi) / 2,
    ),
    "uniform": Law(lambda n, d, rng: rng.uniform(size=(n, d)), lambda d: 0.0, lambda d: 0.0),
    "exponential": Law(
        lambda n, d, rng: rng.exponential(size=(n, d)), float, lambda d: 2 * d * log(2)
    ),
    "mixture": Law(
        two_groups,
        lambda d: mixture_entropy() + (d - 1) * NORMAL_ENTROPY,
        lambda d: mixture_half() + (d - 1) * log(8 * pi) / 2,
    ),
}


# ---- entropies ------------------------------------------------------------------------------


def entropies() -> Iterator[tuple[str, Problem]]:
    """Entropies of numbers by every estimator, of categories, and of both together."""
    for name, law in LAWS.items():
        for d in DIMENSIONS:
            yield f"entropy, {name}, d = {d}", _entropy(name, law, d)
            yield (
                f"Renyi entropy of order 1/2, {name}, d = {d}",
                Problem(
                    entropy,
                    lambda n, rng, law=law, d=d: (law.sample(n, d, rng),),
                    law.half(d),
                    (SpanningTree(), KNN()),
                    {"measure": HALF},
                ),
            )
    yield "entropy, 8 values", Problem(entropy, _values, _discrete_entropy(), PLUG_INS)
    mixed = log(4) + NORMAL_ENTROPY
    yield "entropy, category and number", Problem(entropy, _category_and_number, mixed, (None,))


def _entropy(name: str, law: Law, d: int) -> Problem:
    near = (Edgeworth(), *((MaximumEntropy(),) if d == 1 else ()))
    exact = name == "Gaussian"  # where the approximations are
    return Problem(
        entropy,
        lambda n, rng: (law.sample(n, d, rng),),
        law.shannon(d),
        (KNN(), KDE(), *(SPACINGS if d == 1 else ()), *((Parametric(),) if exact else ()), *near),
        approximations=() if exact else near,
    )


def _discrete_entropy() -> float:
    return float(-np.sum(SHARES * np.log(SHARES)))


def _values(n: int, rng: np.random.Generator) -> Samples:
    return (rng.choice(8, n, p=SHARES),)


def _category_and_number(n: int, rng: np.random.Generator) -> Samples:
    kinds = rng.integers(0, 4, n)
    number = kinds + rng.standard_normal(n)
    return (pd.DataFrame({"kind": kinds.astype(str), "number": number}),)


# ---- divergences ----------------------------------------------------------------------------


def divergences() -> Iterator[tuple[str, Problem]]:
    """Kullback-Leibler, x a sample of the law, y one of a wider law."""
    mixture = mixture_entropy()
    pairs = {  # sampler of y, and the true value
        "Gaussian": (
            lambda n, d, rng: rng.normal(0.3, 1.2, (n, d)),
            lambda d: d * (log(1.2) + (1 + 0.3**2) / (2 * 1.2**2) - 0.5),
        ),
        "uniform": (lambda n, d, rng: rng.uniform(-0.25, 1.25, (n, d)), lambda d: d * log(1.5)),
        "exponential": (
            lambda n, d, rng: rng.exponential(1.5, (n, d)),
            lambda d: d * (log(1.5) + 1 / 1.5 - 1),
        ),
        "mixture": (_stretched, lambda d: log(2 * pi * e * 5) / 2 - mixture),
    }
    for name, (other, truth) in pairs.items():
        for d in DIMENSIONS:
            fitted = (Parametric(),) if name == "Gaussian" else ()
            yield (
                f"KL divergence, {name}, d = {d}",
                Problem(
                    divergence,
                    lambda n, rng, law=LAWS[name], other=other, d=d: (
                        law.sample(n, d, rng),
                        other(n, d, rng),
                    ),
                    truth(d),
                    (KNN(), KDE(), *fitted),
                ),
            )
    discrete = float(np.sum(SHARES * np.log(SHARES / OTHER_SHARES)))
    yield "KL divergence, 8 values", Problem(divergence, _two_values, discrete, (PlugIn(),))


def _stretched(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """A Gaussian with the moments of the mixture."""
    y = rng.standard_normal((n, d))
    y[:, 0] *= sqrt(5)
    return y


def _two_values(n: int, rng: np.random.Generator) -> Samples:
    return rng.choice(8, n, p=SHARES), rng.choice(8, n, p=OTHER_SHARES)


# ---- mutual information ---------------------------------------------------------------------


def informations() -> Iterator[tuple[str, Problem]]:
    """Mutual information of x, a sample of the law, and x plus noise in d + d dimensions, and of categories."""
    mixed = mixture_entropy(2.0) - NORMAL_ENTROPY
    noises = {  # the sampler, and the true value
        "Gaussian": (
            lambda n, d, rng: rng.normal(0.0, 0.75, (n, d)),
            lambda d: d * log(1 + 1 / 0.75**2) / 2,
        ),
        "uniform": (lambda n, d, rng: rng.uniform(0, 0.5, (n, d)), lambda d: d * (0.25 + log(2))),
        "exponential": (LAWS["exponential"].sample, lambda d: d * float(np.euler_gamma)),
        "mixture": (LAWS["Gaussian"].sample, lambda d: mixed + (d - 1) * log(2) / 2),
    }
    for name, (noise, truth) in noises.items():
        for d in DIMENSIONS:
            more = (AdaptivePartition(),) if d == 1 else ()
            fitted = (Parametric(),) if name == "Gaussian" else ()
            yield (
                f"mutual information, {name}, {d} + {d}",
                Problem(
                    mutual_information,
                    lambda n, rng, law=LAWS[name], noise=noise, d=d: _noisy(
                        law.sample(n, d, rng), noise(n, d, rng)
                    ),
                    truth(d),
                    (KSG(), KSG(kind=2), None, *more, *fitted),
                ),
            )
    yield (
        "mutual information, 5 values and a number",
        Problem(mutual_information, _staircase, log(5) - 0.8 * log(2), (MixedKSG(), None)),
    )
    yield (
        "mutual information, zeros and numbers",
        Problem(mutual_information, _often_zero, _ZERO_INFORMATION, (MixedKSG(), None)),
    )
    yield (
        "mutual information, 8 and 8 values",
        Problem(mutual_information, _copies, _copied_information(), PLUG_INS[:2]),
    )


def _noisy(x: np.ndarray, noise: np.ndarray) -> Samples:
    return x, x + noise


def _staircase(n: int, rng: np.random.Generator) -> Samples:
    x = rng.integers(0, 5, n)
    return x, x + rng.uniform(0, 2, n)


# A switch decides whether both are zero or both are normal with correlation 0.8: its entropy, and half of theirs
_ZERO_INFORMATION = log(2) - log(1 - 0.8**2) / 4


def _often_zero(n: int, rng: np.random.Generator) -> Samples:
    x, noise = rng.standard_normal((2, n))
    positive = rng.uniform(size=n) < 0.5
    return positive * x, positive * (0.8 * x + 0.6 * noise)


def _copies(n: int, rng: np.random.Generator) -> Samples:
    x, other = rng.choice(8, (2, n), p=SHARES)
    return x, np.where(rng.uniform(size=n) < 0.5, x, other)


def _copied_information() -> float:
    """Half of the second values are copies of the first, the others independent of them."""
    joint = (np.diag(SHARES) + np.outer(SHARES, SHARES)) / 2
    return float(np.sum(joint * np.log(joint / np.outer(SHARES, SHARES))))


PROBLEMS = {name: p for study in (entropies, divergences, informations) for name, p in study()}
