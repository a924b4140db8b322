"""Learning of locations and frequencies: many starting points, then quasi-Newton steps from the best."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, astype, double, namespace, on_gpu, to_numpy
from mercer.htest.lbfgs import RadialMap, climbed, own_unit, smooth_form, widened
from mercer.htest.samples.pooled_sample import pool
from mercer.htest.samples.power_proxy import (
    DifferentiableFeatures,
    FrequencyFeatures,
    Power,
    Training,
    difference,
    proxy,
)
from mercer.kernels.base import Kernel
from mercer.kernels.metric import squared_norms
from mercer.kernels.prepare import as_table, prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.kernels.take import taken
from mercer.linalg import one_blas_thread
from mercer.rkhs.distributions import Empirical

_RIDGE = 1e-5  # times the square of the largest feature, added to variances
_CANDIDATES = 120  # locations or frequencies among which starting points are selected greedily
_STARTS_FOLLOWED = 6  # best starting points, from which the search descends
_POINTS_FOR_STARTS = 2000  # of each sample: enough to compare starting points
_STEPS_PER_START = 25  # quasi-Newton steps from each of them
_MAX_COLUMNS_IN_RANGE = 100  # with more columns, locations may leave the range of the points
_LOG2 = log(2)


def best_locations(
    power: Power,
    kernel: Kernel | None,
    x: Any,
    y: Any,
    number: int,
    rng: Any,
    *,
    cautious: bool = False,
) -> tuple[Kernel, np.ndarray]:
    """Kernel width and locations (J, d) that maximise a proxy of power.

    Cautious: locations that were not moved at all are kept if unseen points do not say that moving
    them helps.
    """
    validate.whole("locations", number)
    rng, (profile, slope) = validate.generator(rng), smooth_form(kernel)
    data = training(x, y, own_units=kernel is None)
    scale = 1.0 if kernel is None else float(data.unit[0]) ** 2  # the kernel sees the user's units
    top = float(profile(np.zeros(1, dtype=np.float64))[0])

    def features(points: Array) -> DifferentiableFeatures:
        return RadialMap(
            points, lambda r2: profile(scale * r2), lambda r2: scale * slope(scale * r2)
        )

    octaves = range(-5, 4) if kernel is None else range(-2, 3)
    begin = [(_candidates(data, rng), octave * _LOG2) for octave in octaves]
    low, high = _box(data.points)
    bounds = [*zip(np.tile(low, number), np.tile(high, number), strict=True)]
    bounds.append((_LOG2 * (octaves[0] - 1), _LOG2 * (octaves[-1] + 1)))
    theta = _largest(
        power, features, data, begin, number, bounds, _RIDGE * top**2, 100, rng, cautious
    )
    locations = data.back(theta[:-1].reshape(number, -1))
    return widened(kernel, float(np.exp(theta[-1])), data.unit), locations


def best_frequencies(
    power: Power, x: Any, y: Any, number: int, rng: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bandwidths (d,), centre and frequencies (J, d) that maximise a proxy of power."""
    validate.whole("frequencies", number)
    rng = validate.generator(rng)
    data = training(x, y, own_units=True)
    d = data.points.shape[1]
    scales = 2.0 ** (np.arange(_CANDIDATES) % 5)[:, None]
    begin = [
        (scales * rng.standard_normal((_CANDIDATES, d)), octave * _LOG2) for octave in range(-3, 3)
    ]
    bounds = [(None, None)] * (number * d) + [(-5 * _LOG2, 4 * _LOG2)]
    # few last steps: sines of high frequencies fit any sample, and its noise
    theta = _largest(power, FrequencyFeatures, data, begin, number, bounds, _RIDGE, 15, rng)
    return np.exp(theta[-1]) * data.unit, data.center, theta[:-1].reshape(number, d)


def training(x: Any, y: Any, *, own_units: bool) -> Training:
    """Both samples as standardized numbers; columns of data frames may have separate units."""
    pooled = pool(VECTOR_KERNEL, x, y)
    x, y = (s.points if isinstance(s, Empirical) else s for s in (x, y))
    _, a, b = prepare(VECTOR_KERNEL, x, y)
    samples: Any = (a, b) if on_gpu(a) else (to_numpy(a), to_numpy(b))
    points = namespace(*samples).concat([astype(s, double(s)) for s in samples])
    center = namespace(points).mean(points, axis=0)
    points = points - center
    unit = own_unit(points, own_units and as_table(x, "x") is not None, "x and y")
    weights = np.repeat([1 / pooled.n, 1 / pooled.m], [pooled.n, pooled.m])
    weights = weights if pooled.weights is None else pooled.weights
    return Training(points / array_like(unit, points), pooled.n, weights, to_numpy(center), unit)


