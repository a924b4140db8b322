"""Kernel machines: any convex loss and the norm of an RKHS, by the representer theorem."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from mercer import validate
from mercer.backend import Array, array_like, astype, double, namespace, ones, to_numpy
from mercer.errors import NotConverged
from mercer.gram import Gram
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken
from mercer.learn.kernel_learner import KernelPredictor, with_intercept
from mercer.learn.regression import interior_point
from mercer.learn.regression.dense_or_refuse import affordable
from mercer.learn.regression.function_penalties import FunctionPenalty, matching_ridge
from mercer.learn.regression.landmark_matrix import (
    LandmarkMatrix,
    landmark_matrix,
    low_rank_matrix,
)
from mercer.learn.regression.losses import (
    Loss,
    PiecewiseLinearLoss,
    Pinball,
    SmoothLoss,
    Squared,
)
from mercer.learn.regression.newton import Fit, Penalised, minimise, squared_norm
from mercer.learn.target_scale import spread, weighted_median
from mercer.rkhs.function import Function

_MATRIX_COPIES = 3  # of the kernel matrix that the solvers need


class RepresenterMachine(KernelPredictor):
    """Base of machines that minimise a loss over a_i and b in f = sum_i a_i k(x_i, .) + b."""

    ridge: Any  # a positive number; None where the learner chooses it
    ridge_: float
    intercept: bool
    max_iter: int
    tolerance: float

    def _check(self) -> None:
        validate.positive("ridge", self.ridge)
        self.ridge_ = float(self.ridge)
        self._check_solver()

    def _check_solver(self) -> None:
        validate.truth("intercept", self.intercept)
        validate.whole("max_iter", self.max_iter)
        validate.between("tolerance", self.tolerance, 0.0, 1.0)

    def _minimise(self, matrix: Any, y: Array, weights: Array, loss: Loss) -> Fit:
        """Fit one function to a target (n,)."""
        centre = 0.0
        if not loss.margin:
            y, weights, loss, centre = self._in_units(y, weights, loss)
        if isinstance(loss, SmoothLoss):
            problem = Penalised(matrix, y, loss, self.ridge_, weights, bool(self.intercept))
            fit = minimise(problem, self.max_iter, self.tolerance)
        elif isinstance(loss, PiecewiseLinearLoss):
            low, high = loss.interval(y)
            box = interior_point.Box(
                matrix, y, low * weights, high * weights, self.ridge_, bool(self.intercept)
            )
            fit = interior_point.minimise(box, self.max_iter, self.tolerance)
        else:
            raise TypeError(
                f"loss must be a SmoothLoss or a PiecewiseLinearLoss, got {loss!r}: derive from one"
            )
        self._warn(fit.gap, fit.steps)
        return replace(fit, intercept=fit.intercept + centre)

    def _in_units(self, y: Array, weights: Array, loss: Loss) -> tuple[Array, Array, Loss, float]:
        """Numbers less their median, weights, a loss for them, and the median.

        The median is 0 without an intercept. Weights make up for the unit of y: see `Loss.degree`.
        """
        numbers, counts = to_numpy(y), to_numpy(weights)
        loss = loss.for_target(numbers, counts)
        if loss.degree is None:
            return y, weights, loss, 0.0
        centre = weighted_median(numbers, counts) if self.intercept else 0.0
        scale = (spread(numbers, counts) or 1.0) ** (2 - loss.degree)
        return y - centre, scale * weights, loss, centre

    def _warn(self, gap: float, steps: int) -> None:
        if gap > self.tolerance:
            advice = (
                "raise max_iter" if steps >= self.max_iter else "rounding prevents further progress"
            )
            warnings.warn(
                f"{type(self).__name__} did not converge: {steps} steps did not reach the tolerance "
                f"({gap:.1e}, wanted {self.tolerance:.0e}): {advice}, or use a larger ridge",
                NotConverged,
                stacklevel=4,
            )

    def _matrix(self, kernel: Kernel, points: Points, loss: Loss | None) -> tuple[Any, Array]:
        """The kernel matrix, and ones (n,) in float64.

        A matrix of low rank comes as a product, unless the loss is None, that of several classes. Beyond the budget it is lazy for a smooth loss, and approximated by landmarks otherwise.
        """
        gram = Gram.of_checked(kernel, points)
        each = ones((gram.shape[0],), gram.like, double(gram.like))
        low_rank = None if loss is None else low_rank_matrix(gram)
        if low_rank is not None:
            return low_rank, each
        if affordable(gram, _MATRIX_COPIES):
            return astype(gram.dense(), double(gram.like)), each
        return gram if isinstance(loss, SmoothLoss) else landmark_matrix(gram, self), each

    def _keep(
        self, matrix: Any, points: Points, fits: list[Fit], like: Array, *, one: bool
    ) -> None:
        """Set the fitted attributes, for one function or several on the same points or their landmarks."""
        self.n_landmarks_: int | None = None
        if isinstance(matrix, LandmarkMatrix):
            points, self.n_landmarks_ = taken(points, matrix.pivots), len(matrix.pivots)
            fits = [replace(fit, coefficients=matrix.weights(fit.coefficients)) for fit in fits]
        xp = namespace(fits[0].coefficients)
        if one:
            weights, self.intercept_ = fits[0].coefficients, fits[0].intercept
        else:
            weights = xp.stack([fit.coefficients for fit in fits], axis=1)
            self.intercept_ = np.array([fit.intercept for fit in fits], dtype=np.float64)
        self.n_iter_ = max(fit.steps for fit in fits)
        self.gap_ = max(fit.gap for fit in fits)
        self.function_ = Function(self.kernel_, points, astype(weights, like.dtype), self._columns)

    def _values(self, X: Any) -> Array:
        """f(x) + b at new points: (n,) or (n, classes)."""
        gram, dtype = self._values_at(X)
        values = with_intercept(gram @ self.function_.weights, self.intercept_)
        return astype(values, dtype)


def _is_classifier(machine: KernelMachine) -> bool:
    return bool(getattr(machine.loss, "margin", False))


class KernelMachine(RepresenterMachine):
    """Regularised kernel machine: f minimises sum_i w_i l(y_i, f(x_i) + b) + ridge |f|^2, l convex.

    By the representer theorem f = sum_i a_i k(x_i, .), also with ridge g(|f|^2) for another `penalty`. `ridge` belongs to the **summed** loss; a
    support vector machine of parameter C is ``KernelMachine(Hinge(), kernel, ridge=1 / (2 C))``.
    With a loss of margins (`Hinge`, `SquaredHinge`, `Logistic`) it is a classifier, of more than
    two classes one against the rest; otherwise a regressor. A loss that is proportional to the error
    (`Pinball`) is multiplied by the spread of y, as in `KernelQuantile`, so that the same ridge serves
    y in every unit.

    Parameters
    ----------
    loss : Loss or None
        `Squared()`, `Huber(width)`, `Pinball(quantile)`, `Hinge()`, `SquaredHinge()`, `Logistic()`, or
        your own `SmoothLoss` or `PiecewiseLinearLoss`. None: `Squared()`.
    kernel : Kernel or None
        None: RBF with the median distance as its bandwidth; `default_kernel` for a frame with categories.
    ridge : float
    intercept : bool
        Whether to fit an unpenalised b.
    penalty : FunctionPenalty or None
        g, such as ``NormPower(1)`` for ridge |f|; of two classes or numbers. About ten fits. None: |f|^2.
    max_iter : int
        Largest number of steps, each of which solves a system of n equations.
    tolerance : float
        Relative improvement of the objective (smooth losses) or relative duality gap (others) at which to
        stop.

    Attributes
    ----------
    function_ : Function
        f; one for each class where there are more than two.
    intercept_ : float or array (classes,)
    ridge_ : float
        The ridge; with a penalty that at which |f|^2 has the same solution.
    gap_ : float
        Last relative improvement, or relative duality gap.
    n_iter_ : int
    n_landmarks_ : int or None
        Number of landmarks, where the kernel matrix was approximated (see the notes).
    classes_ : array
        Classes, of a classifier.
    kernel_ : Kernel

    Notes
    -----
    Needs three copies of the kernel matrix in float64: Newton's method for smooth losses, an interior
    point method for others. Where its numerical rank is low, as that of `Linear()`, a pivoted Cholesky
    factor takes its place, and a step takes time linear in n. Beyond the memory budget the systems of smooth losses are solved on
    tiles, by preconditioned conjugate gradients (`mercer.gram.ridge_solve`). For other losses the
    kernel matrix is then approximated by up to 1,000 landmarks, chosen by pivoted Cholesky (Fine and
    Scheinberg 2001), and the warning `Approximated` says how much of its trace they leave out. A
    kernel that is not positive definite is refused where a system cannot be solved. Kernel values of
    float32 points are computed in float64 where the ridge is small, as in `KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.learn import Huber
    >>> x = np.linspace(-3, 3, 100)[:, None]
    >>> y = np.sin(x[:, 0])
    >>> y[::10] += 100  # one in ten is an outlier
    >>> robust = KernelMachine(Huber(0.1), RBF(1.0), 0.1).fit(x, y)
    >>> bool(abs(robust.predict([[0.5]])[0] - np.sin(0.5)) < 0.1)
    True
    """

    def __init__(
        self,
        loss: Loss | None = None,
        kernel: Kernel | None = None,
        ridge: float = 1.0,
        *,
        intercept: bool = True,
        penalty: FunctionPenalty | None = None,
        max_iter: int = 100,
        tolerance: float = 1e-10,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.ridge = ridge
        self.intercept = intercept
        self.penalty = penalty
        self.max_iter = max_iter
        self.tolerance = tolerance

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to points X and targets or labels y (n,), with optional weights (n,)."""
        loss = self._loss()
        self._check()
        if loss.margin:
            kernel, points, codes, weights = self._accept_labels(X, y, sample_weight)
            points = self._precise(kernel, points, weights, self.ridge)
            matrix, each = self._matrix(kernel, points, loss)
            last = [1] if len(self.classes_) == 2 else range(len(self.classes_))
            targets = [array_like(np.where(codes == c, 1.0, -1.0), each) for c in last]
        else:
            kernel, points, numbers, weights = self._accept_numbers(
                X, y, sample_weight, several=False
            )
            points = self._precise(kernel, points, weights, self.ridge)
            matrix, each = self._matrix(kernel, points, loss)
            targets = [astype(numbers, double(numbers))]
        like = Gram.of_checked(kernel, points).like
        w = each if weights is None else array_like(weights, each)
        if self.penalty is not None:
            self._match(self.penalty, matrix, targets, w, loss)
        fits = [self._minimise(matrix, target, w, loss) for target in targets]
        self._keep(matrix, points, fits, like, one=len(fits) == 1)
        return self

    def _match(
        self, penalty: Any, matrix: Any, targets: list[Array], weights: Array, loss: Loss
    ) -> None:
        """Set `ridge_` to that at which |f|^2 has the solution of the penalty."""
        validate.instance("penalty", penalty, FunctionPenalty, "NormPower(1.0), or None")
        if len(targets) > 1:
            raise ValueError(
                f"a penalty is for numbers or two classes, but y has {len(targets)}: use OneVsRestClassifier"
            )

        def norm2_at(c: float) -> float:
            self.ridge_ = c
            return squared_norm(matrix, self._minimise(matrix, targets[0], weights, loss))

        self.ridge_ = matching_ridge(penalty, float(self.ridge), norm2_at)

    @available_if(_is_classifier)
    def decision_function(self, X: Any) -> Array:
        """f(x) + b of a classifier: (n,), positive for the second class; (n, classes) where there are more."""
        return self._values(X)

    def predict(self, X: Any) -> Array:
        """f(x) + b of a regressor, the class of a classifier: (n,)."""
        values = self._values(X)
        return chosen_class(values, self.classes_) if self._loss().margin else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R^2 of a regressor."""
        measure = accuracy_score if self._loss().margin else r2_score
        predicted = self.predict(X)
        return float(measure(y, to_numpy(predicted), sample_weight=sample_weight))

    def _loss(self) -> Loss:
        loss = Squared() if self.loss is None else self.loss
        validate.instance("loss", loss, Loss, "a loss, such as Huber(1.0), or None")
        return loss

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return as_kind(tags, classifier=_is_classifier(self))


class KernelQuantile(RegressorMixin, RepresenterMachine):
    """Kernel quantile regression: the q-th quantile of y given x.

    Minimises s sum_i w_i p(y_i - f(x_i) - b) + ridge |f|^2 with the pinball loss
    p(r) = max(q r, (q - 1) r) (Takeuchi et al. 2006). With the intercept b at most a share q of the
    observations lie below the function and at most 1 - q above it. s is the spread of y, 1.25 times
    the mean absolute deviation from its median (1.25: the standard deviation of normal data). It makes
    the loss as quadratic in the unit of y as the penalty, so that the predictions for a y + b are
    those for y, times a, plus b. For the form of the textbooks, without s, divide the ridge by s.

    Parameters
    ----------
    quantile : float
        q, between 0 and 1; 0.5 is the median.
    kernel : Kernel or None
        None: RBF with the median distance as its bandwidth; `default_kernel` for a frame with categories.
    ridge : float
        Weight of the penalty relative to the summed loss. Choose it by GridSearchCV(..., scoring=pinball) with
        ``pinball = make_scorer(mean_pinball_loss, alpha=q, greater_is_better=False)``: R^2 is about means.
    intercept, max_iter, tolerance : see `KernelMachine`

    Attributes
    ----------
    function_, intercept_, gap_, n_iter_, n_landmarks_, kernel_
        As in `KernelMachine`.

    Notes
    -----
    Beyond the memory budget the kernel matrix is approximated by landmarks, as in `KernelMachine`.

    References
    ----------
    I. Takeuchi, Q. V. Le, T. D. Sears, A. J. Smola (2006). Nonparametric quantile estimation.
    Journal of Machine Learning Research 7, 1231-1264.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, size=(500, 1))
    >>> y = x[:, 0] * rng.exponential(size=500)
    >>> upper = KernelQuantile(0.9, RBF(0.5), 0.1).fit(x, y)
    >>> bool(abs(np.mean(y <= upper.predict(x)) - 0.9) < 0.02)
    True
    """

    def __init__(
        self,
        quantile: float = 0.5,
        kernel: Kernel | None = None,
        ridge: float = 1.0,
        *,
        intercept: bool = True,
        max_iter: int = 100,
        tolerance: float = 1e-10,
    ) -> None:
        self.quantile = quantile
        self.kernel = kernel
        self.ridge = ridge
        self.intercept = intercept
        self.max_iter = max_iter
        self.tolerance = tolerance

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to points X and targets y (n,), with optional weights (n,)."""
        loss = Pinball(self.quantile)
        self._check()
        kernel, points, numbers, weights = self._accept_numbers(X, y, sample_weight, several=False)
        points = self._precise(kernel, points, weights, self.ridge)
        matrix, each = self._matrix(kernel, points, loss)
        w = each if weights is None else array_like(weights, each)
        fit = self._minimise(matrix, astype(numbers, each.dtype), w, loss)
        self._keep(matrix, points, [fit], Gram.of_checked(kernel, points).like, one=True)
        return self

    def predict(self, X: Any) -> Array:
        """Predicted quantiles: (n,)."""
        return self._values(X)


def chosen_class(values: Array, classes: np.ndarray) -> np.ndarray:
    """Class of the largest value, or by the sign of the single value of two classes."""
    scores = to_numpy(values)
    return classes[(scores > 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)]


def as_kind(tags: Any, *, classifier: bool) -> Any:
    """scikit-learn's tags of a classifier or a regressor."""
    from sklearn.utils import ClassifierTags, RegressorTags

    tags.estimator_type = "classifier" if classifier else "regressor"
    tags.classifier_tags = ClassifierTags() if classifier else None
    tags.regressor_tags = None if classifier else RegressorTags()
    tags.target_tags.required = True
    return tags
