"""Metrics of distributions by optimal transport: Wasserstein, Kantorovich and Dudley."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer import validate
from mercer.info.exact_transport import (
    TransportPlan,
    TransportPotential,
    all_distances,
    optimal_plan,
)
from mercer.info.line_transport import line_potential, power_cost, sorted_pair
from mercer.info.metric_closed_forms import closed_form
from mercer.info.metric_value import MetricValue, WeightedPoints, weighted_pair

_MAX_CUTS = 100  # of the search for Dudley's L, which ends after about ten
_MAX_TANGENTS = 200  # to the maximum of a piecewise linear function
_RELATIVE_TOLERANCE = 1e-13  # between the value and its upper bound, where the search ends


def wasserstein(x: Any, y: Any, p: float = 1.0) -> MetricValue:
    """Wasserstein distance W_p = (min E|X - Y|^p)^(1/p) over all joint distributions of two samples.

    On the line the optimal plan is monotone, and W_p is the L^p distance of the quantile functions, by sorting. In
    more dimensions transport is solved exactly, by POT's network simplex (the extra `transport`) or, for
    equal sizes without weights, as an assignment by SciPy; both take O(n^2) memory and about O(n^3) time.
    The empirical distance of two samples is biased upwards, by about n^(-1/d) for d > 2 (Fournier and Guillin 2015).

    `.witness` is the dual potential f, at which sup mean f(x) + mean g(y), f(x) + g(y) <= |x - y|^p, is attained;
    for p = 1 it is 1-Lipschitz, g = -f, and W_1 = mean f(x) - mean f(y).

    Parameters
    ----------
    x, y : samples or Gaussians
        Arrays, tensors, data frames of numbers, `Empirical` with weights. Two `Gaussian`: the closed form
        for p = 2, on the line also for p = 1.
    p : float
        At least 1.

    Examples
    --------
    >>> wasserstein([0.0, 1.0, 3.0], [5.0, 6.0, 8.0])
    5.0
    >>> from mercer.rkhs import Gaussian
    >>> wasserstein(Gaussian(0.0, 1.0), Gaussian(0.0, 4.0), p=2)
    1.0
    """
    validate.number("p", p)
    if p < 1:
        raise ValueError(f"p must be at least 1, got {p!r}: smaller powers give no metric")
    known = closed_form("wasserstein", x, y, float(p))
    return _empirical(x, y, float(p), "wasserstein") if known is None else known


def kantorovich(x: Any, y: Any) -> MetricValue:
    """Kantorovich metric: the largest difference of the means of a 1-Lipschitz function.

    sup |E f(X) - E f(Y)| over |f(a) - f(b)| <= |a - b|. By the theorem of Kantorovich and Rubinstein it is
    the Wasserstein distance for p = 1, and is computed as that.

    `.witness` is the 1-Lipschitz function at which the supremum is attained.

    Parameters
    ----------
    x, y : samples or Gaussians
        As for `wasserstein`.

    Examples
    --------
    >>> f = kantorovich([0.0, 0.0], [1.0, 3.0]).witness
    >>> float(f([0.0, 0.0]).mean() - f([1.0, 3.0]).mean())
    2.0
    """
    known = closed_form("wasserstein", x, y, 1.0)
    return _empirical(x, y, 1.0, "kantorovich") if known is None else known


class BoundedLipschitzNorm(ABC):
    """How Dudley's metric combines the supremum of |f| and the Lipschitz constant of f."""

    @abstractmethod
    def _attained(self, x: WeightedPoints, y: WeightedPoints, d: np.ndarray) -> MetricValue:
        """The metric with this norm from all distances."""


@dataclass(frozen=True)
class SumNorm(BoundedLipschitzNorm):
    """sup |f| + Lip(f) <= 1, the bounded-Lipschitz norm of Dudley (2002, section 11.2)."""

    def _attained(self, x: WeightedPoints, y: WeightedPoints, d: np.ndarray) -> MetricValue:
        return _sum_norm(x, y, d)


@dataclass(frozen=True)
class MaxNorm(BoundedLipschitzNorm):
    """max(sup |f|, Lip(f)) <= 1, the norm of Fortet and Mourier."""

    def _attained(self, x: WeightedPoints, y: WeightedPoints, d: np.ndarray) -> MetricValue:
        cost = _Truncated(1.0, 2.0)
        costs = cost(d)
        plan = optimal_plan(x, y, costs)
        return MetricValue(plan.cost(costs), partial(_centred_potential, y.points, plan, cost))


