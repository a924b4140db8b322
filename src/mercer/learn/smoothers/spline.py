"""Smoothing splines: the Sobolev kernel with unpenalised polynomials."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer import linalg, validate
from mercer.backend import Array, namespace, ones, zeros
from mercer.gram import Gram
from mercer.gram.positive_definite import eigenpairs
from mercer.gram.threads import spans
from mercer.kernels.algebra import Constant
from mercer.kernels.base import Kernel
from mercer.kernels.sobolev import Sobolev
from mercer.learn.kernel_learner import VersionedEstimator, checked, doubles
from mercer.learn.regression.dense_or_refuse import dense_within_budget
from mercer.learn.regression.ridge_path import GCV, Eigen, RidgePath, RidgeScores, best
from mercer.learn.smoothers.spline_filter import Knots, SplineProblem
from mercer.rkhs.function import Function

_EPS = float(np.finfo(np.float64).eps)
_ROWS_FOR_POLYNOMIAL = 64  # at which the polynomial, of at most ten coefficients, is found
_VALUES_PER_BLOCK = (
    2**17
)  # kernel values between new and training points: 1 MiB, and five temporaries of that size


class SmoothingSpline(MultiOutputMixin, RegressorMixin, VersionedEstimator):
    """Smoothing spline: f minimises sum_i (y_i - f(x_i))^2 + smoothing int (f^(m))^2, m = `order`.

    A spline of degree 2m - 1 with knots at the points, and a polynomial of degree m - 1 beyond
    them (m = 2: cubic and linear). Polynomials of degree m - 1 are not penalised: with them as
    the null space T, f = T d + sum_i c_i k(x_i, .) with the kernel of `Sobolev(m)`, T'c = 0 and

        (K + smoothing I) c + T d = y

    (Wahba 1990, chapter 1). T'c = 0 removes the polynomial part of the kernel, so that its norm is the
    penalty. For several columns f is a sum of such functions, one of each column (an additive model),
    with one penalty for all.

    Parameters
    ----------
    order : int
        m, from 1 (piecewise linear) to 10.
    smoothing : float, RidgePath or None
        Penalty for columns scaled to [0, 1]: for one column of range L, the penalty in its own unit is
        L^(2m - 1) times as large. A `RidgePath` chooses among many by its criterion, from one
        eigendecomposition; None: ``RidgePath(by=GCV())`` (Craven and Wahba 1979).

    Attributes
    ----------
    smoothing_ : float
    path_ : RidgeScores or None
        Scores of all candidates.
    degrees_of_freedom_ : float
        Trace of the smoother matrix, from y to the fitted values: between that of polynomials (m, for
        one column) and n.
    function_ : Function
        The penalised part, of columns scaled to [0, 1] (those that vary).
    polynomial_ : array
        Coefficients d of Legendre polynomials of the scaled columns.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    One column takes O(n) operations for every value of `smoothing`, by an information filter, which unlike
    banded systems is accurate where points are close together; a million points take about a second for
    each. Several columns need four n x n matrices and O(n^3) operations, once for all values.

    References
    ----------
    P. Craven, G. Wahba (1979). Smoothing noisy data with spline functions. Numerische Mathematik 31.
    G. Wahba (1990). Spline Models for Observational Data. SIAM.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learn import SmoothingSpline
    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(rng.uniform(0, 10, size=200))[:, None]
    >>> y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=200)
    >>> spline = SmoothingSpline().fit(x, y)
    >>> bool(np.max(np.abs(spline.predict(x) - np.sin(x[:, 0]))) < 0.3)
    True
    >>> 5 < spline.degrees_of_freedom_ < 20
    True
    """

    def __init__(self, order: int = 2, *, smoothing: float | RidgePath | None = None) -> None:
        self.order = order
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to columns X (n, p) and targets y, (n,) or (n, q)."""
        path = RidgePath(by=GCV()) if self.smoothing is None else self.smoothing
        if not isinstance(path, RidgePath):
            validate.positive("smoothing", path)
            path = RidgePath((float(path),))
        kernel_of_one = Sobolev(self.order)
        x, target = checked(self, X, y=y, y_numeric=True, multi_output=True)
        target = doubles(target)
        wide = target if target.ndim == 2 else target[:, None]
        self._low, high = x.min(axis=0), x.max(axis=0)
        self._varies = high - self._low > 4 * _EPS * np.maximum(np.abs(high), np.abs(self._low))
        self._range = np.where(self._varies, high - self._low, 1.0)
        u = self._scaled(x)
        kernel = _additive(kernel_of_one, u.shape[1] if self._varies.any() else 0)
        self._knots: Knots | None = None
        inside = np.clip(u, 0.0, 1.0)
        if u.shape[1] == 1 and _more_distinct_than(u[:, 0], self.order):
            self._solve_line(kernel, inside, self._null(u), wide, path)
        else:
            self._solve(kernel, inside, self._null(u), wide, path)
        self._one = target.ndim == 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values f(x): (n,) or (n, q)."""
        check_is_fitted(self)
        u = self._scaled(checked(self, X, reset=False))
        if self._knots is not None:
            values = self._knots(u[:, 0])
            return values[:, 0] if self._one else values
        # beyond the data f is a polynomial: on the left by k(0, .), on the right by the formula itself
        penalised = _values(self.function_, np.maximum(u, 0.0))
        fitted = self._null(u) @ self.polynomial_ + penalised
        return fitted[:, 0] if self._one else fitted

    def _solve_line(
        self, kernel: Kernel, u: np.ndarray, null: np.ndarray, y: np.ndarray, path: RidgePath
    ) -> None:
        """Solve for one column in O(n), and set the fitted attributes."""
        n, order = len(y), np.argsort(u[:, 0], kind="stable")
        problem = SplineProblem(u[order, 0], y[order], self.order)
        chooses = path.ridges is None  # by the size of the matrix
        ridges = path.on(problem.penalised_trace(_basis(null[order])) if chooses else 0.0)
        single = problem.smoothed(ridges) if len(ridges) == 1 else None
        self.path_ = problem.scores(problem.passes(ridges) if single is None else [single])
        self.smoothing_ = best(path, self.path_)
        place = int(np.flatnonzero(ridges == self.smoothing_)[0])
        self.degrees_of_freedom_ = float(self.path_.degrees_of_freedom[place])
        chosen = problem.smoothed(ridges[place : place + 1]) if single is None else single
        sorted_c, states = chosen.solution()
        c = np.empty_like(sorted_c)
        c[order] = sorted_c
        self._knots = Knots.of(problem.u, states)
        self.function_ = Function.of_checked(kernel, u, c, None)
        few = np.linspace(0, n - 1, min(n, _ROWS_FOR_POLYNOMIAL)).astype(np.int64)
        rows = order[few]
        rest = states[few, 0] - _values(self.function_, u[rows])
        self.polynomial_ = linalg.lstsq(null[rows], rest)[0]

    def _solve(
        self, kernel: Kernel, u: np.ndarray, null: np.ndarray, y: np.ndarray, path: RidgePath
    ) -> None:
        """Solve for the coefficients, and set the fitted attributes."""
        matrix = Gram(kernel, u)
        basis = _basis(null)
        solver = _projected(matrix, basis, y)
        if len(y) > basis.shape[1]:
            scores = solver.scores(path.on(float(np.sum(solver.values))))
            self.path_: RidgeScores | None = scores
            self.smoothing_ = best(path, scores)
            place = int(np.flatnonzero(scores.ridges == self.smoothing_)[0])
            self.degrees_of_freedom_ = float(scores.degrees_of_freedom[place])
        else:  # as many polynomials as points
            self.path_, self.smoothing_ = None, float(path.on(0.0)[-1])
            self.degrees_of_freedom_ = float(len(y))
        c, _ = solver.coefficients(self.smoothing_)
        residual = y - matrix @ c - self.smoothing_ * c
        self.polynomial_ = linalg.lstsq(null, residual)[0]
        self.function_ = Function(kernel, u, c)

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        """Columns that vary, scaled to [0, 1] on the training points; a column of zeros if none does."""
        u = ((x - self._low) / self._range)[:, self._varies]
        return u if u.shape[1] else zeros((x.shape[0], 1), x)

    def _null(self, u: np.ndarray) -> np.ndarray:
        """1, and the polynomials of degree 1 to m - 1 of every column: (n, 1 + p (m - 1))."""
        columns = [ones((u.shape[0],), u)]
        for j in range(u.shape[1] if self._varies.any() else 0):
            columns += _legendre(2 * u[:, j] - 1, self.order - 1)
        return namespace(u).stack(columns, axis=1)


def _legendre(t: Array, degree: int) -> list[Any]:
    """The Legendre polynomials of degree 1 to `degree` at t, by Bonnet's recursion."""
    before, last, polynomials = 1.0, t, [t]
    for n in range(2, degree + 1):
        before, last = last, (last * t * (2 * n - 1) - before * (n - 1)) / n
        polynomials.append(last)
    return polynomials[:degree]


