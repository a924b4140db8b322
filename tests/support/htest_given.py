"""Problems with a variable that is given: x and y made of z and of noise of their own, or not only.

The usual models of conditional independence (Zhang et al. 2011; Strobl et al. 2019): x = g(f(z) + e) and
y = h(f'(z) + e') with functions drawn at random, signals and results standardized.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

Draw = Callable[[np.random.Generator, tuple[int, ...]], tuple]
Function = Callable[[np.ndarray], np.ndarray]

FUNCTIONS: tuple[Function, ...] = (
    lambda s: s,
    np.square,
    lambda s: s**3,
    np.tanh,
    lambda s: np.exp(-np.abs(s)),
    lambda s: np.sin(2 * s),
)
Signals = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def standard(a: np.ndarray) -> np.ndarray:
    return (a - a.mean()) / a.std()


def some(rng: np.random.Generator) -> Function:
    return FUNCTIONS[rng.integers(len(FUNCTIONS))]


def added(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return standard(np.sum([standard(some(rng)(column)) for column in z.T], axis=0))


def mean(z: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the columns, for both (Strobl et al.)."""
    s = standard(z.sum(axis=1))
    return s, s


def one(z: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Functions of the first column; the others do not matter (Zhang et al., case I)."""
    return standard(some(rng)(z[:, 0])), standard(some(rng)(z[:, 0]))


def sums(z: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sums of functions of all columns (Zhang et al., case II)."""
    return added(z, rng), added(z, rng)


def alike(z: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One sum of functions of all columns for both: what regressions leave of it is the same."""
    s = added(z, rng)
    return s, s


def post_nonlinear(
    signals: Signals, d: int, *, noise: float = 1.0, effect: float = 0.0, turned: bool = False
) -> Draw:
    """z in d dimensions, x and y by themselves; `effect`: y depends on x, `turned` by the sign of z."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple:
        (n,) = sizes
        z = rng.standard_normal((n, d))
        of_x, of_y = signals(z, rng)
        x = standard(some(rng)(of_x + noise * rng.standard_normal(n)))
        more = effect * x * (np.sign(z[:, 0]) if turned else 1.0)
        y = standard(some(rng)(of_y + noise * rng.standard_normal(n) + more))
        return x, y, z

    draw.__name__ = f"{signals.__name__}, d = {d}" + (f", noise {noise:g}" if noise != 1.0 else "")
    return draw


def classes(rng: np.random.Generator, sizes: tuple[int, ...], effect: float = 0.0) -> tuple:
    """z has five values, on which means and spreads depend."""
    (n,) = sizes
    z = rng.integers(0, 5, n)
    x = rng.normal(size=5)[z] + (1 + z / 5) * rng.standard_normal(n)
    y = rng.normal(size=5)[z] + (2 - z / 5) * rng.standard_normal(n) + effect * x
    return x, y, z.astype(float)


def switches(rng: np.random.Generator, sizes: tuple[int, ...], effect: float = 0.0) -> tuple:
    """x and y are 0 or 1, with chances that depend on z in two dimensions."""
    (n,) = sizes
    z = rng.standard_normal((n, 2))
    x = rng.random(n) < 1 / (1 + np.exp(-2 * z[:, 0]))
    y = rng.random(n) < 1 / (1 + np.exp(-2 * z[:, 0] - effect * (x - 0.5)))
    return x.astype(float), y.astype(float), z


def letters(rng: np.random.Generator, sizes: tuple[int, ...], effect: float = 0.0) -> tuple:
    """Data frames: z has a column of letters and one of numbers, x is a letter, y a number."""
    (n,) = sizes
    letter, number = rng.integers(0, 3, n), rng.standard_normal(n)
    cut = np.digitize(letter - 1 + number + rng.standard_normal(n), [-0.5, 0.5])
    y = letter * number + rng.standard_normal(n) + effect * cut
    names = np.array(["a", "b", "c"])
    return (
        pd.DataFrame({"cut": names[cut]}),
        pd.DataFrame({"y": y}),
        pd.DataFrame({"letter": names[letter], "number": number}),
    )


def direct(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple:
    """x and y have causes in z, in two dimensions, and x makes y larger."""
    (n,) = sizes
    z = rng.standard_normal((n, 2))
    x = np.tanh(z[:, 0]) + rng.standard_normal(n)
    return x, z.sum(axis=1) + x + np.abs(x) + rng.standard_normal(n), z


def drawn(n: int = 150, d: int = 2, seed: int = 0, effect: float = 0.0) -> tuple:
    """x, y and z of the model in which both have the same signal."""
    return post_nonlinear(alike, d, effect=effect)(np.random.default_rng(seed), (n,))
