"""The doors of causal questions: two variables, and tables of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.causal import PC, RESIT, AdditiveNoise, RegressionError, causal_direction
from mercer.htest import PartialCorrelation
from tests.bad_input.doors import Door, door

_rng = np.random.default_rng(5)
CAUSE = _rng.standard_normal((30, 1))
EFFECT = CAUSE**2 + 0.3 * _rng.standard_normal((30, 1))
TABLE = np.hstack([CAUSE, EFFECT, EFFECT + 0.5 * _rng.standard_normal((30, 1))])


def by(method: Any) -> Any:
    def call(x: Any, y: Any) -> Any:
        scores = causal_direction(x, y, method=method, rng=0).scores
        return np.round(list(scores.values()), 6)

    return call


def pc(frame: Any) -> Any:
    graph = PC(PartialCorrelation()).fit(frame)
    return graph.marks, np.round(np.nan_to_num(graph.pvalues), 6)


def resit(frame: Any) -> Any:
    return RESIT().fit(frame).marks


def causal_doors() -> Iterator[Door]:
    methods = tuple(by(m) for m in (AdditiveNoise(), RegressionError(), None))
    entries = "causal.causal_direction causal.DirectionMethod.judge"
    yield door(entries, "x y", CAUSE, EFFECT, calls=methods, points=True)
    yield door("causal.PC causal.PC.fit", "frame", TABLE, calls=pc)
    yield door("causal.RESIT causal.RESIT.fit", "frame", TABLE, calls=resit)


CAUSAL_DOORS = list(causal_doors())
