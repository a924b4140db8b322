"""Coordinates of a box: what has borders, as all of R^d."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import Array, ArrayT, array_like, namespace, to_numpy

_ALL = -np.inf, np.inf


@dataclass(frozen=True, eq=False)
class Chart:
    """Increasing coordinates z of the points x of a box, column by column.

    z = x on the line, log(x - low) above a border, -log(high - x) below one, and
    log((x - low) / (high - x)) between two: a bijection of the box and R^d. If x has the density
    p and the score s, z has p(x) |dx/dz|, positive everywhere, and the score
    s(x) dx/dz + d log|dx/dz| / dz.
    """

    low: np.ndarray  # (d,), -inf where there is no border
    high: np.ndarray  # (d,), inf where there is none

    @property
    def bounded(self) -> bool:
        """Whether there is a border at all."""
        return bool(np.any(np.isfinite(self.low)) or np.any(np.isfinite(self.high)))

    def coordinates(self, x: ArrayT, name: str = "x") -> ArrayT:
        """z_i, or an error that names the first of the points that are not inside: (n, d)."""
        xp = namespace(x)
        low, high = array_like(self.low, x), array_like(self.high, x)
        outside = to_numpy(xp.any((x <= low) | (x >= high), axis=1))
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(self._refusal(to_numpy(x)[row], row, int(outside.sum()), name))
        return self._logs(x)

    def near(self, x: Array, least: Array, most: Array) -> Array:
        """z_i brought to `least` and `most` where it is beyond, outside of the box too: (n, d)."""
        xp = namespace(x)
        with np.errstate(divide="ignore"):
            z = self._logs(x)
        return xp.clip(z, array_like(least, x), array_like(most, x))

    def points(self, z: ArrayT) -> ArrayT:
        """x_i, exact near both borders: (n, d)."""
        xp = namespace(z)
        low, high, below, above = self._sides(z)
        grown, shrunk = xp.exp(xp.minimum(z, 0 * z)), xp.exp(-xp.maximum(z, 0 * z))
        between = xp.where(
            z < 0,
            low + (high - low) * grown / (1 + grown),
            high - (high - low) * shrunk / (1 + shrunk),
        )
        only_low, only_high = low + xp.exp(xp.where(above, 0 * z, z)), high - self._fall(z)
        x = xp.where(below & above, between, xp.where(below, only_low, only_high))
        x = xp.where(below | above, x, z)
        inside = (np.nextafter(v, w) for v, w in ((self.low, np.inf), (self.high, -np.inf)))
        least, most = (np.where(np.isfinite(v), v, w) for v, w in zip(inside, _ALL, strict=True))
        return xp.clip(x, array_like(least, x), array_like(most, x))

    def slopes(self, z: Array) -> tuple[Array, Array]:
        """dx/dz and d log|dx/dz| / dz: (n, d) both."""
        xp = namespace(z)
        low, high, below, above = self._sides(z)
        one = 0 * z + 1
        flat = xp.exp(-xp.abs(z))
        both = (high - low) * flat / (1 + flat) ** 2
        rise = xp.exp(xp.where(above, 0 * z, z))
        slope = xp.where(below & above, both, xp.where(below, rise, self._fall(z)))
        turn = xp.where(below & above, -xp.tanh(z / 2), xp.where(below, one, -one))
        free = ~(below | above)
        return xp.where(free, one, slope), xp.where(free, 0 * z, turn)

    # ---- private ----------------------------------------------------------------------

    def _logs(self, x: Array) -> Any:
        """log(x - low) - log(high - x), with 1 in place of the distance to a border that is not there."""
        xp = namespace(x)
        low, high, below, above = self._sides(x)
        left = xp.where(below, xp.maximum(x - low, 0 * x), 0 * x + 1)
        right = xp.where(above, xp.maximum(high - x, 0 * x), 0 * x + 1)
        return xp.where(below | above, xp.log(left) - xp.log(right), x)

    def _fall(self, z: Array) -> Array:
        """exp(-z) where there is a border above alone, 1 elsewhere."""
        xp = namespace(z)
        _, _, below, above = self._sides(z)
        return xp.exp(-xp.where(xp.logical_and(above, xp.logical_not(below)), z, 0 * z))

    def _sides(self, like: Array) -> tuple[Array, Array, Array, Array]:
        """Borders, 0 where there is none, and which columns have one below, above."""
        below, above = np.isfinite(self.low), np.isfinite(self.high)
        low, high = np.where(below, self.low, 0.0), np.where(above, self.high, 0.0)
        xp = namespace(like)
        numbers = (array_like(v, like) for v in (low, high))
        sides = (array_like(v.astype(np.float64), like) > 0 for v in (below, above))
        shape = tuple(like.shape)
        return tuple(xp.broadcast_to(v, shape) for v in (*numbers, *sides))  # type: ignore[return-value]

    def _refusal(self, point: np.ndarray, row: int, number: int, name: str) -> str:
        column = int(np.argmax((point <= self.low) | (point >= self.high)))
        low, high = float(self.low[column]), float(self.high[column])
        return (
            f"{name} has {number} point{'s' * (number > 1)} outside of where the model has a density "
            f"(first: point {row}, whose column {column} is {float(point[column]):g} and must be "
            f"between {low:g} and {high:g}, borders left out): the model says that these cannot "
            "happen, which refutes it without a test; leave them out to ask about the others"
        )


def chart_of(low: Any, high: Any, dimension: int) -> Chart | None:
    """The coordinates of a box; None where it has no border."""
    ends = (np.broadcast_to(np.asarray(v, dtype=np.float64), (dimension,)) for v in (low, high))
    chart = Chart(*(np.array(v) for v in ends))
    return chart if chart.bounded else None


def same_chart(a: Chart | None, b: Chart | None) -> bool:
    """Whether two boxes are one."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a.low, b.low) and np.array_equal(a.high, b.high)
