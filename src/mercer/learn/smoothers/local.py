"""Local smoothers: Nadaraya-Watson and local linear regression with kernel weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer import linalg, validate
from mercer.backend import astype, double, is_array, to_numpy
from mercer.gram import Gram
from mercer.gram.gram import trial_matrix
from mercer.kernels.bandwidth import median_bandwidth
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import categories, product, varying
from mercer.kernels.prepare import as_table, bound_to, read
from mercer.kernels.radial import RBF, VECTOR_KERNEL
from mercer.learn.bandwidths import neighbour_bandwidth, numbers
from mercer.learn.kernel_learner import KernelPredictor, doubles
from mercer.rkhs.function import Function

_DEFAULT_BANDWIDTHS = 16  # tried where none are given, in geometric progression
_MIN_OTHER_WEIGHT = (
    1e-8  # fraction of the weight: with less on other points, a point has no neighbours
)
_SLOPE_RIDGE = 1e-10  # relative to the variance of a column: makes undetermined slopes 0


class LocalSmoother(MultiOutputMixin, RegressorMixin, KernelPredictor):
    """A linear smoother with kernel weights; its bandwidth is chosen by leave-one-out."""

    bandwidths: Sequence[float] | None

    def __init__(
        self, kernel: Kernel | None = None, *, bandwidths: Sequence[float] | None = None
    ) -> None:
        self.kernel = kernel
        self.bandwidths = bandwidths

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to points X and targets y, (n,) or (n, q)."""
        x, target = self._both(X, y, y_numeric=True, multi_output=True)
        target = doubles(target)
        wide = target if target.ndim == 2 else target[:, None]
        tried = [_CandidateKernel.of(kernel, x) for kernel in self._candidates(x)]
        self._columns = tried[0].columns
        moments = self._moments(tried[0].points, wide)
        _need_weights(tried[0])
        errors = [self._left_out(t, moments, wide) for t in tried] if len(tried) > 1 else None
        best = tried[0] if errors is None else tried[_last_smallest(errors)]
        self.kernel_ = best.kernel
        self.candidates_ = tuple(t.kernel for t in tried)
        self.leave_one_out_ = None if errors is None else np.asarray(errors, dtype=np.float64)
        self.function_ = Function(best.kernel, best.points, moments, best.columns)
        self._mean, self._one = wide.mean(axis=0), target.ndim == 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Smoothed values at new points: (n,) or (n, q).

        Far from all training points, where none has weight, the prediction is the mean of y.
        """
        points = _doubled(self._points(X))
        values = to_numpy(Gram(self._bound, points, self.function_.points) @ self.function_.weights)
        fitted = self._solved(values, points, len(self._mean)).fitted
        fitted = np.where(np.isfinite(fitted), fitted, self._mean)
        return fitted[:, 0] if self._one else fitted

    @abstractmethod
    def _moments(self, points: Points, y: np.ndarray) -> np.ndarray:
        """Columns (n, c) whose kernel-weighted sums determine the smoother."""

    @abstractmethod
    def _solved(self, values: np.ndarray, points: Points, outputs: int) -> _Solved:
        """Smoothed values and leverages from the sums (m, c) at points."""

    def _needs_points(self) -> str | None:
        fixed = self.kernel is not None and self.bandwidths is None
        return None if fixed else "it chooses its bandwidth itself"

    def _candidates(self, x: Any) -> list[Kernel]:
        """Candidate kernels."""
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0), or None")
        if self.bandwidths is None:
            return [self.kernel] if self.kernel is not None else _chosen(x)
        values = to_numpy(validate.vector(self.bandwidths, "bandwidths"))
        kernel = VECTOR_KERNEL if self.kernel is None else self.kernel
        names = {f.name for f in fields(kernel)} if is_dataclass(kernel) else set()
        if "bandwidth" not in names:
            raise ValueError(
                f"bandwidths need a kernel with a bandwidth, but {kernel!r} has none: "
                "omit them, or search over kernels with GridSearchCV"
            )
        return [kernel.with_params(bandwidth=float(b)) for b in np.sort(values)]

    def _left_out(self, tried: _CandidateKernel, moments: np.ndarray, y: np.ndarray) -> float:
        """Mean squared leave-one-out error, in one pass over the tiles.

        A linear smoother without the i-th point gives (f_i - h_i y_i) / (1 - h_i) at x_i, with the
        leverage h_i. A point without neighbours is predicted by the mean of the others.
        """
        gram = Gram(bound_to(tried.kernel, tried.columns), tried.points)
        smoothed = self._solved(to_numpy(gram @ moments), tried.points, y.shape[1])
        h = smoothed.leverage * to_numpy(gram.diagonal())
        alone = ~(np.abs(1 - h) > _MIN_OTHER_WEIGHT)
        residual = (y - smoothed.fitted) / np.where(alone, 1.0, 1 - h)[:, None]
        n = len(y)
        apart = (y - y.mean(axis=0)) * (n / max(n - 1, 1))
        return float(np.mean(np.where(alone[:, None], apart, residual) ** 2))


class NadarayaWatson(LocalSmoother):
    """Nadaraya-Watson regression: f(x) = sum_i k(x, x_i) y_i / sum_i k(x, x_i).

    The local average of Nadaraya (1964) and Watson (1964). It is biased where the density of the
    points or the function is steep, and at boundaries; `LocalLinear` is not.

    Parameters
    ----------
    kernel : Kernel or None
        Kernel with non-negative values, on vectors or objects. None: RBF with one of 16 bandwidths,
        between the distance of near neighbours and twice the median distance; for data frames with
        categories its product with a kernel of these, numbers divided by their standard deviations.
    bandwidths : sequence of float, or None
        Candidate bandwidths of the kernel. None: the kernel is used as it is.

    Attributes
    ----------
    kernel_ : Kernel
        The candidate with the smallest leave-one-out error.
    candidates_ : tuple of Kernel
    leave_one_out_ : array or None
        Mean squared leave-one-out error of every candidate; None for a single candidate.
    function_ : Function
        Denominator and numerators of f, as functions of the RKHS.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    E. A. Nadaraya (1964). On estimating regression. Theory of Probability and Its Applications 9.
    G. S. Watson (1964). Smooth regression analysis. Sankhya A 26.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import NadarayaWatson
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 6, size=(300, 1))
    >>> y = np.sin(x[:, 0]) + 0.2 * rng.normal(size=300)
    >>> smoother = NadarayaWatson().fit(x, y)
    >>> 0.1 < smoother.kernel_.bandwidth < 0.5
    True
    >>> bool(abs(smoother.predict([[np.pi / 2]])[0] - 1) < 0.1)
    True
    """

    def _moments(self, points: Points, y: np.ndarray) -> np.ndarray:
        return np.concatenate([np.ones((len(y), 1), dtype=np.float64), y], axis=1)

    def _solved(self, values: np.ndarray, points: Points, outputs: int) -> _Solved:
        weight = np.where(values[:, 0] > 0, values[:, 0], np.nan)
        return _Solved(values[:, 1:] / weight[:, None], 1 / weight)


class LocalLinear(LocalSmoother):
    """Local linear regression: f(x) = a where a, b minimise sum_i k(x, x_i) (y_i - a - b'(x_i - x))^2.

    Unlike `NadarayaWatson` it follows slopes, also at boundaries, and has no bias from an uneven density
    (Stone 1977; Fan 1993). A slope that the neighbours do not determine is 0. Categories of data frames
    enter through the kernel only and have no slope. All sums are products of the kernel matrix with
    1 + d + d(d + 1)/2 + q(1 + d) columns, in one pass over its tiles.

    Parameters
    ----------
    kernel : Kernel or None
        Kernel with non-negative values, on vectors. None: as in `NadarayaWatson`.
    bandwidths : sequence of float, or None
        As in `NadarayaWatson`.

    Attributes
    ----------
    function_ : Function
        Weighted sums, as functions of the RKHS.
    kernel_, candidates_, leave_one_out_, n_features_in_, feature_names_in_
        As in `NadarayaWatson`.

    References
    ----------
    C. J. Stone (1977). Consistent nonparametric regression. Annals of Statistics 5, 595-620.
    J. Fan (1993). Local linear regression smoothers and their minimax efficiencies. Annals of
    Statistics 21, 196-216.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.learn import LocalLinear, NadarayaWatson
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> line = LocalLinear(RBF(0.2)).fit(x, 3 * x[:, 0])
    >>> line.predict([[0.0], [1.0]]).round(6)
    array([0., 3.])
    >>> NadarayaWatson(RBF(0.2)).fit(x, 3 * x[:, 0]).predict([[0.0], [1.0]]).round(1)
    array([0.5, 2.5])
    """

    def _moments(self, points: Points, y: np.ndarray) -> np.ndarray:
        self._middle, self._unit = _frame(self._numeric(points))
        x = self._standardized(points)
        n, d = x.shape
        upper = np.triu_indices(d)
        squares = x[:, upper[0]] * x[:, upper[1]]
        crossed = (x[:, :, None] * y[:, None, :]).reshape(n, -1)
        constant = np.ones((n, 1), dtype=np.float64)
        return np.concatenate([constant, y, x, crossed, squares], axis=1)

    def _needs_points(self) -> str | None:
        return "it draws lines through the points"

    def _solved(self, values: np.ndarray, points: Points, outputs: int) -> _Solved:
        """Solve the (d + 1) x (d + 1) normal equations at every point, with that point as the origin."""
        at = self._standardized(points)
        m, d = at.shape
        ends = np.cumsum([1, outputs, d, d * outputs])
        s0, t0, s1, t1, s2 = np.split(values, ends, axis=1)
        known = s0[:, 0] > 0
        s0 = np.where(known, s0[:, 0], 1.0)
        s1 = s1 / s0[:, None] - at  # means of x_i - x
        square = np.empty((m, d, d), dtype=np.float64)
        upper = np.triu_indices(d)
        square[:, upper[0], upper[1]] = square[:, upper[1], upper[0]] = s2 / s0[:, None]
        mean = s1 + at
        square += at[:, :, None] * at[:, None, :] - at[:, :, None] * mean[:, None, :]
        square -= mean[:, :, None] * at[:, None, :]  # means of (x_i - x)(x_i - x)'
        t0 = t0 / s0[:, None]
        t1 = t1.reshape(m, d, outputs) / s0[:, None, None] - at[:, :, None] * t0[:, None, :]
        spread = (
            square - s1[:, :, None] * s1[:, None, :] + _SLOPE_RIDGE * np.eye(d, dtype=np.float64)
        )
        lever = linalg.solve(spread, s1[:, :, None])[:, :, 0]  # of the slope on the intercept
        fitted = t0 - np.einsum("md,mdq->mq", lever, t1 - s1[:, :, None] * t0[:, None, :])
        leverage = (1 + np.einsum("md,md->m", lever, s1)) / s0
        gone = np.where(known, 1.0, np.nan)
        return _Solved(fitted * gone[:, None], leverage * gone)

    def _standardized(self, points: Points) -> np.ndarray:
        return (self._numeric(points) - self._middle) / self._unit

    def _numeric(self, points: Points) -> np.ndarray:
        """Numeric columns; codes of categories have no order and enter through the kernel only."""
        if not is_array(points) or points.ndim != 2:
            raise TypeError("LocalLinear needs vectors as points: use NadarayaWatson")
        x = to_numpy(points)
        return x if self._columns is None else x[:, ~np.asarray(self._columns.categorical)]


@dataclass(frozen=True, eq=False)
class _Solved:
    """Smoothed values (m, q), and the leverage over k(x, x) of a training point there (m,)."""

    fitted: np.ndarray
    leverage: np.ndarray


@dataclass(frozen=True, eq=False)
class _CandidateKernel:
    """Candidate kernel, and the points as it reads them."""

    kernel: Kernel
    columns: Any
    points: Points

    @classmethod
    def of(cls, kernel: Kernel, x: Any) -> _CandidateKernel:
        points, columns = read(kernel, x, None, "X")
        return cls(kernel, columns, _doubled(points))


def _need_weights(tried: _CandidateKernel) -> None:
    """Refuse a kernel with negative values, which are no weights, by a look at some of the points."""
    values = to_numpy(trial_matrix(bound_to(tried.kernel, tried.columns), tried.points))
    least = float(values.min())
    if least < -_MIN_OTHER_WEIGHT * float(np.abs(values).max()):
        raise ValueError(
            f"kernel values are weights here and must not be negative, but {tried.kernel!r} has "
            f"{least:.3g}: use another, such as RBF"
        )


def _doubled(points: Points) -> Points:
    """Points in float64 if they are numeric, because sums of squares cancel."""
    return astype(points, double(points)) if is_array(points) else points


def _frame(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The means and standard deviations of the columns; 1 where they do not vary."""
    unit = x.std(axis=0)
    return x.mean(axis=0), np.where(unit > 0, unit, 1.0)


def _chosen(x: Any) -> list[Kernel]:
    """RBF with bandwidths from the distance of neighbours to twice the median distance."""
    points = numbers(x)
    if points is not None:
        if len(np.unique(to_numpy(points), axis=0)) == 1:
            return [RBF(1.0)]  # equal points: the bandwidth does not matter
        return [RBF(b) for b in _grid(points)]
    data = as_table(x, "X")
    if data is None:
        raise TypeError("X holds objects, which have no default kernel: give one, such as Delta()")
    columns, factors = varying(data), categories(data)
    if columns is None:
        return [product(factors)]
    return [product([columns.kernel(RBF(b)), *factors]) for b in _grid(columns.values)]


def _grid(points: Any) -> list[float]:
    low, high = neighbour_bandwidth(points) / 2, 2 * median_bandwidth(points)
    return [float(b) for b in np.geomspace(min(low, high), high, _DEFAULT_BANDWIDTHS)]


def _last_smallest(errors: Sequence[float]) -> int:
    """Position of the smallest error, the last in case of a tie: the smoothest."""
    values = np.asarray(errors)
    return int(np.flatnonzero(values == values.min())[-1])
