"""The cases of causal."""

from __future__ import annotations

from mercer import causal
from mercer.htest import PartialCorrelation
from tests.memory.case import on_samples

CAUSAL_CASES = {
    "causal.causal_direction": on_samples(
        lambda x, y: causal.causal_direction(x, y, rng=0), 2, d=1, n=20_000
    ),
    "causal.PC": on_samples(lambda x: causal.PC(PartialCorrelation()).fit(x), d=4, n=20_000),
    "causal.RESIT": on_samples(lambda x: causal.RESIT().fit(x), d=3, n=1_000),
}
