"""Sequential minimal optimization of one block: two coefficients at a time, on a dense matrix.

The problem is `Dual`. Its one-sided slopes are kept up to date: up_i, the decrease of the objective
when b_i rises a little, and down_i, its increase when b_i falls; a bound that forbids the move makes
them -inf and inf. The pair is chosen by second-order information: i has the largest up_i, and j the
largest gain with it, (up_i - down_j)^2 / (K_ii + K_jj - 2 K_ij) (Fan, Chen and Lin 2005, eq. 3.7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.gram.positive_definite import add_to_diagonal, factored
from mercer.learn.machines.row_store import RowStore, padded
from mercer.learn.machines.smo_compiled import (
    ALL_ROWS_STORED,
    LANES,
    MIN_CURVATURE,
    STATE_ROWS,
    compiled_steps,
    is_quickly_compiled,
)
from mercer.native import has_compiler

_STEPS_PER_COEFFICIENT = 4  # between attempts to solve for the free coefficients and to shrink
_MIN_STEPS_PER_CALL = 1000  # of the compiled loop: fewer take less time than what is between
_MAX_SLOPES_PER_CALL = 400_000_000  # half a second of compiled steps, for which Ctrl-C has to wait
_COMPILED_ROUNDS = (
    5  # compiled steps are so cheap that the linear system pays every fifth time only
)
_MAX_FREE_NUMPY = 2048  # free coefficients solved for together at most, beside steps in NumPy
_MAX_FREE_COMPILED = 512  # the same beside compiled steps
_MAX_BOUNDS_MET = (
    8  # bounds met on the way to the solution of the linear system, before pairs go on
)
_RIDGE = 1e-14  # relative to the trace, added to the diagonal against rounding
_MIN_STEPS_TO_COMPILE = 100_000  # in NumPy these take the seconds that compiling costs
_MIN_RELATIVE_MARGIN = 1e-6  # a smaller margin, relative to the norms, counts as none


@dataclass(frozen=True)
class Dual:
    """min b'Kb / 2 - t'b + w |b|_1 over b with lower <= b <= upper and a fixed sum of b.

    Classification: t = +1 and -1, one box for each sign, and w = 0. Regression: t are the targets,
    and w is the half width of the tube. One class: t = 0.
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    width: float = 0.0

    def slopes(self, b: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes up and down at b, given `values`, K b."""
        slope, w = self.target - values, self.width
        up = np.where(b < self.upper, slope - np.where(b >= 0, w, -w), -np.inf)
        down = np.where(b > self.lower, slope - np.where(b > 0, w, -w), np.inf)
        return up, down

    def values(self, b: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
        """K b from the slopes, for every coefficient that is not fixed; 0 for the others."""
        w = self.width
        slope = np.where(up > -np.inf, up + np.where(b >= 0, w, -w), down + np.where(b > 0, w, -w))
        return np.where(self.lower < self.upper, self.target - slope, 0.0)

    def objective(self, b: np.ndarray, values: np.ndarray) -> float:
        """The objective at b, given `values`, K b."""
        return float(b @ (values / 2 - self.target) + self.width * np.abs(b).sum())

    def at(self, index: np.ndarray) -> Dual:
        """The problem of a subset of the coefficients, the others being fixed."""
        return Dual(self.target[index], self.lower[index], self.upper[index], self.width)

    def check_separable(self, b: np.ndarray, values: np.ndarray, diagonal: np.ndarray) -> None:
        """Refuse a hard margin that does not exist.

        The points sum_+ b_i phi(x_i) / S and sum_- |b_i| phi(x_i) / S of the two convex hulls,
        S = |b|_1 / 2, are sqrt(b'Kb) / S apart, and the margin is at most half of that.
        """
        total = float(np.abs(b).sum())
        if total == 0 or not np.isinf(self.upper).any():
            return
        margin = max(float(b @ values), 0.0) ** 0.5 / total
        if margin < _MIN_RELATIVE_MARGIN * float(diagonal.max()) ** 0.5:
            raise ValueError(
                "C=inf needs classes that the kernel separates, but their margin is below a "
                "millionth of the norm of the points: use a finite C, or a kernel with a smaller bandwidth"
            )


@dataclass(frozen=True)
class DualSolution:
    """Solution of a `Dual`: coefficients b, K b, the offset, and the violation of optimality."""

    b: np.ndarray
    values: np.ndarray
    offset: float
    gap: float
    steps: int

    @classmethod
    def of(
        cls,
        dual: Dual,
        b: np.ndarray,
        values: np.ndarray,
        steps: int,
        slopes: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> DualSolution:
        """Offset and gap of coefficients b, given `values`, K b, and the slopes where they are known."""
        up, down = dual.slopes(b, values) if slopes is None else slopes
        free = (up > -np.inf) & (down < np.inf)
        if dual.width > 0:
            free &= b != 0
        high, low = float(up.max()), float(down.min())
        # The slopes of free coefficients all equal the offset; without any, it is only bracketed.
        offset = float(up[free].mean()) if free.any() else _middle(high, low)
        return cls(b, values, offset, max(high - low, 0.0), steps)

    @property
    def norm2(self) -> float:
        """b'Kb, the squared norm of the function."""
        return float(self.b @ self.values)


def solve_block(
    store: RowStore,
    diagonal: np.ndarray,
    dual: Dual,
    b: np.ndarray,
    values: np.ndarray,
    tolerance: float,
    max_steps: int,
) -> DualSolution:
    """Solve a problem all of whose rows may be in memory, from coefficients b with `values`, K b."""
    block = Block(store, diagonal, dual, b, *dual.slopes(b, values))
    steps_taken, objective = 0, np.inf
    while steps_taken < max_steps:
        now = min(100 * len(b) + 1000, max_steps - steps_taken)
        steps = block.solve(tolerance, now, spent=steps_taken)
        steps_taken += steps
        if steps < now:
            break
        values = dual.values(block.b, block.up, block.down)
        before, objective = objective, dual.objective(block.b, values)
        if not objective < before:
            break
        dual.check_separable(block.b, values, diagonal)
    values = dual.values(block.b, block.up, block.down)
    return DualSolution.of(dual, block.b.copy(), values, steps_taken, (block.up, block.down))


class Block:
    """State of a problem that is being solved: coefficients and slopes."""

    def __init__(
        self,
        store: RowStore,
        diagonal: np.ndarray,
        dual: Dual,
        b: np.ndarray,
        up: np.ndarray,
        down: np.ndarray,
    ) -> None:
        n = len(b)
        self.store, self.dual = store, dual
        self._state = np.zeros((len(STATE_ROWS), padded(n)), dtype=np.float64)
        for row, numbers in zip(
            self._state, (diagonal, dual.lower, dual.upper, b, up, down), strict=True
        ):
            row[:n] = numbers
        self._state[4, n:], self._state[5, n:] = -np.inf, np.inf
        self.diagonal, _, _, self.b, self.up, self.down = self._state[:, :n]

    def solve(self, tolerance: float, max_steps: int, *, spent: int = 0) -> int:
        """Take steps until max up - min down <= tolerance; returns their number.

        `spent` steps were taken before on the same problem. Where compiled code cannot be stored, the
        first ones run in NumPy, because compiling takes seconds: both loops take the same steps.
        """
        steps_taken = rounds = 0
        while steps_taken < max_steps:
            compiled = _use_compiled(spent + steps_taken)
            at_once = min(
                max(_STEPS_PER_COEFFICIENT * len(self.b), _MIN_STEPS_PER_CALL if compiled else 0),
                max(_MAX_SLOPES_PER_CALL // len(self.b), 1),
            )
            now = min(at_once, max_steps - steps_taken)
            steps = (self._compiled if compiled else self._numpy)(tolerance, now)
            steps_taken += steps
            if steps < now:
                break
            rounds += 1
            if not compiled or rounds % _COMPILED_ROUNDS == 0:
                self._newton(_MAX_FREE_COMPILED if compiled else _MAX_FREE_NUMPY)
            movable = (self.down <= self.up.max()) | (self.up >= self.down.min())
            if np.count_nonzero(movable) < 0.7 * len(movable):
                index = np.flatnonzero(movable)
                steps_taken += self._shrunk(
                    index, tolerance, max_steps - steps_taken, spent + steps_taken
                )
        return steps_taken

    def _newton(self, max_free: int) -> None:
        """Minimise over the free coefficients up to the first bound; repeat with those still free.

        Steps of pairs converge slowly where the matrix is nearly singular, as for smooth kernels and
        large C; the free coefficients alone solve a linear system with one constraint, their sum.
        Nothing is done for more than `max_free` coefficients.
        """
        dual = self.dual
        values = dual.values(self.b, self.up, self.down)
        for _ in range(_MAX_BOUNDS_MET):
            inside = (self.b > dual.lower) & (self.b < dual.upper)
            free = np.flatnonzero(inside & ((dual.width == 0) | (self.b != 0)))
            if not 2 <= len(free) <= max_free:
                break
            slope = dual.target[free] - values[free] - dual.width * np.sign(self.b[free])
            rows = self.store.at(free)
            change = _constrained(rows[:, free], slope)
            if change is None:
                break
            share = self._change(free, change)
            values = values + (share * change) @ rows
            if share == 1.0:
                break
        self.up[:], self.down[:] = dual.slopes(self.b, values)

    def _change(self, free: np.ndarray, change: np.ndarray) -> float:
        """Add a change, or the share of it up to the first bound or kink; returns the share."""
        b, dual = self.b[free], self.dual.at(free)
        kink = dual.width > 0
        top = np.where(kink & (b < 0), np.minimum(dual.upper, 0.0), dual.upper)
        bottom = np.where(kink & (b > 0), np.maximum(dual.lower, 0.0), dual.lower)
        bound = np.where(change > 0, top, bottom)
        room = np.full(len(b), np.inf)
        np.divide(bound - b, change, out=room, where=change != 0)
        share = min(float(room.min()), 1.0)
        self.b[free] = (
            np.where(room <= share, bound, b + share * change) if share < 1 else b + change
        )
        return share

    def _shrunk(self, index: np.ndarray, tolerance: float, max_steps: int, spent: int) -> int:
        """Solve for the coefficients that can move (shrinking), and update the slopes of the others."""
        inner = Block(
            self.store.part(index),
            self.diagonal[index],
            self.dual.at(index),
            self.b[index],
            self.up[index],
            self.down[index],
        )
        steps = inner.solve(tolerance, max_steps, spent=spent)
        change = inner.b - self.b[index]
        changed = np.flatnonzero(change)
        shift = change[changed] @ self.store.at(index[changed])
        self.up -= shift
        self.down -= shift
        self.b[index], self.up[index], self.down[index] = inner.b, inner.up, inner.down
        return steps

    def _compiled(self, tolerance: float, max_steps: int) -> int:
        store, source, n = self.store, self.store.source, len(self.b)
        loop, missing = compiled_steps(store.rows.dtype), np.empty(1, dtype=np.int64)
        scratch = np.empty(3 * LANES, dtype=np.float64)
        width, steps_taken = float(self.dual.width), 0
        while True:
            steps_taken += loop(
                *(store.rows, store.slots, store.stored, self._state, scratch),
                *(source.left, source.right, source.rank, source.places, source.stride, n),
                *(width, tolerance, max_steps - steps_taken, missing),
            )
            if missing[0] == ALL_ROWS_STORED:
                return steps_taken
            store.fetch(int(missing[0]), self.up, self.down)

    def _numpy(self, tolerance: float, max_steps: int) -> int:
        store, diagonal, n = self.store, self.diagonal, len(self.b)
        rows, slots, up, down = store.rows, store.slots, self.up, self.down
        flat = MIN_CURVATURE * max(float(diagonal.max()), 1e-300)
        gap, curve = np.empty(n), np.empty(n)
        for steps_taken in range(max_steps):
            i = int(np.argmax(up))
            np.maximum(np.subtract(up[i], down, out=gap), 0.0, out=gap)
            if gap.max() <= tolerance:
                return steps_taken
            if slots[i] < 0:
                store.fetch(i, up, down)
            row = rows[slots[i], :n]
            np.subtract(diagonal[i] + diagonal, 2 * row, out=curve)
            np.maximum(curve, flat, out=curve)
            j = int(np.argmax(gap * gap / curve))
            if j == i:
                return steps_taken
            if slots[j] < 0:
                store.fetch(j, up, down)
            step = self._pair(i, j, gap[j] / curve[j])
            change = step * (row - rows[slots[j], :n])
            up -= change
            down -= change
            self._restore_kink(i)
            self._restore_kink(j)
        return max_steps

    def _pair(self, i: int, j: int, step: float) -> float:
        """Raise b_i and lower b_j by the step, but not beyond a bound or the kink at 0."""
        b, dual = self.b, self.dual
        kink = dual.width > 0
        top = min(dual.upper[i], 0.0) if kink and b[i] < 0 else dual.upper[i]
        bottom = max(dual.lower[j], 0.0) if kink and b[j] > 0 else dual.lower[j]
        room_i, room_j = top - b[i], b[j] - bottom
        step = min(step, room_i, room_j)
        self._remove_kink(i)
        self._remove_kink(j)
        b[i] = top if step == room_i else b[i] + step
        b[j] = bottom if step == room_j else b[j] - step
        return step

    def _remove_kink(self, t: int) -> None:
        """Set both slopes of t to the slope without the kink of |b| and without bounds."""
        w = self.dual.width
        free = self.up[t] > -np.inf
        if free:
            slope = self.up[t] + (w if self.b[t] >= 0 else -w)
        else:
            slope = self.down[t] + (w if self.b[t] > 0 else -w)
        self.up[t] = self.down[t] = slope

    def _restore_kink(self, t: int) -> None:
        """Set the slopes of t, kink and bounds included, from the slope without them."""
        b, dual, w = self.b[t], self.dual, self.dual.width
        slope = self.up[t]
        self.up[t] = slope - (w if b >= 0 else -w) if b < dual.upper[t] else -np.inf
        self.down[t] = slope - (w if b > 0 else -w) if b > dual.lower[t] else np.inf


def _use_compiled(steps: int) -> bool:
    """Whether to run the compiled loop: where it is stored or can be, or after so many steps."""
    return has_compiler() and (steps >= _MIN_STEPS_TO_COMPILE or is_quickly_compiled())


def _constrained(matrix: np.ndarray, slope: np.ndarray) -> np.ndarray | None:
    """argmin of d'Kd / 2 - slope'd over d with 1'd = 0; None where K is not positive definite.

    The ridge on the diagonal shortens d a little; it remains a direction of descent.
    """
    regularized = matrix.astype(np.float64)
    add_to_diagonal(regularized, _RIDGE * float(np.trace(regularized)))
    solve = factored(regularized)
    if solve is None:
        return None
    solved = solve(np.stack([slope, np.ones_like(slope)], axis=1))
    change = solved[:, 0] - solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum())
    return change - change.mean()


def _middle(high: float, low: float) -> float:
    """Midpoint of an interval; the finite end where the other is infinite, 0 where both are."""
    if np.isfinite(high) and np.isfinite(low):
        return (high + low) / 2
    return high if np.isfinite(high) else low if np.isfinite(low) else 0.0
