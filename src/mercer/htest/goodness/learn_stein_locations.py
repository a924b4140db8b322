"""The search for locations where a model fails: many beginnings, then as many steps as help elsewhere too.

Locations are d numbers each, and what they explain of few observations in many dimensions is mostly
chance: quasi-Newton steps on one half of the observations are judged on the other, and all of them
are then taken as far as that went. Where halves see nothing, only the width is chosen, by what many
random locations see of all observations.
"""

from __future__ import annotations

from collections import Counter
from math import log, sqrt
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.htest.goodness.stein_sample import Sample
from mercer.htest.lbfgs import climbed, widened
from mercer.kernels.bandwidth import median_bandwidth, usable
from mercer.kernels.base import Kernel
from mercer.kernels.metric import squared_distances
from mercer.kernels.radial import RBF
from mercer.kernels.smooth import Profile
from mercer.kernels.stein import Scored
from mercer.linalg import one_blas_thread

_NULL = 18.0  # 2 tr(P^2) / n^2 is the variance under the model: three standard deviations, squared
_FLOOR = 4.0  # of the variance, times the squared power of features where a search begins, by n
_BEGINNINGS = 12  # sets of locations, at every width
_FOLLOWED = 6  # the best of them
_ALIKE = 4  # of one width
_STEPS = (0, 1, 2, 4, 8, 16, 32, 60)  # after which the other half is asked
_HALVED = 20  # observations from which halves can judge each other
_CHANCE = sqrt(2 / _NULL)  # the standard deviation of the ratio, times sqrt(n), under the model
_MOST = 2000  # observations that are looked at
_LOG2 = log(2)
_WIDE = 1  # octave above the median distance, where features are those of the mean score
_FEW = 10  # observations that a location is to see: fewer do not tell how its features vary
_ROUNDING = 1e-12
_SEEN = 1e-60  # the largest feature, below which there is none


def best_locations(
    sample: Sample, kernel: Kernel | None, number: int, rng: np.random.Generator
) -> tuple[Kernel, np.ndarray]:
    """The kernel with its best width, and the best locations (J, d)."""
    points = to_numpy(sample.points)
    scores = to_numpy(sample.kernel.score(sample.points)).astype(np.float64, copy=False)
    if len(points) > _MOST:
        rows = np.sort(rng.choice(len(points), _MOST, replace=False))
        points, scores = points[rows], scores[rows]
    unit = usable(median_bandwidth(points), points, "x")
    own = RBF(1.0) if kernel is None else kernel.scaled(unit)  # of points divided by `unit`
    middle = points.mean(axis=0)
    ratio = Ratio((points - middle) / unit, scores * unit, *Scored(own).form, number)
    with one_blas_thread():
        theta = (
            _largest(ratio, range(-3, 4), _WIDE, rng)
            if kernel is None
            else _largest(ratio, range(-2, 3), 0, rng)
        )
    units = np.full(points.shape[1], unit, dtype=np.float64)
    places = middle + unit * theta[:-1].reshape(number, -1)
    return widened(kernel, float(np.exp(theta[-1])), units), places


