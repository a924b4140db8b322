"""Kernel ridge regression: exact, with whole paths of ridges and intervals for what will be seen."""

from __future__ import annotations

from math import ceil, floor
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer import validate
from mercer.backend import Array, array_like, astype, count, namespace
from mercer.config import settings
from mercer.gram import Gram, LazyMatrix, Reweighted, ridge_solve
from mercer.gram.positive import add_to_diagonal, inverse_positive
from mercer.gram.run import spans
from mercer.kernels.base import Kernel
from mercer.learn.estimator import KernelPredictor
from mercer.learn.regression.held import held
from mercer.learn.regression.path import Eigen, RidgePath, RidgeScores, best
from mercer.rkhs.function import Function


class KernelRidge(MultiOutputMixin, RegressorMixin, KernelPredictor):
    """Kernel ridge regression: the f that minimises sum_i w_i (y_i - f(x_i))^2 + ridge |f|^2.

    By the representer theorem f = sum_i c_i k(x_i, .) with (K + ridge I) c = y. `ridge` belongs to
    the **summed** loss; for the averaged loss hand in n times as much. There is no intercept: add a
    constant to the kernel, such as ``RBF(1.0) + 100.0``, or subtract the mean of y. A constant y is
    a function like others.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance; `default_kernel` where a frame has categories.
    ridge : float or RidgePath
        A positive number; or many, of which the best by leave-one-out (or generalised
        cross-validation) is taken, all of them from one eigendecomposition.

    Attributes
    ----------
    function_ : Function
        What was learnt; several functions where y has several columns.
    kernel_ : Kernel
    ridge_ : float
    path_ : RidgeScores or None
        The figures of all ridges, where a `RidgePath` was asked for.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    One ridge: by Cholesky in the memory of the kernel matrix, in the dtype of X; where the matrix
    is beyond the memory budget, by preconditioned conjugate gradients on tiles. A path: one
    eigendecomposition in float64, which holds three such matrices. A kernel that is not positive
    definite is refused where the matrix plus the ridge is not (one ridge), or the matrix is not
    (path).

    References
    ----------
    C. Saunders, A. Gammerman, V. Vovk (1998). Ridge regression learning algorithm in dual
    variables. ICML. R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani (2021). Predictive
    inference with the jackknife+. Annals of Statistics 49(1), 486-507.

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

    def __init__(self, kernel: Kernel | None = None, ridge: float | RidgePath = 1.0) -> None:
        self.kernel = kernel
        self.ridge = ridge

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from points X and numbers y, (n,) or (n, q), with weights (n,) if there are any."""
        ridge = self._asked()
        if not isinstance(ridge, RidgePath):
            validate.positive("ridge", ridge)
        kernel, points, target, weights = self._accept_numbers(X, y, sample_weight)
        matrix: LazyMatrix = Gram(kernel, points)
        wide = target if target.ndim == 2 else target[:, None]
        root = None if weights is None else array_like(np.sqrt(weights), target)[:, None]
        if root is not None:  # weights: a problem without them for S K S and S y, S^2 = diag(w)
            matrix, wide = Reweighted(matrix, root[:, 0]), root * wide
        self.path_: RidgeScores | None = None
        if isinstance(ridge, RidgePath):
            coefficients = self._from_path(ridge, matrix, wide)
        else:
            self.ridge_ = float(ridge)
            coefficients = ridge_solve(matrix, wide, self.ridge_)
        coefficients = coefficients if root is None else root * coefficients
        c = astype(coefficients, target.dtype)
        self.function_ = Function(
            self.kernel_, points, c if target.ndim == 2 else c[:, 0], self._columns
        )
        self._equal = weights is None or bool(np.all(weights == 1))
        return self

    def predict(self, X: Any) -> Array:
        """f(x) at new points: (n,) or (n, q)."""
        points = self._points(X)
        return Gram(self._bound, points, self.function_.points) @ self.function_.weights

    def predict_interval(self, X: Any, *, level: float = 0.9) -> Array:
        """Where a new y is to be expected: lower and upper ends, (n, 2), by the jackknife+.

        The interval at x is made of f(x; -i) -+ |y_i - f(x_i; -i)|, where f(.; -i) was learnt without
        the i-th point (Barber et al. 2021, eq. 1.1), all of them from one inverse. Whatever the
        distribution, if all observations are exchangeable it holds a new one with probability
        2 level - 1 at least, and in practice about `level`. The ridge is taken as given: where it
        was chosen on the same points the intervals are a little too short. Infinite where fewer
        points were learnt from than the level needs. Inverts the matrix anew: ask for all points at once.
        """
        validate.between("level", level, 0.0, 1.0)
        points = self._points(X)
        learnt = self.function_
        if learnt.weights.ndim == 2 and learnt.weights.shape[1] > 1:
            raise ValueError("predict_interval needs one number per point in y: fit each column")
        if not self._equal:
            raise ValueError(
                "predict_interval needs observations of equal weight, got sample_weight: "
                "fit without weights"
            )
        inverse, errors = self._left_out()
        gram = Gram(self._bound, points, learnt.points)
        rows = max(settings().memory // 8 // (16 * count(learnt.points)), 1)
        ends = [
            _jackknife(gram.block(some, slice(0, gram.shape[1])), inverse, errors, learnt, level)
            for some in spans(count(points), rows)
        ]
        return namespace(ends[0]).concat(ends)

    def _asked(self) -> float | RidgePath:
        """The ridge, or the path of them."""
        return self.ridge

    def _from_path(self, path: RidgePath, matrix: LazyMatrix, y: Array) -> Array:
        eigen = Eigen.of(matrix, y)
        self.path_ = eigen.scores(path.on(matrix.trace()))
        self.ridge_ = best(path, self.path_)
        return eigen.coefficients(self.ridge_)

    def _left_out(self) -> tuple[Array, Array]:
        """(K + ridge I)^-1 = G, and the leave-one-out errors c_i / G_ii: (n, n) and (n,)."""
        learnt = self.function_
        matrix = held(Gram(self._bound, learnt.points), 1, "an interval", "fit on fewer points")
        add_to_diagonal(matrix, self.ridge_)
        inverse = inverse_positive(matrix)
        if inverse is None:
            raise ValueError("predict_interval needs a kernel that is positive definite")
        c = astype(learnt.weights, inverse.dtype)
        return inverse, (c if c.ndim == 1 else c[:, 0]) / namespace(c).linalg.diagonal(inverse)


def _jackknife(
    values: Array, inverse: Array, errors: Array, learnt: Function, level: float
) -> Array:
    """Ends of the intervals of points with kernel values (r, n): (r, 2)."""
    xp, n = namespace(values), int(values.shape[1])
    wide = astype(values, inverse.dtype)
    c = astype(learnt.weights, inverse.dtype)
    middle = wide @ (c if c.ndim == 1 else c[:, 0])
    without = middle[:, None] - (wide @ inverse) * errors[None, :]  # f_-i(x)
    low = xp.sort(without - xp.abs(errors)[None, :], axis=1)
    high = xp.sort(without + xp.abs(errors)[None, :], axis=1)
    down, up = floor(round((1 - level) * (n + 1), 9)), ceil(round(level * (n + 1), 9))
    infinite = xp.full_like(middle, float("inf"))
    lower = low[:, down - 1] if down >= 1 else -infinite
    upper = high[:, up - 1] if up <= n else infinite
    return astype(xp.stack([lower, upper], axis=1), values.dtype)
