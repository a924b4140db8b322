"""The doors of distributions with a density, and of tests whether such a model fits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from mercer.htest import (
    FSSD,
    KSD,
    MMD,
    AgainstDraws,
    Composite,
    KSDAgg,
    LinearKSD,
    Permutation,
    RelativeKSD,
    WildBootstrap,
    goodness_of_fit,
)
from mercer.kernels import RBF
from mercer.rkhs import Gaussian, Mixture, ksd2
from tests.bad_input.doors import METRIC, Door, K, X, door, judged

NUMBER = frozenset({"number", "NumPy number"})
NORMAL = Gaussian(np.zeros(3), METRIC)
MIXED = Mixture([NORMAL, Gaussian(np.ones(3), [1.0, 2.0, 0.5])], [0.3, 0.7])


def goodness_doors() -> Iterator[Door]:
    yield door(
        "rkhs.Gaussian",
        "mean",
        X[0],
        calls=lambda mean: Gaussian(mean, 2.0).log_density(X if np.ndim(mean) else X[:, 0]),
        accepts=NUMBER,
        also=("x",),
    )
    yield door(
        "rkhs.Gaussian",
        "cov",
        METRIC,
        calls=lambda cov: Gaussian([0.0] * 3, cov).score(X),
        accepts=NUMBER,
    )
    for name, p in (("Gaussian", NORMAL), ("Mixture", MIXED)):
        yield door(
            f"rkhs.{name}.log_density rkhs.{name}.score", "x", X, calls=(p.log_density, p.score)
        )
    yield door(
        "rkhs.ksd2",
        "x",
        X,
        calls=(
            lambda x: (ksd2(K, NORMAL.score, x), ksd2(K, NORMAL.score, x, unbiased=False)),
            lambda x: ksd2(None, MIXED.score, x),
        ),
    )
    few = WildBootstrap(19)
    for test in (KSD(NORMAL, K, null=few), KSD(MIXED, unbiased=True, null=few)):
        yield door(
            "htest.KSD htest.KSD.test", "x", X, calls=(partial(judged, test), test.statistic)
        )
    for test in (FSSD(NORMAL, K, locations=X[:2]), FSSD(MIXED)):
        yield door(
            "htest.FSSD htest.FSSD.test", "x", X, calls=(partial(judged, test), test.statistic)
        )
    yield from more_tests(few)
    yield door(
        "htest.FSSD",
        "locations",
        X[:3],
        calls=lambda places: FSSD(NORMAL, K, locations=places).statistic(X),
        refuses={"1-d": "the model has three columns", "memoryview": "not a sequence of points"},
    )
    yield door(
        "htest.FSSD.optimized",
        "x",
        X,
        calls=lambda x: FSSD.optimized(NORMAL, x, locations=1, rng=0).statistic(x),
        tolerance=1e-4,
    )


def chosen(x: Any) -> Any:
    """Whether the p-value is one, of ranks among which rounding decides; and what was tested."""
    result = goodness_of_fit(NORMAL, x, rng=0)
    return 0 < result.pvalue <= 1, result.sample.observations


def more_tests(few: WildBootstrap) -> Iterator[Door]:
    """Those beside KSD and FSSD."""
    others, against = Gaussian(np.ones(3), 1.0), AgainstDraws(NORMAL, MMD(K, null=Permutation(19)))
    yield door("htest.AgainstDraws.redrawn", "x", X, calls=lambda x: against.redrawn(x, 0))
    for name, test in {
        "KSDAgg": KSDAgg(NORMAL, [K, RBF(0.5)], null=few),
        "LinearKSD": LinearKSD(NORMAL, K),
        "RelativeKSD": RelativeKSD(NORMAL, others, K),
        "AgainstDraws": against,
        "Composite": Composite(lambda x: NORMAL, KSD, resamples=2),
    }.items():
        yield door(
            f"htest.{name} htest.{name}.test", "x", X, calls=(partial(judged, test), test.statistic)
        )
    yield door(
        "htest.KSDAgg.unitless htest.KSD.unitless htest.FSSD.unitless",
        "x",
        X,
        calls=(
            KSDAgg(MIXED, [K, RBF(2.0)], null=few).unitless,
            KSD(MIXED, K).unitless,
            FSSD(MIXED, K, locations=X[:2]).unitless,
        ),
    )
    default = KSDAgg(MIXED, null=few)  # made of ranks, among which rounding decides
    yield door("htest.KSDAgg", "x", X, calls=partial(judged, default), tolerance=0.01)
    yield door("rkhs.Gaussian.fit", "x", X, calls=lambda x: Gaussian.fit(x).cov)
    yield door(
        "rkhs.Mixture.fit",
        "x",
        X,
        calls=lambda x: Mixture.fit(x, 1, rng=0).log_density(X),
        also=("cov",),
    )
    yield door(
        "goodness_of_fit htest.goodness_of_fit",
        "x",
        X,
        calls=chosen,
        own_units=True,
    )
    seen = KSD(NORMAL, K, null=few).test(X, rng=0).evidence()
    yield door("htest.Evidence.__call__", "places", X[:3], calls=seen)


GOODNESS_DOORS = list(goodness_doors())
