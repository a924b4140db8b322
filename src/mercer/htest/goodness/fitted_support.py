"""Fitted supports: the observations that lie on their bounds because a fit put the bounds there."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.htest.goodness.score_models import Model, model_of
from mercer.rkhs.charts import Chart

# Rounding of a bound, such as loc + scale of a Pareto distribution, relative to the numbers it is
# computed from and to the quartiles of the observations.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
_ROUNDING_IN_QUARTILE_RANGES = 1e-9


def interior(model: Any, reference: Any, points: np.ndarray) -> np.ndarray:
    """Positions of the observations (n, d) inside of the support, without those on fitted bounds.

    Given the observations on the bounds, which determine these, the others are independent draws
    from the model between them: for an exponential distribution with a fitted location those above
    the minimum, for a uniform one with fitted ends those between the extremes. In unbounded
    coordinates the ones on the bounds would be infinite.

    `reference` is the same family fitted to another sample. A bound that is the same there is not
    fitted, and observations on it stay, to be refused as impossible.
    """
    positions = np.arange(len(points))
    chart, other = (_chart(each, points) for each in (model, reference))
    if chart is None:
        return positions
    inside = np.ones(len(points), dtype=bool)
    for side, bounds, others in (
        (1.0, chart.low, None if other is None else other.low),
        (-1.0, chart.high, None if other is None else other.high),
    ):
        fitted = np.isfinite(bounds) & (others is None or bounds != others)
        distance = side * (points - np.where(np.isfinite(bounds), bounds, 0.0))
        slack = _rounding(points, bounds)
        _refuse_beyond(fitted & (distance < -slack), points, bounds)
        inside &= ~np.any(fitted & (distance <= slack), axis=1)
    return positions[inside]


def strictly_inside(model: Any, points: np.ndarray) -> bool:
    """Whether all observations are further from the bounds of the support than rounding."""
    chart = _chart(model, points)
    if chart is None:
        return True
    slack = _rounding(points, chart.low), _rounding(points, chart.high)
    return bool(np.all((points - slack[0] > chart.low) & (points + slack[1] < chart.high)))


def _chart(model: Any, points: np.ndarray) -> Chart | None:
    """The chart of the support of a model; None where it is unbounded."""
    scored = model if isinstance(model, Model) else model_of(model)
    return scored.at(points).chart


def _rounding(points: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """How far by rounding an observation may be from the bound that it determines: (n, d)."""
    low, high = np.quantile(points, (0.25, 0.75), axis=0)
    size = np.maximum(np.abs(points), np.where(np.isfinite(bounds), np.abs(bounds), 0.0))
    return _ROUNDING * size + _ROUNDING_IN_QUARTILE_RANGES * (high - low)


def _refuse_beyond(beyond: np.ndarray, points: np.ndarray, bounds: np.ndarray) -> None:
    """Raise where a model does not contain the sample that it was fitted to."""
    if not beyond.any():
        return
    row, column = (int(i[0]) for i in np.nonzero(beyond))
    raise ValueError(
        "fit must return a model whose support contains the sample that it was fitted to, but "
        f"point {row} is {float(points[row, column]):g} in column {column}, beyond the fitted bound "
        f"{float(bounds[column]):g}: fit by maximum likelihood, or give bounds that are not fitted"
    )
