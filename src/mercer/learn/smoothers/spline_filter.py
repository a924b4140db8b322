"""Smoothing splines of one column in O(n): the information filter of an integrated Wiener process.

A spline of order m is the posterior mean of a polynomial with a flat prior plus an (m-1)-fold integrated
Wiener process (Wahba 1978). Its state s = (f, f', ..., f^(m-1)) is a Markov chain over the sorted points,
s_i+1 = A s_i + w with w ~ N(0, Q), so that what all points on one side tell about s_i, an information matrix J
and a vector e, follows from what they tell about its neighbour:

    J -> A'(I + JQ)^-1 J A,    e -> A'(I + JQ)^-1 e,    after J_00 += 1 / smoothing and e_0 += y / smoothing.

Unlike the banded systems of Reinsch (1967) this is accurate for points that are close together or equal. Runs
of about sqrt(n) points are processed side by side: the map of a whole run, then all runs in sequence, then the
points inside them (Saerkkae and Garcia-Fernandez 2021, section IV).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from math import comb, factorial, isqrt

import numpy as np

from mercer import linalg
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.learn.regression.ridge_path import RidgeScores
from mercer.learn.smoothers.spline_loop import compiled_informations, is_quickly_compiled

_VALUES_AT_A_TIME = (
    2**19
)  # points times smoothing parameters, unless the memory budget allows fewer only
_ARRAYS_AT_A_TIME = 12  # of m (m + q) numbers for every point and smoothing parameter


@dataclass(frozen=True, eq=False)
class Smoothed:
    """What all other points tell about the state at every point, for L smoothing parameters."""

    smoothings: np.ndarray  # (L,)
    errors: np.ndarray  # y_i - f(x_i), f fitted to the other points, (L, n, q)
    states: np.ndarray  # means, (L, n, m, q)
    covariances: np.ndarray  # of the states with their first entry f(x_i), (L, n, m)

    @property
    def diagonal(self) -> np.ndarray:
        """Q_ii: (L, n)."""
        return 1 / (self.smoothings[:, None] + self.covariances[:, :, 0])

    def sums(self) -> np.ndarray:
        """sum (c_i / Q_ii)^2, sum c_i^2 and tr Q: (3, L)."""
        q, squares = self.diagonal, np.sum(self.errors**2, axis=2)
        return np.stack([squares.sum(axis=1), np.sum(squares * q**2, axis=1), q.sum(axis=1)])

    def solution(self) -> tuple[np.ndarray, np.ndarray]:
        """For the first parameter: c (n, q), and the states of the fitted spline, (n, m, q)."""
        c = self.errors[0] * self.diagonal[0][:, None]
        return c, self.states[0] + self.covariances[0][:, :, None] * c[:, None, :]


@dataclass(frozen=True, eq=False)
class SplineProblem:
    """Sorted points u (n,), targets y (n, q) and the order m of the penalised derivative."""

    u: np.ndarray
    y: np.ndarray
    order: int

    def passes(self, smoothings: np.ndarray) -> Iterator[Smoothed]:
        """All smoothing parameters, a few at a time."""
        each, n = self._bytes_per_value(), len(self.u)
        width = max(min(_VALUES_AT_A_TIME, settings().memory // each) // n, 1)
        for start in range(0, len(smoothings), width):
            yield self.smoothed(smoothings[start : start + width])

    def scores(self, passes: Iterable[Smoothed]) -> RidgeScores:
        """Leave-one-out errors e_i = c_i / Q_ii of c = Qy, and generalised cross-validation."""
        n, sums = len(self.u), [(each.smoothings[None], each.sums()) for each in passes]
        smoothings, errors, residuals, trace = np.concatenate(
            [np.concatenate(both) for both in sums], axis=1
        )
        free = smoothings * trace  # tr(I - A) = smoothing tr Q
        gcv = residuals * smoothings**2 / self.y.size / (free / n) ** 2
        return RidgeScores(smoothings, errors / self.y.size, gcv, n - free)

    def smoothed(self, smoothings: np.ndarray) -> Smoothed:
        """What all other points tell about the state at every point."""
        gaps, m = np.diff(self.u), self.order
        needed, budget = self._bytes_per_value() * len(self.u), settings().memory
        if needed > budget:
            raise MemoryBudgetError(
                f"a smoothing spline of {len(self.u):,} points needs {needed / 2**20:,.0f} MiB, but the "
                f"budget is {budget / 2**20:,.0f} MiB: use fewer points, or raise mercer.config(memory=...)"
            )
        sides = np.stack([gaps[::-1], gaps]), np.stack([self.y[::-1], self.y])
        informations = compiled_informations if is_quickly_compiled() else _informations
        j, e = informations(*sides, smoothings, m)
        signs = (-1.0) ** np.arange(m)  # derivatives of the mirrored function
        mirror = (signs[:, None] * signs)[:, :, None, None]
        covariance = _inverse(j[:, :, :, 0, ::-1] + mirror * j[:, :, :, 1])
        total = e[:, :, :, 0, ::-1] + signs[:, None, None, None] * e[:, :, :, 1]
        states = _product(covariance, total)  # (m, q, L, n)
        return Smoothed(
            smoothings,
            self.y[None] - np.moveaxis(states[0], 0, -1),
            np.moveaxis(states, (0, 1), (2, 3)),
            np.moveaxis(covariance[:, 0], 0, -1),
        )

    def _bytes_per_value(self) -> int:
        """Memory for one point and one smoothing parameter."""
        return 8 * _ARRAYS_AT_A_TIME * self.order * (self.order + self.y.shape[1])

    def penalised_trace(self, basis: np.ndarray) -> float:
        """tr PKP, K the covariance of the process, for an orthonormal basis (n, r) of the space that P removes.

        K_ij = int g_i g_j over [0, 1] with g_i(t) = (u_i - t)_+^(m-1) / (m-1)!: the integrals of the squared
        sums over columns of the basis are exact by m Gauss points between neighbours.
        """
        m, u = self.order, self.u
        nodes, weights = np.polynomial.legendre.leggauss(m)
        start, width = np.concatenate([[0.0], u[:-1]]), np.diff(u, prepend=0.0)
        t = start + width * (nodes[:, None] + 1) / 2  # (m, n)
        total = np.sum(u ** (2 * m - 1)) / (2 * m - 1)
        for column in basis.T:
            suffixes = [np.cumsum((column * u**k)[::-1])[::-1] for k in range(m)]
            sums = sum(comb(m - 1, k) * (-t) ** (m - 1 - k) * suffixes[k] for k in range(m))
            total -= float(np.sum(weights[:, None] * width / 2 * np.square(sums)))
        return float(total) / factorial(m - 1) ** 2


@dataclass(frozen=True, eq=False)
class Knots:
    """A spline of degree 2m - 1 by its states at distinct knots: polynomials of degree m - 1 beyond them."""

    u: np.ndarray  # increasing, (k,)
    states: np.ndarray  # f, ..., f^(m-1), (k, m, q)

    @classmethod
    def of(cls, u: np.ndarray, states: np.ndarray) -> Knots:
        """From sorted points, of which several may be equal."""
        first = np.flatnonzero(np.diff(u, prepend=-np.inf) > 0)
        return cls(u[first], states[first])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values at points (n,): (n, q)."""
        inside = np.clip(np.searchsorted(self.u, x, side="right") - 1, 0, len(self.u) - 2)
        left, h, coefficients = self._between(inside)
        values = polynomial((x - left) / h, coefficients)
        for beyond, end in ((x < self.u[0], 0), (x > self.u[-1], -1)):
            values[beyond] = polynomial(x[beyond] - self.u[end], self._jet(end)[:, None])
        return values

    def pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Polynomials of all pieces: left of the first knot, between knots, and right of the last one.

        Their origins (k + 1,), widths (k + 1,), and coefficients (2m, k + 1, q) in (x - origin) / width.
        """
        left, h, between = self._between(np.arange(len(self.u) - 1))
        missing = np.zeros((self.states.shape[1], *self.states.shape[2:]), dtype=np.float64)
        first, last = (np.concatenate([self._jet(end), missing])[:, None] for end in (0, -1))
        origins = np.concatenate([self.u[:1], left, self.u[-1:]])
        widths = np.concatenate([[1.0], h, [1.0]])
        return origins, widths, np.concatenate([first, between, last], axis=1)

    def _between(self, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Left ends and lengths (n,) of intervals, and coefficients (2m, n, q) in (x - left) / length."""
        m = self.states.shape[1]
        left, h = self.u[inside], (self.u[inside + 1] - self.u[inside])
        powers = h[:, None, None] ** np.arange(m)[None, :, None]
        ends = [self.states[inside + side] * powers for side in (0, 1)]  # scaled derivatives
        coefficients = np.concatenate(ends, axis=1).transpose(0, 2, 1) @ _two_point_taylor(m).T
        return left, h, coefficients.transpose(2, 0, 1)

    def _jet(self, end: int) -> np.ndarray:
        """Coefficients of the polynomial beyond an end: (m, q)."""
        return np.array([self.states[end, k] / factorial(k) for k in range(self.states.shape[1])])