class Ratio:
    """FSSD^2 divided by how far it is from its mean and from zero by chance, and the gradient of that.

    With T_i the features of observation i, m their mean, c_i = T_i'm and P = mean T_i T_i', its
    variance is 4 (mean c_i^2 - |m|^4) / n where the model is wrong (Jitkrittum et al. 2017,
    proposition 2) and 2 tr(P^2) / n^2 where it is right. The paper has the first alone, which
    forgets that a statistic must pass a threshold: with few observations that is most of it.
    `floor`, a constant in the variance, keeps a search from places that few observations see.
    Parameters are the locations, row by row, and the logarithm of a width s:
    k(x, v) = f(|x - v|^2 / s^2).
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

    def some(self, rows: Any, floor: float = 0.0) -> Ratio:
        """The same of some observations."""
        return Ratio(self.points[rows], self.scores[rows], *self.form, self.number, floor)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the ratio, to be made small, and its gradient."""
        made, (u, r2, rate, slope) = self._features(theta)
        size = float(np.max(np.abs(made)))  # the ratio has no unit
        if size < _SEEN:  # locations from which no observation is seen
            return 0.0, np.zeros_like(theta)
        n = len(made)
        floor = self.floor / size / size / size / size  # a fourth power may be too large
        ratio, of_features = _ratio(made.reshape(n, -1) / size, floor)
        flow = of_features.reshape(made.shape) / size
        curvature = rate**2 * self.form[2](rate * r2)
        by_score = np.einsum("ijk,ik->ij", flow, self.scores)
        by_step = np.einsum("ijk,ijk->ij", flow, u)
        along = -2 * slope * by_score - 4 * curvature * by_step
        by_v = np.einsum("ij,ijk->jk", along, u) - 2 * np.einsum("ij,ijk->jk", slope, flow)
        by_width = -2 * r2 * slope * by_score - 4 * (slope + r2 * curvature) * by_step
        return -ratio, -np.append(by_v.ravel(), by_width.sum())

    def deviations(self, theta: np.ndarray) -> float:
        """The statistic in standard deviations for these observations: sqrt(n) times the ratio.

        Here tr(P^2) is its unbiased estimate, from pairs of different observations. With those of
        an observation and itself it is too large for a small width, where few observations see
        each other: in a search that is a safeguard, in a comparison of widths unfair.
        """
        made, _ = self._features(theta)
        size = float(np.max(np.abs(made)))
        if size < _SEEN:
            return 0.0
        t = made.reshape(len(made), -1) / size
        (top, spread, products), n = _parts(t), len(t)
        own = float(np.sum(np.sum(t * t, axis=1) ** 2))
        apart = max(float(np.sum(products**2)) - own, _ROUNDING * own)  # of different observations
        return float(top / np.sqrt(spread / n + _NULL * apart / (n**3 * (n - 1))))

    def sight(self, theta: np.ndarray) -> float:
        """How many observations a location sees: the mean over them of (sum_i k)^2 / sum_i k^2."""
        rate, v = float(np.exp(-2 * theta[-1])), theta[:-1].reshape(self.number, -1)
        k = self.form[0](rate * squared_distances(self.points, v, self.form[0]))
        return float(np.mean(np.sum(k, axis=0) ** 2 / np.maximum(np.sum(k * k, axis=0), _SEEN)))

    def power(self, theta: np.ndarray) -> float:
        """mean_i |T_i|^2."""
        made, _ = self._features(theta)
        return float(np.mean(np.sum(made * made, axis=(1, 2))))

    def _features(self, theta: np.ndarray) -> tuple[np.ndarray, tuple[Any, ...]]:
        """s(x_i) k + grad k (n, J, d), and what its derivatives need."""
        rate = float(np.exp(-2 * theta[-1]))
        v = theta[:-1].reshape(self.number, -1)
        u = self.points[:, None, :] - v[None, :, :]  # (n, J, d)
        r2 = np.einsum("ijk,ijk->ij", u, u)
        value, slope = self.form[0](rate * r2), rate * self.form[1](rate * r2)
        made = value[:, :, None] * self.scores[:, None, :] + 2 * slope[:, :, None] * u
        return made, (u, r2, rate, slope)


def _ratio(t: np.ndarray, floor: float = 0.0) -> tuple[float, np.ndarray]:
    """The ratio of features T (n, D), and its gradient in them."""
    n, mean = len(t), t.mean(axis=0)
    top, spread, products = _parts(t)
    of_top = 2 * (n * mean - t) / (n * (n - 1))
    c, m2 = t @ mean, float(mean @ mean)
    turned = t @ products if t.shape[1] <= n else products @ t  # T T'T
    variance = spread + floor + _NULL * float(np.sum(products**2)) / n**3
    of_variance = 8 * (c[:, None] * mean + (c @ t) / n - 2 * m2 * mean) / n
    of_variance += 4 * _NULL * turned / n**3
    deviation = np.sqrt(variance)
    return float(top / deviation), (of_top - top * of_variance / (2 * variance)) / deviation


def _parts(t: np.ndarray) -> tuple[float, float, np.ndarray]:
    """FSSD^2, n times its variance where the model is wrong, and T'T or TT', whichever is smaller."""
    n, mean = len(t), t.mean(axis=0)
    m2 = float(mean @ mean)
    top = (n * m2 - float(np.mean(np.sum(t * t, axis=1)))) / (n - 1)
    spread = max(4 * (float(np.mean((t @ mean) ** 2)) - m2**2), 0.0)
    return top, spread, t.T @ t if t.shape[1] <= n else t @ t.T  # n is _MOST at most


