"""Null runs of every two-sample test: what is drawn, at which sizes, and how often it is rejected.

Driven by `pytest -m slow tests/calibration` and, with a table, by
`python -m benchmarks.reproductions.two_sample_level`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import binom

import mercer
from mercer.frames import Columns, Table
from mercer.htest import (
    ME,
    MMD,
    SCF,
    UME,
    BlockMMD,
    Bootstrap,
    Bound,
    Chi2,
    CrossMatch,
    CrossMMD,
    Energy,
    Equivalence,
    Gamma,
    Holm,
    Hotelling,
    HypothesisTest,
    Kolmogorov,
    KSample,
    LinearMMD,
    MaxMMD,
    MMDAgg,
    MMDFuse,
    Monitor,
    Permutation,
    Spectrum,
    WestfallYoung,
    WildBootstrap,
    feature_differences,
)
from mercer.kernels import RBF, Delta
from mercer.rkhs import Empirical
from tests.support.htest_coverage import gaussian_mmd2
from tests.support.htest_zoo import (
    ZOO,
    P,
    Problem,
    Samples,
    coins,
    counts,
    named,
    nulls,
    same,
    short,
)

LEVEL = 0.05
RUNS, MORE = 400, 2000  # what is outside after the first runs is looked at more closely
LEAST, MOST = 0.0175, 0.09  # of 400 runs at level 0.05: about one in 5,000 is outside by chance
_TAIL = 1e-4  # on each side, for fewer runs
SMALL, EQUAL, UNEQUAL = (60, 40), (500, 500), (800, 500)
FIVE = nulls(1, 5, 50)


@dataclass(frozen=True)
class Cell:
    """A test, samples for which its null hypothesis holds, and one run: is it rejected?"""

    test: str
    problem: str
    sizes: tuple[int, ...]
    rejects: Callable[[np.random.Generator], bool]
    conservative: bool = False  # by construction: its level is an upper bound

    @property
    def name(self) -> str:
        return f"{self.test}; {self.problem}; {'/'.join(map(str, self.sizes))}"

    def run(self, number: int) -> bool:
        """Run `number`, the same whenever it is asked for."""
        return self.rejects(np.random.default_rng([number, zlib.crc32(self.name.encode())]))

    def holds(self, rate: float, runs: int = RUNS) -> bool:
        """Whether the rate of so many runs is one that a test of the level may have by chance."""
        least, most = band(runs)
        return (self.conservative or rate >= least) and rate <= most


def band(runs: int) -> tuple[float, float]:
    """The lowest and the highest rate of so many runs that chance explains, where the level is kept."""
    if runs >= RUNS:
        return LEAST, MOST
    ends = binom.ppf(_TAIL, runs, LEVEL), binom.isf(_TAIL, runs, LEVEL)
    return float(ends[0]) / runs, float(ends[1]) / runs


# ---- samples whose null hypothesis holds -----------------------------------------------------


def weighted(problem: Problem, *which: int) -> Problem:
    """Some of the samples get exponential weights, which have nothing to do with the points."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        found = problem(rng, sizes)
        return tuple(
            Empirical(s, rng.dirichlet(np.ones(len(s)))) if i in which else s
            for i, s in enumerate(found)
        )

    side = "both" if len(which) == 2 else ("first", "second")[which[0]]
    return named(f"{problem.__name__}, {side} weighted", draw)


def importance(d: int, which: int) -> Problem:
    """One sample is of N(0, 1.5^2 I), with weights that make it one of N(0, I)."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        found = [rng.standard_normal((n, d)) for n in sizes]
        wide = 1.5 * found[which]
        w = np.exp(-np.sum(wide**2, axis=1) * (1 - 1.5**-2) / 2)
        found[which] = Empirical(wide, w / w.sum())
        return tuple(found)

    return named(f"normal, d = {d}, {('first', 'second')[which]} by importance weights", draw)


def pairs(d: int) -> Problem:
    """The same persons twice: what they have in common is three times what changes."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        persons = 3 * rng.standard_normal((sizes[0], d))
        return tuple(persons + rng.standard_normal((n, d)) for n in sizes)

    return named(f"pairs, d = {d}", draw)


GROUPS = {  # of each observation: the samples have different shares of two groups
    sizes: tuple(
        int(i < share * n) for n, share in zip(sizes, shares, strict=True) for i in range(n)
    )
    for sizes, shares in (((60, 40), (0.75, 0.25)), ((40, 25, 35), (0.8, 0.5, 0.2)))
}


