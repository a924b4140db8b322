"""python -m benchmarks.reproductions.conditional_peers: causal-learn's KCI on the alternatives of the conditional grid.

KCI of causal-learn with its defaults (Gaussian kernels of a fixed rule, gamma approximation) beside `KernelGCM`, on the
same observations: the power of both, and their level on the null of the same z and effects, since power counts only
where the level is held. It needs causal-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    heading,
    table,
    with_error,
)
from mercer.htest import KernelGCM
from tests.support.htest_conditional_grid import ALTERNATIVES, Problem, additive

LEVEL, N, RUNS = 0.05, 300, 100
PROBLEMS = {problem.name: problem for problem in ALTERNATIVES}
KEYS = [f"{kind}|{name}" for kind in ("level", "power") for name in PROBLEMS]
TESTS = ("KCI", "KernelGCM")


def null_of(alternative: Problem) -> Problem:
    """The same effects and law of z, with independent noise."""
    effect, law, d = alternative.name.split(": ")[1].split(", ")
    return additive(effect, law, int(d))


def once(key: str, seed: int) -> dict[str, Any]:
    """Whether causal-learn's KCI and `KernelGCM` reject."""
    from causallearn.utils.cit import CIT

    kind, name = key.split("|")
    problem = null_of(PROBLEMS[name]) if kind == "level" else PROBLEMS[name]
    start = [seed, N, sum(map(ord, name)), int(kind == "level")]
    x, y, z = problem.draw(np.random.default_rng(start), N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = CIT(np.column_stack([x, y, z]), "kci")(0, 1, list(range(2, 2 + z.shape[1])))
        ours = KernelGCM().test(x, y, z).pvalue
    return {"KCI": int(theirs <= LEVEL), "KernelGCM": int(ours <= LEVEL)}


def markdown(store: Store) -> str:
    """Levels and power side by side."""
    command = "python -m benchmarks.reproductions.conditional_peers"
    lines = heading("Conditional independence: causal-learn's KCI and KernelGCM", command)
    return "\n".join([*lines, "", *table(_rows(store["cells"])), "", _NOTE]) + "\n"


def _rows(cells: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for name in PROBLEMS:
        entries = {kind: cells.get(f"{kind}|{name}", {"runs": 0}) for kind in ("level", "power")}
        if all(entry["runs"] for entry in entries.values()):
            yield {
                "alternative": name,
                **{f"{k} of {t}": _rate(e, t) for k, e in entries.items() for t in TESTS},
                "runs": str(min(entry["runs"] for entry in entries.values())),
            }


def _rate(entry: Mapping[str, Any], test: str) -> str:
    return with_error(entry[test] / entry["runs"], entry["runs"])


_NOTE = f"""Share of runs that reject at level {LEVEL}, {N} observations, with standard errors. Alternative: how y depends on x given z;
the effect of z on both, the law of z, and its number of columns. Level: the same effects of z, and noise that is independent."""
RECORD = Record("conditional_peers", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(KEYS, RUNS), needs=("causallearn",))

if __name__ == "__main__":
    raise SystemExit(PLAN.main(__doc__))
