"""A sample on its way into a goodness-of-fit test, with the Stein kernel of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, astype, count, detached, double, on_gpu, to_numpy
from mercer.frames import Columns
from mercer.gram import Gram
from mercer.htest.goodness.score_models import Model
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import bound_to, read
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.kernels.stein import Stein
from mercer.rkhs.charts import Chart
from mercer.rkhs.sample_rows import taken
from mercer.rkhs.stein_discrepancy import median_imq


@dataclass(frozen=True)
class Sample:
    """n observations, in float64 unless they are on a GPU, and the kernel that compares them with the model."""

    kernel: Stein  # bound to columns
    points: Points
    columns: Columns | None
    units: tuple[float, ...] | None = None  # the points are observations divided by these
    places: np.ndarray | None = None  # where the points are among the observations, if some only
    chart: Chart | None = None  # the points are coordinates of observations with borders

    def __len__(self) -> int:
        return count(self.points)

    @property
    def gram(self) -> Gram:
        """H_ij = k_p(x_i, x_j)."""
        return Gram(self.kernel, self.points)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.points.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called."""
        if self.columns is None:
            return tuple(f"column {j}" for j in range(self.width))
        return self.columns.names

    # ---- in the user's own units --------------------------------------------------------

    @property
    def outer(self) -> Kernel:
        """The kernel on observations as they were handed in."""
        chart = self.chart
        inner = self.kernel if chart is None else self.kernel.transformed(self._near(chart))
        return inner if self.units is None else inner.scaled([1 / u for u in self.units])

    @property
    def observations(self) -> Array:
        """The points as they were handed in: (n, d)."""
        return self.own_units(self.placed)

    @property
    def placed(self) -> Array:
        """The points where the model has its density, whatever coordinates are compared: (n, d)."""
        return self.points if self.chart is None else self.chart.points(self.points)

    @property
    def support(self) -> np.ndarray | None:
        """Where the model lives, (d, 2); None where that is everywhere."""
        if self.chart is None:
            return None
        borders = np.stack([self.chart.low, self.chart.high])  # (2, d)
        return np.asarray(self.own_units(np.broadcast_to(borders, (2, self.width)))).T

    def own_units(self, points: Any) -> Array:
        """Points of this sample's scale, in the units of the observations."""
        return points if self.units is None else points * array_like(np.array(self.units), points)

    def inner(self, places: Array) -> Array:
        """Places in the units of the observations, as points that the kernel compares."""
        units = 1.0 if self.units is None else array_like(np.array(self.units), places)
        chart = self.chart
        return places / units if chart is None else self._near(chart)(places / units)

    def some(self, rows: np.ndarray) -> Sample:
        """The observations in these rows."""
        places = rows if self.places is None else self.places[rows]
        return replace(self, points=taken(self.points, rows), places=places)

    def _near(self, chart: Chart) -> _Near:
        """Coordinates; those of places outside of the borders are far beyond the observations."""
        points = to_numpy(self.points)
        least, most = points.min(axis=0), points.max(axis=0)
        beyond = np.maximum(most - least, 1.0)
        return _Near(chart, least - beyond, most + beyond)


@dataclass(frozen=True, eq=False)
class _Near:
    """Coordinates inside of these, so that there is a value to draw on both sides of a border."""

    chart: Chart
    least: np.ndarray
    most: np.ndarray

    def __call__(self, x: Any) -> Array:
        return self.chart.near(validate.points(x, "x"), self.least, self.most)


def sample_of(model: Model, kernel: Kernel | None, x: Any, least: int) -> Sample:
    """Checked observations; None for a kernel: InverseMultiquadric at their median distance."""
    points, columns = read(VECTOR_KERNEL if kernel is None else kernel, x, None, "x")
    points = detached(points)
    if not on_gpu(points):
        points = astype(points, double(points))
    if count(points) < least:
        raise ValueError(f"x needs at least {least} observations, got {count(points)}")
    model = model.at(points)
    points = model.coordinates(points)
    chosen = median_imq(points) if kernel is None else bound_to(kernel, columns)
    stein = Stein(chosen, model.score)
    stein.accept(points)  # scores are what they should be
    return Sample(stein, points, columns, chart=model.chart)
