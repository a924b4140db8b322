"""Kernels made of distances that are not radial profiles: city-block and energy."""

from __future__ import annotations

from dataclasses import dataclass

from mercer import validate
from mercer.backend import Array, namespace, ones, zeros
from mercer.kernels.base import Kernel, Points
from mercer.kernels.metric import l1_distances, squared_distances, squared_norms


@dataclass(frozen=True)
class Laplace(Kernel):
    """exp(-|x - y|_1 / s): a product of exponential kernels, one per column.

    Characteristic and universal on R^d. (`Exponential` takes the Euclidean distance.)
    """

    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("bandwidth", self.bandwidth)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self._decay(l1_distances(x, y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self._decay(namespace(x, y).sum(abs(x - y), axis=1))

    def _decay(self, distance: Array) -> Array:
        return namespace(distance).exp(-distance / self.bandwidth)


@dataclass(frozen=True)
class Energy(Kernel):
    """(|x|^p + |y|^p - |x - y|^p) / 2 with 0 < p <= 2: the kernel behind energy statistics.

    2 MMD^2 is the energy distance and, with the same p on both variables, 4 HSIC the squared
    distance covariance (Sejdinovic et al. 2013, thms 22 and 24). Characteristic for laws with
    E|x|^p finite when p < 2; p = 2 is the linear kernel and sees means only. Unbounded. On the
    line, p = 1 is the covariance of Brownian motion in both directions of time.

    Examples
    --------
    >>> Energy()([0.0, 1.0, -2.0])
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 2.]])
    """

    power: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("power", self.power)
        if self.power > 2:
            raise ValueError(
                f"power must be at most 2, got {self.power!r}: "
                "beyond it -|x - y|^p is not conditionally positive definite"
            )

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self._raised(squared_norms(x))
        right = left if y is x else self._raised(squared_norms(y))
        apart = self._raised(squared_distances(x, y, self._raised))
        return (left[:, None] + right[None, :] - apart) / 2

    def paired(self, x: Points, y: Points, /) -> Array:
        apart = self._raised(squared_norms(x - y))
        return (self._raised(squared_norms(x)) + self._raised(squared_norms(y)) - apart) / 2

    def diag(self, x: Points, /) -> Array:
        return self._raised(squared_norms(x))

    def _raised(self, r2: Array, /) -> Array:
        """r^p from r^2, with derivative 0 at 0."""
        xp = namespace(r2)
        safe = xp.where(r2 > 0, r2, ones((), r2))
        return xp.where(r2 > 0, safe ** (self.power / 2), zeros((), r2))
