"""Training data of support vector classification, and the matrix that its problems share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken
from mercer.learn.machines.decomposition import max_working_set
from mercer.learn.machines.matrix_access import (
    DenseKernelRows,
    KernelRows,
    SubmatrixRows,
    dense_rows,
    kernel_rows,
)
from mercer.learn.machines.svm_base import SupportExpansion


@dataclass(frozen=True)
class LabelledPoints:
    """Training data: points, the class number of each, and the factor of C at each."""

    kernel: Kernel
    points: Points
    codes: np.ndarray
    factors: np.ndarray
    k: int
    matrix: DenseKernelRows | SubmatrixRows | None = None  # where several problems share it

    def with_matrix(self) -> LabelledPoints:
        """The same data with the matrix of the kernel, unless that is too large."""
        if self.matrix is not None or len(self.codes) > max_working_set():
            return self
        return replace(self, matrix=dense_rows(self.kernel, self.points))

    def at(self, index: np.ndarray) -> LabelledPoints:
        """The subset at these positions, in increasing order."""
        if len(index) == len(self.codes):
            return self
        points, matrix = taken(self.points, index), self.matrix
        matrix = None if matrix is None else matrix.part(index)
        codes, factors = self.codes[index], self.factors[index]
        return replace(self, points=points, codes=codes, factors=factors, matrix=matrix)

    def rows(self, index: np.ndarray) -> KernelRows:
        """The matrix of the subset at these positions."""
        if self.matrix is None:
            return kernel_rows(self.kernel, self.at(index).points)
        return self.matrix if len(index) == len(self.codes) else self.matrix.part(index)

    def values(
        self, expansion: SupportExpansion, train: np.ndarray, test: np.ndarray
    ) -> np.ndarray:
        """Decision values at the positions `test` of functions learnt at the positions `train`: (m, P)."""
        if isinstance(self.matrix, DenseKernelRows):
            block = self.matrix.matrix[np.ix_(test, train[expansion.index])]
            return block @ expansion.weights + expansion.offsets
        return expansion.values(self.kernel, self.at(train).points, self.at(test).points)


def stratified_folds(codes: np.ndarray, folds: int, rng: np.random.RandomState) -> np.ndarray:
    """The fold of every point, drawn such that all folds have equal shares of every class: (n,).

    The same as those of scikit-learn's `StratifiedKFold` with shuffling, whose checks cost more than a small
    machine. Its classes are in the order of their first points.
    """
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    classes = np.argsort(np.argsort(first))[inverse]
    k, ordered = len(first), np.sort(classes)
    shares = np.stack([np.bincount(ordered[i::folds], minlength=k) for i in range(folds)])
    assigned = np.empty(len(codes), dtype=np.int64)
    for label in range(k):
        of_class = np.arange(folds).repeat(shares[:, label])
        rng.shuffle(of_class)
        assigned[classes == label] = of_class
    return assigned
