"""The Lancaster interaction of three variables, and all that nulls ask about it.

With K~, L~ and M~ the centred Gram matrices, (K~ o L~ o M~)_++ / n^2 is the squared norm of the embedding
of P_XYZ - P_XY P_Z - P_YZ P_X - P_XZ P_Y + 2 P_X P_Y P_Z. As M~ is centred, it is also the HSIC of z
with (x, y), by the kernel k~ l~ on these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from math import isqrt, prod, sqrt
from operator import mul

import numpy as np

from mercer.backend import count
from mercer.config import settings
from mercer.gram import Centered, LazyMatrix
from mercer.htest.dependence.dhsic_statistic import seeds
from mercer.htest.dependence.null_spectrum import (
    limit_skewness,
    limit_weights,
    rounding_of_mean,
    stretched,
)
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.sums.centered_gram import OfTiles, Side, Spanned, side, spanned
from mercer.htest.dependence.sums.permutation_moments import Sums, product_moments
from mercer.htest.dependence.sums.permuted_low_rank import permutations
from mercer.htest.dependence.sums.permuted_tensor import Products, products
from mercer.htest.nulls import Permutation, WildBootstrap
from mercer.htest.serial_dependence import block_length, lag_means, signed_forms

_COPIES = 5  # of the products of two factors: they, centred, turned, and in the meantime


def three_sides(found: tuple[Variable, ...]) -> tuple[Side, ...]:
    """The centred matrix of every variable, by a factor where one is short."""
    few = max(isqrt(count(found[0].points)), 2)
    return tuple(side(variable.widened(), few) for variable in found)


def joined(first: Side, second: Side, most: int) -> Side:
    """(K~ o L~)~ of two variables, by a factor if that has `most` columns at most."""
    if isinstance(first, Spanned) and isinstance(second, Spanned):
        a, b = first.columns, second.columns
        room = settings().memory // (_COPIES * 8 * len(a))
        if a.shape[1] * b.shape[1] <= min(len(a), room):
            both = spanned(first.variable, (a[:, :, None] * b[:, None, :]).reshape(len(a), -1))
            if both.columns.shape[1] <= most:
                return both
    return Joined(first.variable, first, second)


@dataclass(frozen=True)
class Joined(OfTiles):
    """(K~ o L~)~, as of the product of two centred kernels."""

    variable: Variable  # of the first one: tells how many observations there are
    first: Side
    second: Side

    @cached_property
    def centered(self) -> Centered:
        """H(K~ o L~)H."""
        return Centered.of(self.first.matrix() * self.second.matrix())

    @cached_property
    def size(self) -> float:
        """The root of the sum of the squared entries."""
        return sqrt(max(self.squares, 0.0))

    def _reordered(self, order: np.ndarray) -> LazyMatrix:
        return self.first.matrix(order) * self.second.matrix(order)


@dataclass(frozen=True)
class _CentredPart:
    """A side as one of several matrices."""

    side: Side

    def matrix(self, order: np.ndarray | None = None, /) -> LazyMatrix:
        return self.side.matrix(order)

    def factor(self, most: int, /) -> np.ndarray | None:
        if isinstance(self.side, Spanned) and self.side.columns.shape[1] <= most:
            return self.side.columns
        return None


class InteractionEvidence:
    """(K~ o L~ o M~)_++ / n^2, under the null hypothesis that all three variables are independent."""

    def __init__(self, sides: tuple[Side, ...]) -> None:
        self.sides = sides
        self.n = count(sides[0].variable.points)

    @cached_property
    def matrix(self) -> LazyMatrix:
        """K~ o L~ o M~, not held."""
        return reduce(mul, (side.matrix() for side in self.sides))

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return max(self.matrix.sum(), 0.0) / self.n**2

    # ---- what the nulls ask for ---------------------------------------------------------

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic with the second and the third variable permuted; column 0 is the observed one."""
        drawn = (permutations(self.n, null, columns, s) for s in seeds(seed, len(self.sides) - 1))
        parts = [self._products.sums([None, *orders]) for orders in zip(*drawn, strict=True)]
        return np.maximum(np.concatenate(parts), 0.0) / self.n**2

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        sizes = (float(np.mean(np.abs(side.own))) for side in self.sides)
        return rounding_of_mean(self.n, prod(sizes))

    def moments(self) -> tuple[float, float, float]:
        """The statistic, and its mean and variance over all permutations, exactly."""
        mean, variance = product_moments([Sums.of(side.matrix()) for side in self.sides])
        return self.observed, mean, max(variance, 0.0)

    def skewness(self) -> float:
        """Of the limit of the statistic."""
        return limit_skewness(self.matrix)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and the weights of its limit: the eigenvalues of K~ o L~ o M~."""
        weights, _ = limit_weights(self.matrix, rank)
        observed, mean, variance = self.moments()
        return observed, *stretched(weights, mean, variance)

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The statistic, and w'(K~ o L~ o M~)w / n^2 for random signs w."""
        return signed_forms(self.matrix, self._lags, self.observed, null, seed)

    def block_length(self) -> int:
        """How many observations should share a sign, by what the variables remember."""
        return block_length(self._lags, self.n)

    @cached_property
    def _lags(self) -> np.ndarray:
        """The lag means of K~ o L~ o M~ under independence."""
        return reduce(mul, (lag_means(side.matrix()) for side in self.sides))

    @cached_property
    def _products(self) -> Products:
        return products([_CentredPart(side) for side in self.sides])