@cache
def _two_point_taylor(m: int) -> np.ndarray:
    """Coefficients of the polynomial of degree 2m - 1 with given derivatives at 0, then at 1: (2m, 2m)."""
    system = np.zeros((2 * m, 2 * m), dtype=np.float64)
    for j in range(m):
        system[j, j] = factorial(j)
        for k in range(j, 2 * m):
            system[m + j, k] = factorial(k) / factorial(k - j)
    return linalg.inv(system)


def polynomial(t: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Values at t (n,) of polynomials with coefficients (degree + 1, n or 1, q), by Horner's rule: (n or 1, q)."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * t[:, None] + coefficient
    return total


def _informations(
    gaps: np.ndarray, y: np.ndarray, smoothings: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """J (m, m, L, S, n) and e (m, q, L, S, n): what the points before each point tell about its state.

    For S sequences of points, by gaps (S, n - 1) and targets (S, n, q). The coordinate falls along a
    sequence; a rising one is mirrored.
    """
    sides, steps = gaps.shape
    length = max(isqrt(steps), 1)  # of a run
    runs = -(-steps // length)
    padding = ((0, 0), (0, runs * length - steps))
    h = np.pad(gaps, padding).reshape(sides, runs, length)
    data = np.pad(y[:, :-1], (*padding, (0, 0))).reshape(sides, runs, length, -1)
    observed = np.pad(np.ones_like(gaps), padding).reshape(sides, runs, length)
    moves = [
        _Move.of(h[..., t], np.moveaxis(data[..., t, :], -1, 0), observed[..., t], smoothings, m)
        for t in range(length)
    ]
    states = [_before_runs(moves, m, y.shape[2], (len(smoothings), sides, runs))]
    for move in moves:
        states.append(move.apply(*states[-1]))
    joined = []
    for kind in (0, 1):
        after = np.stack([state[kind] for state in states[1:]], axis=-1)
        flat = after.reshape(*after.shape[:4], runs * length)[..., :steps]
        joined.append(np.concatenate([np.zeros_like(flat[..., :1]), flat], axis=-1))
    return joined[0], joined[1]


def _before_runs(
    moves: list[_Move], m: int, outputs: int, shape: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Informations at the start of every run: the maps of runs, one after the other."""
    unit = np.broadcast_to(np.eye(m, dtype=np.float64)[:, :, None, None, None], (m, m, *shape))
    zero = np.zeros((m, m, *shape), dtype=np.float64)
    none = np.zeros((m, outputs, *shape), dtype=np.float64)
    run = _RunMap(unit, none, zero, none, zero)
    for move in moves:
        run = run.then(move)
    starts = [(zero[..., 0], none[..., 0])]
    for r in range(shape[2] - 1):
        starts.append(run.at(r).apply(*starts[-1]))
    j, e = zip(*starts, strict=True)
    return np.stack(j, axis=-1), np.stack(e, axis=-1)


@dataclass(frozen=True, eq=False)
class _Move:
    """From one point to the next: an observation at the first, then the transition A and its noise Q."""

    transition: np.ndarray  # (m, m, 1, S, runs)
    noise: np.ndarray
    precision: np.ndarray  # of the observation, (L, S, runs)
    data: np.ndarray  # y times precision, (q, L, S, runs)

    @classmethod
    def of(
        cls, h: np.ndarray, y: np.ndarray, observed: np.ndarray, smoothings: np.ndarray, m: int
    ) -> _Move:
        """For gaps h (S, runs), targets y (q, S, runs) and whether they were observed (S, runs)."""
        transition = np.zeros((m, m, 1, *h.shape), dtype=np.float64)
        noise = np.empty_like(transition)
        for i in range(m):
            for k in range(m):
                power = 2 * m - 1 - i - k
                scale = power * factorial(m - 1 - i) * factorial(m - 1 - k)
                noise[i, k, 0] = h**power / scale
                if k >= i:
                    transition[i, k, 0] = h ** (k - i) / factorial(k - i)
        precision = observed / smoothings[:, None, None]
        return cls(transition, noise, precision, y[:, None] * precision)

    def observe(self, j: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J and e with the observation."""
        j, e = j.copy(), e.copy()
        j[0, 0] += self.precision
        e[0] += self.data
        return j, e

    def apply(self, j: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J and e about the next state."""
        j, e = self.observe(j, e)
        pulled = _product(_flip(self.transition), _inverse(_unit_plus(_product(j, self.noise))))
        return _symmetric(_product(pulled, _product(j, self.transition))), _product(pulled, e)


@dataclass(frozen=True, eq=False)
class _RunMap:
    """(J, e) -> (A'(I + JC)^-1 J A + G, A'(I + JC)^-1 (e - J b) + g): a run of moves."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    g: np.ndarray  # vector
    G: np.ndarray  # matrix

    def then(self, move: _Move) -> _RunMap:
        """The map of the run and one more move."""
        j, e = move.observe(self.G, self.g)
        backward = _inverse(_unit_plus(_product(move.noise, j)))  # (I + QJ)^-1
        onward = _product(self.a, backward)
        pulled = _product(_flip(move.transition), _flip(backward))
        spread = _product(onward, move.noise)
        return _RunMap(
            _product(onward, move.transition),
            _product(spread, e) + self.b,
            _symmetric(_product(spread, _flip(self.a))) + self.c,
            _product(pulled, e),
            _symmetric(_product(pulled, _product(j, move.transition))),
        )

    def at(self, run: int) -> _RunMap:
        """The map of one run."""
        return _RunMap(*(x[..., run] for x in (self.a, self.b, self.c, self.g, self.G)))

    def apply(self, j: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The information after the run."""
        pulled = _product(_flip(self.a), _inverse(_unit_plus(_product(j, self.c))))
        moved = _product(pulled, e - _product(j, self.b)) + self.g
        return _symmetric(_product(pulled, _product(j, self.a))) + self.G, moved


# ---- small matrices, of which there are many: (m, k, ...) ----------------------------------


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = a[:, 0, None] * b[None, 0]
    for j in range(1, a.shape[1]):
        total += a[:, j, None] * b[None, j]
    return total


def _flip(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, 0, 1)


def _symmetric(a: np.ndarray) -> np.ndarray:
    return (a + _flip(a)) / 2


def _unit_plus(a: np.ndarray) -> np.ndarray:
    for i in range(len(a)):
        a[i, i] += 1.0
    return a


def _inverse(a: np.ndarray) -> np.ndarray:
    if len(a) == 1:
        return 1 / a
    if len(a) == 2:
        adjugate = np.array([[a[1, 1], -a[0, 1]], [-a[1, 0], a[0, 0]]])
        return adjugate / (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])
    return np.moveaxis(linalg.inv(np.moveaxis(a, (0, 1), (-2, -1))), (-2, -1), (0, 1))
