"""Stationary series for levels of tests on autocorrelated rows, and walks that such tests refuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

Draw = Callable[[np.random.Generator, int], np.ndarray]

_BURN_IN = 1000  # steps before the first that is used: 0.98^1000 is 2e-9
_PERIOD = 25


def arma(ar: tuple[float, ...] = (), ma: tuple[float, ...] = (), noise: Draw | None = None) -> Draw:
    """x_t = sum_i ar_i x_(t-i) + e_t + sum_j ma_j e_(t-j), standard normal e unless told otherwise."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        size = n + _BURN_IN
        e = rng.standard_normal(size) if noise is None else noise(rng, size)
        return lfilter([1.0, *ma], [1.0, *(-a for a in ar)], e)[_BURN_IN:]

    return draw


def oscillating(radius: float, period: float) -> Draw:
    """Autoregression of order two with complex roots of this modulus."""
    return arma((2 * radius * np.cos(2 * np.pi / period), -(radius**2)))


def garch(alpha: float, beta: float) -> Draw:
    """GARCH(1, 1) of variance one: uncorrelated, with variances that change slowly."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        e, x, variance = rng.standard_normal(n + _BURN_IN), np.empty(n + _BURN_IN), 1.0
        for t, shock in enumerate(e):
            x[t] = np.sqrt(variance) * shock
            variance = 1 - alpha - beta + alpha * x[t] ** 2 + beta * variance
        return x[_BURN_IN:]

    return draw


def volatility(phi: float, size: float) -> Draw:
    """Normal noise times exp(size h), h an autoregression with variance one."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        h = arma((phi,))(rng, n) * np.sqrt(1 - phi**2)
        return np.exp(size * h) * rng.standard_normal(n)

    return draw


def seasonal(period: float, amplitude: float = 2**0.5) -> Draw:
    """A sine of random phase, by default of variance one, and normal noise of variance one."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        angle = 2 * np.pi * (np.arange(n) / period + rng.random())
        return amplitude * np.sin(angle) + rng.standard_normal(n)

    return draw


def threshold(rng: np.random.Generator, n: int) -> np.ndarray:
    """Threshold autoregression: 0.8 x below zero, -0.4 x above."""
    e, x = rng.standard_normal(n + 200), np.zeros(n + 200)
    for t in range(1, n + 200):
        x[t] = (0.8 if x[t - 1] < 0 else -0.4) * x[t - 1] + e[t]
    return x[200:]


def switching(rng: np.random.Generator, n: int) -> np.ndarray:
    """Normal noise whose mean is 0 or 2, and changes with probability 0.1."""
    start, changes = rng.integers(2), rng.random(n) < 0.1
    return 2.0 * ((start + np.cumsum(changes)) % 2) + rng.standard_normal(n)


def counts(rng: np.random.Generator, n: int) -> np.ndarray:
    """Integer autoregression: each of the last counts survives with probability 0.7, Poisson arrivals."""
    x = np.empty(n + 200)
    x[0] = 3
    for t in range(1, n + 200):
        x[t] = rng.binomial(int(x[t - 1]), 0.7) + rng.poisson(0.9)
    return x[200:]


def plane(rng: np.random.Generator, n: int) -> np.ndarray:
    """A rotating vector autoregression in the plane: eigenvalues of modulus 0.85."""
    turn = 0.85 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    e, x = rng.standard_normal((n + 200, 2)), np.zeros((n + 200, 2))
    for t in range(1, n + 200):
        x[t] = turn @ x[t - 1] + e[t]
    return x[200:]


def walk(rng: np.random.Generator, n: int) -> np.ndarray:
    """Random walk."""
    return np.cumsum(rng.standard_normal(n))


def standard(phi: float) -> Draw:
    """Autoregression of order one with a standard normal distribution."""
    return lambda rng, n: arma((phi,))(rng, n) * np.sqrt(1 - phi**2)


def metropolis(step: float) -> Draw:
    """Metropolis chain with normal steps for the standard normal distribution, started in it."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        steps, u, x = step * rng.standard_normal(n), rng.random(n), np.empty(n)
        at = rng.standard_normal()
        for t in range(n):
            proposed = at + steps[t]
            at = proposed if np.log(u[t]) < (at**2 - proposed**2) / 2 else at
            x[t] = at
        return x

    return draw


def langevin(size: float, d: int) -> Draw:
    """Metropolis-adjusted Langevin chain for the standard normal distribution in d dimensions."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        e, u, x = rng.standard_normal((n, d)), rng.random(n), np.empty((n, d))
        at = rng.standard_normal(d)
        for t in range(n):
            new = (1 - size) * at + np.sqrt(2 * size) * e[t]
            back, forth = (np.sum((b - (1 - size) * a) ** 2) for a, b in ((new, at), (at, new)))
            gain = (at @ at - new @ new) / 2 - (back - forth) / (4 * size)
            at = new if np.log(u[t]) < gain else at
            x[t] = at
        return x

    return draw


# What levels are judged on; no constant of the tests was chosen on these.
STATIONARY: dict[str, Draw] = {
    "independent": arma(),
    "AR(0.5)": arma((0.5,)),
    "AR(0.9)": arma((0.9,)),
    "AR(0.98)": arma((0.98,)),
    "AR(-0.8)": arma((-0.8,)),
    "AR(2), oscillating": oscillating(0.95, 8),
    "MA(10)": arma(ma=(1.0,) * 10),
    "seasonal, period 25": seasonal(_PERIOD),
    "GARCH(0.1, 0.85)": garch(0.1, 0.85),
    "AR(0.8), noise t3": arma((0.8,), noise=lambda rng, n: rng.standard_t(3, n)),
    "threshold AR": threshold,
    "switching mean": switching,
    "counts": counts,
    "vector AR, d = 2": plane,
    "seasonal AR(0.6), period 25": arma((0.0,) * (_PERIOD - 1) + (0.6,)),
}
WALKS: dict[str, Draw] = {"random walk": walk}
# Chains whose distribution is standard normal, for tests of goodness of fit.
CHAINS: dict[str, Draw] = {
    "independent": standard(0.0),
    "AR(0.5)": standard(0.5),
    "AR(0.9)": standard(0.9),
    "AR(-0.8)": standard(-0.8),
    "Metropolis, steps of 2.4": metropolis(2.4),
    "Metropolis, steps of 0.7": metropolis(0.7),
    "Metropolis, steps of 8": metropolis(8.0),
    "Langevin, d = 3": langevin(0.3, 3),
}

# What constants were chosen on.
CHOSEN_ON: dict[str, Draw] = {
    "AR(0.7)": arma((0.7,)),
    "AR(0.95)": arma((0.95,)),
    "AR(0.99)": arma((0.99,)),
    "AR(-0.5)": arma((-0.5,)),
    "ARMA(0.8, -0.4)": arma((0.8,), (-0.4,)),
    "MA(5)": arma(ma=(1.0,) * 5),
    "oscillating, period 12": oscillating(0.9, 12),
    "volatility": volatility(0.95, 0.8),
    "GARCH(0.15, 0.8)": garch(0.15, 0.8),
    "seasonal, period 12": seasonal(12),
    "seasonal AR(0.7), period 12": arma((0.0,) * 11 + (0.7,)),
}
