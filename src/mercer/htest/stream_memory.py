"""Memory of a stream: the number of observations after which it has forgotten the earlier ones."""

from __future__ import annotations

from math import ceil, inf, log, log10
from typing import Any

import numpy as np

from mercer.backend import count, is_array, to_numpy
from mercer.frames import Table
from mercer.htest.nulls import Permutation
from mercer.htest.serial_hsic import SerialHSIC, serial_evidence
from mercer.kernels.base import Kernel
from mercer.rkhs.sample_rows import taken

MIN_ROWS_FOR_MEMORY = 16  # two halves of 8
# Level of the test of each of two samples. Both must reject, which happens in 1 of 100 checks of independent observations.
_LEVEL = 0.1
_RESAMPLES = 99
_NEGLIGIBLE_AUTOCORRELATION = 0.05
_MATURE = 100  # observations, of which `SerialHSIC` finds an autocorrelation of 0.5 in both halves
# With fewer, random walks have finite memories: their sample autocorrelation is zero at some lag, whatever the truth.
_MIN_MEMORIES = 8
# Politis and White (2004), section 3.2: an autocorrelation is noise if its square is below 4 log10(n) / n, and five
# such lags in a row end the dependence. Twice the last lag before them is the bandwidth of flat-top lag windows.
_QUIET_LAGS, _SQUARED_QUANTILE = 5, 4.0


def streams_memory(x: Any, y: Any, kernel: Kernel | None, *, alarmed: bool = False) -> float:
    """Number of observations after which two streams have forgotten; 0: independent ones, inf: too long to measure.

    The largest of three memories: the smaller one of x and y, and of each stream the smaller one of its first and second
    half. A change at one time in one stream does not pass for a memory, because the other stream, or one half, is without it.
    Before an alarm of young streams the memory of one is enough: few observations seldom show that of both.
    """
    young = alarmed and max(count(x), count(y)) < _MATURE
    pairs: list[tuple[Any, ...]] = [(x,), (y,)] if young else [(x, y)]
    for sample in (x, y):
        n = count(sample)
        if n >= MIN_ROWS_FOR_MEMORY:
            halves = (np.arange(n // 2), np.arange(n // 2, n))
            pairs.append((taken(sample, halves[0]), taken(sample, halves[1])))
    return max(min(_memory(sample, kernel) for sample in pair) for pair in pairs)


def _memory(sample: Any, kernel: Kernel | None) -> float:
    """0 where `SerialHSIC` does not reject, else the lag at which autocorrelation is negligible."""
    if count(sample) < MIN_ROWS_FOR_MEMORY // 2 or _steps(sample) <= 1:
        return 0.0
    test = SerialHSIC(kernel, null=Permutation(_RESAMPLES))
    evidence = serial_evidence(test, sample)
    if test.null.judge(evidence, 0).pvalue > _LEVEL:
        return 0.0
    return _forgotten_after(evidence.features)


def _steps(sample: Any) -> float:
    """How often numbers change from one row to the next; inf for other objects. One step is a change, not a memory."""
    values = sample.values if isinstance(sample, Table) else sample
    if not is_array(values):
        return inf
    host = to_numpy(values).reshape(count(sample), -1)
    return float(np.sum(np.any(host[1:] != host[:-1], axis=1)))


def _forgotten_after(features: np.ndarray) -> float:
    """The larger of two lags: twice the last significant one, and that of an AR(1) with the same first autocorrelation.

    The second is what few observations can tell: in 20 of them only autocorrelations above 0.5 are significant.
    """
    n = len(features)
    first = _squared_covariance(features, 1) / _squared_covariance(features, 0)
    by_autoregression = 2 * log(_NEGLIGIBLE_AUTOCORRELATION) / log(min(first, 1 - 1 / n))
    lags = max(2.0 * _last_significant_lag(features), ceil(by_autoregression), 1.0)
    return lags if _MIN_MEMORIES * lags <= n else inf


def _last_significant_lag(features: np.ndarray) -> float:
    """The last lag before five without significant autocorrelation; inf if there are none in half of the rows.

    The squared autocorrelation of several features is |C_h|^2 / tr(C_0)^2 with their autocovariances C_h.
    """
    n = len(features)
    noise = _SQUARED_QUANTILE * log10(n) / n * float(np.sum(features**2)) ** 2
    quiet = 0
    for lag in range(1, n // 2 - _QUIET_LAGS + 1):
        quiet = quiet + 1 if _squared_covariance(features, lag) <= noise else 0
        if quiet == _QUIET_LAGS:
            return float(lag - _QUIET_LAGS)
    return inf


def _squared_covariance(features: np.ndarray, lag: int) -> float:
    """|sum_t z_t z_(t+h)'|^2 of the features z, for lag h."""
    covariance = features[: len(features) - lag].T @ features[lag:]
    return float(np.sum(covariance**2))
