"""Two-sample tests whose statistic is a mean over small groups or blocks of points, in linear time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isqrt
from typing import Any, Self

import numpy as np

from mercer import validate
from mercer.backend import is_numpy, on_host, to_numpy
from mercer.gram import Gram
from mercer.gram.threads import in_order
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.mean_statistic import (
    OBSERVATIONS_FOR_NORMAL,
    IndependentTerms,
    MeanEvidence,
    SkewedTerms,
    skewness_about_zero,
)
from mercer.htest.nulls import Normal, Permutation
from mercer.htest.samples.learn_kernel import KernelCandidates, mean_ratio
from mercer.htest.samples.mmd_statistic import Discrepancies
from mercer.htest.samples.pooled_sample import Pooled, pool
from mercer.htest.samples.shuffled_buckets import Bucket, SummedTerms, summed_terms
from mercer.htest.samples.streamed_samples import StreamedSamples, streamed_samples
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel
from mercer.rkhs.sample_rows import taken
from mercer.row_streams import streamed

_ORDER_SEED = 0  # of the random order of the points, by which sorted data do no harm
_MIN_POINTS = 4  # of each sample: two groups or blocks of two
_PAIRS_PER_CHUNK = 100_000  # pairs whose kernel values are in memory at a time
_BLOCKS_FOR_SKEWNESS, _LABELLINGS_FOR_SKEWNESS = 32, 1024  # labellings in all, shared by the blocks


class NormalTest(HypothesisTest):
    """Test whose statistic is a studentised mean, asymptotically normal. No resampling."""

    kernel: Kernel | None

    def __post_init__(self) -> None:
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")

    @classmethod
    def optimized(cls, x: Any, y: Any, *, kernels: Sequence[Kernel] | None = None) -> Self:
        """A test with the kernel that has the most power on these samples.

        The kernel whose statistic is largest in units of its standard error (Gretton et al. 2012, Optimal kernel
        choice for large-scale two-sample tests, section 3). Hand the new test other samples than these: half of
        the data for this, half for the test.

        Parameters
        ----------
        x, y : samples
        kernels : sequence of kernels or None
            None: Gaussian and Laplace kernels of ten bandwidths each, which cover the scales of the samples.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.htest import LinearMMD
        >>> from mercer.kernels import RBF
        >>> rng = np.random.default_rng(0)
        >>> x, y = rng.normal(size=(2, 4000))
        >>> y = np.round(2 * y) / 2 + 0.1 * rng.normal(size=4000)  # far below the median distance
        >>> test = LinearMMD.optimized(x[:2000], y[:2000], kernels=[RBF(0.1), RBF(2.0)])
        >>> test.kernel
        RBF(bandwidth=0.1)
        """
        candidates = KernelCandidates(kernels, x, y)
        least = min(candidates.pooled.n, candidates.pooled.m)
        if least < _MIN_POINTS:
            raise ValueError(f"x and y must have at least {_MIN_POINTS} points each, got {least}")
        test: Any = cls()
        ratios = [mean_ratio(test._terms(pooled)) for pooled in candidates.with_each()]
        return replace(test, kernel=candidates.best(ratios))

    @abstractmethod
    def _terms(self, pooled: Pooled) -> MeanEvidence:
        """Terms whose mean is the statistic."""

    def statistic(self, x: Any, y: Any) -> float:
        """An unbiased estimate of MMD^2."""
        return self._read(x, y)[1].mean

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its p-value; nothing is random."""
        pooled, terms, rows = self._read(x, y)
        notes = small_note(type(self).__name__, min(rows or (pooled.n, pooled.m)))
        judgement = Normal().judge(terms)
        return two_sample_result(self, pooled, terms.mean, judgement, notes, rows=rows)

    def _read(self, x: Any, y: Any) -> tuple[Pooled, MeanEvidence, tuple[int, int] | None]:
        """The samples, their terms, and the sizes of samples of which the first is a subsample."""
        pooled = self._pooled(x, y)
        return pooled, self._terms(pooled), None

    def _pooled(self, x: Any, y: Any) -> Pooled:
        pooled = pool(self.kernel, x, y, _MIN_POINTS)
        if pooled.weights is not None:
            raise TypeError(f"{type(self).__name__} takes no weighted samples: use MMD()")
        return pooled


class GroupedTest(NormalTest):
    """Test whose terms belong to groups of points; samples that do not fit into memory are read part by part."""

    @property
    def reads_parts(self) -> bool:
        """Samples that are not in memory are read part by part, whatever the null distribution."""
        return True

    @abstractmethod
    def _streamed_terms(self, samples: StreamedSamples) -> MeanEvidence:
        """Terms of samples that are read part by part."""

    def _read(self, x: Any, y: Any) -> tuple[Pooled, MeanEvidence, tuple[int, int] | None]:
        streams = streamed(x, y)
        if streams is None:
            return super()._read(x, y)
        samples = streamed_samples(self.kernel, streams, _MIN_POINTS)
        return samples.pooled, self._streamed_terms(samples), samples.sizes


