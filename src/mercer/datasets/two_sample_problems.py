"""Two-sample problems with known truth: whether both samples come from one distribution.

A problem is a small frozen object. `problem.sample(n, m, rng=)` draws the samples, and
`problem.null` says whether the null hypothesis holds. The defaults are the settings of the cited
papers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.datasets.records import as_frame


class Problem(ABC):
    """Two distributions to sample from, and whether they are equal."""

    @property
    @abstractmethod
    def null(self) -> bool:
        """Whether both samples come from one distribution."""

    @abstractmethod
    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Draw `n` points from the first distribution and `m` from the second."""

    def sample(self, n: int, m: int | None = None, *, rng: Any = None) -> tuple[Any, Any]:
        """Draw independent samples of `n` and `m` points; `m` defaults to `n`."""
        validate.whole("n", n)
        validate.whole("m", n if m is None else m)
        return self.draw(int(n), int(n if m is None else m), validate.generator(rng))


@dataclass(frozen=True)
class SameGaussian(Problem):
    """Both samples from N(0, I): the null hypothesis holds."""

    dim: int = 50

    def __post_init__(self) -> None:
        validate.whole("dim", self.dim)

    @property
    def null(self) -> bool:
        return True

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return rng.standard_normal((n, self.dim)), rng.standard_normal((m, self.dim))


@dataclass(frozen=True)
class MeanShift(Problem):
    """N(0, I) and N((shift, 0, ..., 0), I): Gaussian mean difference (Jitkrittum et al. 2016).

    Examples
    --------
    >>> x, y = MeanShift(dim=3, shift=5.0).sample(40, 60, rng=0)
    >>> x.shape, y.shape
    ((40, 3), (60, 3))
    >>> MeanShift(shift=0.0).null
    True
    """

    dim: int = 100
    shift: float = 1.0

    def __post_init__(self) -> None:
        validate.whole("dim", self.dim)
        validate.number("shift", self.shift)

    @property
    def null(self) -> bool:
        return self.shift == 0

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x, y = SameGaussian(self.dim).draw(n, m, rng)
        y[:, 0] += self.shift
        return x, y


@dataclass(frozen=True)
class VarianceShift(Problem):
    """N(0, I) and N(0, diag(ratio, 1, ..., 1)): Gaussian variance difference (same paper)."""

    dim: int = 50
    ratio: float = 2.0

    def __post_init__(self) -> None:
        validate.whole("dim", self.dim)
        validate.positive("ratio", self.ratio)

    @property
    def null(self) -> bool:
        return self.ratio == 1

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x, y = SameGaussian(self.dim).draw(n, m, rng)
        y[:, 0] *= math.sqrt(self.ratio)
        return x, y


