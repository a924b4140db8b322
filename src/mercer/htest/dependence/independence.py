"""Independence test of two variables, perhaps given a third, chosen by the number of observations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from mercer import validate
from mercer.backend import count
from mercer.frames import Table
from mercer.htest.asked_test import asked_test, at_level, with_resamples
from mercer.htest.conditional.basis import NumericTable
from mercer.htest.conditional.gcm import KernelGCM
from mercer.htest.conditional.residual_test import affordable
from mercer.htest.dependence.conditional_base import NO_SERIES_GIVEN
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.hsic import HSIC
from mercer.htest.dependence.hsicagg import HSICAgg
from mercer.htest.dependence.linear_time_hsic import NystromHSIC
from mercer.htest.dependence.rcot import RCoT
from mercer.htest.foreign_keywords import in_our_words
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import WildBootstrap
from mercer.htest.time_order import differences, ordering_notes, variables_in_time_order
from mercer.kernels.base import Kernel
from mercer.rkhs.sample_rows import one_sample
from mercer.row_streams import streamed

_MAX_ROWS_QUADRATIC = 2000  # observations; beyond, tests in linear time are chosen
_MAX_NAMES = 3  # that an error repeats


@in_our_words
def independence(
    x: Any,
    y: Any,
    *,
    given: Any = None,
    test: HypothesisTest | None = None,
    kernel: Kernel | None = None,
    resamples: int | None = None,
    level: float = 0.05,
    series: bool = False,
    time: Any = None,
    difference: bool = False,
    rng: Any = None,
) -> IndependenceResult:
    """Test whether two variables are independent, perhaps given a third; the test is chosen automatically.

    * Two variables, up to 2,000 observations: `HSICAgg`, which is aggregated over linear and quadratic
      relations and over bandwidths of both, and holds its level exactly; beyond, `NystromHSIC`, in time
      and memory linear in the number of observations. All observations are used.
    * With `given`: `KernelGCM`, whose p-value allows for what regressions on z may miss, and which
      says in `result.diagnosis` how much that is. More observations than the memory budget allows are
      tested by `RCoT`.
    * With `series=True`, for rows in the order of time that depend on those before them: `HSIC` with
      `WildBootstrap(block=None)`, on all pairs of observations. A season of each variable is taken out, and
      random walks and trends are refused.

    Columns of data frames are divided by their standard deviations, and columns of categories use the
    default kernel for categories. `result.notes` say which test was chosen and why.

    Two variables that are not in memory (`mercer.learn.Parquet`, memory maps, Arrow datasets, Dask and Zarr) and take more
    than an eighth of the memory budget are read part by part: by `NystromHSIC`, and by `HSIC` up to 2,000 observations.

    Parameters
    ----------
    x, y : array, tensor, data frame, or a source of rows that are not in memory
        The same number of rows; row i of each is one observation.
    given : array, tensor or data frame, optional
        Test independence conditional on these variables, which results and messages call z.
    test : independence test, optional
        Such as `HSIC()` or, with `given`, `KCI()`; the others are chosen only where this is None.
    kernel : Kernel, optional
        Kernel of both variables: the test is then `HSIC(kernel, kernel)`. Not together with `given`.
    resamples : int, optional
        Number of permutations; None: as many as the test chooses.
    level : float
        Significance level of `result.rejects()` and `result.summary()`.
    series : bool
        Whether x and y are time series, their rows in the order of time. Not together with `given`.
    time : str or array, optional
        Name of a column of a data frame that holds the time (dates or numbers), which is left out of the variables, or one
        time for each row. Rows are sorted by it first, so that `series=True`, and the caution about rows that
        depend on those before them, mean that order.
    difference : bool
        Whether to test the changes from each row to the next, in the order of time, instead of the levels: what levels that
        wander like a random walk, or have a trend, need. Usually together with `series=True`. Numbers only.
    rng : int, Generator or None

    Returns
    -------
    IndependenceResult

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=300)
    >>> x, y = cause + 0.3 * rng.normal(size=300), cause**2 + 0.3 * rng.normal(size=300)
    >>> mercer.independence(x, y, rng=0).rejects()
    True
    >>> mercer.independence(x, y, given=cause, rng=0).rejects()
    False
    """
    validate.truth("series", series)
    validate.truth("difference", difference)
    _check_asked(test, kernel, given, series)
    asked = asked_test(test, kernel, partial(_by_kernel, series), "HSIC(RBF(1.0), RBF(1.0))")
    handed_in = (x, y) if given is None else (x, y, given)
    if time is not None:
        handed_in = variables_in_time_order(handed_in, time)
    streams = None
    if given is None and not (series or difference) and (asked is None or asked.reads_parts):
        streams = streamed(*handed_in)
    reader = differences if difference else one_sample
    samples = streams or [reader(*pair) for pair in zip(handed_in, "xyz", strict=False)]
    sorted_by = ordering_notes(time, difference)
    if asked is not None:
        result = with_resamples(asked, resamples).test(*samples, rng=rng)
        result = _independence_result(result, asked)
        return at_level(replace(result, notes=(*sorted_by, *result.notes)), level)
    width = None if given is None else width_of(samples[2])
    if series:
        used, why = chosen_for_series()
    else:
        used, why = chosen(count(samples[0]), width, parts=streams is not None)
    result = with_resamples(used, resamples).test(*samples, rng=rng)
    first = int(_conservative(result))  # that warning stays the first note
    notes = (*result.notes[:first], why, *sorted_by, *result.notes[first:])
    return at_level(replace(result, notes=notes), level)


def _by_kernel(series: bool, kernel: Kernel) -> HSIC:
    return HSIC(kernel, kernel, null=WildBootstrap(block=None)) if series else HSIC(kernel, kernel)


def _check_asked(test: Any, kernel: Any, given: Any, series: bool) -> None:
    """Raise where arguments exclude each other, or `given` is names."""
    if series and given is not None:
        raise ValueError(f"series and given cannot be used together: {NO_SERIES_GIVEN}")
    _check_given(given)
    if series and test is not None:
        raise ValueError(
            "series and test cannot be used together: give the test a null distribution for series, as in "
            "HSIC(null=WildBootstrap(block=None))"
        )
    if given is not None and kernel is not None:
        raise ValueError(
            "kernel and given cannot be used together: the variables may differ in kind, so pass "
            "test=KCI(kernel_x, kernel_y, kernel_z)"
        )


def _check_given(given: Any) -> None:
    """Raise where `given` is the names of columns instead of their values."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return
    if names and len(set(names)) == len(names):  # labels of observations would repeat
        shown = repr(names[0]) if len(names) == 1 else repr([*names[:_MAX_NAMES]])
        raise TypeError(
            f"given must hold values, a row for each row of x and y, got names, {shown}: pass the columns themselves, as in "
            f"given=frame[{list(names[:_MAX_NAMES])!r}]"
        )


