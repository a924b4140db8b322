"""Optimisation of pairs of locations and of two bandwidths for the power of `NFSIC`.

Initial locations are chosen greedily for several bandwidths; the starts that do best on held-out
observations are improved by quasi-Newton steps, and the best result is optimised until convergence.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import log
from typing import Any, NamedTuple

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, astype, double, namespace, on_gpu, to_numpy
from mercer.htest.lbfgs import RadialMap, climbed, own_unit, smooth_form, widened
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.kernels.smooth import Profile
from mercer.kernels.take import taken
from mercer.linalg import one_blas_thread
from mercer.rkhs.paired_samples import need_variation, variables

_RIDGE = 1e-6  # of the square of the largest product of features, added to variances
_INDEPENDENCE_SHARE = 0.25  # of A o B in the covariance M of products: see `power_proxy`
_CANDIDATES = 120  # pairs of locations among which the greedy search chooses
_MAX_STARTS = 6  # improved by quasi-Newton steps; more seldom find a better optimum
_ROWS_TO_COMPARE_STARTS = 2000  # observations are enough to rank starts
_STEPS_PER_START = 25  # enough to rank them; the best is continued
_FINAL_STEPS = 100  # on all observations
_LOG2 = log(2)


@dataclass(frozen=True)
class ScaledVariable:
    """One variable to optimise on: centred and scaled points, with a radial kernel."""

    points: Array  # (n, d), on the host or on a GPU
    center: np.ndarray  # (d,)
    unit: np.ndarray  # (d,), the scale of each column in the units of the user
    kernel: Kernel | None
    profile: Profile
    slope: Profile
    scale: float  # factor of squared distances before they enter the profile

    @property
    def octaves(self) -> range:
        """Initial bandwidths, as powers of two."""
        return range(-4, 3) if self.kernel is None else range(-2, 3)

    @property
    def top(self) -> float:
        """The largest value of the kernel."""
        return float(self.profile(np.zeros(1, dtype=np.float64))[0])

    def features(self, rows: np.ndarray) -> RadialMap:
        """Kernel values of some observations, as a function of locations and bandwidth.

        All observations stay on their device; subsets are copied to the host.
        """
        scale, profile, slope = self.scale, self.profile, self.slope
        everything = len(rows) == len(self.points)
        points = self.points if everything else to_numpy(taken(self.points, rows))
        return RadialMap(
            points, lambda r2: profile(scale * r2), lambda r2: scale * slope(scale * r2)
        )

    def in_user_units(self, points: np.ndarray) -> np.ndarray:
        """Points in the units and coordinates of the user."""
        return points * self.unit + self.center

    def bounds(self, number: int) -> list[tuple[float, float]]:
        """Bounds: locations stay within the range of the data, bandwidths near the initial ones."""
        xp = namespace(self.points)
        low, high = (to_numpy(f(self.points, axis=0)) for f in (xp.min, xp.max))
        widths = (_LOG2 * (self.octaves[0] - 1), _LOG2 * (self.octaves[-1] + 1))
        return [*zip(np.tile(low, number), np.tile(high, number), strict=True), widths]


ScaledPair = tuple[ScaledVariable, ScaledVariable]


def optimal_location_pairs(
    kernels: tuple[Kernel | None, Kernel | None], x: Any, y: Any, number: int, rng: Any
) -> tuple[Kernel, Kernel, np.ndarray, np.ndarray]:
    """Kernels with optimal bandwidths, and the optimal pairs of locations, (J, dx) and (J, dy)."""
    validate.whole("locations", number)
    rng = validate.generator(rng)
    pair = _scaled_pair(kernels, x, y)
    ridge = _RIDGE * (pair[0].top * pair[1].top) ** 2
    n = len(pair[0].points)
    rows = rng.permutation(n)[: 2 * _ROWS_TO_COMPARE_STARTS]
    training, held_out = np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])
    bounds = [*pair[0].bounds(number), *pair[1].bounds(number)]
    with one_blas_thread():  # products of few columns are faster on one thread
        validation = LocationPairObjective(pair, held_out, number, ridge)
        starts = _initial_parameters(pair, training, number, ridge, rng)
        starts = sorted(starts, key=lambda theta: validation(theta)[0])
        rough = LocationPairObjective(pair, training, number, ridge)
        ends = [climbed(rough, theta, bounds, _STEPS_PER_START) for theta in starts[:_MAX_STARTS]]
        theta = min(ends, key=lambda theta: validation(theta)[0])
        objective = LocationPairObjective(pair, np.arange(n), number, ridge)
        theta = climbed(objective, theta, bounds, _FINAL_STEPS)
    kernels_found: list[Kernel] = []
    locations: list[np.ndarray] = []
    split = np.split(theta, [number * pair[0].points.shape[1] + 1])
    for variable, parameters in zip(pair, split, strict=True):
        bandwidth = float(np.exp(parameters[-1]))
        kernels_found.append(widened(variable.kernel, bandwidth, variable.unit))
        locations.append(variable.in_user_units(parameters[:-1].reshape(number, -1)))
    return kernels_found[0], kernels_found[1], locations[0], locations[1]


# ---- proxy of the power -------------------------------------------------------------------------


def power_proxy(k: Any, l: Any, ridge: float) -> tuple[float, Array, Array]:  # noqa: E741
    """n u' (M + ridge I)^-1 u of features k and l (n, J), and its gradients with respect to both.

    u are the covariances of k_j and l_j. In the paper, where a lower bound of the power increases with
    this number (Jitkrittum et al. 2017), M is S, the covariance of the products
    g = (k - mean)(l - mean). Near locations without observations S is small by chance, and the
    criterion large: the search would end in the gaps of a sample. Here M is 3/4 S + 1/4 A o B with A and
    B the covariances of k and l; A o B is S under independence.

    With a = (M + ridge I)^-1 u the derivative is 2n a with respect to u and -n aa' with respect to M; the
    gradients are centred, as the features are.
    """
    n, share = len(k), _INDEPENDENCE_SHARE
    k, l = k - k.mean(axis=0), l - l.mean(axis=0)  # noqa: E741
    moments = FeatureMoments.of(k, l)
    mixed = to_numpy(moments.mixed) + ridge * np.eye(len(moments.u), dtype=np.float64)
    a = array_like(linalg.solve(mixed, to_numpy(moments.u)), k)
    by_g = 2 * (1 - (1 - share) * (moments.g @ a))[:, None] * a
    by_mean = -2 * share * a[:, None] * a
    by_k = by_g * l + k @ (by_mean * moments.covariance_l)
    by_l = by_g * k + l @ (by_mean * moments.covariance_k)
    return float(n * (moments.u @ a)), by_k - by_k.mean(axis=0), by_l - by_l.mean(axis=0)


class FeatureMoments(NamedTuple):
    """Means and covariances of centred features k and l and of their products."""

    u: Any  # means of the products, (J,)
    g: Array  # products less their means, (n, J)
    covariance_k: Array  # A, the covariance of k, (J, J)
    covariance_l: Array  # B
    mixed: Any  # M

    @classmethod
    def of(cls, k: Array, l: Array) -> FeatureMoments:  # noqa: E741
        """The moments of features with mean 0."""
        n, g = len(k), k * l
        u = g.mean(axis=0)
        g -= u
        covariance_k, covariance_l = k.T @ k / n, l.T @ l / n
        share = _INDEPENDENCE_SHARE
        mixed = (1 - share) * (g.T @ g) / n + share * covariance_k * covariance_l
        return cls(u, g, covariance_k, covariance_l, mixed)


class LocationPairObjective:
    """Minus the power proxy on some observations, and its gradient by (V, log width, W, log width)."""

    def __init__(self, pair: ScaledPair, rows: np.ndarray, number: int, ridge: float) -> None:
        self.maps = tuple(variable.features(rows) for variable in pair)
        self.split, self.ridge = number * pair[0].points.shape[1] + 1, ridge

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and the gradient."""
        first, second = self.maps
        k, cache_k = first.push(theta[: self.split])
        l, cache_l = second.push(theta[self.split :])  # noqa: E741
        value, by_k, by_l = power_proxy(k, l, self.ridge)
        gradient = np.concatenate([first.pull(by_k, cache_k), second.pull(by_l, cache_l)])
        return -value, -gradient


