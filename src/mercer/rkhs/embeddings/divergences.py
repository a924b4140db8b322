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
from mercer.kernels.radial import RBF
from mercer.kernels.take import Rows, widened
from mercer.rkhs.embeddings.as_bags import are_known, as_bags, sample_of
from mercer.rkhs.embeddings.atoms import Gaussians
from mercer.rkhs.embeddings.bags import Bags
from mercer.rkhs.embeddings.batch import batch_of
from mercer.rkhs.gaussian import Gaussian

_COPIES = 3  # of the quantiles: all of them, and those of the points of tiles, centred


@dataclass(frozen=True)
class SlicedWasserstein(Kernel):
    """exp(-SW2(P, Q)^2 / 2 s^2) with s the bandwidth: a kernel of distributions on R^d.

    SW2 is the 2-Wasserstein distance of projections onto the line, averaged over directions; on
    the line it is the L2 distance of quantile functions, so this is a Gaussian kernel of features
    (Kolouri et al. 2016) and positive definite. Directions come from a seed and quantiles are taken
    at the middles of `levels` equal shares, so that the kernel is a fixed function.

    Points are bags, `Empirical`, `Dirac`, vectors and `Gaussian`, whose projections are known, mixed
    freely; take draws from mixtures and boxes.

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
        """Refuse quantiles of n distributions, and copies of them in tiles, beyond the budget."""
        needed, budget = _COPIES * 8 * n * self.directions * self.levels, settings().memory
        if needed > budget:
            raise MemoryBudgetError(
                f"{self.levels} quantiles in {self.directions} directions of {n:,} distributions need "
                f"{needed / 2**20:,.0f} MiB, and the budget is {budget / 2**20:,.0f} MiB: use fewer "
                "directions or levels, or raise mercer.config(memory=...)"
            )

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return RBF(self.bandwidth).pairwise(x.values, x.values if y is x else y.values)

    def paired(self, x: Points, y: Points, /) -> Array:
        return RBF(self.bandwidth).paired(x.values, y.values)

    def _features(self, x: Any, name: str) -> np.ndarray:
        """Quantiles of projections, scaled so that their squared distances are SW2^2: (n, k)."""
        known = are_known(x)
        if not np.any(known):
            return self._of_bags(as_bags(x, draws=1, rng=0, name=name))
        batch_of(RBF(1.0), x, name)  # its messages
        for i in np.flatnonzero(known):
            if not isinstance(x[i], Gaussian):
                raise NoRule(
                    f"no sliced Wasserstein distance of {x[i]!r}, which is {name}[{i}]: take draws "
                    "instead, such as Empirical(p.sample(1000, rng=0))"
                )
        bags = [
            sample_of(one, 1, 0) for one, is_known in zip(x, known, strict=True) if not is_known
        ]
        laws = [one for one, is_known in zip(x, known, strict=True) if is_known]
        found = self._of_gaussians(laws)
        features = np.empty((len(known), found.shape[1]), dtype=np.float64)
        features[known] = found
        if bags:
            features[~known] = self._of_bags(Bags.of(bags))
        return features

    def _of_bags(self, bags: Bags) -> np.ndarray:
        values = to_numpy(bags.values)
        turns, levels, scale = self._grid(values.shape[1])
        projected, shares = values @ turns, bags.segments.shares
        features = np.empty((len(bags), len(levels) * turns.shape[1]), dtype=np.float64)
        for i, (a, b) in enumerate(zip(bags.offsets[:-1], bags.offsets[1:], strict=True)):
            features[i] = scale * _quantiles(projected[a:b], shares[a:b], levels).ravel()
        return features

    def _of_gaussians(self, laws: list[Gaussian]) -> np.ndarray:
        """A Gaussian is one in every direction: m't + sqrt(t'Ct) z with the normal quantiles z."""
        from scipy.special import ndtri

        both = Gaussians.of(laws)
        turns, levels, scale = self._grid(both.width)
        spread = np.sqrt(np.einsum("nij,ik,jk->nk", both.full, turns, turns))
        values = (both.means @ turns)[:, None, :] + ndtri(levels)[:, None] * spread[:, None, :]
        return scale * values.reshape(len(laws), -1)

    def _grid(self, d: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Directions (d, k), levels (q,), and 1 / sqrt(q k)."""
        size = (d, self.directions if d > 1 else 1)
        turns = np.random.default_rng(self.seed).standard_normal(size)
        turns /= np.linalg.norm(turns, axis=0)
        levels = (np.arange(self.levels) + 0.5) / self.levels
        return turns, levels, float(1 / np.sqrt(len(levels) * turns.shape[1]))


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

    def joined(self, others: Quantiles) -> Quantiles:
        validate.same_width(self.values, others.values)
        return Quantiles(np.concatenate([self.values, others.values]))

    def widened(self) -> Quantiles:
        wide = widened(self.values)
        return self if wide is self.values else Quantiles(wide)


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
        if validate.holds_distributions(x):
            raise TypeError(
                f"{name} must hold histograms, one a row (n, words), got a list of bags or distributions: "
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
