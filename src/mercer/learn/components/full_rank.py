"""Kernel CCA of Gram matrices of full rank at a single ridge, by dense Cholesky factors.

With R = K~ (K~ + c I)^-1 = FF' for every view, correlations r and scores s of the views satisfy
s_i = R_i t_i with t_i = sum_(j != i) s_j / ((M - 1) r), and the function of view i has the coefficients
(K~_i + c I)^-1 t_i: no eigenvectors of the Gram matrices are needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mercer import linalg
from mercer.backend import to_numpy
from mercer.config import settings
from mercer.gram.positive_definite import add_to_diagonal, lower_factor
from mercer.learn.components.canonical import canonical_vectors, signs_of
from mercer.learn.components.read_views import ReadView
from mercer.learn.components.views import View
from mercer.rkhs.function import Function
from mercer.rkhs.regularized_gram import MIN_RELATIVE_RIDGE, dense_shrinkage

# Points times views up to which the exact problem is solved whatever the rank is: two views of 4,000
# points take about 12 s of one core, and eight times as long for twice as many.
_MAX_ROWS = 8192
_MIN_CORRELATION = 1e-4  # functions are divided by it, and lose as many digits
_DENSE_ARRAYS = 6  # n x n, at the same time, of two views


@dataclass(frozen=True, eq=False)
class RegularizedView(ABC):
    """A view at one ridge: the root F (n, r) of R = FF', and functions from targets t."""

    root: np.ndarray

    @abstractmethod
    def function(self, target: np.ndarray) -> tuple[Function, np.ndarray]:
        """Functions with the values R t (n, k) on the centred points, and their means (k,)."""


@dataclass(frozen=True, eq=False)
class FactorView(RegularizedView):
    """A view of few features A: R = A (A'A + c I)^-1 A'."""

    view: View
    triangle: np.ndarray  # L with LL' = A'A + c I

    @classmethod
    def of(cls, view: View, ridge: float) -> FactorView | None:
        """The view at this ridge; None where the ridge is too small for a Cholesky factor."""
        from scipy.linalg import solve_triangular

        inner = view.features.T @ view.features
        if len(view.features) * ridge < MIN_RELATIVE_RIDGE * np.trace(inner):
            return None
        add_to_diagonal(inner, len(view.features) * ridge)
        lower = linalg.cholesky(inner)
        root = solve_triangular(lower, view.features.T, lower=True, check_finite=False).T
        return cls(root, view, lower)

    def function(self, target: np.ndarray) -> tuple[Function, np.ndarray]:
        """Function with the weights (A'A + c I)^-1 A't = L^-T F't."""
        from scipy.linalg import solve_triangular

        weights = solve_triangular(self.triangle, self.root.T @ target, lower=True, trans=1)
        return self.view.function(weights), self.view.mean @ weights


@dataclass(frozen=True, eq=False)
class DenseView(RegularizedView):
    """A view of full rank: R as a dense matrix."""

    side: ReadView
    shrunk: np.ndarray  # R
    c: float

    @classmethod
    def of(cls, side: ReadView, ridge: float) -> DenseView | None:
        """The view at this ridge; None where the ridge is too small for a Cholesky factor."""
        operator = dense_shrinkage(side.gram.centered(), ridge)
        if operator is None:
            return None
        shrunk = to_numpy(operator.array)
        return cls(to_numpy(lower_factor(shrunk)), side, shrunk, len(shrunk) * ridge)

    def function(self, target: np.ndarray) -> tuple[Function, np.ndarray]:
        """Function with the coefficients (K~ + c I)^-1 t = (t - R t) / c."""
        coefficients = (target - self.shrunk @ target) / self.c
        gram = self.side.gram
        means = to_numpy(gram.row_sums()).astype(np.float64) / len(self.shrunk)
        function = Function(self.side.kernel, gram.x, coefficients, self.side.columns)
        return function, means @ coefficients


def affordable(n: int, views: int) -> bool:
    """Whether dense matrices of all views fit the memory budget, and a reasonable time."""
    return n * views <= _MAX_ROWS and _DENSE_ARRAYS * views * 4 * n**2 <= settings().memory


@dataclass(frozen=True, eq=False)
class FullRankSolution:
    """Correlations, canonical functions of every view, and their means on the training points."""

    correlations: np.ndarray
    functions: tuple[Function, ...]
    offsets: list[np.ndarray]


def full_rank_canonical(
    sides: Sequence[ReadView], views: Sequence[View], number: int, ridge: float
) -> FullRankSolution | None:
    """Leading canonical functions at this ridge, by dense matrices of the views that are not complete.

    The sign makes the largest score of the first view positive. None where it would be inaccurate:
    for kernels that may be indefinite, for small ridges, and where a correlation is close to 0.
    """
    regularized: list[RegularizedView] = []
    for side, view in zip(sides, views, strict=True):
        if view.complete:
            at_ridge = FactorView.of(view, ridge)
        else:
            at_ridge = DenseView.of(side, ridge) if side.definite else None
        if at_ridge is None:
            return None
        regularized.append(at_ridge)
    if number > min(v.root.shape[1] for v in regularized):
        return None
    return _solution(regularized, number)


def _solution(views: Sequence[RegularizedView], number: int) -> FullRankSolution | None:
    n = len(views[0].root)
    blocks = {(i, j): a.root.T @ b.root for (i, a), (j, b) in combinations(enumerate(views), 2)}
    values, vectors = canonical_vectors(blocks, [v.root.shape[1] for v in views], number)
    if values[-1] < _MIN_CORRELATION:
        return None
    scores = [n**0.5 * v.root @ z for v, z in zip(views, vectors, strict=True)]
    scale = signs_of(scores[0]) / ((len(views) - 1) * values)
    total = np.sum(scores, axis=0)
    parts = [v.function((total - s) * scale) for v, s in zip(views, scores, strict=True)]
    return FullRankSolution(values, tuple(f for f, _ in parts), [m for _, m in parts])
