"""Limits on the work for a report: it uses a subsample of long samples and does not rank very many columns."""

from __future__ import annotations

from typing import Any

from mercer.config import settings
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.two_sample_result import TwoSampleResult

MAX_ROWS_FOR_ALL_PAIRS = 10_000  # all pairs of them are 10^8 kernel values for each quantity
FLOATS_PER_RANKED_VALUE = 24  # floats that ranking the columns holds for each value of the table


def ranked(result: TwoSampleResult, rng: Any) -> Features | None:
    """Columns or features of objects ranked by how much they differ; None for one, or beyond the memory budget."""
    width = result.width or 0
    needed = 8 * FLOATS_PER_RANKED_VALUE * width * (result.pooled.n + result.pooled.m)
    return result.features(rng=rng) if result.has_features and needed <= settings().memory else None
