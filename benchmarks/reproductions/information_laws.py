"""Dependent and independent variables in small samples, of which the mutual information is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from mercer.info import mutual_information, transfer_entropy

Problem = tuple[Callable[..., float], Callable[[int, Any], Any], float, dict[str, Any]]


def _pair(n: int, d: int, rho: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((n, d))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((n, d))


def _rounded(n: int, rho: float, step: float, rng: np.random.Generator) -> Any:
    return tuple(step * np.round(v / step) for v in _pair(n, 1, rho, rng))


def _rounded_information(rho: float, step: float) -> float:
    """Information of two normal numbers with correlation rho, both rounded to multiples of step, by quadrature."""
    edges = np.arange(-7 - step / 2, 7 + step, step)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x = (edges[:-1, None] + edges[1:, None]) / 2 + nodes * step / 2
    mass = np.tile(weights * step / 2, len(x)) * norm.pdf(x.ravel())
    below = norm.cdf((edges - rho * x.ravel()[:, None]) / np.sqrt(1 - rho**2))
    p = (mass[:, None] * np.diff(below, axis=1)).reshape(len(x), len(nodes), -1).sum(axis=1)
    ratio = p / (p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True))
    return float(np.sum(p[p > 0] * np.log(ratio[p > 0])))


def _rounded_pair(n: int, rng: np.random.Generator, rho: float, step: float) -> Any:
    return _rounded(n, rho, step, rng)


def _label_pair(n: int, rng: np.random.Generator, values: int, same: float) -> Any:
    return _labels(n, values, same, rng)


def _amounts(n: int, rng: np.random.Generator) -> Any:
    amounts = rng.exponential(size=(2, n)) * (rng.uniform(size=(2, n)) < 0.6)
    return amounts[0], amounts[1]


def _labels(n: int, values: int, same: float, rng: np.random.Generator) -> Any:
    """Two columns of categories, equal in a share of the rows and independent in the others."""
    x, other = rng.integers(0, values, (2, n))
    y = np.where(rng.uniform(size=n) < same, x, other)
    return tuple(pd.DataFrame({"v": pd.Categorical(v.astype(str))}) for v in (x, y))


def _labels_information(values: int, same: float) -> float:
    p = np.full((values, values), (1 - same) / values**2) + np.eye(values) * same / values
    return float(np.sum(p * np.log(p * values**2)))


def _label_and_number(n: int, rng: np.random.Generator) -> Any:
    return _labels(n, 6, 0.0, rng)[0], rng.standard_normal(n)


def _driven_by_nothing(n: int, rng: np.random.Generator) -> Any:
    return tuple(rng.standard_normal((2, n)))


def _common_cause(n: int, rng: np.random.Generator) -> Any:
    z, e, f = rng.standard_normal((3, n))
    return z + e, z + f, z


DEPENDENT: dict[str, Problem] = {
    "information, 1 + 1, rho = 0.1": (
        mutual_information,
        lambda n, rng: _pair(n, 1, 0.1, rng),
        -np.log(1 - 0.01) / 2,
        {},
    ),
    "information, 1 + 1, rho = 0.3": (
        mutual_information,
        lambda n, rng: _pair(n, 1, 0.3, rng),
        -np.log(1 - 0.09) / 2,
        {},
    ),
    "information, 1 + 1, rho = 0.9": (
        mutual_information,
        lambda n, rng: _pair(n, 1, 0.9, rng),
        -np.log(1 - 0.81) / 2,
        {},
    ),
    **{
        f"information, rounded to {step:g}, rho = {rho:g}": (
            mutual_information,
            partial(_rounded_pair, rho=rho, step=step),
            _rounded_information(rho, step),
            {},
        )
        for step in (0.1, 0.5)
        for rho in (0.3, 0.6, 0.9)
    },
    **{
        f"information, {values} and {values} categories, {same:.0%} equal": (
            mutual_information,
            partial(_label_pair, values=values, same=same),
            _labels_information(values, same),
            {},
        )
        for values in (3, 8)
        for same in (0.2, 0.5)
    },
}  # fmt: skip
INDEPENDENT: dict[str, Problem] = {
    "normal numbers": (mutual_information, lambda n, rng: _pair(n, 1, 0.0, rng), 0.0, {}),
    "3 + 3 normal numbers": (mutual_information, lambda n, rng: _pair(n, 3, 0.0, rng), 0.0, {}),
    "heavy tails (t, 1.5 degrees)": (
        mutual_information, lambda n, rng: tuple(rng.standard_t(1.5, size=(2, n))), 0.0, {},
    ),
    "rounded to one decimal": (mutual_information, partial(_rounded_pair, rho=0, step=0.1), 0.0, {}),
    "rounded to thirds": (mutual_information, partial(_rounded_pair, rho=0, step=1 / 3), 0.0, {}),
    "rounded and continuous": (
        mutual_information,
        lambda n, rng: (np.round(3 * rng.standard_normal(n)), rng.standard_normal(n)), 0.0, {},
    ),
    "counts (Poisson, 20)": (
        mutual_information, lambda n, rng: tuple(rng.poisson(20, (2, n)).astype(float)), 0.0, {},
    ),
    "amounts that are often zero": (mutual_information, _amounts, 0.0, {}),
    "3 and 3 categories": (mutual_information, partial(_label_pair, values=3, same=0.0), 0.0, {}),
    "20 and 20 categories": (mutual_information, partial(_label_pair, values=20, same=0.0), 0.0, {}),
    "6 categories and numbers": (mutual_information, _label_and_number, 0.0, {}),
    "transfer entropy of independent series": (
        transfer_entropy, _driven_by_nothing, 0.0, {"lags": 1},
    ),
}  # fmt: skip
