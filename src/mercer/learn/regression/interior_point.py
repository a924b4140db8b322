"""Interior point method for piecewise linear losses: a quadratic programme in a box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mercer.backend import Array, namespace, scalar
from mercer.gram.positive_definite import add_to_diagonal, factored
from mercer.learn.regression.landmark_matrix import FactoredMatrix
from mercer.learn.regression.newton import Fit

_STEP_FRACTION = 0.995  # of the distance to the boundary that a step goes
_ROUNDING_GAP = 1e-6  # below it, a failed factorisation is due to rounding
_OBJECTIVE_FLOOR = 1e-3  # relative to the first objective: an objective of 0 has no relative gap


@dataclass(frozen=True, eq=False)
class Box:
    """min over low <= v <= high of v'Kv / (4 ridge) - y'v, with 1'v = 0 where there is an intercept.

    The dual of sum_i l(y_i, f(x_i) + b) + ridge |f|^2 for losses l = max of v (y - f) over such v;
    f = sum_i v_i k(x_i, .) / (2 ridge), and b is the multiplier of the sum.
    """

    matrix: Array | FactoredMatrix
    y: Array
    low: Array
    high: Array
    ridge: float
    intercept: bool


@dataclass(frozen=True, eq=False)
class _State:
    """Distances of v to its bounds, their multipliers, and the intercept; positive before convergence."""

    room: tuple[Array, Array]  # v - low and high - v
    force: tuple[Array, Array]
    b: float

    def after(self, step: _Step, length: float) -> _State:
        """The state after a fraction of a step."""
        room = self.room[0] + length * step.v, self.room[1] - length * step.v
        force = self.force[0] + length * step.low, self.force[1] + length * step.high
        return _State(room, force, self.b + length * step.b)

    def products(self) -> float:
        """The sum of distances times multipliers, which is 0 at the end."""
        xp = namespace(self.room[0])
        return sum(scalar(xp.sum(r * f)) for r, f in zip(self.room, self.force, strict=True))


@dataclass(frozen=True, eq=False)
class _Step:
    v: Array
    low: Array  # of the multipliers
    high: Array
    b: float


def minimise(box: Box, iterations: int, tolerance: float) -> Fit:
    """Mehrotra's predictor and corrector (Nocedal and Wright 2006, alg. 16.4), n^3 / 3 for a step.

    Stops where the duality gap is below `tolerance` times the objective.
    """
    xp, n = namespace(box.y), int(box.y.shape[0])
    half, size = (box.high - box.low) / 2, 2 * scalar(xp.mean(xp.abs(box.y))) or 1.0
    state = _State((half, half), (size * xp.ones_like(half), size * xp.ones_like(half)), 0.0)
    first, gap, step = _objective(box, box.low + half, 0.0)[0], float("inf"), 0
    while step < iterations and gap > tolerance:
        v = box.low + state.room[0]
        image = box.matrix @ v / (2 * box.ridge)
        solve = _inverse(box, state.force[0] / state.room[0] + state.force[1] / state.room[1])
        if solve is None and gap > _ROUNDING_GAP:
            raise ValueError(
                "the kernel must be positive definite, but its matrix is not: use another kernel"
            )
        if solve is None:
            break  # only rounding remains
        mean = state.products() / (2 * n)
        if not mean > 0:
            break  # likewise
        guess = _direction(box, state, image, solve, 0.0, None)
        ahead = state.after(guess, _length(guess, state)).products() / (2 * n)
        centred = _direction(box, state, image, solve, ahead * (ahead / mean) ** 2, guess)
        state = state.after(centred, min(_STEP_FRACTION * _length(centred, state), 1.0))
        primal, dual = _objective(box, box.low + state.room[0], state.b)
        gap, step = (
            abs(primal - dual) / max(abs(primal), _OBJECTIVE_FLOOR * abs(first), 1e-300),
            step + 1,
        )
    return Fit((box.low + state.room[0]) / (2 * box.ridge), state.b, step, gap)


def _inverse(box: Box, diagonal: Array) -> Callable[[Array], Array] | None:
    """B -> (K / 2 ridge + D)^-1 B; None where the matrix is not positive definite."""
    if isinstance(box.matrix, FactoredMatrix):
        return box.matrix.factored_with(2 * box.ridge, diagonal)
    system = box.matrix / (2 * box.ridge)
    add_to_diagonal(system, diagonal)
    return factored(system)


def _direction(
    box: Box,
    state: _State,
    image: Array,
    solve: Callable[[Array], Array],
    target: float,
    guess: _Step | None,
) -> _Step:
    """Newton direction towards products of distance and multiplier equal to `target`."""
    xp = namespace(image)
    low, high = target / state.room[0], target / state.room[1]
    if guess is not None:  # second-order terms
        low = low - guess.v * guess.low / state.room[0]
        high = high + guess.v * guess.high / state.room[1]
    right = box.y - image - state.b + low - high
    columns = solve(xp.stack([right, xp.ones_like(right)], axis=1))
    b, total = 0.0, scalar(xp.sum(box.low + state.room[0]))
    if box.intercept:
        b = (scalar(xp.sum(columns[:, 0])) + total) / scalar(xp.sum(columns[:, 1]))
    v = columns[:, 0] - b * columns[:, 1]
    below = low - state.force[0] - state.force[0] * v / state.room[0]
    above = high - state.force[1] + state.force[1] * v / state.room[1]
    return _Step(v, below, above, b)


def _length(step: _Step, state: _State) -> float:
    """Largest step length, at most 1, that keeps distances and multipliers positive."""
    pairs = zip((*state.room, *state.force), (step.v, -step.v, step.low, step.high), strict=True)
    length = 1.0
    for value, change in pairs:
        xp = namespace(value)
        falls = change < 0
        ratio = xp.where(falls, value / xp.where(falls, -change, xp.ones_like(change)), 2.0)
        length = min(length, scalar(xp.min(ratio)))
    return length


def _objective(box: Box, v: Array, b: float) -> tuple[float, float]:
    """The objective at a point, and the lower bound that the dual gives."""
    xp = namespace(v)
    image = box.matrix @ v / (2 * box.ridge)
    norm2 = scalar(xp.sum(v * image))
    off = box.y - image - b
    lost = scalar(xp.sum(xp.maximum(box.low * off, box.high * off)))
    slipped = abs(scalar(xp.sum(v)) * b) if box.intercept else 0.0  # 1'v = 0 holds at the end
    return lost + norm2 / 2, scalar(xp.sum(box.y * v)) - norm2 / 2 - slipped
