"""Base of support vector machines: how dual problems are solved, and what is kept of the solutions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer import linalg, validate
from mercer.backend import astype, count, double, is_array, is_numpy, is_single, to_numpy
from mercer.errors import NotConverged
from mercer.gram import Gram
from mercer.gram.gram import trial_matrix
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken
from mercer.kernels.theory import facts_rule
from mercer.learn.kernel_learner import KernelPredictor
from mercer.learn.machines.decomposition import Decomposition, max_working_set
from mercer.learn.machines.matrix_access import (
    MAX_DENSE_POINTS,
    DenseKernelRows,
    KernelRows,
    SubmatrixRows,
    TiledRows,
)
from mercer.learn.machines.smo import Dual, DualSolution, solve_block
from mercer.learn.machines.smo_compiled import is_quickly_compiled
from mercer.linalg import one_blas_thread
from mercer.rkhs.function import Function

_MIN_TOL_SINGLE = 1e-4  # smallest tolerance that float32 kernel values can reach
_MAX_SMALL_ENTRIES = 2**16  # of the kernel at new points, 512 KiB in float64
_MAX_STEPS = 10_000_000  # as in LIBSVM


@dataclass(frozen=True)
class SupportExpansion:
    """Functions of several problems on the same points, expanded on the support vectors."""

    index: np.ndarray  # positions of the support vectors, (s,)
    weights: np.ndarray  # (s, P), one column for each problem
    offsets: np.ndarray  # (P,)
    gaps: np.ndarray
    norms: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, n: int, solved: list[tuple[np.ndarray, DualSolution]]) -> SupportExpansion:
        """Combine solutions, each with the positions of the points of its problem."""
        coefficients = np.zeros((n, len(solved)), dtype=np.float64)
        for p, (index, solution) in enumerate(solved):
            coefficients[index, p] = solution.b
        support = np.flatnonzero(coefficients.any(axis=1))
        if len(support) == 0:  # a constant: functions need at least one point
            support = np.zeros(1, dtype=np.int64)
        figures = [(s.offset, s.gap, max(s.norm2, 0.0) ** 0.5, s.steps) for _, s in solved]
        offsets, gaps, norms, steps = (np.asarray(f) for f in zip(*figures, strict=True))
        return cls(support, coefficients[support], offsets, gaps, norms, steps)

    def values(self, kernel: Kernel, points: Points, new: Points) -> np.ndarray:
        """f_p(x) + offset_p at new points: (m, P)."""
        gram = Gram(kernel, new, taken(points, self.index))
        return to_numpy(gram @ self.weights).astype(np.float64) + self.offsets


class Machine(KernelPredictor):
    """A learner that solves the dual problem of a support vector machine."""

    tol: float
    max_iter: int | None

    def _check(self) -> None:
        """Refuse invalid parameters."""
        validate.positive("tol", self.tol)
        if self.max_iter is not None:
            validate.whole("max_iter", self.max_iter)

    def _precise_points(self, points: Points) -> Points:
        """float32 points as float64 where the tolerance is below the precision of float32."""
        if self.tol < _MIN_TOL_SINGLE and is_array(points) and is_single(points):
            return astype(points, double(points))
        return points

    def _with_C(self, C: float) -> Self:
        """A machine with the same parameters except C."""
        return type(self)(**self.get_params(deep=False) | {"C": C})

    def _copy_fitted(self, other: Machine) -> None:
        """Copy the fitted attributes of another machine: classes, kernel, columns."""
        if other is self:
            return
        params = other.get_params(deep=False)
        vars(self).update({k: v for k, v in vars(other).items() if k not in params})

    def _solve_path(
        self, rows: KernelRows, problem: Callable[[float], Dual], Cs: Sequence[float]
    ) -> list[DualSolution]:
        """Solutions for increasing C, each started at the one before."""
        solutions: list[DualSolution] = []
        for i, C in enumerate(Cs):
            dual = problem(C)
            start = _warm_start(solutions[-1], C / Cs[i - 1], dual) if solutions else (None, None)
            solutions.append(self._solve(rows, dual, *start))
        return solutions

    def _solve(
        self,
        rows: KernelRows,
        dual: Dual,
        start: np.ndarray | None = None,
        values: np.ndarray | None = None,
    ) -> DualSolution:
        solution = solve(
            rows, dual, start=start, values=values, tolerance=self.tol, max_steps=self.max_iter
        )
        if solution.gap > self.tol:
            warnings.warn(
                f"{type(self).__name__} did not converge: after {solution.steps:,} steps the gap is "
                f"{solution.gap:.1e}, above tol={self.tol:g}. Scale the data, lower C, or raise "
                "max_iter",
                NotConverged,
                stacklevel=6,
            )
        return solution

    def _keep(self, points: Points, expansion: SupportExpansion, sample_weight: Any = None) -> None:
        """Set the attributes that all machines have."""
        self.support_ = expansion.index
        if sample_weight is not None:
            on_host = to_numpy(sample_weight) if is_array(sample_weight) else sample_weight
            weights = np.asarray(on_host)
            if weights.ndim == 1 and len(weights) > count(points):  # weight 0 was left out
                self.support_ = np.flatnonzero(weights)[expansion.index]
        self.support_vectors_ = taken(points, expansion.index)
        single = expansion.weights.shape[1] == 1
        columns = expansion.weights[:, 0] if single else expansion.weights
        function = Function.of_checked if is_numpy(self.support_vectors_) else Function
        self.function_ = function(self.kernel_, self.support_vectors_, columns, self._columns)
        self.gap_ = float(expansion.gaps.max())
        self.n_iter_ = expansion.steps

    def _values(self, X: Any) -> np.ndarray:
        """f_p(x) without offsets at new points, in float64: (m, P)."""
        points = self._points(X)
        weights = self.function_.weights
        columns = weights if weights.ndim == 2 else weights[:, None]
        learnt, kernel = self.function_.points, self._bound
        if _is_small(points, learnt):
            return (kernel.pairwise(points, learnt) @ columns).astype(np.float64, copy=False)
        gram = Gram(kernel, points, learnt)
        return to_numpy(gram @ columns).astype(np.float64)


def solve(
    rows: KernelRows,
    dual: Dual,
    *,
    start: np.ndarray | None = None,
    values: np.ndarray | None = None,
    tolerance: float = 1e-3,
    max_steps: int | None = None,
) -> DualSolution:
    """Minimise until max up - min down <= tolerance, from a feasible start with `values`, K b.

    A matrix in memory is solved as one block: cutting working sets out of it would cost more than the
    steps. Other large problems are decomposed.
    """
    max_steps = _MAX_STEPS if max_steps is None else max_steps
    n = len(rows)
    b = np.zeros(n, dtype=np.float64) if start is None else start.astype(np.float64)
    store = rows.store() if _fits(rows) else None
    if values is None:
        used = np.flatnonzero(b)
        if len(used) == 0:
            values = np.zeros(n, dtype=np.float64)
        elif store is None:
            values = rows.times(used, b[used])
        else:
            values = b[used] @ store.at(used)
    # Without the limit five of 16 cores were busy on one thread: threads of BLAS spin for a while after a product.
    with one_blas_thread():
        if store is not None:
            return solve_block(store, rows.diagonal, dual, b, values, tolerance, max_steps)
        return Decomposition(rows, dual, b, values.copy()).solve(tolerance, max_steps)


def _is_small(x: Points, y: Points) -> bool:
    """Whether a Gram matrix of checked points would cost less than preparing to compute it in tiles."""
    same = is_numpy(x, y) and x.ndim == 2 and x.dtype == y.dtype
    return same and count(x) * count(y) <= _MAX_SMALL_ENTRIES


def _fits(rows: KernelRows) -> bool:
    """Whether the problem is solved as one block: its matrix is in memory, or all rows may be."""
    if isinstance(rows, DenseKernelRows | SubmatrixRows):
        return True
    one_block = isinstance(rows, TiledRows) and is_quickly_compiled()
    return len(rows) <= (
        max_working_set() if one_block else min(MAX_DENSE_POINTS, max_working_set())
    )


def increasing(C: Iterable[float]) -> tuple[list[float], list[int]]:
    """Distinct values in increasing order, and the position there of each value that was given."""
    values = [float(c) for c in C]
    ordered = sorted(set(values))
    return ordered, [ordered.index(c) for c in values]


def _warm_start(last: DualSolution, ratio: float, dual: Dual) -> tuple[np.ndarray, np.ndarray]:
    """Start after the solution for a smaller C: that solution or its multiple, whichever is better."""
    if not np.isfinite(ratio):
        return last.b, last.values
    b = np.clip(ratio * last.b, dual.lower, dual.upper)
    values = ratio * last.values
    if dual.objective(b, values) < dual.objective(last.b, last.values):
        return b, values
    return last.b, last.values


def check_definite(kernel: Kernel, points: Points, *, hard: bool = False) -> None:
    """Warn of a kernel with negative eigenvalues on a subset of the points; refuse it for a hard margin.

    Nothing is computed for kernels that theory knows to be positive definite on R^d.
    """
    known = facts_rule.apply(kernel)  # without what follows from these facts
    if known.positive_definite and known.domain == "R^d":
        return
    values = to_numpy(trial_matrix(kernel, points)).astype(np.float64)
    spectrum = linalg.eigvalsh((values + values.T) / 2)
    if spectrum[0] < -1e-5 * max(abs(spectrum[0]), abs(spectrum[-1])):
        problem = (
            f"{kernel!r} is not positive definite: on {len(values)} of the points it has the "
            f"eigenvalue {spectrum[0]:.2g}."
        )
        if hard:
            raise ValueError(
                f"{problem} A hard margin does not exist then: use a finite C, or another kernel"
            )
        warnings.warn(
            f"{problem} The solution is a stationary point of the dual problem, as in LIBSVM, not a "
            "largest margin",
            UserWarning,
            stacklevel=4,
        )
