"""The doors of two-sample tests that choose by the data, of what results are asked, and of streams."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from mercer.htest import (
    ME,
    MMD,
    SCF,
    UME,
    BlockMMD,
    ContextMMD,
    CrossMatch,
    CrossMMD,
    Energy,
    Equivalence,
    KSample,
    LinearMMD,
    MaxMMD,
    MMDAgg,
    MMDFuse,
    Monitor,
    Permutation,
    SpanningTreeTest,
    Wasserstein,
    feature_differences,
    power,
    sample_size,
    two_sample,
)
from mercer.rkhs import Empirical
from tests.bad_input.doors import PAIRS, Door, K, door

P = Permutation(19)
FIRST, SECOND, THIRD = PAIRS, PAIRS[::-1] * 1.5 + 2.0, PAIRS**2
SHARES = np.linspace(1.0, 2.0, len(PAIRS)) / np.linspace(1.0, 2.0, len(PAIRS)).sum()
CATEGORIES = frozenset({"categories"})


def found(result: Any) -> Any:
    """The statistic, the effect, and whether the p-value is one."""
    effect = result.effect()
    return result.statistic, effect.mmd2, effect.interval.high, 0 < result.pvalue <= 1


def compared(entries: str, test: Any, **more: Any) -> Door:
    """A test of two samples, and its statistic alone."""
    calls = (lambda x, y: found(test.test(x, y, rng=0)), test.statistic)
    return two(entries, calls, **more)


def two(entries: str, calls: Any, **more: Any) -> Door:
    return door(entries, "x y", FIRST, SECOND, calls=calls, columns=True, **more)


def weighted(points: Any, weights: Any) -> Any:
    """As one of the samples of a test."""
    sample = Empirical(points, weights)
    return sample.effective_size, MMD(K, null=P).statistic(sample, Empirical(points))


def watched(x: Any, y: Any) -> Any:
    state = Monitor(kernel=K).update(x, y)
    return state.log_wealth, state.pairs, state.pvalue


def by_column(x: Any, y: Any) -> Any:
    told = feature_differences(x, y, resamples=19, rng=0)
    return tuple(f.mmd2 for f in told) + tuple(f.adjusted for f in told)


def learnt(kind: Any, places: str) -> Any:
    def call(x: Any, y: Any) -> Any:
        test = kind.optimized(x, y, **{places: 1}, rng=0)
        return test.statistic(x, y)

    return call


def given_context(x: Any, y: Any, context_x: Any, context_y: Any) -> Any:
    result = ContextMMD(K, K, resamples=9).test(x, y, context_x, context_y, rng=0)
    return np.round(result.statistic, 12), 0 < result.pvalue <= 1


def context_doors() -> Iterator[Door]:
    """Bad observations with good contexts, and the other way round."""
    name = "htest.ContextMMD htest.ContextMMD.test"
    yield two(name, lambda x, y: given_context(x, y, FIRST, SECOND))
    calls = partial(given_context, FIRST, SECOND)
    yield door(name, "context_x context_y", FIRST, SECOND, calls=calls, columns=True)


def sample_doors() -> Iterator[Door]:
    yield compared("htest.SCF htest.SCF.test", SCF(null=P), own_units=True)
    yield compared("htest.Energy htest.Energy.test", Energy(null=P), own_units=True)
    matching = (
        lambda x, y: found(CrossMatch().test(x, y, rng=0)),
    )  # the statistic is that of test
    yield two("htest.CrossMatch htest.CrossMatch.test", matching, own_units=True)
    for test in (SpanningTreeTest(null=P), Wasserstein(null=P)):
        name = f"htest.{type(test).__name__}"
        yield compared(f"{name} {name}.test", test, own_units=True)
    for kind in (MMDAgg, MMDFuse, MaxMMD):
        name = f"htest.{kind.__name__}"
        yield compared(f"{name} {name}.test", kind(null=P), own_units=True, takes=CATEGORIES)
    yield two(
        "htest.two_sample two_sample",
        lambda x, y: found(two_sample(x, y, rng=0)),
        own_units=True,
        takes=CATEGORIES,
    )
    for kind, places in ((ME, "locations"), (UME, "locations"), (SCF, "frequencies")):
        yield two(
            f"htest.{kind.__name__}.optimized", learnt(kind, places), own_units=True, tolerance=1e-5
        )
    for kind in (MMD, LinearMMD, BlockMMD, CrossMMD):
        yield two(
            f"htest.{kind.__name__}.optimized",
            lambda x, y, kind=kind: kind.optimized(x, y, kernels=[K]).statistic(x, y),
        )
    yield compared("htest.Equivalence", Equivalence(0.5, K))
    yield two(
        "htest.Equivalence.least",
        (
            Equivalence(0.5, standardized=True).least,
            lambda x, y: Equivalence(0.5, standardized=True).test(x, y).statistic,
        ),
        own_units=True,
        takes=CATEGORIES,
    )
    yield two("htest.Monitor.update htest.MonitorState.update", watched)
    yield two("htest.feature_differences", by_column, takes=CATEGORIES)
    yield two(
        "htest.power",
        (
            lambda x, y: power(MMD(K, null=P), x, y, n=[10, 20], asymptotic=True).power,
            lambda x, y: power(MMD(K, null=P), x, y, n=[10], runs=3, rng=0).power,
        ),
    )
    yield two("htest.sample_size", lambda x, y: int(sample_size(MMD(K), x, y, asymptotic=True)))
    yield from context_doors()
    yield door(
        "htest.KSample htest.KSample.test",
        "samples[0] samples[1] samples[2]",
        FIRST,
        SECOND,
        THIRD,
        calls=(KSample(K).statistic, lambda *s: KSample(K, null=P).test(*s, rng=0).statistic),
    )
    yield door(
        "htest.KSample",
        "samples[0] samples[1] samples[2]",
        FIRST,
        SECOND,
        THIRD,
        calls=KSample().statistic,
        also=("the pooled sample",),
        own_units=True,
        takes=CATEGORIES,
    )
    yield door(
        "rkhs.Empirical",
        "points",
        FIRST,
        calls=lambda points: Empirical(points).effective_size,
        takes=frozenset({"text", "categories", "objects"}),
    )
    coarse = dict.fromkeys(
        ("float16", "pandas, float16", "torch, float16", "torch, bfloat16"),
        "such weights do not add up to one",
    )
    yield door(
        "rkhs.Empirical",
        "points weights",
        FIRST,
        SHARES,
        calls=weighted,
        points=True,
        refuses=coarse,
        skips=frozenset({"text", "categories", "objects"}),  # the kernel's business
    )


SAMPLE_DOORS = list(sample_doors())
