"""Exact kernel ridge regression, with paths of ridges and prediction intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer import validate
from mercer.backend import Array, array_like, astype, double, namespace, ones, to_numpy
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix, Reweighted, ridge_solve
from mercer.gram.positive_definite import add_to_diagonal, inverse_positive
from mercer.gram.threads import spans
from mercer.kernels.base import Kernel
from mercer.learn.kernel_learner import KernelPredictor, with_intercept
from mercer.learn.regression.dense_or_refuse import dense_within_budget
from mercer.learn.regression.ridge_path import Eigen, RidgePath, RidgeScores, best
from mercer.rkhs.function import Function


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelPredictor):
    """Kernel ridge regression: f and b minimise sum_i w_i (y_i - f(x_i) - b)^2 + ridge |f|^2.

    By the representer theorem f = sum_i c_i k(x_i, .) with (K + ridge I) c = y - b. The intercept b
    is not penalised, so that the c_i add up to zero and a constant added to y is added to the
    predictions. `ridge` belongs to the **summed** loss; for the averaged loss, multiply it by n.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF with the median distance as its bandwidth; `default_kernel` for a frame with categories.
    ridge : float or RidgePath
        A positive number; or a path of many, of which the best by leave-one-out (or generalised
        cross-validation) is used, all from one eigendecomposition.
    intercept : bool
        Whether to fit an intercept b. False: b = 0, the textbook form, which shrinks predictions
        towards 0 instead of the mean of y.

    Attributes
    ----------
    function_ : Function
        f, without the intercept; several functions where y has several columns. Its points are float64
        where the kernel matrix was computed in float64 (see the notes).
    intercept_ : float or array (q,)
        b, one for each column of y.
    kernel_ : Kernel
    ridge_ : float
    path_ : RidgeScores or None
        Scores of all ridges, if `ridge` is a `RidgePath`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A single ridge is solved by Cholesky in the memory of the kernel matrix, in the dtype of X, or by
    preconditioned conjugate gradients on tiles where the matrix exceeds the memory budget. A path needs
    one eigendecomposition in float64, with three such matrices. A kernel is refused where the matrix plus
    the ridge (single ridge) or the matrix (path) is not positive definite.

    Small ridges amplify the rounding of kernel values, and leave-one-out mistakes it for a signal.
    For a path, and for a ridge below 6e-4 sqrt(n) max k(x, x), kernel values of float32 points are
    therefore computed in float64, for fitting and prediction; predictions keep the dtype of X. Kernels
    with a function (`Transformed`) keep the dtype of its input.

    References
    ----------
    C. Saunders, A. Gammerman, V. Vovk (1998). Ridge regression learning algorithm in dual
    variables. ICML. R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani (2021). Predictive
    inference with the jackknife+. Annals of Statistics 49(1), 486-507. C. E. Rasmussen, C. K. I.
    Williams (2006). Gaussian Processes for Machine Learning, eqs. 2.26 and 2.42.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sinc(x[:, 0]) + 0.1 * rng.normal(size=200)
    >>> ridge = KernelRidge(RBF(0.5), RidgePath()).fit(x, y)
    >>> bool(abs(ridge.predict([[0.0]])[0] - 1) < 0.1)
    True
    >>> ridge.predict_interval([[0.0], [2.5]], level=0.9).round(1)
    array([[ 0.8,  1.2],
           [-0.1,  0.3]])
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        ridge: float | RidgePath = 1.0,
        *,
        intercept: bool = True,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.intercept = intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to points X and targets y, (n,) or (n, q), with optional weights (n,)."""
        ridge = self._asked()
        if not isinstance(ridge, RidgePath):
            validate.positive("ridge", ridge)
        validate.truth("intercept", self.intercept)
        kernel, points, target, weights = self._accept_numbers(X, y, sample_weight)
        number = None if isinstance(ridge, RidgePath) else float(ridge)
        points = self._precise(kernel, points, weights, number)
        target = astype(target, double(target)) if self._doubled else target
        matrix: LazyMatrix = Gram.of_checked(kernel, points)
        wide, flat = (target, False) if target.ndim == 2 else (target[:, None], True)
        mean = _mean(wide, weights) if self.intercept else None
        wide = wide if mean is None else wide - mean[None, :]
        root = ones((int(wide.shape[0]), 1), wide)
        if weights is not None:  # the same problem without weights, for S K S, S y and S 1
            root = array_like(np.sqrt(weights), wide)[:, None]
            matrix, wide = Reweighted(matrix, root[:, 0]), root * wide
        self.path_: RidgeScores | None = None
        border = root if self.intercept else None
        if isinstance(ridge, RidgePath):
            coefficients, offsets = self._from_path(ridge, matrix, wide, border)
        else:
            self.ridge_ = float(ridge)
            coefficients, offsets = _bordered_solve(matrix, wide, self.ridge_, border)
        c = astype(root * coefficients, target.dtype)
        self.function_ = Function(self.kernel_, points, c[:, 0] if flat else c, self._columns)
        self.intercept_: float | np.ndarray = 0.0
        if mean is not None and offsets is not None:
            b = to_numpy(astype(mean, offsets.dtype) + offsets)
            self.intercept_ = float(b[0]) if flat else b
        self._equal = weights is None or bool(np.all(weights == 1))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predicted values f(x) + b: (n,) or (n, q); with `return_std`, a tuple with their deviations.

        The standard deviations, of the same shape, are those of f(x) + b given y in the Gaussian process
        with covariance k, noise of variance `ridge` and a flat prior on b: what is not known about the
        regression function, without the noise of a new observation. For covariance s^2 k and noise of
        variance s^2 ridge, multiply them by s. The ridge is taken as fixed. Every call inverts the
        kernel matrix: pass all points at once.
        """
        validate.truth("return_std", return_std)
        gram, dtype = self._values_at(X)
        values = with_intercept(gram @ self.function_.weights, self.intercept_)
        if not return_std:
            return astype(values, dtype)
        self._need_equal_weights("return_std")
        inverse, diagonal = self._bordered_inverse("a standard deviation"), gram.kernel.diag(gram.x)
        deviations = namespace(values).concat(
            [
                inverse.deviations(gram.block(span, slice(0, gram.shape[1])), diagonal[span])
                for span in self._blocks(gram)
            ]
        )
        if values.ndim == 2:  # all columns of y share the covariance
            deviations = deviations[:, None] + 0 * values
        return astype(values, dtype), astype(deviations, dtype)

    def predict_interval(self, X: Any, *, level: float = 0.9) -> Array:
        """Prediction intervals by the jackknife+: lower and upper ends, (n, 2).

        The ends are quantiles of f(x; -i) -+ |y_i - f(x_i; -i)|, where f(.; -i) is fitted without the
        i-th point (Barber et al. 2021, eq. 1.1); all come from one inverse. For exchangeable observations
        of any distribution the coverage is at least 2 level - 1, and in practice about `level`. The ridge
        is taken as fixed: where it was chosen on the same points, intervals are a little too short.
        Intervals are infinite where the level needs more training points. Every call inverts the matrix:
        pass all points at once.
        """
        validate.between("level", level, 0.0, 1.0)
        gram, dtype = self._values_at(X)
        learnt = self.function_
        if learnt.weights.ndim == 2 and learnt.weights.shape[1] > 1:
            raise ValueError("predict_interval needs a single column of y: fit each column")
        self._need_equal_weights("predict_interval")
        left_out = self._left_out()
        ends = [
            left_out.interval(gram.block(span, slice(0, gram.shape[1])), level)
            for span in self._blocks(gram)
        ]
        return astype(namespace(ends[0]).concat(ends), dtype)

    def _need_equal_weights(self, what: str) -> None:
        if not self._equal:
            raise ValueError(
                f"{what} needs observations of equal weight, got sample_weight: fit without weights"
            )

    def _blocks(self, gram: Gram) -> list[slice]:
        """Rows of new points whose temporaries fit in an eighth of the memory budget."""
        rows = max(settings().memory // 8 // (16 * gram.shape[1]), 1)
        return list(spans(gram.shape[0], rows))

    def _asked(self) -> float | RidgePath:
        """The ridge, or the path of them."""
        return self.ridge

    def _from_path(
        self, path: RidgePath, matrix: LazyMatrix, y: Array, border: Array | None
    ) -> tuple[Array, Array | None]:
        eigen = Eigen.of(matrix, y, border)
        self.path_ = eigen.scores(path.on(matrix.trace()))
        self.ridge_ = best(path, self.path_)
        return eigen.coefficients(self.ridge_)

    def _bordered_inverse(self, what: str) -> _BorderedInverse:
        """Inverse of [[K + ridge I, 1], [1', 0]], of K + ridge I where there is no intercept."""
        points = self.function_.points
        matrix = dense_within_budget(Gram(self._bound, points), 1, what, "fit on fewer points")
        add_to_diagonal(matrix, self.ridge_)
        inverse = inverse_positive(matrix)
        if inverse is None:
            raise ValueError(f"{what} needs a kernel that is positive definite")
        xp = namespace(inverse)
        g = xp.sum(inverse, axis=0)
        if not self.intercept:
            return _BorderedInverse(inverse, xp.zeros_like(g), 0.0)
        total = xp.sum(g)
        last = g / total
        inverse -= g[:, None] * last[None, :]
        return _BorderedInverse(inverse, last, -1 / float(total))

    def _left_out(self) -> _LeftOut:
        """Quantities from which all leave-one-out functions follow."""
        learnt, bordered = self.function_, self._bordered_inverse("an interval")
        xp, c = namespace(bordered.points), astype(learnt.weights, bordered.points.dtype)
        c = c if c.ndim == 1 else c[:, 0]
        b = float(np.sum(self.intercept_))
        if self.intercept and int(c.shape[0]) == 1:  # nothing is left without the only point
            return _LeftOut(bordered, xp.full_like(c, float("inf")), c, b)
        return _LeftOut(bordered, c / xp.linalg.diagonal(bordered.points), c, b)


@dataclass(frozen=True, eq=False)
class _BorderedInverse:
    """Inverse M of [[K + ridge I, 1], [1', 0]]; of K + ridge I, with zeros, without an intercept."""

    points: Array  # rows and columns of the points: (n, n)
    last: Array  # row of the intercept: (n,)
    corner: float

    def times(self, values: Array) -> Array:
        """(k(x), 1)'M in the columns of the points, for kernel values (r, n)."""
        return astype(values, self.points.dtype) @ self.points + self.last[None, :]

    def deviations(self, values: Array, diagonal: Array) -> Array:
        """Square roots of k(x, x) - (k(x), 1)'M(k(x), 1) for values (r, n) and k(x, x) (r,): (r,)."""
        xp, block = namespace(values), astype(values, self.points.dtype)
        explained = xp.sum(self.times(block) * block, axis=1) + block @ self.last + self.corner
        variances = astype(diagonal, block.dtype) - explained
        return xp.sqrt(xp.where(variances > 0, variances, xp.zeros_like(variances)))


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """Leave-one-out functions f_-i, fitted without the i-th point, and their errors there.

    With the inverse M of the bordered matrix, f_-i(x) = f(x) - (k(x), 1)'M_i e_i and e_i = y_i - f_-i(x_i) = c_i / M_ii.
    """

    inverse: _BorderedInverse
    errors: Array  # e, (n,)
    coefficients: Array  # c, (n,)
    intercept: float

    def interval(self, values: Array, level: float) -> Array:
        """Ends of the jackknife+ intervals of points with kernel values (r, n): (r, 2)."""
        xp, n = namespace(values), int(values.shape[1])
        block, size = astype(values, self.errors.dtype), xp.abs(self.errors)[None, :]
        middle = block @ self.coefficients + self.intercept
        infinite = xp.full_like(middle, float("inf"))
        if not bool(xp.all(xp.isfinite(size))):
            return astype(xp.stack([-infinite, infinite], axis=1), values.dtype)
        changes = self.inverse.times(block) * self.errors[None, :]
        without = middle[:, None] - changes  # f_-i(x), (r, n)
        low, high = xp.sort(without - size, axis=1), xp.sort(without + size, axis=1)
        down, up = floor(round((1 - level) * (n + 1), 9)), ceil(round(level * (n + 1), 9))
        lower = low[:, down - 1] if down >= 1 else -infinite
        upper = high[:, up - 1] if up <= n else infinite
        return astype(xp.stack([lower, upper], axis=1), values.dtype)


def _mean(y: Array, weights: np.ndarray | None) -> Array:
    """Weighted mean of every column of y (n, q), summed in float64: (q,)."""
    xp, wide = namespace(y), astype(y, double(y))
    if weights is None:
        return astype(xp.mean(wide, axis=0), y.dtype)
    shares = array_like(weights / np.sum(weights), wide)
    return astype(xp.sum(shares[:, None] * wide, axis=0), y.dtype)


def _bordered_solve(
    matrix: LazyMatrix, y: Array, ridge: float, border: Array | None
) -> tuple[Array, Array | None]:
    """c (n, q) and b (q,) of (K + ridge I) c = y - s b with s'c = 0, for a border s (n, 1).

    With G = (K + ridge I)^-1, b = s'Gy / s'Gs: one more column on the right-hand side. Without a
    border b is None.
    """
    if border is None:
        return ridge_solve(matrix, y, ridge), None
    xp = namespace(y)
    solved = ridge_solve(matrix, xp.concat([y, border], axis=1), ridge)
    solved = astype(solved, double(solved))
    c, g = solved[:, :-1], solved[:, -1:]
    s = astype(border, solved.dtype)
    b = xp.sum(s * c, axis=0) / xp.sum(s * g)
    return c - g * b[None, :], b
