"""Kernel matrices as products ZZ': of low rank, or approximated where they exceed the memory budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg
from mercer.backend import (
    Array,
    array_like,
    eps,
    is_numpy,
    is_single,
    namespace,
    scalar,
    to_numpy,
    transposed,
)
from mercer.config import settings
from mercer.errors import Approximated, MemoryBudgetError
from mercer.gram import Gram, cholesky
from mercer.gram.gram import trial_matrix
from mercer.gram.positive_definite import add_to_diagonal, factored
from mercer.kernels import facts

_MAX_LANDMARKS = (
    1000  # as NystromRidge has by default; a step for 20,000 points then takes a second
)
_REMAINDER = 1e-12  # share of the trace that the landmarks may leave out
_FACTOR_COPIES = (
    6  # of Z in memory: while it grows, twice its columns and a copy; then weighted rows
)
_ROUNDING = 1e-14  # share of the trace below which the remainder of a factor is float64 rounding
_MIN_ROWS_FOR_FACTOR = 1000  # below, a dense fit takes about as long as a factor
_MIN_ROWS_PER_COLUMN = (
    32  # of a factor of low rank: to find that there are more takes a tenth of a fit
)
_MAX_RANK = 256  # of a factor of low rank
_NEGATIVE = 1e-9  # an eigenvalue below minus this share of the largest one is not due to rounding


@dataclass(frozen=True, eq=False)
class FactoredMatrix:
    """K = ZZ' with Z (n, r), r far below n."""

    features: Array

    def __matmul__(self, v: Array) -> Array:
        """ZZ'v for (n,) or (n, k)."""
        return self.features @ (transposed(self.features) @ v)

    def factored_with(self, scale: float, diagonal: Array) -> Callable[[Array], Array] | None:
        """B -> (ZZ' / scale + D)^-1 B for (n, k), by the formula of Woodbury and one step of refinement."""
        z = self.features
        system = transposed(z) @ (z / diagonal[:, None])
        add_to_diagonal(system, scale)
        inner = factored(system)
        if inner is None:
            return None

        def once(right: Array) -> Array:
            scaled = right / diagonal[:, None]
            return scaled - (z @ inner(transposed(z) @ scaled)) / diagonal[:, None]

        def solve(right: Array) -> Array:
            solution = once(right)
            remainder = right - self @ solution / scale - diagonal[:, None] * solution
            return solution + once(remainder)

        return solve

    def ridge_solved(self, weights: Array, right: Array, ridge: float) -> Array | None:
        """(WK + ridge I)^-1 B for (n, k), by (I - WZ (ridge I + Z'WZ)^-1 Z') / ridge (Woodbury)."""
        z = self.features
        weighted = weights[:, None] * z
        system = transposed(z) @ weighted
        add_to_diagonal(system, ridge)
        inner = factored(system)
        if inner is None:
            return None

        def once(b: Array) -> Array:
            return (b - weighted @ inner(transposed(z) @ b)) / ridge

        solution = once(right)
        return solution + once(right - weighted @ (transposed(z) @ solution) - ridge * solution)


@dataclass(frozen=True, eq=False)
class LandmarkMatrix(FactoredMatrix):
    """K ~ ZZ' whose range is that of the kernel functions of r landmarks (`pivots`).

    The r x r rows of Z at the landmarks are lower triangular.
    """

    pivots: np.ndarray

    def eigenpairs(self) -> tuple[Array, Array]:
        """Eigenvalues of ZZ' in increasing order, those of rounding left out, and eigenvectors (n, r)."""
        z = self.features
        values, rotation = linalg.eigh(transposed(z) @ z)
        xp = namespace(values)
        first = int(xp.sum(xp.astype(values <= _REMAINDER * scalar(values[-1]), xp.int64)))
        values = values[first:]
        return values, (z @ rotation[:, first:]) / xp.sqrt(values)[None, :]

    def weights(self, coefficients: Array) -> Array:
        """w with sum_j w_j k(l_j, .) = the function of coefficients a (n,) on all points: L'w = Z'a."""
        xp = namespace(self.features)
        index = array_like(self.pivots, self.features, xp.int64)
        lower = xp.take(self.features, index, axis=0)
        right = transposed(self.features) @ coefficients
        if not is_numpy(lower):
            return linalg.solve(transposed(lower), right[:, None])[:, 0]
        from scipy.linalg import solve_triangular

        return solve_triangular(lower, right, lower=True, trans=1, check_finite=False)


def low_rank_matrix(gram: Gram) -> FactoredMatrix | None:
    """ZZ' that equals the kernel matrix up to rounding; None where its rank is not low.

    None as well where it is not float64 in NumPy, or the kernel is not known to be positive definite.
    """
    n = gram.shape[0]
    if n < _MIN_ROWS_FOR_FACTOR or not is_numpy(gram.like) or is_single(gram.like):
        return None
    if not facts(gram.kernel).positive_definite:
        return None
    most = min(n // _MIN_ROWS_PER_COLUMN, settings().memory // (_FACTOR_COPIES * 8 * n))
    if most < 1:
        return None
    most = min(most, _MAX_RANK)
    factor = cholesky(gram, tolerance=_ROUNDING, most=most)
    return FactoredMatrix(factor.columns) if 0 < len(factor.pivots) < most else None


def landmark_matrix(gram: Gram, learner: Any) -> LandmarkMatrix:
    """ZZ' from as many landmarks as the memory budget allows, chosen by pivoted Cholesky; warns."""
    n, memory = gram.shape[0], settings().memory
    most = min(_MAX_LANDMARKS, memory // (_FACTOR_COPIES * 8 * n))
    name = type(learner).__name__
    if most < 1:
        raise MemoryBudgetError(
            f"{name} of {n:,} points needs {_FACTOR_COPIES * 8 * n / 2**20:,.0f} MiB for one landmark, "
            f"but the budget is {memory / 2**20:,.0f} MiB: raise mercer.config(memory=...)"
        )
    _refuse_indefinite(gram)
    factor = cholesky(gram, tolerance=_REMAINDER, most=most)
    r, trace = len(factor.pivots), scalar(namespace(gram.like).sum(gram.diagonal()))
    warnings.warn(
        f"{name} of {n:,} points does not fit into the memory budget of {memory / 2**20:,.0f} MiB: its "
        f"kernel matrix is approximated by {r:,} landmarks, which leave out {factor.residual / trace:.1e} "
        "of its trace. Raise mercer.config(memory=...) for the exact solution",
        Approximated,
        stacklevel=4,
    )
    return LandmarkMatrix(factor.columns, np.asarray(factor.pivots))


def _refuse_indefinite(gram: Gram) -> None:
    """A pivoted Cholesky factor does not see negative eigenvalues; a few points do."""
    values = to_numpy(linalg.eigvalsh(trial_matrix(gram.kernel, gram.x)))
    smallest, greatest = float(values[0]), float(np.max(np.abs(values)))
    if smallest < -max(_NEGATIVE, 4 * len(values) * eps(gram.like)) * greatest:
        raise ValueError(
            f"the kernel must be positive definite, but its matrix has an eigenvalue {smallest:.3g} "
            f"(the largest is {greatest:.3g}): use another kernel"
        )
