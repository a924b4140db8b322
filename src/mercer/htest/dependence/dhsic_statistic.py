"""dHSIC of several variables, and its permutations, bootstrap, moments and limit for null distributions."""

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
from mercer.gram.shifted_sums import shifted_dots
from mercer.htest.dependence.hsic_statistic import mean_tolerance
from mercer.htest.dependence.null_spectrum import limit_skewness, limit_weights, rescaled_weights
from mercer.htest.dependence.series_forms import Deseasonalised
from mercer.htest.dependence.sums.cyclic_permutations import (
    IndependentShifts,
    permutations,
)
from mercer.htest.dependence.sums.permutation_moments import MatrixSums, dhsic_moments
from mercer.htest.dependence.sums.permuted_tensor import (
    PermutableMatrix,
    PermutedTensor,
    TensorEvidence,
    UncenteredGram,
    shifted_tensor_sums,
)
from mercer.htest.nulls import Bootstrap, Permutation, WildBootstrap
from mercer.htest.serial_dependence import lag_means, signed_forms
from mercer.htest.slow_contrasts import SlowForms
from mercer.kernels import facts
from mercer.rkhs.dependence_measures import product_distance
from mercer.rkhs.paired_samples import Variable

_SAMPLES_PER_GENERATOR = 64  # bootstrap samples with one generator, so that chunks do not matter


