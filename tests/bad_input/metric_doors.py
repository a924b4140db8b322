"""The doors of integral probability metrics."""

from __future__ import annotations

from collections.abc import Iterator

from mercer.info import (
    Blomqvist,
    CorrentropyCoefficient,
    association,
    dudley,
    kantorovich,
    kolmogorov,
    sliced_wasserstein,
    total_variation,
    wasserstein,
)
from mercer.kernels import RBF
from tests.bad_input.doors import Door, X, Y, door


def metric_doors() -> Iterator[Door]:
    yield door(
        "info.wasserstein info.kantorovich",
        "x y",
        X,
        Y,
        calls=(lambda x, y: (wasserstein(x, y, 2), kantorovich(x, y)),),
        columns=True,
    )
    yield door(
        "info.sliced_wasserstein",
        "x y",
        X,
        Y,
        calls=lambda x, y: sliced_wasserstein(x, y, projections=3, rng=0),
        columns=True,
        also=("z",),
    )
    yield door(
        "info.total_variation info.kolmogorov",
        "x y",
        X,
        Y,
        calls=lambda x, y: (
            total_variation(x, y),
            kolmogorov(x, y),
            kolmogorov(x, y, observed=True),
        ),
        columns=True,
    )
    yield door("info.dudley", "x y", X, Y, calls=lambda x, y: dudley(x, y), columns=True)
    yield door(
        "info.association info.AssociationMeasure",
        "x",
        X,
        calls=lambda x: (association(x), association(x, measure=Blomqvist())),
    )
    yield door(
        "info.association",
        "x1 x2",
        X[:, :1],
        Y[:, :1],
        points=True,
        calls=lambda x, y: association(x, y, measure=CorrentropyCoefficient(RBF(1.0))),
    )


METRIC_DOORS = [*metric_doors()]