def _independence_result(result: Any, test: HypothesisTest) -> IndependenceResult:
    if isinstance(result, IndependenceResult):
        return result
    raise TypeError(
        f"test must be an independence test, such as HSIC(), got {type(test).__name__}(): call its own "
        "method test"
    )


def chosen(n: int, given: int | None, *, parts: bool = False) -> tuple[Any, str]:
    """The test for n observations, perhaps read part by part, given so many columns or None, and the reason for it."""
    if given is not None:
        return _chosen_given(n, given)
    quadratic = n <= _MAX_ROWS_QUADRATIC
    size = f"{n:,} observations are {'few enough' if quadratic else 'too many'} for a quadratic-time test"
    if quadratic and parts:
        return HSIC(), f"HSIC was chosen: it reads samples part by part, and {size}."
    if quadratic:
        return HSICAgg(), f"HSICAgg was chosen: it needs no choice of bandwidth, and {size}."
    return NystromHSIC(), f"NystromHSIC was chosen: {size}."


def chosen_for_series() -> tuple[HSIC, str]:
    """The test of two time series, and the reason for it."""
    return HSIC(null=WildBootstrap(block=None)), (
        "HSIC with WildBootstrap(block=None) was chosen: its p-value allows for rows that depend on those before them. "
        "The interval of the effect does not."
    )


def _chosen_given(n: int, width: int) -> tuple[Any, str]:
    if not affordable(n, width):
        return RCoT(), f"RCoT was chosen: {n:,} observations need too much memory for KernelGCM."
    return KernelGCM(), "KernelGCM was chosen: its p-value allows for the bias of regressions."


def width_of(sample: Any) -> int:
    """The number of columns of an array or a table, with indicators in place of categories."""
    if isinstance(sample, Table):
        return NumericTable(sample.values, sample.columns.categorical).expanded_width
    shape = getattr(sample, "shape", (0,))
    return int(shape[1]) if len(shape) > 1 else 1


def _conservative(result: IndependenceResult) -> bool:
    diagnosis = getattr(result, "diagnosis", None)
    return diagnosis is not None and not diagnosis.trusted
