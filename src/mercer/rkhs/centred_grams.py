"""Centred Gram matrices of two variables for measures, in the form in which inner products are fastest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.backend import Array, count
from mercer.gram import Gram
from mercer.gram.centered_array import centered_array, fits_array
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.distance_covariance_1d import CentredDistances
from mercer.rkhs.paired_samples import paired_points
from mercer.rkhs.sample_rows import recentred
from mercer.rkhs.small_distances import plain_distances


class CentredGram(Protocol):
    """A centred Gram matrix: inner products with others of its kind, and its diagonal."""

    def inner(self, other: Any, /) -> float:
        """sum_ij A_ij B_ij."""
        ...

    def diagonal(self) -> Array:
        """A_ii: (n,)."""
        ...


def centred_grams(pairs: Sequence[tuple[Kernel, Points]]) -> tuple[CentredGram, ...]:
    """HKH of every kernel and its points: by sorting, as arrays, or by tiles; all in one form."""
    numbers = [CentredDistances.of(*pair) for pair in pairs]
    on_line = [distances for distances in numbers if distances is not None]
    if len(on_line) == len(pairs):
        return tuple(on_line)
    grams = [Gram.of_checked(kernel, *recentred(kernel, points)) for kernel, points in pairs]
    if all(fits_array(gram) for gram in grams):
        return tuple(CentredArray(centered_array(gram)) for gram in grams)
    return tuple(gram.centered() for gram in grams)


def centred_pair(
    kernels: Sequence[Kernel | None], samples: Sequence[Any], least: int, what: str
) -> tuple[int, CentredGram, CentredGram]:
    """The number of observations, and HKH of two variables, checked as by `paired_points`."""
    plain = plain_distances(kernels, samples, least)
    if plain is not None:
        return plain
    pairs = paired_points(kernels, samples, least=least, what=what)
    first, second = centred_grams(pairs)
    return count(pairs[0][1]), first, second


def centred_in_memory(kernel: Kernel, points: Points) -> CentredDistances | CentredArray | None:
    """HKH by sorting or as an array; None where tiles are needed. The points are trusted to be centred."""
    numbers = CentredDistances.of(kernel, points)
    if numbers is not None:
        return numbers
    gram = Gram.of_checked(kernel, points)
    return CentredArray(centered_array(gram)) if fits_array(gram) else None


@dataclass(frozen=True)
class CentredArray:
    """HKH in memory."""

    array: np.ndarray

    def form(self, w: np.ndarray) -> float:
        """w'Aw."""
        return float(w @ (self.array @ w))

    def inner(self, other: CentredArray, /) -> float:
        """sum_ij A_ij B_ij."""
        return float(np.vdot(self.array, other.array))

    def diagonal(self) -> np.ndarray:
        """A_ii: (n,)."""
        return np.diagonal(self.array)
