"""python -m benchmarks.reproductions.small_sample_level: do limiting nulls hold for few observations?

Null runs at level 0.05 of the tests whose nulls are fitted or limiting, with 4 to 30 observations, and
of chi-square nulls at the smallest size that they take. At most: very small samples cannot reach the
level, so only rejecting too often counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.reproductions.levels import Levels
from mercer.htest import (
    DHSIC,
    HSIC,
    ME,
    MMD,
    NFSIC,
    SCF,
    UME,
    BlockHSIC,
    BlockMMD,
    Chi2,
    CrossHSIC,
    CrossMMD,
    Gamma,
    Hotelling,
    LinearMMD,
    Spectrum,
    WeightedChi2,
)

from tests.support.htest_levels import LEVEL, Cell  # isort: skip  (found by the path that `levels` adds)

FITTED = [MMD(null=Gamma()), MMD(null=Spectrum(999)), HSIC(null=Gamma()), HSIC(null=Spectrum(999))]
FITTED += [DHSIC(null=Gamma())]
LIMITING = [CrossMMD(), LinearMMD(), BlockMMD(), Hotelling(), UME(null=WeightedChi2())]
LIMITING += [CrossHSIC(), BlockHSIC()]
CHI_SQUARE = [ME(null=Chi2()), SCF(null=Chi2()), NFSIC(null=Chi2())]

PROBLEMS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal, d = 1": lambda rng, n: rng.standard_normal((n, 1)),
    "lognormal, d = 3": lambda rng, n: np.exp(rng.standard_normal((n, 3))),
    "counts, d = 2": lambda rng, n: rng.poisson(4.0, (n, 2)).astype(np.float64),
}


def _rejects(test: Any, problem: str, n: int, rng: np.random.Generator) -> bool:
    draw = PROBLEMS[problem]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the null is approximate here
        return bool(test.test(draw(rng, n), draw(rng, n), rng=rng).pvalue <= LEVEL)


def _cells(tests: list[Any], sizes: tuple[int, ...]) -> list[Cell]:
    return [
        Cell(repr(test), problem, (n,), partial(_rejects, test, problem, n), conservative=True)
        for test in tests
        for problem in PROBLEMS
        for n in sizes
    ]


CELLS = [
    *_cells(FITTED, (4, 6, 10, 20)),
    *_cells(LIMITING, (10, 20, 30)),
    *_cells(CHI_SQUARE, (100, 200)),
]

LEVELS = Levels(
    {cell.name: cell for cell in CELLS},
    "small_sample_calibration",
    "Level of fitted and limiting nulls for few observations",
    "benchmarks.reproductions.small_sample_level",
)
PLAN = LEVELS.plan

if __name__ == "__main__":
    raise SystemExit(LEVELS.main())
