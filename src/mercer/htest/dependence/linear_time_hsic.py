"""HSIC tests in linear time: random Fourier features (FourierHSIC) and landmarks (NystromHSIC)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import astype, count, double, is_array, is_single, take_rows, to_numpy
from mercer.errors import NoRule
from mercer.htest.dependence.block_shift_evidence import has_block_shifts
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.fourier_features import check_affordable, frequencies, phases
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.streamed_feature_hsic import (
    PointFeatures,
    StreamedFeatureHSIC,
    check_products_fit,
)
from mercer.htest.dependence.streamed_variables import streamed_variables
from mercer.htest.dependence.sums.centered_gram import low_rank_gram
from mercer.htest.dependence.two_variable_test import PairTest
from mercer.htest.feature_tests import SEED, different, features
from mercer.htest.nulls import Null, Permutation
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.paired_samples import Variable
from mercer.rkhs.sample_rows import taken
from mercer.row_streams import RowStream, streamed

Draw = Callable[[int, np.random.Generator], Points]
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
    def _feature_map(
        self, variable: Variable, draw: Draw, rng: np.random.Generator
    ) -> PointFeatures:
        """The features z; `draw` gives different points of the variable."""

    @property
    @abstractmethod
    def _width(self) -> int:
        """The number of features, at most."""

    @property
    def reads_parts(self) -> bool:
        """Whether the null distribution is that of permutations without blocks of labels."""
        return has_block_shifts(self.null)

    def statistic(self, x: Any, y: Any) -> float:
        """HSIC of two variables; features are drawn with seed 0."""
        return self._read(x, y, streamed(x, y), validate.generator(SEED))[0].observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        rng, streams = validate.generator(rng), streamed(x, y) if self.reads_parts else None
        evidence, variables = self._read(x, y, streams, rng)
        judgement = self.null.judge(evidence, rng)
        rows = None if streams is None else evidence.n
        return independence_result(self, variables, evidence.observed, judgement, rows=rows)

    def _read(
        self, x: Any, y: Any, streams: tuple[RowStream, ...] | None, rng: np.random.Generator
    ) -> tuple[HSICEvidence | StreamedFeatureHSIC, tuple[Variable, ...]]:
        """The evidence and the variables; of those that are read part by part, a subsample."""
        if streams is None:
            variables = self._variables(x, y)
            return self._evidence(variables, rng), variables
        both = streamed_variables((self.kernel_x, self.kernel_y), streams)
        check_products_fit(min(self._width, len(both)))
        first, second = (
            self._feature_map(variable, partial(both.landmarks, index), rng)
            for index, variable in enumerate(both.variables)
        )
        return StreamedFeatureHSIC(both, (first, second)), both.variables

    def _evidence(self, variables: tuple[Variable, ...], rng: np.random.Generator) -> HSICEvidence:
        first, second = (low_rank_gram(v, self._features(v, rng)) for v in variables)
        return HSICEvidence(first, second)

    def _features(self, variable: Variable, rng: np.random.Generator) -> np.ndarray:
        """Z: (n, features)."""
        points = variable.points
        if is_array(points) and is_single(points):
            # float64, because small eigenvalues of landmarks are divided by
            points = astype(points, double(points))
        return self._feature_map(variable, partial(_different_points, points), rng)(points)

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

    @property
    def _width(self) -> int:
        return 2 * self.frequencies

    def _feature_map(
        self, variable: Variable, draw: Draw, rng: np.random.Generator
    ) -> PointFeatures:
        omega = frequencies(variable, self.frequencies, rng)
        if omega is None:
            raise NoRule(
                f"Fourier features of {variable.name} need numbers and a stationary kernel with a known "
                f"spectral density, such as RBF, got {variable.kernel!r}: use NystromHSIC, which "
                "takes any kernel"
            )
        top = float(to_numpy(variable.kernel.diag(take_rows(variable.points, slice(0, 1))))[0])
        return _FourierFeatures(omega, np.sqrt(top / self.frequencies))


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

    @property
    def _width(self) -> int:
        return self.landmarks

    def _feature_map(
        self, variable: Variable, draw: Draw, rng: np.random.Generator
    ) -> PointFeatures:
        kernel, landmarks = variable.kernel, draw(self.landmarks, rng)
        gram = features(kernel, landmarks, landmarks)
        gram = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        values, vectors = linalg.eigh((gram + gram.T) / 2)
        significant = values > _EIGENVALUE_TOLERANCE * np.max(values, initial=0.0)
        if -values[0] > _NEGATIVE_TOLERANCE * values[-1]:
            raise ValueError(
                f"the kernel of {variable.name} must be positive definite, at least for weights that "
                f"sum to 0, got {kernel!r}: use HSIC, or another kernel"
            )
        return _Projection(
            kernel, landmarks, vectors[:, significant] / np.sqrt(values[significant])
        )


# ---- features -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _FourierFeatures:
    """Cosines and sines of w'x, times a factor."""

    omega: np.ndarray  # (number, d)
    factor: float

    @property
    def width(self) -> int:
        """The number of features."""
        return 2 * len(self.omega)

    def __call__(self, points: Points) -> np.ndarray:
        number = len(self.omega)
        check_affordable(count(points), self.width, "frequencies", _FEATURE_COPIES)
        z = np.empty((count(points), self.width), dtype=np.float64)
        for rows, phase in phases(points, self.omega):
            np.cos(phase, out=z[rows, :number])
            np.sin(phase, out=z[rows, number:])
        z *= self.factor
        return z


@dataclass(frozen=True, eq=False)
class _Projection:
    """The projection of k(x, .) onto the span of the k(l, .) of landmarks, which was centred."""

    kernel: Kernel
    landmarks: Points
    root: np.ndarray  # (landmarks, features)

    @property
    def width(self) -> int:
        """The number of landmarks, and of features at most."""
        return len(self.root)

    def __call__(self, points: Points) -> np.ndarray:
        z = features(self.kernel, points, self.landmarks)
        return (z - z.mean(axis=1)[:, None]) @ self.root


def _different_points(points: Points, number: int, rng: np.random.Generator) -> Points:
    """Some of the points, all different."""
    rows = different(points)
    number = min(number, len(rows))
    check_affordable(count(points), number, "landmarks", _FEATURE_COPIES)
    sample = rng.choice(len(rows), number, replace=False, shuffle=False)
    return taken(points, rows[np.sort(sample)])
