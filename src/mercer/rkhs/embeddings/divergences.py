"""Kernels from divergences of distributions: sliced Wasserstein and Jensen-Shannon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, namespace, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError, NoRule
from mercer.kernels.base import Kernel, Points
from mercer.kernels.radial import RBF, VECTOR_KERNEL
from mercer.kernels.take import FeatureRows
from mercer.rkhs.embeddings.as_bags import are_known, as_bags, sample_of
from mercer.rkhs.embeddings.as_batch import batch_of
from mercer.rkhs.embeddings.atoms import Gaussians
from mercer.rkhs.embeddings.bags import Bags
from mercer.rkhs.gaussian import Gaussian

# Copies of the quantiles in memory: all of them, and the centred ones of the two sides of a tile.
_QUANTILE_COPIES = 3


@dataclass(frozen=True)
class SlicedWasserstein(Kernel):
    """Sliced Wasserstein kernel exp(-SW2(P, Q)^2 / 2 s^2) of distributions on R^d, s the bandwidth.

    SW2 is the 2-Wasserstein distance of projections onto the line, averaged over directions; on
    the line it is the L2 distance of quantile functions, so this is a Gaussian kernel of features
    (Kolouri et al. 2016) and positive definite. The directions are drawn with a fixed seed, and the
    quantiles are taken at the midpoints of `levels` equal probabilities, so the kernel is a fixed
    function.

    Points are bags, `Empirical`, `Dirac`, vectors and `Gaussian`, in any combination; for mixtures
    and boxes use draws.

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
        if isinstance(x, Quantiles):
            return x
        if hasattr(x, "__len__"):
            self._ask_for(len(x))
        return Quantiles(self._features(x, name))

    def _ask_for(self, n: int) -> None:
        """Raise `MemoryBudgetError` if the quantiles of n distributions exceed the budget."""
        needed, budget = _QUANTILE_COPIES * 8 * n * self.directions * self.levels, settings().memory
        if needed > budget:
            raise MemoryBudgetError(
                f"{self.levels} quantiles in {self.directions} directions of {n:,} distributions need "
                f"{needed / 2**20:,.0f} MiB, and the budget is {budget / 2**20:,.0f} MiB: use fewer "
                "directions or levels, or raise mercer.config(memory=...)"
            )

    def pairwise(self, x: Any, y: Any, /) -> Array:
        return RBF(self.bandwidth).pairwise(x.vectors, x.vectors if y is x else y.vectors)

    def paired(self, x: Any, y: Any, /) -> Array:
        return RBF(self.bandwidth).paired(x.vectors, y.vectors)

    def _features(self, x: Any, name: str) -> np.ndarray:
        """Quantiles of projections, scaled so that their squared distances are SW2^2: (n, k)."""
        known = are_known(x)
        if not np.any(known):
            return self._of_bags(as_bags(x, draws=1, rng=0, name=name))
        batch_of(VECTOR_KERNEL, x, name)  # checks x
        for i in np.flatnonzero(known):
            if not isinstance(x[i], Gaussian):
                raise NoRule(
                    f"no sliced Wasserstein distance of {x[i]!r}, which is {name}[{i}]: take draws "
                    "instead, such as Empirical(p.sample(1000, rng=0))"
                )
        bags = [
            sample_of(item, 1, 0) for item, is_known in zip(x, known, strict=True) if not is_known
        ]
        gaussians = [item for item, is_known in zip(x, known, strict=True) if is_known]
        of_gaussians = self._of_gaussians(gaussians)
        features = np.empty((len(known), of_gaussians.shape[1]), dtype=np.float64)
        features[known] = of_gaussians
        if bags:
            features[~known] = self._of_bags(Bags.of(bags))
        return features

    def _of_bags(self, bags: Bags) -> np.ndarray:
        """Quantiles of the projections of every bag: (n, k)."""
        values = to_numpy(bags.values)
        directions, levels, scale = self._grid(values.shape[1])
        projected, shares = values @ directions, bags.segments.shares
        features = np.empty((len(bags), len(levels) * directions.shape[1]), dtype=np.float64)
        for i, (a, b) in enumerate(zip(bags.offsets[:-1], bags.offsets[1:], strict=True)):
            features[i] = scale * _quantiles(projected[a:b], shares[a:b], levels).ravel()
        return features

    def _of_gaussians(self, gaussians: list[Gaussian]) -> np.ndarray:
        """Quantiles m't + sqrt(t'Ct) z of projections on t, with the normal quantiles z: (n, k)."""
        from scipy.special import ndtri

        atoms = Gaussians.of(gaussians)
        directions, levels, scale = self._grid(atoms.width)
        deviations = np.sqrt(np.einsum("nij,ik,jk->nk", atoms.full, directions, directions))
        means, z = atoms.means @ directions, ndtri(levels)
        values = means[:, None, :] + z[:, None] * deviations[:, None, :]
        return scale * values.reshape(len(gaussians), -1)

    def _grid(self, d: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Random directions (d, k), levels (q,), and the scale 1 / sqrt(q k) of the features."""
        size = (d, self.directions if d > 1 else 1)
        directions = np.random.default_rng(self.seed).standard_normal(size)
        directions /= np.linalg.norm(directions, axis=0)
        levels = (np.arange(self.levels) + 0.5) / self.levels
        return directions, levels, float(1 / np.sqrt(len(levels) * directions.shape[1]))


class Quantiles(FeatureRows):
    """Distributions represented by the quantiles of their projections."""


def _quantiles(values: np.ndarray, shares: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Weighted quantiles of every column at these levels: (q, k)."""
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(shares[order], axis=0)
    at = np.stack([np.searchsorted(column, levels * column[-1]) for column in reached.T], axis=1)
    return np.take_along_axis(np.take_along_axis(values, order, axis=0), at, axis=0)


@dataclass(frozen=True)
class JensenShannon(Kernel):
    """Jensen-Shannon kernel exp(-JS(p, q) / s) of histograms with the scale s.

    Points are rows of probabilities that add up to one. JS is the Jensen-Shannon divergence in nats,
    between 0 and log 2. It is conditionally negative definite (Hein and Bousquet 2005), so the kernel
    is positive definite for every scale.

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
        if validate.holds_distributions(x):
            raise TypeError(
                f"{name} must hold histograms, one per row (n, words), got a list of bags or distributions: "
                "count the words of each first, or use MeanMap(RBF(1.0))"
            )
        points = validate.points(x, name)
        xp = namespace(points)
        sums = xp.sum(points, axis=1)
        if bool(xp.any(points < 0)) or bool(xp.any(xp.abs(sums - 1) > 1e-6)):
            raise ValueError(
                f"{name} must hold histograms, rows of non-negative numbers that add up to one: "
                "divide each by its sum"
            )
        return points

    def pairwise(self, x: Any, y: Any, /) -> Array:
        xp = namespace(x, y)
        rows = [self.paired(xp.broadcast_to(x[i, :], y.shape), y) for i in range(x.shape[0])]
        return xp.stack(rows)

    def paired(self, x: Any, y: Any, /) -> Array:
        xp = namespace(x, y)
        mixture = _entropy((x + y) / 2)
        return xp.exp(-(mixture - (_entropy(x) + _entropy(y)) / 2) / self.scale)


def _entropy(p: Array) -> Array:
    """Entropy -sum p log p of every row, in nats: (n,)."""
    xp = namespace(p)
    return -xp.sum(p * xp.log(xp.where(p > 0, p, 1.0)), axis=1)
