"""Pairs of variables for tests of independence, and how often a test rejects them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator, int], Any]


def rejections(test: Any, draw: Draw, runs: int, n: int) -> float:
    """The share of runs that reject at level 0.05."""
    rejects = rejecting(test, draw, n)
    return sum(rejects(seed) for seed in range(runs)) / runs


def rejecting(test: Any, draw: Draw, n: int) -> Callable[[int], bool]:
    """One run by its seed: is the null hypothesis, which holds, rejected at level 0.05?"""

    def rejects(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        return test.test(*draw(rng, n), rng=rng).rejects(0.05)

    return rejects


def normal(dx: int, dy: int) -> Draw:
    return lambda rng, n: (rng.normal(size=(n, dx)), rng.normal(size=(n, dy)))


def discrete(rng: np.random.Generator, n: int) -> Any:
    return rng.poisson(1.0, size=(n, 2)).astype(float), rng.integers(0, 2, (n, 1)).astype(float)


def coins(rng: np.random.Generator, n: int) -> Any:
    return rng.integers(0, 2, size=(2, n, 1)).astype(float)


def squares(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three columns, and the squares of two of them with noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    return x, x[:, :2] ** 2 + rng.normal(size=(n, 2))
