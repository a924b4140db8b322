"""Smooth characteristic functions: two samples compared at a few frequencies, in linear time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.frames import Columns
from mercer.gram.stream_sums import ColumnMoments, PointReader, column_moments, picked
from mercer.gram.threads import spans
from mercer.htest.feature_tests import frozen, is_number
from mercer.htest.nulls import Chi2, Null
from mercer.htest.samples.learn_locations import best_frequencies
from mercer.htest.samples.location_tests import FeatureTest
from mercer.htest.samples.mean_difference import NormalizedEvidence
from mercer.htest.samples.pooled_sample import Pooled, pool
from mercer.htest.samples.power_proxy import normalized_power
from mercer.htest.samples.streamed_samples import StreamedNormalized, streamed_samples
from mercer.kernels.prepare import as_table, prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import is_plain
from mercer.row_streams import RowPart, RowStream, streamed

# Points whose median distance is within 1% of that of all, and numbers in them: 16 MiB.
_MAX_POINTS_FOR_SPREAD, _MAX_NUMBERS_FOR_SPREAD = 2**16, 2**21
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
        distance from the centre (data frames: of standardized columns).
    frequencies : int or array (J, d)
        Frequencies for the divided data. A number: so many standard normal draws, with the rng of `test`, and
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
    ) -> tuple[NormalizedEvidence | StreamedNormalized, Pooled, SCF]:
        """Smoothed sines and cosines of both samples."""
        streams = streamed(x, y)
        if streams is not None:
            return self._streamed_evidence(streams, rng)
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
        used = self._fixed(_PointsInMemory(points), frame, rng)
        z = _smoothed_waves(points, used.frequencies, used.bandwidth, used.center)
        return NormalizedEvidence(z, pooled.n, pooled.weights), pooled, used

    def _streamed_evidence(
        self, streams: tuple[RowStream, ...], rng: np.random.Generator
    ) -> tuple[StreamedNormalized, Pooled, SCF]:
        """The same for samples that are read part by part."""
        samples = streamed_samples(VECTOR_KERNEL, streams)
        pooled, columns = samples.pooled, samples.pooled.columns
        used = self._fixed(_PointsInParts(streams, columns), columns is not None, rng)
        work = partial(_Waves, test=used)
        evidence = StreamedNormalized(samples.moments(work, 2 * len(used.frequencies)))
        if columns is not None and pooled.samples is not None:
            return evidence, pool(None, *pooled.samples), used
        return evidence, replace(pooled, given_kernel=None), used

    def _fixed(self, points: _AllPoints, frame: bool, rng: np.random.Generator) -> SCF:
        """The test with what it leaves open chosen from the points."""
        bandwidth, center, frequencies = self.bandwidth, self.center, self.frequencies
        d = points.width
        if center is None and bandwidth is None:
            center = frozen(points.mean)
        if bandwidth is None:
            bandwidth = _spread(points, center, frame)
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


class _AllPoints(Protocol):
    """The points of both samples, as far as the bandwidth and the centre need them."""

    @property
    def width(self) -> int: ...

    @property
    def mean(self) -> np.ndarray: ...

    @property
    def deviations(self) -> np.ndarray: ...

    def subsample(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class _PointsInMemory:
    """Points in an array (N, d)."""

    points: np.ndarray

    @property
    def width(self) -> int:
        return self.points.shape[1]

    @property
    def mean(self) -> np.ndarray:
        return self.points.mean(axis=0)

    @property
    def deviations(self) -> np.ndarray:
        return self.points.std(axis=0)

    def subsample(self) -> np.ndarray:
        """At most 65,536 points, always the same."""
        rows = _rows_for_spread(*self.points.shape)
        return self.points if len(rows) == len(self.points) else self.points[rows]


@dataclass(frozen=True, eq=False)
class _PointsInParts:
    """Points that are read part by part."""

    streams: tuple[RowStream, ...]
    columns: Columns | None

    @property
    def width(self) -> int:
        return self.streams[0].width

    @cached_property
    def _moments(self) -> ColumnMoments:
        return column_moments(self.streams, self.columns)

    @property
    def mean(self) -> np.ndarray:
        return self._moments.means

    @property
    def deviations(self) -> np.ndarray:
        return self._moments.deviations

    def subsample(self) -> np.ndarray:
        """The same points as in memory."""
        first, second = self.streams
        n = len(first)
        rows = _rows_for_spread(n + len(second), self.width)
        x, y = picked(first, rows[rows < n], "x"), picked(second, rows[rows >= n] - n, "y")
        _, a, b = prepare(VECTOR_KERNEL, x, y)
        return np.concatenate([to_numpy(a), to_numpy(b)]).astype(np.float64)


def _rows_for_spread(size: int, width: int) -> np.ndarray:
    most = max(min(_MAX_POINTS_FOR_SPREAD, _MAX_NUMBERS_FOR_SPREAD // width), 1)
    if size <= most:
        return np.arange(size)
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(size, most, replace=False, shuffle=False))


def _spread(points: _AllPoints, center: Any, frame: bool) -> Any:
    """The median distance of points from the centre, of each column in its own unit for data frames."""
    unit = points.deviations if frame else np.ones(points.width, dtype=np.float64)
    unit = np.where(unit > 0, unit, 1.0)
    lengths = np.linalg.norm((points.subsample() - center) / unit, axis=1)
    middle = float(np.median(lengths)) or float(np.mean(lengths)) or 1.0
    return frozen(middle * unit) if frame else middle


@dataclass(frozen=True, eq=False)
class _Waves:
    """part -> smoothed waves of its points, in chunks (b, 2J)."""

    reader: PointReader
    test: SCF

    def __call__(self, part: RowPart) -> Iterator[np.ndarray]:
        return map(self._waves, self.reader.points(part))

    def of(self, rows: Any) -> Iterator[np.ndarray]:
        """The same for rows in memory."""
        yield self._waves(self.reader.read(rows))

    def _waves(self, points: Any) -> np.ndarray:
        values, test = to_numpy(points).astype(np.float64), self.test
        return _smoothed_waves(values, test.frequencies, test.bandwidth, test.center)
