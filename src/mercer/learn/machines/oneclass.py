"""Novelty: what is unlike all that was seen."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from mercer import validate
from mercer.backend import count
from mercer.kernels.base import Kernel
from mercer.learn.kernel_learner import weighted
from mercer.learn.machines.matrix_access import rows_of
from mercer.learn.machines.smo import Dual
from mercer.learn.machines.svm_base import Machine, Trained, definite


class OneClassSVC(OutlierMixin, Machine):
    """One class: the region {f(x) >= offset} that holds all but a share `nu` of the points.

    f is the function of the smallest norm in the RKHS that leaves at most a share `nu` of the
    points outside; at least that share are support vectors (Schoelkopf et al. 2001, prop. 3). Scaled as
    in LIBSVM: the coefficients lie between 0 and w_i, and their sum is nu sum_i w_i.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the points.
    nu : float
        The share of points that may lie outside, between 0 and 1.
    tol : float
        The gap in the optimality conditions at which to stop.
    max_iter : int or None
        Steps of two coefficients at most; None: ten million.

    Attributes
    ----------
    function_ : Function
    offset_ : float
        ``decision_function(x) = score_samples(x) - offset_``.
    support_, support_vectors_
        Positions of the support vectors, and the points there.
    gap_ : float
        The largest violation of the optimality conditions, at most `tol` when it converged.
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
    >>> seen = OneClassSVC(RBF(1.0), nu=0.05).fit(x)
    >>> seen.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> bool(np.mean(seen.predict(x) < 0) < 0.06)
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
        """Learn from points X, with weights (n,) if there are any; y is ignored."""
        self._check()
        x = self._numbers(X, reset=True)
        x, kept, given = weighted(x, np.arange(count(x)), sample_weight)
        kernel, points = self._learn_from(x)
        points = self._fine(points)
        definite(kernel, points)
        n = count(points)
        weights = np.ones(n, dtype=np.float64) if given is None else given
        zero = np.zeros(n, dtype=np.float64)
        solution = self._solve(
            rows_of(kernel, points), Dual(zero, zero, weights), first(weights, self.nu)
        )
        found = Trained.of(n, [(np.arange(n), solution)])
        self._keep(points, found)
        self.support_ = kept[found.index]
        self.offset_ = -float(found.offsets[0])
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """f(x) at new points: (n,)."""
        return self._values(X)[:, 0]

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) - offset, negative outside: (n,)."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 inside, -1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _check(self) -> None:
        super()._check()
        if self.nu != 1:
            validate.between("nu", self.nu, 0.0, 1.0)


def first(weights: np.ndarray, nu: float) -> np.ndarray:
    """Feasible coefficients: as large as they may be, one after the other, until the sum is reached."""
    total = nu * float(weights.sum())
    before = np.cumsum(weights) - weights
    return np.clip(total - before, 0.0, weights)
