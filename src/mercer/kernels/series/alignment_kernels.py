"""Kernels that add up, or minimise over, all alignments of two series."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from mercer import validate
from mercer.backend import Array
from mercer.kernels.base import Points
from mercer.kernels.log_valued import LogValued
from mercer.kernels.series.alignment_engine import (
    LocalValues,
    least_costs,
    log_alignment_sums,
    paired_log_sums,
    paired_with,
)
from mercer.kernels.series.series_data import Series, SeriesKernel
from mercer.kernels.take import Rows


@dataclass(frozen=True, eq=False)
class SeriesWithNorms(Rows):
    """Series and the logarithms of k(x, x)."""

    series: Series
    logs: np.ndarray  # (n,)

    def __len__(self) -> int:
        return len(self.series)

    def __getitem__(self, rows: slice, /) -> SeriesWithNorms:
        return SeriesWithNorms(self.series[rows], self.logs[rows])

    def taken(self, rows: np.ndarray, /) -> SeriesWithNorms:
        return SeriesWithNorms(self.series.taken(rows), self.logs[rows])

    def joined(self, others: SeriesWithNorms, /) -> SeriesWithNorms:
        logs = np.concatenate([self.logs, others.logs])
        return SeriesWithNorms(self.series.joined(others.series), logs)

    def aligned(self, others: SeriesWithNorms, /) -> tuple[SeriesWithNorms, SeriesWithNorms]:
        self.series.aligned(others.series)
        return self, others

    def widened(self) -> SeriesWithNorms:
        return self


class AlignmentSum(LogValued, SeriesKernel):
    """The sum over all alignments of two series of the products of local values."""

    @property
    @abstractmethod
    def local(self) -> LocalValues:
        """The local values."""

    def view(self, items: Series, /) -> SeriesWithNorms:
        return SeriesWithNorms(items, paired_log_sums(items, items, self.local))

    def log_pairwise(self, x: Points, y: Points, /) -> np.ndarray:
        left = self.viewed(x).series
        return self._logs(left, left if y is x else self.viewed(y).series)

    def log_paired(self, x: Points, y: Points, /) -> np.ndarray:
        return paired_log_sums(self.viewed(x).series, self.viewed(y).series, self.local)

    def log_diag(self, x: Points, /) -> np.ndarray:
        return self.viewed(x).logs

    def _logs(self, x: Series, y: Series) -> np.ndarray:
        return log_alignment_sums(x, y, self.local)


@dataclass(frozen=True)
class GlobalAlignment(AlignmentSum):
    """Global alignment kernel: sum over alignments of prod k_ij / (2 - k_ij), k_ij = exp(-|x_i - y_j|^2 / 2 s^2).

    An alignment pairs points of both series in order, from the first pair to the last, and may pause in one of
    them. The kernel is positive definite, unlike `DynamicTimeWarping`. Its values grow exponentially with the
    length: use ``.normalized()``, which works with logarithms. Cuturi's rule for s is the median distance of points
    times the square root of the median length.

    Parameters
    ----------
    bandwidth : float
        The s of the local kernel.
    triangular : int or None
        Positions may differ by less than this: k_ij is multiplied by max(0, 1 - |i - j| / triangular). Series whose
        lengths differ by as much or more have the value 0. None: no limit.

    References
    ----------
    M. Cuturi (2011). Fast global alignment kernels. ICML, 929-936.

    Examples
    --------
    >>> x = [[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0]]
    >>> GlobalAlignment(1.0).normalized()(x)
    array([[1.    , 0.6386..., 0.2280...],
           [0.6386..., 1.    , 0.1595...],
           [0.2280..., 0.1595..., 1.    ]])
    """

    bandwidth: float = 1.0
    triangular: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)
        if self.triangular is not None:
            validate.whole("triangular", self.triangular)

    @property
    def local(self) -> LocalValues:
        return LocalValues(1 / (2 * self.bandwidth**2), 2.0, 1.0, self.triangular or 0)


@dataclass(frozen=True)
class SoftDTW(AlignmentSum):
    """exp(-D(x, y) / g) with the soft-minimum D of Sum |x_i - y_j|^2 over all alignments; g = `gamma`.

    D = -g log sum over alignments of exp(-cost / g) tends to the squared dynamic time warping distance as g tends
    to 0. The kernel is a sum over alignments like `GlobalAlignment`, with the Gaussian itself as local value, which
    does not make it positive definite: series of nearby values have matrices with negative eigenvalues.

    References
    ----------
    M. Cuturi, M. Blondel (2017). Soft-DTW: a differentiable loss function for time-series. ICML, 894-903.

    Examples
    --------
    >>> SoftDTW(1.0)([[0.0, 1.0], [0.0]])  # three alignments: exp(0) + exp(-1) + exp(-1)
    array([[1.7357..., 0.3678...],
           [0.3678..., 1.    ]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("gamma", self.gamma)

    @property
    def local(self) -> LocalValues:
        return LocalValues(1 / self.gamma, 1.0, 0.0)


@dataclass(frozen=True)
class DynamicTimeWarping(SeriesKernel):
    """exp(-D(x, y) / 2 s^2) with D, the least sum of |x_i - y_j|^2 over alignments; s = `bandwidth`.

    D is the square of the dynamic time warping distance. The function is not positive definite: the minimum over
    alignments obeys no triangle inequality. Learners warn; `GlobalAlignment` is the kernel to prefer.

    Parameters
    ----------
    bandwidth : float
    window : int or None
        Positions may differ by at most this (Sakoe & Chiba 1978); series whose lengths differ by more have the
        value 0. None: no limit.

    Examples
    --------
    >>> DynamicTimeWarping(1.0)([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [2.0]])
    array([[1.    , 1.    , 0.0497...],
           [1.    , 1.    , 0.0111...],
           [0.0497..., 0.0111..., 1.    ]])
    """

    bandwidth: float = 1.0
    window: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)
        if self.window is not None:
            validate.whole("window", self.window, least=0)

    def squared_distances(self, x: Points, y: Points, /) -> np.ndarray:
        """D(x_i, y_j) for all pairs of accepted points: (n, m)."""
        left = self.viewed(x)
        return self._costs(left, left if y is x else self.viewed(y))

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self._values(self.squared_distances(x, y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self._values(paired_with(self._costs, self.viewed(x), self.viewed(y)))

    def diag(self, x: Points, /) -> Array:
        return np.ones(len(self.viewed(x)), dtype=np.float64)

    def _costs(self, x: Series, y: Series) -> np.ndarray:
        return least_costs(x, y, 0 if self.window is None else self.window + 1)

    def _values(self, costs: np.ndarray) -> np.ndarray:
        return np.exp(-costs / (2 * self.bandwidth**2))
