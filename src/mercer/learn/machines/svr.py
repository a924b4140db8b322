"""Support vector regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from mercer import validate
from mercer.backend import to_numpy
from mercer.kernels.base import Kernel
from mercer.learn.landmark_features import refuse_beyond_memory
from mercer.learn.machines.matrix_access import kernel_rows
from mercer.learn.machines.smo import Dual
from mercer.learn.machines.svm_base import Machine, SupportExpansion, check_definite, increasing
from mercer.learn.target_scale import spread


class SVR(RegressorMixin, Machine):
    """Support vector regression with the epsilon-insensitive loss.

    Minimises |f|^2 / 2 + C sum_i w_i max(0, |y_i - f(x_i) - b| - epsilon) over functions f and
    offsets b. f is a sum over the points outside the tube or on its boundary, the support vectors.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF with the median distance of the points as its bandwidth.
    C : float or None
        Penalty of errors. None: the spread of y, 1.25 times its mean absolute deviation from its
        median (for normal data its standard deviation).
    epsilon : float or None
        Half the width of the tube, in units of y; 0 for the absolute loss. None: a tenth of the spread
        of y. With the defaults of C and epsilon, predictions follow shifts and changes of scale of y.
    tol : float
        Tolerance of the optimality conditions, in units of the spread of y (rounded to a power of
        two).
    max_iter : int or None
        Largest number of steps, each of two coefficients. None: ten million.

    Attributes
    ----------
    function_ : Function
    intercept_ : float
    support_, support_vectors_
        Positions of the support vectors, and their points.
    gap_ : float
        Largest violation of the optimality conditions, in the units of `tol`; at most `tol` after
        convergence.
    n_iter_ : array (1,)
    kernel_, n_features_in_, feature_names_in_

    References
    ----------
    A. Smola, B. Schoelkopf (2004). A tutorial on support vector regression. Statistics and
    Computing 14, 199-222. Eq. 10 with b_i = alpha_i - alpha_i^*.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sinc(x[:, 0]) + 0.05 * rng.normal(size=200)
    >>> svr = SVR(RBF(1.0), C=10.0, epsilon=0.1).fit(x, y)
    >>> svr.predict([[0.0], [1.0]]).round(1)
    array([1., 0.])
    >>> len(svr.support_) < 40
    True
    """

    intercept_: float

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float | None = None,
        *,
        epsilon: float | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to points X and targets y (n,); optional weights (n,) multiply C."""
        return _fit_all([self], X, y, sample_weight)[0]

    def path(self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None) -> list[Self]:
        """Fit a machine for every C, each started at the solution before; returned in the given order."""
        return _fit_all([self._with_C(c) for c in C], X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values f(x) + b: (n,)."""
        return self._values(X)[:, 0] + self.intercept_

    def _check(self) -> None:
        super()._check()
        if self.C is not None:
            validate.positive("C", self.C)
        if self.epsilon is not None:
            validate.non_negative("epsilon", self.epsilon)


def _fit_all(machines: list[SVR], X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Fit machines that differ in C only."""
    if not machines:
        raise ValueError("a path needs at least one C, got none")
    for machine in machines:
        machine._check()
    first = machines[0]
    refuse_beyond_memory(X, "SVR", "use NystromRidge, which reads them part by part")
    kernel, points, target, weights = first._accept_numbers(X, y, sample_weight, several=False)
    points = first._precise_points(points)
    check_definite(kernel, points)
    numbers = to_numpy(target).astype(np.float64)
    factors = np.ones(len(numbers), dtype=np.float64) if weights is None else weights
    scale = spread(numbers, factors) or 1.0
    unit = 2.0 ** round(log2(scale))  # y / unit is exact, as the unit is a power of two
    width = (0.1 * scale if first.epsilon is None else float(first.epsilon)) / unit
    ordered, positions = increasing((scale if m.C is None else m.C) / unit for m in machines)
    solutions = first._solve_path(
        kernel_rows(kernel, points),
        lambda C: Dual(numbers / unit, -C * factors, C * factors, width),
        ordered,
    )
    for machine, position in zip(machines, positions, strict=True):
        s = solutions[position]
        s = replace(s, b=unit * s.b, values=unit * s.values, offset=unit * s.offset)
        expansion = SupportExpansion.of(len(numbers), [(np.arange(len(numbers)), s)])
        machine._copy_fitted(first)
        machine._keep(points, expansion, sample_weight)
        machine.intercept_ = float(expansion.offsets[0])
    return machines
