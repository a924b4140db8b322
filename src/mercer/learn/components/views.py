"""A view of points as explicit features, from as few of them as span it."""

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
_EXACT = 1e-14  # of the trace, below which the rest of a factor is rounding


@dataclass(frozen=True, eq=False)
class View:
    """Features phi with <phi(x), phi(y)> = k(x, y) on the training points: phi(x) = k(x, anchors) M.

    Where the Gram matrix has a factor of few columns, anchors are the points that span it, and M
    is the inverse of its triangle; else all points, and M comes from the eigenvectors.
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
    """A view, and the features (n, r) of its points; of a factor of at most `rank` columns if given."""
    gram = Gram(bound_to(kernel, columns), points)
    if rank is not None:
        _need_definite(gram)
    found = low_rank(gram) if rank is None else cholesky(gram, most=rank)
    if found is None:
        afford_dense(count(points), "KCCA")
        if facts(gram.kernel).positive_definite is True:
            found = cholesky(gram, tolerance=_EXACT)
    if found is not None:
        return _spanned(kernel, columns, gram.x, found)
    held = to_numpy(astype(gram.dense(), double(gram.like)))
    values, vectors = linalg.eigh(held)
    kept = values > len(held) * _EPS * max(values[-1], 0.0)
    roots = np.sqrt(values[kept])
    return View(kernel, columns, gram.x, vectors[:, kept] / roots), vectors[:, kept] * roots


def _need_definite(gram: Gram) -> None:
    """Refuse a kernel that has negative eigenvalues on some of the points, which factors do not see."""
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
