"""HSIC tests in linear time: random Fourier features (FourierHSIC) and landmarks (NystromHSIC)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import astype, count, double, is_array, is_single, take_rows, to_numpy
from mercer.errors import NoRule
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.fourier_features import check_affordable, frequencies, phases
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.sums.centered_gram import low_rank_gram
from mercer.htest.dependence.two_variable_test import PairTest
from mercer.htest.feature_tests import SEED, different, features
from mercer.htest.nulls import Null, Permutation
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable
from mercer.rkhs.sample_rows import taken

_EIGENVALUE_TOLERANCE = 1e-10  # share of the largest eigenvalue below which a direction is rounding
_NEGATIVE_TOLERANCE = 1e-6  # share of it that a negative eigenvalue may have by rounding
_FEATURE_COPIES = 6  # of the features in memory at the same time


class FeatureHSIC(PairTest):
    """HSIC test with kernels approximated by features z: k(x, x') ~ z(x)'z(x').

    The statistic is |Zx' H Zy|^2 / n^2 in the Frobenius norm, which is HSIC with the kernels z'z. The
    features of each variable are drawn independently of the other one, so that permutation tests are
    exact.
    """

    null: Null

    @abstractmethod
    def _features(self, variable: Variable, rng: np.random.Generator) -> np.ndarray:
        """Z: (n, features)."""

    def statistic(self, x: Any, y: Any) -> float:
        """HSIC of two variables; features are drawn with seed 0."""
        return self._evidence(self._variables(x, y), validate.generator(SEED)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        rng, variables = validate.generator(rng), self._variables(x, y)
        evidence = self._evidence(variables, rng)
        judgement = self.null.judge(evidence, rng)
        return independence_result(self, variables, evidence.observed, judgement)

    def _evidence(self, variables: tuple[Variable, ...], rng: np.random.Generator) -> HSICEvidence:
        first, second = (low_rank_gram(v, self._features(v, rng)) for v in variables)
        return HSICEvidence(first, second)

    def _check(self, name: str, number: object, least: int = 1) -> None:
        super().__post_init__()
        validate.whole(name, number, least)
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")


@dataclass(frozen=True)
class FourierHSIC(FeatureHSIC):
    """HSIC test with random Fourier features, in linear time.

    A stationary kernel is a mean of cosines, k(x, x') = k(0) E cos(w'(x - x')): the features are sines and
    cosines of a few frequencies w drawn from its spectral density (Zhang et al. 2018). Few
    frequencies may miss dependence at others; the level holds with any number.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        Stationary kernels. None: RBF at the median distance of that variable.
    frequencies : int
        Number of frequencies for each variable, drawn with the rng of `test`, in `statistic` with
        seed 0. There are twice as many features.
    null : Permutation, Gamma, Spectrum or WildBootstrap
        As in `HSIC`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(5000, 3))
    >>> y = x[:, 0] * x[:, 1] + rng.normal(size=5000)
    >>> FourierHSIC().test(x, y, rng=0).rejects(0.01)
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    frequencies: int = field(default=50, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        self._check("frequencies", self.frequencies)

    def _features(self, variable: Variable, rng: np.random.Generator) -> np.ndarray:
        points, number = variable.points, self.frequencies
        omega = frequencies(variable, number, rng)
        if omega is None:
            raise NoRule(
                f"Fourier features of {variable.name} need numbers and a stationary kernel with a known "
                f"spectral density, such as RBF, got {variable.kernel!r}: use NystromHSIC, which "
                "takes any kernel"
            )
        top = float(to_numpy(variable.kernel.diag(take_rows(points, slice(0, 1))))[0])
        n = count(points)
        check_affordable(n, 2 * number, "frequencies", _FEATURE_COPIES)
        z = np.empty((n, 2 * number), dtype=np.float64)
        for rows, phase in phases(points, omega):
            np.cos(phase, out=z[rows, :number])
            np.sin(phase, out=z[rows, number:])
        z *= np.sqrt(top / number)
        return z


@dataclass(frozen=True)
class NystromHSIC(FeatureHSIC):
    """HSIC test with the Nystrom approximation by a few landmarks, in linear time.

    With landmarks l drawn from each variable, the features are K(x, l) K(l, l)^-1/2: the kernel projected
    onto the span of the k(l, .) (Zhang et al. 2018), here centred, which does not change HSIC. The test
    accepts any kernel, on any objects; with `Energy` kernels it is distance covariance.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    landmarks : int
        Number of landmarks for each variable, at least 2, drawn from its distinct values with the rng
        of `test`, in `statistic` with seed 0.
    null : Permutation, Gamma, Spectrum or WildBootstrap
        As in `HSIC`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(5000, 3))
    >>> y = x[:, 0] * x[:, 1] + rng.normal(size=5000)
    >>> NystromHSIC().test(x, y, rng=0).rejects(0.01)
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    landmarks: int = field(default=50, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        self._check("landmarks", self.landmarks, least=2)

    def _features(self, variable: Variable, rng: np.random.Generator) -> np.ndarray:
        points, kernel = variable.points, variable.kernel
        if is_array(points) and is_single(points):
            # float64, because small eigenvalues of landmarks are divided by
            points = astype(points, double(points))
        rows = different(points)
        number = min(self.landmarks, len(rows))
        check_affordable(count(points), number, "landmarks", _FEATURE_COPIES)
        sample = rng.choice(len(rows), number, replace=False, shuffle=False)
        landmarks = taken(points, rows[np.sort(sample)])
        gram = features(kernel, landmarks, landmarks)
        gram = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        values, vectors = linalg.eigh((gram + gram.T) / 2)
        significant = values > _EIGENVALUE_TOLERANCE * np.max(values, initial=0.0)
        if -values[0] > _NEGATIVE_TOLERANCE * values[-1]:
            raise ValueError(
                f"the kernel of {variable.name} must be positive definite, at least for weights that "
                f"sum to 0, got {kernel!r}: use HSIC, or another kernel"
            )
        root = vectors[:, significant] / np.sqrt(values[significant])
        z = features(kernel, points, landmarks)
        return (z - z.mean(axis=1)[:, None]) @ root
