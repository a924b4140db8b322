"""Conditional independence in linear time: a few random features of x and y, more of z."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.htest.dependence.conditional_base import GivenTest
from mercer.htest.dependence.conditional_statistic import FeatureEvidence, Residuals
from mercer.htest.dependence.fourier_features import afford, frequencies, phases
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.ridge_smoother import Directions, smoother
from mercer.htest.feature_tests import different, features, is_real
from mercer.htest.nulls import Null
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel
from mercer.rkhs.sample_rows import taken

_COPIES = 4  # of the features of z, at the same time
_SCALES = (0.25, 0.5, 1.0)  # of the standard deviation of a column, in waves along it


class RandomFeatureTest(GivenTest):
    """Residuals of a few random features, compared by the squared norm of their covariance.

    A feature of a stationary kernel is sqrt(2) cos(w'x + b), w from its spectrum and b
    uniform (Rahimi and Recht 2007); of another one k(x, l) at a random observation l.
    """

    features: int
    given_features: int

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.whole("features", self.features)
        validate.whole("given_features", self.given_features)

    @abstractmethod
    def _of_x(self, x: Variable, z: Variable, rng: np.random.Generator) -> np.ndarray:
        """Features of x, perhaps with z: (n, features)."""

    def _of_given(self, given: Variable, rng: np.random.Generator) -> list[np.ndarray]:
        """Sets of features of z, of which each regression takes the one that predicts better.

        The second has waves along single columns of numbers beside: those of the median distance of
        all columns are too slow for what one of many columns does.
        """
        joint = _drawn(given, self.given_features, rng)
        single = None if self.kernel_z is not None else _along(given, self.given_features, rng)
        return [joint] if single is None else [joint, np.hstack([joint, single])]

    def _evidence(
        self, found: tuple[Variable, ...], z: Any, rng: np.random.Generator
    ) -> FeatureEvidence:
        x, y, given = found
        number = 2 * self.given_features + self.features**2
        afford(count(given.points), number, "features", _COPIES)
        among = [Directions.spanned(_standard(drawn)) for drawn in self._of_given(given, rng)]
        drawn = (self._of_x(x, given, rng), _drawn(y, self.features, rng))
        left = [Residuals.of(f, smoother(among, f, self.slack)) for f in map(_standard, drawn)]
        return FeatureEvidence(left[0], left[1])


@dataclass(frozen=True)
class RCoT(RandomFeatureTest):
    """Are x and y independent given z? By a few random features of each, in linear time.

    The randomised conditional correlation test (Strobl, Zhang and Visweswaran 2019): |C_xy.z|^2, the
    squared norm of the covariance of residuals of 5 features of x and 5 of y after ridge regression on
    100 features of z, or on 200: as many waves along single columns of z join if they help to predict
    (without them the test rejects too often what one of five columns explains). In the limit it is a
    weighted sum of 25 chi-squares. It sees dependence given z that
    does not cancel over z, in what the few features show. Regressions and null are those of
    `KCI`: the ridge is chosen for little bias, and its degrees of freedom count.

    Parameters
    ----------
    kernel_x, kernel_y, kernel_z : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    features, given_features : int
        Of x and of y, and of z, drawn with the rng of `test`, in `statistic` with seed 0. If kernel_z is
        left out there are twice as many of z, half of them along single columns of numbers.
    slack : float
        As in `KCI`.
    null : WeightedChi2, Gamma, Spectrum or WildBootstrap

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(20_000, 3))
    >>> x = np.tanh(z[:, 0] + rng.normal(size=20_000))
    >>> y = (z[:, 0] + z[:, 1] + rng.normal(size=20_000)) ** 3
    >>> RCoT().test(x, y, z, rng=0).rejects()
    False
    >>> RCoT().test(x, y + x, z, rng=0).rejects()
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    kernel_z: Kernel | None = None
    features: int = field(default=5, kw_only=True)
    given_features: int = field(default=100, kw_only=True)
    slack: float = field(default=0.2, kw_only=True)
    null: Null = field(default=WeightedChi2(), kw_only=True)

    def _of_x(self, x: Variable, z: Variable, rng: np.random.Generator) -> np.ndarray:
        return _drawn(x, self.features, rng)


@dataclass(frozen=True)
class RCIT(RandomFeatureTest):
    """Are x and y independent given z? As `RCoT`, with features of (x, z) in the place of those of x.

    The randomised conditional independence test (Strobl, Zhang and Visweswaran 2019). A feature of (x, z)
    is one of x times one of z, as of the product of their kernels. It also sees dependence that
    has different signs at different z, and needs more data for what `RCoT` sees.

    Parameters
    ----------
    kernel_x, kernel_y, kernel_z : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    features, given_features : int
        Of (x, z) and of y, and of z, as in `RCoT`.
    slack : float
        As in `KCI`.
    null : WeightedChi2, Gamma, Spectrum or WildBootstrap

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, z = rng.normal(size=(2, 20_000))
    >>> y = x * z + rng.normal(size=20_000)
    >>> RCIT().test(x, y, z, rng=0).rejects()
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    kernel_z: Kernel | None = None
    features: int = field(default=5, kw_only=True)
    given_features: int = field(default=100, kw_only=True)
    slack: float = field(default=0.2, kw_only=True)
    null: Null = field(default=WeightedChi2(), kw_only=True)

    def _of_x(self, x: Variable, z: Variable, rng: np.random.Generator) -> np.ndarray:
        own, other = (_drawn(v, self.features, rng) for v in (x, z))
        few = min(own.shape[1], other.shape[1])
        return own[:, :few] * other[:, :few]


def _drawn(variable: Variable, number: int, rng: np.random.Generator) -> np.ndarray:
    """Random features of one variable: (n, number), or fewer for few different observations."""
    points, omega = variable.points, frequencies(variable, number, rng)
    if omega is not None:
        return _waves(points, omega, rng)
    rows = different(points)  # a kernel without a spectrum has landmarks
    chosen = rng.choice(len(rows), min(number, len(rows)), replace=False, shuffle=False)
    return features(variable.kernel, points, taken(points, rows[np.sort(chosen)]))


def _along(variable: Variable, number: int, rng: np.random.Generator) -> np.ndarray | None:
    """Waves along single columns of numbers, of three scales: (n, number); None where there are none."""
    if not is_real(variable.points):
        return None
    points = to_numpy(variable.points)
    deviation, columns = points.std(axis=0), variable.columns
    labels = np.zeros(len(deviation), bool) if columns is None else np.array(columns.categorical)
    which = np.flatnonzero((deviation > 0) & ~labels)
    if not len(which):
        return None
    place = np.arange(number)
    chosen = which[place % len(which)]
    omega = np.zeros((number, points.shape[1]), dtype=np.float64)
    scale = np.array(_SCALES)[place // len(which) % len(_SCALES)]
    omega[place, chosen] = rng.standard_normal(number) / (scale * deviation[chosen])
    return _waves(points, omega, rng)


def _waves(points: Any, omega: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """sqrt(2) cos(w'x + b): (n, number)."""
    n, shifts = count(points), rng.uniform(0, 2 * np.pi, len(omega))
    waves = np.empty((n, len(omega)), dtype=np.float64)
    for rows, phase in phases(points, omega):
        np.cos(phase + shifts, out=waves[rows])
    waves *= sqrt(2)
    return waves


def _standard(drawn: np.ndarray) -> np.ndarray:
    """Features of mean 0 and variance 1; those that do not vary are 0."""
    centred = drawn - drawn.mean(axis=0)
    deviation = centred.std(axis=0)
    return centred / np.where(deviation > 1e-12, deviation, np.inf)
