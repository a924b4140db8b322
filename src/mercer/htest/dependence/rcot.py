"""Conditional independence tests in linear time, RCoT and RCIT, by random features."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.htest.dependence.conditional_base import ConditionalTest
from mercer.htest.dependence.conditional_statistic import FeatureEvidence
from mercer.htest.dependence.fourier_features import check_affordable, frequencies, phases
from mercer.htest.dependence.regression_targets import FeatureTargets
from mercer.htest.dependence.ridge_smoother import KernelDirections, smoother
from mercer.htest.feature_tests import different, features, is_real
from mercer.htest.nulls import Null
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable
from mercer.rkhs.sample_rows import taken

_FEATURE_COPIES = 4  # of the features of z in memory at the same time
_BANDWIDTH_FACTORS = (
    0.25,
    0.5,
    1.0,
)  # of the standard deviation of a column, for features along it
_MIN_DEVIATION = 1e-12  # features that vary less are constant up to rounding


class RandomFeatureTest(ConditionalTest):
    """Conditional tests by the squared norm of the covariance of residuals of random features.

    A feature of a stationary kernel is sqrt(2) cos(w'x + b) with w from its spectral density and b
    uniform (Rahimi and Recht 2007); of any other kernel, k(x, l) at a random observation l.
    """

    features: int
    given_features: int

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.whole("features", self.features)
        validate.whole("given_features", self.given_features)

    @abstractmethod
    def _features_of_x(self, x: Variable, z: Variable, rng: np.random.Generator) -> np.ndarray:
        """Features of x, perhaps with z: (n, features)."""

    def _directions_of_given(
        self, given: Variable, rng: np.random.Generator
    ) -> list[KernelDirections]:
        """Directions of sets of features of z, of which each regression takes the one that predicts better.

        The second set also has features of single columns of numbers: the bandwidth that fits the
        distances over all columns is too wide for the effect of one of many columns.
        """
        joint = _standardized(_random_features(given, self.given_features, rng))
        widths = [joint.shape[1]]
        if self.kernel_z is None:
            single = _single_column_features(given, self.given_features, rng)
            if single is not None:
                joint = np.hstack([joint, _standardized(single)])
                widths.append(joint.shape[1])
        return KernelDirections.nested(joint, widths)

    def _evidence(
        self, variables: tuple[Variable, ...], z: Any, rng: np.random.Generator
    ) -> FeatureEvidence:
        x, y, conditioning = variables
        number = 2 * self.given_features + self.features**2
        check_affordable(count(conditioning.points), number, "features", _FEATURE_COPIES)
        candidates = self._directions_of_given(conditioning, rng)
        features_x = self._features_of_x(x, conditioning, rng)
        features_y = _random_features(y, self.features, rng)
        residuals_x, residuals_y = (
            targets.residuals(smoother(candidates, targets, self.slack))
            for targets in (FeatureTargets(_standardized(f)) for f in (features_x, features_y))
        )
        return FeatureEvidence(residuals_x, residuals_y)


@dataclass(frozen=True)
class RCoT(RandomFeatureTest):
    """Randomised conditional correlation test (RCoT), in linear time: are x and y independent given z?

    The statistic is |C_xy.z|^2 (Strobl, Zhang and Visweswaran 2019), the squared norm of the covariance
    of residuals of 5 features of x and 5 of y after ridge regression on 100 features of z. As many
    features of single columns of z join where they improve prediction: without them the test rejects too
    often where one of five columns explains x and y. The limit is a weighted sum of 25 chi-squares.
    The test detects dependence given z that does not cancel over z, and that the few features
    show. Regressions and null are those of `KCI`: the ridge is chosen for little bias, and its degrees of
    freedom are accounted for.

    Parameters
    ----------
    kernel_x, kernel_y, kernel_z : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    features, given_features : int
        Number of features of x and of y, and of z, drawn with the rng of `test`, in `statistic` with
        seed 0. Without kernel_z there are twice as many of z, half of them of single numeric columns.
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

    def _features_of_x(self, x: Variable, z: Variable, rng: np.random.Generator) -> np.ndarray:
        return _random_features(x, self.features, rng)


@dataclass(frozen=True)
class RCIT(RandomFeatureTest):
    """Randomised conditional independence test (RCIT): as `RCoT`, with features of (x, z) instead of x.

    From Strobl, Zhang and Visweswaran (2019). A feature of (x, z) is one of x times one of z, as for
    the product of their kernels. The test also detects dependence whose sign changes with z, and needs
    more data for the dependence that `RCoT` detects.

    Parameters
    ----------
    kernel_x, kernel_y, kernel_z : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    features, given_features : int
        Number of features of (x, z) and of y, and of z, as in `RCoT`.
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

    def _features_of_x(self, x: Variable, z: Variable, rng: np.random.Generator) -> np.ndarray:
        of_x, of_z = (_random_features(v, self.features, rng) for v in (x, z))
        number = min(of_x.shape[1], of_z.shape[1])
        return of_x[:, :number] * of_z[:, :number]


def _random_features(variable: Variable, number: int, rng: np.random.Generator) -> np.ndarray:
    """Random features of one variable: (n, number), or fewer for few distinct observations."""
    points, omega = variable.points, frequencies(variable, number, rng)
    if omega is not None:
        return _fourier_features(points, omega, rng)
    rows = different(points)  # a kernel without a spectral density has landmarks
    landmarks = rng.choice(len(rows), min(number, len(rows)), replace=False, shuffle=False)
    return features(variable.kernel, points, taken(points, rows[np.sort(landmarks)]))


def _single_column_features(
    variable: Variable, number: int, rng: np.random.Generator
) -> np.ndarray | None:
    """Fourier features of single numeric columns, of three scales: (n, number); None without such columns."""
    if not is_real(variable.points):
        return None
    points = to_numpy(variable.points)
    deviation, columns = points.std(axis=0), variable.columns
    labels = np.zeros(len(deviation), bool) if columns is None else np.array(columns.categorical)
    numeric = np.flatnonzero((deviation > 0) & ~labels)
    if not len(numeric):
        return None
    index = np.arange(number)
    column = numeric[index % len(numeric)]
    omega = np.zeros((number, points.shape[1]), dtype=np.float64)
    scale = np.array(_BANDWIDTH_FACTORS)[index // len(numeric) % len(_BANDWIDTH_FACTORS)]
    omega[index, column] = rng.standard_normal(number) / (scale * deviation[column])
    return _fourier_features(points, omega, rng)


def _fourier_features(points: Any, omega: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """sqrt(2) cos(w'x + b): (n, number)."""
    n, shifts = count(points), rng.uniform(0, 2 * np.pi, len(omega))
    result = np.empty((n, len(omega)), dtype=np.float64)
    for rows, phase in phases(points, omega):
        phase += shifts
        np.cos(phase, out=result[rows])
    result *= sqrt(2)
    return result


def _standardized(values: np.ndarray) -> np.ndarray:
    """Features of mean 0 and variance 1, written into `values`; constant ones become 0."""
    values -= values.mean(axis=0)
    deviation = np.sqrt(np.einsum("ij,ij->j", values, values) / len(values))
    values /= np.where(deviation > _MIN_DEVIATION, deviation, np.inf)
    return values
