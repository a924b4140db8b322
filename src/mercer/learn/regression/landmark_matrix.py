"""Kernel matrices through landmarks, K ~ ZZ', for solvers whose dense matrix exceeds the memory budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg
from mercer.backend import Array, array_like, eps, is_numpy, namespace, scalar, to_numpy, transposed
from mercer.config import settings
from mercer.errors import Approximated, MemoryBudgetError
from mercer.gram import Gram, cholesky
from mercer.gram.gram import trial_matrix
from mercer.gram.positive_definite import add_to_diagonal, factored

_MAX_LANDMARKS = (
    1000  # as NystromRidge has by default; a step for 20,000 points then takes a second
)
_REMAINDER = 1e-12  # share of the trace that the landmarks may leave out
_FACTOR_COPIES = (
    6  # of Z in memory: while it grows, twice its columns and a copy; then weighted rows
)
_NEGATIVE = 1e-9  # an eigenvalue below minus this share of the largest one is not due to rounding


@dataclass(frozen=True, eq=False)
class LandmarkMatrix:
    """K ~ ZZ' with Z (n, r); its range is that of the kernel functions of r landmarks (`pivots`).

    The r x r rows of Z at the landmarks are lower triangular.
    """

    features: Array
    pivots: np.ndarray

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