def dudley(x: Any, y: Any, *, norm: BoundedLipschitzNorm = SumNorm()) -> MetricValue:
    """Dudley metric: the largest difference of the means of a bounded Lipschitz function.

    sup |E f(X) - E f(Y)| over |f|_BL = sup |f| + Lip(f) <= 1. It metrizes weak convergence, and is at most the
    Kantorovich metric and at most the total variation. Functions with Lip(f) <= L and
    sup |f| <= 1 - L are those that are 1-Lipschitz for the metric min(L d, 2 (1 - L)), up to a constant, so the
    metric is the maximum over L of the costs of transport, a concave function of L whose linear pieces
    the plans tell; with `MaxNorm` it is one transport with the cost min(d, 2).

    `.witness` is the function at which the supremum is attained.

    Parameters
    ----------
    x, y : samples
        Arrays, tensors, data frames of numbers, `Empirical` with weights. Transport is exact; see `wasserstein` for
        memory and for the extra `transport`.
    norm : SumNorm or MaxNorm

    Examples
    --------
    >>> dudley([0.0], [1.0])  # f falls from 1/3 to -1/3
    0.666...
    >>> dudley([0.0], [1.0], norm=MaxNorm()), dudley([0.0], [5.0], norm=MaxNorm())
    (1.0, 2.0)
    """
    validate.instance("norm", norm, BoundedLipschitzNorm, "SumNorm() or MaxNorm()")
    known = closed_form("dudley", x, y)
    if known is not None:
        return known
    first, second = weighted_pair(x, y)
    return norm._attained(first, second, all_distances(first, second, "dudley"))


# ---- private ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Truncated:
    """The cost min(slope d, ceiling) of a distance."""

    slope: float
    ceiling: float

    def __call__(self, d: np.ndarray) -> np.ndarray:
        return np.minimum(self.slope * d, self.ceiling)


@dataclass(frozen=True)
class _Power:
    """The cost d^p of a distance."""

    p: float

    def __call__(self, d: np.ndarray) -> np.ndarray:
        return d if self.p == 1 else d**self.p


def _empirical(x: Any, y: Any, p: float, what: str) -> MetricValue:
    first, second = weighted_pair(x, y)
    if first.points.shape[1] == 1:
        a, b = sorted_pair(first, second)
        return MetricValue(power_cost(a, b, p) ** (1 / p), partial(line_potential, a, b, p))
    cost = _Power(p)
    costs = cost(all_distances(first, second, what))
    plan = optimal_plan(first, second, costs)
    value = max(plan.cost(costs), 0.0) ** (1 / p)
    return MetricValue(value, partial(_potential, second.points, plan, cost))


def _potential(points: np.ndarray, plan: TransportPlan, cost: Any) -> TransportPotential:
    return TransportPotential(points, plan.targets(), cost)


def _centred_potential(
    points: np.ndarray, plan: TransportPlan, cost: _Truncated
) -> TransportPotential:
    """The potential, shifted so that its largest and smallest values have the same size.

    The cost is at most its ceiling, so no two values differ by more than that.
    """
    potential = _potential(points, plan, cost)
    # f(z) = min_j (c(z, y_j) - g_j) lies between the smallest -g_j and the same plus the ceiling
    lowest = float(np.min(-potential.values))
    return TransportPotential(points, potential.values, cost, -(lowest + cost.ceiling / 2))


def _sum_norm(x: WeightedPoints, y: WeightedPoints, d: np.ndarray) -> MetricValue:
    """Maximum over L of the cost of transport with min(L d, 2 (1 - L)), by cutting planes.

    The plan that is optimal at L bounds the cost from above at every other L. The bounds are concave
    and piecewise linear, so the maximum of their minimum reaches that of the cost after finitely many plans.
    """
    plans: list[tuple[np.ndarray, np.ndarray]] = []  # distances and masses of each plan
    slope, attained = 0.5, []  # values with their plans and costs
    for _ in range(_MAX_CUTS):
        cost = _Truncated(slope, 2 * (1 - slope))
        costs = cost(d)
        plan = optimal_plan(x, y, costs)
        attained = [max([*attained, (plan.cost(costs), plan, cost)], key=lambda a: a[0])]
        plans.append((d[plan.i, plan.j], plan.mass))
        slope, bound = _highest_bound(plans)
        if bound - attained[0][0] <= _RELATIVE_TOLERANCE * bound:
            break
    value, plan, cost = attained[0]
    return MetricValue(value, partial(_centred_potential, y.points, plan, cost))


def _highest_bound(plans: list[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float]:
    """The L in [0, 1] where the smallest of the bounds sum m_k min(L d_k, 2 (1 - L)) is largest, and its value.

    Tangents on both sides of the maximum meet above it; where the bound reaches their meeting point, that is it.
    """
    left, right = ((at, *_lowest_line(plans, at)) for at in (0.0, 1.0))
    for _ in range(_MAX_TANGENTS):
        if left[2] <= 0 or right[2] >= 0:
            break
        (a, value_a, slope_a), (b, value_b, slope_b) = left, right
        at = (value_b - value_a + slope_a * a - slope_b * b) / (slope_a - slope_b)
        value, slope = _lowest_line(plans, at)
        if not a < at < b or value >= value_a + slope_a * (at - a) - _RELATIVE_TOLERANCE * value:
            return at, value
        left, right = ((at, value, slope), right) if slope > 0 else (left, (at, value, slope))
    return max(left, right, key=lambda line: line[1])[:2]


def _lowest_line(plans: list[tuple[np.ndarray, np.ndarray]], level: float) -> tuple[float, float]:
    """The smallest bound at L, and its slope there."""
    values = []
    for d, mass in plans:
        rising = level * d <= 2 * (1 - level)
        slope = float(mass[rising] @ d[rising] - 2 * mass[~rising].sum())
        values.append((float(mass @ np.minimum(level * d, 2 * (1 - level))), slope))
    return min(values)
