"""Features of variables, and ridge regression of features of x and y on those of z."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer import linalg
from mercer.backend import Array, astype, double, is_array, to_numpy
from mercer.gram import Gram, cholesky
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Points
from mercer.kernels.take import taken
from mercer.rkhs.paired_samples import Variable

FEATURES = 50  # of x and of y: nine tenths and more of the variance of a Gaussian kernel in a few dimensions
REGRESSORS = 200  # of z, on which x and y are regressed
_ADDITIVE, _MAX_ADDITIVE = (
    8,
    30,
)  # features of one column of z, and columns up to which they are taken
_MAX_DEGREES_SHARE = 0.5  # of the observations; with more, cross-validation errors are unstable
_TOLERANCE = 1e-6  # share of the trace of the kernel matrix that features may miss
_NEGLIGIBLE = 1e-9  # of the largest value: z determines the variable up to rounding
_RIDGES = 10.0 ** np.arange(-8.0, 1.01, 0.5)  # candidates, in units of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class CholeskyFeatures:
    """Features of a kernel at n observations, k(x_i, x_j) ~ <a_i, a_j>, and at other points.

    They are those of a pivoted Cholesky factor: a(x) = L^-1 k(p, x) with the kernel matrix LL' of the
    pivots p.
    """

    variable: Variable
    values: np.ndarray  # (n, r)
    pivots: np.ndarray

    @classmethod
    def of(cls, variable: Variable, most: int) -> CholeskyFeatures:
        """At most so many features."""
        factor = cholesky(variable.gram, tolerance=_TOLERANCE, most=most)
        columns = to_numpy(astype(factor.columns, double(factor.columns)))
        return cls(variable, columns, np.asarray(factor.pivots))

    def at(self, points: Array) -> np.ndarray:
        """Features of other points, in the coordinates of the user: (m, r)."""
        origin = self.variable.origin
        points = points if origin is None else points - origin
        at_pivots: Points = taken(self.variable.points, self.pivots)
        k = to_numpy(Gram(self.variable.kernel, points, at_pivots).dense()).astype(np.float64)
        return linalg.solve(self._lower, k.T).T

    @cached_property
    def _lower(self) -> np.ndarray:
        return self.values[self.pivots]


@dataclass(frozen=True, eq=False)
class Regressors:
    """What is regressed on, n rows: all columns, or the first few of them where those predict as well."""

    values: np.ndarray  # (n, r)
    cuts: tuple[int, ...]  # numbers of leading columns that are candidates

    def rows(self, rows: np.ndarray) -> Regressors:
        """Those of some observations."""
        return Regressors(self.values[rows], self.cuts)


def regressors(z: Variable) -> Regressors:
    """Columns of z and features of each of them, where they are numbers, and features of the kernel of z.

    The first two are an additive model, for which regressions in ten dimensions need far fewer
    observations; generalised cross-validation decides whether it is enough.
    """
    joint = CholeskyFeatures.of(z, REGRESSORS).values
    if not _is_numeric(z):
        return Regressors(joint, (joint.shape[1],))
    columns = _standardized(to_numpy(z.points).astype(np.float64))
    width = columns.shape[1]
    if not 1 < width <= _MAX_ADDITIVE:
        return Regressors(np.column_stack([columns, joint]), (width + joint.shape[1],))
    single = [
        CholeskyFeatures.of(Variable(z.name, median_rbf(c, name=z.name), c, None), _ADDITIVE).values
        for c in (columns[:, j : j + 1] for j in range(width))
    ]
    additive = np.column_stack([columns, *single])
    values = np.column_stack([additive, joint])
    return Regressors(values, (width, additive.shape[1], values.shape[1]))


def _is_numeric(variable: Variable) -> bool:
    """Whether a variable is an array of numbers without categories."""
    points, columns = variable.points, variable.columns
    if not is_array(points) or points.ndim != 2:
        return False
    return columns is None or not any(columns.categorical)


def _standardized(columns: np.ndarray) -> np.ndarray:
    """Columns that vary, with mean 0 and variance 1."""
    spread = columns.std(axis=0)
    varying = spread > _NEGLIGIBLE * np.maximum(np.max(np.abs(columns), axis=0), 1e-300)
    return (columns[:, varying] - columns[:, varying].mean(axis=0)) / spread[varying]


def noise_of(variable: Variable, z: Regressors) -> Variable:
    """A numeric variable less its regression on z, with an RBF at the median distance of the rest.

    Given z, it and the variable say the same, and features of what is left need hardly be regressed on z
    where the noise is additive: of cos(x) with x a sum over ten columns of z no regression gets hold. Other
    points, such as categories, stay as they are.
    """
    if not _is_numeric(variable):
        return variable
    columns = to_numpy(variable.points).astype(np.float64)
    columns = columns if variable.columns is None else _standardized(columns)
    rest = residuals(z, columns)
    if np.max(np.abs(rest)) <= _NEGLIGIBLE * max(float(np.max(np.abs(columns))), 1e-300):
        return variable
    return Variable(variable.name, median_rbf(rest, name=variable.name), rest, None)


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """A ridge regression with intercept; ridge and columns are chosen by generalised cross-validation."""

    means: tuple[np.ndarray, np.ndarray]  # of regressors and targets
    coefficients: np.ndarray  # (c, k), of the leading columns
    degrees: float  # effective, without the intercept

    @classmethod
    def of(cls, z: Regressors, targets: np.ndarray) -> RidgeFit:
        """Fit targets (n, k), with one ridge for all columns."""
        candidates = [_fitted(z.values[:, :cut], targets) for cut in z.cuts]
        return min(candidates, key=lambda scored: scored[0])[1]

    def __call__(self, z: Regressors) -> np.ndarray:
        """Predictions: (m, k)."""
        columns = z.values[:, : len(self.coefficients)]
        return (columns - self.means[0]) @ self.coefficients + self.means[1]


def _fitted(z: np.ndarray, targets: np.ndarray) -> tuple[float, RidgeFit]:
    """The best ridge for these regressors (n, c), with its cross-validation error."""
    means, n = (z.mean(axis=0), targets.mean(axis=0)), len(z)
    z, targets = z - means[0], targets - means[1]
    u, s, vt = linalg.svd(z)
    along = u.T @ targets
    left_over = max(float(np.sum(targets**2) - np.sum(along**2)), 0.0)
    best, chosen = np.inf, _RIDGES[-1] * max(float(s.max(initial=0.0)) ** 2, 1e-300)
    for ridge in _RIDGES * max(float(s.max(initial=0.0)) ** 2, 1e-300):
        shrunk = ridge / (s**2 + ridge)
        free = 1 - float(np.sum(1 - shrunk)) / n
        error = (left_over + float(np.sum((shrunk[:, None] * along) ** 2))) / free**2
        if free > 1 - _MAX_DEGREES_SHARE and error < best:
            best, chosen = error, float(ridge)
    coefficients = vt.T @ ((s / (s**2 + chosen))[:, None] * along)
    return best, RidgeFit(means, coefficients, float(np.sum(s**2 / (s**2 + chosen))))


def residuals(z: Regressors, targets: np.ndarray) -> np.ndarray:
    """Targets less what ridge regression on z predicts."""
    return targets - RidgeFit.of(z, targets)(z)


def on_host(variable: Variable) -> Variable:
    """The variable with arrays of NumPy in float64: regressions on features are computed there."""
    if not is_array(variable.points):
        return variable.widened()
    origin = None if variable.origin is None else to_numpy(variable.origin)
    return replace(variable.widened(), points=to_numpy(variable.widened().points), origin=origin)


def product_statistic(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """|mean_i x_i (x) y_i (x) w_i|^2 of features (n, p), (n, q) and (n, r)."""
    total = 0.0
    for w in weights.T:
        total += float(np.sum(((y * w[:, None]).T @ x) ** 2))
    return total / len(x) ** 2
