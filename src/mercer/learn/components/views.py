"""Explicit features of a view of points, from as few points as span them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import linalg
from mercer.backend import astype, count, double, eps, to_numpy
from mercer.frames import Columns
from mercer.gram import Factor, Gram, cholesky
from mercer.gram.gram import trial_matrix
from mercer.gram.positive_definite import eigenpairs
from mercer.kernels import facts
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import bound_to
from mercer.kernels.take import taken
from mercer.rkhs.directions import afford_dense, low_rank
from mercer.rkhs.function import Function

_EPS = float(np.finfo(np.float64).eps)
_FACTOR_TOLERANCE = 1e-14  # relative to the trace: what a factor leaves out below it is rounding


@dataclass(frozen=True, eq=False)
class View:
    """Features phi with <phi(x), phi(y)> = k(x, y) on the training points: phi(x) = k(x, anchors) M.

    Where the Gram matrix has a low-rank Cholesky factor, the anchors are its pivots and M is the inverse
    of its triangle; otherwise the anchors are all points and M comes from the eigenvectors.
    """

    kernel: Kernel
    columns: Columns | None
    anchors: Points
    map: np.ndarray  # M, (anchors, r)

    def function(self, weights: np.ndarray) -> Function:
        """The functions x -> phi(x)'w, one for each column of weights (r, k)."""
        return Function(self.kernel, self.anchors, self.map @ weights, self.columns)


def view(
    kernel: Kernel, columns: Columns | None, points: Points, rank: int | None
) -> tuple[View, np.ndarray]:
    """A view and the features (n, r) of its points, from a factor of at most `rank` columns if given."""
    gram = Gram(bound_to(kernel, columns), points)
    if rank is not None:
        _need_definite(gram)
    factor = low_rank(gram) if rank is None else cholesky(gram, most=rank)
    if factor is None:
        afford_dense(count(points), "KCCA")
        if facts(gram.kernel).positive_definite is True:
            factor = cholesky(gram, tolerance=_FACTOR_TOLERANCE)
    if factor is not None:
        return _spanned(kernel, columns, gram.x, factor)
    dense = to_numpy(astype(gram.dense(), double(gram.like)))
    values, vectors = linalg.eigh(dense)
    nonzero = values > len(dense) * _EPS * max(values[-1], 0.0)
    roots = np.sqrt(values[nonzero])
    return View(kernel, columns, gram.x, vectors[:, nonzero] / roots), vectors[:, nonzero] * roots


def _need_definite(gram: Gram) -> None:
    """Refuse a kernel with negative eigenvalues on a subset of the points: low-rank factors miss them."""
    values = trial_matrix(gram.kernel, gram.x)
    eigenpairs(astype(values, double(values)), eps(gram.like))


def _spanned(
    kernel: Kernel, columns: Columns | None, points: Points, found: Factor
) -> tuple[View, np.ndarray]:
    from scipy.linalg import solve_triangular

    features = to_numpy(found.columns)
    pivots = np.asarray(found.pivots, dtype=np.int64)
    triangle = features[pivots]  # k(anchors, anchors) = T T'
    inverse = solve_triangular(triangle, np.eye(len(pivots), dtype=np.float64), lower=True)
    return View(kernel, columns, taken(points, pivots), inverse.T), features
