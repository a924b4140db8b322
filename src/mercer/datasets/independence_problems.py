"""Independence problems with known truth: whether two variables depend on each other.

A problem is a small frozen object. `problem.sample(n, rng=)` draws n observations of both
variables, and `problem.null` says whether they are independent. The defaults are the settings of
the cited papers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate


class PairedProblem(ABC):
    """Joint distribution of two variables, and whether they are independent."""

    @property
    @abstractmethod
    def null(self) -> bool:
        """Whether the variables are independent."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Draw `n` observations of both variables; rows with the same number belong together."""

    def sample(self, n: int, *, rng: Any = None) -> tuple[Any, Any]:
        """Draw `n` observations of both variables."""
        validate.whole("n", n)
        return self.draw(int(n), validate.generator(rng))


@dataclass(frozen=True)
class IndependentGaussians(PairedProblem):
    """Independent standard normal vectors: the null hypothesis holds."""

    dim_x: int = 50
    dim_y: int = 50

    def __post_init__(self) -> None:
        validate.whole("dim_x", self.dim_x)
        validate.whole("dim_y", self.dim_y)

    @property
    def null(self) -> bool:
        return True

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return rng.standard_normal((n, self.dim_x)), rng.standard_normal((n, self.dim_y))


@dataclass(frozen=True)
class Sinusoid(PairedProblem):
    """Density proportional to 1 + sin(omega x) sin(omega y) on [-pi, pi]^2.

    The higher the frequency, the more local the dependence and the harder it is to distinguish
    from the uniform density (Sejdinovic et al. 2013; Jitkrittum et al. 2017).

    Examples
    --------
    >>> x, y = Sinusoid(2.0).sample(5, rng=0)
    >>> x.shape, y.shape, Sinusoid(0.0).null
    ((5, 1), (5, 1), True)
    """

    omega: float = 1.0

    def __post_init__(self) -> None:
        validate.number("omega", self.omega)

    @property
    def null(self) -> bool:
        return self.omega == 0

    def density(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Density at x and y; it integrates to 1, because the product of sines integrates to 0."""
        omega = float(self.omega)
        return (1 + np.sin(omega * x) * np.sin(omega * y)) / (2 * math.pi) ** 2

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        accepted, count = [np.empty((0, 2))], 0
        while count < n:  # rejection sampling: half of the proposals are accepted
            z = rng.uniform(-math.pi, math.pi, (2 * n + 10, 2))
            height = rng.random(len(z)) * 2 / (2 * math.pi) ** 2
            accepted.append(z[height < self.density(z[:, 0], z[:, 1])])
            count += len(accepted[-1])
        z = np.concatenate(accepted)[:n]
        return z[:, :1], z[:, 1:]


@dataclass(frozen=True)
class GaussianSign(PairedProblem):
    """x standard normal, y = |z| sign(x_1 ... x_d) with z standard normal (Jitkrittum et al. 2017).

    y is independent of every proper subset of the columns of x: the dependence needs all of them.
    """

    dim: int = 4

    def __post_init__(self) -> None:
        validate.whole("dim", self.dim)

    @property
    def null(self) -> bool:
        return False

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = rng.standard_normal((n, self.dim))
        magnitude = np.abs(rng.standard_normal(n))
        return x, (magnitude * np.prod(np.sign(x), axis=1))[:, None]


@dataclass(frozen=True)
class RotatedUniform(PairedProblem):
    """Coordinates of a uniform square rotated by `angle` (radians), and columns of noise.

    They are uncorrelated at every angle, but independent only at multiples of a right angle (Gretton
    et al. 2005, who rotate other densities, too). Each variable has `noise` further columns, uniform
    on [-1, 1] like the coordinates of the square.
    """

    angle: float = math.pi / 4
    noise: int = 0

    def __post_init__(self) -> None:
        validate.number("angle", self.angle)
        validate.whole("noise", self.noise, least=0)

    @property
    def null(self) -> bool:
        return math.isclose(math.sin(2 * float(self.angle)), 0.0, abs_tol=1e-12)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        square = rng.uniform(-1, 1, (n, 2)) @ np.array([[cos, sin], [-sin, cos]])
        noise = rng.uniform(-1, 1, (2, n, int(self.noise)))
        x, y = (np.concatenate([square[:, [i]], noise[i]], axis=1) for i in (0, 1))
        return x, y
