"""Correntropy: similarity of two variables in one unit, E k(X, Y), and what is built on it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from mercer.gram import Gram
from mercer.info.association import AssociationMeasure, check_kernel
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class _KernelOfPairs(AssociationMeasure):
    """A measure of two variables by one kernel for both; None: RBF at the median distance of all values."""

    kernel: Kernel | None = None
    pairs_only = True

    def __post_init__(self) -> None:
        check_kernel(self.kernel)

    def _both(self, columns: np.ndarray) -> tuple[Kernel, np.ndarray, np.ndarray]:
        kernel = self.kernel
        if kernel is None:
            kernel = median_rbf(columns.reshape(-1, 1), name="the variables")
        return kernel, np.ascontiguousarray(columns[:, :1]), np.ascontiguousarray(columns[:, 1:])


@dataclass(frozen=True)
class Correntropy(_KernelOfPairs):
    """Correntropy mean_i k(x_i, y_i) of two variables (Liu, Pokharel and Principe 2007).

    A similarity of values, not of order: for RBF it is large where x and y are nearly equal, and large
    differences count as much as infinite ones.
    """

    def _of(self, columns: np.ndarray) -> float:
        kernel, x, y = self._both(columns)
        return float(np.mean(kernel.paired(x, y)))


@dataclass(frozen=True)
class CentredCorrentropy(_KernelOfPairs):
    """Centred correntropy mean_i k(x_i, y_i) - mean_ij k(x_i, y_j), zero for independent variables."""

    def _of(self, columns: np.ndarray) -> float:
        return _centred(*self._both(columns))


@dataclass(frozen=True)
class CorrentropyCoefficient(_KernelOfPairs):
    """Correntropy coefficient: centred correntropy of x and y over the root of those of (x, x) and (y, y).

    Between -1 and 1 (Rao et al. 2011); 0 where a variable is constant to the kernel.
    """

    def _of(self, columns: np.ndarray) -> float:
        kernel, x, y = self._both(columns)
        norms = sqrt(max(_centred(kernel, x, x), 0.0)) * sqrt(max(_centred(kernel, y, y), 0.0))
        return _centred(kernel, x, y) / norms if norms > 0 else 0.0


@dataclass(frozen=True)
class CorrentropyMetric(_KernelOfPairs):
    """Correntropy induced metric sqrt(k(0, 0) - mean_i k(x_i, y_i)) of two variables.

    For a shift-invariant kernel a metric of samples as vectors in R^n: close to the Euclidean one for small
    differences, and bounded (Liu, Pokharel and Principe 2007).
    """

    def _of(self, columns: np.ndarray) -> float:
        kernel, x, y = self._both(columns)
        origin = float(kernel.diag(np.zeros((1, 1)))[0])
        return sqrt(max(origin - float(np.mean(kernel.paired(x, y))), 0.0))


def _centred(kernel: Kernel, x: np.ndarray, y: np.ndarray) -> float:
    n = len(x)
    return float(np.mean(kernel.paired(x, y))) - float(Gram(kernel, x, y).sum()) / n**2
