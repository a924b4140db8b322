"""What may differ between the training data and the points to predict, and how training data are corrected for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import to_numpy
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.discrete import Delta
from mercer.kernels.radial import RBF
from mercer.rkhs.mean_matching import kernel_mean_matching, matched_weights

_MAX_STEPS = 300  # of the search for locations and scales
_ROUNDS = 3  # of weights and locations in turn: weights change little after the second


@dataclass(frozen=True, eq=False)
class AdaptedSample:
    """Training points and weights that stand for the target domain.

    Attributes
    ----------
    points : array (n, d)
    weights : array (n,), one on average
    """

    points: np.ndarray
    weights: np.ndarray


class Shift(ABC):
    """A relation between the distributions of two domains."""

    @abstractmethod
    def adapted(
        self, x: np.ndarray, y: np.ndarray, target: np.ndarray, labels: bool
    ) -> AdaptedSample:
        """Training points x with targets y, `labels` or numbers, corrected for points of the target domain."""


@dataclass(frozen=True)
class CovariateShift(Shift):
    """P(X) changes and P(Y | X) does not: weights by `kernel_mean_matching`.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of both domains.
    largest : float
        Bound on the weights.
    """

    kernel: Kernel | None = None
    largest: float = 1000.0

    def adapted(
        self, x: np.ndarray, y: np.ndarray, target: np.ndarray, labels: bool
    ) -> AdaptedSample:
        weights = kernel_mean_matching(x, target, kernel=self.kernel, largest=self.largest)
        return AdaptedSample(x, weights)


@dataclass(frozen=True)
class TargetShift(Shift):
    """P(Y) changes and P(X | Y) does not: weights b(y) for which the reweighted P(X) is that of the target domain.

    Minimises |mean_i b_i U(y_i) - mean_j k(t_j, .)|^2 with the conditional embedding U(y) of X given y, estimated with
    the kernel l of y, so that only points of the target domain are needed and no labels (Zhang et al.
    2013, section 3). The weights are functions of y: those of points of a class are equal.

    Parameters
    ----------
    kernel, target_kernel : Kernel or None
        k of points, None: RBF at half the median distance of both domains; and l of targets, None: `Delta` for labels,
        RBF at the median distance for numbers.
    ridge : float
        Ridge of the conditional embedding, times n.
    largest : float
        Bound on the weights.

    References
    ----------
    K. Zhang, B. Schölkopf, K. Muandet, Z. Wang (2013). Domain adaptation under target and conditional shift. ICML.
    """

    kernel: Kernel | None = None
    target_kernel: Kernel | None = None
    ridge: float = 1e-3
    largest: float = 10.0

    def __post_init__(self) -> None:
        validate.positive("ridge", self.ridge)
        validate.positive("largest", self.largest)

    def adapted(
        self, x: np.ndarray, y: np.ndarray, target: np.ndarray, labels: bool
    ) -> AdaptedSample:
        return AdaptedSample(x, self._weights(x, _smoother(self, y, labels), target))

    def _weights(self, x: np.ndarray, smoother: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Weights of points whose targets have this smoothing matrix."""
        kernel = _point_kernel(self.kernel, x, target)
        n = len(x)
        values = _matrix(kernel, x, x)
        means = _matrix(kernel, x, target).mean(axis=1)
        weights = matched_weights(
            smoother.T @ values @ smoother / n, smoother.T @ means, self.largest, n**-0.5
        )
        rows = smoother / smoother.sum(axis=1, keepdims=True)
        weights = np.maximum(rows @ weights, 0.0)  # as functions of y
        return weights / weights.mean()


