"""Solvers of ridge regression on landmarks: normal equations in one pass, or conjugate gradients."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    double,
    is_numpy,
    namespace,
    ones,
    to_numpy,
    transposed,
    zeros,
)
from mercer.config import settings
from mercer.errors import MemoryBudgetError, NotConverged
from mercer.gram import LazyMatrix
from mercer.gram.positive_definite import add_to_diagonal, inverse_lower, lower_factor
from mercer.gram.threads import in_order
from mercer.learn.conjugate_gradients import conjugate_gradients
from mercer.learn.landmarks.normal_equations import (
    Means,
    NormalSums,
    transposed_product,
    transposed_times_changed,
)

# Up to here one pass that sums m x m products is faster than the passes of conjugate gradients.
MAX_NORMAL_LANDMARKS = 2000
_REFINEMENT_FACTOR = 1.5  # of a refinement step: see `NormalEquations`

Rows = Iterator[tuple[LazyMatrix, Array, np.ndarray | None]]  # Z (b, m), y (b, q), weights (b,)


@dataclass(frozen=True, eq=False)
class PartedRows:
    """Rows in parts that several workers read at the same time; `read` gives those of one part."""

    read: Callable[[Any], Rows]
    parts: Sequence[Any]


@dataclass(frozen=True, eq=False)
class RidgeProblem:
    """Minimisation of sum_i w_i |z_i'c + b - y_i|^2 + ridge c'Pc, with rows z_i that come in batches.

    b is 0 without an `intercept`. Each call of `rows` starts a pass over the batches of Z, y and the
    weights w; with `single_pass` there can be only one. `penalty` is P in float64, and `center` a row near
    the mean of the rows of Z. `sampled_rows` are rows of Z drawn uniformly; None where P consists of
    such rows. `parted` are the same rows in parts, if there are several.
    """

    rows: Callable[[], Rows]
    penalty: Array
    ridge: float
    center: Array
    intercept: bool
    sampled_rows: Array | None = None
    single_pass: bool = False
    parted: PartedRows | None = None


@dataclass(frozen=True, eq=False)
class RidgeSolution:
    """Coefficients (m, q), intercepts (q,) or None, passes over the data, and the sums if there are any.

    `rounding` estimates the error of c by the rounding of float32 tiles, relative to c in the norm of
    the factorised matrix, which includes ridge and jitter; 0 where it was not estimated.
    """

    coefficients: Array
    intercepts: Array | None
    passes: int
    sums: NormalSums | None = None
    rounding: float = 0.0


class Solver(ABC):
    """Algorithm for the coefficients of ridge regression on landmarks."""

    @abstractmethod
    def solve(self, problem: RidgeProblem, /) -> RidgeSolution:
        """The coefficients that minimise the penalised sum of squares."""


@dataclass(frozen=True)
class NormalEquations(Solver):
    """Z'Z and Z'y summed in one pass over the data, in float64, then one Cholesky factorisation.

    Costs n m^2 operations, and stores a few m x m matrices. The condition number is squared, so rounding
    errors of the tiles are amplified: negligibly in float64, noticeably in float32. There a refinement,
    c + w F^-1 (Z'(y - Zc) - ridge Pc) with the factorised matrix F, corrects most of the error by one more
    pass over the data. F has a larger diagonal than Z'Z + ridge P, which makes steps too short: w = 1.5.

    Parameters
    ----------
    refinements : int or None
        Number of refinements. None: one for float32, none for float64; where that one changes the
        solution of `NystromRidge` by more than 5%, everything is computed again in float64.
    """

    refinements: int | None = None

    def __post_init__(self) -> None:
        if self.refinements is not None:
            validate.whole("refinements", self.refinements, 0)

    def solve(self, problem: RidgeProblem, /) -> RidgeSolution:
        centred = problem.intercept
        rows = problem.parted or problem.rows()
        sums = summed(None, rows, problem.center, centred)
        solve = sums.factored(problem.penalty, problem.ridge, intercept=centred)
        steps, means = self._steps(problem, sums), sums.means() if centred else None
        right = sums.right_side(intercept=centred)
        c, rounding = solve(right), 0.0
        for _ in range(steps):
            gradient = _sweep(problem, c, means, residual=True)
            gradient = gradient - problem.ridge * (problem.penalty @ c)
            step = solve(gradient)
            rounding = _share(step, gradient, c, right)
            c = c + _REFINEMENT_FACTOR * step
        rounding = rounding if self.refinements is None else 0.0
        b = None if means is None else means.intercept(c)
        return RidgeSolution(c, b, 1 + steps, sums, rounding)

    def _steps(self, problem: RidgeProblem, sums: NormalSums) -> int:
        if self.refinements and problem.single_pass:
            raise ValueError(
                "refinements need a second pass over the data, got an iterator, which allows one: pass "
                "a function that returns a new iterator, or use refinements=0"
            )
        if self.refinements is not None:
            return int(self.refinements)
        return 1 if sums.precision > 1e-10 and not problem.single_pass else 0


@dataclass(frozen=True)
class ConjugateGradients(Solver):
    """Conjugate gradients, one pass over the data for each step, preconditioned as in Falkon.

    The preconditioner approximates Z'Z by m rows of Z (Rudi et al. 2017). Costs n m operations for each
    step: less than `NormalEquations` for thousands of landmarks.

    Parameters
    ----------
    iterations : int
        Maximum number of steps, each of which is a pass over the data.
    tolerance : float
        Relative residual of the preconditioned system at which the iteration stops.
    """

    iterations: int = 50
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        validate.whole("iterations", self.iterations)
        validate.between("tolerance", self.tolerance, 0.0, 1.0)

    def solve(self, problem: RidgeProblem, /) -> RidgeSolution:
        check_affordable(
            int(problem.penalty.shape[0]), 5, "The preconditioner", "use fewer landmarks"
        )
        right, rows, means = _right_side(problem)
        lower = lower_factor(problem.penalty)
        outer = preconditioner(
            lower, problem.sampled_rows, rows, problem.ridge, centred=problem.intercept
        )
        inner, upper = transposed(outer), transposed(lower)

        def system(v: Array) -> Array:
            c = outer @ v
            return inner @ (_sweep(problem, c, means) + problem.ridge * (lower @ (upper @ c)))

        solved, steps, residual = conjugate_gradients(
            system, inner @ right, self.iterations, self.tolerance
        )
        if residual > self.tolerance:
            warnings.warn(
                f"conjugate gradients stopped after {steps} steps at a relative residual of "
                f"{residual:.1e} (wanted {self.tolerance:.0e}): allow more iterations, or a larger ridge",
                NotConverged,
                stacklevel=4,
            )
        c = outer @ solved
        return RidgeSolution(c, None if means is None else means.intercept(c), steps + 1)


def summed(
    sums: NormalSums | None, rows: Rows | PartedRows, center: Array, intercept: bool
) -> NormalSums:
    """Normal equations with more rows: added to `sums`, or to new ones.

    The first part tells the type of the numbers and their mean; the others are summed on threads or on a cluster, each by
    itself, and added in their order.
    """
    if not isinstance(rows, PartedRows):
        return _with_rows(sums, rows, center, intercept)
    total = _with_rows(sums, rows.read(rows.parts[0]), center, intercept)
    work = _PartSums(rows.read, total.without_rows(), center, intercept)
    held = 8 * int(center.shape[0]) ** 2
    for part in in_order(work, rows.parts[1:], parallel=is_numpy(center), held=held):
        total.merge(part)
    return total


@dataclass(frozen=True, eq=False)
class _PartSums:
    """The normal equations of one part of the data."""

    read: Callable[[Any], Rows]
    empty: NormalSums
    center: Array
    intercept: bool

    def __call__(self, part: Any) -> NormalSums:
        return _with_rows(self.empty.without_rows(), self.read(part), self.center, self.intercept)


def _with_rows(sums: NormalSums | None, rows: Rows, center: Array, intercept: bool) -> NormalSums:
    columns = int(center.shape[0])
    check_affordable(
        columns, 2 * settings().workers + 6, "Normal equations", "use solver=ConjugateGradients()"
    )
    for design, y, weights in rows:
        if sums is None:
            sums = NormalSums.empty(center, _shift(y, intercept), y)
        if int(y.shape[1]) != int(sums.totals.shape[0]) - 1:
            raise ValueError(
                f"y must have the same number of columns in every batch, got {int(sums.totals.shape[0]) - 1} "
                f"and then {int(y.shape[1])}"
            )
        sums.add(design, y, weights)
    if sums is None:
        raise ValueError("there must be at least one batch, got none")
    return sums


def preconditioner(
    lower: Array, sample: Array | None, rows: float, ridge: float, *, centred: bool = False
) -> Array:
    """M with M'(Z'Z + ridge LL')M ~ I, for the factor L of the penalty: (m, m) in float64.

    Z'Z ~ (n / r) R'R for r rows R of Z, less their mean where Z is `centred`. With Q = R L'^-1,
    M = L'^-1 A'^-1 for AA' = (n / r) Q'Q + ridge I (Rudi et al. 2017, eq. 13, where R = LL').
    """
    inverse = inverse_lower(lower)
    q = lower if sample is None else astype(sample, lower.dtype) @ transposed(inverse)
    q = q - namespace(q).mean(q, axis=0)[None, :] if centred else q
    estimate = (transposed(q) @ q) * (rows / int(q.shape[0]))
    add_to_diagonal(estimate, ridge)
    return transposed(inverse_lower(lower_factor(estimate)) @ inverse)


def chosen(solver: Solver | None, m: int) -> Solver:
    """The given solver; for None, the faster one for m landmarks."""
    if solver is None:
        return NormalEquations() if m <= MAX_NORMAL_LANDMARKS else ConjugateGradients()
    validate.instance("solver", solver, Solver, "NormalEquations(), ConjugateGradients() or None")
    return solver


def _share(step: Array, gradient: Array, c: Array, right: Array) -> float:
    """sqrt(step'F step / c'Fc) for the worst column, with the factorised matrix F.

    By F step = gradient and Fc = right, which holds for c before any refinement.
    """
    xp = namespace(c)
    step2, norm2 = (to_numpy(xp.sum(a * b, axis=0)) for a, b in ((step, gradient), (c, right)))
    nonzero = norm2 > 0
    return float(np.sqrt(np.max(np.maximum(step2[nonzero], 0.0) / norm2[nonzero], initial=0.0)))


def _right_side(problem: RidgeProblem) -> tuple[Array, int, Means | None]:
    """Z'Wy in float64, the number of rows, and the means; centred where there is an intercept."""
    total, sums, shift, rows = None, None, None, 0
    for design, y, weights in problem.rows():
        xp, shift = namespace(y), _shift(y, problem.intercept) if shift is None else shift
        columns = xp.concat([y - shift[None, :], ones((design.shape[0], 1), y)], axis=1)
        columns = columns if weights is None else columns * array_like(weights, y)[:, None]
        product, ends = (
            transposed_product(design, columns),
            xp.sum(astype(columns, double(columns)), axis=0),
        )
        total, sums = (product, ends) if total is None else (total + product, sums + ends)
        rows += design.shape[0]
    if total is None or sums is None or shift is None:
        raise ValueError("there must be at least one batch, got none")
    if not problem.intercept:
        return total[:, :-1], rows, None
    means = Means(total[:, -1] / sums[-1], astype(shift, sums.dtype) + sums[:-1] / sums[-1])
    return total[:, :-1] - means.rows[:, None] * sums[None, :-1], rows, means


def _shift(y: Array, intercept: bool) -> Array:
    """What is subtracted from y (b, q) before its products: its mean, or 0 without an intercept."""
    xp = namespace(y)
    mean = astype(xp.mean(astype(y, double(y)), axis=0), y.dtype)
    return mean if intercept else xp.zeros_like(mean)


def _sweep(
    problem: RidgeProblem, c: Array, means: Means | None, *, residual: bool = False
) -> Array:
    """Z'WZc, or Z'W(y - Zc) of the residuals, one pass: (m, q) in float64.

    Z is centred where there are means.
    """
    total, sums = zeros(tuple(c.shape), c), zeros((int(c.shape[1]),), c)
    b = sums
    if means is not None:
        b = means.intercept(c) if residual else -(means.rows @ c)
    for design, y, weights in problem.rows():
        w = None if weights is None else array_like(weights, c)
        change = _Residuals(y if residual else None, b, w)
        product, ends = transposed_times_changed(design, astype(c, design.like.dtype), change)
        total, sums = total + product, sums + ends
    return total if means is None else total - means.rows[:, None] * sums[None, :]


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Zc -> W(Zc + b), or W(y - Zc - b) where there is a y; and the sums of its columns."""

    y: Array | None
    b: Array
    weights: Array | None

    def __call__(self, f: Array, rows: slice) -> tuple[Array, Array]:
        r = astype(f, double(f)) + self.b[None, :]
        r = r if self.y is None else astype(self.y[rows, :], r.dtype) - r
        r = r if self.weights is None else r * self.weights[rows][:, None]
        return r, namespace(r).sum(r, axis=0)


def check_affordable(m: int, copies: int, what: str, instead: str) -> None:
    """Raise MemoryBudgetError where `copies` m x m matrices exceed the memory budget."""
    needed, budget = 8 * copies * m * m, settings().memory
    if needed > budget:
        raise MemoryBudgetError(
            f"{what} of {m:,} landmarks would need {needed / 2**20:,.0f} MiB, and the budget is "
            f"{budget / 2**20:,.0f} MiB: {instead}, or raise mercer.config(memory=...)"
        )
