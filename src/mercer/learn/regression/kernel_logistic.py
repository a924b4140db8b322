"""Kernel logistic regression for two or more classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from mercer.backend import Array, array_like, eps, namespace, to_numpy, transposed, zeros
from mercer.gram import Gram
from mercer.gram.positive_definite import eigenpairs
from mercer.kernels.base import Kernel
from mercer.learn.conjugate_gradients import Look, newton
from mercer.learn.regression.kernel_machine import RepresenterMachine, chosen_class
from mercer.learn.regression.landmark_matrix import LandmarkMatrix
from mercer.learn.regression.links import Categorical, log_sum_exp
from mercer.learn.regression.losses import Logistic
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
        values = self._values(X)
        xp = namespace(values)
        if values.ndim == 1:
            zero = xp.zeros_like(values)
            return xp.stack([-xp.logaddexp(zero, values), -xp.logaddexp(zero, -values)], axis=1)
        return values - log_sum_exp(values)[:, None]

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, in the order of `classes_`: (n, classes)."""
        logs = self.predict_log_proba(X)
        return namespace(logs).exp(logs)


class KernelLogistic(ProbabilityMixin, RepresenterMachine):
    """Kernel logistic regression: minimises the negative log-likelihood + ridge |f|^2.

    Two classes: log P(second) / P(first) = f(x) + b, by Newton's method. More than two: P(c) is
    proportional to exp(f_c(x) + b_c) (multinomial), with the penalty ridge sum_c |f_c|^2; one
    eigendecomposition preconditions all classes, and Newton's systems are solved by conjugate gradients.
    Beyond the memory budget two classes are solved on tiles of the kernel matrix and more classes through
    landmarks, as in `KernelMachine`. `ridge` belongs to the **summed** loss.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF with the median distance as its bandwidth; `default_kernel` for a frame with categories.
    ridge : float
    intercept, max_iter, tolerance
        As in `KernelMachine`.

    Attributes
    ----------
    function_ : Function
        f; one function for each class if there are more than two.
    intercept_ : float or array (classes,)
    classes_ : array
    gap_, n_iter_, n_landmarks_, kernel_
        As in `KernelMachine`; with more than two classes `gap_` is the relative norm of the last gradient.

    References
    ----------
    J. Zhu, T. Hastie (2005). Kernel logistic regression and the import vector machine. Journal of
    Computational and Graphical Statistics 14(1), 185-205.

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
        ridge: float = 1.0,
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

    def _multinomial(
        self, matrix: Array | LandmarkMatrix, hot: Array, weights: Array, precision: float
    ) -> list[Fit]:
        landmarks = isinstance(matrix, LandmarkMatrix)
        values, vectors = matrix.eigenpairs() if landmarks else eigenpairs(matrix, precision)
        xp, n = namespace(values), int(values.shape[0])
        rank = int(xp.sum(xp.astype(values > n * precision * float(values[-1]), xp.int64)))
        values, vectors = values[n - rank :], vectors[:, n - rank :]
        top = float(xp.max(weights)) * Categorical.bound  # no curvature is larger
        scale = xp.sqrt(values / (top * values + 2 * self.ridge))
        problem = Multinomial(
            vectors * scale, hot, weights, self.ridge, scale**2 / values, bool(self.intercept)
        )
        start = zeros((rank + 1, int(hot.shape[1])), hot)
        minimum = newton(problem.look, start, self.max_iter, self.tolerance)
        self._warn(minimum.left, minimum.steps)
        coefficients = vectors @ ((scale / values)[:, None] * minimum.point[:-1, :])
        shifts = to_numpy(minimum.point[-1, :]) * problem.unit
        return [
            Fit(coefficients[:, c], float(shifts[c]), minimum.steps, minimum.left)
            for c in range(int(hot.shape[1]))
        ]


@dataclass(frozen=True, eq=False)
class Multinomial:
    """Negative log-likelihood of F = Zt + 1b' plus ridge sum_j penalty_j t_j^2, as a function of (t, b).

    Rows of the argument are those of t (r, C), and b last, in units that make its curvature like
    that of the others.
    """

    features: Array  # Z, (n, r)
    hot: Array  # which class, (n, C)
    weights: Array
    ridge: float
    penalty: Array  # (r,)
    intercept: bool

    @property
    def unit(self) -> float:
        """Scale of the last row: b over the last coordinate."""
        total = float(namespace(self.weights).sum(self.weights))
        return (2 / total) ** 0.5 if self.intercept else 0.0

    def look(self, point: Array) -> Look:
        """Value, gradient and curvature."""
        xp, link = namespace(point), Categorical()
        f = self._image(point)
        p, weights = link.mean(f), self.weights[:, None]
        ridge = self.ridge * self._padded(xp)[:, None]
        lost = xp.sum(self.weights * link.lost(f, self.hot))
        value = float(lost) + float(xp.sum(ridge * point**2))
        gradient = self._adjoint(weights * (p - self.hot)) + 2 * ridge * point

        def curvature(v: Array) -> Array:
            return self._adjoint(weights * link.change(p, self._image(v))) + 2 * ridge * v

        return Look(value, gradient, curvature)

    def _image(self, point: Array) -> Array:
        # transposed, because BLAS multiplies a few rows with a matrix twice as fast as a few columns
        product = transposed(transposed(point[:-1, :]) @ transposed(self.features))
        return product + self.unit * point[-1, :][None, :]

    def _adjoint(self, residual: Array) -> Array:
        xp = namespace(residual)
        product = transposed(transposed(residual) @ self.features)
        return xp.concat([product, self.unit * xp.sum(residual, axis=0)[None, :]])

    def _padded(self, xp: Any) -> Array:
        return xp.concat([self.penalty, 0 * self.penalty[:1]])
