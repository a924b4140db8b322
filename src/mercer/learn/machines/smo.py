"""Sequential minimal optimization on a matrix that is held: two coefficients at a time.

The problem is `Dual`'s. Its slopes, up_i (what objective is won by raising b_i a little) and down_i
(what is lost by lowering it), are kept; where a bound forbids the move they are -inf and inf.
The pair is that of second order: i has the largest up_i, and j wins most with it,
(up_i - down_j)^2 / (K_ii + K_jj - 2 K_ij) (Fan, Chen and Lin 2005, eq. 3.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from mercer.gram.positive_definite import add_to_diagonal, factored
from mercer.learn.machines.smo_compiled import FLAT, LANES, compiled_steps, is_loaded

_SHRINK = 4  # steps for each coefficient, after which the free ones are solved for together, and
# those that cannot move are left out
_ENTRIES = 400_000_000  # slopes changed in one compiled call at most: half a second, as Ctrl-C waits for it
_SELDOM = 5  # times as rarely beside compiled steps, which cost less
_MANY = 2048  # coefficients that are solved for together at most, beside steps in NumPy
_FEW = 512  # the same beside compiled steps
_WALLS = 8  # bounds that are met on the way
_RIDGE = 1e-14  # of the trace, added to the diagonal for rounding
_LONG = 100_000  # steps from which compiling them, some seconds, pays


@dataclass(frozen=True)
class Dual:
    """min b'Kb / 2 - t'b + w |b|_1 over b with lower <= b <= upper and a fixed sum of b.

    Classification has t = +1 and -1, one box for each sign, and w = 0; regression the targets t, and
    w is the half width of the tube; one class has t = 0.
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    width: float = 0.0

    def slopes(self, b: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """up and down at b, whose K b is `values`."""
        slope, w = self.target - values, self.width
        up = np.where(b < self.upper, slope - np.where(b >= 0, w, -w), -np.inf)
        down = np.where(b > self.lower, slope - np.where(b > 0, w, -w), np.inf)
        return up, down

    def values(self, b: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
        """K b from the slopes, wherever a coefficient may move."""
        w = self.width
        slope = np.where(up > -np.inf, up + np.where(b >= 0, w, -w), down + np.where(b > 0, w, -w))
        return np.where(self.lower < self.upper, self.target - slope, 0.0)

    def objective(self, b: np.ndarray, values: np.ndarray) -> float:
        """What is minimized."""
        return float(b @ (values / 2 - self.target) + self.width * np.abs(b).sum())

    def at(self, index: np.ndarray) -> Dual:
        """The problem of some coefficients, the others being fixed."""
        return Dual(self.target[index], self.lower[index], self.upper[index], self.width)


def padded(n: int) -> int:
    """n rounded up to what compiled loops take."""
    return -(-n // LANES) * LANES


def wider(block: np.ndarray) -> np.ndarray:
    """A square matrix with columns of zeros up to `padded` many."""
    n = len(block)
    if padded(n) == n and block.flags.c_contiguous:
        return block
    out = np.zeros((n, padded(n)), dtype=block.dtype)
    out[:, :n] = block
    return out


@dataclass
class Block:
    """A small problem in the middle of being solved: b, and the slopes."""

    matrix: np.ndarray  # (n, padded(n))
    diagonal: np.ndarray
    dual: Dual
    b: np.ndarray
    up: np.ndarray
    down: np.ndarray

    def solve(self, tolerance: float, most: int, *, spent: int = 0) -> int:
        """Steps until max up - min down <= tolerance; returns how many were done.

        `spent` steps were done before, for the same problem. The first of all are done in NumPy
        unless the compiled loop, which takes seconds to compile, is there already: it does the same.
        """
        done = rounds = 0
        while done < most:
            at_once = min(_SHRINK * len(self.b), max(_ENTRIES // len(self.b), 1))
            now = min(at_once, most - done)
            compiled = find_spec("numba") is not None and (is_loaded() or spent + done >= _LONG)
            moved = (self._compiled if compiled else self._numpy)(tolerance, now)
            done += moved
            if moved < now:
                break
            rounds += 1
            if not compiled or rounds % _SELDOM == 0:
                self._newton(_FEW if compiled else _MANY)
            keep = (self.down <= self.up.max()) | (self.up >= self.down.min())
            if np.count_nonzero(keep) < 0.7 * len(keep):
                done += self._inside(np.flatnonzero(keep), tolerance, most - done, spent + done)
        return done

    def _newton(self, most: int) -> None:
        """Minimise over the coefficients that are free, up to the first bound; again with those left.

        Pairs of coefficients take very many steps where the matrix is nearly singular, as for smooth kernels
        and large C; the free coefficients alone are a linear system with one constraint, their sum. More
        than `most` are left to pairs.
        """
        dual, n = self.dual, len(self.b)
        values = dual.values(self.b, self.up, self.down)
        for _ in range(_WALLS):
            inside = (self.b > dual.lower) & (self.b < dual.upper)
            free = np.flatnonzero(inside & ((dual.width == 0) | (self.b != 0)))
            if not 2 <= len(free) <= most:
                break
            slope = dual.target[free] - values[free] - dual.width * np.sign(self.b[free])
            change = _constrained(self.matrix[np.ix_(free, free)], slope)
            if change is None:
                break
            share = self._change(free, change)
            values = values + (share * change) @ self.matrix[free, :n]
            if share == 1.0:
                break
        self.up, self.down = dual.slopes(self.b, values)

    def _change(self, free: np.ndarray, change: np.ndarray) -> float:
        """Add a change, or the share of it that leads to the first bound or kink; returns the share."""
        b, dual = self.b[free], self.dual.at(free)
        kink = dual.width > 0
        top = np.where(kink & (b < 0), np.minimum(dual.upper, 0.0), dual.upper)
        bottom = np.where(kink & (b > 0), np.maximum(dual.lower, 0.0), dual.lower)
        wall = np.where(change > 0, top, bottom)
        room = np.full(len(b), np.inf)
        np.divide(wall - b, change, out=room, where=change != 0)
        share = min(float(room.min()), 1.0)
        self.b[free] = (
            np.where(room <= share, wall, b + share * change) if share < 1 else b + change
        )
        return share

    def _inside(self, index: np.ndarray, tolerance: float, most: int, spent: int) -> int:
        """Solve for those that can move at all (shrinking); the slopes of the others follow."""
        n = len(self.b)
        part = Block(
            wider(self.matrix[np.ix_(index, index)]),
            self.diagonal[index],
            self.dual.at(index),
            self.b[index],
            self.up[index],
            self.down[index],
        )
        steps = part.solve(tolerance, most, spent=spent)
        change = part.b - self.b[index]
        moved = np.flatnonzero(change)
        follow = change[moved] @ self.matrix[index[moved], :n]
        self.up -= follow
        self.down -= follow
        self.b[index], self.up[index], self.down[index] = part.b, part.up, part.down
        return steps

    def _compiled(self, tolerance: float, most: int) -> int:
        n, dual = len(self.b), self.dual
        more = padded(n) - n
        up = np.concatenate([self.up, np.full(more, -np.inf)])
        down = np.concatenate([self.down, np.full(more, np.inf)])
        diagonal = np.concatenate([self.diagonal, np.zeros(more)])
        box = dual.lower, dual.upper
        done = compiled_steps()(
            self.matrix, diagonal, dual.width, *box, self.b, up, down, tolerance, most
        )
        self.up, self.down = up[:n], down[:n]
        return done

    def _numpy(self, tolerance: float, most: int) -> int:
        rows, diagonal, n = self.matrix, self.diagonal, len(self.b)
        up, down = self.up, self.down
        flat = FLAT * max(float(diagonal.max()), 1e-300)
        gap, curve = np.empty(n), np.empty(n)
        for done in range(most):
            i = int(np.argmax(up))
            np.maximum(np.subtract(up[i], down, out=gap), 0.0, out=gap)
            if gap.max() <= tolerance:
                return done
            np.subtract(diagonal[i] + diagonal, 2 * rows[i, :n], out=curve)
            np.maximum(curve, flat, out=curve)
            j = int(np.argmax(gap * gap / curve))
            if j == i:
                return done
            step = self._pair(i, j, gap[j] / curve[j])
            change = step * (rows[i, :n] - rows[j, :n])
            up -= change
            down -= change
            self._turn(i)
            self._turn(j)
        return most

    def _pair(self, i: int, j: int, step: float) -> float:
        """Raise b_i and lower b_j by the step, or what room there is: to a bound, or to the kink."""
        b, dual = self.b, self.dual
        kink = dual.width > 0
        top = min(dual.upper[i], 0.0) if kink and b[i] < 0 else dual.upper[i]
        bottom = max(dual.lower[j], 0.0) if kink and b[j] > 0 else dual.lower[j]
        room_i, room_j = top - b[i], b[j] - bottom
        step = min(step, room_i, room_j)
        self._level(i)
        self._level(j)
        b[i] = top if step == room_i else b[i] + step
        b[j] = bottom if step == room_j else b[j] - step
        return step

    def _level(self, t: int) -> None:
        """Both slopes of t without the kink of |b|, whatever its bounds."""
        w = self.dual.width
        free = self.up[t] > -np.inf
        if free:
            slope = self.up[t] + (w if self.b[t] >= 0 else -w)
        else:
            slope = self.down[t] + (w if self.b[t] > 0 else -w)
        self.up[t] = self.down[t] = slope

    def _turn(self, t: int) -> None:
        """The slopes of t again with kink and bounds, from those without."""
        b, dual, w = self.b[t], self.dual, self.dual.width
        slope = self.up[t]
        self.up[t] = slope - (w if b >= 0 else -w) if b < dual.upper[t] else -np.inf
        self.down[t] = slope - (w if b > 0 else -w) if b > dual.lower[t] else np.inf


def _constrained(matrix: np.ndarray, slope: np.ndarray) -> np.ndarray | None:
    """argmin of d'Kd / 2 - slope'd over d with 1'd = 0; None where K is not positive definite.

    What is added to the diagonal for rounding makes d a little shorter, and still a descent.
    """
    held = matrix.astype(np.float64)
    add_to_diagonal(held, _RIDGE * float(np.trace(held)))
    solve = factored(held)
    if solve is None:
        return None
    both = solve(np.stack([slope, np.ones_like(slope)], axis=1))
    change = both[:, 0] - both[:, 1] * (both[:, 0].sum() / both[:, 1].sum())
    return change - change.mean()