def drawn(points: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from a Gaussian fitted to the points, m + sum_i z_i (x_i - m) / sqrt(n): (J, d)."""
    middle = points.mean(axis=0)
    some = points[rng.integers(len(points), size=min(len(points), 1000))]
    z = rng.standard_normal((number, len(some))) / np.sqrt(len(some))
    return middle + z @ (some - middle)


def _largest(ratio: Ratio, octaves: range, default: int, rng: np.random.Generator) -> np.ndarray:
    """The best parameters found: from good beginnings, after as many steps as halves agree on.

    Where both halves together find less than one standard deviation, no step is taken.
    """
    points, number = ratio.points, ratio.number
    low, high = np.tile(points.min(axis=0), number), np.tile(points.max(axis=0), number)
    bounds: list[Any] = [*zip(low, high, strict=True)]
    bounds.append((_LOG2 * (octaves[0] - 1), _LOG2 * (octaves[-1] + 1)))
    made = np.clip(_beginnings(ratio, octaves, rng), *np.transpose(bounds))
    place = octaves.index(default)
    kept = _wide_enough(ratio, made[::2], place)
    made, place = made[:, kept], sum(kept[:place])
    seen = np.array([[ratio.deviations(theta) for theta in row] for row in made], dtype=np.float64)
    by_width = seen[::2].mean(axis=0)  # of draws
    still = _still(made[::2], seen[::2], by_width, place)
    if len(points) < _HALVED:
        return still
    begin = _followed(made, seen + by_width)
    floors = [_FLOOR * ratio.power(theta) ** 2 / len(points) for theta in begin]
    held = _held(ratio, begin, floors, bounds, rng)
    agreed = (held + held.mean(axis=0)) / 2  # what helps elsewhere too is less likely chance
    k, i = np.unravel_index(int(np.argmax(agreed)), held.shape)
    if agreed[k, i] < sqrt(2) * _CHANCE:
        return still
    return _path(ratio.some(slice(None), floors[k]), begin[k], bounds, _STEPS[i])[-1]


def _held(
    ratio: Ratio,
    begin: list[np.ndarray],
    floors: list[float],
    bounds: list[Any],
    rng: np.random.Generator,
) -> np.ndarray:
    """What steps on one half of the observations find in the other, summed over both: (beginnings, steps)."""
    rows = rng.permutation(len(ratio.points))
    held = np.zeros((len(begin), len(_STEPS)), dtype=np.float64)
    for here, there in ((rows[::2], rows[1::2]), (rows[1::2], rows[::2])):
        judge = ratio.some(there)
        for k, (theta, floor) in enumerate(zip(begin, floors, strict=True)):
            path = _path(ratio.some(here, 2 * floor), theta, bounds, _STEPS[-1])
            held[k] += [judge.deviations(path[min(step, len(path) - 1)]) for step in _STEPS]
    return held


def _beginnings(ratio: Ratio, octaves: range, rng: np.random.Generator) -> np.ndarray:
    """Sets of locations, draws and observations by turns, at every width: (sets, widths, parameters).

    Observations reach places that draws do not; but one that is a location sees itself.
    """
    points, number = ratio.points, ratio.number
    made = []
    for i in range(_BEGINNINGS):
        rows = rng.choice(len(points), number, replace=len(points) < number)
        places = points[rows] if i % 2 else drawn(points, number, rng)
        made.append([np.append(places.ravel(), octave * _LOG2) for octave in octaves])
    return np.array(made, dtype=np.float64)


def _wide_enough(ratio: Ratio, made: np.ndarray, default: int) -> list[bool]:
    """Whether locations see enough observations, by width; the default one is taken as it is."""
    sights = [[ratio.sight(theta) for theta in row] for row in made]
    enough = [bool(mean >= _FEW) for mean in np.mean(sights, axis=0)]
    return [*enough[:default], True, *enough[default + 1 :]]


def _still(made: np.ndarray, seen: np.ndarray, by_width: np.ndarray, default: int) -> np.ndarray:
    """The best random locations of the width of most evidence, or of the default one.

    The default is kept where no other is better by more than the standard deviation of chance, as
    the simplest model is where others are within one standard error (Breiman et al. 1984, 3.4.3).
    """
    best = int(np.argmax(by_width))
    if by_width[best] < by_width[default] + _CHANCE:
        best = default
    return made[int(np.argmax(seen[:, best])), best]


def _followed(made: np.ndarray, score: np.ndarray) -> list[np.ndarray]:
    """Those of the largest scores, few of one width, which lead to one place."""
    seen, chosen = Counter[int](), []
    for index in np.argsort(-score, axis=None, kind="stable"):
        row, width = np.unravel_index(index, score.shape)
        if seen[int(width)] < _ALIKE and len(chosen) < _FOLLOWED:
            chosen.append(made[row, width])
        seen[int(width)] += 1
    return chosen


def _path(ratio: Ratio, theta: np.ndarray, bounds: list[Any], steps: int) -> list[np.ndarray]:
    """Where quasi-Newton steps lead, step by step."""
    path = [theta]
    if steps:
        climbed(ratio, theta, bounds, steps, path.append)
    return path
