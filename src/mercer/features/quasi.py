"""Draws from a spectrum at the points of a Sobol sequence instead of at random ones."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from typing import Any

import numpy as np

from mercer.errors import NoRule
from mercer.kernels.base import Kernel
from mercer.kernels.spectrum_algebra import draw

_EDGE = 2.0**-32  # numbers of the sequence stay away from 0 and 1 by this


def quasi_frequencies(
    kernel: Kernel, number: int, dim: int, rng: np.random.Generator
) -> np.ndarray:
    """Frequencies of a kernel that fill its spectrum evenly: (number, dim)."""
    trial = Quasi(lambda n, k: rng.random((n, k)), number)
    draw(kernel, number, dim, trial)  # type: ignore[arg-type]
    held = _sobol(number, max(trial.used, 1), rng)
    return draw(kernel, number, dim, Quasi(_from(held), number))  # type: ignore[arg-type]


class Quasi:
    """What a spectrum asks of a Generator, answered from columns of numbers in (0, 1).

    Every number that is asked for takes a column of its own, turned into the distribution by its
    quantile function.
    """

    def __init__(self, columns: Callable[[int, int], np.ndarray], rows: int) -> None:
        self._columns = columns
        self._rows = rows
        self.used = 0

    def random(self, size: Any) -> np.ndarray:
        """Uniform on (0, 1)."""
        shape: list[int] = [size] if isinstance(size, int) else list(size)
        n = shape[0] if len(shape) < 3 else shape[1]
        width = int(np.prod(shape)) // max(n, 1)
        if n > self._rows:
            raise NoRule(
                "this kernel draws its frequencies by rejection, which has no even sequence: use "
                "RandomFourier"
            )
        drawn = self._columns(n, self.used + width)[:, self.used :]
        self.used += width
        if len(shape) == 3:
            return drawn.reshape(n, shape[0], shape[2]).transpose(1, 0, 2)
        return drawn.reshape(shape)

    def uniform(self, low: float, high: float, size: Any) -> np.ndarray:
        """Uniform on (low, high)."""
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: Any) -> np.ndarray:
        """Normal numbers."""
        from scipy.special import ndtri

        return ndtri(self.random(size))

    def standard_cauchy(self, size: Any) -> np.ndarray:
        """Cauchy numbers."""
        return np.tan(np.pi * (self.random(size) - 0.5))

    def standard_gamma(self, shape: float, size: Any) -> np.ndarray:
        """Gamma numbers of this shape."""
        from scipy.special import gammaincinv

        return gammaincinv(shape, self.random(size))

    def choice(self, values: Any, size: Any) -> np.ndarray:
        """One of some values."""
        return np.asarray(values)[(self.random(size) * len(values)).astype(np.int64)]

    def integers(self, low: int, high: int, size: Any) -> np.ndarray:
        """Whole numbers from low to high - 1."""
        return low + np.floor(self.random(size) * (high - low)).astype(np.int64)

    def geometric(self, p: float, size: Any) -> np.ndarray:
        """Numbers of trials up to the first success."""
        return np.ceil(np.log(self.random(size)) / np.log1p(-p)).astype(np.int64)

    def poisson(self, mean: float, size: Any) -> np.ndarray:
        """Refused: what follows is drawn as often as this says, which has no columns."""
        raise NoRule(
            "the spectrum of exp(k) is drawn with random numbers of terms, which has no even "
            "sequence: use RandomFourier"
        )


def _sobol(number: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """The first points of a scrambled Sobol sequence, away from 0 and 1: (number, dim)."""
    from scipy.stats import qmc

    try:
        sequence = qmc.Sobol(dim, scramble=True, rng=rng)
    except TypeError:  # SciPy before 1.15
        sequence = qmc.Sobol(dim, scramble=True, seed=rng)  # type: ignore[call-arg]
    points = sequence.random_base2(max(ceil(log2(number)), 0))[:number]
    return np.clip(points, _EDGE, 1 - _EDGE)


def _from(held: np.ndarray) -> Callable[[int, int], np.ndarray]:
    return lambda n, k: held[:n, :k]
