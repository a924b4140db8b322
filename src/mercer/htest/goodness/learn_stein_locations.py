"""Learn the locations and the bandwidth of FSSD, with early stopping by cross-validation.

The search starts from many sets of locations. In high dimension it overfits small samples, so the
number of quasi-Newton steps is validated: steps on one half of the observations are scored on the
other half, and the best number of steps is then taken on all observations. If validation shows no
gain, only the bandwidth is chosen, by the evidence at random locations.
"""

from __future__ import annotations

from collections import Counter
from math import log, sqrt
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.htest.goodness.stein_sample import SteinSample
from mercer.htest.lbfgs import climbed, widened
from mercer.kernels.bandwidth import median_bandwidth, usable
from mercer.kernels.base import Kernel
from mercer.kernels.metric import squared_distances
from mercer.kernels.radial import RBF
from mercer.kernels.smooth import Profile
from mercer.kernels.stein import Scored
from mercer.linalg import one_blas_thread

# The variance under the model is 2 tr(P^2) / n^2; the factor stands for three standard deviations, squared.
NULL_VARIANCE_FACTOR = 18.0
_VARIANCE_FLOOR = 4.0  # constant in the variance, times the squared power of features, divided by n
_STARTS = 12  # sets of locations at every bandwidth
_MAX_SEARCHES = 6  # started from the best sets
_MAX_SEARCHES_PER_BANDWIDTH = 4  # searches from one bandwidth tend to the same maximum
_STEPS = (0, 1, 2, 4, 8, 16, 32, 60)  # numbers of steps that are validated
_MIN_OBSERVATIONS_FOR_VALIDATION = 20  # halves of fewer say nothing about each other
_NULL_DEVIATION = sqrt(
    2 / NULL_VARIANCE_FACTOR
)  # standard deviation of sqrt(n) ratio under the model
_MAX_OBSERVATIONS = 2000  # a random subsample beyond: each step is linear in them
_LOG2 = log(2)
_WIDE_OCTAVE = 1  # above the median distance, where the features are those of the mean score
_MIN_NEIGHBOURS = 10  # effective observations near a location; fewer do not show how features vary
_ROUNDING = 1e-12  # relative error of a difference of sums
_MIN_FEATURE = 1e-60  # smaller features underflow when squared: no observation is near a location


def best_locations(
    sample: SteinSample, kernel: Kernel | None, number: int, rng: np.random.Generator
) -> tuple[Kernel, np.ndarray]:
    """The kernel with the best bandwidth, and the best locations (J, d)."""
    points = to_numpy(sample.points)
    scores = to_numpy(sample.kernel.score(sample.points)).astype(np.float64, copy=False)
    if len(points) > _MAX_OBSERVATIONS:
        rows = np.sort(rng.choice(len(points), _MAX_OBSERVATIONS, replace=False))
        points, scores = points[rows], scores[rows]
    unit = usable(median_bandwidth(points), points, "x")
    unit_kernel = RBF(1.0) if kernel is None else kernel.scaled(unit)  # of points divided by `unit`
    center = points.mean(axis=0)
    ratio = Ratio((points - center) / unit, scores * unit, *Scored(unit_kernel).form, number)
    with one_blas_thread():
        theta = (
            _maximized(ratio, range(-3, 4), _WIDE_OCTAVE, rng)
            if kernel is None
            else _maximized(ratio, range(-2, 3), 0, rng)
        )
    units = np.full(points.shape[1], unit, dtype=np.float64)
    places = center + unit * theta[:-1].reshape(number, -1)
    return widened(kernel, float(np.exp(theta[-1])), units), places


