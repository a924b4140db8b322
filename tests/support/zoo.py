"""One line per kernel: instances of every class, points they take, and what they promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from mercer.backend import namespace, transposed
from mercer.kernels import (
    RBF,
    ArcCosine,
    BandLimited,
    Binomial,
    Brownian,
    BSpline,
    Cauchy,
    Chi2,
    Constant,
    Cosine,
    Delta,
    Dirichlet,
    Energy,
    Exponential,
    ExponentialDot,
    Fejer,
    FromCallable,
    GammaSemigroup,
    HalfLine,
    Intersection,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Matern,
    Poisson,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Sinc,
    Sobolev,
    StableSemigroup,
    Stein,
    Taylor,
    Tensor,
)

Sampler = Callable[[np.random.Generator, int], np.ndarray]


def normal(d: int, scale: float = 1.0) -> Sampler:
    return lambda rng, n: scale * rng.standard_normal((n, d))


def uniform(low: float, high: float, d: int) -> Sampler:
    return lambda rng, n: rng.uniform(low, high, (n, d))


def ball(d: int) -> Sampler:
    def sample(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.standard_normal((n, d))
        return 0.8 * rng.uniform(0, 1, (n, 1)) * x / np.linalg.norm(x, axis=1, keepdims=True)

    return sample


def counts(d: int) -> Sampler:
    """Histograms, many of whose bins are empty; among them an empty one."""

    def sample(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.poisson(0.7, (n, d)).astype(float)
        x[0] = 0.0
        return x

    return sample


def codes(d: int) -> Sampler:
    return lambda rng, n: rng.integers(0, 3, (n, d)).astype(float)


def damped(x: Any) -> Any:
    return 1 / (1 + namespace(x).sum(x * x, axis=1))


def squashed(x: Any) -> Any:
    return namespace(x).tanh(x)


def squared_products(x: Any, y: Any) -> Any:
    """(1 + <x, y>)^2 of all pairs."""
    return (1 + x @ transposed(y)) ** 2


def pulled(x: Any) -> Any:
    """The score of Student's distribution with one degree of freedom."""
    return -(x.shape[1] + 1) * x / (1 + namespace(x).sum(x * x, axis=1)[:, None])


@dataclass(frozen=True)
class Entry:
    kernel: Kernel
    sample: Sampler
    definite: bool | None = True  # positive semi-definite; None: left to the user
    shift: bool = False  # k(x + c, y + c) = k(x, y)
    gradient: bool = True  # torch can differentiate it
    readable: bool = True  # repr is code that makes it again
    tolerance: float = 1e-11  # relative to the largest value; only for what loses digits by nature


NORMAL, LINE, CUBE, ANGLES = normal(3), normal(1), uniform(0, 1, 2), uniform(-pi, 2 * pi, 2)

