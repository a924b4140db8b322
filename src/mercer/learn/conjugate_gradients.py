"""Conjugate gradients, and a Newton method that solves its systems by them: only products are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mercer.backend import Array, namespace, scalar, zeros

_MAX_HALVINGS = 30  # of a step, before it is given up: 1e-9 of its length
_MAX_INNER_ITERATIONS = 200  # conjugate gradients within one Newton step


def conjugate_gradients(
    system: Callable[[Array], Array],
    right: Array,
    iterations: int,
    tolerance: float,
    precondition: Callable[[Array], Array] | None = None,
) -> tuple[Array, int, float]:
    """Solution x of Ax = b for columns b (m, q), the steps taken, and the largest relative residual."""
    xp = namespace(right)
    x, r = zeros(tuple(right.shape), right), xp.asarray(right, copy=True)
    z = r if precondition is None else precondition(r)
    p, rz, unit = z, xp.sum(r * z, axis=0), xp.ones_like(r[0, :])
    first, residual, step = xp.sum(r * r, axis=0), 1.0, 0
    while step < iterations and residual > tolerance and scalar(xp.max(rz)) > 0:
        image, step = system(p), step + 1
        curvature = xp.sum(p * image, axis=0)
        length = xp.where(curvature > 0, rz / xp.where(curvature > 0, curvature, unit), 0 * unit)
        x, r = x + length * p, r - length * image
        z = r if precondition is None else precondition(r)
        before, rz = rz, xp.sum(r * z, axis=0)
        share = xp.sum(r * r, axis=0) / xp.where(first > 0, first, unit)
        residual = scalar(xp.max(share)) ** 0.5
        p = z + rz / xp.where(before > 0, before, unit) * p
    return x, step, residual if step else 0.0


@dataclass(frozen=True, eq=False)
class Look:
    """Local model of a function at a point: value, gradient, and Newton's direction.

    The system of the direction is solved up to the relative residual that `direction` is given.
    """

    value: float
    gradient: Array
    direction: Callable[[float], Array]


@dataclass(frozen=True, eq=False)
class Minimum:
    """Final point of a minimisation, its steps, and the norm of the gradient relative to the first one."""

    point: Array
    steps: int
    left: float


def by_conjugate_gradients(
    gradient: Array, curvature: Callable[[Array], Array]
) -> Callable[[float], Array]:
    """Newton's direction for a `Look`, from products v -> Hv with the Hessian."""
    xp, shape = namespace(gradient), tuple(gradient.shape)

    def system(v: Array) -> Array:
        return xp.reshape(curvature(xp.reshape(v, shape)), (-1, 1))

    def direction(tolerance: float) -> Array:
        right = xp.reshape(-gradient, (-1, 1))
        solved, _, _ = conjugate_gradients(system, right, _MAX_INNER_ITERATIONS, tolerance)
        return xp.reshape(solved, shape)

    return direction


def newton(
    look: Callable[[Array], Look], start: Array, iterations: int, tolerance: float
) -> Minimum:
    """Minimise a convex function by Newton's method.

    Stops where the gradient is below `tolerance` times the first one. Steps are halved until the
    function decreases sufficiently (Nocedal and Wright 2006, alg. 7.1).
    """
    xp = namespace(start)
    current = look(start)
    first = _norm(current.gradient) or 1.0
    residual, step = _norm(current.gradient) / first, 0
    while step < iterations and residual > tolerance:
        direction = current.direction(min(0.1, residual**0.5))
        promised = scalar(xp.sum(current.gradient * direction))
        length = 1.0
        for _ in range(_MAX_HALVINGS):
            trial = look(start + length * direction)
            if trial.value <= current.value + 1e-4 * length * promised + _noise(current.value):
                break
            length /= 2
        else:
            return Minimum(start, step, residual)  # only rounding remains
        fell, before = current.value - trial.value, residual
        start, current, step = start + length * direction, trial, step + 1
        residual = _norm(current.gradient) / first
        if fell <= 10 * _noise(current.value) and residual > before / 2:
            break  # only rounding remains
    return Minimum(start, step, residual)


def _norm(v: Array) -> float:
    return scalar(namespace(v).sum(v * v)) ** 0.5


def _noise(value: float) -> float:
    return 1e-14 * abs(value)