def groups(d: int) -> Problem:
    """Two groups that differ by three standard deviations, in different shares."""

    def draw(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
        labels = np.array(GROUPS[sizes], dtype=float)[:, None]
        points = rng.standard_normal((len(labels), d)) + 3 * labels
        return tuple(np.split(points, np.cumsum(sizes)[:-1]))

    return named(f"groups, d = {d}", draw)


def mixed(rng: np.random.Generator, sizes: tuple[int, ...]) -> Samples:
    """A frame with a column of numbers, one of them rounded, and a column of categories."""
    columns = Columns(("number", "rounded", "kind"), (False, False, True))
    return tuple(
        Table(
            np.column_stack(
                [rng.standard_normal(n), rng.standard_normal(n).round(), rng.choice(4, n)]
            ),
            columns,
        )
        for n in sizes
    )


# ---- cells ----------------------------------------------------------------------------------


def cell(test: HypothesisTest, problem: Problem, sizes: tuple[int, ...], **more: Any) -> Cell:
    """Samples of a problem, and the test of them."""

    def rejects(rng: np.random.Generator) -> bool:
        return test.test(*problem(rng, sizes), rng=rng).rejects(LEVEL)

    return Cell(_told(test), problem.__name__, sizes, rejects, **more)


def with_few_resamples(test: HypothesisTest) -> HypothesisTest:
    """The same test with 39 resamples where it has more: as valid at level 0.05 = 2 / 40, and quicker."""
    null = getattr(test, "null", None)
    if not isinstance(null, Permutation | WildBootstrap | Bootstrap):
        return test
    return replace(test, null=replace(null, resamples=39))  # type: ignore[type-var]


def _told(test: HypothesisTest) -> str:
    null = getattr(test, "null", None)
    if isinstance(null, Permutation) and null.blocks:
        return short(replace(test, null=replace(null, blocks=None))) + " in blocks"  # type: ignore[type-var]
    return short(test)


def grid(
    tests: Iterable[HypothesisTest], problems: Iterable[Problem], *sizes: tuple[int, ...]
) -> Iterator[Cell]:
    for test in tests:
        for size in sizes:
            for problem in problems:
                yield cell(test, problem, size, conservative=_bounded(test))


def _bounded(test: HypothesisTest) -> bool:
    """Whether the level is an upper bound: by the null distribution, or by a statistic that has few values.

    Pairs across two samples are few, and distribution functions in many dimensions are zero at nearly all points.
    """
    return isinstance(getattr(test, "null", None), Bound) or isinstance(
        test, CrossMatch | Kolmogorov
    )


def from_the_zoo() -> Iterator[Cell]:
    for entry in ZOO:
        if type(entry.test).__module__.startswith("mercer.htest.samples"):
            yield from grid([entry.test], entry.null, entry.sizes)


def nulls_of_quadratic_tests() -> Iterator[Cell]:
    given = [MMD(null=Gamma()), MMD(null=Spectrum()), Energy(null=Gamma()), Energy(null=Spectrum())]
    yield from grid(given, FIVE, SMALL)
    yield from grid(given[:2], (same(1), same(50), counts), (250, 150))
    yield from grid([MMD(null=Bound())], FIVE, SMALL)
    early = MMD(null=Permutation(999, stop_early=True))
    yield from grid([early, Hotelling(null=P)], FIVE, SMALL)
    yield from grid([MMD(null=P), MMDAgg(null=P), KSample(null=P)], [named("mixed", mixed)], SMALL)


def asymptotic() -> Iterator[Cell]:
    averaged = [LinearMMD(), BlockMMD(), CrossMMD()]
    featured = [ME(), SCF(), UME()]
    yield from grid(averaged, FIVE, SMALL, EQUAL)  # the zoo has UNEQUAL
    yield from grid(featured, FIVE, SMALL, EQUAL, UNEQUAL)
    many = [ME(locations=10, null=Chi2()), UME(locations=10, null=Spectrum(999))]
    yield from grid(many, FIVE, EQUAL)
    yield from grid([ME(null=P)], [named("mixed", mixed)], SMALL)


def restricted() -> Iterator[Cell]:
    paired = Permutation(199, paired=True)
    kinds = (MMD, MaxMMD, MMDAgg, MMDFuse, Energy, Hotelling, ME, SCF, UME)
    yield from grid(
        [kind(null=paired) for kind in kinds], (pairs(1), pairs(5), pairs(50)), (50, 50)
    )
    for kinds_of, sizes in ((kinds, SMALL), ((KSample,), (40, 25, 35))):
        blocked = Permutation(199, blocks=GROUPS[sizes])
        yield from grid([kind(null=blocked) for kind in kinds_of], (groups(1), groups(5)), sizes)


def with_weights() -> Iterator[Cell]:
    sides = ((0, 1), (0,), (1,))
    problems = [weighted(problem, *which) for problem in (same(5), counts) for which in sides]
    problems += [importance(d, which) for d in (1, 5) for which in (0, 1)]
    kinds = (MMD, MaxMMD, MMDAgg, MMDFuse, Energy, ME, SCF, UME)
    given = [kind(null=P) for kind in kinds]
    given += [MMD(null=Gamma()), MMD(null=Spectrum(999)), MMDAgg(null=P, landmarks=30)]
    yield from grid(given, problems, SMALL)
    yield from grid([ME(), SCF(), UME()], problems[:3], (1500, 1200))


def at_the_margin() -> Iterator[Cell]:
    """The null hypothesis of `Equivalence`, where it is hardest to tell from its alternative."""
    for d in (1, 5, 50):
        for sizes in (SMALL, (400, 400)):
            for standardized in (False, True):
                yield _gaussian_margin(d, sizes, standardized)
    for sizes in (SMALL, (400, 400)):
        yield _counted_margin(sizes)


def _gaussian_margin(d: int, sizes: tuple[int, ...], standardized: bool) -> Cell:
    width, shift = sqrt(d), 1.0
    square, within = gaussian_mmd2(width, d, shift)
    margin = sqrt(square / within if standardized else square)
    test = Equivalence(margin, RBF(width), standardized=standardized)

    def rejects(rng: np.random.Generator) -> bool:
        x, y = same(d)(rng, sizes)
        y[:, 0] += shift
        return test.test(x, y, rng=rng).rejects(LEVEL)

    told = "Equivalence(standardized=True)" if standardized else "Equivalence()"
    return Cell(told, f"normal, d = {d}, shift {shift:g}", sizes, rejects, conservative=True)


def _counted_margin(sizes: tuple[int, ...]) -> Cell:
    shares = np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])
    test = Equivalence(float(np.linalg.norm(shares[0] - shares[1])), Delta())

    def rejects(rng: np.random.Generator) -> bool:
        given = (rng.choice(3, (n, 1), p=p) for n, p in zip(sizes, shares, strict=True))
        return test.test(*(s.astype(float) for s in given), rng=rng).rejects(LEVEL)

    return Cell("Equivalence()", "three categories", sizes, rejects, conservative=True)


