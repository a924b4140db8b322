"""The dual problem of support vector machines at any size: a working set at a time.

Large problems are decomposed (Osuna, Freund and Girosi 1997; Joachims 1999): the coefficients
that violate the optimality conditions most make a small problem, whose matrix is held and which
`steps.py` solves; then the slopes of all coefficients follow by one product with the rows that
changed. Half of the working set is kept from one round to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.config import settings
from mercer.learn.machines.matrix_access import WHOLE, Held, Rows
from mercer.learn.machines.smo import Block, Dual

_SIDE = 1024  # of the working set; doubled while more coefficients are free
_CLOSER = 0.1  # how much smaller a round makes the gap inside its working set
_LOOK = 8  # rounds between looks at what is free, and what can be left out
_AGAIN = 3  # how often rows were made on average before coefficients are left out
_STEPS = 10_000_000


@dataclass(frozen=True)
class Solution:
    """Coefficients b, K b, the offset, and how well the optimality conditions hold."""

    b: np.ndarray
    values: np.ndarray
    offset: float
    gap: float
    steps: int

    @property
    def norm2(self) -> float:
        """b'Kb, the squared norm of the function."""
        return float(self.b @ self.values)


def solve(
    rows: Rows,
    dual: Dual,
    *,
    start: np.ndarray | None = None,
    values: np.ndarray | None = None,
    tolerance: float = 1e-3,
    most: int | None = None,
) -> Solution:
    """Minimize until max up - min down <= tolerance, from a feasible start whose K b is `values`."""
    most = _STEPS if most is None else most
    b = np.zeros(len(rows), dtype=np.float64) if start is None else start.astype(np.float64)
    if values is None:
        used = np.flatnonzero(b)
        values = rows.times(used, b[used]) if len(used) else np.zeros(len(rows), dtype=np.float64)
    # A matrix that is there is the working set: to cut parts out of it would cost more than steps.
    if isinstance(rows, Held) or len(rows) <= min(WHOLE, _largest_side()):
        return _in_one(rows, dual, b, values, tolerance, most)
    return _Decomposition(rows, dual, b, values.copy()).solve(tolerance, most)


def _in_one(
    rows: Rows, dual: Dual, b: np.ndarray, values: np.ndarray, tolerance: float, most: int
) -> Solution:
    block = Block(rows.block(np.arange(len(rows))), rows.diagonal, dual, b, *dual.slopes(b, values))
    done, reached = 0, np.inf
    while done < most:
        now = min(100 * len(b) + 1000, most - done)
        step = block.solve(tolerance, now, spent=done)
        done += step
        values = dual.values(b, block.up, block.down)
        before, reached = reached, dual.objective(b, values)
        if step < now or not reached < before:
            break
        separable(rows, dual, b, values)
    return _solution(dual, b, dual.values(b, block.up, block.down), done)