@dataclass(frozen=True)
class Blobs(Problem):
    """Gaussian blobs on a square grid, round in one sample and stretched in the other.

    The samples have the same large-scale structure and differ only within each blob (Gretton et al.
    2012). The blobs of the second sample have the variance `stretch` along the direction `angle`
    (radians) and 1 across it. The figures of Jitkrittum et al. 2016 correspond to `angle=0`: their
    code multiplies rows by R D, whose covariance is D^2 for every rotation R.
    """

    side: int = 4
    distance: float = 5.0
    stretch: float = 2.0
    angle: float = math.pi / 4

    def __post_init__(self) -> None:
        validate.whole("side", self.side)
        validate.non_negative("distance", self.distance)
        validate.positive("stretch", self.stretch)
        validate.number("angle", self.angle)

    @property
    def null(self) -> bool:
        return self.stretch == 1

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        axes = np.array(
            [[cos, sin], [-sin, cos]]
        )  # rows: along the stretched direction, and across
        axes[0] *= math.sqrt(self.stretch)
        x = rng.standard_normal((n, 2)) + self._centres(n, rng)
        return x, rng.standard_normal((m, 2)) @ axes + self._centres(m, rng)

    def _centres(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return float(self.distance) * (
            rng.integers(self.side, size=(n, 2)) - (int(self.side) - 1) / 2
        )


@dataclass(frozen=True)
class PerturbedUniform(Problem):
    """Uniform density on the unit cube with bumps, against the uniform density.

    f(x) = 1 + scale * bumps^-smoothness * sum_v s_v prod_i G(bumps x_i - v_i), v in {1..bumps}^dim
    (Schrab et al. 2023, equation 17). The signs s_v are drawn again for every sample. G is a smooth
    bump up followed by one down, so that both densities have the same mass in every cell: they
    differ only at scales below 1 / bumps.

    Parameters
    ----------
    dim : int
    bumps : int
        Number of perturbations along each axis; 0 is the null hypothesis.
    scale : float or None
        None: 2.7 on the line and 7.3 in the plane, as in the paper; 0.98 e^dim elsewhere.
    smoothness : float
    """

    dim: int = 1
    bumps: int = 2
    scale: float | None = None
    smoothness: float = 1.0

    def __post_init__(self) -> None:
        validate.whole("dim", self.dim)
        validate.whole("bumps", self.bumps, least=0)
        validate.non_negative("smoothness", self.smoothness)
        if self.scale is not None:
            validate.non_negative("scale", self.scale)
        if self._amplitude > 1:
            limit = math.exp(self.dim) * float(self.bumps) ** float(self.smoothness)
            raise ValueError(
                f"scale must be at most {limit:.4g} here, or the density is negative; "
                f"got {self.scale!r}"
            )

    @property
    def null(self) -> bool:
        return self._amplitude == 0

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        signs = self.signs(rng)
        accepted, count = [np.empty((0, self.dim))], 0
        while count < n:  # rejection sampling: more than half of the proposals are accepted
            z = rng.random((2 * n, self.dim))
            height = (1 + self._amplitude) * rng.random(2 * n)
            accepted.append(z[height <= self.density(z, signs)])
            count += len(accepted[-1])
        return np.concatenate(accepted)[:n], rng.random((m, self.dim))

    def signs(self, rng: Any = None) -> np.ndarray:
        """Random signs of the bumps, -1 or 1: (bumps, ..., bumps)."""
        return validate.generator(rng).choice([-1.0, 1.0], size=(int(self.bumps),) * int(self.dim))

    def density(self, x: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """Perturbed density with these signs at points of the cube (n, dim): (n,)."""
        if self.null:
            return np.ones(len(x))
        stretched = x * float(self.bumps)
        cell = np.minimum(stretched.astype(np.int64), int(self.bumps) - 1)
        bump = np.prod(_wave(stretched - cell), axis=1)
        return 1 + self._strength * signs[tuple(cell.T)] * bump

    @property
    def _strength(self) -> float:
        scale = {1: 2.7, 2: 7.3}.get(self.dim, 0.98 * math.exp(self.dim))
        scale = scale if self.scale is None else float(self.scale)
        return scale * float(self.bumps) ** -float(self.smoothness) if self.bumps else 0.0

    @property
    def _amplitude(self) -> float:
        return self._strength * math.exp(-self.dim)  # the largest value of G is 1/e


@dataclass(frozen=True)
class HeavyTails(Problem):
    """Independent Student t variables; the first coordinate of the second sample is shifted.

    Up to one degree of freedom the mean does not exist, up to two the variance is infinite.
    """

    dim: int = 5
    degrees: float = 1.5
    shift: float = 1.0

    def __post_init__(self) -> None:
        validate.whole("dim", self.dim)
        validate.positive("degrees", self.degrees)
        validate.number("shift", self.shift)

    @property
    def null(self) -> bool:
        return self.shift == 0

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = rng.standard_t(float(self.degrees), (n, self.dim))
        y = rng.standard_t(float(self.degrees), (m, self.dim))
        y[:, 0] += self.shift
        return x, y


@dataclass(frozen=True)
class Counts(Problem):
    """Independent Poisson counts with rates `rate` and `other`: integers with many ties."""

    dim: int = 2
    rate: float = 1.0
    other: float = 2.0

    def __post_init__(self) -> None:
        validate.whole("dim", self.dim)
        validate.positive("rate", self.rate)
        validate.positive("other", self.other)

    @property
    def null(self) -> bool:
        return self.rate == self.other

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x, y = (
            rng.poisson(float(self.rate), (n, self.dim)),
            rng.poisson(float(self.other), (m, self.dim)),
        )
        return x.astype(np.float64), y.astype(np.float64)


@dataclass(frozen=True)
class MixedColumns(Problem):
    """Data frames with numeric and categorical columns; `drift` changes one of each.

    Columns: `age` (shifted by `drift` standard deviations), `income` (skewed), `visits` (counts),
    `plan` (three categories, whose shares change) and `region` (four categories). The frames are
    from pandas, or from polars or pyarrow if pandas is not installed.
    """

    drift: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self._checked() <= 1:
            raise ValueError(f"drift must be between 0 and 1, got {self.drift!r}")

    @property
    def null(self) -> bool:
        return self.drift == 0

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[Any, Any]:
        return self._frame(n, 0.0, rng), self._frame(m, float(self.drift), rng)

    def _checked(self) -> float:
        validate.number("drift", self.drift)
        return float(self.drift)

    def _frame(self, n: int, drift: float, rng: np.random.Generator) -> Any:
        share = 0.5 * (1 - drift)
        columns = {
            "age": 40 + 10 * (rng.standard_normal(n) + drift),
            "income": np.exp(10 + 0.5 * rng.standard_normal(n)),
            "visits": rng.poisson(3.0, n),
            "plan": rng.choice(["free", "basic", "full"], n, p=[share, 0.3, 0.7 - share]),
            "region": rng.choice(["north", "east", "south", "west"], n),
        }
        return as_frame(columns)


def _wave(t: np.ndarray) -> np.ndarray:
    """G of the paper at t - 1 for t in [0, 1): a smooth bump up, then one down; zero at the ends."""
    inside = 1 - (4 * (t % 0.5) - 1) ** 2
    bump = np.exp(-1 / np.maximum(inside, 1e-3))  # e^-1000 is 0
    return np.where(t < 0.5, bump, -bump)