# ---- initial parameters --------------------------------------------------------------------------


def _scaled_pair(kernels: tuple[Kernel | None, Kernel | None], x: Any, y: Any) -> ScaledPair:
    observed = variables((VECTOR_KERNEL, VECTOR_KERNEL), (x, y))
    first, second = (
        _scaled(kernel, _doubles(v.uncentred), as_table(sample, v.name), v.name)
        for kernel, v, sample in zip(kernels, observed, (x, y), strict=True)
    )
    return first, second


def _doubles(points: Array) -> Array:
    """The points in float64, on the host unless they are on a GPU."""
    points = points if on_gpu(points) else to_numpy(points)
    return astype(points, double(points))


def _scaled(kernel: Kernel | None, points: Array, frame: Any, name: str) -> ScaledVariable:
    profile, slope = smooth_form(kernel)
    need_variation(points, name)
    center = namespace(points).mean(points, axis=0)
    points = points - center
    # each column of a data frame has its own unit
    unit = own_unit(points, kernel is None and frame is not None, name)
    # a given kernel is in the units of the user
    scale = 1.0 if kernel is None else float(unit[0]) ** 2
    scaled = points / array_like(unit, points)
    return ScaledVariable(scaled, to_numpy(center), unit, kernel, profile, slope, scale)


