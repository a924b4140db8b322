"""Cauchy-Binet kernels: trajectories of linear dynamical systems compared by traces and determinants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.kernels.dynamics.sequence_models import LinearSystem, models, same_layout
from mercer.kernels.objects import ItemwiseKernel


@dataclass(frozen=True)
class CauchyBinet(ItemwiseKernel):
    """Kernel of the mean trajectories of linear dynamical systems, from minors of their weighted product.

    With mean observations y_t and z_t (m,) of two systems and P = sum over t = 0, 1, ... of decay^t y_t z_t', it is
    the sum of all principal minors of `order` of P. By the formula of Cauchy and Binet this is an inner product of
    compound matrices, and so positive definite. Order 1 is the trace kernel, the sum of decay^t <y_t, z_t>; the
    order m is the determinant kernel det P, which does not change if the coordinates of all observations are
    rotated and is 0 for trajectories inside a subspace. Noise of the two systems is independent and has mean 0,
    so it does not count.

    Parameters
    ----------
    decay : float
        Weight of each time relative to the one before; smaller than the inverse of the product of the spectral
        radii of both transitions.
    order : int
        Order of the minors, at most the dimension m of the observations.

    References
    ----------
    S. V. N. Vishwanathan, A. J. Smola, R. Vidal (2007). Binet-Cauchy kernels on dynamical systems and its
    application to the analysis of dynamic scenes. International Journal of Computer Vision 73, 95-119.

    Examples
    --------
    >>> slow, fast = (LinearSystem([1.0], [[a]], [[1.0]]) for a in (0.9, 0.1))
    >>> CauchyBinet(0.5)([slow, fast]).round(3)  # 1 / (1 - 0.5 a b)
    array([[1.681, 1.047],
           [1.047, 1.005]])
    """

    decay: float
    order: int = field(default=1, kw_only=True)
    domain = "linear dynamical systems"

    def __post_init__(self) -> None:
        validate.positive("decay", self.decay)
        validate.whole("order", self.order)

    def items(self, x: Any, name: str, /) -> list[LinearSystem]:
        systems = models(x, name, LinearSystem, "linear dynamical systems (LinearSystem)")
        for i, system in enumerate(systems):
            radius = float(np.abs(np.linalg.eigvals(system.transition)).max())
            if self.decay * radius**2 >= 1:
                raise ValueError(
                    f"the system at position {i} of {name} has the spectral radius {radius:.4g}, so that decay must "
                    f"be less than {radius**-2:.3g}, got {self.decay}"
                )
            if system.width < self.order:
                raise ValueError(
                    f"order must be at most {system.width}, the dimension of the observations of {name}, got "
                    f"{self.order}"
                )
        return systems

    def view(self, items: list[LinearSystem], /) -> list[LinearSystem]:
        return items

    def pairwise(self, x: Any, y: Any, /) -> Any:
        same_layout(x.items, y.items)
        return super().pairwise(x, y)

    def value(self, a: LinearSystem, b: LinearSystem, /) -> float:
        states = _weighted_states(a, b, self.decay)
        product = a.observation @ states @ b.observation.T
        if self.order == 1:
            return float(np.trace(product))
        if self.order == a.width:
            return float(np.linalg.det(product))
        return _principal_minors(product, self.order)


def _weighted_states(a: LinearSystem, b: LinearSystem, decay: float) -> np.ndarray:
    """M = sum over t of decay^t x_t z_t', which solves M = decay A M B' + x_0 z_0': (s, s')."""
    first = np.outer(a.start, b.start)
    system = np.eye(first.size) - decay * np.kron(a.transition, b.transition)
    return linalg.solve(system, first.ravel()).reshape(first.shape)


def _principal_minors(matrix: np.ndarray, order: int) -> float:
    """Sum of all principal minors of an order: a coefficient of the characteristic polynomial.

    By the recursion of Faddeev and Le Verrier, which needs no eigenvalues.
    """
    coefficient, power = 1.0, np.eye(len(matrix), dtype=np.float64)
    for k in range(1, order + 1):
        product = matrix @ power
        coefficient = float(np.trace(product)) / k
        power = coefficient * np.eye(len(matrix)) - product
    return coefficient