def _box(points: Array) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds of the locations, relative to the centre: (d,) each.

    Within the range of the points, so that places can be looked at. With very many columns out to
    the length of the longest point, a column being measured by its range: that is beyond what any
    point has in one column, and only there is one seen without the noise of all the others.
    """
    xp = namespace(points)
    low, high = to_numpy(xp.min(points, axis=0)), to_numpy(xp.max(points, axis=0))
    if points.shape[1] <= _MAX_COLUMNS_IN_RANGE:
        return low, high
    most = np.maximum(-low, high)
    scaled = points / array_like(np.where(most > 0, most, 1.0), points)
    longest = float(xp.max(squared_norms(scaled))) ** 0.5
    return longest * low, longest * high


def _candidates(data: Training, rng: np.random.Generator) -> np.ndarray:
    """Points of both samples, and draws from Gaussians fitted to them: (candidates, d)."""
    quarter, candidates = _CANDIDATES // 4, []
    for sample in (data.points[: data.n], data.points[data.n :]):
        candidates.append(to_numpy(taken(sample, rng.integers(len(sample), size=quarter))))
        subsample = to_numpy(taken(sample, rng.integers(len(sample), size=min(len(sample), 500))))
        middle = subsample.mean(axis=0)
        noise = rng.standard_normal((quarter, len(subsample))) / np.sqrt(len(subsample))
        candidates.append(middle + noise @ (subsample - middle))  # its mean and covariance
    return np.concatenate(candidates)


def _largest(
    power: Power,
    features: Callable[[Array], DifferentiableFeatures],
    data: Training,
    begin: list[tuple[np.ndarray, float]],
    number: int,
    bounds: list[Any],
    ridge: float,
    steps: int,
    rng: np.random.Generator,
    cautious: bool = False,
) -> np.ndarray:
    """Parameters that maximise the proxy.

    The best beginnings are followed on one part of the points and compared on another, so that
    the one that wins is not the one that fits its own points best; the last steps are on all.
    """
    seen, unseen = data.halves(_POINTS_FOR_STARTS, rng)
    with one_blas_thread():  # products of few columns: a second thread costs more than it brings
        seen_features = features(seen.points)
        starts = [_chosen(power, seen_features, seen, *each, number, ridge) for each in begin]
        starts = [theta for _, theta in sorted(starts, key=lambda start: -start[0])]
        rough = _objective(power, seen_features, seen, ridge)
        ends = [
            climbed(rough, theta, bounds, _STEPS_PER_START) for theta in starts[:_STARTS_FOLLOWED]
        ]
        check = _objective(power, features(unseen.points), unseen, ridge)
        theta = min(ends, key=lambda theta: check(theta)[0])
        if cautious:
            unmoved = min(starts, key=lambda theta: check(theta)[0])
            if check(unmoved)[0] <= check(theta)[0]:
                return unmoved
        objective = _objective(power, features(data.points), data, ridge)
        return climbed(objective, theta, bounds, steps)


def _chosen(
    power: Power,
    features: DifferentiableFeatures,
    data: Training,
    candidates: np.ndarray,
    log_width: float,
    number: int,
    ridge: float,
) -> tuple[float, np.ndarray]:
    """Greedy selection of `number` candidates by the proxy, and its value."""
    z, _ = features.push(np.append(candidates.ravel(), log_width))
    delta, covariance, scale = difference(z, data)
    columns = np.arange(z.shape[1]).reshape(-1, len(candidates)).T  # those of each candidate
    selected: list[int] = []
    best = -np.inf
    for _ in range(number):
        values = np.full(len(candidates), -np.inf)
        for c in set(range(len(candidates))) - set(selected):
            at = columns[[*selected, c]].ravel()
            values[c] = power(delta[at], covariance[np.ix_(at, at)], ridge * scale)[0]
        selected.append(int(np.argmax(values)))
        best = float(values.max())
    return best, np.append(candidates[selected].ravel(), log_width)


def _objective(
    power: Power, features: DifferentiableFeatures, data: Training, ridge: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Negative proxy and its gradient, to be minimised."""

    def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z, known = features.push(theta)
        value, gradient = proxy(power, z, data, ridge)
        return -value, -features.pull(gradient, known)

    return negative
