"""Kernels from divergences of distributions: sliced Wasserstein and Jensen-Shannon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, namespace, to_numpy
from mercer.kernels.base import Kernel, Points
from mercer.kernels.radial import RBF
from mercer.kernels.rows import Rows
from mercer.rkhs.embeddings.bags import Bags


@dataclass(frozen=True)
class SlicedWasserstein(Kernel):
    """exp(-SW2(P, Q)^2 / 2 s^2) with s the bandwidth: a kernel of bags of points in R^d.

    SW2 is the 2-Wasserstein distance of projections onto the line, averaged over directions; on
    the line it is the L2 distance of quantile functions, so this is a Gaussian kernel of features
    (Kolouri et al. 2016) and positive definite. Directions come from a seed and quantiles are taken
    at the middles of `levels` equal shares, so that the kernel is a fixed function.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(m, 1.0, size=(200, 2)) for m in (0.0, 0.0, 3.0)]
    >>> SlicedWasserstein(1.0)(bags).round(2)
    array([[1.  , 0.99, 0.01],
           [0.99, 1.  , 0.01],
           [0.01, 0.01, 1.  ]])
    """

    bandwidth: float = 1.0
    directions: int = 50
    levels: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)
        validate.whole("directions", self.directions)
        validate.whole("levels", self.levels)
        validate.whole("seed", self.seed, 0)

    def accept(self, x: Any, name: str = "x") -> Points:
        return x if isinstance(x, Quantiles) else Quantiles(self._features(Bags.of(x)))

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return RBF(self.bandwidth).pairwise(x.values, x.values if y is x else y.values)

    def paired(self, x: Points, y: Points, /) -> Array:
        return RBF(self.bandwidth).paired(x.values, y.values)

    def _features(self, bags: Bags) -> np.ndarray:
        """Quantiles of projections, scaled so that their squared distances are SW2^2: (n, k)."""
        values = to_numpy(bags.values)
        d = values.shape[1]
        turns = np.random.default_rng(self.seed).standard_normal(
            (d, self.directions if d > 1 else 1)
        )
        turns /= np.linalg.norm(turns, axis=0)
        projected = values @ turns
        levels = (np.arange(self.levels) + 0.5) / self.levels
        scale = 1 / np.sqrt(len(levels) * turns.shape[1])
        features = np.empty((len(bags), len(levels) * turns.shape[1]), dtype=np.float64)
        for i, (a, b) in enumerate(zip(bags.offsets[:-1], bags.offsets[1:], strict=True)):
            shares = bags.segments.shares[a:b]
            features[i] = scale * _quantiles(projected[a:b], shares, levels).ravel()
        return features


@dataclass(frozen=True, eq=False)
class Quantiles(Rows):
    """Bags by the quantiles of their projections."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Quantiles:
        return Quantiles(self.values[rows])

    def taken(self, rows: np.ndarray) -> Quantiles:
        return Quantiles(self.values[rows])


def _quantiles(values: np.ndarray, shares: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The least value of each column up to which there is a share of at least each level: (q, k)."""
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(shares[order], axis=0)
    at = np.stack([np.searchsorted(column, levels * column[-1]) for column in reached.T], axis=1)
    return np.take_along_axis(np.take_along_axis(values, order, axis=0), at, axis=0)


@dataclass(frozen=True)
class JensenShannon(Kernel):
    """exp(-JS(p, q) / s) with s the scale: a kernel of histograms, one a row, each adding up to one.

    JS is the Jensen-Shannon divergence in nats, between 0 and log 2, which is conditionally negative
    definite (Hein and Bousquet 2005), so that the kernel is positive definite for every scale.

    Examples
    --------
    >>> JensenShannon()([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[1.   , 0.806],
           [0.806, 1.   ]])
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("scale", self.scale)

    def accept(self, x: Any, name: str = "x") -> Points:
        points = validate.points(x, name)
        xp = namespace(points)
        sums = xp.sum(points, axis=1)
        if bool(xp.any(points < 0)) or bool(xp.any(xp.abs(sums - 1) > 1e-6)):
            raise ValueError(
                f"{name} must hold histograms, rows of non-negative numbers that add up to one: "
                "divide each by its sum"
            )
        return points

    def pairwise(self, x: Points, y: Points, /) -> Array:
        xp = namespace(x, y)
        rows = [self.paired(xp.broadcast_to(x[i, :], y.shape), y) for i in range(x.shape[0])]
        return xp.stack(rows)

    def paired(self, x: Points, y: Points, /) -> Array:
        xp = namespace(x, y)
        mixed = _entropy((x + y) / 2)
        return xp.exp(-(mixed - (_entropy(x) + _entropy(y)) / 2) / self.scale)


def _entropy(p: Array) -> Array:
    """-sum p log p, in nats: (n,)."""
    xp = namespace(p)
    return -xp.sum(p * xp.log(xp.where(p > 0, p, 1.0)), axis=1)
