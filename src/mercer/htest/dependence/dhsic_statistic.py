"""The distance of M variables from joint independence, and all that nulls ask about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from operator import mul
from typing import Any

import numpy as np

from mercer.backend import Array, array_like, to_numpy
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix
from mercer.htest.dependence.null_spectrum import (
    limit_skewness,
    limit_weights,
    rounding_of_mean,
    stretched,
)
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.sums.permutation_moments import Sums, distance_moments
from mercer.htest.dependence.sums.permuted_low_rank import permutations
from mercer.htest.dependence.sums.permuted_tensor import Products, Whole, products
from mercer.htest.nulls import Bootstrap, Permutation, WildBootstrap
from mercer.htest.serial_dependence import block_length, lag_means, signed_forms
from mercer.kernels import facts
from mercer.rkhs.dependence_measures import product_distance

_GROUP = 64  # bootstrap samples that share a generator, whatever the chunks


class JointEvidence:
    """dHSIC of several variables by their own kernels, as they are and with others resampled.

    t + prod_k mean_ij K^k_ij - 2 u with t = mean_ij prod_k K^k_ij and u = mean_i prod_k r^k_i, r^k
    the row means of K^k (Pfister et al. 2018, section 2). A permutation changes t and u only.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.grams = [_gram(variable) for variable in variables]
        self.n = self.grams[0].shape[0]

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return product_distance(self.grams)

    # ---- what the nulls ask for ---------------------------------------------------------

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic with every variable but the first permuted; column 0 is the observed one."""
        others = seeds(seed, len(self.grams) - 1)
        drawn = (permutations(self.n, null, columns, s) for s in others)
        return np.concatenate([self._permuted(orders) for orders in zip(*drawn, strict=True)])

    def bootstrapped(self, null: Bootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The statistic, and that of variables drawn with replacement, each by itself."""
        own = seeds(seed, len(self.grams))
        drawn = (_redrawn(self.n, null.resamples, s, len(self.grams)) for s in own)
        draws = [self._redrawn(orders) for orders in zip(*drawn, strict=True)]
        return self.observed, np.concatenate(draws)

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return rounding_of_mean(self.n, prod(abs(s.single[0]) for s in self._sums))

    def moments(self) -> tuple[float, float, float]:
        """The statistic, and its mean and variance over all permutations, exactly.

        Pfister et al. (2018, section 3) have the leading terms of both.
        """
        mean, variance = distance_moments(self._sums)
        return self.observed, mean, max(variance, 0.0)

    def skewness(self) -> float:
        """Of the limit of the statistic under joint independence."""
        return limit_skewness(self._projected)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and the weights of its limit under joint independence."""
        weights, _ = limit_weights(self._projected, rank)
        observed, mean, variance = self.moments()
        return observed, *stretched(weights, mean, variance)

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The statistic mean_ij H_ij, and w'Hw / n^2 for random signs w: see `Projected`."""
        return signed_forms(self._projected, self._lags, self.observed, null, seed)

    def block_length(self) -> int:
        """How many observations should share a sign, by what the variables remember."""
        return block_length(self._lags, self.n)

    # ---- private ------------------------------------------------------------------------

    @cached_property
    def _products(self) -> Products:
        return products([Whole(gram) for gram in self.grams])

    @cached_property
    def _sums(self) -> list[Sums]:
        return [Sums.of(gram) for gram in self.grams]

    @cached_property
    def _means(self) -> list[np.ndarray]:
        """The row means of every matrix."""
        return [s.rows / self.n for s in self._sums]

    @cached_property
    def _projected(self) -> Projected:
        return Projected(tuple(self.grams), tuple(self._means))

    @cached_property
    def _lags(self) -> np.ndarray:
        """The lag means of H under joint independence, from those of the K^k."""
        lags = [lag_means(gram) for gram in self.grams]
        middle = [float(m.mean()) for m in self._means]
        alone = sum(lag * prod(_without(middle, k)) for k, lag in enumerate(lags))
        return _product(lags) - alone + (len(lags) - 1) * prod(middle)

    def _permuted(self, orders: Sequence[np.ndarray]) -> np.ndarray:
        """Of orders of all variables but the first: (b,)."""
        first, *others = self._means
        between = np.ones(orders[0].shape, dtype=np.float64) * first
        for mean, order in zip(others, orders, strict=True):
            between *= mean[order]
        joint = self._products.sums([None, *orders]) / self.n**2
        split = prod(float(m.mean()) for m in self._means)
        return np.maximum(joint + split - 2 * between.mean(axis=1), 0.0)

    def _redrawn(self, orders: Sequence[np.ndarray]) -> np.ndarray:
        """Of draws of all variables, whose row means are new: (b,)."""
        n, b = self.n, len(orders[0])
        between, split = np.ones((b, n), dtype=np.float64), np.ones(b, dtype=np.float64)
        for gram, order in zip(self.grams, orders, strict=True):
            counts = np.stack([np.bincount(row, minlength=n) for row in order], axis=1)
            weighted = gram @ array_like(counts / n, gram.like)  # (n, b)
            means = np.take_along_axis(to_numpy(weighted).T.astype(np.float64), order, axis=1)
            between *= means
            split *= means.mean(axis=1)
        joint = self._products.sums(orders) / n**2
        return np.maximum(joint + split - 2 * between.mean(axis=1), 0.0)