@dataclass(frozen=True)
class LinearMMD(GroupedTest):
    """Squared maximum mean discrepancy in linear time, with a normal null.

    The mean of k(x, x') + k(y, y') - k(x, y') - k(x', y) over disjoint groups (x, x', y, y')
    (Gretton et al. 2012, lemma 14): independent terms, and so a normal distribution. Much less
    powerful than `MMD` on the same data, for use where there are more data than time. If the samples
    differ in size, the smaller one sets the number of groups; in each of them the larger one
    puts several points in the place of one, so that all are used. Points are taken in random
    order, always the same.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(3000, 2)), rng.normal(0.5, 1.0, size=(2000, 2))
    >>> LinearMMD().test(x, y).rejects()
    True
    """

    kernel: Kernel | None = None

    def _terms(self, pooled: Pooled) -> IndependentTerms:
        return _groups(pooled)

    def _streamed_terms(self, samples: StreamedSamples) -> SummedTerms:
        number = min(samples.sizes) // 2
        starts = [partial(_place_start, size, 2 * number) for size in samples.sizes]
        return summed_terms(samples, number, lambda g: [s(2 * g) for s in starts], _group_terms)


@dataclass(frozen=True)
class BlockMMD(GroupedTest):
    """The B-test: the mean of the squared discrepancies of blocks, with a normal null.

    Between `LinearMMD` (blocks of two) and `MMD` (one block) in time and in power (Zaremba et al.
    2013). Both samples are cut into as many blocks, of `block` points of the smaller one and
    proportionally more of the larger one; points are taken in random order, always the same. The
    discrepancies of blocks have a long right tail, which a few dozen of them do not average away:
    its skewness, known from other labellings of the blocks, is taken out of their mean (`unskewed`).

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.
    block : int or None
        Points of the smaller sample in a block; None: the square root of its size, but not so many
        that fewer than eight blocks are left.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(900, 2)), rng.normal(0.5, 1.0, size=(700, 2))
    >>> BlockMMD(block=25).test(x, y).rejects()
    True
    """

    kernel: Kernel | None = None
    block: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block is not None:
            validate.whole("block", self.block, least=2)

    def _terms(self, pooled: Pooled) -> IndependentTerms:
        number = self._number(min(pooled.n, pooled.m))
        first, second = (np.array_split(rows, number) for rows in in_random_order(pooled))
        return BlockMMDTerms(pooled, list(zip(first, second, strict=True)))

    def _streamed_terms(self, samples: StreamedSamples) -> SummedTerms:
        number = self._number(min(samples.sizes))
        starts = lambda g: [_block_start(size, number, g) for size in samples.sizes]  # noqa: E731
        return summed_terms(samples, number, starts, _block_terms, _BLOCKS_FOR_SKEWNESS)

    def _number(self, least: int) -> int:
        """The number of blocks, where the smaller sample has so many points."""
        block = self.block or max(2, min(isqrt(least), least // 8))
        number = least // block
        if number < 2:
            raise ValueError(
                f"block must leave at least two blocks of the smaller sample, which has {least} "
                f"points; got {block}: use block={max(2, least // 8)}, or MMD()"
            )
        return number


class BlockMMDTerms(SkewedTerms):
    """The squared discrepancies of blocks."""

    def __init__(self, pooled: Pooled, blocks: list[tuple[np.ndarray, np.ndarray]]) -> None:
        pooled = replace(pooled, points=on_host(pooled.points), samples=None)
        values = in_order(_BlockMMD(pooled), blocks, parallel=is_numpy(pooled.points))
        super().__init__(np.array(list(values), dtype=np.float64))
        self.pooled, self.blocks = pooled, blocks

    def skewness(self) -> float:
        """Skewness of a block under the null hypothesis, from other labellings of some of the blocks."""
        blocks = self.blocks[:_BLOCKS_FOR_SKEWNESS]
        null = Permutation(_LABELLINGS_FOR_SKEWNESS // len(blocks))
        draws = np.concatenate(
            [
                Discrepancies.of(_part(self.pooled, rows), [self.pooled.kernel]).resampled(
                    null, slice(1, null.resamples + 1), seed
                )[0]
                for seed, rows in enumerate(blocks)
            ]
        )
        return skewness_about_zero(draws)


def small_note(name: str, least: int) -> tuple[str, ...]:
    """Note on an asymptotic null and small samples."""
    if least >= OBSERVATIONS_FOR_NORMAL:
        return ()
    return (
        f"The null of {name} holds from about {OBSERVATIONS_FOR_NORMAL} observations in each sample on, and the "
        f"smaller one has {least}: its p-value is approximate; MMD(null=Permutation()) is exact.",
    )


def in_random_order(pooled: Pooled) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the first and of the second sample in random order, always the same."""
    rng = np.random.default_rng(_ORDER_SEED)
    return rng.permutation(pooled.n), pooled.n + rng.permutation(pooled.m)


@dataclass(frozen=True)
class _BlockMMD:
    """Rows of two samples -> their unbiased MMD^2."""

    pooled: Pooled

    def __call__(self, rows: tuple[np.ndarray, np.ndarray]) -> float:
        x, y = (taken(self.pooled.points, r) for r in rows)
        kernel, (n, m) = self.pooled.kernel, map(len, rows)
        first, second, between = Gram(kernel, x), Gram(kernel, y), Gram(kernel, x, y)
        within_x = (first.sum() - first.trace()) / (n * (n - 1))
        within_y = (second.sum() - second.trace()) / (m * (m - 1))
        return within_x + within_y - 2 * between.sum() / (n * m)


def _part(pooled: Pooled, rows: tuple[np.ndarray, np.ndarray]) -> Pooled:
    """Pooled sample of the points at these positions."""
    points = taken(pooled.points, np.concatenate(rows))
    return replace(pooled, points=points, n=len(rows[0]), m=len(rows[1]), samples=None)


def _groups(pooled: Pooled) -> IndependentTerms:
    """The terms of the linear statistic, one of each group."""
    number = min(pooled.n, pooled.m) // 2
    places = (np.arange(size) * (2 * number) // size for size in (pooled.n, pooled.m))
    return _terms_of_groups(pooled, in_random_order(pooled), tuple(places), number)


def _terms_of_groups(
    pooled: Pooled,
    rows: tuple[np.ndarray, np.ndarray],
    places: tuple[np.ndarray, ...],
    number: int,
) -> IndependentTerms:
    """The terms of groups of points in these rows, which have these places in the groups."""
    x, y = (_Places(r, place, 2 * number) for r, place in zip(rows, places, strict=True))
    large, small = (x, y) if pooled.n >= pooled.m else (y, x)
    # what stands in one place of a group meets what stands in the other place
    terms = _means(pooled, *x.partners(x), number) + _means(pooled, *y.partners(y), number)
    return IndependentTerms(terms - 2 * _means(pooled, *large.partners(small, every=True), number))


def _group_terms(pooled: Pooled, bucket: Bucket) -> IndependentTerms:
    """The terms of the groups of a bucket, whose points are in order."""
    n = pooled.n
    places = [
        (start + np.arange(count)) * (2 * bucket.number) // size - 2 * bucket.groups.start
        for start, count, size in zip(bucket.starts, (n, pooled.m), bucket.sizes, strict=True)
    ]
    rows = np.arange(n), n + np.arange(pooled.m)
    return _terms_of_groups(pooled, rows, tuple(places), len(bucket.groups))


def _block_terms(pooled: Pooled, bucket: Bucket) -> BlockMMDTerms:
    """The discrepancies of the blocks of a bucket, whose points are in order."""
    cuts = []
    for first, size, offset in zip(bucket.starts, bucket.sizes, (0, pooled.n), strict=True):
        bounds = [_block_start(size, bucket.number, g) - first + offset for g in bucket.groups]
        cuts.append(bounds)
    ends = pooled.n, pooled.n + pooled.m
    blocks = [
        [np.arange(a, b) for a, b in zip(c, [*c[1:], end], strict=True)]
        for c, end in zip(cuts, ends, strict=True)
    ]
    return BlockMMDTerms(pooled, list(zip(*blocks, strict=True)))


def _place_start(size: int, places: int, place: int) -> int:
    """The first of `size` points that is in this place or a later one."""
    return -(-place * size // places)


def _block_start(size: int, blocks: int, block: int) -> int:
    """The first point of a block of `np.array_split`."""
    return block * (size // blocks) + min(block, size % blocks)


class _Places:
    """The points of a sample spread over the two places of every group, as evenly as can be."""

    def __init__(self, rows: np.ndarray, place: np.ndarray, number: int) -> None:
        self.rows, self.place = rows, place
        self.start = np.searchsorted(self.place, np.arange(number + 1))

    def partners(
        self, other: _Places, every: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of a point here and a point in the opposite place of `other`, and their groups.

        The first with the first, the second with the second, and so on; or every point here with
        all points there, which are few. Each pair within one sample is taken once.
        """
        opposite = self.place ^ 1
        first, size = other.start[opposite], np.diff(other.start)[opposite]
        position = np.arange(len(self.rows)) - self.start[self.place]
        steps = range(int(np.max(size))) if every else [position]
        first_rows, second_rows = [], []
        for step in steps:
            fits = (step < size) & (every | (self.place % 2 == 0))
            first_rows.append(np.flatnonzero(fits))
            second_rows.append((first + step)[fits])
        i, j = np.concatenate(first_rows), np.concatenate(second_rows)
        return self.rows[i], other.rows[j], self.place[i] // 2


def _means(
    pooled: Pooled, left: np.ndarray, right: np.ndarray, group: np.ndarray, number: int
) -> np.ndarray:
    """The mean of k over the pairs of each group: (number,)."""
    sums = np.zeros(number, dtype=np.float64)
    for start in range(0, len(left), _PAIRS_PER_CHUNK):
        chunk = slice(start, start + _PAIRS_PER_CHUNK)
        pairs = taken(pooled.points, left[chunk]), taken(pooled.points, right[chunk])
        values = to_numpy(pooled.kernel.paired(*pairs))
        sums += np.bincount(group[chunk], values, minlength=number)
    return sums / np.bincount(group, minlength=number)
