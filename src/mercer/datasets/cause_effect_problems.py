"""Cause-effect pairs with known truth: which of two variables causes the other.

A problem is a small frozen object. Every call of `problem.sample(n, rng=)` draws a new distribution of the cause, a
new mechanism and n observations of both variables; `problem.causal` says whether the first variable causes the
second. The pairs follow section 5.1 of Mooij et al. (2016) and section 4.2 of Lopez-Paz et al. (2015) with other
distributions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate

_WAVES = 200  # random Fourier features of a draw from a Gaussian process


class Mechanism(ABC):
    """Random smooth functions of one variable."""

    @abstractmethod
    def draw(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Values of a new function at x, with mean zero and variance one."""


@dataclass(frozen=True)
class GaussianProcessMechanism(Mechanism):
    """Draws from a Gaussian process with a Gaussian kernel, its length scale between `short` and `long`."""

    short: float = 0.5
    long: float = 2.0

    def __post_init__(self) -> None:
        validate.positive("short", self.short)
        validate.positive("long", self.long)
        if self.short > self.long:
            raise ValueError(f"short must be at most long, got {self.short!r} and {self.long!r}")

    def draw(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        frequencies = rng.standard_normal(_WAVES) / rng.uniform(self.short, self.long)
        phases, weights = rng.uniform(0, 2 * np.pi, _WAVES), rng.standard_normal(_WAVES)
        return _standard(np.cos(np.outer(_standard(x), frequencies) + phases) @ weights)


@dataclass(frozen=True)
class SplineMechanism(Mechanism):
    """Cubic splines through `least` to `most` random values at random knots."""

    least: int = 4
    most: int = 6

    def __post_init__(self) -> None:
        validate.whole("least", self.least, least=3)
        validate.whole("most", self.most, least=self.least)

    def draw(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        from scipy.interpolate import Akima1DInterpolator

        inside = rng.uniform(x.min(), x.max(), rng.integers(self.least, self.most + 1) - 2)
        reach = 1e-9 + np.ptp(x)
        knots = np.sort([x.min() - 0.05 * reach, *inside, x.max() + 0.05 * reach])
        knots += 1e-6 * reach * np.arange(len(knots))  # increasing
        return _standard(Akima1DInterpolator(knots, rng.standard_normal(len(knots)))(x))


class CauseEffectProblem(ABC):
    """A family of joint distributions of two variables with a known causal relation."""

    @property
    def causal(self) -> bool:
        """Whether the first variable causes the second; otherwise an unobserved variable causes both."""
        return True

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw a mechanism and `n` observations of both variables: (n,) each."""

    def sample(self, n: int, *, rng: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw a mechanism and `n` observations of both variables."""
        validate.whole("n", n, least=8)
        return self.draw(int(n), validate.generator(rng))


@dataclass(frozen=True)
class AdditivePair(CauseEffectProblem):
    """y = f(x) + e with e independent of x.

    Examples
    --------
    >>> x, y = AdditivePair().sample(100, rng=0)
    >>> x.shape, y.shape, AdditivePair().causal
    ((100,), (100,), True)
    """

    mechanism: Mechanism = GaussianProcessMechanism()

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = _cause(n, rng)
        return x, self.mechanism.draw(x, rng) + rng.uniform(0.2, 0.7) * _noise(n, rng)


@dataclass(frozen=True)
class PostNonlinearPair(CauseEffectProblem):
    """y = h(f(x) + e) with an increasing h that bends."""

    mechanism: Mechanism = GaussianProcessMechanism()

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x, inner = AdditivePair(self.mechanism).draw(n, rng)
        return x, _bend(_standard(inner), rng)


@dataclass(frozen=True)
class HeteroscedasticPair(CauseEffectProblem):
    """y = f(x) + s(x) e: the spread of the noise changes with the cause."""

    mechanism: Mechanism = GaussianProcessMechanism()

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = _cause(n, rng)
        spread = np.exp(rng.uniform(0.4, 1.0) * self.mechanism.draw(x, rng))
        noise = rng.uniform(0.2, 0.6) * spread / np.mean(spread) * _noise(n, rng)
        return x, self.mechanism.draw(x, rng) + noise


@dataclass(frozen=True)
class DiscretePair(CauseEffectProblem):
    """Whole numbers y = f(x) + e with e independent of x (Peters, Janzing and Scholkopf 2011)."""

    mechanism: Mechanism = GaussianProcessMechanism()

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        levels = int(rng.integers(5, 12))
        values = np.arange(levels, dtype=np.float64)
        x = rng.choice(values, n, p=rng.dirichlet(np.full(levels, 2.0)))
        table = np.round(rng.uniform(1.5, 3.0) * self.mechanism.draw(values, rng))
        support = np.arange(-2, 3)
        chances = rng.dirichlet(np.array([0.5, 1.0, 4.0, 1.0, 0.5]))
        return x, table[x.astype(np.int64)] + rng.choice(support, n, p=chances)


@dataclass(frozen=True)
class ConfoundedPair(CauseEffectProblem):
    """x = f(z) + e and y = g(z) + d with z not observed: neither causes the other."""

    mechanism: Mechanism = GaussianProcessMechanism()

    @property
    def causal(self) -> bool:
        return False

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        z = _cause(n, rng)
        x, y = (
            self.mechanism.draw(z, rng) + rng.uniform(0.2, 0.7) * _noise(n, rng) for _ in range(2)
        )
        return x, y


def _standard(values: np.ndarray) -> np.ndarray:
    centred = values - values.mean()
    return centred / max(float(np.std(centred)), 1e-12)


def _cause(n: int, rng: np.random.Generator) -> np.ndarray:
    """A cause: uniform, normal, skewed, or a mixture of normals."""
    kind = rng.integers(4)
    if kind == 0:
        return _standard(rng.uniform(-1, 1, n))
    if kind == 1:
        return _standard(rng.standard_normal(n))
    if kind == 2:
        return _standard(rng.gamma(rng.uniform(2, 6), size=n))
    centres, widths = rng.normal(0, 1.5, 4), rng.uniform(0.3, 0.8, 4)
    component = rng.choice(4, n, p=rng.dirichlet(np.full(4, 2.0)))
    return _standard(centres[component] + widths[component] * rng.standard_normal(n))


def _noise(n: int, rng: np.random.Generator) -> np.ndarray:
    """Noise of variance one: normal, uniform, Laplace or skewed."""
    kind = rng.integers(4)
    draws = (
        rng.standard_normal(n),
        rng.uniform(-1, 1, n) * np.sqrt(3),
        rng.laplace(size=n) / np.sqrt(2),
        (rng.gamma(3.0, size=n) - 3) / np.sqrt(3),
    )
    return draws[kind]


def _bend(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A strictly increasing function: exponential, cube, saturation, or root, perhaps turned."""
    strength, sign = rng.uniform(0.5, 1.2), rng.choice([-1.0, 1.0])
    turned = sign * values
    bends = (
        np.exp(strength * turned),
        turned + strength * turned**3 / 3,
        np.tanh(strength * turned),
        np.sign(turned) * np.abs(turned) ** rng.uniform(0.5, 0.8),
    )
    return _standard(sign * bends[rng.integers(4)])
