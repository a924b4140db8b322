"""Observations of a goodness-of-fit test, with the Stein kernel of the model."""

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

MIN_OBSERVATIONS = 4  # fewer give two pairs at most, and no variance


@dataclass(frozen=True)
class SteinSample:
    """n observations, in float64 unless they are on a GPU, and the Stein kernel of the model."""

    kernel: Stein  # bound to columns
    points: Points
    columns: Columns | None
    units: tuple[float, ...] | None = None  # the points are observations divided by these
    places: np.ndarray | None = None  # row numbers of the points, if they are a subset of the data
    chart: Chart | None = None  # transformation to unbounded coordinates, if the support is bounded

    def __len__(self) -> int:
        return count(self.points)

    @property
    def gram(self) -> Gram:
        """H_ij = k_p(x_i, x_j)."""
        return Gram(self.kernel, self.points)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.points.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        if self.columns is None:
            return tuple(f"column {j}" for j in range(self.width))
        return self.columns.names

    # ---- in the units of the data -------------------------------------------------------

    @property
    def outer(self) -> Kernel:
        """The Stein kernel on observations in their original units."""
        chart = self.chart
        inner = self.kernel if chart is None else self.kernel.transformed(self._clipped(chart))
        return inner if self.units is None else inner.scaled([1 / u for u in self.units])

    @property
    def observations(self) -> Array:
        """The observations in their original units: (n, d)."""
        return self.original_units(self.uncharted)

    @property
    def uncharted(self) -> Array:
        """The points in the space of the model's density, before the transformation: (n, d)."""
        return self.points if self.chart is None else self.chart.points(self.points)

    @property
    def support(self) -> np.ndarray | None:
        """Bounds of the support of the model, (d, 2); None if it is unbounded."""
        if self.chart is None:
            return None
        bounds = np.stack([self.chart.low, self.chart.high])  # (2, d)
        return np.asarray(self.original_units(np.broadcast_to(bounds, (2, self.width)))).T

    def original_units(self, points: Any) -> Array:
        """Standardized points in the original units of the observations."""
        return points if self.units is None else points * array_like(np.array(self.units), points)

    def inner(self, places: Array) -> Array:
        """Locations in original units, as arguments of the kernel."""
        units = 1.0 if self.units is None else array_like(np.array(self.units), places)
        chart = self.chart
        return places / units if chart is None else self._clipped(chart)(places / units)

    def subset(self, rows: np.ndarray) -> SteinSample:
        """The observations of these rows."""
        places = rows if self.places is None else self.places[rows]
        return replace(self, points=taken(self.points, rows), places=places)

    def _clipped(self, chart: Chart) -> _ClippedChart:
        """The transformation, clipped at one range of the observations beyond them."""
        points = to_numpy(self.points)
        low, high = points.min(axis=0), points.max(axis=0)
        margin = np.maximum(high - low, 1.0)
        return _ClippedChart(chart, low - margin, high + margin)


@dataclass(frozen=True, eq=False)
class _ClippedChart:
    """Coordinates clipped to an interval, so that plots have finite values on the bounds of the support."""

    chart: Chart
    low: np.ndarray
    high: np.ndarray

    def __call__(self, x: Any) -> Array:
        return self.chart.near(validate.points(x, "x"), self.low, self.high)


def sample_of(model: Model, kernel: Kernel | None, x: Any, least: int) -> SteinSample:
    """Check observations and bind the Stein kernel of the model to them.

    The default kernel is InverseMultiquadric with the median distance as bandwidth.
    """
    points, columns = read(VECTOR_KERNEL if kernel is None else kernel, x, None, "x")
    points = detached(points)
    if not on_gpu(points):
        points = astype(points, double(points))
    if count(points) < least:
        raise ValueError(f"x needs at least {least} observations, got {count(points)}")
    model.check_columns(columns)
    model = model.at(points)
    points = model.coordinates(points, columns=columns)
    base_kernel = median_imq(points) if kernel is None else bound_to(kernel, columns)
    stein = Stein(base_kernel, model.score)
    stein.accept(points)  # checks the scores
    return SteinSample(stein, points, columns, chart=model.chart)
