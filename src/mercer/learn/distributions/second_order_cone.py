"""Support vector machine that separates whole distributions with a given probability."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer import validate
from mercer.backend import to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.learn.kernel_learner import KernelPredictor
from mercer.rkhs import Gaussian
from mercer.rkhs.embeddings.as_bags import as_bags

_DRAWS = 1000  # from mixtures and boxes, for their moments
_SMOOTHING = 10.0 ** -np.arange(0.0, 9.0)  # of the hinge: the gap is at most n C / 2 times the last


class SecondOrderConeSVC(ClassifierMixin, KernelPredictor):
    """Linear support vector classification of distributions by a second-order cone program.

    Minimises |w|^2 / 2 + C sum_i xi_i where every distribution, with the mean m_i and the covariance matrix S_i, has
    y_i (w'm_i + b) >= 1 - xi_i + kappa |S_i^(1/2) w|, xi_i >= 0: apart from the slack a draw is on its side of the
    margin with `probability` tau. kappa is the normal quantile at tau, or with ``normal=False``
    sqrt(tau / (1 - tau)), for all distributions with these moments. tau = 1/2 with normal distributions is the support
    vector machine on the means. This is the baseline to which support measure machines are compared; it is linear in
    the points.

    The hinge is smoothed less and less (Newton's method with a trust region, of SciPy), and the weights
    of the distributions give a lower bound on the minimum, from which `gap_` comes. Two classes only.

    Parameters
    ----------
    C : float
    probability : float
        tau, at least 1/2 for normal distributions.
    normal : bool
        Whether the distributions are normal.

    Attributes
    ----------
    coef_ : array (d,)
    intercept_ : float
    dual_coef_ : array (n,)
        Weights 0 <= a_i <= C of the distributions.
    gap_ : float
        Upper bound on how far the objective is above its minimum, relative to it.
    classes_, n_features_in_

    References
    ----------
    P. K. Shivaswamy, C. Bhattacharyya, A. J. Smola (2006). Second order cone programming approaches for handling
    missing and uncertain data. Journal of Machine Learning Research 7, 1283-1314.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian
    >>> x = [Gaussian([1.0, 0.0], [0.01, 4.0]), Gaussian([-1.0, 0.5], [0.01, 4.0])]
    >>> machine = SecondOrderConeSVC(C=100.0, probability=0.99).fit(x, [1, -1])
    >>> w = machine.coef_
    >>> bool(abs(w[1]) < 0.01 * abs(w[0]))  # not along the direction of large variance
    True
    >>> machine.predict([[2.0, 0.0], [-2.0, 5.0]])
    array([ 1, -1])
    """

    def __init__(self, C: float = 1.0, *, probability: float = 0.9, normal: bool = True) -> None:
        self.C = C
        self.probability = probability
        self.normal = normal

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the cone program for distributions X and labels y (n,)."""
        validate.positive("C", self.C)
        validate.between("probability", self.probability, 0.0, 1.0)
        if self.normal and self.probability < 0.5:
            raise ValueError(
                f"probability must be at least 0.5 for normal distributions, got {self.probability}: the problem is "
                "not convex below"
            )
        x, y = self._both(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported. SecondOrderConeSVC got "
                f"{len(self.classes_)} class{'es' * (len(self.classes_) != 1)}: for several use "
                "sklearn.multiclass.OneVsRestClassifier"
            )
        means, covs = _moments(x)
        self._check_width(means.shape[1], reset=True)
        signs = 2.0 * codes - 1
        cone = _SmoothedCone(means, covs, signs, self.C, self._kappa())
        theta = cone.minimum()
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1])
        self.dual_coef_, self.gap_ = cone.certificate(theta)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """w'm_i + b of the means of distributions or points: (n,)."""
        check_is_fitted(self)
        means, _ = _moments(self._numbers(X, reset=False))
        self._check_width(means.shape[1], reset=False)
        return means @ self.coef_ + self.intercept_

    def predict(self, X: Any) -> np.ndarray:
        """Class of each distribution or point: (n,)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def _kappa(self) -> float:
        from scipy.special import ndtri

        tau = self.probability
        return float(ndtri(tau)) if self.normal else float(np.sqrt(tau / (1 - tau)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class _SmoothedCone:
    """|w|^2 / 2 + C sum_i h(1 - y_i (w'm_i + b) + kappa |S_i^(1/2) w|) with h(z) = (z + sqrt(z^2 + s^2)) / 2."""

    def __init__(
        self, means: np.ndarray, covs: np.ndarray, signs: np.ndarray, C: float, kappa: float
    ) -> None:
        self.points = signs[:, None] * np.column_stack([means, np.ones(len(means))])
        largest = float(np.max(np.abs(covs)))
        self.covs, self.C, self.kappa = covs, C, kappa if largest else 0.0
        self.smoothing = 1.0
        # inside the root of |S^(1/2) w|, so that it has a derivative at 0
        self.rounding = 1e-18 * largest if largest else 1.0

    def minimum(self) -> np.ndarray:
        """w and b: (d + 1,)."""
        from scipy.optimize import minimize

        theta = np.zeros(self.points.shape[1])
        for self.smoothing in _SMOOTHING:
            theta = minimize(
                self.value, theta, jac=self.gradient, hess=self.hessian, method="trust-exact",
                options={"gtol": 1e-9 * self.C * max(float(np.max(np.abs(self.points))), 1.0), "maxiter": 300},
            ).x  # fmt: skip
        return theta

    def certificate(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Weights a_i of the distributions, and the relative gap between the objective and its dual.

        For weights with sum_i a_i y_i = 0 and unit vectors u_i the dual is sum_i a_i - |v|^2 / 2 with
        v = sum_i a_i (y_i m_i - kappa S_i^(1/2) u_i).
        """
        z, spreads = self._slacks(theta)
        weights = self.C * _slope(z, self.smoothing)
        pulled = spreads / self._lengths(theta, spreads)[:, None]  # S_i^(1/2) u_i
        v = weights @ (self.points[:, :-1] - self.kappa * pulled)
        primal = theta[:-1] @ theta[:-1] / 2 + self.C * np.sum(np.maximum(z, 0.0))
        dual = np.sum(weights) - v @ v / 2
        return weights, float(abs(primal - dual) / max(abs(primal), np.finfo(np.float64).tiny))

    def value(self, theta: np.ndarray) -> float:
        z, _ = self._slacks(theta)
        w = theta[:-1]
        return float(w @ w / 2 + self.C * np.sum(z + np.hypot(z, self.smoothing)) / 2)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        z, spreads = self._slacks(theta)
        gradient = self.C * _slope(z, self.smoothing) @ self._rows(theta, spreads)
        gradient[:-1] += theta[:-1]
        return gradient

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        z, spreads = self._slacks(theta)
        rows, lengths = self._rows(theta, spreads), self._lengths(theta, spreads)
        root = np.hypot(z, self.smoothing)
        bend = self.C * self.smoothing**2 / (2 * root**3)
        matrix = (rows.T * bend) @ rows
        matrix[:-1, :-1] += np.eye(len(theta) - 1)
        if self.kappa:
            pull = self.C * self.kappa * _slope(z, self.smoothing) / lengths
            matrix[:-1, :-1] += np.einsum("n,nij->ij", pull, self.covs)
            matrix[:-1, :-1] -= (spreads.T * (pull / lengths**2)) @ spreads
        return matrix

    def _slacks(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z_i (n,), and S_i w (n, d)."""
        spreads = self.covs @ theta[:-1]
        return 1 - self.points @ theta + self.kappa * self._lengths(theta, spreads), spreads

    def _lengths(self, theta: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        """|S_i^(1/2) w|: (n,)."""
        return np.sqrt(np.maximum(spreads @ theta[:-1], 0.0) + self.rounding)

    def _rows(self, theta: np.ndarray, spreads: np.ndarray) -> np.ndarray:
        """Derivatives of z_i: (n, d + 1)."""
        rows = -self.points
        rows[:, :-1] += self.kappa * spreads / self._lengths(theta, spreads)[:, None]
        return rows


def _slope(z: np.ndarray, smoothing: float) -> np.ndarray:
    """Derivative of the smoothed hinge, between 0 and 1, without cancellation for negative z."""
    root = np.hypot(z, smoothing)
    return np.where(z > 0, (1 + z / root) / 2, smoothing**2 / (2 * root * (root + np.abs(z))))


def _moments(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means (n, d) and covariance matrices (n, d, d) of distributions, bags and points."""
    known = [] if hasattr(x, "ndim") else [i for i, p in enumerate(x) if isinstance(p, Gaussian)]
    bags = as_bags(x, draws=_DRAWS, rng=0)
    points = to_numpy(bags.values).astype(np.float64)
    means = bags.means(points)
    _ask_for(len(points), points.shape[1])
    centred = points - np.repeat(means, bags.sizes, axis=0)
    products = (centred[:, :, None] * centred[:, None, :]).reshape(len(points), -1)
    covs = bags.means(products).reshape(len(means), means.shape[1], means.shape[1])
    for i in known:
        means[i] = x[i].mean
        covs[i] = np.diag(x[i].cov) if x[i].cov.ndim == 1 else x[i].cov
    return means, covs


def _ask_for(n: int, d: int) -> None:
    """Raise `MemoryBudgetError` if n matrices (d, d), twice, exceed the budget."""
    needed, budget = 16 * n * d * d, settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"the covariance matrices of {n:,} points with {d} columns need {needed / 2**20:,.0f} MiB, and the budget "
            f"is {budget / 2**20:,.0f} MiB: pass a Gaussian for each bag, or raise mercer.config(memory=...)"
        )
