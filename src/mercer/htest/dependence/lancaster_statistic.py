"""Lancaster interaction of three variables, and its permutations, moments and limit for null distributions.

With K~, L~ and M~ the centred Gram matrices, (K~ o L~ o M~)_++ / n^2 is the squared norm of the embedding
of P_XYZ - P_XY P_Z - P_YZ P_X - P_XZ P_Y + 2 P_X P_Y P_Z. As M~ is centred, it is also the HSIC of z
and (x, y) with the kernel k~ l~ on (x, y).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import isqrt, prod, sqrt
from operator import mul

import numpy as np

from mercer.backend import Array, array_like, count, on_gpu
from mercer.config import settings
from mercer.gram import Centered, LazyMatrix, LowRank
from mercer.htest.dependence.dhsic_statistic import seeds
from mercer.htest.dependence.hsic_statistic import mean_tolerance
from mercer.htest.dependence.null_spectrum import limit_skewness, limit_weights, rescaled_weights
from mercer.htest.dependence.series_forms import Deseasonalised
from mercer.htest.dependence.sums.centered_gram import (
    CenteredGram,
    LazyCenteredGram,
    LowRankGram,
    centered_gram,
    low_rank_gram,
)
from mercer.htest.dependence.sums.cyclic_permutations import (
    IndependentShifts,
    permutations,
)
from mercer.htest.dependence.sums.permutation_moments import MatrixSums, product_moments
from mercer.htest.dependence.sums.permuted_tensor import (
    PermutableMatrix,
    TensorEvidence,
    shifted_tensor_sums,
)
from mercer.htest.nulls import Permutation, WildBootstrap
from mercer.htest.serial_dependence import lag_means, signed_forms
from mercer.htest.slow_contrasts import SlowForms
from mercer.rkhs.paired_samples import Variable

_PRODUCT_COPIES = 5  # of the products of two factors: raw, centred, rotated, and temporaries


def three_grams(variables: tuple[Variable, ...]) -> tuple[CenteredGram, ...]:
    """The centred Gram matrix of every variable, low-rank where a short factor exists."""
    max_rank = max(isqrt(count(variables[0].points)), 2)
    return tuple(centered_gram(variable.widened(), max_rank) for variable in variables)


def hadamard_gram(first: CenteredGram, second: CenteredGram, max_rank: int) -> CenteredGram:
    """(K~ o L~)~ of two variables, low-rank if a factor has at most `max_rank` columns."""
    variable = replace(first.variable, name=f"{first.variable.name} with {second.variable.name}")
    if isinstance(first, LowRankGram) and isinstance(second, LowRankGram):
        a, b = first.columns, second.columns
        affordable = settings().memory // (_PRODUCT_COPIES * 8 * len(a))
        if a.shape[1] * b.shape[1] <= min(len(a), affordable):
            products = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
            gram = low_rank_gram(variable, products)
            if gram.columns.shape[1] <= max_rank:
                return gram
    return HadamardGram(variable, first, second)


@dataclass(frozen=True)
class HadamardGram(LazyCenteredGram):
    """(K~ o L~)~, the centred Gram matrix of the product of two centred kernels."""

    variable: Variable  # the first one, for the number of observations
    first: CenteredGram
    second: CenteredGram

    @cached_property
    def centered(self) -> Centered:
        """H(K~ o L~)H."""
        return Centered.of(_product(self.first.matrix(), self.second.matrix()))

    @cached_property
    def norm(self) -> float:
        """Frobenius norm."""
        return sqrt(max(self.squared_norm, 0.0))

    def _reordered(self, order: np.ndarray) -> LazyMatrix:
        return _product(self.first.matrix(order), self.second.matrix(order))


@dataclass(frozen=True)
class _PermutableCenteredGram:
    """A centred Gram matrix as one of the matrices of a `PermutedTensor`."""

    gram: CenteredGram

    def matrix(self, order: np.ndarray | None = None, /) -> LazyMatrix:
        return self.gram.matrix(order)

    def factor(self, most: int, /) -> np.ndarray | None:
        if isinstance(self.gram, LowRankGram) and self.gram.columns.shape[1] <= most:
            return self.gram.columns
        return None


class InteractionEvidence(TensorEvidence):
    """(K~ o L~ o M~)_++ / n^2, under the null hypothesis that all three variables are independent."""

    def __init__(self, grams: tuple[CenteredGram, ...]) -> None:
        self.grams = grams
        self.n = count(grams[0].variable.points)

    @cached_property
    def matrix(self) -> LazyMatrix:
        """K~ o L~ o M~, lazily."""
        return _product(*(gram.matrix() for gram in self.grams))

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return max(self.matrix.sum(), 0.0) / self.n**2

    # ---- protocols of nulls -------------------------------------------------------------

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics with the second and third variable permuted; column 0 is the observed one.

        Many observations are shifted circularly in a random order, unless their matrices have low rank.
        """
        tensor = self._tensor_for(null)
        if tensor is None:
            shifts = IndependentShifts.drawn(self.n, null, columns, len(self.grams) - 1, seed)
            sums = shifted_tensor_sums(self._matrices, shifts)
        else:
            chunks = (permutations(self.n, null, columns, s) for s in seeds(seed, 2))
            draws = [tensor.sums([None, *orders]) for orders in zip(*chunks, strict=True)]
            sums = np.concatenate(draws)
        return np.maximum(sums, 0.0) / self.n**2

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        magnitudes = (float(np.mean(np.abs(gram.diagonal))) for gram in self.grams)
        return mean_tolerance(self.n, prod(magnitudes))

    def moments(self) -> tuple[float, float, float]:
        """The statistic, and its mean and variance over all permutations, exactly."""
        mean, variance = product_moments([MatrixSums.of(gram.matrix()) for gram in self.grams])
        return self.observed, mean, max(variance, 0.0)

    def skewness(self) -> float:
        """Skewness of the limit of the statistic."""
        return limit_skewness(self.matrix)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and the weights of its limit: the eigenvalues of K~ o L~ o M~."""
        weights, _ = limit_weights(self.matrix, rank)
        observed, mean, variance = self.moments()
        return observed, *rescaled_weights(weights, mean, variance)

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The statistic, and w'(K~ o L~ o M~)w / n^2 for random signs w."""
        return signed_forms(self.matrix, self._lags, self.observed, null, seed)

    def slow_forms(self) -> SlowForms:
        """The statistic, and w'(K~ o L~ o M~)w / n^2 at the slowest cosines w, without seasons."""
        matrices = [gram.matrix() for gram in self.grams]
        series = Deseasonalised.of(matrices, [gram.variable.name for gram in self.grams])
        return series.slow_forms(_product(*series.matrices))

    @cached_property
    def _lags(self) -> np.ndarray:
        """The lag means of K~ o L~ o M~ under independence."""
        return reduce(mul, (lag_means(gram.matrix()) for gram in self.grams))

    @cached_property
    def _matrices(self) -> Sequence[PermutableMatrix]:
        return [_PermutableCenteredGram(gram) for gram in self.grams]


def _product(*matrices: LazyMatrix) -> LazyMatrix:
    """The entrywise product. Factors are on the host: beside matrices on a GPU they are copied there."""
    on_device = next((m.like for m in matrices if on_gpu(m.like)), None)
    if on_device is None:
        return reduce(mul, matrices)
    return reduce(mul, (_copied(matrix, on_device) for matrix in matrices))


def _copied(matrix: LazyMatrix, like: Array) -> LazyMatrix:
    """The matrix on the device of `like`, if it is a factor on the host."""
    if isinstance(matrix, LowRank) and not on_gpu(matrix.like):
        return LowRank(array_like(matrix.features, like))
    return matrix
