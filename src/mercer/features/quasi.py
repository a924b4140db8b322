"""Quasi-random frequencies: a spectrum sampled at the points of a Sobol sequence."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from typing import Any, cast

import numpy as np

from mercer.errors import NoRule
from mercer.kernels.base import Kernel
from mercer.kernels.spectrum_algebra import draw

# Distance of the sequence from 0 and 1, where quantile functions are infinite: below the resolution
# of Sobol points, which is 2^-30.
_EDGE = 2.0**-32


def quasi_frequencies(
    kernel: Kernel, number: int, dim: int, rng: np.random.Generator
) -> np.ndarray:
    """Frequencies of a kernel that fill its spectrum evenly: (number, dim)."""
    trial = QuasiGenerator(lambda n, k: rng.random((n, k)), number)  # counts the columns needed
    draw(kernel, number, dim, _as_generator(trial))
    points = sobol_points(number, max(trial.used, 1), rng)
    sequence = QuasiGenerator(lambda n, k: points[:n, :k], number)
    return draw(kernel, number, dim, _as_generator(sequence))


def _as_generator(source: QuasiGenerator) -> np.random.Generator:
    """The source in the type that spectra declare; of a Generator they use the methods below."""
    return cast(np.random.Generator, source)


class QuasiGenerator:
    """Methods of a `numpy.random.Generator`, computed from columns of numbers in (0, 1).

    Every random variable uses one column, transformed by the quantile function of its distribution.
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
                "this kernel draws its frequencies by rejection sampling, which needs independent "
                "numbers: use RandomFourier"
            )
        numbers = self._columns(n, self.used + width)[:, self.used :]
        self.used += width
        if len(shape) == 3:
            return numbers.reshape(n, shape[0], shape[2]).transpose(1, 0, 2)
        return numbers.reshape(shape)

    def uniform(self, low: float, high: float, size: Any) -> np.ndarray:
        """Uniform on (low, high)."""
        return low + (high - low) * self.random(size)

    def standard_normal(self, size: Any) -> np.ndarray:
        """Standard normal numbers."""
        from scipy.special import ndtri

        return ndtri(self.random(size))

    def standard_cauchy(self, size: Any) -> np.ndarray:
        """Standard Cauchy numbers."""
        return np.tan(np.pi * (self.random(size) - 0.5))

    def standard_gamma(self, shape: float, size: Any) -> np.ndarray:
        """Gamma numbers with this shape parameter and scale 1."""
        from scipy.special import gammaincinv

        return gammaincinv(shape, self.random(size))

    def choice(self, values: Any, size: Any) -> np.ndarray:
        """Values drawn with equal probabilities."""
        return np.asarray(values)[(self.random(size) * len(values)).astype(np.int64)]

    def integers(self, low: int, high: int, size: Any) -> np.ndarray:
        """Integers from low to high - 1."""
        return low + np.floor(self.random(size) * (high - low)).astype(np.int64)

    def geometric(self, p: float, size: Any) -> np.ndarray:
        """Numbers of trials up to the first success."""
        return np.ceil(np.log(self.random(size)) / np.log1p(-p)).astype(np.int64)

    def poisson(self, mean: float, size: Any) -> np.ndarray:
        """Not available: a random number of draws follows, and so of columns."""
        raise NoRule(
            "frequencies of exp(k) are sums of a random number of terms, which a Sobol sequence does "
            "not provide: use RandomFourier"
        )


def sobol_points(number: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """First points of a scrambled Sobol sequence, clipped away from 0 and 1: (number, dim)."""
    from scipy.stats import qmc

    try:
        sequence = qmc.Sobol(dim, scramble=True, rng=rng)
    except TypeError:  # SciPy before 1.15
        options: dict[str, Any] = {"seed": rng}
        sequence = qmc.Sobol(dim, scramble=True, **options)
    points = sequence.random_base2(max(ceil(log2(number)), 0))[:number]
    return np.clip(points, _EDGE, 1 - _EDGE)
