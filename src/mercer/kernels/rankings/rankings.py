"""Kernels on rankings: Kendall, Mallows and Spearman."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, to_numpy
from mercer.kernels.base import Points
from mercer.kernels.objects import ObjectKernel

_EXACT_IN_SINGLE = 2**24  # whole numbers up to here are exact in float32


class _OfRankings(ObjectKernel):
    """A kernel on rankings of the same d items: rows of an array (n, d), the rank or score of each item."""

    domain = "rankings"

    @abstractmethod
    def vectors(self, ranks: np.ndarray, /) -> np.ndarray:
        """Features whose products give the kernel: (n, D)."""

    def items(self, x: Any, name: str, /) -> np.ndarray:
        return rankings(x, name)

    def view(self, items: np.ndarray, /) -> np.ndarray:
        return items


@dataclass(frozen=True)
class Kendall(_OfRankings):
    """Kendall's rank correlation: (concordant - discordant pairs of items) / (d (d - 1) / 2).

    k(x, y) = 2 / (d (d - 1)) sum over i < j of sgn(x_i - x_j) sgn(y_i - y_j), where x_i is the rank (or a
    score) of item i. Partial rankings are averaged over their completions, all equally likely: tied items
    are in either order, and an item with NaN may be at any place among the others. For the best k items in
    order give all others one rank behind them.

    References
    ----------
    Y. Jiao, J.-P. Vert (2018). The Kendall and Mallows kernels for permutations. IEEE TPAMI 40, 1755-1769.

    Examples
    --------
    >>> Kendall()([[1, 2, 3], [1, 3, 2], [1, np.nan, 2]]).round(3)
    array([[1.   , 0.333, 0.556],
           [0.333, 1.   , 0.333],
           [0.556, 0.333, 0.407]])
    """

    def vectors(self, ranks: np.ndarray, /) -> np.ndarray:
        missing = np.isnan(ranks)
        if not missing.any():
            return _signs(ranks, np.float64)
        i, j = np.triu_indices(ranks.shape[1], 1)
        places = _mean_places(ranks)  # in (-1, 1); items that were not ranked have NaN
        signs = np.sign(ranks[:, i] - ranks[:, j])
        signs = np.where(missing[:, j] & ~missing[:, i], places[:, i], signs)
        signs = np.where(missing[:, i] & ~missing[:, j], -places[:, j], signs)
        return np.where(missing[:, i] & missing[:, j], 0.0, signs)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self._narrow(self.viewed(x))
        right = left if y is x else self._narrow(self.viewed(y))
        values = (left @ right.T).astype(np.float64)
        values /= _pairs(self.viewed(x))
        return values

    def paired(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        products = self.vectors(left) * self.vectors(self.viewed(y))
        return np.sum(products, axis=1) / _pairs(left)

    def diag(self, x: Points, /) -> Array:
        ranks = self.viewed(x)
        ordered = np.sort(ranks, axis=1)  # NaN at the end
        if not np.isnan(ordered[:, -1]).any() and np.all(ordered[:, 1:] > ordered[:, :-1]):
            return np.ones(len(ranks), dtype=np.float64)
        features = self._narrow(ranks).astype(np.float64)
        return np.einsum("ij,ij->i", features, features) / _pairs(ranks)

    def _narrow(self, ranks: np.ndarray) -> np.ndarray:
        """The features, in float32 where all of them are -1, 0 or 1, whose sums are exact."""
        if np.isnan(ranks).any() or _pairs(ranks) >= _EXACT_IN_SINGLE:
            return self.vectors(ranks)
        return _signs(ranks, np.float32)


@dataclass(frozen=True)
class Mallows(_OfRankings):
    """exp(-decay n(x, y)), where n(x, y) is the number of pairs of items that x and y order differently.

    With ties, n is a quarter of the squared distance of the signs: a pair tied in one ranking counts 1/4.
    Universal and characteristic on rankings without ties.

    References
    ----------
    Y. Jiao, J.-P. Vert (2018). The Kendall and Mallows kernels for permutations. IEEE TPAMI 40, 1755-1769.

    Examples
    --------
    >>> Mallows(0.5)([[1, 2, 3], [1, 3, 2], [3, 2, 1]]).round(3)
    array([[1.   , 0.607, 0.223],
           [0.607, 1.   , 0.368],
           [0.223, 0.368, 1.   ]])
    """

    decay: float

    def __post_init__(self) -> None:
        validate.positive("decay", self.decay)

    def items(self, x: Any, name: str, /) -> np.ndarray:
        ranks = rankings(x, name)
        if np.isnan(ranks).any():
            raise ValueError(
                f"{name} has NaN: Mallows needs complete rankings; use Kendall() for partial ones"
            )
        return ranks

    def vectors(self, ranks: np.ndarray, /) -> np.ndarray:
        dtype = np.float32 if _pairs(ranks) < _EXACT_IN_SINGLE else np.float64
        return _signs(ranks, dtype)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.vectors(self.viewed(x))
        right = left if y is x else self.vectors(self.viewed(y))
        products = (left @ right.T).astype(np.float64)
        norms: list[Any] = [np.sum(v**2, axis=1, dtype=np.float64) for v in (left, right)]
        return np.exp(-self.decay * (norms[0][:, None] + norms[1][None, :] - 2 * products) / 4)

    def paired(self, x: Points, y: Points, /) -> Array:
        difference = self.vectors(self.viewed(x)) - self.vectors(self.viewed(y))
        return np.exp(-self.decay * np.sum(difference**2, axis=1, dtype=np.float64) / 4)

    def diag(self, x: Points, /) -> Array:
        return np.ones(len(self.viewed(x)), dtype=np.float64)


@dataclass(frozen=True)
class Spearman(_OfRankings):
    """Spearman's rank correlation: 12 / (d (d^2 - 1)) sum_i (r_i - m)(s_i - m), m = (d + 1) / 2 the mean rank.

    For rankings without ties 1 - 6 sum_i (r_i - s_i)^2 / (d (d^2 - 1)). Partial rankings have mean ranks
    over their completions, as for `Kendall`; `.normalized()` divides by the spread of tied ranks.

    Examples
    --------
    >>> Spearman()([[1, 2, 3], [1, 3, 2]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def vectors(self, ranks: np.ndarray, /) -> np.ndarray:
        d = ranks.shape[1]
        centred = np.nan_to_num(_mean_places(ranks)) * (d + 1) / 2
        return centred * (12 / (d * (d**2 - 1))) ** 0.5

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.vectors(self.viewed(x))
        return left @ (left if y is x else self.vectors(self.viewed(y))).T

    def paired(self, x: Points, y: Points, /) -> Array:
        return np.sum(self.vectors(self.viewed(x)) * self.vectors(self.viewed(y)), axis=1)


def rankings(x: Any, name: str) -> np.ndarray:
    """Ranks or scores of at least two items, some of them perhaps NaN: (n, d)."""
    ranks = validate.matrix(to_numpy(validate.real(x, name)), name).astype(np.float64)
    if ranks.shape[1] < 2:
        raise ValueError(
            f"{name} must be rankings of at least two items, got shape {ranks.shape}: give an array "
            "(rankings, items)"
        )
    if np.isinf(ranks).any():
        raise ValueError(f"{name} has infinite ranks: use NaN for items that were not ranked")
    return ranks


def _signs(ranks: np.ndarray, dtype: Any) -> np.ndarray:
    """sgn(x_i - x_j) for all pairs of items i < j: (n, d (d - 1) / 2)."""
    n, d = ranks.shape
    out = np.empty((n, d * (d - 1) // 2), dtype=dtype)
    columns, start = np.ascontiguousarray(ranks.T), 0
    rows = np.empty((d, n), dtype=np.int8)
    for i in range(d - 1):
        size = d - 1 - i
        above, below = columns[i] > columns[i + 1 :], columns[i] < columns[i + 1 :]
        np.subtract(above.view(np.int8), below.view(np.int8), out=rows[:size])
        out[:, start : start + size] = rows[:size].T
        start += size
    return out


def _mean_places(ranks: np.ndarray) -> np.ndarray:
    """2 r / (m + 1) - 1 for the mean rank r among the m items that were ranked, NaN for the others: (n, d)."""
    from scipy.stats import rankdata

    among = rankdata(ranks, axis=1, nan_policy="omit")
    ranked = np.sum(~np.isnan(ranks), axis=1, keepdims=True)
    return 2 * among / (ranked + 1) - 1


def _pairs(ranks: np.ndarray) -> int:
    return ranks.shape[1] * (ranks.shape[1] - 1) // 2
