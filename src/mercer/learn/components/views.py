"""Explicit features of a view of points, from as few points as span them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer import linalg
from mercer.backend import astype, double, eps, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.frames import Columns
from mercer.gram import Factor, Gram, cholesky
from mercer.gram.gram import trial_matrix
from mercer.gram.positive_definite import eigenpairs
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken
from mercer.learn.components.read_views import ReadView
from mercer.rkhs.directions import factor_tolerance
from mercer.rkhs.function import Function
from mercer.rkhs.regularized_gram import correlation_bound, shrinkage_change

_EPS = float(np.finfo(np.float64).eps)
# Columns of the factors of all views together. With one ridge, the factors and products of 20,000 rows
# take 6 s of one core. To choose among 13 ridges by 5 folds, products of each fold are decomposed, and pairs
# of them for every ridge: 1.2 s, whatever the number of rows is.
_MAX_COLUMNS = 2000
_MAX_COLUMNS_OF_FOLDS = 1000
_EIGENVECTOR_COPIES = 4  # n x n arrays while all eigenvectors are computed


@dataclass(frozen=True, eq=False)
class View:
    """Features phi with <phi(x), phi(y)> = k(x, y) on the training points: phi(x) = k(x, anchors) M.

    Where the Gram matrix has a low-rank Cholesky factor, the anchors are its pivots and M is the inverse
    of its triangle; otherwise the anchors are all points and M comes from the eigenvectors. `residual`
    is the trace of what the features leave out of the Gram matrix.
    """

    kernel: Kernel
    columns: Columns | None
    anchors: Points
    map: np.ndarray  # M, (anchors, r)
    features: np.ndarray  # phi(x) of the training points less their mean, (n, r)
    mean: np.ndarray  # (r,)
    residual: float
    complete: bool  # whether the residual is negligible

    def function(self, weights: np.ndarray) -> Function:
        """The functions x -> phi(x)'w, one for each column of weights (r, k)."""
        return Function(self.kernel, self.anchors, self.map @ weights, self.columns)


def view(side: ReadView, most: int, *, ridge: float | None) -> View:
    """A view by at most `most` features, and as few as suffice for this ridge and larger ones.

    None: for a ridge of a millionth of the variance.
    """
    if not side.definite:
        return _by_eigenvectors(side, most)
    gram = side.gram
    return _spanned(side, cholesky(gram, tolerance=factor_tolerance(gram, ridge), most=most), most)


def chosen_view(side: ReadView, rank: int) -> View:
    """A view by the first `rank` columns of the Cholesky factor."""
    _need_definite(side.gram)
    return _spanned(side, cholesky(side.gram, most=rank), rank)


def column_limit(n: int, views: int, *, single: bool) -> int:
    """The most columns of each factor: by the memory budget, and by the time for small matrices."""
    fits = settings().memory // (8 * n * (views + 2))  # a factor is copied while it grows
    columns = _MAX_COLUMNS if single else _MAX_COLUMNS_OF_FOLDS
    return max(min(n, columns // views, fits), 2)


def error_bound(views: Sequence[View], ridge: float, correlations: np.ndarray) -> float:
    """Bound on how far correlations lie below those without the residuals of the factors.

    For more than two views a block R_i^(1/2) R_j^(1/2) changes by sqrt(d_i) + sqrt(d_j) at most, where d
    is the change of R.
    """
    c = len(views[0].features) * ridge
    changes = [0.0 if v.complete else shrinkage_change(v.residual, c) for v in views]
    if len(views) == 2:
        bounds = np.array([correlation_bound(float(r), changes) for r in correlations])
    else:
        bounds = np.full(len(correlations), np.sum(np.sqrt(np.sort(changes)[-2:])))
    return float(np.max(np.minimum(bounds, 1 - correlations)))


def _need_definite(gram: Gram) -> None:
    """Refuse a kernel with negative eigenvalues on a subset of the points: low-rank factors miss them."""
    values = trial_matrix(gram.kernel, gram.x)
    eigenpairs(astype(values, double(values)), eps(gram.like))


def _spanned(side: ReadView, factor: Factor, most: int) -> View:
    from scipy.linalg import solve_triangular

    features = to_numpy(factor.columns)
    pivots = np.asarray(factor.pivots, dtype=np.int64)
    triangle = features[pivots]  # k(anchors, anchors) = T T'
    inverse = solve_triangular(triangle, np.eye(len(pivots), dtype=np.float64), lower=True)
    centred, mean = _centred(features)
    complete = len(pivots) < most or len(pivots) == len(features)
    return View(
        side.kernel,
        side.columns,
        taken(side.gram.x, pivots),
        inverse.T,
        centred,
        mean,
        float(factor.residual),
        complete,
    )


def _by_eigenvectors(side: ReadView, most: int) -> View:
    """The directions of the largest positive eigenvalues."""
    gram, budget = side.gram, settings().memory
    n = gram.shape[0]
    if _EIGENVECTOR_COPIES * 8 * n**2 > budget:
        raise MemoryBudgetError(
            f"KCCA needs all eigenvectors of {n} x {n} kernel values, because the kernel is not known to "
            f"be positive definite, and the budget is {budget / 2**20:,.0f} MiB: give rank=..., use "
            "fewer points, or raise mercer.config(memory=...)"
        )
    dense = to_numpy(astype(gram.dense(), double(gram.like)))
    values, vectors = linalg.eigh(dense)
    positive = np.flatnonzero(values > n * _EPS * max(values[-1], 0.0))
    leading = positive[max(len(positive) - most, 0) :]
    residual = float(np.sum(values[positive])) - float(np.sum(values[leading]))
    roots, vectors = np.sqrt(values[leading]), vectors[:, leading]
    centred, mean = _centred(vectors * roots)
    return View(
        side.kernel,
        side.columns,
        gram.x,
        vectors / roots,
        centred,
        mean,
        max(residual, 0.0),
        len(positive) <= most,
    )


def _centred(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, r), overwritten, less their mean, and the mean; zeros if they vary by rounding only."""
    mean = features.mean(axis=0)
    rounding = max(features.shape) * _EPS * np.abs(features).max(initial=0.0)
    features -= mean
    if np.abs(features).max(initial=0.0) <= rounding:
        features[:] = 0.0
    return features, mean
