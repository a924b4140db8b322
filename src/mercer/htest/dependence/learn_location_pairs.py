"""The search for pairs of locations, and two widths, that make a test of independence powerful.

Many beginnings are chosen one location after the other; those that serve other observations best
are followed by quasi-Newton steps, and the best of these to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import log
from typing import Any, NamedTuple

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, astype, double, namespace, on_gpu, to_numpy
from mercer.htest.dependence.observed_variables import need_variation, variables
from mercer.htest.lbfgs import RadialMap, climbed, own_unit, smooth_form, widened
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.kernels.smooth import Profile
from mercer.kernels.take import taken
from mercer.linalg import one_blas_thread

_RIDGE = 1e-6  # of the square of the largest product of features, added to variances
_INDEPENDENT = 0.25  # share of A o B in the covariance M of products: see `power`
_CANDIDATES = 120  # pairs of locations of which the search chooses where to begin
_FOLLOWED = 6  # beginnings that are followed
_FEW = 2000  # observations that are enough to compare beginnings
_STEPS = 25  # from each of them
_LAST = 100  # steps on all observations
_LOG2 = log(2)


@dataclass(frozen=True)
class Side:
    """One variable to learn from: centred, in units of its own scale, with its radial kernel."""

    points: Array  # (n, d), of the host or of a GPU
    center: np.ndarray  # (d,)
    unit: np.ndarray  # (d,), what a step of one is in the user's numbers
    kernel: Kernel | None
    profile: Profile
    slope: Profile
    scale: float  # of squared distances, as the kernel sees them

    @property
    def octaves(self) -> range:
        """Widths to begin with, as powers of two."""
        return range(-4, 3) if self.kernel is None else range(-2, 3)

    @property
    def top(self) -> float:
        """The largest value of the kernel."""
        return float(self.profile(np.zeros(1, dtype=np.float64))[0])

    def features(self, rows: np.ndarray) -> RadialMap:
        """Kernel values of some observations, as a function of locations and width.

        Of all of them where they are, of some on the host.
        """
        scale, profile, slope = self.scale, self.profile, self.slope
        whole = len(rows) == len(self.points)
        points = self.points if whole else to_numpy(taken(self.points, rows))
        return RadialMap(
            points, lambda r2: profile(scale * r2), lambda r2: scale * slope(scale * r2)
        )

    def back(self, points: np.ndarray) -> np.ndarray:
        """Points in the user's numbers."""
        return points * self.unit + self.center

    def bounds(self, number: int) -> list[tuple[float, float]]:
        """Locations stay within the data, widths near those to begin with."""
        xp = namespace(self.points)
        low, high = (to_numpy(f(self.points, axis=0)) for f in (xp.min, xp.max))
        widths = (_LOG2 * (self.octaves[0] - 1), _LOG2 * (self.octaves[-1] + 1))
        return [*zip(np.tile(low, number), np.tile(high, number), strict=True), widths]


def best_pairs(
    kernels: tuple[Kernel | None, Kernel | None], x: Any, y: Any, number: int, rng: Any
) -> tuple[Kernel, Kernel, np.ndarray, np.ndarray]:
    """Kernels with their best widths, and the best pairs of locations, (J, dx) and (J, dy)."""
    validate.whole("locations", number)
    rng = validate.generator(rng)
    sides = _sides(kernels, x, y)
    ridge = _RIDGE * (sides[0].top * sides[1].top) ** 2
    n = len(sides[0].points)
    rows = rng.permutation(n)[: 2 * _FEW]
    seen, unseen = np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])
    bounds = [*sides[0].bounds(number), *sides[1].bounds(number)]
    with one_blas_thread():  # products of few columns: a second thread costs more than it brings
        check = Objective(sides, unseen, number, ridge)
        starts = _beginnings(sides, seen, number, ridge, rng)
        starts = sorted(starts, key=lambda theta: check(theta)[0])
        rough = Objective(sides, seen, number, ridge)
        ends = [climbed(rough, theta, bounds, _STEPS) for theta in starts[:_FOLLOWED]]
        theta = min(ends, key=lambda theta: check(theta)[0])
        theta = climbed(Objective(sides, np.arange(n), number, ridge), theta, bounds, _LAST)
    parts = np.split(theta, [number * sides[0].points.shape[1] + 1])
    found = [
        side.back(part[:-1].reshape(number, -1)) for side, part in zip(sides, parts, strict=True)
    ]
    widths = [float(np.exp(part[-1])) for part in parts]
    learnt = [widened(s.kernel, w, s.unit) for s, w in zip(sides, widths, strict=True)]
    return learnt[0], learnt[1], found[0], found[1]


# ---- the proxy of power -------------------------------------------------------------------------


def power(k: Any, l: Any, ridge: float) -> tuple[float, Array, Array]:  # noqa: E741
    """n u' (M + ridge I)^-1 u of features (n, J), and its derivatives by both.

    u are the covariances of k_j and l_j. In the paper, where a lower bound of the power grows with
    this number (Jitkrittum et al. 2017), M is S, the covariance of the products
    g = (k - mean)(l - mean). Between locations where by chance no observation is, S is small and
    that number large: the search would end in the holes of a sample. Here M is 3/4 S and 1/4 A o B,
    which is what S is if the variables are independent, A and B being the covariances of k and l.

    With a = (M + ridge I)^-1 u it changes by 2n a with u and by -n aa' with M; means are
    subtracted on the way back.
    """
    n, part = len(k), _INDEPENDENT
    k, l = k - k.mean(axis=0), l - l.mean(axis=0)  # noqa: E741
    found = Moments.of(k, l)
    mixed = to_numpy(found.mixed) + ridge * np.eye(len(found.u), dtype=np.float64)
    a = array_like(linalg.solve(mixed, to_numpy(found.u)), k)
    by_g = 2 * (1 - (1 - part) * (found.g @ a))[:, None] * a
    by_mean = -2 * part * a[:, None] * a
    by_k = by_g * l + k @ (by_mean * found.of_l)
    by_l = by_g * k + l @ (by_mean * found.of_k)
    return float(n * (found.u @ a)), by_k - by_k.mean(axis=0), by_l - by_l.mean(axis=0)


