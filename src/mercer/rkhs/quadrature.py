"""Quadrature rules: measures as nodes and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from mercer import validate
from mercer.backend import Array, EqualByValue, namespace, scalar
from mercer.kernels.base import Points


@dataclass(frozen=True, eq=False)
class Quadrature(EqualByValue):
    """Quadrature rule, a discrete measure: the integral of f is sum_i weights_i f(nodes_i).

    Attributes
    ----------
    nodes : array (n, d)
    weights : array (n,)
        Non-negative, not all zero. They need not add up to one: `legendre` is Lebesgue measure on its
        interval, and `normalized()` the uniform distribution.

    Examples
    --------
    >>> unit = Quadrature.legendre(0, 1, 8)
    >>> float(unit.integrate(lambda x: x**3))
    0.25
    >>> plane = Quadrature.tensor(Quadrature.hermite(0, 1, 8), Quadrature.hermite(2, 1, 8))
    >>> float(plane.integrate(lambda x: x[:, 0] ** 2 * x[:, 1]))  # E[a^2] E[b], a ~ N(0,1), b ~ N(2,1)
    2.0
    """

    nodes: Array
    weights: Array

    def __post_init__(self) -> None:
        nodes = validate.points(self.nodes, "nodes")
        weights = validate.vectors(self.weights, nodes.shape[0], nodes, "weights")
        if weights.ndim != 1:
            raise ValueError(
                f"weights must have shape ({nodes.shape[0]},), got {tuple(weights.shape)}"
            )
        xp = namespace(weights)
        if scalar(xp.min(weights)) < 0 or scalar(xp.sum(weights)) <= 0:
            raise ValueError("weights must be non-negative and not all zero")
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "weights", weights)

    @classmethod
    def legendre(cls, a: float, b: float, n: int, *, panels: int = 1) -> Quadrature:
        """Gauss-Legendre rule for Lebesgue measure on [a, b], with n nodes on each of equal panels.

        Exact for polynomials of degree 2n - 1 on every panel. Use more panels if the integrand
        oscillates, or has a kink that can be placed between two panels.
        """
        interval(a, b)
        validate.whole("n", n)
        validate.whole("panels", panels)
        t, w = np.polynomial.legendre.leggauss(n)
        width = (b - a) / panels
        middles = a + width * (np.arange(panels) + 0.5)
        nodes = middles[:, None] + width / 2 * t[None, :]  # (panels, n)
        return cls(np.clip(nodes.reshape(-1, 1), a, b), np.tile(width / 2 * w, panels))

    @classmethod
    def hermite(cls, mean: float, std: float, n: int) -> Quadrature:
        """Gauss-Hermite rule for N(mean, std^2) with n nodes, exact for polynomials of degree 2n - 1."""
        validate.number("mean", mean)
        validate.positive("std", std)
        validate.whole("n", n)
        from scipy.special import roots_hermitenorm

        t, w = roots_hermitenorm(n)
        return cls((mean + std * t)[:, None], w / w.sum())

    @classmethod
    def tensor(cls, *factors: Quadrature) -> Quadrature:
        """Product measure: all combinations of nodes, with the products of their weights."""
        if not factors:
            raise ValueError("tensor needs at least one quadrature")
        for factor in factors:
            validate.instance("a factor", factor, Quadrature, "a Quadrature")
        return reduce(_product, factors)

    def __len__(self) -> int:
        return int(self.nodes.shape[0])

    def __repr__(self) -> str:
        return (
            f"Quadrature({len(self)} nodes in {self.nodes.shape[1]} dimensions, mass {self.mass:g})"
        )

    @property
    def mass(self) -> float:
        """Total mass, the integral of 1."""
        return scalar(namespace(self.weights).sum(self.weights))

    def normalized(self) -> Quadrature:
        """Probability distribution proportional to this measure."""
        return Quadrature(self.nodes, self.weights / self.mass)

    def integrate(self, function: Callable[[Points], Array]) -> Array:
        """Integral of a function from points (n, d) to numbers (n,) or (n, k)."""
        values = validate.vectors(function(self.nodes), len(self), self.weights, "function(nodes)")
        weights, values = validate.same_float(self.weights, values)
        total = weights @ values  # () or (k,)
        return total[0] if total.shape == (1,) else total


def interval(a: float, b: float) -> None:
    """Raise a ValueError unless a < b are finite numbers."""
    validate.number("a", a)
    validate.number("b", b)
    if not a < b:
        raise ValueError(f"an interval [a, b] needs a < b, got [{a:g}, {b:g}]")


def _product(a: Quadrature, b: Quadrature) -> Quadrature:
    n, m = len(a), len(b)
    xp = namespace(a.nodes, b.nodes)
    nodes = xp.concat([xp.repeat(a.nodes, m, axis=0), xp.tile(b.nodes, (n, 1))], axis=1)
    return Quadrature(nodes, xp.reshape(a.weights[:, None] * b.weights[None, :], (n * m,)))