class Ratio:
    """Signal-to-noise ratio of FSSD^2, the proxy of the power of the test, with its gradient.

    With features T_i of observation i, their mean m, c_i = T_i'm and P = mean T_i T_i', the variance of
    FSSD^2 is 4 (mean c_i^2 - |m|^4) / n if the model is wrong (Jitkrittum et al. 2017, proposition 2)
    and 2 tr(P^2) / n^2 if it is right. The paper uses only the former, which ignores that the statistic
    must exceed a threshold; for few observations that matters most. `floor`, a constant in the
    variance, keeps the search away from locations with few observations nearby. The parameters theta
    are the locations, row by row, and the logarithm of a bandwidth s: k(x, v) = f(|x - v|^2 / s^2).
    """

    def __init__(
        self,
        points: np.ndarray,
        scores: np.ndarray,
        profile: Profile,
        slope: Profile,
        curvature: Profile,
        number: int,
        floor: float = 0.0,
    ) -> None:
        self.points, self.scores, self.number, self.floor = points, scores, number, floor
        self.form = profile, slope, curvature

    def subset(self, rows: Any, floor: float = 0.0) -> Ratio:
        """The ratio for a subset of the observations."""
        return Ratio(self.points[rows], self.scores[rows], *self.form, self.number, floor)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the ratio, for minimizers, and its gradient."""
        features, (u, r2, rate, slope) = self._features(theta)
        largest = float(np.max(np.abs(features)))  # the ratio does not change with the scale
        if largest < _MIN_FEATURE:
            return 0.0, np.zeros_like(theta)
        n = len(features)
        floor = self.floor / largest / largest / largest / largest  # a fourth power may overflow
        ratio, of_features = _ratio(features.reshape(n, -1) / largest, floor)
        flow = of_features.reshape(features.shape) / largest
        curvature = rate**2 * self.form[2](rate * r2)
        by_score = np.einsum("ijk,ik->ij", flow, self.scores)
        by_step = np.einsum("ijk,ijk->ij", flow, u)
        along = -2 * slope * by_score - 4 * curvature * by_step
        by_v = np.einsum("ij,ijk->jk", along, u) - 2 * np.einsum("ij,ijk->jk", slope, flow)
        by_bandwidth = -2 * r2 * slope * by_score - 4 * (slope + r2 * curvature) * by_step
        return -ratio, -np.append(by_v.ravel(), by_bandwidth.sum())

    def deviations(self, theta: np.ndarray) -> float:
        """The statistic in units of its standard deviation: sqrt(n) times the ratio.

        Here tr(P^2) is estimated without bias, from pairs of different observations. With pairs i = i
        the estimate is too large for a small bandwidth: as a safeguard that suits the search, but it
        would bias the comparison of bandwidths.
        """
        features, _ = self._features(theta)
        largest = float(np.max(np.abs(features)))
        if largest < _MIN_FEATURE:
            return 0.0
        t = features.reshape(len(features), -1) / largest
        (statistic, spread, products), n = _moments(t), len(t)
        diagonal = float(np.sum(np.sum(t * t, axis=1) ** 2))
        off_diagonal = max(float(np.sum(products**2)) - diagonal, _ROUNDING * diagonal)
        variance = spread / n + NULL_VARIANCE_FACTOR * off_diagonal / (n**3 * (n - 1))
        return float(statistic / np.sqrt(variance))

    def neighbours(self, theta: np.ndarray) -> float:
        """Effective number of observations near a location: mean of (sum_i k)^2 / sum_i k^2."""
        rate, v = float(np.exp(-2 * theta[-1])), theta[:-1].reshape(self.number, -1)
        k = self.form[0](rate * squared_distances(self.points, v, self.form[0]))
        return float(
            np.mean(np.sum(k, axis=0) ** 2 / np.maximum(np.sum(k * k, axis=0), _MIN_FEATURE))
        )

    def power(self, theta: np.ndarray) -> float:
        """mean_i |T_i|^2."""
        features, _ = self._features(theta)
        return float(np.mean(np.sum(features * features, axis=(1, 2))))

    def _features(self, theta: np.ndarray) -> tuple[np.ndarray, tuple[Any, ...]]:
        """Features s(x_i) k + grad k, (n, J, d), and intermediate values for their derivatives."""
        rate = float(np.exp(-2 * theta[-1]))
        v = theta[:-1].reshape(self.number, -1)
        u = self.points[:, None, :] - v[None, :, :]  # (n, J, d)
        r2 = np.einsum("ijk,ijk->ij", u, u)
        value, slope = self.form[0](rate * r2), rate * self.form[1](rate * r2)
        features = value[:, :, None] * self.scores[:, None, :] + 2 * slope[:, :, None] * u
        return features, (u, r2, rate, slope)


def _ratio(t: np.ndarray, floor: float = 0.0) -> tuple[float, np.ndarray]:
    """The ratio of features T (n, D), and its gradient with respect to them."""
    n, mean = len(t), t.mean(axis=0)
    statistic, spread, products = _moments(t)
    of_statistic = 2 * (n * mean - t) / (n * (n - 1))
    c, m2 = t @ mean, float(mean @ mean)
    cubic = t @ products if t.shape[1] <= n else products @ t  # T T'T
    variance = spread + floor + NULL_VARIANCE_FACTOR * float(np.sum(products**2)) / n**3
    of_variance = 8 * (c[:, None] * mean + (c @ t) / n - 2 * m2 * mean) / n
    of_variance += 4 * NULL_VARIANCE_FACTOR * cubic / n**3
    deviation = np.sqrt(variance)
    gradient = (of_statistic - statistic * of_variance / (2 * variance)) / deviation
    return float(statistic / deviation), gradient


def _moments(t: np.ndarray) -> tuple[float, float, np.ndarray]:
    """FSSD^2, n times its variance if the model is wrong, and the smaller one of T'T and TT'."""
    n, mean = len(t), t.mean(axis=0)
    m2 = float(mean @ mean)
    statistic = (n * m2 - float(np.mean(np.sum(t * t, axis=1)))) / (n - 1)
    spread = max(4 * (float(np.mean((t @ mean) ** 2)) - m2**2), 0.0)
    return statistic, spread, t.T @ t if t.shape[1] <= n else t @ t.T  # n <= _MAX_OBSERVATIONS


def random_locations(points: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from a Gaussian fitted to the points, m + sum_i z_i (x_i - m) / sqrt(n): (J, d)."""
    subsample = points[rng.integers(len(points), size=min(len(points), 1000))]
    return locations_around(points.mean(axis=0), subsample, number, rng)


