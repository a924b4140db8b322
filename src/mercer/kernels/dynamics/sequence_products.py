"""Probability product kernels of models of sequences: integrals of products of their densities."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import log, pi
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.kernels.base import Points
from mercer.kernels.dynamics.sequence_models import HiddenMarkov, LinearSystem, models, same_layout
from mercer.kernels.log_valued import LogValued
from mercer.kernels.objects import ObjectKernel


class _OfSequences(LogValued, ObjectKernel):
    """A kernel of the distributions of sequences of one length, computed pair by pair as logarithms."""

    expensive = True

    @abstractmethod
    def log_value(self, a: Any, b: Any, /) -> float:
        """log k of two models."""

    def view(self, items: list[Any], /) -> list[Any]:
        return items

    def log_pairwise(self, x: Any, y: Any, /) -> np.ndarray:
        left, right = self.viewed(x), self.viewed(y)
        same_layout(x.items, y.items)
        out = np.empty((len(left), len(right)), dtype=np.float64)
        for i, a in enumerate(left):
            for j in range(i + 1 if y is x else len(right)):
                out[i, j] = self.log_value(a, right[j])
                if y is x:
                    out[j, i] = out[i, j]
        return out

    def log_paired(self, x: Points, y: Points, /) -> np.ndarray:
        pairs = zip(self.viewed(x), self.viewed(y), strict=True)
        return np.array([self.log_value(a, b) for a, b in pairs], dtype=np.float64)

    def log_diag(self, x: Points, /) -> np.ndarray:
        return self.log_paired(x, x)


@dataclass(frozen=True)
class HiddenMarkovProduct(_OfSequences):
    """Expected likelihood of hidden Markov models: the sum over all sequences o of `length` emissions of p(o) q(o).

    For Gaussian emissions the sum is an integral. It is computed forwards over pairs of hidden states, at the
    cost of length s^3 for models of s states. Values fall exponentially with the length: ``.normalized()`` works
    with logarithms.

    References
    ----------
    T. Jebara, R. Kondor, A. Howard (2004). Probability product kernels. JMLR 5, 819-844, section 5.2.

    Examples
    --------
    >>> fair = HiddenMarkov([1.0], [[1.0]], [[0.5, 0.5]])
    >>> biased = HiddenMarkov([1.0], [[1.0]], [[0.9, 0.1]])
    >>> HiddenMarkovProduct(2)([fair, biased])
    array([[0.25  , 0.25  ],
           [0.25  , 0.6724]])
    """

    length: int
    domain = "hidden Markov models"

    def __post_init__(self) -> None:
        validate.whole("length", self.length)

    def items(self, x: Any, name: str, /) -> list[HiddenMarkov]:
        return models(x, name, HiddenMarkov, "hidden Markov models (HiddenMarkov)")

    def log_value(self, a: HiddenMarkov, b: HiddenMarkov, /) -> float:
        logs = _log_emission_products(a, b)
        shift = float(logs.max())
        if shift == -np.inf:
            return shift
        emitted = np.exp(logs - shift)  # (s, s')
        pairs, total = np.outer(a.start, b.start), 0.0
        for step in range(self.length):
            if step:
                pairs = a.transitions.T @ pairs @ b.transitions
            pairs = pairs * emitted
            size = float(pairs.sum())
            if size == 0:
                return -np.inf
            pairs, total = pairs / size, total + log(size) + shift
        return total


def _log_emission_products(a: HiddenMarkov, b: HiddenMarkov) -> np.ndarray:
    """log of the sum over emissions of p(o | i) q(o | j), for all pairs of states: (s, s')."""
    if a.covariances is None or b.covariances is None:
        with np.errstate(divide="ignore"):
            return np.log(a.emissions @ b.emissions.T)
    sums = a.covariances[:, None] + b.covariances[None, :]
    shifts = a.emissions[:, None] - b.emissions[None, :]
    distances = np.sum(shifts * linalg.solve(sums, shifts[..., None])[..., 0], axis=2)
    return -(distances + linalg.slogdet(sums)[1] + a.width * log(2 * pi)) / 2


@dataclass(frozen=True)
class LinearSystemProduct(_OfSequences):
    """Probability product of linear dynamical systems: the integral of p(y)^r q(y)^r over `length` observations y.

    The observations y_0, ..., y_T-1 of a system are jointly Gaussian, so that the integral has a closed form for
    any r = `rho`; rho = 1/2 is the Bhattacharyya coefficient, which is 1 for systems of equal distributions.
    The joint covariance, of order length times dimension, must be regular: systems need noise, or observation noise.

    References
    ----------
    T. Jebara, R. Kondor, A. Howard (2004). Probability product kernels. JMLR 5, 819-844, section 5.3.

    Examples
    --------
    >>> slow, fast = (LinearSystem([1.0], [[a]], [[1.0]], observation_noise=[[1.0]]) for a in (0.9, 0.1))
    >>> LinearSystemProduct(2)([slow, fast]).round(3)
    array([[1.   , 0.923],
           [0.923, 1.   ]])
    """

    length: int
    rho: float = field(default=0.5, kw_only=True)
    domain = "linear dynamical systems"

    def __post_init__(self) -> None:
        validate.whole("length", self.length)
        validate.positive("rho", self.rho)

    def items(self, x: Any, name: str, /) -> list[LinearSystem]:
        systems = models(x, name, LinearSystem, "linear dynamical systems (LinearSystem)")
        for i, system in enumerate(systems):
            if not np.isfinite(_log_determinant(joint_gaussian(system, self.length)[1])):
                raise ValueError(
                    f"the system at position {i} of {name} has observations with a singular covariance, and so no "
                    "density: give it observation_noise"
                )
        return systems

    def view(self, items: list[LinearSystem], /) -> list[Any]:
        return [joint_gaussian(system, self.length) for system in items]

    def log_value(self, a: Any, b: Any, /) -> float:
        """Closed form of Jebara et al., section 3.1, with joint covariances C and D and S = C + D."""
        r, (mean, covariance), (other_mean, other) = self.rho, a, b
        d, total, shift = len(mean), covariance + other, mean - other_mean
        distance = float(shift @ linalg.solve(total, shift))
        powers = (1 - r) * (_log_determinant(covariance) + _log_determinant(other))
        constant = (1 - 2 * r) * d * log(2 * pi) - d * log(r)
        return (constant - _log_determinant(total) + powers - r * distance) / 2


def joint_gaussian(system: LinearSystem, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean (length m,) and covariance of all observations of a linear dynamical system, time after time."""
    a, c, m = system.transition, system.observation, system.width
    mean = np.empty((length, m), dtype=np.float64)
    covariance = np.empty((length, m, length, m), dtype=np.float64)
    state, spread = system.start, system.start_covariance
    for t in range(length):
        mean[t] = c @ state
        carried = spread  # Cov(x_t, x_t+k) = P (A^k)'
        for later in range(t, length):
            covariance[t, :, later] = c @ carried @ c.T
            covariance[later, :, t] = covariance[t, :, later].T
            carried = carried @ a.T
        covariance[t, :, t] += system.observation_noise
        state, spread = a @ state, a @ spread @ a.T + system.noise
    return mean.ravel(), covariance.reshape(length * m, length * m)


def _log_determinant(matrix: np.ndarray) -> float:
    sign, value = linalg.slogdet(matrix)
    return float(value) if sign > 0 else -np.inf
