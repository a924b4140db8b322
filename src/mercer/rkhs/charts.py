"""Charts of boxes: coordinates that map a box with boundaries onto R^d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import Array, ArrayT, array_like, namespace, to_numpy

_LINE = -np.inf, np.inf  # the clipping bounds where there is no boundary


@dataclass(frozen=True, eq=False)
class Chart:
    """Bijection from a box to R^d, increasing in every coordinate.

    z = x without bounds, log(x - low) with a lower bound, -log(high - x) with an upper bound, and
    log((x - low) / (high - x)) with both. If x has the density p and the score s, then z has the
    density p(x) |dx/dz|, positive everywhere, and the score s(x) dx/dz + d log|dx/dz| / dz.
    """

    low: np.ndarray  # (d,), -inf where there is no lower bound
    high: np.ndarray  # (d,), inf where there is no upper bound
    units: np.ndarray | None = None  # (d,), by which points were divided; messages undo that

    @property
    def bounded(self) -> bool:
        """Whether any coordinate has a bound."""
        return bool(np.any(np.isfinite(self.low)) or np.any(np.isfinite(self.high)))

    def coordinates(
        self, x: ArrayT, name: str = "x", columns: Sequence[str] | None = None
    ) -> ArrayT:
        """Coordinates z_i; raises a ValueError for points outside of the box, by the names of columns. (n, d)"""
        outside = self.outside(x)
        if outside.any():
            row = int(np.argmax(outside))
            point = to_numpy(x)[row]
            raise ValueError(self._refusal(point, row, int(outside.sum()), name, columns))
        return self._logs(x)

    def outside(self, x: Any) -> np.ndarray:
        """Which points are on the boundaries or beyond: (n,)."""
        xp = namespace(x)
        low, high = array_like(self.low, x), array_like(self.high, x)
        return to_numpy(xp.any((x <= low) | (x >= high), axis=1))

    def beyond(self, point: np.ndarray) -> tuple[int, float, float, float]:
        """The first column in which a point is outside, its value there, and the bounds, all in the original units."""
        column = int(np.argmax((point <= self.low) | (point >= self.high)))
        unit = 1.0 if self.units is None else float(self.units[column])
        values = point[column], self.low[column], self.high[column]
        value, low, high = (unit * float(v) for v in values)
        return column, value, low, high

    def near(self, x: Array, least: Array, most: Array) -> Array:
        """Coordinates z_i clipped to [least, most], defined outside of the box as well: (n, d)."""
        xp = namespace(x)
        with np.errstate(divide="ignore"):
            z = self._logs(x)
        return xp.clip(z, array_like(least, x), array_like(most, x))

    def points(self, z: ArrayT) -> ArrayT:
        """Points x_i of coordinates z_i, accurate near both bounds: (n, d)."""
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
        least, most = (np.where(np.isfinite(v), v, w) for v, w in zip(inside, _LINE, strict=True))
        return xp.clip(x, array_like(least, x), array_like(most, x))

    def slopes(self, z: Array) -> tuple[Array, Array]:
        """Derivatives dx/dz and d log|dx/dz| / dz: (n, d) each."""
        xp = namespace(z)
        low, high, below, above = self._sides(z)
        unit = 0 * z + 1
        decay = xp.exp(-xp.abs(z))
        logistic = (high - low) * decay / (1 + decay) ** 2
        rise = xp.exp(xp.where(above, 0 * z, z))
        slope = xp.where(below & above, logistic, xp.where(below, rise, self._fall(z)))
        log_slope = xp.where(below & above, -xp.tanh(z / 2), xp.where(below, unit, -unit))
        free = ~(below | above)
        return xp.where(free, unit, slope), xp.where(free, 0 * z, log_slope)

    # ---- private ----------------------------------------------------------------------

    def _logs(self, x: Array) -> Any:
        """Difference log(x - low) - log(high - x), with 1 as the distance to a bound that is absent."""
        xp = namespace(x)
        low, high, below, above = self._sides(x)
        from_low = xp.where(below, xp.maximum(x - low, 0 * x), 0 * x + 1)
        to_high = xp.where(above, xp.maximum(high - x, 0 * x), 0 * x + 1)
        return xp.where(below | above, xp.log(from_low) - xp.log(to_high), x)

    def _fall(self, z: Array) -> Array:
        """exp(-z) where there is only an upper bound, 1 elsewhere."""
        xp = namespace(z)
        _, _, below, above = self._sides(z)
        return xp.exp(-xp.where(xp.logical_and(above, xp.logical_not(below)), z, 0 * z))

    def _sides(self, like: Array) -> tuple[Array, Array, Array, Array]:
        """Bounds, 0 where absent, and masks of the columns with a lower and an upper one: all (n, d)."""
        xp, shape = namespace(like), tuple(like.shape)
        below, above = np.isfinite(self.low), np.isfinite(self.high)
        low, high = (
            xp.broadcast_to(array_like(np.where(mask, bound, 0.0), like), shape)
            for mask, bound in ((below, self.low), (above, self.high))
        )
        has_low, has_high = (
            xp.broadcast_to(array_like(mask.astype(np.float64), like) > 0, shape)
            for mask in (below, above)
        )
        return low, high, has_low, has_high

    def _refusal(
        self, point: np.ndarray, row: int, number: int, name: str, columns: Sequence[str] | None
    ) -> str:
        """Message for points outside of the box."""
        column, value, low, high = self.beyond(point)
        which = column if columns is None else repr(columns[column])
        return (
            f"{name} has {number} point{'s' * (number > 1)} outside of the support of the model "
            f"(first: point {row}, whose column {which} is {value:g} and must be "
            f"strictly between {low:g} and {high:g}): they are impossible under the model, which "
            "refutes it without a test; drop them to test the model on the others"
        )


def chart_of(low: Any, high: Any, dimension: int) -> Chart | None:
    """Chart of a box; None where the box is all of R^d."""
    ends = (np.broadcast_to(np.asarray(v, dtype=np.float64), (dimension,)) for v in (low, high))
    chart = Chart(*(np.array(v) for v in ends))
    return chart if chart.bounded else None


def same_chart(a: Chart | None, b: Chart | None) -> bool:
    """Whether two charts belong to the same box."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a.low, b.low) and np.array_equal(a.high, b.high)
