"""python -m benchmarks.reproductions.two_sample_level: how often two-sample tests reject what is true.

Null runs at level 0.05 of every public two-sample test, and how often the intervals of effect sizes
hold the truth; the cells are those of `pytest -m slow tests/calibration tests/htest/samples`.
``--runs 400 --only MMDAgg`` does a part; what was done before is kept, so that a long run can be made
of short ones, and ``--again`` forgets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reproductions.levels import asked, keep, row, wanted_runs
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import Record, Store, cell, heading, rate, table

from tests.support.htest_coverage import SPANS, Span  # isort: skip  (found by the path that `levels` adds)
from tests.support.htest_levels import CELLS, LEAST, MORE, MOST, RUNS, Cell  # isort: skip

ALL: dict[str, Cell | Span] = {**CELLS, **SPANS}
COVERED = ("held", "standardized", "below", "above")  # what a run of a span tells


def main() -> int:
    told = asked(__doc__)
    tests = [c for c in CELLS.values() if told.only in c.name]
    spans = [name for name in SPANS if told.only in name]
    plan = replace(PLAN, wanted=partial(_wanted, tests, spans, runs=told.runs))
    store = RECORD.load(told.results)
    keep(store, [name for name in ALL if not (told.again and told.only in name)])
    plan.complete(store, told.seconds, told.results, told.workers)
    part = {name: cell(store, name) for name in [*(c.name for c in tests), *spans]}
    print(_markdown({"cells": part}))
    return 0 if all(c.holds(rate(part[c.name]), part[c.name]["runs"]) for c in tests) else 1


def _wanted(
    tests: Sequence[Cell], spans: Sequence[str], store: Store, runs: int = RUNS
) -> dict[str, int]:
    return wanted_runs(tests, store, runs) | dict.fromkeys(spans, runs)


def _once(name: str, seed: int) -> dict[str, Any]:
    found = np.atleast_1d(ALL[name].run(seed)).astype(int).tolist()
    return dict(zip(COVERED if name in SPANS else ("rejections",), found, strict=True))


# ---- the printed page -----------------------------------------------------------------------


def _coverage(span: Span, entry: Mapping[str, Any]) -> dict[str, str]:
    held, standardized, below, above = (entry[name] / entry["runs"] for name in COVERED)
    return {
        "d": str(span.d),
        "difference": span.difference,
        "sizes": "/".join(map(str, span.sizes)),
        "MMD^2 in its interval": f"{held:.1%}",
        "below": f"{below:.1%}",
        "above": f"{above:.1%}",
        "standardized": f"{standardized:.1%}",
        "runs": str(entry["runs"]),
    }


def _markdown(store: Store) -> str:
    done = {name: store["cells"][name] for name in ALL if name in store["cells"]}
    done = {name: entry for name, entry in done.items() if entry["runs"]}
    levels = [row(CELLS[name], entry) for name, entry in done.items() if name in CELLS]
    spans = [_coverage(SPANS[name], entry) for name, entry in done.items() if name in SPANS]
    outside = sum(row["inside"].startswith("NO") for row in levels)
    title = "Level of two-sample tests, and coverage of their effect sizes"
    command = f"python -m benchmarks.reproductions.{Path(__file__).stem} --runs {RUNS}"
    lines = heading(title, command)
    if levels:
        lines += ["", "## Level", "", f"{len(levels)} cells, {outside} outside.", ""]
        lines += [*table(levels), "", *_LEVELS]
    if spans:
        lines += ["", "## Coverage of 95% intervals", "", *table(spans), "", *_SPANS]
    return "\n".join(lines) + "\n"


_LEVELS = [
    f'Rejected: null hypotheses that are true, at level 0.05. Inside: {LEAST:.2%} to {MOST:.0%}; "at most":',
    "the level is an upper bound by construction (a bound on the p-value, equivalence at its margin,",
    "corrections for many columns, streams at any time), and only the upper end counts. One rate in some",
    f"thousands is outside by chance: what is after {RUNS} runs is run on to {MORE:,}. Milliseconds of",
    "processor time.",
]
_SPANS = [
    "N(0, I) against N(shift e1, scale^2 I) under RBF(1) for d = 1, RBF(sqrt(2 d)) beyond. Below, above: the",
    "truth is below the interval, or above it. Standardized: the distance in units of the spread.",
]


RECORD = Record("two_sample_calibration", _markdown)
PLAN = Plan(RECORD, _once, partial(_wanted, [*CELLS.values()], [*SPANS]))

if __name__ == "__main__":
    raise SystemExit(main())