def _initial_parameters(
    pair: ScaledPair, rows: np.ndarray, number: int, ridge: float, rng: np.random.Generator
) -> list[np.ndarray]:
    """Initial parameters, one vector for each pair of bandwidths."""
    indices = rng.integers(len(rows), size=(3, _CANDIDATES // 2))
    # half of the candidates are observed pairs, half pairs of different observations
    positions = (rows[indices[[0, 1]].ravel()], rows[indices[[0, 2]].ravel()])
    values: list[list[tuple[np.ndarray, float, np.ndarray]]] = []
    for variable, position in zip(pair, positions, strict=True):
        features, candidates = variable.features(rows), to_numpy(taken(variable.points, position))
        logs = [octave * _LOG2 for octave in variable.octaves]
        pushed = (features.push(np.append(candidates.ravel(), width))[0] for width in logs)
        values.append(
            [
                (candidates, w, z - namespace(z).mean(z, axis=0))
                for w, z in zip(logs, pushed, strict=True)
            ]
        )
    starts = []
    for (v, log_x, k), (w, log_y, l) in product(*values):  # noqa: E741
        moments = FeatureMoments.of(k, l)
        _, best = _forward_selection(moments.u, moments.mixed, number, ridge)
        starts.append(np.concatenate([v[best].ravel(), [log_x], w[best].ravel(), [log_y]]))
    return starts


def _forward_selection(
    u: np.ndarray, s: np.ndarray, number: int, ridge: float
) -> tuple[float, np.ndarray]:
    """Greedy choice of `number` features that increase u' (s + ridge I)^-1 u most.

    Returns the value and the indices. Each step is one of Cholesky's method: the conditional u and
    variances, given the features selected so far, yield the gain of the next one.
    """
    variances, residual = np.diagonal(s) + ridge, u.copy()
    total, selected = 0.0, np.empty(0, dtype=np.intp)
    rows = np.empty((0, len(u)), dtype=np.float64)
    free = np.ones(len(u), dtype=bool)
    for _ in range(min(number, len(u))):
        gains = np.where(free, residual**2 / np.maximum(variances, ridge), -1.0)
        p = int(np.argmax(gains))
        total += float(gains[p])
        row = (s[p] + ridge * (np.arange(len(u)) == p) - rows[:, p] @ rows) / np.sqrt(variances[p])
        residual = residual - row * residual[p] / np.sqrt(variances[p])
        variances = variances - row**2
        rows, selected = np.vstack([rows, row]), np.append(selected, p)
        free[p] = False
    return total, np.resize(selected, number)
