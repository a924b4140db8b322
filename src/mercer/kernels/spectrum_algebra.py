"""Spectra through the algebra of kernels: mixtures, sums of frequencies, scales, column groups."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from mercer.errors import NoRule
from mercer.kernels.algebra import Constant, Exp, Multiple, Power, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.compose import Tensor
from mercer.kernels.rules import Rule
from mercer.kernels.wrappers import Normalized, Scaled, Select

Rng = np.random.Generator

_NYSTROM = "use features that need no spectrum, such as Nystrom"
density_rule = Rule("spectral density", f"only some stationary kernels have one; {_NYSTROM}")
frequencies_rule = Rule("frequencies", f"only some stationary kernels have them; {_NYSTROM}")


def density(kernel: Kernel, omega: np.ndarray) -> np.ndarray:
    """p(w) for w in the rows of `omega`: (n,)."""
    return density_rule.apply(kernel, omega)


def draw(kernel: Kernel, n: int, dim: int, rng: Rng) -> np.ndarray:
    """Frequencies from p / k(0): (n, dim)."""
    return frequencies_rule.apply(kernel, n, dim, rng)


def top(kernel: Kernel, dim: int) -> float:
    """k(0)."""
    return float(kernel.diag(np.zeros((1, dim), dtype=np.float64))[0])


def masses(kernel: Kernel, omega: np.ndarray) -> NoReturn:
    """The rule for kernels whose spectrum has no density."""
    raise NoRule(
        f"the spectrum of {type(kernel).__name__} has masses at single frequencies and so no "
        "density: use sample_frequencies"
    )


density_rule(Constant)(masses)
density_rule(Exp)(masses)


@frequencies_rule(Constant)
def _(kernel: Constant, n: int, dim: int, rng: Rng) -> np.ndarray:
    return np.zeros((n, dim), dtype=np.float64)


@density_rule(Sum)
def _(kernel: Sum, omega: np.ndarray) -> np.ndarray:
    return density(kernel.left, omega) + density(kernel.right, omega)


@frequencies_rule(Sum)
def _(kernel: Sum, n: int, dim: int, rng: Rng) -> np.ndarray:
    a, b = top(kernel.left, dim), top(kernel.right, dim)
    first = rng.random(n) * (a + b) < a
    frequencies = np.empty((n, dim), dtype=np.float64)
    frequencies[first] = draw(kernel.left, int(first.sum()), dim, rng)
    frequencies[~first] = draw(kernel.right, int((~first).sum()), dim, rng)
    return frequencies


@density_rule(Product)
@density_rule(Power)
def _(kernel: Product | Power, omega: np.ndarray) -> NoReturn:
    raise NoRule(
        "the spectral density of a product is a convolution, which has no closed form here: "
        "use sample_frequencies"
    )


@frequencies_rule(Product)
def _(kernel: Product, n: int, dim: int, rng: Rng) -> np.ndarray:
    return draw(kernel.left, n, dim, rng) + draw(kernel.right, n, dim, rng)


@frequencies_rule(Power)
def _(kernel: Power, n: int, dim: int, rng: Rng) -> np.ndarray:
    return _summed(kernel.kernel, np.full(n, kernel.exponent), dim, rng)


@frequencies_rule(Exp)
def _(kernel: Exp, n: int, dim: int, rng: Rng) -> np.ndarray:
    """exp(s k) = sum_m (s k)^m / m!: the powers k^m, m of the Poisson distribution of mean s k(0)."""
    mean = kernel.scale * top(kernel.kernel, dim)
    return _summed(kernel.kernel, rng.poisson(mean, n), dim, rng)


def _summed(kernel: Kernel, counts: np.ndarray, dim: int, rng: Rng) -> np.ndarray:
    """Sums of `counts` independent frequencies: (n, dim)."""
    frequencies = np.zeros((len(counts), dim), dtype=np.float64)
    owners = np.repeat(np.arange(len(counts)), counts)
    np.add.at(frequencies, owners, draw(kernel, len(owners), dim, rng))
    return frequencies


@density_rule(Multiple)
def _(kernel: Multiple, omega: np.ndarray) -> np.ndarray:
    return kernel.factor * density(kernel.kernel, omega)


@density_rule(Normalized)
def _(kernel: Normalized, omega: np.ndarray) -> np.ndarray:
    return density(kernel.kernel, omega) / top(kernel.kernel, omega.shape[1])


@frequencies_rule(Multiple)
@frequencies_rule(Normalized)
def _(kernel: Multiple | Normalized, n: int, dim: int, rng: Rng) -> np.ndarray:
    return draw(kernel.kernel, n, dim, rng)


@density_rule(Scaled)
def _(kernel: Scaled, omega: np.ndarray) -> np.ndarray:
    factors = _factors(kernel, omega.shape[1])
    if not np.all(factors):
        raise NoRule("columns scaled by 0 have all their mass at frequency 0, and no density")
    return density(kernel.kernel, omega / factors) / np.prod(np.abs(factors))


@frequencies_rule(Scaled)
def _(kernel: Scaled, n: int, dim: int, rng: Rng) -> np.ndarray:
    return _factors(kernel, dim) * draw(kernel.kernel, n, dim, rng)


def _factors(kernel: Scaled, dim: int) -> np.ndarray:
    _fit(kernel, dim)
    return np.broadcast_to(np.asarray(kernel.factors, dtype=np.float64), (dim,))


@density_rule(Select)
def _(kernel: Select, omega: np.ndarray) -> np.ndarray:
    columns = _columns(kernel, omega.shape[1])
    if sorted(columns) != list(range(omega.shape[1])):
        raise NoRule(
            "columns that are not selected have all their mass at frequency 0, and no density"
        )
    return density(kernel.kernel, omega[:, columns])


@frequencies_rule(Select)
def _(kernel: Select, n: int, dim: int, rng: Rng) -> np.ndarray:
    columns = _columns(kernel, dim)
    frequencies = np.zeros((n, dim), dtype=np.float64)
    for column, values in zip(columns, draw(kernel.kernel, n, len(columns), rng).T, strict=True):
        frequencies[:, column] += values
    return frequencies


def _columns(kernel: Select, dim: int) -> list[int]:
    _fit(kernel, dim)
    return [int(c) % dim for c in kernel.columns]


@density_rule(Tensor)
def _(kernel: Tensor, omega: np.ndarray) -> np.ndarray:
    pieces = np.split(omega, _ends(kernel, omega.shape[1]), axis=1)
    parts = zip(kernel.kernels, pieces, strict=True)
    return np.prod([density(k, piece) for k, piece in parts], axis=0)


@frequencies_rule(Tensor)
def _(kernel: Tensor, n: int, dim: int, rng: Rng) -> np.ndarray:
    widths = np.diff([0, *_ends(kernel, dim), dim])
    parts = zip(kernel.kernels, widths, strict=True)
    return np.concatenate([draw(k, n, int(width), rng) for k, width in parts], axis=1)


def _ends(kernel: Tensor, dim: int) -> list[int]:
    """The ends of the column groups except the last."""
    _fit(kernel, dim)
    count = len(kernel.kernels)
    widths = kernel.widths or (dim // count,) * count
    return [int(end) for end in np.cumsum(widths)[:-1]]


def _fit(kernel: Kernel, dim: int) -> None:
    """Refuse kernels without a spectrum, and factors, columns or widths that do not fit the data."""
    for inner in kernel.parts().values():
        frequencies_rule.find(inner)
    kernel.accept(np.zeros((1, dim), dtype=np.float64), "the data")
