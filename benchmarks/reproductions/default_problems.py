"""Twelve alternatives and a null, for two samples and for two variables, with the sizes of their effects.

For two samples, the alternatives of dependence compare pairs that depend on each other with pairs
of the same margins that do not. For two variables, the alternatives of samples have the label of the
sample as one of the variables. Effects were chosen by theory and by a pilot of the peers; mercer's
tests had no part in that choice, nor do their weights come from these problems (`SHARES` in
`mmdagg.py` and `hsicagg.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

N = 100  # observations of each sample, or of both variables
Pair = tuple[Any, Any]
Problem = Callable[[np.random.Generator], Pair]


# ---- two variables ------------------------------------------------------------------------------


def _linear(rng: np.random.Generator, rho: float = 0.2, n: int = N) -> Pair:
    x = rng.normal(size=n)
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)


def _quadratic(rng: np.random.Generator, noise: float = 1.4, n: int = N) -> Pair:
    x = rng.uniform(-1, 1, size=n)
    return x, 2 * x**2 + noise * rng.normal(size=n)


def _sine(rng: np.random.Generator, noise: float = 0.9, n: int = N) -> Pair:
    x = rng.uniform(-1, 1, size=n)
    return x, np.sin(2 * np.pi * x) + noise * rng.normal(size=n)


def _circle(rng: np.random.Generator, noise: float = 0.3, n: int = N) -> Pair:
    angle = rng.uniform(0, 2 * np.pi, size=n)
    points = np.stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(2, n))
    return points[0], points[1]


def _heteroscedastic(rng: np.random.Generator, slope: float = 0.5, n: int = N) -> Pair:
    x = rng.normal(size=n)
    return x, np.exp(slope * x) * rng.normal(size=n)


def _sign_product(rng: np.random.Generator, noise: float = 1.0, n: int = N) -> Pair:
    x = rng.normal(size=(n, 2))
    signs = np.sign(x[:, 0] * x[:, 1])
    return x, signs * np.abs(rng.normal(size=n)) + noise * rng.normal(size=n)


def _labelled(problem: Problem) -> Problem:
    """The label of the sample, and the observation; N observations in all."""

    def pair(rng: np.random.Generator) -> Pair:
        first, second = problem(rng)
        x, y = first[: N // 2], second[: N // 2]
        return np.repeat([0.0, 1.0], N // 2), np.concatenate([x, y])

    return pair


def _column_of_ten(rng: np.random.Generator, slope: float = 0.35) -> Pair:
    x = rng.normal(size=(N, 10))
    return x, slope * x[:, 0] + rng.normal(size=N)


def _linear_in_a_share(rng: np.random.Generator, share: float = 0.35) -> Pair:
    x, noise = rng.normal(size=(2, N))
    return x, np.where(rng.random(N) < share, x + 0.2 * noise, noise)


def _heavy_linear(rng: np.random.Generator, slope: float = 0.25) -> Pair:
    x, noise = rng.standard_t(2, size=(2, N))
    return x, slope * x + noise


def _associated_categories(rng: np.random.Generator, share: float = 0.22) -> Pair:
    x, other = rng.integers(4, size=(2, N))
    y = np.where(rng.random(N) < share, x, other)
    return _frame(x), _frame(y)


# ---- two samples --------------------------------------------------------------------------------


def _shift(rng: np.random.Generator, by: float = 0.35) -> Pair:
    return rng.normal(size=N), rng.normal(by, size=N)


def _scale(rng: np.random.Generator, ratio: float = 1.4) -> Pair:
    return rng.normal(size=N), ratio * rng.normal(size=N)


def _one_of_ten(rng: np.random.Generator, by: float = 0.6) -> Pair:
    x, y = rng.normal(size=(2, N, 10))
    y[:, 0] += by
    return x, y


def _mixture(rng: np.random.Generator, apart: float = 1.5) -> Pair:
    """A normal sample, and one of two humps with the same mean and variance."""
    humps = rng.normal(size=N) + apart * rng.choice([-1.0, 1.0], size=N)
    return np.sqrt(1 + apart**2) * rng.normal(size=N), humps


def _heavy_shift(rng: np.random.Generator, by: float = 0.55) -> Pair:
    return rng.standard_t(2, size=N), by + rng.standard_t(2, size=N)


def _categories(rng: np.random.Generator, more: float = 0.12) -> Pair:
    even = np.full(4, 0.25)
    uneven = even + more * np.array([1.0, 0.0, 0.0, -1.0])
    return _frame(rng.choice(4, size=N, p=even)), _frame(rng.choice(4, size=N, p=uneven))


def _apart(dependent: Callable[..., Pair], **effect: float) -> Problem:
    """Pairs that depend on each other, and pairs with the same margins that do not."""

    def samples(rng: np.random.Generator) -> Pair:
        x, y = dependent(rng, **effect)
        u, _ = dependent(rng, **effect)
        _, v = dependent(rng, **effect)
        return np.column_stack([x, y]), np.column_stack([u, v])

    return samples


def _frame(codes: np.ndarray) -> Any:
    """A data frame with one column of four categories."""
    import pandas as pd

    letters = pd.Categorical.from_codes(codes.tolist(), categories=list("abcd"))
    return pd.DataFrame({"letter": letters})


TWO_SAMPLE: dict[str, Problem] = {
    "linear": _apart(_linear, rho=0.5),
    "shift": _shift,
    "scale": _scale,
    "quadratic": _apart(_quadratic, noise=0.4),
    "sine": _apart(_sine, noise=0.3),
    "circle": _apart(_circle, noise=0.2),
    "heteroscedastic": _apart(_heteroscedastic, slope=0.9),
    "sign product": _apart(_sign_product, noise=0.0),
    "one of ten columns": _one_of_ten,
    "mixture": _mixture,
    "heavy tails": _heavy_shift,
    "categories": _categories,
    "null": lambda rng: (rng.normal(size=(N, 2)), rng.normal(size=(N, 2))),
}
INDEPENDENCE: dict[str, Problem] = {
    "linear": _linear,
    "shift": _labelled(lambda rng: _shift(rng, 0.5)),
    "scale": _labelled(lambda rng: _scale(rng, 1.6)),
    "quadratic": _quadratic,
    "sine": _sine,
    "circle": _circle,
    "heteroscedastic": _heteroscedastic,
    "sign product": _sign_product,
    "one of ten columns": _column_of_ten,
    "mixture": _linear_in_a_share,
    "heavy tails": _heavy_linear,
    "categories": _associated_categories,
    "null": lambda rng: (rng.normal(size=N), rng.normal(size=N)),
}
