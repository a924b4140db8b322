"""Decomposition of large dual problems: a working set at a time.

The coefficients that violate the optimality conditions most form a small problem, whose matrix is in
memory and which `smo.py` solves; the slopes of all coefficients are then updated by one product with
the rows that changed (Osuna, Freund and Girosi 1997; Joachims 1999). Half of the working set is kept
from one round to the next.
"""

from __future__ import annotations

import numpy as np

from mercer.config import settings
from mercer.learn.machines.matrix_access import KernelRows
from mercer.learn.machines.row_store import RowStore
from mercer.learn.machines.smo import Block, Dual, DualSolution

# Coefficients, 18 MiB of matrix; doubled while more of them are free. On 20,000 points 1,024, 1,536 and 2,048 took
# 50, 32 and 24 rounds and the same time on one core; many cores wait less for fewer rounds.
_WORKING_SET = 1536
_GAP_FACTOR = 0.1  # by which a round reduces the gap inside its working set
_ROUNDS_BETWEEN_CHECKS = 8  # of progress, the size of the working set and shrinking
_MIN_ROW_REUSE = 3  # how often rows were computed on average before coefficients are left out


class Decomposition:
    """State of a large problem; `active` are the coefficients that are not left out (shrinking)."""

    def __init__(self, rows: KernelRows, dual: Dual, b: np.ndarray, values: np.ndarray) -> None:
        self.rows, self.dual, self.b, self.values = rows, dual, b, values
        self.size = min(_WORKING_SET, max_working_set())
        self.reached, self.working = np.inf, np.zeros(0, dtype=np.int64)
        self.computed = 0  # rows since the last shrinking
        self.activate_all()

    def activate_all(self) -> None:
        """Make all coefficients active."""
        self.active = np.arange(len(self.b))
        self.products: KernelRows = self.rows

    def solve(self, tolerance: float, max_steps: int) -> DualSolution:
        """Solve working sets until max up - min down <= tolerance."""
        steps_taken = rounds = 0
        while steps_taken < max_steps:
            up, down = self.slopes()
            gap = up.max() - down.min()
            if gap <= tolerance:
                if len(self.active) == len(self.b):
                    break
                self.recall()
                continue
            rounds += 1
            if rounds % _ROUNDS_BETWEEN_CHECKS == 0:
                if self.stalled():
                    break
                self.adapt(up, down)
                up, down = self.slopes()
            steps = self.round(up, down, _GAP_FACTOR * gap, steps_taken, max_steps - steps_taken)
            steps_taken += steps
            if steps == 0:
                if len(self.active) == len(self.b):
                    break
                self.recall()
        if len(self.active) < len(self.b):
            self.recall()
        return DualSolution.of(self.dual, self.b, self.values, steps_taken)

    def stalled(self) -> bool:
        """Whether rounding keeps the objective from falling; always False while some are left out."""
        if len(self.active) < len(self.b):
            return False
        before, self.reached = self.reached, self.dual.objective(self.b, self.values)
        return not self.reached < before

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Slopes up and down of the active coefficients."""
        return self.dual.at(self.active).slopes(self.b[self.active], self.values[self.active])

    def round(
        self, up: np.ndarray, down: np.ndarray, tolerance: float, spent: int, max_steps: int
    ) -> int:
        """Solve for a working set, then update the values of the others; returns the steps taken."""
        selected = self.choose(up, down)
        index = self.active[selected]
        self.working = index
        block = Block(
            RowStore.full(self.rows.block(index)),
            self.rows.diagonal[index],
            self.dual.at(index),
            self.b[index],
            up[selected],
            down[selected],
        )
        steps = block.solve(tolerance, min(max_steps, 100 * len(index)), spent=spent)
        change = block.b - self.b[index]
        changed = np.flatnonzero(change)
        if len(changed):
            self.b[index] = block.b
            self.computed += len(changed)
            self.values[self.active] += self.products.times(index[changed], change[changed])
        return steps

    def choose(self, up: np.ndarray, down: np.ndarray) -> np.ndarray:
        """Positions among the active: half of the last working set and the worst violators."""
        retained = np.flatnonzero(np.isin(self.active, self.working[len(self.working) // 2 :]))
        up, down = up.copy(), down.copy()
        up[retained], down[retained] = -np.inf, np.inf
        vacant = self.size - len(retained)
        violating = _smallest(-up, -(-vacant // 2))
        down[violating] = np.inf
        return np.concatenate([retained, violating, _smallest(down, vacant // 2)])

    def adapt(self, up: np.ndarray, down: np.ndarray) -> None:
        """Grow the working set where many coefficients are free; leave out those that cannot move."""
        free = (self.b > self.dual.lower) & (self.b < self.dual.upper)
        if np.count_nonzero(free) > self.size:
            self.size = min(2 * self.size, max_working_set())
        self.dual.check_separable(self.b, self.values, self.rows.diagonal)
        if self.computed < _MIN_ROW_REUSE * np.count_nonzero(self.b):
            return  # a recall costs as much as computing all rows in use once
        movable = (down <= up.max()) | (up >= down.min())
        if np.count_nonzero(movable) < 0.7 * len(self.active):
            self.computed = 0
            active = self.active[movable]
            products = self.rows.onto(active)
            if products is not None:
                self.active, self.products = active, products

    def recall(self) -> None:
        """Make all coefficients active again, with the values of those that were left out."""
        inactive = np.setdiff1d(np.arange(len(self.b)), self.active)
        used = np.flatnonzero(self.b)
        products = self.rows.onto(inactive)
        if products is not None:
            self.values[inactive] = products.times(used, self.b[used])
        self.activate_all()


def _smallest(values: np.ndarray, number: int) -> np.ndarray:
    """Positions of the `number` smallest values, infinite ones left out."""
    if number >= len(values):
        return np.flatnonzero(values < np.inf)
    first = np.argpartition(values, number)[:number]
    return first[values[first] < np.inf]


def max_working_set() -> int:
    """Size of a working set whose matrix takes an eighth of the memory budget."""
    return int((settings().memory / 8 / 8) ** 0.5)
