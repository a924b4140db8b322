"""Nulls and alternatives of conditional independence: z of 1 to 20 columns, six laws, seven effects, and others.

The grid was written before the tests it judges; none of their constants were chosen on it. x and y are functions
of z plus noise, x = f(z) + e / 2, y = f(z) + e' / 2, with the same function on both sides, which is the hardest
case: what the regressions miss of it is the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

WIDTHS = (1, 3, 5, 10, 20)
SIZES = (100, 300, 1000)
Draw = tuple[np.ndarray, np.ndarray, np.ndarray]


def normal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def uniform(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.uniform(-(3**0.5), 3**0.5, size=(n, d))


def t2(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_t(2, size=(n, d))


def cauchy(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_cauchy(size=(n, d))


def discrete(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.integers(0, 4, size=(n, d)).astype(np.float64)


def mixed(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    laws = (normal, discrete, t2, uniform)
    return np.hstack([laws[j % 4](rng, n, 1) for j in range(d)])


LAWS = {law.__name__: law for law in (normal, uniform, t2, cauchy, discrete, mixed)}
EFFECTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda z: z.sum(axis=1),
    "one column": lambda z: z[:, 0],
    "sine": lambda z: np.sin(3 * z).sum(axis=1),
    "square": lambda z: (z**2).sum(axis=1),
    "bump": lambda z: 2 * np.exp(-2 * z**2).sum(axis=1),
    "interactions": lambda z: (z * np.roll(z, 1, axis=1)).sum(axis=1),
}


@dataclass(frozen=True)
class Problem:
    """Draws of x, y and z, of n observations."""

    name: str
    draw: Callable[[np.random.Generator, int], Draw]


def additive(effect: str, law: str, d: int) -> Problem:
    """The same function of z on both sides, plus noise."""

    def draw(rng: np.random.Generator, n: int) -> Draw:
        z = LAWS[law](rng, n, d)
        f, e = EFFECTS[effect](z), rng.normal(size=(2, n))
        return f + e[0] / 2, f + e[1] / 2, z

    return Problem(f"{effect}, {law}, {d}", draw)


def heteroscedastic(law: str, d: int) -> Problem:
    """Mean and spread of both change with the first column."""

    def draw(rng: np.random.Generator, n: int) -> Draw:
        z = LAWS[law](rng, n, d)
        e, spread = rng.normal(size=(2, n)), 0.2 + np.abs(z[:, 0])
        return z[:, 0] + spread * e[0], z[:, 0] + spread * e[1], z

    return Problem(f"heteroscedastic, {law}, {d}", draw)


def _own(name: str) -> Callable[[Callable[..., Draw]], Problem]:
    return lambda draw: Problem(name, draw)


@_own("counts with rate exp(z)")
def counts(rng: np.random.Generator, n: int) -> Draw:
    z = rng.normal(size=(n, 2))
    rate = np.exp(0.7 * z[:, 0])
    return rng.poisson(rate).astype(float), rng.poisson(rate).astype(float), z


@_own("two classes")
def classes(rng: np.random.Generator, n: int) -> Draw:
    z = rng.normal(size=(n, 3))
    p = 1 / (1 + np.exp(-2 * z[:, 0]))
    return (rng.random(n) < p).astype(float), (rng.random(n) < p).astype(float), z


@_own("multiplicative noise")
def multiplicative(rng: np.random.Generator, n: int) -> Draw:
    z, e = rng.normal(size=(n, 2)), rng.normal(size=(2, n))
    return np.exp(z[:, 0] + 0.5 * e[0]), np.exp(z[:, 0] + 0.5 * e[1]), z


@_own("noise of Student's t2")
def heavy_noise(rng: np.random.Generator, n: int) -> Draw:
    z, e = rng.normal(size=(n, 3)), rng.standard_t(2, size=(2, n))
    return np.sin(2 * z[:, 0]) + e[0] / 2, np.sin(2 * z[:, 0]) + e[1] / 2, z


@_own("collinear columns")
def collinear(rng: np.random.Generator, n: int) -> Draw:
    z = rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 8))
    f, e = z.sum(axis=1) / 4, rng.normal(size=(2, n))
    return f + e[0] / 2, f**2 / 4 + e[1] / 2, z


@_own("a thousandfold column")
def scaled(rng: np.random.Generator, n: int) -> Draw:
    z, e = rng.normal(size=(n, 4)), rng.normal(size=(2, n))
    f = np.sin(3 * z[:, 0])
    return f + e[0] / 2, f + e[1] / 2, z * np.array([1000.0, 1.0, 0.001, 1.0])


@_own("saturating effects of sums")
def index(rng: np.random.Generator, n: int) -> Draw:
    z, e = rng.normal(size=(n, 5)), rng.normal(size=(2, n))
    f = np.tanh(z.sum(axis=1))
    return f + e[0] / 2, f + e[1] / 2, z


@_own("a step")
def step(rng: np.random.Generator, n: int) -> Draw:
    z, e = rng.normal(size=(n, 1)), rng.normal(size=(2, n))
    f = np.sign(z[:, 0])
    return f + e[0] / 2, f + e[1] / 2, z


@_own("zero-inflated z")
def zero_inflated(rng: np.random.Generator, n: int) -> Draw:
    z = rng.exponential(size=(n, 2)) * (rng.random((n, 2)) < 0.5)
    f, e = np.sqrt(z).sum(axis=1), rng.normal(size=(2, n))
    return f + e[0] / 2, f + e[1] / 2, z


@_own("different functions")
def different(rng: np.random.Generator, n: int) -> Draw:
    z, e = rng.normal(size=(n, 5)), rng.normal(size=(2, n))
    return np.sin(2 * z[:, 0]) * z[:, 1] + e[0] / 2, np.abs(z).sum(axis=1) + e[1] / 2, z


OTHERS = (
    counts,
    classes,
    multiplicative,
    heavy_noise,
    collinear,
    scaled,
    index,
    step,
    zero_inflated,
    different,
)
PROBLEMS = (
    *(additive(effect, law, d) for effect in EFFECTS for law in LAWS for d in WIDTHS),
    *(heteroscedastic(law, d) for law in LAWS for d in WIDTHS),
    *OTHERS,
)


# ---- alternatives ---------------------------------------------------------------------------------


def depends(effect: str, law: str, d: int, kind: str) -> Problem:
    """As `additive`, with noise of y that depends on that of x, in one of five ways."""

    def draw(rng: np.random.Generator, n: int) -> Draw:
        z = LAWS[law](rng, n, d)
        f, (a, b) = EFFECTS[effect](z), rng.normal(size=(2, n))
        noise = {
            "linear": 0.25 * a + 0.97 * b,
            "square": 0.45 * (a**2 - 1) / 2**0.5 + 0.9 * b,
            "spread": np.exp(0.4 * a) * b / 1.2,
            "sign of z": 0.35 * np.sign(z[:, 0] - np.median(z[:, 0])) * a + 0.94 * b,
            "tail": np.where(np.abs(a) > 1.5, 0.8 * a, 0.0) + b,
        }[kind]
        return f + a / 2, f + noise / 2, z

    return Problem(f"{kind}: {effect}, {law}, {d}", draw)


ALTERNATIVES = (
    depends("linear", "normal", 1, "linear"),
    depends("linear", "normal", 10, "linear"),
    depends("sine", "normal", 1, "linear"),
    depends("one column", "normal", 5, "linear"),
    depends("square", "uniform", 3, "linear"),
    depends("linear", "normal", 1, "square"),
    depends("sine", "uniform", 1, "square"),
    depends("linear", "normal", 3, "spread"),
    depends("linear", "normal", 1, "sign of z"),
    depends("one column", "discrete", 3, "tail"),
)
