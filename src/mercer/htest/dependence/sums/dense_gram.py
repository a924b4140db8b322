"""Centred Gram matrix K~ of few observations as an array, for nulls that need its moments and eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from mercer import linalg
from mercer.backend import count
from mercer.gram import LazyMatrix
from mercer.gram.centered_array import centered_array, fits_array
from mercer.htest.dependence.sums.centered_gram import (
    CenteredGram,
    LowRankGram,
    TiledGram,
    centered_grams,
    on_line,
)
from mercer.linalg import threads_for
from mercer.rkhs.paired_samples import Variable

_MAX_OBSERVATIONS_AS_ARRAY = 400  # up to which arrays are faster than looking for low rank


@dataclass(frozen=True)
class DenseGram(CenteredGram):
    """K~ in memory, (n, n)."""

    variable: Variable
    array: np.ndarray  # K~, float64

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K~: (n,)."""
        return np.diagonal(self.array).copy()

    @cached_property
    def squared_norm(self) -> float:
        """Squared Frobenius norm."""
        return float(np.vdot(self.array, self.array))

    @cached_property
    def cube_trace(self) -> float:
        """tr K~^3 = sum_ij (K~^2)_ij K~_ij; of many observations from products in float32."""
        scale = sqrt(self.squared_norm) or 1.0
        few = len(self.array) <= _MAX_OBSERVATIONS_AS_ARRAY
        scaled = (self.array / scale).astype(np.float64 if few else np.float32, copy=False)
        with threads_for(scaled):
            squared = scaled @ scaled.T
        return scale**3 * float(np.sum(np.vecdot(squared, scaled), dtype=np.float64))

    @cached_property
    def norm(self) -> float:
        """Frobenius norm of K~."""
        return sqrt(self.squared_norm)

    def matrix(self, order: np.ndarray | None = None) -> LazyMatrix:
        """K~ by tiles."""
        return TiledGram(self.variable).matrix(order)

    def eigenvalues(self, rank: int) -> np.ndarray:
        """The largest eigenvalues, in decreasing order."""
        return np.maximum(linalg.eigvalsh(self.array)[::-1][:rank], 0.0)


def grams_for_moments(x: Variable, y: Variable) -> tuple[CenteredGram, CenteredGram]:
    """K~ and L~ of two variables for nulls that take their moments once.

    Distances of numbers have closed forms. Few observations get arrays; more of them too, unless both
    matrices have low rank or the arrays would be large.
    """
    if on_line(x) and on_line(y):
        return centered_grams(x, y)
    gram_x, gram_y = x.gram, y.gram
    if not (fits_array(gram_x) and fits_array(gram_y)):
        return centered_grams(x, y)
    if gram_x.shape[0] > _MAX_OBSERVATIONS_AS_ARRAY:
        first, second = centered_grams(x, y)
        if isinstance(first, LowRankGram) and isinstance(second, LowRankGram):
            return first, second
    return DenseGram(x, centered_array(gram_x)), DenseGram(y, centered_array(gram_y))


def grams_for_eigenvalues(x: Variable, y: Variable) -> tuple[CenteredGram, CenteredGram]:
    """K~ and L~ of two variables for nulls that take their eigenvalues: arrays where the rank is not low."""
    grams = []
    for variable, centered in zip((x, y), centered_grams(x, y), strict=True):
        few = count(variable.points) <= _MAX_OBSERVATIONS_AS_ARRAY
        if few and isinstance(centered, TiledGram) and fits_array(variable.gram):
            centered = DenseGram(variable, centered_array(variable.gram))
        grams.append(centered)
    return grams[0], grams[1]
