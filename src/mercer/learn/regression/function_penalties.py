"""Penalties g(|f|^2) other than |f|^2 itself, and the ridge at which |f|^2 has the same solution.

By the representer theorem a minimiser of a loss plus ridge g(|f|^2), with g nondecreasing, is in the span of the
kernel functions of the data. Where g is smooth, it is the minimiser of the loss plus c |f|^2 for the one c that equals
ridge g'(|f|^2) at its own solution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

from mercer import validate

_WIDEST = 40.0  # of log c from the log of the ridge, either way: a factor of 1e17
_PRECISION = 1e-10  # of log c


class FunctionPenalty(ABC):
    """A smooth increasing function g of the squared norm t = |f|^2, convex as a function of |f|."""

    @abstractmethod
    def value(self, t: float, /) -> float:
        """g(t)."""

    @abstractmethod
    def slope(self, t: float, /) -> float:
        """g'(t), positive for positive t."""


@dataclass(frozen=True)
class NormPower(FunctionPenalty):
    """g(|f|^2) = |f|^p, a power of the norm of at least 1; p = 2 is the ridge itself.

    Examples
    --------
    >>> NormPower(4).value(3.0), NormPower(4).slope(3.0)  # t^2 and 2 t
    (9.0, 6.0)
    """

    power: float = 2.0

    def __post_init__(self) -> None:
        validate.number("power", self.power)
        if self.power < 1:
            raise ValueError(
                f"power must be at least 1 for a convex penalty, got {self.power!r}: use NormPower(1.0)"
            )

    def value(self, t: float, /) -> float:
        """t^(p / 2)."""
        return float(t ** (self.power / 2))

    def slope(self, t: float, /) -> float:
        """(p / 2) t^(p / 2 - 1)."""
        return float(self.power / 2 * t ** (self.power / 2 - 1))


def matching_ridge(
    penalty: FunctionPenalty, ridge: float, norm2_at: Callable[[float], float]
) -> float:
    """c = ridge g'(|f_c|^2), where f_c has the squared norm `norm2_at(c)`.

    log c - log(ridge g'(|f_c|^2)) grows with c for penalties that are convex in |f|, because |f_c| falls
    and c |f_c| grows, so that the root is unique.
    """
    from scipy.optimize import root_scalar

    def excess(level: float) -> float:
        norm2 = norm2_at(exp(level))
        slope = penalty.slope(norm2) if norm2 > 0 else 0.0
        if not slope > 0:
            raise ValueError(
                f"no function but zero minimises the loss with {penalty!r}: use a smaller ridge, got {ridge!r}"
            )
        return level - log(ridge * slope)

    start = log(ridge)
    low = high = start
    width, at_start = 1.0, excess(start)
    if at_start == 0:
        return ridge
    while width < _WIDEST:
        if at_start > 0:
            low, high = start - width, low
        else:
            low, high = high, start + width
        if (excess(low) < 0) != (excess(high) < 0):
            return exp(root_scalar(excess, bracket=(low, high), xtol=_PRECISION).root)
        width *= 2
    raise ValueError(f"{penalty!r} has no minimum near ridge {ridge!r}: use a smaller ridge")