def locations_around(
    mean: np.ndarray, subsample: np.ndarray, number: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws from a Gaussian with this mean and the covariance of a subsample: (J, d)."""
    z = rng.standard_normal((number, len(subsample))) / np.sqrt(len(subsample))
    return mean + z @ (subsample - mean)


def _maximized(ratio: Ratio, octaves: range, default: int, rng: np.random.Generator) -> np.ndarray:
    """The best parameters: from good starting points, after the validated number of steps.

    No step is taken if both validation halves together give less than one standard deviation.
    """
    points, number = ratio.points, ratio.number
    low, high = np.tile(points.min(axis=0), number), np.tile(points.max(axis=0), number)
    bounds: list[Any] = [*zip(low, high, strict=True)]
    bounds.append((_LOG2 * (octaves[0] - 1), _LOG2 * (octaves[-1] + 1)))
    starts = np.clip(_starts(ratio, octaves, rng), *np.transpose(bounds))
    default = octaves.index(default)
    wide_enough = _wide_enough(ratio, starts[::2], default)
    starts, default = starts[:, wide_enough], sum(wide_enough[:default])
    evidence = np.array(
        [[ratio.deviations(theta) for theta in row] for row in starts], dtype=np.float64
    )
    by_bandwidth = evidence[::2].mean(axis=0)  # at random locations
    initial = _without_search(starts[::2], evidence[::2], by_bandwidth, default)
    if len(points) < _MIN_OBSERVATIONS_FOR_VALIDATION:
        return initial
    best = _best_starts(starts, evidence + by_bandwidth)
    floors = [_VARIANCE_FLOOR * ratio.power(theta) ** 2 / len(points) for theta in best]
    scores = _validated(ratio, best, floors, bounds, rng)
    shrunk = (
        scores + scores.mean(axis=0)
    ) / 2  # towards the mean of all starts, which is less noisy
    k, i = np.unravel_index(int(np.argmax(shrunk)), scores.shape)
    if shrunk[k, i] < sqrt(2) * _NULL_DEVIATION:
        return initial
    return _path(ratio.subset(slice(None), floors[k]), best[k], bounds, _STEPS[i])[-1]


def _validated(
    ratio: Ratio,
    starts: list[np.ndarray],
    floors: list[float],
    bounds: list[Any],
    rng: np.random.Generator,
) -> np.ndarray:
    """Evidence in one half of the observations after steps on the other, summed: (starts, steps)."""
    rows = rng.permutation(len(ratio.points))
    scores = np.zeros((len(starts), len(_STEPS)), dtype=np.float64)
    for training, validation in ((rows[::2], rows[1::2]), (rows[1::2], rows[::2])):
        judge = ratio.subset(validation)
        for k, (theta, floor) in enumerate(zip(starts, floors, strict=True)):
            path = _path(ratio.subset(training, 2 * floor), theta, bounds, _STEPS[-1])
            scores[k] += [judge.deviations(path[min(step, len(path) - 1)]) for step in _STEPS]
    return scores


def _starts(ratio: Ratio, octaves: range, rng: np.random.Generator) -> np.ndarray:
    """Sets of locations at every bandwidth: (sets, bandwidths, parameters).

    Sets of random locations and of observations alternate. Observations reach regions that random
    locations do not, but an observation at a location is its own neighbour.
    """
    points, number = ratio.points, ratio.number
    starts = []
    for i in range(_STARTS):
        rows = rng.choice(len(points), number, replace=len(points) < number)
        places = points[rows] if i % 2 else random_locations(points, number, rng)
        starts.append([np.append(places.ravel(), octave * _LOG2) for octave in octaves])
    return np.array(starts, dtype=np.float64)


def _wide_enough(ratio: Ratio, starts: np.ndarray, default: int) -> list[bool]:
    """Whether enough observations are near the locations, by bandwidth; the default always qualifies."""
    neighbours = [[ratio.neighbours(theta) for theta in row] for row in starts]
    enough = [bool(mean >= _MIN_NEIGHBOURS) for mean in np.mean(neighbours, axis=0)]
    return [*enough[:default], True, *enough[default + 1 :]]


def _without_search(
    starts: np.ndarray, evidence: np.ndarray, by_bandwidth: np.ndarray, default: int
) -> np.ndarray:
    """The best random locations for the bandwidth with the most evidence, or for the default one.

    The default is replaced only by a bandwidth that is better by more than one standard deviation, as
    in the one-standard-error rule (Breiman et al. 1984, 3.4.3).
    """
    best = int(np.argmax(by_bandwidth))
    if by_bandwidth[best] < by_bandwidth[default] + _NULL_DEVIATION:
        best = default
    return starts[int(np.argmax(evidence[:, best])), best]


def _best_starts(starts: np.ndarray, score: np.ndarray) -> list[np.ndarray]:
    """The starting points with the largest scores, with a limited number for each bandwidth."""
    number, best = Counter[int](), []
    for index in np.argsort(-score, axis=None, kind="stable"):
        row, bandwidth = np.unravel_index(index, score.shape)
        below_limit = number[int(bandwidth)] < _MAX_SEARCHES_PER_BANDWIDTH
        if below_limit and len(best) < _MAX_SEARCHES:
            best.append(starts[row, bandwidth])
        number[int(bandwidth)] += 1
    return best


def _path(ratio: Ratio, theta: np.ndarray, bounds: list[Any], steps: int) -> list[np.ndarray]:
    """Parameters after each quasi-Newton step."""
    path = [theta]
    if steps:
        climbed(ratio, theta, bounds, steps, path.append)
    return path
