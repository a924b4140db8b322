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
from mercer.learn.machines.matrix_access import rows_of
from mercer.learn.machines.smo import Dual
from mercer.learn.machines.svm_base import Machine, Trained, definite, rising, some
from mercer.learn.target_scale import spread


class SVR(RegressorMixin, Machine):
    """Support vector regression: errors up to `epsilon` cost nothing, larger ones in proportion.

    Minimises |f|^2 / 2 + C sum_i w_i max(0, |y_i - f(x_i) - b| - epsilon) over functions f and
    offsets b. f is a sum over the points outside the tube or on its wall, the support vectors.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the points.
    C : float or None
        The price of an error. None: the spread of y, 1.25 times its mean absolute deviation from its
        median (the standard deviation of normal data).
    epsilon : float or None
        Half the width of the tube, in the unit of y; 0 for absolute errors. None: a tenth of the
        spread of y. With C and epsilon left out, the predictions for a y + b are those for y, times
        a, plus b.
    tol : float
        The gap in the optimality conditions at which to stop, in units of the spread of y (rounded
        to a power of two).
    max_iter : int or None
        Steps of two coefficients at most; None: ten million.

    Attributes
    ----------
    function_ : Function
    intercept_ : float
    support_, support_vectors_
        Positions of the support vectors, and the points there.
    gap_ : float
        The largest violation of the optimality conditions, in the unit of `tol`; at most `tol` when
        it converged.
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
        """Learn from points X and numbers y (n,), with weights (n,) that multiply C if there are any."""
        return _fitted([self], X, y, sample_weight)[0]

    def path(self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None) -> list[Self]:
        """Machines for several C, each solved from the one before it; in the order that was given."""
        return _fitted([self._at(c) for c in C], X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """f(x) + b at new points: (n,)."""
        return self._values(X)[:, 0] + self.intercept_

    def _check(self) -> None:
        super()._check()
        if self.C is not None:
            validate.positive("C", self.C)
        if self.epsilon is not None:
            validate.non_negative("epsilon", self.epsilon)


def _fitted(machines: list[SVR], X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Fit machines that differ in C only."""
    for machine in machines:
        machine._check()
    first = some(machines)
    kernel, points, target, weights = first._accept_numbers(X, y, sample_weight, several=False)
    points = first._fine(points)
    definite(kernel, points)
    numbers = to_numpy(target).astype(np.float64)
    each = np.ones(len(numbers), dtype=np.float64) if weights is None else weights
    size = spread(numbers, each) or 1.0
    unit = 2.0 ** round(log2(size))  # solved for y / unit, without rounding
    width = (0.1 * size if first.epsilon is None else float(first.epsilon)) / unit
    ordered, places = rising((size if m.C is None else m.C) / unit for m in machines)
    found = first._along(
        rows_of(kernel, points), lambda C: Dual(numbers / unit, -C * each, C * each, width), ordered
    )
    for machine, place in zip(machines, places, strict=True):
        one = found[place]
        one = replace(one, b=unit * one.b, values=unit * one.values, offset=unit * one.offset)
        trained = Trained.of(len(numbers), [(np.arange(len(numbers)), one)])
        machine._as(first)
        machine._keep(points, trained, sample_weight)
        machine.intercept_ = float(trained.offsets[0])
    return machines
