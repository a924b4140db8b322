"""Nystrom kernel ridge regression on landmarks, with streamed data."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, astype, count, double, is_array, take_rows
from mercer.features.choose_landmarks import LandmarkRule, UniformLandmarks
from mercer.gram import Gram, LazyMatrix
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import read
from mercer.kernels.take import taken
from mercer.learn.kernel_learner import with_intercept
from mercer.learn.landmarks.ridge_solvers import Solver
from mercer.learn.landmarks.streaming import StreamedLearner, StreamedRidge
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import widened_for

_KERNEL_SAMPLE = 2000  # points from which a kernel is chosen where the landmarks are given


class OnLandmarks(StreamedLearner):
    """Rows k(x, l_1) ... k(x, l_m), for landmarks l that are drawn from the data or given."""

    landmarks: Any
    rule: LandmarkRule | None
    _doubled: bool = False  # whether kernel values of float32 points are computed in float64

    def _number(self) -> int | None:
        """How many landmarks; None where they are given."""
        landmarks = self.landmarks
        if is_array(landmarks) or (
            isinstance(landmarks, Sized) and not isinstance(landmarks, str | bytes)
        ):
            return None
        validate.whole("landmarks", self.landmarks)
        return int(self.landmarks)

    def _needs_points(self) -> str | None:
        return "its landmarks are points" if self._number() is None else None

    def _rule(self) -> LandmarkRule:
        rule = UniformLandmarks() if self.rule is None else self.rule
        validate.instance("rule", rule, LandmarkRule, "a rule, such as KMeansPlusPlus(), or None")
        return rule

    def _pool(self) -> int:
        number = self._number()
        return _KERNEL_SAMPLE if number is None else self._rule().pool(number)

    def _prepare(self, kernel: Kernel, sample: Points, rng: np.random.Generator) -> Array | None:
        number, rule = self._number(), self._rule()
        self._doubled = False
        if number is None:
            self.landmarks_ = self._given(sample)
        else:
            self.landmarks_ = taken(sample, rule.choose(kernel, sample, number, rng))
        if number is not None and isinstance(rule, UniformLandmarks):
            return None
        m = min(count(self.landmarks_), count(sample))
        subset = taken(sample, np.sort(rng.choice(count(sample), m, replace=False)))
        return Gram(kernel, subset, self.landmarks_).dense()

    def _given(self, sample: Points) -> Points:
        """The landmarks that were given, as points like those of a sample."""
        landmarks, _ = read(self.kernel_, self.landmarks, self._columns, "landmarks")
        if not (is_array(landmarks) and is_array(sample)):
            return landmarks
        if landmarks.shape[1:] != sample.shape[1:]:
            raise ValueError(
                f"landmarks must have as many columns as X, got {landmarks.shape[1]} and "
                f"{sample.shape[1]}"
            )
        return array_like(landmarks, sample)

    def _design(self, points: Points) -> LazyMatrix:
        points = widened_for(self._bound, points) if self._doubled else points
        return Gram(self._bound, points, self.landmarks_)

    def _widen(self) -> bool:
        landmarks = widened_for(self._bound, self.landmarks_)
        changed = landmarks is not self.landmarks_
        self.landmarks_, self._doubled = landmarks, self._doubled or changed
        return changed

    def _penalty(self) -> Array:
        dense = Gram(self._bound, self.landmarks_).dense()
        return astype(dense, double(dense))


class NystromRidge(OnLandmarks, StreamedRidge):
    """Kernel ridge regression on m landmarks, for any number of points.

    f = sum_j c_j k(l_j, .) and b minimise sum_i w_i (y_i - f(x_i) - b)^2 + ridge |f|^2 over the span
    of the k(l_j, .) and all intercepts b, which are not penalised. `ridge` belongs to the **summed** loss.
    The data are read in batches, of which only a few are in memory; with about sqrt(n) landmarks the error
    is of the order of that of the exact `KernelRidge` (Rudi et al. 2015).

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance; `default_kernel` where a frame has categories. For a source, that is the median distance
        of the points that were drawn from it.
    ridge : float
    landmarks : int or points
        Number drawn from the data (all points, if there are fewer), or the landmarks themselves.
    rule : LandmarkRule or None
        Sampling rule: `UniformLandmarks()`, `KMeansPlusPlus()` or `LeverageScores()`.
    solver : Solver or None
        `NormalEquations()`, one pass, or `ConjugateGradients()`, many. None: normal equations up to
        2,000 landmarks.
    intercept : bool
        Whether to fit an intercept b, as in `KernelRidge`.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    function_ : Function
        f, a sum over the landmarks, without the intercept.
    intercept_ : float or array (q,)
        b, one for each column of y.
    landmarks_ : points (m, d)
    kernel_ : Kernel
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    Normal equations square the condition number of the kernel values, and with it the rounding of
    float32. So float32 data are computed in float64 where that takes a tenth of a second or less, where they
    can be read only once, and where a refinement moves the fitted values by more than 5%. Otherwise kernel
    values are float32 and their sums float64: with a smooth kernel and a small ridge predictions can
    then be off by several percent of the deviation of y, far from the data by more; hand in float64
    where that matters. Predictions keep the dtype of the points. Takes tensors
    on a GPU, and works there.

    References
    ----------
    A. Rudi, R. Camoriano, L. Rosasco (2015). Less is more: Nystrom computational regularization.
    NeurIPS. A. Rudi, L. Carratino, L. Rosasco (2017). FALKON: an optimal large scale kernel method.
    NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(20_000, 1))
    >>> y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=20_000)
    >>> ridge = NystromRidge(RBF(0.5), 0.1, landmarks=100, random_state=0).fit(x, y)
    >>> ridge.predict([[0.5]]).round(2)  # sin(1)
    array([0.84])
    >>> ridge.function_
    Function(RBF(bandwidth=0.5), 100 points)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        ridge: float = 1.0,
        *,
        landmarks: Any = 1000,
        rule: LandmarkRule | None = None,
        solver: Solver | None = None,
        intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.landmarks = landmarks
        self.rule = rule
        self.solver = solver
        self.intercept = intercept
        self.random_state = random_state

    def predict(self, X: Any) -> Array:
        """Predicted values f(x) + b: (n,) or (n, q)."""
        gram, dtype = self._values_at(X)
        values = gram @ self.function_.weights
        return astype(with_intercept(values, self.intercept_), dtype)

    def _keep(self, coefficients: Array) -> None:
        like = self._bound.diag(take_rows(self.landmarks_, slice(0, 1)))
        weights = astype(coefficients, like.dtype)
        self.function_ = Function(self.kernel_, self.landmarks_, weights, self._columns)
