"""python -m benchmarks.reproductions.conditional_grid: level and power of the default conditional test.

Null runs of `KernelGCM` at level 0.05 on the grid of tests/support/htest_conditional_grid.py, and its power beside
that of `KCI`, `RCoT` and `GCM`. ``--runs 100 --workers 16 --seconds 500 --sizes 100 300`` adds runs until the time
is over; what was done before is kept. Ten runs of every cell take 3, 8 and 27 minutes of one processor at n = 100, 300
and 1,000.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    heading,
    rate,
    rounds,
    with_error,
)
from mercer.htest import GCM, KCI, KernelGCM, RCoT
from tests.support.htest_conditional_grid import ALTERNATIVES, PROBLEMS, SIZES

RUNS, FEWER, LEVEL = 100, 50, 0.05  # fewer of 1,000 observations
DEFAULT = "KernelGCM"
TESTS = {DEFAULT: KernelGCM(), "KCI": KCI(), "RCoT": RCoT(), "GCM": GCM()}
NULLS = {problem.name: problem for problem in PROBLEMS}
POWER = {problem.name: problem for problem in ALTERNATIVES}


def keys(sizes: Sequence[int] = SIZES) -> Iterator[str]:
    """Cells: null or power, the problem, the number of observations and the test."""
    for n in sizes:
        yield from (f"null|{name}|{n}|{DEFAULT}" for name in NULLS)
        yield from (f"power|{name}|{n}|{test}" for name in POWER for test in TESTS)


def once(key: str, seed: int) -> dict[str, Any]:
    """Whether a test rejects, and whether its p-value is said to be conservative."""
    kind, name, n, test = key.split("|")
    problem = (NULLS if kind == "null" else POWER)[name]
    rng = np.random.default_rng([seed, int(n), sum(map(ord, name))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = TESTS[test].test(*problem.draw(rng, int(n)), rng=seed)
    diagnosis = getattr(result, "diagnosis", None)
    wary = diagnosis is not None and not diagnosis.trusted
    return {"rejections": int(result.rejects(LEVEL)), "conservative": int(wary)}


def main() -> int:
    """Make the runs that are missing, and print the tables."""
    parser = arguments(__doc__, RUNS)
    parser.add_argument("--sizes", type=int, nargs="+", default=[*SIZES])
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    told = parser.parse_args()
    store = RECORD.load(told.results)
    turns = rounds(store, [key for key in keys(told.sizes) if told.only in key], told.runs)
    RECORD.run(store, turns, once, told.seconds, told.results, told.workers)
    print(markdown(store))
    return 0


# ---- the printed page -----------------------------------------------------------------------


def markdown(store: Store) -> str:
    """Levels and power, by the number of observations."""
    cells = {tuple(key.split("|")): e for key, e in store["cells"].items() if e["runs"]}
    lines = heading(
        "Level and power of conditional independence tests on a grid not tuned on",
        "python -m benchmarks.reproductions.conditional_grid",
    )
    lines += ["", _NOTE]
    for n in sorted({int(size) for _, _, size, _ in cells}):
        some = {(kind, name, test): e for (kind, name, m, test), e in cells.items() if int(m) == n}
        lines += ["", f"## {n:,} observations", "", *_levels(some), "", *_powers(some)]
    return "\n".join(lines) + "\n"


_NOTE = f"""Nulls: x = f(z) + e / 2 and y = f(z) + e' / 2 with the same function f on both sides, named by f, the law of z and its number
of columns, and others of counts, steps and unequal spreads; no constant of the tests was chosen on them. Power: y also depends on x,
in the way that is named first. Shares of runs that reject at level {LEVEL}, ± standard errors. Power counts only where the level is
held: `conditional_peers.md` has both for KCI of causal-learn."""


def _levels(cells: Mapping[tuple[str, ...], Mapping[str, Any]]) -> Iterator[str]:
    from scipy.stats import binom

    nulls = {name: e for (kind, name, _), e in cells.items() if kind == "null"}
    if not nulls:
        return
    over = {
        name: e
        for name, e in nulls.items()
        if e["rejections"] > binom.ppf(0.9995, e["runs"], LEVEL)
    }
    wary = [name for name, e in nulls.items() if e["conservative"] / e["runs"] > 0.5]
    runs = sorted({e["runs"] for e in nulls.values()})
    yield (
        f"{len(nulls)} nulls of {runs[0]} to {runs[-1]} runs: {len(over)} above the 99.9% band of level {LEVEL}, mean rate "
        f"{np.mean([rate(e) for e in nulls.values()]):.3f}; in {len(wary)} the p-value of most runs is conservative (a "
        "bias bound above one standard error)."
    )
    yield ""
    yield from (f"* above: {name}: {rate(e):.3f} of {e['runs']}" for name, e in over.items())
    yield f"Conservative: {'; '.join(sorted(wary)) or 'none'}."


def _powers(cells: Mapping[tuple[str, ...], Mapping[str, Any]]) -> Iterator[str]:
    done = [name for name in POWER if ("power", name, DEFAULT) in cells]
    if done:
        yield f"| power | {' | '.join(TESTS)} | runs |"
        yield "|---" * (len(TESTS) + 2) + "|"
    for name in done:
        entries = [cells.get(("power", name, test)) for test in TESTS]
        rates = ["" if e is None else with_error(rate(e), e["runs"]) for e in entries]
        runs = min(e["runs"] for e in entries if e is not None)
        yield f"| {name} | {' | '.join(rates)} | {runs} |"


RECORD = Record("conditional_grid", markdown)
PLAN = Plan(RECORD, once, lambda _: {key: FEWER if "|1000|" in key else RUNS for key in keys()})

if __name__ == "__main__":
    raise SystemExit(main())
