"""Several classes by machines for two: one against one, or one against the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np


class MultiClass(ABC):
    """How a problem of k > 2 classes becomes problems of two."""

    @abstractmethod
    def problems(self, codes: np.ndarray, k: int, /) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For every problem the points it is about, and their signs, +1 and -1."""

    @abstractmethod
    def combined(self, values: np.ndarray, k: int, /) -> np.ndarray:
        """A figure for every class (m, k) from those of the problems (m, P); the largest wins."""


@dataclass(frozen=True)
class OneVsOne(MultiClass):
    """A machine for every two classes, k (k - 1) / 2 of them, on the points of these two only.

    Each has a vote; equal numbers of votes are told apart by the sum of the values. The default:
    many small problems cost less than a few large ones.
    """

    def problems(self, codes: np.ndarray, k: int, /) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for first, second in combinations(range(k), 2):
            index = np.flatnonzero((codes == first) | (codes == second))
            yield index, np.where(codes[index] == second, 1.0, -1.0)

    def combined(self, values: np.ndarray, k: int, /) -> np.ndarray:
        votes = np.zeros((len(values), k), dtype=np.float64)
        sums = np.zeros((len(values), k), dtype=np.float64)
        for p, (first, second) in enumerate(combinations(range(k), 2)):
            votes[:, second] += values[:, p] > 0
            votes[:, first] += values[:, p] <= 0
            sums[:, second] += values[:, p]
            sums[:, first] -= values[:, p]
        return votes + sums / (3 * (np.abs(sums) + 1))  # a share of a vote, below a third


@dataclass(frozen=True)
class OneVsRest(MultiClass):
    """A machine for every class against all others, each on all points; the largest value wins."""

    def problems(self, codes: np.ndarray, k: int, /) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for one in [1] if k == 2 else range(k):
            yield np.arange(len(codes)), np.where(codes == one, 1.0, -1.0)

    def combined(self, values: np.ndarray, k: int, /) -> np.ndarray:
        return values
