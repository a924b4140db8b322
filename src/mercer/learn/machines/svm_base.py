"""What support vector machines share: how problems are solved, and what is kept of the solutions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from mercer import linalg, validate
from mercer.backend import astype, count, double, is_array, is_single, to_numpy
from mercer.errors import NotConverged
from mercer.gram import Gram
from mercer.gram.gram import trial_matrix
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken
from mercer.learn.kernel_learner import KernelPredictor
from mercer.learn.machines.dual_solver import Solution, solve
from mercer.learn.machines.matrix_access import Rows
from mercer.learn.machines.smo import Dual
from mercer.rkhs.function import Function

_FINE = 1e-4  # tolerance below which float32 does not do


@dataclass(frozen=True)
class Trained:
    """Solutions of problems on the same points: what is used of the points, and how."""

    index: np.ndarray  # of the points in use, (s,)
    weights: np.ndarray  # (s, P), one column for each problem
    offsets: np.ndarray  # (P,)
    gaps: np.ndarray
    norms: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, n: int, parts: list[tuple[np.ndarray, Solution]]) -> Trained:
        """From solutions and the points that each of them is about."""
        whole = np.zeros((n, len(parts)), dtype=np.float64)
        for p, (index, found) in enumerate(parts):
            whole[index, p] = found.b
        used = np.flatnonzero(whole.any(axis=1))
        if len(used) == 0:  # a constant; functions have a point
            used = np.zeros(1, dtype=np.int64)
        figures = [(s.offset, s.gap, max(s.norm2, 0.0) ** 0.5, s.steps) for _, s in parts]
        offsets, gaps, norms, steps = (np.asarray(f) for f in zip(*figures, strict=True))
        return cls(used, whole[used], offsets, gaps, norms, steps)

    def values(self, kernel: Kernel, points: Points, new: Points) -> np.ndarray:
        """f_p(x) + offset_p at new points: (m, P)."""
        gram = Gram(kernel, new, taken(points, self.index))
        return to_numpy(gram @ self.weights).astype(np.float64) + self.offsets


M = TypeVar("M")


class Machine(KernelPredictor):
    """A learner that solves the dual problem of a support vector machine."""

    tol: float
    max_iter: int | None

    def _check(self) -> None:
        """Refuse parameters no problem can be solved with."""
        validate.positive("tol", self.tol)
        if self.max_iter is not None:
            validate.whole("max_iter", self.max_iter)

    def _fine(self, points: Points) -> Points:
        """float32 points as float64 where the tolerance asks for more than they can give."""
        if self.tol < _FINE and is_array(points) and is_single(points):
            return astype(points, double(points))
        return points

    def _at(self, C: float) -> Self:
        """A machine like this one with another C."""
        return type(self)(**self.get_params(deep=False) | {"C": C})

    def _as(self, other: Machine) -> None:
        """What another machine learnt of the data it was given: classes, kernel, columns."""
        own = other.get_params(deep=False)
        vars(self).update({k: v for k, v in vars(other).items() if k not in own})

    def _along(
        self, rows: Rows, problem: Callable[[float], Dual], Cs: Sequence[float]
    ) -> list[Solution]:
        """The solutions of the problems of several C, in rising order, each from the one before."""
        found: list[Solution] = []
        for i, C in enumerate(Cs):
            dual = problem(C)
            start = warmed(found[-1], C / Cs[i - 1], dual) if found else (None, None)
            found.append(self._solve(rows, dual, *start))
        return found

    def _solve(
        self,
        rows: Rows,
        dual: Dual,
        start: np.ndarray | None = None,
        values: np.ndarray | None = None,
    ) -> Solution:
        found = solve(
            rows, dual, start=start, values=values, tolerance=self.tol, most=self.max_iter
        )
        if found.gap > self.tol:
            warnings.warn(
                f"{type(self).__name__} stopped after {found.steps:,} steps with a gap of "
                f"{found.gap:.1e}, short of tol={self.tol:g}: scale the data, lower C, or raise "
                "max_iter",
                NotConverged,
                stacklevel=6,
            )
        return found

    def _keep(self, points: Points, found: Trained, sample_weight: Any = None) -> None:
        """Set the attributes that all machines have."""
        self.support_ = found.index
        if sample_weight is not None:
            held = to_numpy(sample_weight) if is_array(sample_weight) else sample_weight
            given = np.asarray(held)
            if given.ndim == 1 and len(given) > count(points):  # those of weight 0 were left out
                self.support_ = np.flatnonzero(given)[found.index]
        self.support_vectors_ = taken(points, found.index)
        one = found.weights.shape[1] == 1
        weights = found.weights[:, 0] if one else found.weights
        self.function_ = Function(self.kernel_, self.support_vectors_, weights, self._columns)
        self.gap_ = float(found.gaps.max())
        self.n_iter_ = found.steps

    def _values(self, X: Any) -> np.ndarray:
        """f_p(x) without offsets at new points, in float64: (m, P)."""
        points = self._points(X)
        weights = self.function_.weights
        wide = weights if weights.ndim == 2 else weights[:, None]
        gram = Gram(self._bound, points, self.function_.points)
        return to_numpy(gram @ wide).astype(np.float64)


def some(machines: list[M]) -> M:
    """The first of several machines, if there are any."""
    if not machines:
        raise ValueError("a path needs at least one C, got none")
    return machines[0]


def rising(C: Any) -> tuple[list[float], list[int]]:
    """Different prices in rising order, and where each of those that were given is among them."""
    values = [float(c) for c in C]
    ordered = sorted(set(values))
    return ordered, [ordered.index(c) for c in values]


def warmed(last: Solution, ratio: float, dual: Dual) -> tuple[np.ndarray, np.ndarray]:
    """Where to start after the solution for a smaller C: there, or scaled up, whichever is better."""
    if not np.isfinite(ratio):
        return last.b, last.values
    b = np.clip(ratio * last.b, dual.lower, dual.upper)
    values = ratio * last.values
    if dual.objective(b, values) < dual.objective(last.b, last.values):
        return b, values
    return last.b, last.values


def definite(kernel: Kernel, points: Points, *, hard: bool = False) -> None:
    """Warn of a kernel that has negative eigenvalues on some of the points; refuse it for a hard margin."""
    values = to_numpy(trial_matrix(kernel, points)).astype(np.float64)
    spectrum = linalg.eigvalsh((values + values.T) / 2)
    if spectrum[0] < -1e-5 * max(abs(spectrum[0]), abs(spectrum[-1])):
        found = (
            f"{kernel!r} is not positive definite: on {len(values)} of the points it has the "
            f"eigenvalue {spectrum[0]:.2g}."
        )
        if hard:
            raise ValueError(f"{found} There is no margin then: give a finite C, or another kernel")
        warnings.warn(
            f"{found} What is learnt is a stationary point of the dual problem, as in LIBSVM, and "
            "no largest margin",
            UserWarning,
            stacklevel=4,
        )
