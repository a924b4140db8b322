"""One-class support vector machine for novelty detection."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from mercer import validate
from mercer.backend import count
from mercer.kernels.base import Kernel
from mercer.learn.kernel_learner import weighted
from mercer.learn.machines.matrix_access import kernel_rows
from mercer.learn.machines.smo import Dual
from mercer.learn.machines.svm_base import Machine, SupportExpansion, check_definite


class OneClassSVC(OutlierMixin, Machine):
    """One-class support vector machine: a region {f(x) >= offset} that holds most of the points.

    At most a fraction `nu` of the points lies outside, at least that fraction are support vectors
    (Schoelkopf et al. 2001, prop. 3), and f has the smallest norm in the RKHS. Scaled as in LIBSVM: the
    coefficients lie between 0 and w_i, and their sum is nu sum_i w_i.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF with the median distance of the points as its bandwidth.
    nu : float
        Fraction of points that may lie outside, between 0 and 1.
    tol : float
        Tolerance of the optimality conditions.
    max_iter : int or None
        Largest number of steps, each of two coefficients. None: ten million.

    Attributes
    ----------
    function_ : Function
    offset_ : float
        ``decision_function(x) = score_samples(x) - offset_``.
    support_, support_vectors_
        Positions of the support vectors, and their points.
    gap_ : float
        Largest violation of the optimality conditions; at most `tol` after convergence.
    n_iter_ : array (1,)
    kernel_, n_features_in_, feature_names_in_

    References
    ----------
    B. Schoelkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson (2001). Estimating the
    support of a high-dimensional distribution. Neural Computation 13, 1443-1471.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> machine = OneClassSVC(RBF(1.0), nu=0.05).fit(x)
    >>> machine.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> bool(np.mean(machine.predict(x) < 0) < 0.06)
    True
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        nu: float = 0.5,
        *,
        tol: float = 1e-3,
        max_iter: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine to points X, with optional weights (n,); y is ignored."""
        self._check()
        x = self._numbers(X, reset=True)
        x, positions, weights = weighted(x, np.arange(count(x)), sample_weight)
        kernel, points = self._learn_from(x)
        points = self._precise_points(points)
        check_definite(kernel, points)
        n = count(points)
        upper = np.ones(n, dtype=np.float64) if weights is None else weights
        zero = np.zeros(n, dtype=np.float64)
        solution = self._solve(
            kernel_rows(kernel, points), Dual(zero, zero, upper), _feasible(upper, self.nu)
        )
        expansion = SupportExpansion.of(n, [(np.arange(n), solution)])
        self._keep(points, expansion)
        self.support_ = positions[expansion.index]
        self.offset_ = -float(expansion.offsets[0])
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Values f(x): (n,)."""
        return self._values(X)[:, 0]

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) - offset, negative outside the region: (n,)."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 inside the region, -1 outside: (n,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _check(self) -> None:
        super()._check()
        if self.nu != 1:
            validate.between("nu", self.nu, 0.0, 1.0)


def _feasible(upper: np.ndarray, nu: float) -> np.ndarray:
    """Feasible coefficients: the first ones at their upper bounds, until the sum is reached."""
    total = nu * float(upper.sum())
    before = np.cumsum(upper) - upper
    return np.clip(total - before, 0.0, upper)
