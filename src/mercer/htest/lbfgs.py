"""Maximisation of power proxies by L-BFGS: radial features, their gradients, and the optimiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from mercer.backend import Array, array_like, namespace, to_numpy
from mercer.errors import NoRule
from mercer.kernels.bandwidth import median_bandwidth, usable
from mercer.kernels.base import Kernel
from mercer.kernels.metric import squared_norms
from mercer.kernels.radial import RBF
from mercer.kernels.smooth import Profile, radial_form


class RadialMap:
    """f(|x - v_j|^2 / s^2): the parameters are the v_j, row by row, and log s."""

    def __init__(self, points: Array, profile: Profile, slope: Profile) -> None:
        self.points, self.profile, self.slope = points, profile, slope
        self.norms = squared_norms(points)[:, None]

    def push(self, theta: np.ndarray) -> tuple[Array, Any]:
        """Kernel values (N, J), where the points are."""
        rate = float(np.exp(-2 * theta[-1]))
        v = array_like(theta[:-1].reshape(-1, self.points.shape[1]), self.points)
        r2 = self.norms + squared_norms(v) - 2 * (self.points @ v.T)
        r2 = namespace(r2).clip(r2, 0.0, None) * rate
        return self.profile(r2), (v, rate, r2)

    def pull(self, gradient: Array, known: Any) -> np.ndarray:
        """d r2 / d v_j = 2 (v_j - x) / s^2 and d r2 / d log s = -2 r2, times f'(r2)."""
        v, rate, r2 = known
        flow, xp = gradient * self.slope(r2), namespace(r2)
        by_v = 2 * rate * (xp.sum(flow, axis=0)[:, None] * v - flow.T @ self.points)
        return np.append(to_numpy(by_v).ravel(), -2 * float(xp.sum(flow * r2)))


def smooth_form(kernel: Kernel | None) -> tuple[Profile, Profile]:
    """f and f' of a smooth radial kernel; None is the RBF."""
    form = radial_form(RBF(1.0) if kernel is None else kernel)
    if form is None or form.slope is None:
        raise NoRule(
            f"locations are learnt with smooth radial kernels, such as RBF(1.0); {kernel!r} is not "
            "known to be one: give locations=..., or leave the kernel out"
        )
    return form.profile, form.slope


def own_unit(points: Any, apart: bool, name: str) -> np.ndarray:
    """What a step of one is to be, (d,): the median distance, of columns each in its unit if `apart`."""
    unit = np.ones(points.shape[1], dtype=np.float64)
    if apart:
        spread = points.std(axis=0)
        unit = np.where(spread > 0, spread, 1.0)
        points = points / unit
    return unit * usable(median_bandwidth(points), points, name)


def widened(kernel: Kernel | None, factor: float, unit: np.ndarray) -> Kernel:
    """The kernel at `factor` times its width, on the user's numbers; None: RBF in these units."""
    if kernel is None:
        if np.ptp(unit) == 0:
            return RBF(factor * float(unit[0]))
        return RBF(factor).scaled(tuple(1 / unit))
    params = (
        {f.name: getattr(kernel, f.name) for f in fields(kernel)} if is_dataclass(kernel) else {}
    )
    if "bandwidth" in params:
        return kernel.with_params(bandwidth=factor * params["bandwidth"])
    return kernel.scaled(1 / factor)


def climbed(
    objective: Callable[[np.ndarray], Any],
    theta: np.ndarray,
    bounds: list[Any],
    steps: int,
    seen: Callable[[np.ndarray], Any] | None = None,
) -> np.ndarray:
    """Minimum found by L-BFGS-B from `theta`; the objective gives its value and its gradient.

    `seen` is told where each step leads.
    """
    from scipy.optimize import minimize

    options = {"maxiter": steps, "maxfun": 2 * steps}
    callback = None if seen is None else lambda xk: seen(np.array(xk))
    optimum = minimize(
        objective,
        theta,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options=options,
        callback=callback,
    )
    return np.asarray(optimum.x)
