"""python -m benchmarks.reproductions.causal_direction: how often is the cause told from the effect?

Made pairs of five kinds, with mechanisms from Gaussian processes: neither these mechanisms nor these seeds were used to
train `ScoreClassifier` and `RandomizedCausation`, which learnt from splines. A pair is right if the direction is,
and a confounded one if the method abstains.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import Record, band, heading, table
from mercer.causal import (
    AdditiveNoise,
    DirectionMethod,
    RandomizedCausation,
    RegressionError,
    ScoreClassifier,
    causal_direction,
)
from mercer.datasets import (
    AdditivePair,
    CauseEffectProblem,
    ConfoundedPair,
    DiscretePair,
    HeteroscedasticPair,
    PostNonlinearPair,
)

KINDS: dict[str, CauseEffectProblem] = {
    "additive": AdditivePair(),
    "post-nonlinear": PostNonlinearPair(),
    "heteroscedastic": HeteroscedasticPair(),
    "discrete": DiscretePair(),
    "confounded": ConfoundedPair(),
}
METHODS: dict[str, DirectionMethod] = {
    "ScoreClassifier": ScoreClassifier(),
    "RandomizedCausation": RandomizedCausation(),
    "AdditiveNoise": AdditiveNoise(),
    "RegressionError": RegressionError(),
}
SIZES = (200, 500)
SEED = 2026  # of the judged pairs
BAR = 0.8
KEYS = [f"{method}|{kind}|{n}" for method in METHODS for kind in KINDS for n in SIZES]


def once(key: str, seed: int) -> dict[str, Any]:
    """One pair, in the order x, y or y, x by the toss of a coin: right, wrong or abstained."""
    method, kind, n = key.split("|")
    problem, rng = KINDS[kind], np.random.default_rng([SEED, list(KINDS).index(kind), int(n), seed])
    pair = problem.sample(int(n), rng=rng)
    turned = bool(rng.integers(2))
    x, y = pair[::-1] if turned else pair
    answer = causal_direction(x, y, method=METHODS[method], rng=seed).direction
    truth = ("y -> x" if turned else "x -> y") if problem.causal else None
    return {"right": int(answer == truth), "abstained": int(answer is None)}


def markdown(store: Mapping[str, Any]) -> str:
    """A table for each number of observations."""
    command = "python -m benchmarks.reproductions.causal_direction"
    title = "Cause or effect: how often methods find the true direction of simulated pairs"
    lines = [*heading(title, command), ""]
    lines += [
        "Mooij et al. (2016) and Lopez-Paz et al. (2015) as in mercer.datasets: mechanisms from Gaussian processes, which",
        "no method was trained on. Right means the true direction, and for confounded pairs that the method abstains; an",
        "abstention from another pair counts as wrong. The bar is 0.8 for the default, ScoreClassifier. Behind each",
        "share: its 95% interval, and the share of abstentions.",
    ]
    for n in SIZES:
        rows = [_row(store["cells"], method, n) for method in METHODS]
        lines += ["", f"## {n} observations", "", *table(rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Mapping[str, Any], method: str, n: int) -> dict[str, str]:
    row = {"method": method}
    for kind in KINDS:
        entry = cells.get(f"{method}|{kind}|{n}", {"runs": 0})
        row[kind] = ""
        if runs := entry["runs"]:
            low, high = band(entry["right"], runs)
            share = entry["right"] / runs
            row[kind] = f"{share:.2f} ({low:.2f} to {high:.2f}; {entry['abstained'] / runs:.2f})"
    row["pairs"] = str(min(cells.get(f"{method}|{k}|{n}", {"runs": 0})["runs"] for k in KINDS))
    return row


RECORD = Record("causal_direction", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(KEYS, 200))


if __name__ == "__main__":
    raise SystemExit(PLAN.main(__doc__))