@dataclass(frozen=True, repr=False)
class Projected(LazyMatrix):
    """H_ij = <F_i, F_j>, F = x_k phi_k - sum_l phi_l x_(k != l) mu_k + (M - 1) x_k mu_k.

    F_i is what observation i adds to the difference of the embeddings, to first order: its mean is
    that difference, so that mean_ij H_ij is dHSIC; and under joint independence it has mean zero
    given any of the variables. Of two variables H is K~ o L~.
    """

    grams: tuple[Gram, ...]
    means: tuple[np.ndarray, ...]  # u^k_i = <phi_k(i), mu_k>, (n,) of every variable

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.grams[0].shape

    @property
    def like(self) -> Array:
        """An array of the library, device and dtype of the blocks."""
        return self.grams[0].like

    @property
    def symmetric(self) -> bool:
        """Always."""
        return True

    def block(self, rows: slice, columns: slice, /) -> Array:
        """From the blocks of all variables."""
        tiles = [gram.block(rows, columns) for gram in self.grams]
        out, like, less = reduce(mul, tiles), tiles[0], len(tiles) - 1
        middle = [float(u.mean()) for u in self.means]
        here, there = [u[rows] for u in self.means], [u[columns] for u in self.means]
        left = less * (_product(here) + less * prod(middle))  # what depends on i only
        right = less * _product(there)
        outer = np.zeros(out.shape, dtype=np.float64)
        for k, tile in enumerate(tiles):
            alone, rest = prod(_without(middle, k)), _without(middle, k)
            across = array_like(_product(_without(here, k)), like)
            down = array_like(_product(_without(there, k)) - alone, like)
            out = out - tile * (across[:, None] + down[None, :])
            left, right = left - less * alone * here[k], right - less * alone * there[k]
            others = [prod(_without(rest, j)) * u for j, u in enumerate(_without(there, k))]
            outer += here[k][:, None] * np.sum(others, axis=0)[None, :]
        return out + array_like(outer + left[:, None] + right[None, :], like)


def _gram(variable: Variable) -> Gram:
    """Of points that were moved to their mean only where the kernel cannot tell."""
    variable = variable.widened()
    moved = facts(variable.kernel).stationary
    return variable.gram if moved else Gram(variable.kernel, variable.unmoved)


def _product(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """Entry by entry."""
    return reduce(mul, vectors)


def _without(values: Sequence[Any], k: int) -> list[Any]:
    """All but number k."""
    return [value for i, value in enumerate(values) if i != k]


def seeds(seed: int, number: int) -> list[int]:
    """A seed for every variable."""
    return [int(s) for s in np.random.default_rng(seed).integers(2**63, size=number)]


def _redrawn(n: int, number: int, seed: int, many: int) -> Iterator[np.ndarray]:
    """Positions drawn with replacement, in chunks (b, n) within the budget of `many` variables."""
    width = max(settings().memory // (64 * n * many) // _GROUP, 1) * _GROUP
    for start in range(0, number, width):
        groups = range(start // _GROUP, -(-min(start + width, number) // _GROUP))
        parts = [np.random.default_rng((seed, g)).integers(n, size=(_GROUP, n)) for g in groups]
        yield np.concatenate(parts)[: min(width, number - start)]
