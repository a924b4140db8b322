"""Smooth characteristic functions: two samples compared at a few frequencies, in linear time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.gram.threads import spans
from mercer.htest.feature_tests import frozen, is_number
from mercer.htest.nulls import Chi2, Null
from mercer.htest.samples.learn_locations import best_frequencies
from mercer.htest.samples.location_tests import FeatureTest
from mercer.htest.samples.mean_difference import NormalizedEvidence
from mercer.htest.samples.pooled_sample import Pooled, pool
from mercer.htest.samples.power_proxy import normalized_power
from mercer.kernels.prepare import as_table, prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import is_plain

_POINTS_PER_CHUNK = 4096  # whose waves stay in the level-2 cache


@dataclass(frozen=True, eq=False, repr=False)
class SCF(FeatureTest):
    """Two-sample test by smoothed characteristic functions at a few frequencies.

    A characteristic function, convolved with a Gaussian, is the mean of
    exp(-|u|^2 / 2) exp(i u'w) with u = (x - center) / bandwidth (Chwialkowski et al. 2015). Its
    real and imaginary parts at J frequencies w are 2J features, whose difference between the
    samples is normalised as in `ME`. Smoothing makes the test consistent with probability one, but
    points that are many bandwidths off the centre weigh nothing.

    Parameters
    ----------
    bandwidth : float, array (d,) or None
        What the data are divided by, one number for all columns or one for each. None: the median
        distance from the centre (data frames: of standardised columns).
    frequencies : int or array (J, d)
        Of the divided data. A number: so many standard normal draws, with the rng of `test`, and
        in `statistic` always with seed 0. The result's `test.frequencies` are those that were used.
    center : array (d,) or None
        Where the smoothing window sits. None: the mean of the pooled sample if the bandwidth is
        left open too, else the origin.
    null : Chi2, Permutation or None
        The chi-square holds from 500 observations in each sample on (more than 10 features, 5
        frequencies: 50 for each). None: the chi-square there, 999 permutations below.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(600, 2)), rng.normal(0.0, 1.3, size=(500, 2))
    >>> SCF().test(x, y, rng=0).rejects()
    True
    """

    bandwidth: Any = None
    frequencies: Any = field(default=5, kw_only=True)
    center: Any = field(default=None, kw_only=True)
    null: Null | None = field(default=None, kw_only=True)
    asymptotic: ClassVar[Null] = Chi2()

    def __post_init__(self) -> None:
        self._check_null()
        if is_number(self.frequencies):
            validate.whole("frequencies", self.frequencies)
            object.__setattr__(self, "frequencies", int(self.frequencies))
        else:
            waves = validate.points(self.frequencies, "frequencies")
            object.__setattr__(self, "frequencies", frozen(waves))
        if isinstance(self.bandwidth, Real):
            validate.positive("bandwidth", self.bandwidth)
            object.__setattr__(self, "bandwidth", float(self.bandwidth))
        elif self.bandwidth is not None:
            widths = frozen(validate.vector(self.bandwidth, "bandwidth"))
            validate.positive("bandwidth", float(widths.min()))
            object.__setattr__(self, "bandwidth", widths)
        if self.center is not None:
            object.__setattr__(self, "center", frozen(validate.vector(self.center, "center")))

    @classmethod
    def optimized(cls, x: Any, y: Any, *, frequencies: int = 5, rng: Any = None) -> SCF:
        """A test whose frequencies and bandwidth make the statistic of these samples largest.

        Its centre is the mean of these samples. Hand the new test other samples than these, or
        its p-values are too small: half of the data for this, half for the test.

        Parameters
        ----------
        x, y : samples
            Arrays, tensors or data frames of numbers.
        frequencies : int
        rng : int, Generator or None
            Draws where the search begins.
        """
        widths, center, optimum = best_frequencies(normalized_power, x, y, frequencies, rng)
        isotropic = np.ptp(widths) == 0
        return cls(float(widths[0]) if isotropic else widths, frequencies=optimum, center=center)

    def _evidence(
        self, x: Any, y: Any, rng: np.random.Generator
    ) -> tuple[NormalizedEvidence, Pooled, SCF]:
        """Smoothed sines and cosines of both samples."""
        first, second = (s.points if isinstance(s, Empirical) else s for s in (x, y))
        frame = as_table(first, "x") is not None
        pooled = pool(None if frame else VECTOR_KERNEL, x, y)
        if (
            not frame
        ):  # the kernel of effects takes far longer than the test: computed when asked for
            pooled = replace(pooled, given_kernel=None)
        if is_plain(first) and is_plain(second):
            points = np.concatenate([first, second])
        else:
            _, a, b = prepare(VECTOR_KERNEL, first, second)
            points = np.concatenate([to_numpy(a), to_numpy(b)]).astype(np.float64)
        used = self._fixed(points, frame, rng)
        z = _smoothed_waves(points, used.frequencies, used.bandwidth, used.center)
        return NormalizedEvidence(z, pooled.n, pooled.weights), pooled, used

    def _fixed(self, points: np.ndarray, frame: bool, rng: np.random.Generator) -> SCF:
        """The test with what it leaves open chosen from the points."""
        bandwidth, center, frequencies = self.bandwidth, self.center, self.frequencies
        d = points.shape[1]
        if center is None and bandwidth is None:
            center = frozen(points.mean(axis=0))
        if bandwidth is None:
            bandwidth = _spread(points - center, frame)
        if isinstance(frequencies, int):
            frequencies = frozen(rng.standard_normal((frequencies, d)))
        for name, value in (
            ("bandwidth", bandwidth),
            ("center", center),
            ("frequencies", frequencies),
        ):
            if isinstance(value, np.ndarray) and value.shape[-1] != d:
                raise ValueError(
                    f"{name} must have {d} columns, as the samples, got {value.shape[-1]}"
                )
        return self._fixed_at(bandwidth=bandwidth, center=center, frequencies=frequencies)


def _smoothed_waves(
    points: np.ndarray, frequencies: np.ndarray, bandwidth: Any, center: np.ndarray | None
) -> np.ndarray:
    """exp(-|u|^2 / 2) (sin u'w_j, cos u'w_j) with u = (x - center) / bandwidth: (N, 2J).

    The values that `FrequencyFeatures` differentiates, in one row for each wave: rows of few numbers take
    most of the time.
    """
    number = len(frequencies)
    values = np.empty((2 * number, len(points)), dtype=np.float64)
    for rows in spans(len(points), _POINTS_PER_CHUNK):
        u = np.ascontiguousarray(points[rows].T)  # (d, rows)
        u = u if center is None else u - center[:, None]
        u = u / (bandwidth[:, None] if isinstance(bandwidth, np.ndarray) else bandwidth)
        phase, window = frequencies @ u, np.exp(-np.einsum("ij,ij->j", u, u) / 2)
        np.multiply(np.sin(phase), window, out=values[:number, rows])
        np.multiply(np.cos(phase), window, out=values[number:, rows])
    return values.T


def _spread(points: np.ndarray, frame: bool) -> Any:
    """The median length of centred points, of each column in its own unit for data frames."""
    unit = points.std(axis=0) if frame else np.ones(points.shape[1], dtype=np.float64)
    unit = np.where(unit > 0, unit, 1.0)
    lengths = np.linalg.norm(points / unit, axis=1)
    middle = float(np.median(lengths)) or float(np.mean(lengths)) or 1.0
    return frozen(middle * unit) if frame else middle
