"""The doors of independence tests that choose by the data, and of tables of which every pair is tested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.htest import (
    HSIC,
    NFSIC,
    RDC,
    BlockHSIC,
    ConditionalMutualInformation,
    CrossHSIC,
    FourierHSIC,
    HSICAgg,
    MutualInformation,
    NystromHSIC,
    Permutation,
    SerialHSIC,
    TransferEntropy,
    independence,
    pairwise_independence,
)
from mercer.kernels import RBF, Energy
from tests.bad_input.doors import PAIRS, Door, K, door

P = Permutation(19)
CATEGORIES = frozenset({"categories"})
STRINGS = frozenset({"list of text"})  # a sample, where the kernel is left to the library


def found(test: Any) -> Any:
    def call(x: Any, y: Any) -> Any:
        result = test.test(x, y, rng=0)
        return np.round(result.statistic, 9), 0 < result.pvalue <= 1

    return call


def found_given(test: Any) -> Any:
    def call(*samples: Any) -> Any:
        result = test.test(*samples, rng=0)
        return np.round(result.statistic, 9), 0 < result.pvalue <= 1

    return call


def two(entries: str, test: Any, **more: Any) -> Door:
    calls = (found(test), lambda x, y: np.isfinite(test.statistic(x, y)))
    return door(entries, "x y", PAIRS, 2 * PAIRS, calls=calls, points=True, **more)


def matrix(frame: Any) -> Any:
    told = pairwise_independence(frame, test=HSIC(null=P), rng=0)
    return np.round(told.effects, 6), np.nan_to_num(told.uncorrected) <= 1


def learnt(x: Any, y: Any) -> Any:
    """That there is a test: of 14 points a little rounding leads the search elsewhere."""
    test = NFSIC.optimized(x, y, locations=1, rng=0)
    return np.isfinite(test.statistic(x, y)), np.array([v.shape for v in test.locations])


def chosen(x: Any, y: Any) -> Any:
    """By the test that is chosen, which looks at a hundred pairs of kernels."""
    result = independence(x, y, rng=0)
    return np.round(result.statistic, 6), 0 < result.pvalue <= 1


def witnessed(x: Any, y: Any) -> Any:
    """At pairs of points, and at all of them."""
    witness = HSIC(RBF(3.0), RBF(5.0), null=P).test(x, y, rng=0).witness()
    return witness(x, y), witness.surface(x, y)


def serial(x: Any) -> Any:
    """Statistic and p-value of serial dependence."""
    result = SerialHSIC(null=P).test(x, rng=0)
    return np.round(result.statistic, 6), result.pvalue


def variable_doors() -> Iterator[Door]:
    yield door(
        "independence htest.independence", "x y", PAIRS, 2 * PAIRS, calls=chosen, points=True,
        own_units=True, takes=CATEGORIES, accepts=STRINGS,
    )  # fmt: skip
    yield door(
        "htest.DependenceWitness.__call__ htest.DependenceWitness.surface",
        "x y", PAIRS, 2 * PAIRS, calls=witnessed, points=True,
    )  # fmt: skip
    for test in (HSIC(null=P), CrossHSIC(), BlockHSIC(block=4)):
        yield two(
            f"htest.{type(test).__name__}", test, own_units=True, takes=CATEGORIES, accepts=STRINGS
        )
    yield two("htest.HSIC", HSIC(Energy(), Energy(), null=P))
    yield two(
        "htest.HSICAgg htest.HSICAgg.test",
        HSICAgg(null=P),
        own_units=True,
        takes=CATEGORIES,
        accepts=STRINGS,
    )
    for test in (NFSIC(null=P), NystromHSIC(null=P)):
        yield two(
            f"htest.{type(test).__name__}", test, own_units=True, takes=CATEGORIES, accepts=STRINGS
        )
    yield two("htest.FourierHSIC", FourierHSIC(null=P), own_units=True)
    yield two("htest.RDC htest.RDC.test", RDC(null=P))
    yield two(
        "htest.MutualInformation htest.MutualInformation.test",
        MutualInformation(null=P),
        takes=CATEGORIES,
    )
    given = ConditionalMutualInformation(resamples=9)
    yield door(
        "htest.ConditionalMutualInformation htest.ConditionalMutualInformation.test",
        "x y z", PAIRS, 2 * PAIRS, PAIRS**2, takes=CATEGORIES, calls=found_given(given),
    )  # fmt: skip
    yield door(
        "htest.TransferEntropy htest.TransferEntropy.test htest.TransferEntropy.statistic",
        "source target", PAIRS, 2 * PAIRS, points=True, takes=CATEGORIES, also=("x", "y", "z"),
        calls=found_given(TransferEntropy(resamples=9)),
    )  # fmt: skip
    yield door(
        "htest.NFSIC.optimized", "x y", PAIRS, 2 * PAIRS, calls=learnt, points=True, own_units=True
    )
    yield door(
        "htest.HSIC.optimized",
        "x y",
        PAIRS,
        2 * PAIRS,
        calls=lambda x, y: HSIC.optimized(x, y, kernels_x=[K], kernels_y=[K]).statistic(x, y),
        points=True,
    )
    yield door(
        "htest.SerialHSIC htest.SerialHSIC.test", "x", PAIRS, calls=serial,
        own_units=True, takes=CATEGORIES, accepts=STRINGS,
    )  # fmt: skip
    yield door("htest.pairwise_independence", "frame", PAIRS, calls=matrix, takes=CATEGORIES)


VARIABLE_DOORS = list(variable_doors())
