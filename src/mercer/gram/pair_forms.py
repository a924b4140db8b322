"""Sums over pairs of points by several kernels, of points in memory or of points that are read block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from mercer.backend import Array, to_numpy
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import Labelled, PairSums, labelled
from mercer.gram.resampling_weights import CodedColumns
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import widened


class PairForms(ABC):
    """Kernel matrices on one set of points, known by their sums over pairs i != j and their diagonals."""

    kernels: tuple[Kernel, ...]
    like: Array  # of the library, the device and the dtype of kernel values

    @abstractmethod
    def forms(
        self,
        labels: np.ndarray,
        coded: CodedColumns | None = None,
        *,
        tables: Sequence[np.ndarray] = (),
        weights: np.ndarray | None = None,
        known: PairSums | None = None,
        precise: bool = False,
    ) -> Labelled:
        """The sums of `multi_kernel_forms.labelled`."""

    @abstractmethod
    def diagonals(self) -> np.ndarray:
        """k(x_i, x_i) of every kernel, float64: (kernels, n)."""

    @property
    @abstractmethod
    def some_points(self) -> Points:
        """Points among which copies are as frequent as among all."""

    @abstractmethod
    def widened(self) -> PairForms:
        """The kernel matrices with points, and so kernel values, in float64."""


class PairsInMemory(PairForms):
    """The kernel matrices of points that are in memory."""

    def __init__(self, kernels: Sequence[Kernel], points: Points) -> None:
        self.family = Family(kernels, points)
        self.kernels, self.like = self.family.kernels, self.family.like

    def forms(
        self,
        labels: np.ndarray,
        coded: CodedColumns | None = None,
        *,
        tables: Sequence[np.ndarray] = (),
        weights: np.ndarray | None = None,
        known: PairSums | None = None,
        precise: bool = False,
    ) -> Labelled:
        """The sums, in one pass over the tiles."""
        return labelled(
            self.family,
            labels,
            coded,
            tables=tables,
            weights=weights,
            known=known,
            precise=precise,
        )

    def diagonals(self) -> np.ndarray:
        """The diagonals, one kernel after the other."""
        diagonals = [to_numpy(kernel.diag(self.family.x)) for kernel in self.kernels]
        return np.stack(diagonals).astype(np.float64)

    @property
    def some_points(self) -> Points:
        """All points."""
        return self.family.x

    def widened(self) -> PairsInMemory:
        """The kernel matrices of these points in float64."""
        return PairsInMemory(self.kernels, widened(self.family.x))
