"""Iterations that need products only: conjugate gradients, and Newton's method with them inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mercer.backend import Array, namespace, scalar, zeros

_HALVINGS = 30  # of a step, before it is given up
_INNER = 200  # conjugate gradients for one step of Newton's method, at most


def conjugate_gradients(
    system: Callable[[Array], Array],
    right: Array,
    iterations: int,
    tolerance: float,
    precondition: Callable[[Array], Array] | None = None,
) -> tuple[Array, int, float]:
    """x of Ax = b for columns b (m, q), steps taken, and the largest relative residual left."""
    xp = namespace(right)
    x, r = zeros(tuple(right.shape), right), xp.asarray(right, copy=True)
    z = r if precondition is None else precondition(r)
    p, rz, one = z, xp.sum(r * z, axis=0), xp.ones_like(r[0, :])
    first, left, step = xp.sum(r * r, axis=0), 1.0, 0
    while step < iterations and left > tolerance and scalar(xp.max(rz)) > 0:
        image, step = system(p), step + 1
        curvature = xp.sum(p * image, axis=0)
        length = xp.where(curvature > 0, rz / xp.where(curvature > 0, curvature, one), 0 * one)
        x, r = x + length * p, r - length * image
        z = r if precondition is None else precondition(r)
        before, rz = rz, xp.sum(r * z, axis=0)
        share = xp.sum(r * r, axis=0) / xp.where(first > 0, first, one)
        left = scalar(xp.max(share)) ** 0.5
        p = z + rz / xp.where(before > 0, before, one) * p
    return x, step, left if step else 0.0


@dataclass(frozen=True, eq=False)
class Look:
    """A function at a point: its value, its gradient, and its curvature, v -> Hv."""

    value: float
    gradient: Array
    curvature: Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a method stopped: the point, how many steps it took, and the gradient's share that is left."""

    point: Array
    steps: int
    left: float


def newton(
    look: Callable[[Array], Look], start: Array, iterations: int, tolerance: float
) -> Minimum:
    """Minimise a convex function: Newton's method, its systems solved by conjugate gradients.

    Stops where the gradient is below `tolerance` times the first one. Steps are halved until the
    function falls by a share of what the gradient promises (Nocedal and Wright 2006, alg. 7.1).
    """
    xp = namespace(start)
    here = look(start)
    first = _norm(here.gradient) or 1.0
    left, step, shape = _norm(here.gradient) / first, 0, tuple(start.shape)

    def flat(v: Array) -> Array:
        return xp.reshape(v, (-1, 1))

    while step < iterations and left > tolerance:
        found, _, _ = conjugate_gradients(
            lambda v, image=here.curvature: flat(image(xp.reshape(v, shape))),
            flat(-here.gradient),
            _INNER,
            min(0.1, left**0.5),
        )
        direction = xp.reshape(found, shape)
        promised = scalar(xp.sum(here.gradient * direction))
        length = 1.0
        for _ in range(_HALVINGS):
            there = look(start + length * direction)
            if there.value <= here.value + 1e-4 * length * promised + _noise(here.value):
                break
            length /= 2
        else:
            return Minimum(start, step, left)  # rounding is all that is left
        fell, before = here.value - there.value, left
        start, here, step = start + length * direction, there, step + 1
        left = _norm(here.gradient) / first
        if fell <= 10 * _noise(here.value) and left > before / 2:
            break  # rounding is all that is left
    return Minimum(start, step, left)


def _norm(v: Array) -> float:
    return scalar(namespace(v).sum(v * v)) ** 0.5


def _noise(value: float) -> float:
    return 1e-14 * abs(value)