def _values(function: Function, u: np.ndarray) -> np.ndarray:
    """Values of a function at checked points, a block of kernel values at a time."""
    rows = max(_VALUES_PER_BLOCK // len(function.points), 1)
    blocks = [
        function.kernel.pairwise(u[span], function.points) @ function.weights
        for span in spans(len(u), rows)
    ]
    return np.concatenate(blocks)


def _additive(kernel: Kernel, columns: int) -> Kernel:
    """Sum of the kernel over columns."""
    if columns == 0:
        return Constant(1.0)  # removed by the constants of the null space
    total = kernel.select(0)
    for j in range(1, columns):
        total = total + kernel.select(j)
    return total


def _more_distinct_than(u: np.ndarray, number: int) -> bool:
    """Whether there are more than `number` distinct values, so that each may be left out."""
    return len(np.unique(u)) > number


def _basis(null: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the null space: (n, r)."""
    u, lengths, _ = linalg.svd(null)
    return u[:, lengths > max(null.shape) * _EPS * lengths[0]]


def _projected(matrix: Gram, basis: np.ndarray, y: np.ndarray) -> Eigen:
    """Eigenpairs of P K P, where P projects onto the orthogonal complement of the null space.

    The null space is shifted to the upper end of the spectrum, and its eigenvectors are dropped.
    """
    dense = dense_within_budget(matrix, 4, "a smoothing spline", "use LocalLinear, or fewer points")
    across = dense @ basis
    inner = basis.T @ across
    top = 2 * float(np.trace(dense)) + 1.0
    across -= basis @ ((inner + top * np.eye(len(inner), dtype=np.float64)) / 2)
    dense -= across @ basis.T
    dense -= basis @ across.T
    values, vectors = eigenpairs(dense, _EPS)
    rank = len(values) - basis.shape[1]
    return Eigen(values[:rank], vectors[:, :rank], vectors[:, :rank].T @ y)
