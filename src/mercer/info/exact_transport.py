"""Exact optimal transport between two samples of vectors, for any cost of their distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.threads import spans
from mercer.info.metric_value import WeightedPoints, points_of_width

_COPIES = 4  # of the matrix of costs: distances, costs, and the plan with its working copy
_MAX_ITERATIONS = 10**8  # of the network simplex, which ends after far fewer
_ROUNDING = 1e-13  # share of the largest cost below which potentials no longer change

Cost = Callable[[np.ndarray], np.ndarray]  # of distances


@dataclass(frozen=True, eq=False)
class TransportPlan:
    """An optimal plan: `mass` moves from x_i to y_j; `targets` are the dual potentials g of y."""

    i: np.ndarray
    j: np.ndarray
    mass: np.ndarray
    targets: Callable[[], np.ndarray]

    def cost(self, costs: np.ndarray) -> float:
        """The total cost of the plan for a matrix of costs."""
        return float(self.mass @ costs[self.i, self.j])


@dataclass(frozen=True, eq=False)
class TransportPotential:
    """Dual potential f(z) = min_j (c(|z - y_j|) - g_j) + shift of optimal transport.

    mean f(x) + mean g(y) is the cost of transport. If c is a metric, f is 1-Lipschitz for it and g = -f on y.
    """

    points: np.ndarray  # y
    values: np.ndarray  # g
    cost: Cost
    shift: float = 0.0

    def __call__(self, z: Any) -> np.ndarray:
        """The values at points: (n,)."""
        z = points_of_width(z, self.points.shape[1])
        result = np.empty(len(z), dtype=np.float64)
        for rows in spans(len(z)):
            best = np.full(len(z[rows]), np.inf)
            for columns in spans(len(self.points)):
                costs = self.cost(distances(z[rows], self.points[columns]))
                best = np.minimum(best, np.min(costs - self.values[columns], axis=1))
            result[rows] = best + self.shift
        return result


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Euclidean distances |x_i - y_j|, exact also for points that are close: (n, m)."""
    from scipy.spatial.distance import cdist

    return cdist(x, y)


def all_distances(x: WeightedPoints, y: WeightedPoints, what: str) -> np.ndarray:
    """The distances of all pairs, which exact transport needs in memory: (n, m)."""
    n, m, budget = len(x.points), len(y.points), settings().memory
    needed = _COPIES * 8 * n * m
    if needed > budget:
        raise MemoryBudgetError(
            f"exact transport of {n:,} and {m:,} points needs {needed / 2**20:,.0f} MiB, and the budget is "
            f"{budget / 2**20:,.0f} MiB: use sliced_wasserstein, fewer points, or raise mercer.config(memory=...)"
        )
    if not _assignable(x, y) and find_spec("ot") is None:
        raise ImportError(
            f"{what} of samples of different sizes or with weights, in more than one dimension, needs POT: pip install "
            "'mercer[transport]'. Samples of equal sizes without weights, numbers, and sliced_wasserstein do without"
        )
    return distances(x.points, y.points)


def optimal_plan(x: WeightedPoints, y: WeightedPoints, costs: np.ndarray) -> TransportPlan:
    """An optimal plan and its potentials: by POT's network simplex, or as an assignment."""
    if find_spec("ot") is not None:
        return _by_simplex(x.masses, y.masses, costs)
    from scipy.optimize import linear_sum_assignment

    i, j = linear_sum_assignment(costs)
    mass = np.full(len(i), 1 / len(i), dtype=np.float64)
    return TransportPlan(i, j, mass, partial(_assignment_potential, costs, j))


def _assignable(x: WeightedPoints, y: WeightedPoints) -> bool:
    return x.weights is None and y.weights is None and len(x.points) == len(y.points)


def _by_simplex(a: np.ndarray, b: np.ndarray, costs: np.ndarray) -> TransportPlan:
    import ot

    flow, log = ot.emd(a, b, costs, numItermax=_MAX_ITERATIONS, log=True, check_marginals=False)
    if log["warning"] is not None:
        raise RuntimeError(f"POT did not find an optimal plan: {log['warning']}")
    i, j = np.nonzero(flow)
    potential = np.asarray(log["v"], dtype=np.float64)
    return TransportPlan(i, j, flow[i, j], partial(_same, potential))


def _same(values: np.ndarray) -> np.ndarray:
    return values


def _assignment_potential(costs: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Dual potentials g of an optimal assignment i -> j_i: (m,).

    f_i <= f_k + c(i, j_k) - c(k, j_k) for all i and k: shortest paths, by the algorithm of Bellman and Ford. There
    are no negative cycles because the assignment is optimal.
    """
    matched = costs[np.arange(len(j)), j]
    f, small = np.zeros(len(j)), _ROUNDING * float(np.max(np.abs(costs), initial=0.0))
    for _ in range(len(j)):
        shorter = np.empty(len(j))
        for rows in spans(len(j)):
            shorter[rows] = np.min(costs[rows][:, j] + (f - matched), axis=1)
        if np.all(shorter >= f - small):
            break
        f = np.minimum(f, shorter)
    g = np.empty(len(j))
    g[j] = matched - f
    return g
