"""Kernel logistic regression for two or more classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from mercer import validate
from mercer.backend import Array, array_like, eps, namespace, to_numpy, zeros
from mercer.gram import Gram
from mercer.gram.positive_definite import eigenpairs
from mercer.kernels.base import Kernel, Points
from mercer.learn.conjugate_gradients import newton
from mercer.learn.regression.class_losses import Categorical, log_sum_exp
from mercer.learn.regression.kernel_machine import RepresenterMachine, chosen_class
from mercer.learn.regression.landmark_matrix import LandmarkMatrix
from mercer.learn.regression.logistic_ridge import ridge_for_points
from mercer.learn.regression.losses import Logistic
from mercer.learn.regression.multinomial import Multinomial
from mercer.learn.regression.newton import Fit


class ProbabilityMixin(ClassifierMixin):
    """Labels and probabilities from values f(x) + b: a single one for two classes, else one for each."""

    classes_: np.ndarray
    _values: Callable[[Any], Array]  # of the learner

    def decision_function(self, X: Any) -> Array:
        """f(x) + b: log-odds of the second class (n,); (n, classes) for more than two."""
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class: (n,)."""
        return chosen_class(self._values(X), self.classes_)

    def predict_log_proba(self, X: Any) -> Array:
        """Log-probabilities of the classes: (n, classes)."""
        return log_probabilities(self._values(X))

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, in the order of `classes_`: (n, classes)."""
        logs = self.predict_log_proba(X)
        return namespace(logs).exp(logs)


def log_probabilities(values: Array) -> Array:
    """Log-probabilities of the classes (n, classes), from log-odds (n,) or a value for each class."""
    xp = namespace(values)
    if values.ndim == 1:
        zero = xp.zeros_like(values)
        return xp.stack([-xp.logaddexp(zero, values), -xp.logaddexp(zero, -values)], axis=1)
    return values - log_sum_exp(values)[:, None]


# Share of the gradient at which the preconditioner is replaced by one with the curvature found there: where
# classes are separated it is far below its bound, and steps take a tenth of the time (600 digits, ridge 3e-4).
_ROUGH = 1e-2


class KernelLogistic(ProbabilityMixin, RepresenterMachine):
    """Kernel logistic regression: minimises the negative log-likelihood + ridge |f|^2.

    Two classes: log P(second) / P(first) = f(x) + b, by Newton's method. More than two: P(c) is
    proportional to exp(f_c(x) + b_c) (multinomial), with the penalty ridge sum_c |f_c|^2; one
    eigendecomposition preconditions all classes, and Newton's systems are solved by conjugate gradients.
    Beyond the memory budget two classes are solved on tiles of the kernel matrix and more classes through
    landmarks, as in `KernelMachine`. `ridge` belongs to the **summed** loss.

    Probabilities are as good as the ridge: too large a one draws them towards the shares of the classes.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF with the median distance as its bandwidth; `default_kernel` for a frame with categories.
    ridge : float or None
        None: the one of 13, from 10 to 1e-5 times the mean of k(x, x), with the smallest log loss at
        left-out points (approximate leave-one-out, Cawley and Talbot 2008; on at most 1,000 points).
    intercept, max_iter, tolerance
        As in `KernelMachine`.

    Attributes
    ----------
    function_ : Function
        f; one function for each class if there are more than two.
    intercept_ : float or array (classes,)
    ridge_ : float
    classes_ : array
    gap_, n_iter_, n_landmarks_, kernel_
        As in `KernelMachine`; with more than two classes `gap_` is the relative norm of the last gradient.

    References
    ----------
    J. Zhu, T. Hastie (2005). Kernel logistic regression and the import vector machine. Journal of
    Computational and Graphical Statistics 14(1), 185-205. G. C. Cawley, N. L. C. Talbot (2008). Efficient
    approximate leave-one-out cross-validation for kernel logistic regression. Machine Learning 71, 243-264.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> y = np.where(np.sum(x**2, axis=1) < 1.4, "inside", "outside")
    >>> learner = KernelLogistic(RBF(1.0), 0.1).fit(x, y)
    >>> learner.predict([[0.0, 0.0], [2.0, 2.0]])
    array(['inside', 'outside'], dtype='<U7')
    >>> bool(learner.predict_proba([[0.0, 0.0]])[0, 0] > 0.9)
    True
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        ridge: float | None = None,
        *,
        intercept: bool = True,
        max_iter: int = 100,
        tolerance: float = 1e-10,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.intercept = intercept
        self.max_iter = max_iter
        self.tolerance = tolerance

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to points X and labels y (n,), with optional weights (n,)."""
        self._check()
        kernel, points, codes, weights = self._accept_labels(X, y, sample_weight)
        points = self._precise(kernel, points, weights, self.ridge)
        self.ridge_ = self._chosen(kernel, points, codes, weights)
        like, two = Gram.of_checked(kernel, points).like, len(self.classes_) == 2
        loss = Logistic() if two else None
        matrix, each = self._matrix(kernel, points, loss)
        w = each if weights is None else array_like(weights, each)
        if loss is not None:
            target = array_like(2.0 * codes - 1.0, each)
            fits = [self._minimise(matrix, target, w, loss)]
        else:
            hot = array_like(np.eye(len(self.classes_))[codes], each)
            fits = self._multinomial(matrix, hot, w, eps(like))
        self._keep(matrix, points, fits, like, one=two)
        return self

    def _check(self) -> None:
        if self.ridge is not None:
            validate.positive("ridge", self.ridge)
        self._check_solver()

    def _chosen(
        self, kernel: Kernel, points: Points, codes: np.ndarray, weights: np.ndarray | None
    ) -> float:
        """The ridge: that which was given, or the best by leave-one-out."""
        if self.ridge is not None:
            return float(self.ridge)
        return ridge_for_points(kernel, points, codes, weights, intercept=bool(self.intercept))

    def _multinomial(
        self, matrix: Array | LandmarkMatrix, hot: Array, weights: Array, precision: float
    ) -> list[Fit]:
        """Fits of all classes, by Newton's method in the basis of eigenvectors."""
        landmarks = isinstance(matrix, LandmarkMatrix)
        values, vectors = matrix.eigenpairs() if landmarks else eigenpairs(matrix, precision)
        xp, n = namespace(values), int(values.shape[0])
        rank = int(xp.sum(xp.astype(values > n * precision * float(values[-1]), xp.int64)))
        values, vectors = values[n - rank :], vectors[:, n - rank :]
        theta, shifts = (zeros((rows, int(hot.shape[1])), hot) for rows in (rank, 1))
        curvature = float(xp.max(weights)) * Categorical.bound  # none is larger
        steps, left = 0, 1.0
        for goal in (max(_ROUGH, self.tolerance), self.tolerance):
            scale = xp.sqrt(values / (curvature * values + 2 * self.ridge_))
            problem = Multinomial(
                vectors * scale,
                hot,
                weights,
                self.ridge_,
                scale**2 / values,
                bool(self.intercept),
                Categorical(),
            )
            start = xp.concat([theta / scale[:, None], shifts])
            minimum = newton(problem.look, start, self.max_iter - steps, goal / max(left, goal))
            steps, left = steps + minimum.steps, left * minimum.left
            theta, shifts = minimum.point[:-1, :] * scale[:, None], minimum.point[-1:, :]
            curvature = problem.mean_curvature(minimum.point)
        self._warn(left, steps)
        coefficients, b = vectors @ (theta / values[:, None]), to_numpy(shifts[0, :]) * problem.unit
        return [Fit(coefficients[:, c], float(b[c]), steps, left) for c in range(int(hot.shape[1]))]