class Moments(NamedTuple):
    """What is known about centred features k and l and their products."""

    u: Any  # means of the products, (J,)
    g: Array  # products less these, (n, J)
    of_k: Array  # A, the covariance of k, (J, J)
    of_l: Array  # B
    mixed: Any  # M

    @classmethod
    def of(cls, k: Array, l: Array) -> Moments:  # noqa: E741
        """Of features that have mean 0."""
        n, g = len(k), k * l
        u = g.mean(axis=0)
        g -= u
        of_k, of_l = k.T @ k / n, l.T @ l / n
        mixed = (1 - _INDEPENDENT) * (g.T @ g) / n + _INDEPENDENT * of_k * of_l
        return cls(u, g, of_k, of_l, mixed)


class Objective:
    """Minus the proxy of some observations, and its gradient by (V, log width, W, log width)."""

    def __init__(
        self, sides: tuple[Side, Side], rows: np.ndarray, number: int, ridge: float
    ) -> None:
        self.maps = tuple(side.features(rows) for side in sides)
        self.split, self.ridge = number * sides[0].points.shape[1] + 1, ridge

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and the gradient."""
        first, second = self.maps
        k, known_k = first.push(theta[: self.split])
        l, known_l = second.push(theta[self.split :])  # noqa: E741
        value, by_k, by_l = power(k, l, self.ridge)
        gradient = np.concatenate([first.pull(by_k, known_k), second.pull(by_l, known_l)])
        return -value, -gradient


# ---- where it begins ----------------------------------------------------------------------------


def _sides(kernels: tuple[Kernel | None, Kernel | None], x: Any, y: Any) -> tuple[Side, Side]:
    found = variables((VECTOR_KERNEL, VECTOR_KERNEL), (x, y))
    first, second = (
        _side(kernel, _numbers(v.unmoved), as_table(sample, v.name), v.name)
        for kernel, v, sample in zip(kernels, found, (x, y), strict=True)
    )
    return first, second


def _numbers(points: Array) -> Array:
    """float64, on the host unless they are on a GPU."""
    points = points if on_gpu(points) else to_numpy(points)
    return astype(points, double(points))


def _side(kernel: Kernel | None, points: Array, frame: Any, name: str) -> Side:
    profile, slope = smooth_form(kernel)
    need_variation(points, name)
    center = namespace(points).mean(points, axis=0)
    points = points - center
    # columns of data frames have units of their own
    unit = own_unit(points, kernel is None and frame is not None, name)
    scale = 1.0 if kernel is None else float(unit[0]) ** 2  # the kernel sees the user's units
    scaled = points / array_like(unit, points)
    return Side(scaled, to_numpy(center), unit, kernel, profile, slope, scale)


def _beginnings(
    sides: tuple[Side, Side], rows: np.ndarray, number: int, ridge: float, rng: np.random.Generator
) -> list[np.ndarray]:
    """Parameters to begin with, one set for each pair of widths."""
    some = rng.integers(len(rows), size=(3, _CANDIDATES // 2))
    places = (rows[some[[0, 1]].ravel()], rows[some[[0, 2]].ravel()])  # together, then apart
    values: list[list[tuple[np.ndarray, float, np.ndarray]]] = []
    for side, position in zip(sides, places, strict=True):
        features, candidates = side.features(rows), to_numpy(taken(side.points, position))
        logs = [octave * _LOG2 for octave in side.octaves]
        pushed = (features.push(np.append(candidates.ravel(), width))[0] for width in logs)
        values.append(
            [
                (candidates, w, z - namespace(z).mean(z, axis=0))
                for w, z in zip(logs, pushed, strict=True)
            ]
        )
    found = []
    for (v, wide_x, k), (w, wide_y, l) in product(*values):  # noqa: E741
        known = Moments.of(k, l)
        _, at = _forward(known.u, known.mixed, number, ridge)
        found.append(np.concatenate([v[at].ravel(), [wide_x], w[at].ravel(), [wide_y]]))
    return found


def _forward(u: np.ndarray, s: np.ndarray, number: int, ridge: float) -> tuple[float, np.ndarray]:
    """`number` of the features, one after the other so that u' (s + ridge I)^-1 u grows most.

    Returns what it has grown to, and which. A step of Cholesky's method for each: what is left of u
    and of the variances, given the features that are taken, tells what the next one adds.
    """
    left, rest = np.diagonal(s) + ridge, u.copy()
    total, taken = 0.0, np.empty(0, dtype=np.intp)
    rows = np.empty((0, len(u)), dtype=np.float64)
    free = np.ones(len(u), dtype=bool)
    for _ in range(min(number, len(u))):
        gains = np.where(free, rest**2 / np.maximum(left, ridge), -1.0)
        p = int(np.argmax(gains))
        total += float(gains[p])
        row = (s[p] + ridge * (np.arange(len(u)) == p) - rows[:, p] @ rows) / np.sqrt(left[p])
        rest = rest - row * rest[p] / np.sqrt(left[p])
        left = left - row**2
        rows, taken = np.vstack([rows, row]), np.append(taken, p)
        free[p] = False
    return total, np.resize(taken, number)
