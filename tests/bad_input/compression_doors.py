"""The doors of models that are known up to a constant or by scores, and of few points for many."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from mercer.rkhs import (
    GaussBernoulliRBM,
    Gaussian,
    LogDensity,
    Scores,
    kernel_herding,
    kernel_thinning,
    stein_thinning,
)
from tests.bad_input.doors import METRIC, Door, K, X, door

NORMAL = Gaussian(np.zeros(3), METRIC)
MACHINE = GaussBernoulliRBM(METRIC, X[0], X[1])
ENERGY = LogDensity(NORMAL.log_density, gradient=None if find_spec("torch") else NORMAL.score)


def compression_doors() -> Iterator[Door]:
    yield door(
        "rkhs.GaussBernoulliRBM",
        "B",
        METRIC,
        calls=lambda B: GaussBernoulliRBM(B, X[0], X[1]).score(X),
    )
    for name, made in (
        ("b", lambda b: GaussBernoulliRBM(METRIC, b, X[1])),
        ("c", lambda c: GaussBernoulliRBM(METRIC, X[0], c)),
    ):
        yield door(
            "rkhs.GaussBernoulliRBM", name, X[0], calls=lambda v, made=made: made(v).score(X)
        )
    yield door(
        "rkhs.GaussBernoulliRBM.log_density rkhs.GaussBernoulliRBM.score "
        "rkhs.GaussBernoulliRBM.unnormalised_log_density",
        "x",
        X,
        calls=(MACHINE.log_density, MACHINE.score, MACHINE.unnormalised_log_density),
    )
    yield door(
        "rkhs.LogDensity.log_density rkhs.LogDensity.score",
        "x",
        X,
        calls=(ENERGY.log_density, ENERGY.score),
    )
    yield door("rkhs.Scores", "values", X, calls=lambda values: Scores(values).values)
    yield door(
        "rkhs.Scores.at",
        "x",
        X,
        calls=lambda x: Scores(X).at(x)._points,
        refuses={"1-d": "the scores have three columns"},
    )
    for name, run in (
        ("rkhs.stein_thinning", lambda x: stein_thinning(NORMAL.score, x, 3, kernel=K)),
        ("rkhs.kernel_herding", lambda x: kernel_herding(K, x, 3)),
        ("rkhs.kernel_thinning", lambda x: kernel_thinning(None, x, 3, rng=0)),
    ):
        yield door(name, "x", X, calls=run)


COMPRESSION_DOORS = list(compression_doors())
