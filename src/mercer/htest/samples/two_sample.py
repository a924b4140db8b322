"""Two-sample test with everything chosen automatically, by the number of observations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_numpy
from mercer.frames import Table
from mercer.htest.asked_test import asked_test, at_level, with_resamples
from mercer.htest.foreign_keywords import in_our_words
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Permutation, WildBootstrap
from mercer.htest.samples.mmd import MMD
from mercer.htest.samples.mmdagg import MMDAgg
from mercer.htest.samples.pooled_sample import Pooled
from mercer.htest.samples.streamed_landmarks import affordable_sums
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.htest.time_order import differences, ordering_notes, samples_in_time_order
from mercer.kernels.base import Kernel
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import one_sample, taken
from mercer.row_streams import RowStream, streamed

_ALL_PAIRS = 4000  # observations together, up to which all pairs are compared
_MAX_OBSERVATIONS_FOR_499 = 200_000  # together; with more, 199 permutations
_WORK = 5e11  # multiplications and additions: seconds on two cores
_KERNELS = 23  # of the default: three of low order, ten bandwidths of two kernels
_MIN_LANDMARKS, _MAX_LANDMARKS = 50, 500  # limits of the number that fits into `_WORK`


@in_our_words
def two_sample(
    x: Any,
    y: Any,
    *,
    test: HypothesisTest | None = None,
    kernel: Kernel | None = None,
    resamples: int | None = None,
    level: float = 0.05,
    series: bool = False,
    time: Any = None,
    difference: bool = False,
    rng: Any = None,
) -> TwoSampleResult:
    """Test whether two samples come from the same distribution; the test is chosen automatically.

    Unless `test` or `kernel` are given, it is always `MMDAgg`, aggregated over a kernel of means, one of squares and products of columns, and
    Gaussian and Laplace kernels of ten bandwidths each. It needs no prior knowledge of the difference,
    gives half of the level to a shift, and its level is exact:

    * up to 4,000 observations in all, on all pairs of observations, with 999 permutations;
    * beyond, projected onto landmarks, in time and memory linear in the number of observations:
      as many landmarks (50 to 500) as take seconds, with 499 permutations, 199 beyond 200,000
      observations. All observations are used.

    With `series=True`, for rows in the order of time that depend on those before them, it is `MMD` with
    `WildBootstrap(block=None)` on all pairs of observations; random walks and trends are refused.

    Columns of data frames are divided by their standard deviations, and columns of categories
    use their default kernel. `result.notes` name the test and the reason.

    Samples that are not in memory (`mercer.learn.Parquet`, memory maps, Arrow datasets, Dask and Zarr) and take more
    than an eighth of the memory budget are read part by part, by the same test. Its normal scores have the ranks of
    at most 65,536 random rows.

    Parameters
    ----------
    x, y : array, tensor, data frame, weighted sample (`Empirical`), or a source of rows that are not in memory
        Samples of any sizes, at least two observations each.
    test : two-sample test, optional
        Such as `MMD()` or `Energy()`; for `AgainstDraws` and `KSample` call their own method `test`.
    kernel : Kernel, optional
        The test is then `MMD(kernel)`.
    resamples : int, optional
        Number of permutations; None: as many as the test chooses.
    level : float
        Significance level of `result.rejects()` and `result.summary()`.
    series : bool
        Whether each sample is a time series, its rows in the order of time. Not together with `test`.
    time : str or pair of arrays, optional
        Name of a column of both data frames that holds the time (dates or numbers), which is not compared, or the times of
        the rows of x and of y. Rows are sorted by it first, so that `series=True`, and the caution about rows that
        depend on those before them, mean that order.
    difference : bool
        Whether to test the changes from each row to the next, in the order of time, instead of the levels: what levels that
        wander like a random walk, or have a trend, need. Usually together with `series=True`. Numbers only.
    rng : int, Generator or None

    Returns
    -------
    TwoSampleResult

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(100, 3)), rng.normal(0.0, 1.5, size=(80, 3))
    >>> result = mercer.two_sample(x, y, rng=0)
    >>> result.rejects(level=0.01)
    True
    >>> from mercer.kernels import RBF
    >>> mercer.two_sample(x, y, kernel=RBF(1.0), resamples=199, rng=0).pvalue
    0.005
    """
    validate.truth("series", series)
    validate.truth("difference", difference)
    if series and test is not None:
        raise ValueError(
            "series and test cannot be used together: give the test a null distribution for series, as in "
            "MMD(null=WildBootstrap(block=None))"
        )
    if time is not None:
        x, y = samples_in_time_order(x, y, time)
    if difference:
        x, y = differences(x, "x"), differences(y, "y")
    asked = asked_test(test, kernel, partial(_by_kernel, series), "MMD(RBF(1.0))")
    streams = None if series or (asked is not None and not asked.reads_parts) else streamed(x, y)
    before = ordering_notes(time, difference)
    run = partial(_tested, asked, series, resamples, before, rng)
    if streams is not None:
        result = run(*streams)
    else:
        handed_in, (x, y) = (x, y), (_read(x, "x"), _read(y, "y"))
        result = run(x, y)
        pooled = _with_samples(result.pooled, _shown(handed_in[0], x), _shown(handed_in[1], y))
        result = replace(result, pooled=pooled)
    return at_level(result, level)


def _tested(
    asked: HypothesisTest | None,
    series: bool,
    resamples: int | None,
    before: tuple[str, ...],
    rng: Any,
    x: Any,
    y: Any,
) -> TwoSampleResult:
    """The result of the test that was asked for, or of the one chosen, with the reason for it."""
    if asked is not None:
        used, why = asked, ()
    else:
        parts = isinstance(x, RowStream)
        used, note = chosen_for_series() if series else chosen(count(x), count(y), parts=parts)
        why = (note,)
    result = _two_sample_result(with_resamples(used, resamples).test(x, y, rng=rng), used)
    return replace(result, notes=(*why, *before, *result.notes))


def _by_kernel(series: bool, kernel: Kernel) -> MMD:
    return MMD(kernel, null=WildBootstrap(block=None)) if series else MMD(kernel)


def _two_sample_result(result: Any, test: HypothesisTest) -> TwoSampleResult:
    if isinstance(result, TwoSampleResult):
        return result
    raise TypeError(
        f"test must be a two-sample test, such as MMD(), got {type(test).__name__}(): call its own "
        "method test"
    )


def chosen(n: int, m: int, *, parts: bool = False) -> tuple[MMDAgg, str]:
    """Test for so many observations, perhaps read part by part, and the reason as a note."""
    total = n + m
    if total <= _ALL_PAIRS:
        return MMDAgg(), (
            f"MMDAgg was chosen: it needs no choice of kernel or scale, and {total:,} "
            f"observations are few enough to look at all pairs."
        )
    resamples = 499 if total <= _MAX_OBSERVATIONS_FOR_499 else 199
    fitting = _WORK / (2 * _KERNELS * (resamples + 1) * total)
    if parts:  # sums at landmarks are in memory for all permutations together: one pass
        fitting = min(fitting, affordable_sums(_KERNELS * (resamples + 1)))
    landmarks = int(min(max(fitting, _MIN_LANDMARKS), _MAX_LANDMARKS))
    return MMDAgg(null=Permutation(resamples), landmarks=landmarks), (
        f"MMDAgg with {landmarks} landmarks was chosen: it needs no choice of kernel or scale, "
        f"and looking at all pairs of {total:,} observations would take long."
    )


def chosen_for_series() -> tuple[MMD, str]:
    """Test of two time series, and the reason as a note."""
    return MMD(null=WildBootstrap(block=None)), (
        "MMD with WildBootstrap(block=None) was chosen: its p-value allows for rows that depend on those before them. "
        "The intervals of effects do not."
    )


def _with_samples(pooled: Pooled, x: Any, y: Any) -> Pooled:
    """The pooled sample with the rows that a result shows; a test may have held out some of them."""
    if pooled.rows is not None:
        x, y = taken(x, pooled.rows.first), taken(y, pooled.rows.second)
    return replace(pooled, samples=(x, y))


def _shown(handed_in: Any, read: Any) -> Any:
    """Sample whose rows a result shows: of data frames the user's own."""
    if isinstance(handed_in, Empirical):
        handed_in, read = handed_in.points, read.points
    return handed_in if isinstance(read, Table) else read


def _read(x: Any, name: str) -> Any:
    """The sample, checked unless the test checks it as it is; data frames are read once."""
    if is_numpy(x) and x.ndim == 2 and x.dtype in (np.float32, np.float64):
        return x
    if isinstance(x, Empirical):
        return Empirical(one_sample(x.points, name), x.weights)
    return one_sample(x, name)
