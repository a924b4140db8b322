"""Null runs of conditional independence tests, on the usual nonlinear models with z in 1 to 5 dimensions.

Driven by `pytest -m slow tests/calibration/test_conditional.py` and, with a table, by
`python -m benchmarks.reproductions.conditional_level`.
"""

from __future__ import annotations

from collections.abc import Iterator

from mercer.htest import (
    CRT,
    KCI,
    RCIT,
    EmbeddingDraws,
    HypothesisTest,
    LocalPermutation,
    RCoT,
    Spectrum,
    SplitKCI,
    WeightedChi2,
    WildBootstrap,
)
from tests.support.htest_given import (
    alike,
    classes,
    letters,
    mean,
    one,
    post_nonlinear,
    sums,
    switches,
)
from tests.support.htest_levels import Cell, grid

SIZES = (200,), (1000,)
TESTS: tuple[HypothesisTest, ...] = (KCI(), RCoT(), RCIT())


def nonlinear() -> Iterator[Cell]:
    problems = [post_nonlinear(s, d) for s in (mean, one, sums, alike) for d in range(1, 6)]
    for size in SIZES:
        yield from grid(TESTS, problems, size)


def discrete() -> Iterator[Cell]:
    for size in SIZES:
        yield from grid(TESTS, (classes, switches, letters), size)


def other_nulls() -> Iterator[Cell]:
    tests = [KCI(null=null) for null in (Spectrum(999), WeightedChi2(), WildBootstrap(199))]
    yield from grid(tests, (post_nonlinear(mean, 1), post_nonlinear(sums, 5)), SIZES[0])
    yield from grid(tests[2:], (classes, switches, letters), SIZES[0])


def split_and_redrawn() -> Iterator[Cell]:
    """Regressions on separate parts, and x drawn again given z."""
    numbers = (post_nonlinear(mean, 1), post_nonlinear(one, 3), post_nonlinear(sums, 5))
    tests = (SplitKCI(), LocalPermutation(resamples=99), CRT(EmbeddingDraws(), resamples=99))
    yield from grid(tests, (*numbers, classes, letters), SIZES[0])
    yield from grid((CRT(resamples=99),), (*numbers, classes), SIZES[0])


CELLS = {
    found.name: found
    for part in (nonlinear, discrete, other_nulls, split_and_redrawn)
    for found in part()
}