def functions() -> Iterator[Cell]:
    """What is not a class: the test that is chosen, columns one by one, streams."""
    for problem in (*FIVE, named("mixed", mixed)):
        yield _chosen(problem)
    for correction in (Holm(), WestfallYoung()):
        for problem in (same(5), same(50), counts, coins, named("mixed", mixed)):
            yield _columns(problem, correction)
    for problem in FIVE:
        yield _stream(problem)


def _chosen(problem: Problem) -> Cell:
    def rejects(rng: np.random.Generator) -> bool:
        return mercer.two_sample(*problem(rng, SMALL), rng=rng).rejects(LEVEL)

    return Cell("two_sample", problem.__name__, SMALL, rejects)


def _columns(problem: Problem, correction: Any) -> Cell:
    def rejects(rng: np.random.Generator) -> bool:
        found = feature_differences(*problem(rng, SMALL), correction=correction, rng=rng)
        return bool(found.differing(LEVEL))

    name = f"feature_differences, any column, {short(correction)}"
    return Cell(name, problem.__name__, SMALL, rejects, conservative=True)


def _stream(problem: Problem) -> Cell:
    def rejects(rng: np.random.Generator) -> bool:
        state: Any = Monitor(LEVEL)
        for _ in range(20):
            state = state.update(*problem(rng, (12, 8)))
        return state.alarmed

    return Cell("Monitor, 20 batches", problem.__name__, (12, 8), rejects, conservative=True)


def learnt() -> Iterator[Cell]:
    """Kernels and locations from some observations, the test on others; and the largest of several kernels."""
    for kind in (ME, SCF, UME):
        yield _learnt(f"{kind.__name__}.optimized", partial(_by_seed, kind.optimized))
    yield _learnt("ME.tuned", partial(_by_seed, ME.tuned))
    for kind in (MMD, LinearMMD, BlockMMD, CrossMMD):
        yield _learnt(f"{kind.__name__}.optimized", partial(_without_seed, kind.optimized))
    yield from grid([MaxMMD(standardized=False, null=P)], FIVE, SMALL)


def _by_seed(learn: Any, x: Any, y: Any, rng: np.random.Generator) -> HypothesisTest:
    return learn(x, y, rng=rng)


def _without_seed(learn: Any, x: Any, y: Any, rng: np.random.Generator) -> HypothesisTest:
    return learn(x, y)


def _learnt(name: str, learn: Callable[..., HypothesisTest]) -> Cell:
    sizes = SMALL if name == "MMD.optimized" else UNEQUAL

    def rejects(rng: np.random.Generator) -> bool:
        test = learn(*same(5)(rng, (200, 200)), rng)
        return test.test(*same(5)(rng, sizes), rng=rng).rejects(LEVEL)

    return Cell(name, same(5).__name__, sizes, rejects)


CELLS = {
    found.name: found
    for part in (
        from_the_zoo,
        nulls_of_quadratic_tests,
        asymptotic,
        learnt,
        restricted,
        with_weights,
        at_the_margin,
        functions,
    )
    for found in part()
}


def rate(found: Cell, runs: int) -> float:
    """The share of runs in which a true null hypothesis is rejected."""
    return sum(found.run(number) for number in range(runs)) / runs


def judged(found: Cell) -> float:
    """The rate of 400 runs, or of 2,000 where that one is outside."""
    first = rate(found, RUNS)
    return first if found.holds(first) else rate(found, MORE)
