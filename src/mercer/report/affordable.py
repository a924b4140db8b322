"""Limits on the work for a report: it uses a subsample of long samples and does not rank very many columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.config import settings
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.rkhs.sample_rows import taken

MAX_ROWS_FOR_ALL_PAIRS = 10_000  # all pairs of them are 10^8 kernel values for each quantity
_FLOATS_PER_VALUE = 24  # floats that ranking the columns holds for each value of the table


def thinned(result: TwoSampleResult) -> TwoSampleResult:
    """The same result with random subsamples of long samples, for quantities that need all pairs of rows.

    Verdict, statistic and p-value remain those of all rows. The subsample does not depend on the seed
    of the test.
    """
    pooled = result.pooled
    if max(pooled.n, pooled.m) <= MAX_ROWS_FOR_ALL_PAIRS or pooled.weights is not None:
        return result
    rng = np.random.default_rng(0)
    first, second = (
        np.arange(size)
        if size <= MAX_ROWS_FOR_ALL_PAIRS
        else np.sort(rng.choice(size, MAX_ROWS_FOR_ALL_PAIRS, replace=False, shuffle=False))
        for size in (pooled.n, pooled.m)
    )
    samples = None
    if pooled.samples is not None:
        samples = taken(pooled.samples[0], first), taken(pooled.samples[1], second)
    rows = np.concatenate([first, pooled.n + second])
    subsampled = replace(
        pooled,
        points=taken(pooled.points, rows),
        n=len(first),
        m=len(second),
        samples=samples,
    )
    return replace(result, pooled=subsampled)


def ranked(result: TwoSampleResult, rng: Any) -> Features | None:
    """Columns ranked by how much they differ; None for one column or beyond the memory budget."""
    width = result.width or 0
    needed = 8 * _FLOATS_PER_VALUE * width * sum(result.sizes)
    return result.features(rng=rng) if width > 1 and needed <= settings().memory else None
