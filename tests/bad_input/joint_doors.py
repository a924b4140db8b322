"""The doors of measures of dependence, of tests of several variables, and of time series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.htest import DHSIC, MMD, Bootstrap, Gamma, Lancaster, Permutation, WildBootstrap
from mercer.rkhs import (
    cka,
    coco,
    dhsic,
    kcca,
    kernel_generalized_variance,
    kernel_mutual_information,
    nocco,
    partial_distance_correlation,
)
from tests.bad_input.doors import PAIRS, Door, K, X, Y, door

CATEGORIES = frozenset({"categories"})
STRINGS = frozenset({"list of text"})  # a sample, where the kernel is left to the library
THIRD = np.random.default_rng(2).standard_normal(X.shape)
FIRST, SECOND, OTHER = PAIRS, PAIRS[::-1] + 0.5, PAIRS**2


def measure(name: str, call: Any) -> Door:
    """With a kernel, and with the default one."""
    calls = (lambda x, y: call(K, K, x, y), lambda x, y: call(None, None, x, y))
    return door(f"rkhs.{name}", "x y", X, Y, calls=calls, points=True, tolerance=1e-6)


def found(test: Any) -> Any:
    def call(*samples: Any) -> Any:
        result = test.test(*samples, rng=0)
        return np.round(result.statistic, 9), 0 < result.pvalue <= 1

    return call


def tested(name: str, arguments: str, test: Any, **more: Any) -> Door:
    calls = (found(test), lambda *samples: np.isfinite(test.statistic(*samples)))
    entries = f"htest.{name} htest.{name}.test htest.{name}.statistic"
    return door(entries, arguments, FIRST, SECOND, OTHER, calls=calls, **more)


def joint_doors() -> Iterator[Door]:
    yield measure("coco", coco)
    yield measure("kcca", lambda *a: kcca(*a, ridge=0.1))
    yield measure("nocco", lambda *a: nocco(*a, ridge=0.1))
    yield measure("cka", cka)
    yield measure("kernel_mutual_information", lambda *a: np.exp(-kernel_mutual_information(*a)))
    yield measure(
        "kernel_generalized_variance", lambda *a: kernel_generalized_variance(*a, ridge=0.1)
    )
    yield door(
        "rkhs.partial_distance_correlation",
        "x y given",
        X,
        Y,
        THIRD,
        calls=partial_distance_correlation,
        tolerance=1e-6,
    )
    yield door(
        "rkhs.dhsic",
        "x1 x2 x3",
        X,
        Y,
        THIRD,
        calls=(lambda *s: dhsic((K, K, K), s), lambda *s: dhsic(None, s)),
        tolerance=1e-6,
    )
    names, three = "x1 x2 x3", (K, K, K)
    yield tested("DHSIC", names, DHSIC(three, null=Permutation(19)))
    yield tested(
        "DHSIC", names, DHSIC(null=Bootstrap(19)), own_units=True, takes=CATEGORIES, accepts=STRINGS
    )
    yield tested("DHSIC", names, DHSIC(three, null=Gamma()))
    yield tested("Lancaster", "x y z", Lancaster(three, null=Permutation(19)))
    yield tested("Lancaster", "x y z", Lancaster(null=WildBootstrap(19, None)), own_units=True,
                 takes=CATEGORIES, accepts=STRINGS)  # fmt: skip
    yield door(
        "htest.WildBootstrap",
        "x y",
        FIRST,
        SECOND,
        calls=found(MMD(K, null=WildBootstrap(19, None))),
        columns=True,
    )


JOINT_DOORS = list(joint_doors())
