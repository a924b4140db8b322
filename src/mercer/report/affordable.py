"""What a report can afford: all pairs of rows of large samples, and all columns of wide ones, it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.config import settings
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.rkhs.sample_rows import taken

MOST = 10_000  # rows of a sample of which all pairs are looked at
_RANK = 24  # numbers for each value that ranking the columns holds


def thinned(result: TwoSampleResult) -> TwoSampleResult:
    """The same result on some rows of large samples: effect sizes look at all pairs of rows.

    Verdict, statistic and p-value stay those of all rows. Which rows are kept does not depend on
    the seed of the test.
    """
    pooled = result.pooled
    if max(pooled.n, pooled.m) <= MOST or pooled.weights is not None:
        return result
    rng = np.random.default_rng(0)
    first, second = (
        np.arange(size)
        if size <= MOST
        else np.sort(rng.choice(size, MOST, replace=False, shuffle=False))
        for size in (pooled.n, pooled.m)
    )
    samples = None
    if pooled.samples is not None:
        samples = taken(pooled.samples[0], first), taken(pooled.samples[1], second)
    rows = np.concatenate([first, pooled.n + second])
    some = replace(
        pooled,
        points=taken(pooled.points, rows),
        n=len(first),
        m=len(second),
        samples=samples,
    )
    return replace(result, pooled=some)


def ranked(result: TwoSampleResult, rng: Any) -> Features | None:
    """The columns by how much they differ; None for one column, and for more than memory holds."""
    width = result.width or 0
    held = 8 * _RANK * width * sum(result.sizes)
    return result.features(rng=rng) if width > 1 and held <= settings().memory else None
