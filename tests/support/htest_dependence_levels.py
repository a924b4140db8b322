"""Null runs of independence tests, on independent variables and on time series.

Driven by `pytest -m slow tests/calibration` and, with a table, by
`python -m benchmarks.reproductions.independence_level`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import mercer
from mercer.htest import (
    DHSIC,
    HSIC,
    MMD,
    NFSIC,
    Bootstrap,
    Energy,
    Gamma,
    Holm,
    HypothesisTest,
    Lancaster,
    ShiftHSIC,
    Spectrum,
    WestfallYoung,
    WildBootstrap,
    pairwise_independence,
)
from mercer.htest.corrections import Correction
from mercer.htest.dependence.conditional_base import ConditionalTest
from tests.support.htest_levels import LEVEL, Cell, cell, grid
from tests.support.htest_zoo import (
    ZOO,
    P,
    Problem,
    autoregressions,
    independents,
    several,
    short,
    triples,
)

WILD = WildBootstrap(199, block=None)


def from_the_zoo() -> Iterator[Cell]:
    for entry in ZOO:
        kind = type(entry.test)
        given = issubclass(kind, ConditionalTest)  # those have a table of their own
        if kind.__module__.startswith("mercer.htest.dependence") and not given:
            yield from grid([entry.test], entry.null, entry.sizes)


def featured() -> Iterator[Cell]:
    for test, n in ((NFSIC(null=P), 100), (NFSIC(), 500), (NFSIC(ridge=1e-3), 500)):
        yield from grid([test], independents(), (n,))


def learnt() -> Iterator[Cell]:
    """Locations and kernels from some observations, the test on others."""
    for kind, n in ((NFSIC, 500), (HSIC, 100)):
        for problem in independents()[:2]:
            yield _learnt(kind, problem, n)


def _learnt(kind: Any, problem: Problem, n: int) -> Cell:
    def rejects(rng: np.random.Generator) -> bool:
        seed = {"rng": rng} if kind is NFSIC else {}
        test = kind.optimized(*problem(rng, (200,)), **seed)
        return test.test(*problem(rng, (n,)), rng=rng).rejects(LEVEL)

    return Cell(f"{kind.__name__}.optimized", problem.__name__, (n,), rejects)


def functions() -> Iterator[Cell]:
    """What is not a class: the test that is chosen, and all pairs of columns."""
    for problem in (independents()[1], independents()[4]):  # numbers, categories

        def chosen(rng: np.random.Generator, problem: Problem = problem) -> bool:
            return mercer.independence(*problem(rng, (100,)), rng=rng).rejects(LEVEL)

        yield Cell("independence", problem.__name__, (100,), chosen)
    for correction in (Holm(), WestfallYoung()):

        def any_pair(rng: np.random.Generator, correction: Correction = correction) -> bool:
            frame = np.column_stack([rng.standard_normal((100, 3)), rng.integers(0, 3, (100, 2))])
            found = pairwise_independence(frame, correction=correction, rng=rng)
            return bool(found.dependent(LEVEL))

        name = f"pairwise_independence, any pair, {short(correction)}"
        yield Cell(name, "five columns", (100,), any_pair, conservative=True)


def nulls_of_three() -> Iterator[Cell]:
    """The other nulls of tests of three variables; the zoo has permutations."""
    tests: list[HypothesisTest] = [DHSIC(null=Spectrum(999)), DHSIC(null=WildBootstrap(199))]
    for total in (False, True):
        nulls = (Gamma(), Spectrum(999), WildBootstrap(199))
        tests += [Lancaster(null=null, total=total) for null in nulls]
    yield from grid(tests, triples(), (100,))
    bootstrap = DHSIC(null=Bootstrap(199))  # conservative in many dimensions, as its words say
    yield cell(bootstrap, several(50, 50, 50), (100,), conservative=True)


def in_time() -> Iterator[Cell]:
    """Series that remember, and series that do not."""
    two: list[HypothesisTest] = [HSIC(null=WILD), MMD(null=WILD), Energy(null=WILD), ShiftHSIC()]
    three: list[HypothesisTest] = [DHSIC(null=WILD), Lancaster(null=WILD)]
    for n in (200, 500):
        for rho in (0.0, 0.5, 0.8):
            for number, tests in ((2, two), (3, three)):
                problem = autoregressions(number, rho)
                yield from (cell(test, problem, _sizes(test, n)) for test in tests)
    for number, tests in ((2, two), (3, three)):
        problem = autoregressions(number, 0.8, 5)
        yield from (cell(test, problem, _sizes(test, 300)) for test in tests)


def _sizes(test: HypothesisTest, n: int) -> tuple[int, ...]:
    return (n, n) if isinstance(test, MMD | Energy) else (n,)


def _judged_by_the_largest(found: Cell) -> bool:
    """Whether three true hypotheses are rejected only together: at most at the level, often below."""
    return found.test.startswith("Lancaster(") and "total=True" not in found.test


CELLS = {
    found.name: replace(found, conservative=found.conservative or _judged_by_the_largest(found))
    for part in (from_the_zoo, featured, learnt, functions, nulls_of_three, in_time)
    for found in part()
}
