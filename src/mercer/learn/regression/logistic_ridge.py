"""Ridge of logistic regression by the log loss at left-out points, approximated from one fit for each ridge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import linalg
from mercer.backend import astype, count, double, to_numpy
from mercer.gram import Gram, cholesky
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken
from mercer.learn.conjugate_gradients import newton
from mercer.learn.regression.class_losses import Bernoulli, Categorical, Link
from mercer.learn.regression.multinomial import Multinomial
from mercer.rkhs.sample_rows import widened_for

MAX_ROWS = (
    1000  # points that the ridge is chosen on: it belongs to the prior of f, not to their number
)
_MAX_FEATURES = 300  # directions with the largest variance; the others change predictions little
_FEATURE_TOLERANCE = 1e-8  # share of the trace of the kernel matrix that the features may miss
_RIDGES = np.geomspace(10.0, 1e-5, 13)  # candidates, in units of the mean of k(x, x)
_AS_GOOD = 1.02  # times the smallest log loss: of ridges that are about as good the largest, whose fit is quickest
_HOPELESS = 1.2  # times the smallest log loss: smaller ridges, which take longest, are not tried
_NEWTON_STEPS, _NEWTON_TOLERANCE = 30, 1e-4  # of fits that only their log losses are needed of
_SEED = 0  # of the choice of points, so that the same data give the same ridge


def chosen_rows(n: int) -> np.ndarray:
    """Positions of the points on which a ridge is chosen: all, or a random subset with a fixed seed."""
    if n <= MAX_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(_SEED).choice(n, MAX_ROWS, replace=False))


def ridge_for_points(
    kernel: Kernel,
    points: Points,
    codes: np.ndarray,
    weights: np.ndarray | None,
    *,
    intercept: bool,
) -> float:
    """The ridge of kernel logistic regression with the smallest log loss at left-out points."""
    rows = chosen_rows(count(points))
    subset = widened_for(kernel, taken(points, rows))
    gram = Gram(kernel, subset)
    columns = cholesky(gram, tolerance=_FEATURE_TOLERANCE, most=_MAX_FEATURES).columns
    features = to_numpy(astype(columns, double(columns)))
    unit = float(np.mean(to_numpy(gram.diagonal())))
    kept = None if weights is None else weights[rows]
    return ridge_for_features(features, codes[rows], kept, unit, intercept=intercept)


def ridge_for_features(
    features: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    unit: float,
    *,
    intercept: bool,
) -> float:
    """The same for features (n, r) with |f|^2 = |coefficients|^2, and ridges in units of `unit`."""
    present, codes = np.unique(codes, return_inverse=True)
    ridges = _RIDGES * (unit if unit > 0 else 1.0)
    if len(present) < 2 or len(codes) < 4:
        return float(ridges[len(ridges) // 2])
    two = len(present) == 2
    hot = codes[:, None].astype(np.float64) if two else np.eye(len(present))[codes]
    each = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    path = _Path(
        *_directions(features), hot, each, Bernoulli() if two else Categorical(), intercept
    )
    coefficients = np.zeros((path.vectors.shape[1] + 1, hot.shape[1]))
    losses: list[float] = []
    for ridge in ridges:
        coefficients = path.fitted(float(ridge), coefficients)
        losses.append(path.left_out_loss(float(ridge), coefficients))
        if losses[-1] > _HOPELESS * min(losses):
            break
    return float(ridges[int(np.argmax(np.array(losses) <= _AS_GOOD * min(losses)))])


def _directions(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and orthonormal eigenvectors (n, r) of ZZ', the largest, without those of rounding."""
    values, rotation = linalg.eigh(features.T @ features)
    order = np.argsort(values)[::-1][:_MAX_FEATURES]
    order = order[values[order] > _FEATURE_TOLERANCE * max(float(values.max(initial=0.0)), 1e-300)]
    return values[order], features @ (rotation[:, order] / np.sqrt(values[order]))


@dataclass(frozen=True, eq=False)
class _Path:
    """Fits to the same labels with ridges of a path: F = U theta + 1 b', penalised by theta_j^2 / s_j."""

    values: np.ndarray  # s, (r,)
    vectors: np.ndarray  # U, (n, r)
    hot: np.ndarray  # (n, C)
    weights: np.ndarray  # (n,)
    link: Link
    intercept: bool

    def fitted(self, ridge: float, start: np.ndarray) -> np.ndarray:
        """theta (r, C) and b last, from those of another ridge."""
        top = float(self.weights.max()) * self.link.bound
        scale = np.sqrt(self.values / (top * self.values + 2 * ridge))
        problem = Multinomial(
            self.vectors * scale,
            self.hot,
            self.weights,
            ridge,
            scale**2 / self.values,
            self.intercept,
            self.link,
        )
        unit = np.append(scale, problem.unit or 1.0)[:, None]
        minimum = newton(problem.look, start / unit, _NEWTON_STEPS, _NEWTON_TOLERANCE)
        return minimum.point * unit

    def left_out_loss(self, ridge: float, coefficients: np.ndarray) -> float:
        """Mean log loss where each point is left out, by one Newton step from the fit to all.

        With the inverse Hessian G of a class and u the features of a point, u'Gu (p - y) / (1 -
        p (1 - p) u'Gu) is added to its value (Cawley and Talbot 2008, eq. 12). Values of C classes add up
        to zero, and the curvature there is about C / (C - 1) times that of a class alone: equal to it
        for two classes, and for many with equal probabilities. A point of weight two is two points,
        of which one is left out.
        """
        f = self.vectors @ coefficients[:-1] + coefficients[-1]
        p, removed = self.link.mean(f), np.minimum(self.weights, 1.0)
        design, penalty = self.vectors * np.sqrt(self.values), np.full(len(self.values), 2 * ridge)
        if self.intercept:
            design = np.column_stack([design, np.ones(len(f))])
            penalty = np.append(penalty, 0.0)
        left_out, classes = np.empty_like(f), f.shape[1]
        coupling = classes / (classes - 1) if classes > 1 else 1.0
        for c in range(f.shape[1]):
            spread = coupling * p[:, c] * (1 - p[:, c])
            hessian = (design * (self.weights * spread)[:, None]).T @ design
            hessian[np.diag_indices_from(hessian)] += penalty + 1e-12 * np.trace(hessian) + 1e-12
            leverage = np.sum(design @ linalg.inv(hessian) * design, axis=1)
            room = np.maximum(1 - removed * spread * leverage, 1e-6)
            left_out[:, c] = f[:, c] + removed * leverage * (p[:, c] - self.hot[:, c]) / room
        losses = self.link.lost(left_out, self.hot)
        return float(self.weights @ losses / self.weights.sum())