class JointEvidence(TensorEvidence):
    """dHSIC of several variables, observed, permuted and bootstrapped.

    t + prod_k mean_ij K^k_ij - 2 u with t = mean_ij prod_k K^k_ij and u = mean_i prod_k r^k_i, r^k
    the row means of K^k (Pfister et al. 2018, section 2). A permutation changes t and u only.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.grams = [_gram(variable) for variable in variables]
        self.names = [variable.name for variable in variables]
        self.n = self.grams[0].shape[0]

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return product_distance(self.grams)

    # ---- protocols of nulls -------------------------------------------------------------

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics with every variable but the first permuted; column 0 is the observed one.

        Many observations are shifted circularly in a random order, unless their matrices have low rank.
        """
        others, tensor = len(self.grams) - 1, self._tensor_for(null)
        if tensor is None:
            return self._shifted(IndependentShifts.drawn(self.n, null, columns, others, seed))
        chunks = (permutations(self.n, null, columns, s) for s in seeds(seed, others))
        draws = [self._permuted(orders, tensor) for orders in zip(*chunks, strict=True)]
        return np.concatenate(draws)

    def bootstrapped(self, null: Bootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The statistic, and those of variables drawn with replacement, independently of each other."""
        number = len(self.grams)
        chunks = (
            _bootstrap_samples(self.n, null.resamples, s, number) for s in seeds(seed, number)
        )
        draws = [self._bootstrapped(orders) for orders in zip(*chunks, strict=True)]
        return self.observed, np.concatenate(draws)

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return mean_tolerance(self.n, prod(abs(s.single[0]) for s in self._sums))

    def moments(self) -> tuple[float, float, float]:
        """The statistic, and its mean and variance over all permutations, exactly.

        Pfister et al. (2018, section 3) give the leading terms of both.
        """
        mean, variance = dhsic_moments(self._sums)
        return self.observed, mean, max(variance, 0.0)

    def skewness(self) -> float:
        """Skewness of the limit of the statistic under joint independence."""
        return limit_skewness(self._projected)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and the weights of its limit under joint independence."""
        weights, _ = limit_weights(self._projected, rank)
        observed, mean, variance = self.moments()
        return observed, *rescaled_weights(weights, mean, variance)

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The statistic mean_ij H_ij, and w'Hw / n^2 for random signs w, H being a `ProjectedGram`."""
        return signed_forms(self._projected, self._lags, self.observed, null, seed)

    def slow_forms(self) -> SlowForms:
        """mean_ij H_ij, and w'Hw / n^2 at the slowest cosines w, H of the variables without their seasons."""
        series = Deseasonalised.uncentred(self.grams, self.names)
        means = [to_numpy(m.row_sums()).astype(np.float64) / self.n for m in series.matrices]
        return series.slow_forms(ProjectedGram(series.matrices, tuple(means)))

    # ---- private ------------------------------------------------------------------------

    @cached_property
    def _matrices(self) -> Sequence[PermutableMatrix]:
        return [UncenteredGram(gram) for gram in self.grams]

    @cached_property
    def _sums(self) -> list[MatrixSums]:
        return [MatrixSums.of(gram) for gram in self.grams]

    @cached_property
    def _means(self) -> list[np.ndarray]:
        """The row means of every matrix."""
        return [s.rows / self.n for s in self._sums]

    @cached_property
    def _projected(self) -> ProjectedGram:
        return ProjectedGram(tuple(self.grams), tuple(self._means))

    @cached_property
    def _lags(self) -> np.ndarray:
        """The lag means of H under joint independence, from those of the K^k."""
        lags = [lag_means(gram) for gram in self.grams]
        grand_means = [float(m.mean()) for m in self._means]
        single = sum(lag * prod(_without(grand_means, k)) for k, lag in enumerate(lags))
        return _product(lags) - single + (len(lags) - 1) * prod(grand_means)

    def _permuted(self, orders: Sequence[np.ndarray], tensor: PermutedTensor) -> np.ndarray:
        """The statistics for orders of all variables but the first: (b,)."""
        first, *others = self._means
        between = np.ones(orders[0].shape, dtype=np.float64) * first
        for mean, order in zip(others, orders, strict=True):
            between *= mean[order]
        return self._joined(tensor.sums([None, *orders]), between.sum(axis=1))

    def _shifted(self, shifts: IndependentShifts) -> np.ndarray:
        """The statistics for shifts of all variables but the first: (b,)."""
        first, *others = (mean[shifts.base] for mean in self._means)
        between = shifted_dots(first, others, shifts.values)
        return self._joined(shifted_tensor_sums(self._matrices, shifts), between)

    def _joined(self, joint: np.ndarray, between: np.ndarray) -> np.ndarray:
        """The statistics from the sums of t and of u."""
        product = prod(float(m.mean()) for m in self._means)
        return np.maximum(joint / self.n**2 + product - 2 * between / self.n, 0.0)

    def _bootstrapped(self, orders: Sequence[np.ndarray]) -> np.ndarray:
        """The statistics of bootstrap samples of all variables, with their row means: (b,)."""
        n, b = self.n, len(orders[0])
        between, product = np.ones((b, n), dtype=np.float64), np.ones(b, dtype=np.float64)
        for gram, order in zip(self.grams, orders, strict=True):
            counts = np.stack([np.bincount(row, minlength=n) for row in order], axis=1)
            weighted = gram @ array_like(counts / n, gram.like)  # (n, b)
            means = np.take_along_axis(to_numpy(weighted).T.astype(np.float64), order, axis=1)
            between *= means
            product *= means.mean(axis=1)
        joint = self._tensor.sums(orders) / n**2
        return np.maximum(joint + product - 2 * between.mean(axis=1), 0.0)


@dataclass(frozen=True, repr=False)
class ProjectedGram(LazyMatrix):
    """H_ij = <F_i, F_j>, F = x_k phi_k - sum_l phi_l x_(k != l) mu_k + (M - 1) x_k mu_k.

    F_i is the first-order contribution of observation i to the difference of the embeddings: its
    mean is that difference, so that mean_ij H_ij is dHSIC; and under joint independence it has mean
    zero given any of the variables. For two variables H is K~ o L~.
    """

    grams: tuple[LazyMatrix, ...]
    means: tuple[np.ndarray, ...]  # u^k_i = <phi_k(i), mu_k>, (n,) for every variable

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
        """Always True."""
        return True

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The block, from those of all variables."""
        tiles = [gram.block(rows, columns) for gram in self.grams]
        out, like, others = reduce(mul, tiles), tiles[0], len(tiles) - 1
        grand = [float(u.mean()) for u in self.means]
        means_i, means_j = [u[rows] for u in self.means], [u[columns] for u in self.means]
        by_row = others * (_product(means_i) + others * prod(grand))  # terms that depend on i only
        by_column = others * _product(means_j)
        outer = np.zeros(out.shape, dtype=np.float64)
        for k, tile in enumerate(tiles):
            other_means = _without(grand, k)
            scale = prod(other_means)
            across = array_like(_product(_without(means_i, k)), like)
            down = array_like(_product(_without(means_j, k)) - scale, like)
            out = out - tile * (across[:, None] + down[None, :])
            by_row = by_row - others * scale * means_i[k]
            by_column = by_column - others * scale * means_j[k]
            terms = [prod(_without(other_means, j)) * u for j, u in enumerate(_without(means_j, k))]
            outer += means_i[k][:, None] * np.sum(terms, axis=0)[None, :]
        return out + array_like(outer + by_row[:, None] + by_column[None, :], like)


def _gram(variable: Variable) -> Gram:
    """The Gram matrix, of centred points only where the kernel is invariant under translation."""
    variable = variable.widened()
    stationary = facts(variable.kernel).stationary
    return variable.gram if stationary else Gram(variable.kernel, variable.uncentred)


def _product(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """The entrywise product."""
    return reduce(mul, vectors)


def _without(values: Sequence[Any], k: int) -> list[Any]:
    """All values but number k."""
    return [value for i, value in enumerate(values) if i != k]


def seeds(seed: int, number: int) -> list[int]:
    """A seed for every variable."""
    return [int(s) for s in np.random.default_rng(seed).integers(2**63, size=number)]


def _bootstrap_samples(n: int, number: int, seed: int, variables: int) -> Iterator[np.ndarray]:
    """Positions drawn with replacement, in chunks (b, n) within the memory budget of all variables."""
    size = _SAMPLES_PER_GENERATOR
    width = max(settings().memory // (64 * n * variables) // size, 1) * size
    for start in range(0, number, width):
        groups = range(start // size, -(-min(start + width, number) // size))
        draws = [np.random.default_rng((seed, g)).integers(n, size=(size, n)) for g in groups]
        yield np.concatenate(draws)[: min(width, number - start)]