class _Decomposition:
    """The state of a large problem; `active` are the coefficients that are not left out for now."""

    def __init__(self, rows: Rows, dual: Dual, b: np.ndarray, values: np.ndarray) -> None:
        self.rows, self.dual, self.b, self.values = rows, dual, b, values
        self.side = min(_SIDE, _largest_side())
        self.reached, self.working = np.inf, np.zeros(0, dtype=np.int64)
        self.made = 0  # rows
        self.everything()

    def everything(self) -> None:
        """Leave out nothing."""
        self.active = np.arange(len(self.b))
        self.products: Rows = self.rows

    def solve(self, tolerance: float, most: int) -> Solution:
        done = rounds = 0
        while done < most:
            up, down = self.slopes()
            gap = up.max() - down.min()
            if gap <= tolerance:
                if len(self.active) == len(self.b):
                    break
                self.recall()
                continue
            rounds += 1
            if rounds % _LOOK == 0:
                if self.stalled():
                    break
                self.look(up, down)
                up, down = self.slopes()
            steps = self.round(up, down, _CLOSER * gap, done, most - done)
            done += steps
            if steps == 0:
                if len(self.active) == len(self.b):
                    break
                self.recall()
        if len(self.active) < len(self.b):
            self.recall()
        return _solution(self.dual, self.b, self.values, done)

    def stalled(self) -> bool:
        """Whether rounding keeps the objective from falling any more; not asked while some are left out."""
        if len(self.active) < len(self.b):
            return False
        before, self.reached = self.reached, self.dual.objective(self.b, self.values)
        return not self.reached < before

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """up and down of the active coefficients."""
        return self.dual.at(self.active).slopes(self.b[self.active], self.values[self.active])

    def round(
        self, up: np.ndarray, down: np.ndarray, tolerance: float, spent: int, most: int
    ) -> int:
        """Solve for a working set; let the others follow."""
        chosen = self.choose(up, down)
        index = self.active[chosen]
        self.working = index
        b = self.b[index]
        block = Block(
            self.rows.block(index),
            self.rows.diagonal[index],
            self.dual.at(index),
            b,
            up[chosen],
            down[chosen],
        )
        steps = block.solve(tolerance, min(most, 100 * len(index)), spent=spent)
        change = b - self.b[index]
        moved = np.flatnonzero(change)
        if len(moved):
            self.b[index] = b
            self.made += len(moved)
            self.values[self.active] += self.products.times(index[moved], change[moved])
        return steps

    def choose(self, up: np.ndarray, down: np.ndarray) -> np.ndarray:
        """Positions among the active: half of the last working set, and the worst violators."""
        kept = np.flatnonzero(np.isin(self.active, self.working[len(self.working) // 2 :]))
        up, down = up.copy(), down.copy()
        up[kept], down[kept] = -np.inf, np.inf
        more = self.side - len(kept)
        rising = _smallest(-up, -(-more // 2))
        down[rising] = np.inf
        return np.concatenate([kept, rising, _smallest(down, more // 2)])

    def look(self, up: np.ndarray, down: np.ndarray) -> None:
        """Grow the working set where many are free; leave out what cannot move for now (shrinking)."""
        free = (self.b > self.dual.lower) & (self.b < self.dual.upper)
        if np.count_nonzero(free) > self.side:
            self.side = min(2 * self.side, _largest_side())
        separable(self.rows, self.dual, self.b, self.values)
        if self.made < _AGAIN * np.count_nonzero(self.b):
            return  # to recall costs as much as to make all rows in use once
        keep = (down <= up.max()) | (up >= down.min())
        if np.count_nonzero(keep) < 0.7 * len(self.active):
            self.made = 0
            active = self.active[keep]
            products = self.rows.onto(active)
            if products is not None:
                self.active, self.products = active, products

    def recall(self) -> None:
        """Take in again what was left out, with its slopes."""
        out = np.setdiff1d(np.arange(len(self.b)), self.active)
        used = np.flatnonzero(self.b)
        products = self.rows.onto(out)
        if products is not None:
            self.values[out] = products.times(used, self.b[used])
        self.everything()


def separable(rows: Rows, dual: Dual, b: np.ndarray, values: np.ndarray) -> None:
    """Refuse a hard margin that is not there.

    The points sum_+ b_i phi(x_i) / S and sum_- |b_i| phi(x_i) / S of the two convex hulls, S = |b|_1 / 2, are
    sqrt(b'Kb) / S apart, and the margin is at most half of that.
    """
    total = float(np.abs(b).sum())
    if total == 0 or not np.isinf(dual.upper).any():
        return
    apart = max(float(b @ values), 0.0) ** 0.5 / total
    if apart < 1e-6 * float(rows.diagonal.max()) ** 0.5:
        raise ValueError(
            "C=inf needs classes that the kernel can separate, and these have a margin below a "
            "millionth of their size: give a finite C, or a kernel with a smaller bandwidth"
        )


def _solution(dual: Dual, b: np.ndarray, values: np.ndarray, steps: int) -> Solution:
    up, down = dual.slopes(b, values)
    inside = (up > -np.inf) & (down < np.inf) & ((dual.width == 0) | (b != 0))
    high, low = float(up.max()), float(down.min())
    # Of the free ones, whose slopes all equal the offset; where none is free it is bracketed.
    offset = float(up[inside].mean()) if inside.any() else _middle(high, low)
    return Solution(b, values, offset, max(high - low, 0.0), steps)


def _middle(high: float, low: float) -> float:
    if np.isfinite(high) and np.isfinite(low):
        return (high + low) / 2
    return high if np.isfinite(high) else low if np.isfinite(low) else 0.0


def _smallest(values: np.ndarray, number: int) -> np.ndarray:
    """Where the so many smallest are that are finite."""
    if number >= len(values):
        return np.flatnonzero(values < np.inf)
    first = np.argpartition(values, number)[:number]
    return first[values[first] < np.inf]


def _largest_side() -> int:
    """Of a working set whose matrix takes an eighth of the budget."""
    return int((settings().memory / 8 / 8) ** 0.5)