@dataclass(frozen=True)
class ConditionalShift(Shift):
    """P(X | Y) changes in location and scale, and P(Y) may change: training points are moved, and weighted.

    The point x_i becomes x_i * s(y_i) + m(y_i), coordinate by coordinate, so that the embedding of the moved and weighted
    points is nearest to that of the target domain; s and m are functions of y, close to 1 and 0 as far as `penalty`
    says (Zhang et al. 2013, sections 4 and 5). Weights are those of `TargetShift`, found in turn with the locations;
    ``reweighted=False`` leaves P(Y) as it is.

    Parameters
    ----------
    kernel, target_kernel, ridge, largest
        As in `TargetShift`.
    penalty : float
        Weight of mean (s - 1)^2 + mean (m / sd x)^2 against MMD^2.
    reweighted : bool
    """

    kernel: Kernel | None = None
    target_kernel: Kernel | None = None
    ridge: float = 1e-3
    largest: float = 10.0
    penalty: float = 1e-4
    reweighted: bool = True

    def __post_init__(self) -> None:
        validate.positive("ridge", self.ridge)
        validate.positive("largest", self.largest)
        validate.non_negative("penalty", self.penalty)

    def adapted(
        self, x: np.ndarray, y: np.ndarray, target: np.ndarray, labels: bool
    ) -> AdaptedSample:
        prior = TargetShift(self.kernel, self.target_kernel, self.ridge, self.largest)
        smoother = _smoother(prior, y, labels)
        kernel = _point_kernel(self.kernel, x, target)
        if not isinstance(kernel, RBF):
            raise TypeError(f"ConditionalShift needs an RBF kernel of points, got {kernel!r}")
        moved, weights = x, np.ones(len(x))
        for _ in range(_ROUNDS if self.reweighted else 1):
            moved = _moved(x, _basis(smoother), target, weights, kernel.bandwidth, self.penalty)
            if self.reweighted:
                weights = prior._weights(moved, smoother, target)
        return AdaptedSample(moved, weights)


# ---- private ------------------------------------------------------------------------------


def _matrix(kernel: Kernel, x: Any, y: Any) -> np.ndarray:
    """Kernel matrix (n, m) in float64, inside the memory budget."""
    return to_numpy(Gram(kernel, x, None if y is x else y).dense()).astype(np.float64)


def _point_kernel(kernel: Kernel | None, x: np.ndarray, target: np.ndarray) -> Kernel:
    return _half_median(np.concatenate([x, target])) if kernel is None else kernel


def _half_median(points: np.ndarray) -> RBF:
    """RBF at half the median distance, at which embeddings still differ by small changes."""
    return RBF(median_rbf(points).bandwidth / 2)


def _smoother(shift: TargetShift, y: np.ndarray, labels: bool) -> np.ndarray:
    """A = (L + ridge n I)^-1 L, whose column i has the weights of the points in U(y_i): (n, n)."""
    default = Delta() if labels else median_rbf(y.reshape(len(y), -1).astype(np.float64), name="y")
    kernel = default if shift.target_kernel is None else shift.target_kernel
    points = kernel.accept(y if y.ndim > 1 else y[:, None], "y")
    values = _matrix(kernel, points, points)
    n = len(y)
    return linalg.solve(values + shift.ridge * n * np.eye(n), values)


def _basis(smoother: np.ndarray) -> np.ndarray:
    """Orthonormal functions of y that the smoother leaves nearly as they are: (n, r)."""
    values, vectors = linalg.eigh((smoother + smoother.T) / 2)
    return vectors[:, values > 0.5]


def _moved(
    x: np.ndarray, basis: np.ndarray, target: np.ndarray, weights: np.ndarray, bandwidth: float, penalty: float
) -> np.ndarray:  # fmt: skip
    """Points x * s + m with s and m in the span of the basis, by the gradient of MMD^2 (L-BFGS)."""
    from scipy.optimize import minimize

    (n, d), r = x.shape, basis.shape[1]
    spread = np.maximum(x.std(axis=0), np.finfo(np.float64).tiny)
    w = weights / n
    unit = float(np.sqrt(n))

    def points(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scale, location = (basis @ t * unit for t in theta.reshape(2, r, d))
        return x * (1 + scale) + location * spread, scale, location

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z, scale, location = points(theta)
        value, slope = _squared_distance(z, w, target, bandwidth)
        value += penalty * float(np.mean(scale**2) + np.mean(location**2))
        slopes = np.stack(
            [basis.T @ (slope * x), basis.T @ (slope * spread)]
        ) * unit + 2 * penalty * unit * np.stack([basis.T @ scale, basis.T @ location]) / (n * d)
        return value, slopes.ravel()

    start = np.zeros(2 * r * d)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _MAX_STEPS})
    return points(found.x)[0]


def _squared_distance(
    z: np.ndarray, w: np.ndarray, target: np.ndarray, bandwidth: float
) -> tuple[float, np.ndarray]:
    """|sum_i w_i k(z_i, .) - mean_j k(t_j, .)|^2 less a constant, and its gradient in the points: (n, d)."""
    kernel = RBF(bandwidth)
    own, other = _matrix(kernel, z, z) * w, _matrix(kernel, z, target) / len(target)
    value = float(w @ own.sum(axis=1) - 2 * w @ other.sum(axis=1))
    pulls = own @ z - own.sum(axis=1)[:, None] * z
    pulls -= other @ target - other.sum(axis=1)[:, None] * z
    return value, 2 * w[:, None] * pulls / bandwidth**2