ZOO = [
    Entry(RBF(1.3), NORMAL, shift=True),
    Entry(RBF.from_gamma(0.2), LINE, shift=True),
    Entry(RationalQuadratic(0.7, 1.5), NORMAL, shift=True),
    Entry(Cauchy(1.5), NORMAL, shift=True),
    Entry(InverseMultiquadric(1.2, 0.5), NORMAL, shift=True),
    Entry(Exponential(2.0), NORMAL, shift=True),
    Entry(Matern(0.5, 2.0), NORMAL, shift=True),
    Entry(Matern(1.5, 2.0), LINE, shift=True),
    Entry(Matern(2.5, 2.0), NORMAL, shift=True),
    Entry(Matern(3.5, 2.0), NORMAL, shift=True),
    Entry(Matern(0.8, 2.0), NORMAL, shift=True, gradient=False),
    Entry(Matern(4.2, 2.0), NORMAL, shift=True, gradient=False),
    Entry(Matern(70.0, 2.0), NORMAL, shift=True, gradient=False),
    Entry(Laplace(2.0), NORMAL, shift=True),
    Entry(Energy(), NORMAL),
    Entry(Energy(0.5), LINE),
    Entry(Energy(2.0), NORMAL),
    Entry(BSpline(1, 2.0), LINE, shift=True),
    Entry(BSpline(3, 1.5), NORMAL, shift=True),
    Entry(BSpline(7), NORMAL, shift=True),
    Entry(Sinc(2.0), NORMAL, shift=True),
    Entry(Cosine(1.5), NORMAL, shift=True),
    Entry(Poisson(0.6), ANGLES, shift=True),
    Entry(Dirichlet(3), ANGLES, shift=True),
    Entry(Fejer(2), ANGLES, shift=True),
    Entry(Linear(), NORMAL),
    Entry(Linear(((2.0, 1.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 0.0))), NORMAL),
    Entry(Polynomial(3, 0.5), NORMAL),
    Entry(Polynomial(2, 0.0), NORMAL),
    Entry(ExponentialDot(0.5), NORMAL),
    Entry(Taylor((0.5, 1.0, 0.0, 0.2)), NORMAL),
    Entry(Binomial(1.5), ball(3)),
    Entry(Sigmoid(1.0, -0.5), NORMAL, definite=False),
    Entry(ArcCosine(0), NORMAL),
    Entry(ArcCosine(1), NORMAL),
    Entry(ArcCosine(2), NORMAL),
    Entry(Sobolev(1), CUBE),
    Entry(Sobolev(2), CUBE),
    Entry(Sobolev(3), uniform(0, 1, 1)),
    Entry(Brownian(), uniform(0, 3, 2)),
    Entry(BandLimited(2.0), NORMAL, shift=True),
    Entry(HalfLine(), uniform(0.01, 5, 2)),
    Entry(StableSemigroup(1.5, 0.4), uniform(0.01, 4, 2)),
    Entry(GammaSemigroup(0.7, 1.5), uniform(0, 4, 3)),
    Entry(Delta(), codes(2), gradient=False),
    Entry(Intersection(), counts(5)),
    Entry(Chi2(0.7), counts(5)),
    Entry(FromCallable(squared_products), NORMAL, definite=None, readable=False),
    Entry(Constant(2.0), NORMAL, shift=True, gradient=False),
    # algebra
    Entry(RBF(2.0) + Linear(), NORMAL),
    Entry(RBF(2.0) * Polynomial(2), NORMAL),
    Entry(Polynomial(2) ** 2, NORMAL),
    Entry(0.5 * Matern(1.5), NORMAL, shift=True),
    Entry(Linear().exp(0.3), NORMAL),
    # wrappers
    Entry(RBF().select((2, 0)), NORMAL, shift=True),
    Entry(RBF().scaled((1.0, 0.5, -2.0)), NORMAL, shift=True),
    Entry(RBF().scaled(0.5), NORMAL, shift=True),
    Entry(Polynomial(3).normalized(), NORMAL),
    Entry(RBF().weighted(damped), NORMAL, readable=False),
    Entry(Stein(RBF(1.3), pulled), NORMAL, readable=False),
    Entry(Stein(InverseMultiquadric(1.2) + 0.3 * Matern(2.5), pulled), LINE, readable=False),
    Entry(Sobolev(2).transformed(abs).select(0), CUBE, readable=False),
    Entry(Polynomial(2).transformed(squashed), NORMAL, readable=False),
    # kernels of kernels; a distance taken from values of k is off by the root of their rounding
    Entry(RBF(0.7).on(Polynomial(2)), NORMAL),
    Entry(Exponential(1.0).on(RBF(2.0)), NORMAL, shift=True, tolerance=2e-6),
    Entry(Tensor(RBF(2.0), Delta(), widths=(2, 1)), NORMAL),
    Entry(Tensor(RBF(2.0), Matern(1.5), Laplace()), NORMAL, shift=True),
]
IDS = [f"{i}-{repr(e.kernel)[:40].replace(' ', '')}" for i, e in enumerate(ZOO)]
